# SPDX-License-Identifier: GPL-2.0-only
"""Results of runs, and comparisons of them."""
