# SPDX-License-Identifier: GPL-2.0-only
"""What the look-up of a rule takes among many, measured inside the VM.

    rules.py VARIANT

For each count of COUNTS so many rules are there, which select other connections; then
connections are opened, and each SYN looks for a rule.  Prints one JSON object: by count
"syn", virtual nanoseconds for a SYN from one veth end to the other.  The variant is "observed"
or "netfilter-observed"; topology, frames and variants are measure.py's.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median

import connections
import measure
from measure import genl

COUNTS = (0, 10, 4096)
SAMPLE = 1000


def opened(pair: connections.Pair) -> float:
    """What a SYN takes, the median, so that a page for a slab or a timer does not count."""
    measure.prime(pair.a, pair.b)
    took = [pair.open(flow) for flow in range(SAMPLE)]
    for flow in range(SAMPLE):
        pair.send("rst", flow, pair.sent[flow], 2000)
    time.sleep(measure.COLLECTED_S)
    return median(took)


def main() -> None:
    """Measure and print what was found."""
    measure.prepare()
    measure.use(sys.argv[1])
    measure.offload(True)
    measure.silence(True)
    client, pair, found = genl.Genl(), connections.Pair(), {}
    rules = 0
    opened(pair)  # slabs have grown
    for count in COUNTS:
        print(f"{count} rules", flush=True)
        for rule in range(rules, count):
            client.set_rule("none", genl.u16(genl.E["TCON_MATCH_A_DPORT"], 20_000 + rule))
        rules = count
        time.sleep(measure.RESTS_S)
        found[str(count)] = {"syn": opened(pair)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
