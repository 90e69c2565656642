# SPDX-License-Identifier: GPL-2.0-only
"""Do equal seeds give equal numbers, here and on every other machine?

scenarios/repeat.toml is run until two rounds give the same.  One of them may be the round of
scenarios/repeat.json: the digest of its numbers, which was made on another machine, with what they
were made from.  Where other versions of the packages are installed here the
numbers need not be the same, and the command names these.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import lab
from .errors import LabError
from .experiment import scenario_file
from .machine.products import TOP, Say
from .numbers import results

SCENARIO = TOP / "tools/scenarios/repeat.toml"
KEPT = SCENARIO.with_suffix(".json")
#: At most.  User-Mode Linux must give the same at once.  QEMU is two threads; what qemu.py
#: does for its clock has not failed yet, but a third round tells a clock that was
#: disturbed from numbers that depend on something.
ROUNDS = {"qemu": 3, "uml": 2}

#: Packages that this host builds with, beside the root's packages.
_HOST_PACKAGES = (
    "gcc-12", "libc6-dev", "libssl-dev", "linux-headers-amd64", "linux-source-6.1",
    "openvswitch-source", "qemu-system-x86",
)  # fmt: skip
_NAMED = 5


@dataclass(frozen=True)
class Digest:
    """One engine's results, and what they come from; digests are SHA-256, in hexadecimal.

    ``parts``: files that this tree made; ``packages``: versions.
    """

    numbers: str
    parts: dict[str, str]
    packages: dict[str, str]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def numbers(made: dict[str, Any]) -> str:
    """The digest of a ``results.json``, without the versions in it."""
    text = results.to_text({key: made[key] for key in made if key != "versions"})
    return _sha256(text.encode())


def _host_packages() -> dict[str, str]:
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *_HOST_PACKAGES]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


def digest(host: lab.Host, made: dict[str, Any]) -> Digest:
    """The digest of results, with what ``host`` boots from."""
    packages = {**host.base.versions, **_host_packages(), "python3": platform.python_version()}
    return Digest(numbers(made), host.parts(), packages)


def _differing(a: dict[str, str], b: dict[str, str]) -> list[str]:
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def compared(engine: str, here: Digest, kept: Digest) -> str:
    """One line: the same numbers, or why they need not be.

    Raises LabError where they differ and should not.
    """
    if here.numbers == kept.numbers:
        return f"{engine}: {here.numbers}, as kept"
    if packages := _differing(here.packages, kept.packages):
        named = _some([f"{p} {here.packages.get(p, 'missing')}" for p in packages])
        return f"{engine}: {here.numbers}, not compared: other packages than were kept: {named}"
    parts = _differing(here.parts, kept.parts)
    reason = (
        f"what differs is {_some(parts)}; if that is meant, tcon-lab digest --keep"
        if parts
        else "it is made from the same: the machine shows through"
    )
    raise LabError(f"{SCENARIO.name} on {engine} gives other numbers than were kept: {reason}")


def repeated(engine: str, folder: Path, say: Say, before: str = "") -> Digest:
    """Run until two rounds give the same; results go to FOLDER/ENGINE-ROUND/results.json.

    The one before these, on whatever machine, gave numbers with the digest ``before``.  Raises
    LabError where no two of ROUNDS and that one do.
    """
    options = lab.Options(engine)
    wanted = scenario_file.load(SCENARIO)
    earlier = {before}
    for number in range(1, ROUNDS[engine] + 1):
        out = folder / f"{engine}-{number}"
        out.mkdir(parents=True, exist_ok=True)
        (made,) = results.all_results(lab.run_all([wanted], options, "vm", 1, out, say))
        (out / "results.json").write_text(results.to_text(made))
        if (found := numbers(made)) in earlier:
            return digest(lab.Host(options, say), made)
        earlier.add(found)
    raise LabError(f"no two of {ROUNDS[engine]} rounds on {engine} gave the same numbers")


def kept(file: Path = KEPT) -> dict[str, Digest]:
    """The kept digests by engine.  Raises LabError."""
    try:
        return {engine: Digest(**made) for engine, made in json.loads(file.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LabError(f"{file} holds no digests ({error}): tcon-lab digest --keep") from None


def write(digests: dict[str, Digest], file: Path) -> None:
    """Write digests as JSON."""
    file.write_text(results.to_text({name: asdict(made) for name, made in digests.items()}))


def check(
    engines: list[str], folder: Path, keep: bool, say: Say, tell: Callable[[str], None]
) -> None:
    """Digests of ``engines``, to FOLDER/digest.json and ``tell``; kept, or compared with
    those kept.  Raises LabError.
    """
    before = {} if keep else {engine: told.numbers for engine, told in kept().items()}
    digests = {engine: repeated(engine, folder, say, before.get(engine, "")) for engine in engines}
    write(digests, folder / "digest.json")
    if keep:
        write((kept() if KEPT.exists() else {}) | digests, KEPT)
    known = kept()
    for engine, here in digests.items():
        if engine not in known:
            raise LabError(f"{KEPT.name} has no digest of {engine}: tcon-lab digest --keep")
        tell(compared(engine, here, known[engine]))
