# SPDX-License-Identifier: GPL-2.0-only
"""What is to be run, as files say it."""
