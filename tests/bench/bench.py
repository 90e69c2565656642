# SPDX-License-Identifier: GPL-2.0-only
"""What TCon costs against the stock datapath: `make bench`.

Boots two machines in virtual time, one with the distribution's openvswitch.ko
and one with TCon's, runs measure.py in each, then connections.py, prints ratios
and writes bench.json.  In virtual time an instruction takes 2 ns, so a difference is a
number of instructions.  Cache misses, lock contention and a second CPU do not
exist there.
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
    "observed": "tcon.ko, no rule",
    "cubic": "CUBIC enforced",
    "bbr": "BBR enforced, paced",
}
LOADS = {
    "tso-1": "TSO on, 1 flow",
    "tso-64": "TSO on, 64 flows",
    "plain-1": "TSO off, 1 flow",
    "plain-64": "TSO off, 64 flows",
}


def measure(
    lab: str, *variants: str, script: str = "measure.py", stock: bool = False
) -> dict[str, Any]:
    """Run a script in a machine; its JSON, the last line of what it prints.

    The lines before tell how far it is.  Exits where the script fails.
    """
    command = [
        lab, "exec", "--shift", "1", "--timeout", "5400", "--memory", "2048",
        *(["--stock"] if stock else []),
        "--append", f"{TOP / 'tests/bench'}:/lab/bench",
        "--append", f"{TOP / 'tests/vm/genl.py'}:/lab/bench/genl.py",
        "--append", f"{TOP / 'datapath/include/uapi/linux/tcon.h'}:/lab/uapi/tcon.h",
        "--", "python3", f"/lab/bench/{script}", *variants,
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


def ratios(stock: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """TCon over stock: goodput, and instructions for a packet in the datapath."""
    wire = stock["forward"]["wire"]

    def instructions(found: dict[str, float], load: str, kind: str) -> float:
        return (found[kind] - wire[load][kind]) / NS_PER_INSTRUCTION

    table: dict[str, Any] = {}
    for variant in VARIANTS:
        key = "plain" if variant == "patched" else variant
        for load in LOADS:
            row = table.setdefault(variant, {}).setdefault(load, {})
            mine = median(ours["saturate"][key][load])
            base = median(stock["saturate"]["plain"][load])
            row["goodput_bps"], row["goodput_ratio"] = mine, mine / base
            row["best_ratio"] = max(ours["saturate"][key][load]) / max(
                stock["saturate"]["plain"][load]
            )
            if variant == "bbr":
                row["native_bbr_ratio"] = mine / median(stock["saturate"]["native bbr"][load])
            for kind in ("data", "ack"):
                if key not in ours["forward"]:
                    continue
                mine = instructions(ours["forward"][key][load], load, kind)
                base = instructions(stock["forward"]["plain"][load], load, kind)
                row[f"{kind}_instructions"] = mine
                row[f"{kind}_instructions_more"] = mine - base
                row[f"{kind}_ratio"] = mine / base
    return table


def show(table: dict[str, Any]) -> None:
    """The ratios as a text table."""
    print(
        f"\n{'':28}{'':20}{'goodput to stock':>20}"
        f"{'instructions a packet through the datapath':>46}\n"
        f"{'':28}{'':20}{'median':>10}{'best run':>10}{'data: more':>14}{'to stock':>10}"
        f"{'ACK: more':>12}{'to stock':>10}"
    )
    for variant, title in VARIANTS.items():
        for load, load_title in LOADS.items():
            row = table[variant][load]
            line = f"{title:28}{load_title:20}{row['goodput_ratio']:10.3f}{row['best_ratio']:10.3f}"
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


def many(lab: str) -> dict[str, dict[str, Any]]:
    """Packets among many connections: by variant what connections.py says."""
    with ThreadPoolExecutor(2) as pool:
        runs = {
            variant: pool.submit(measure, lab, variant, script="connections.py", stock=stock)
            for variant, stock in (("plain", True), ("observed", False), ("cubic", False))
        }
        return {variant: run.result() for variant, run in runs.items()}


def show_many(found: dict[str, dict[str, Any]]) -> None:
    """Instructions more than stock, and memory, by the number of connections."""
    print(f"\n{'':28}{'connections':>12}{'data: more':>14}{'ACK: more':>14}{'bytes for each':>16}")
    for variant in ("observed", "cubic"):
        title = VARIANTS[variant]
        for count, base in found["plain"].items():
            mine = found[variant][count]
            data, ack = ((mine[k] - base[k]) / NS_PER_INSTRUCTION for k in ("data", "ack"))
            more = mine["slab_bytes"] - base["slab_bytes"]
            held = f"{more:.0f}" if int(count) > 1 else "-"  # slabs grow by pages
            print(f"{title:28}{count:>12}{data:+14.0f}{ack:+14.0f}{held:>16}")
            title = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", default=str(TOP / "tools/tcon-lab"), help="the lab's command")
    parser.add_argument("--out", type=Path, default=TOP / "build/bench", help="for bench.json")
    args = parser.parse_args()
    with ThreadPoolExecutor(2) as pool:
        stock_run = pool.submit(measure, args.lab, "plain", stock=True)
        ours_run = pool.submit(measure, args.lab, "plain", "observed", "cubic", "bbr")
        stock, ours = stock_run.result(), ours_run.result()
    table = ratios(stock, ours)
    connections = many(args.lab)
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "bench.json"
    file.write_text(
        json.dumps(
            {"ratios": table, "stock": stock, "tcon": ours, "connections": connections},
            indent=1,
            sort_keys=True,
        )
    )
    show(table)
    show_many(connections)
    print(file)


if __name__ == "__main__":
    main()
