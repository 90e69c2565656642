# SPDX-License-Identifier: GPL-2.0-only
"""What TCon costs against the stock datapath: `make bench`.

Boots machines in virtual time, with the distribution's openvswitch.ko and with TCon's, runs
measure.py, connections.py and rules.py in them, prints ratios and writes bench.json.  In virtual
time an instruction takes 2 ns, so a difference is a number of instructions.  Cache misses, lock
contention and a second CPU do not exist there.

--forward leaves goodput out, which takes most of the time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

TOP = Path(__file__).resolve().parents[2]
NS_PER_INSTRUCTION = 2
VARIANTS = {
    "patched": "hooks, no tcon.ko",
    "resting": "tcon.ko, no rule, at rest",
    "observed": "tcon.ko, no rule, observed",
    "cubic": "CUBIC enforced",
    "bbr": "BBR enforced, paced",
}
# By netfilter's hooks; only what forwarding takes.
NETFILTER = {
    "netfilter-resting": "netfilter, no rule, at rest",
    "netfilter-observed": "netfilter, no rule, observed",
    "netfilter-cubic": "netfilter, CUBIC enforced",
}
LOADS = {
    "tso-1": "TSO on, 1 flow",
    "tso-64": "TSO on, 64 flows",
    "plain-1": "TSO off, 1 flow",
    "plain-64": "TSO off, 64 flows",
}
# TSO off, with a receiver that copies, as behind a NIC.
COPIED = {"copied-1": "copied, 1 flow", "copied-64": "copied, 64 flows"}


def measure(
    lab: str,
    *arguments: str,
    script: str = "measure.py",
    stock: bool = False,
    options: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Run a script in a machine; its JSON, the last line of what it prints.

    ``options`` are the lab's.  The lines before tell how far it is.  Exits where the script fails.
    """
    command = [
        lab, "exec", "--shift", "1", "--timeout", "5400", "--memory", "2048",
        *(["--stock"] if stock else []), *options,
        "--append", f"{TOP / 'tests/bench'}:/lab/bench",
        "--append", f"{TOP / 'tests/vm/genl.py'}:/lab/bench/genl.py",
        "--append", f"{TOP / 'datapath/include/uapi/linux/tcon.h'}:/lab/uapi/tcon.h",
        "--", "python3", f"/lab/bench/{script}", *arguments,
    ]  # fmt: skip
    start_s, found = time.monotonic(), ""
    kernel = "stock" if stock else "tcon"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout or ():
            if line.startswith("{"):
                found = line
            else:
                elapsed_s = time.monotonic() - start_s
                print(f"{elapsed_s:6.1f} s  {kernel}: {line}", end="", file=sys.stderr, flush=True)
    if run.returncode:
        sys.exit(f"bench: {command[0]} exec failed with status {run.returncode}")
    return json.loads(found)


def measure_all(lab: str, *, only_forward: bool) -> dict[str, Any]:
    """What the scripts found: two machines at a time, each with one variant."""
    option = ("--forward",) if only_forward else ()
    both = ("plain", *list(VARIANTS)[1:])
    with ThreadPoolExecutor(2) as pool:

        def run(*arguments: str, **how: Any) -> Any:
            return pool.submit(measure, lab, *arguments, **how)

        many = ("plain", "resting", "cubic")
        runs = {
            "rules": run("observed", script="rules.py"),
            "stock": run(*option, "plain", stock=True),
            "tcon": {name: run(*option, name) for name in both},
            "netfilter": {name: run("--forward", name) for name in NETFILTER},
            "connections": {
                name: run(name, script="connections.py", stock=name == "plain") for name in many
            },
        }

        def result(of: Any) -> Any:
            if isinstance(of, dict):
                return {name: result(one) for name, one in of.items()}
            return of.result()

        return result(runs)


def add_goodput(row: dict[str, float], mine: list[float], base: list[float]) -> None:
    """Median and best, and their ratios."""
    row["goodput_bps"], row["goodput_ratio"] = median(mine), median(mine) / median(base)
    row["best_ratio"] = max(mine) / max(base)


def add_instructions(
    row: dict[str, float], mine: dict[str, float], base: dict[str, float], wire: dict[str, float]
) -> None:
    """For a packet in the datapath, without what sender and receiver take."""
    for kind in ("data", "ack"):
        ours, stock = ((of[kind] - wire[kind]) / NS_PER_INSTRUCTION for of in (mine, base))
        row[f"{kind}_instructions"] = ours
        row[f"{kind}_instructions_more"] = ours - stock
        row[f"{kind}_ratio"] = ours / stock


