# SPDX-License-Identifier: GPL-2.0-only
"""What boots a kernel and brings back what it says: engines, the root file system, builds."""
