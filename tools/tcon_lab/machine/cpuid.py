# SPDX-License-Identifier: GPL-2.0-only
"""Takes CPUID out of programs: in User-Mode Linux they must not see the host's CPU.

The guest's programs run on the host's CPU itself.  They depend on what it says of
itself: how they copy memory, how large a signal's frame is, where the loader saves
registers.  So INVD stands in for CPUID (uml/cpu.h), which stops a program; uml/host.c
answers it.
"""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile

from ..errors import LabError

CPUID = b"\x0f\xa2"
STANDIN = b"\x0f\x08"

# Kernel modules are those (ELF's e_type); the kernel is a process of the host.
_RELOCATABLE = b"\x01\x00"

# objdump: "  3 .text  00001234  address  address  offset  2**4"; "  401000:\t0f a2  \tcpuid".
_SECTION = re.compile(r"^ +\d+ \S+ +([0-9a-f]+) +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) ", re.M)
_FOUND = re.compile(r"^ *([0-9a-f]+):\t0f a2 +\tcpuid", re.M)


def _offset(address: int, sections: list[tuple[int, int, int]]) -> int:
    """Where in the file that is; ``sections``: size, address, offset of each."""
    (offset,) = [at + address - start for size, start, at in sections
                 if start <= address < start + size and at]  # fmt: skip
    return offset


def _disassembled(program: bytes) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(program)
        file.flush()
        command = ["objdump", "-hdw", file.name]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as missing:
            raise LabError("objdump not found: install the package binutils") from missing
    if run.returncode:
        raise LabError(f"objdump cannot read a program: {run.stderr.strip()}")
    return run.stdout


@functools.lru_cache(maxsize=64)
def without_cpuid(data: bytes) -> bytes:
    """A file's contents; of a program, with each CPUID replaced by its stand-in.

    The two bytes are also parts of other instructions and of data, so what is an
    instruction is left to the disassembler.  Raises LabError.
    """
    program = data.startswith(b"\x7fELF") and data[16:18] != _RELOCATABLE
    if not program or CPUID not in data:
        return data
    text = _disassembled(data)
    sections = [tuple(int(n, 16) for n in found) for found in _SECTION.findall(text)]
    changed = bytearray(data)
    for address in _FOUND.findall(text):
        offset = _offset(int(address, 16), sections)
        if data[offset : offset + 2] != CPUID:
            raise LabError(f"objdump found a CPUID at {address} where there is none")
        changed[offset : offset + 2] = STANDIN
    return bytes(changed)