def ratios(found: dict[str, Any]) -> dict[str, Any]:
    """TCon over stock: goodput, and instructions for a packet in the datapath."""
    stock, forward = found["stock"], found["stock"]["forward"]
    table: dict[str, Any] = {}
    for variant in (*VARIANTS, *NETFILTER):
        key = "plain" if variant == "patched" else variant
        mine = (found["netfilter"] if variant in NETFILTER else found["tcon"])[key]
        for load in (*LOADS, *COPIED):
            row = table.setdefault(variant, {}).setdefault(load, {})
            if key in mine["saturate"]:
                add_goodput(row, mine["saturate"][key][load], stock["saturate"]["plain"][load])
            if variant == "bbr" and row:
                native = median(stock["saturate"]["native bbr"][load])
                row["native_bbr_ratio"] = row["goodput_bps"] / native
            if key in mine["forward"] and load in LOADS:
                add_instructions(
                    row, mine["forward"][key][load], forward["plain"][load], forward["wire"][load]
                )
    return table


def show(table: dict[str, Any]) -> None:
    """The ratios as a text table."""
    print(
        f"\n{'':30}{'':20}{'goodput to stock':>20}"
        f"{'instructions a packet through the datapath':>46}\n"
        f"{'':30}{'':20}{'median':>10}{'best run':>10}{'data: more':>14}{'to stock':>10}"
        f"{'ACK: more':>12}{'to stock':>10}"
    )
    for variant, title in (VARIANTS | NETFILTER).items():
        for load, load_title in (LOADS | COPIED).items():
            row = table[variant][load]
            if not row:
                continue
            line = f"{title:30}{load_title:20}"
            if "goodput_ratio" in row:
                line += f"{row['goodput_ratio']:10.3f}{row['best_ratio']:10.3f}"
            else:
                line += f"{'-':>10}{'-':>10}"
            if "data_ratio" in row:
                line += (
                    f"{row['data_instructions_more']:+14.0f}{row['data_ratio']:10.3f}"
                    f"{row['ack_instructions_more']:+12.0f}{row['ack_ratio']:10.3f}"
                )
            if "native_bbr_ratio" in row:
                line += f"   to native BBR guests: {row['native_bbr_ratio']:.3f}"
            print(line)
            title = ""
    print(
        "\nA single flow settles in one of two modes, a quarter apart: of its runs the median\n"
        "and the best are compared with stock's.\n\n"
        "Instruction counts know nothing of cache misses, locks or a second CPU.  A paced\n"
        "flow's packets leave by a timer, so BBR has no figure for forwarding alone."
    )


def show_many(found: dict[str, dict[str, Any]]) -> None:
    """Instructions more than stock, and memory, by the number of connections."""
    print(
        f"\n{'':30}{'connections':>12}{'SYN: more':>14}{'data: more':>14}{'ACK: more':>14}"
        f"{'bytes for each':>16}"
    )
    for variant in found:
        if variant == "plain":
            continue
        title = VARIANTS[variant]
        for count, base in found["plain"].items():
            mine = found[variant][count]
            syn, data, ack = (
                (mine[k] - base[k]) / NS_PER_INSTRUCTION for k in ("syn", "data", "ack")
            )
            more = mine["slab_bytes"] - base["slab_bytes"]
            held = f"{more:.0f}" if int(count) > 1 else "-"  # slabs grow by pages
            print(f"{title:30}{count:>12}{syn:+14.0f}{data:+14.0f}{ack:+14.0f}{held:>16}")
            title = ""


def show_rules(found: dict[str, dict[str, float]]) -> None:
    """Instructions that the look-up of a rule takes, by the number of rules."""
    none = found["0"]["syn"]
    for count, row in found.items():
        if count != "0":
            more = (row["syn"] - none) / NS_PER_INSTRUCTION
            print(f"a SYN with {count} rules, none for it: {more:+.0f} instructions to no rule")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", default=str(TOP / "tools/tcon-lab"), help="the lab's command")
    parser.add_argument("--forward", action="store_true", help="leave goodput out")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("--out", type=Path, default=TOP / "build/bench", help="for bench.json")
    args = parser.parse_args()
    found = measure_all(args.lab, only_forward=args.forward)
    table = ratios(found)
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "bench.json"
    text = json.dumps({"ratios": table, **found}, indent=1, sort_keys=True)
    file.write_text(text)
    if args.json:
        print(text)
        return
    show(table)
    show_many(found["connections"])
    print()
    show_rules(found["rules"])
    print(file)


if __name__ == "__main__":
    main()
