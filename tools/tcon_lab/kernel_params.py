# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of the kernel's own CCs: the parameters of its modules.

They are a kernel's, not a flow's: guests that are namespaces share one, so a scenario gives
all that run a CC the same (:meth:`.scenario.Flow.kernel_ccs`).  A guest in a machine has
its own.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from .errors import LabError
from .scenario import Flow

if TYPE_CHECKING:  # it imports Mininet
    from .topo import Guest, Lab

#: Where a kernel shows its modules, also those that are built in.
_MODULES = "/sys/module"
#: How it writes a parameter that is on or off.
_BOOLEANS = {"N": 0, "Y": 1}

#: By CC, parameters and their values.
Params = dict[str, dict[str, int]]


def value_of(text: str) -> int | None:
    """A parameter as the kernel writes it; None: of another kind."""
    try:
        return _BOOLEANS[text] if text in _BOOLEANS else int(text)
    except ValueError:
        return None


class KernelParams:
    """Sets parameters, and puts them back at the end of the context.

    ``run`` runs a shell script where a guest's commands run (:func:`.topo.run_in`).
    """

    def __init__(self, run: Callable[[Guest, str], str]) -> None:
        self._run = run
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> KernelParams:
        return self

    def __exit__(self, *exc: object) -> None:
        self._undo.close()

    def _read(self, node: Guest, file: str) -> str:
        return self._run(node, f"cat {file}").strip()

    def _write(self, node: Guest, file: str, value: int | str) -> None:
        self._run(node, f"echo {shlex.quote(str(value))} >{file}")

    def set(self, node: Guest, cc: str, name: str, value: int) -> int:
        """Set a parameter of a CC in the node's kernel; as that has it then.

        Raises LabError where there is none, or it does not take the value.
        """
        file, what = f"{_MODULES}/tcp_{cc}/parameters/{name}", f"the kernel's {cc}"
        try:
            before = self._read(node, file)
        except LabError:
            raise LabError(f"{what} has no parameter {name}") from None
        try:
            self._write(node, file, value)
        except LabError:
            raise LabError(f"{what} does not take {value} for {name}") from None
        self._undo.callback(self._write, node, file, before)
        taken = value_of(self._read(node, file))
        if taken != value:
            raise LabError(f"{what} has {taken} for {name}, where {value} was written")
        return taken

    def apply(self, lab: Lab, mode: str) -> list[Params]:
        """Give every kernel the parameters of its CCs; each connection's parameters, as
        their kernels say.  Raises LabError.
        """
        known: dict[tuple[str, str], dict[str, int]] = {}
        found: list[Params] = []
        for index, flow in enumerate(lab.pairs):
            mine: Params = {}
            for node, cc, params in _wanted(lab, index, flow, mode):
                if params and (node.name, cc) not in known:
                    known[node.name, cc] = {
                        name: self.set(node, cc, name, value) for name, value in params.items()
                    }
                mine |= {cc: known[node.name, cc]} if params else {}
            found.append(mine)
        return found


def _wanted(lab: Lab, index: int, flow: Flow, mode: str) -> list[tuple[Guest, str, dict[str, int]]]:
    """The nodes whose kernels have a connection's CCs, with the CCs and their parameters."""
    found: list[tuple[Guest, str, dict[str, int]]] = [
        (lab.br0, cc, params) for cc, params in flow.kernel_ccs(mode)
    ]
    if flow.in_machine:
        found.append((lab.sender(index), flow.stack_cc(mode), flow.stack_params(mode)))
    return found
