# SPDX-License-Identifier: GPL-2.0-only
"""Pages for people: tables for the terminal, HTML pages, plots."""
