# SPDX-License-Identifier: GPL-2.0-only
"""What people look at: tables for the terminal, HTML pages, plots."""
