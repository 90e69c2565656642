# SPDX-License-Identifier: GPL-2.0-only
"""Proofs by CBMC of functions of the datapath and of CCs, and the faults that they must find.

    prove.py run [--thorough] [NAME...]      the proofs
    prove.py mutants [NAME...]               each with a line changed: it must fail
    prove.py current                         all lines are there that mutants change, and
                                             docs/proofs.md counts what is proven
    prove.py table                           that count, as docs/proofs.md has it

proofs.toml has the proofs.  A function counts as proven if a mutant of it is refuted: then the
proof reaches it, and its assertions speak of it.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tcon_lab.errors import LabError
from tcon_lab.machine.prover import cbmc

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
OUT = TOP / "build/proofs"
PAGE = TOP / "docs/proofs.md"
#: No proof takes longer, in seconds of CPU.
_LONGEST_S = 900
_FOLDERS = ("datapath", "algorithms")
_HOLDS, _REFUTED = 0, 10  # CBMC's exit codes
#: Kernel style: a definition begins in the first column, and so does its brace.
_FUNCTION = re.compile(
    r"^(?!#|typedef|struct \w+ \{)[A-Za-z_][^;{}=#]*?\b(\w+)\([^;{}]*\)\n\{$", re.M
)


@dataclass(frozen=True)
class Mutant:
    """A line of a source changed: ``edit`` is sed's."""

    file: str
    edit: str

    def text(self) -> str:
        """The source as it is then."""
        command = ["sed", self.edit, TOP / self.file]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def functions(self) -> set[str]:
        """Those that it changes, as FILE:NAME."""
        old, new = (TOP / self.file).read_text(), self.text()
        if old.count("\n") != new.count("\n"):
            raise LabError(f"{self.file}: {self.edit} changes the number of lines")
        pairs = zip(old.split("\n"), new.split("\n"), strict=True)
        changed = [n for n, (a, b) in enumerate(pairs, 1) if a != b]
        return {f"{self.file}:{name}" for name, first, last in functions(old)
                if any(first <= n <= last for n in changed)}  # fmt: skip


@dataclass(frozen=True)
class Proof:
    """A function prove_NAME() of a file, with values for its macros."""

    name: str
    file: str
    macros: tuple[str, ...]
    unwind: int
    slow: bool
    mutants: tuple[Mutant, ...]

    @property
    def title(self) -> str:
        """Its name and its values."""
        return " ".join((self.name, *self.macros))


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Functions that a source defines: name, first line and last line."""
    for found in _FUNCTION.finditer(text):
        end = text.find("\n}", found.end())
        yield found[1], text.count("\n", 0, found.start()) + 1, text.count("\n", 0, end) + 2


def sources() -> Iterator[Path]:
    """All sources of the kernel's modules."""
    for folder in _FOLDERS:
        for file in sorted((TOP / folder).rglob("*.[ch]")):
            if not {"openvswitch", "example"} & set(file.relative_to(TOP).parts):
                yield file


def read() -> tuple[list[Proof], list[str]]:
    """The proofs, one for each combination of values, and the macros that all have."""
    table = tomllib.loads((HERE / "proofs.toml").read_text())
    defaults = table["defaults"]
    found = []
    for name, made in table["proof"].items():
        values = made.get("values", {})
        mutants = tuple(Mutant(*line.split(maxsplit=1)) for line in made["mutants"])
        for number, row in enumerate(product(*values.values())):
            macros = tuple(f"{key}={value}" for key, value in zip(values, row, strict=True))
            unwind = made.get("unwind", 3)
            if isinstance(unwind, str):
                unwind = int(dict(macro.split("=") for macro in macros)[unwind]) + 2
            slow = made.get("slow", False) or number >= made.get("short", number + 1)
            found.append(Proof(name, made["file"], macros, unwind, slow, mutants))
    return found, [f"-D{key}={value}" for key, value in defaults.items()]


class Prover:
    """Runs CBMC; ``words`` start it, and ``defaults`` are for the compiler."""

    def __init__(self, defaults: list[str]) -> None:
        self.words = cbmc(lambda line: print(line, flush=True))
        self.defaults = defaults

    def __call__(self, proof: Proof, overlay: Path | None = None) -> tuple[int, str, float]:
        """Its exit code, what it says of failures, and its CPU time in seconds."""
        folders = [HERE, TOP / "tests/unit/shim", TOP / "datapath/include", TOP / "datapath", TOP]
        if overlay:
            folders = [overlay, overlay / "datapath", *folders]
        own = {macro.partition("=")[0] for macro in proof.macros}
        command = [
            *self.words, HERE / proof.file, "--function", f"prove_{proof.name}",
            *(f"-I{folder}" for folder in folders), "-D_GNU_SOURCE", "-D__builtin_memcpy=memcpy",
            *(word for word in self.defaults if word[2:].partition("=")[0] not in own),
            *(f"-D{macro}" for macro in proof.macros),
            "--unwind", str(proof.unwind), "--slice-formula", "--object-bits", "10",
        ]  # fmt: skip
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (_LONGEST_S, _LONGEST_S)),
        ) as run:  # fmt: skip
            said = run.stdout.read() if run.stdout else ""
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        failed = re.findall(r"^\[[^\n]*\] line [^\n]*: FAILURE$", said, re.M)
        return run.returncode, "\n".join(failed) or said[-2000:], used.ru_utime + used.ru_stime


