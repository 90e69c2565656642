# SPDX-License-Identifier: GPL-2.0-only
"""A live view of TCon's flows, in a terminal: tcon-top(8)."""
