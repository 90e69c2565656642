# SPDX-License-Identifier: GPL-2.0-only
"""What comes out of runs: results, and what compares them."""
