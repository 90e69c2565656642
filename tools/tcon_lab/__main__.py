# SPDX-License-Identifier: GPL-2.0-only
"""`python3 -m tcon_lab`: the command line of :mod:`.cli`."""

from .cli import main

main()