def chosen(proofs: list[Proof], names: list[str]) -> list[Proof]:
    """Those of the names; all, where there are none.  Raises LabError."""
    if unknown := set(names) - {proof.name for proof in proofs}:
        raise LabError(f"no proof is called {', '.join(sorted(unknown))}")
    return [proof for proof in proofs if not names or proof.name in names]


def run(names: list[str], thorough: bool) -> bool:
    """Whether all hold."""
    proofs, defaults = read()
    prover = Prover(defaults)
    todo = [p for p in chosen(proofs, names) if thorough or names or not p.slow]
    whole = 0.0
    good = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for proof, (code, said, cpu_s) in zip(todo, pool.map(prover, todo), strict=True):
            whole += cpu_s
            good += code == _HOLDS
            if code != _HOLDS:
                verdict = "does not hold" if code == _REFUTED else f"no answer, code {code}"
                print(f"{proof.title}: {verdict}\n{said}")
            elif names:
                print(f"{proof.title}: holds, {cpu_s:.1f} s of CPU")
    print(f"{good} of {len(todo)} proofs hold, in {whole:.0f} s of CPU; "
          f"{len(chosen(proofs, names)) - len(todo)} more in make check-thorough")  # fmt: skip
    return good == len(todo)


def refuted(prover: Prover, proofs: list[Proof], number: int) -> str:
    """What refutes a mutant, by one of its proof's values; "": nothing does.

    Raises LabError where CBMC does not answer.
    """
    mutant = proofs[0].mutants[number]
    overlay = OUT / f"mutants/{proofs[0].name}-{number}"
    shutil.rmtree(overlay, ignore_errors=True)
    folder = (overlay / mutant.file).parent
    folder.mkdir(parents=True)
    (overlay / mutant.file).write_text(mutant.text())
    for other in (TOP / mutant.file).parent.glob("*.[ch]"):  # they find each other beside them
        if not (folder / other.name).exists():
            (folder / other.name).symlink_to(other)
    for proof in proofs:
        code, said, _ = prover(proof, overlay)
        if code == _REFUTED:
            return said.split("\n")[0]
        if code != _HOLDS:
            raise LabError(f"{proof.title}: no answer, code {code}\n{said}")
    return ""


def mutants(names: list[str]) -> bool:
    """Whether each is refuted."""
    proofs, defaults = read()
    prover = Prover(defaults)
    todo = []
    for name in dict.fromkeys(proof.name for proof in chosen(proofs, names)):
        of_name = [proof for proof in proofs if proof.name == name]
        todo += [(of_name, number) for number in range(len(of_name[0].mutants))]
    good = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda one: refuted(prover, *one), todo)
        for (of_name, number), said in zip(todo, answers, strict=True):
            good += bool(said)
            mutant = of_name[0].mutants[number]
            print(f"{of_name[0].name}: {mutant.edit}: {said or 'NOT REFUTED'}", flush=True)
    print(f"{good} of {len(todo)} mutants are refuted")
    return good == len(todo)


def proven(proofs: Iterable[Proof]) -> set[str]:
    """Functions, as FILE:NAME, that a mutant changes.  Raises LabError where one changes none."""
    found = set()
    for mutant in {mutant for proof in proofs for mutant in proof.mutants}:
        of_it = mutant.functions()
        if len(of_it) != 1:
            raise LabError(f"{mutant.file}: {mutant.edit} changes {len(of_it)} functions, not one")
        found |= of_it
    return found


def table() -> str:
    """Functions that are proven, and all, by folder."""
    have = proven(read()[0])
    rows: dict[str, list[int]] = {}
    for file in sources():
        name = str(file.relative_to(TOP))
        row = rows.setdefault(str(file.parent.relative_to(TOP)), [0, 0])
        for function, _, _ in functions(file.read_text()):
            row[0] += f"{name}:{function}" in have
            row[1] += 1
    lines = ["| folder | proven | functions |", "|---|---|---|"]
    lines += [
        f"| `{folder}` | {some} | {every} |" for folder, (some, every) in rows.items() if every
    ]
    some, every = (sum(row[n] for row in rows.values()) for n in (0, 1))
    return "\n".join([*lines, f"| all | {some} | {every} |"])


def proven_by_folder(text: str) -> dict[str, int]:
    """The first two columns of a table, where something is proven."""
    rows = re.findall(r"^\| `?([\w/]+)`? \| (\d+) \|", text, re.M)
    return {folder: int(some) for folder, some in rows if int(some)}


def current() -> bool:
    """Whether the page names what is proven; a new function elsewhere does not concern it."""
    if proven_by_folder(table()) == proven_by_folder(PAGE.read_text()):
        return True
    print(f"{PAGE.relative_to(TOP)} has another table; it should be\n{table()}")
    return False


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("run", "mutants", "current", "table"))
    parser.add_argument("--thorough", action="store_true", help="also those that take long")
    parser.add_argument("names", nargs="*", metavar="NAME")
    words = parser.parse_args()
    try:
        if words.what == "table":
            print(table())
            return 0
        if words.what == "current":
            return not current()
        began = time.monotonic()
        good = mutants(words.names) if words.what == "mutants" else run(words.names, words.thorough)
        print(f"{time.monotonic() - began:.0f} s")
        return not good
    except LabError as error:
        print(f"prove: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
