# SPDX-License-Identifier: GPL-2.0-only
"""Machines that boot a kernel and bring back its output: engines, root file system, builds."""
