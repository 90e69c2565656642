# SPDX-License-Identifier: GPL-2.0-only
"""Experiments to be run, as read from their files."""
