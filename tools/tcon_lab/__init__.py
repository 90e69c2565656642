# SPDX-License-Identifier: GPL-2.0-only
"""The TCon lab: boots a kernel, builds a topology, runs scenarios, reports.

On the host: :mod:`.cli` (commands), :mod:`.lab` (what they do), and by folder
:mod:`.experiment` (what is to be run), :mod:`.machine` (what runs it), :mod:`.numbers`
(what comes out) and :mod:`.pages` (what is shown).  Files at the top that none of these
has are in the VM, too: :mod:`.guest` (init), :mod:`.scenario`, :mod:`.topo`, :mod:`.runner`.
"""
