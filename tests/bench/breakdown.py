# SPDX-License-Identifier: GPL-2.0-only
"""Where TCon's own instructions go, by source file.

    breakdown.py --modules FOLDER --plugin FILE [--lab PATH] [--out FOLDER] [--json]

64 flows between two guests, TSO on and off, without a rule but observed, under CUBIC and under BBR;
a machine for each.  A plugin of QEMU's translator counts each instruction of TCon's modules, which
have debug information: it tells the file.  What was inlined counts for the file that it comes from.
Prints a table and writes breakdown.json: for each data packet, with the ACKs that belong to it.
What the rest of the kernel does for TCon, as to clone a packet, is not in it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import TOP, measure

VARIANTS = {"observed": "no rule, observed", "cubic": "CUBIC", "bbr": "BBR"}
KINDS = {"tso": "TSO on", "plain": "TSO off"}
LEAST = 0.01  # of all: what is shown by itself


def source(frames: list[str]) -> str:
    """The file of TCon's that an instruction comes from; frames innermost first, "PATH:LINE"."""
    for frame in frames:
        path = Path(frame.split(":")[0])
        for folder in ("datapath", "algorithms"):
            if folder in path.parts:
                tail = path.parts[len(path.parts) - 1 - path.parts[::-1].index(folder) :]
                return str(Path(*tail).with_suffix(""))
    return "else"


def files_of(module: Path, offsets: list[int]) -> list[str]:
    """By addr2line: for each offset into the module's code the file, without its ending."""
    asked = "\n".join(f"{offset:#x}" for offset in offsets)
    told = subprocess.run(
        ["addr2line", "-a", "-i", "-j", ".text", "-e", str(module)],
        input=asked, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    files: list[list[str]] = []
    for line in told.splitlines():
        if line.startswith("0x"):
            files.append([])
        else:
            files[-1].append(line)
    return [source(frames) for frames in files]


def by_file(counted: Path, loaded: dict[str, list[int]], modules: Path) -> Counter[str]:
    """Instructions executed, by file.

    ``counted``: what the plugin wrote; ``loaded``: where each module begins and ends.
    """
    executed = [
        (int(address, 16), int(n))
        for address, n in (line.split() for line in counted.read_text().splitlines())
    ]
    total: Counter[str] = Counter()
    for name, (start, end) in loaded.items():
        mine = [(address - start, n) for address, n in executed if start <= address < end]
        files = files_of(modules / f"{name}.ko", [offset for offset, _ in mine])
        for file, (_, n) in zip(files, mine, strict=True):
            total[file] += n
    return total


def count(args: argparse.Namespace, variant: str, kind: str) -> dict[str, Any]:
    """One machine: per data packet, by file."""
    counted = args.out / f"executed-{variant}-{kind}"
    plugin = f"{args.plugin.resolve()},out={counted.resolve()}"
    found = measure(args.lab, variant, kind, script="counted.py", options=("--plugin", plugin))
    files = by_file(counted, found.pop("modules"), args.modules)
    counted.unlink()
    found["instructions"] = {file: n / found["data"] for file, n in files.most_common()}
    return found


def show(found: dict[str, dict[str, Any]]) -> None:
    """A table in Markdown."""
    columns = [one["instructions"] for one in found.values()]
    files = sorted(
        {file for column in columns for file in column},
        key=lambda file: -sum(column.get(file, 0) for column in columns),
    )
    shown = [
        file
        for file in files
        if any(column.get(file, 0) > LEAST * sum(column.values()) for column in columns)
    ]
    print(f"| | {' | '.join(found)} |")
    print("|---|" + "---:|" * len(found))
    for file in shown:
        print(f"| {file} | {' | '.join(f'{column.get(file, 0):.0f}' for column in columns)} |")
    rest = [sum(n for file, n in column.items() if file not in shown) for column in columns]
    print(f"| the rest | {' | '.join(f'{n:.0f}' for n in rest)} |")
    print(f"| **together** | {' | '.join(f'{sum(c.values()):.0f}' for c in columns)} |")
    per_data = [one["acks"] / one["data"] for one in found.values()]
    print(f"| ACKs for each | {' | '.join(f'{n:.2f}' for n in per_data)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", type=Path, required=True, help="folder with tcon.ko")
    parser.add_argument("--plugin", type=Path, required=True, help="executed.so")
    parser.add_argument("--lab", default=str(TOP / "tools/tcon-lab"), help="the lab's command")
    parser.add_argument("--out", type=Path, default=TOP / "build/bench", help="for breakdown.json")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        runs = {
            f"{title}, {kind_title}": pool.submit(count, args, variant, kind)
            for variant, title in VARIANTS.items()
            for kind, kind_title in KINDS.items()
        }
        found = {title: run.result() for title, run in runs.items()}
    text = json.dumps(found, indent=1, sort_keys=True)
    file = args.out / "breakdown.json"
    file.write_text(text)
    if args.json:
        print(text)
        return
    show(found)
    print(file, file=sys.stderr)


if __name__ == "__main__":
    main()
