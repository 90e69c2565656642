# SPDX-License-Identifier: GPL-2.0-only
"""The TCon lab: boots a kernel, builds a topology, runs scenarios, reports.

On the host: :mod:`.cli` (commands), :mod:`.scenario` (TOML), :mod:`.root` (the
VM's file system), :mod:`.engine` and :mod:`.qemu` (the machine),
:mod:`.results` and :mod:`.report`.  Inside the VM, or on a real machine with
``--site=host``: :mod:`.guest` (init), :mod:`.ovs`, :mod:`.topo` and
:mod:`.runner`.
"""
