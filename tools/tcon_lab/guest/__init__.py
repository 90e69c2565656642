# SPDX-License-Identifier: GPL-2.0-only
"""Code that runs as the VM's user space; see :mod:`.__main__`."""
