# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns for tests, and runs of them that are invented."""

from __future__ import annotations

import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import synthetic
from rich.console import Console
from tcon_lab.errors import LabError
from tcon_lab.experiment.campaign import Campaign
from tcon_lab.experiment.campaign_file import parse
from tcon_lab.numbers.against_native import COMPARED, compare
from tcon_lab.numbers.campaign_run import Run, runs_of
from tcon_lab.numbers.results import results_from_raw
from tcon_lab.pages import campaign_page
from tcon_lab.scenario import Scenario

CAMPAIGNS = Path(__file__).parents[2] / "tools/campaigns"

FULL = """\
name = "grid"
seconds = 10
modes = ["native", "enforced"]
seeds = [1, 2]

[path]
queue = "1.0bdp,50p"

[[flow]]
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"

[matrix]
rate = ["10mbit", "100mbit"]
rtt = ["8ms", "64ms"]
loss = ["0%", "0.1%"]

[[bar]]
metric = "goodput"
rtt_max = "8ms"
min = 0.95
aim = 0.98

[[bar]]
metric = "goodput"
min = 0.9
max = 1.1

[[bar]]
metric = "goodput"
over = "mean"
min = 0.98
"""


def change(old: str, new: str, text: str = FULL) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


PAIRS = """\
name = "pairs"
seconds = 20
seeds = [1, 2, 3]
[path]
rate = "10mbit"
rtt = "10ms"
[[flow]]
guest_cc = "cubic"
[[flow]]
count = 3
guest_cc = "cubic"
[matrix]
cc = [["bbr", "cubic"], ["linux:bic", "vegas"], "reno"]
loss = ["0%", "1%"]
[short]
seconds = 5
seeds = [2]
cc = ["reno", ["bbr", "cubic"]]
"""


def runs(campaign: Campaign, made_from: str = "v1") -> list[Run]:
    return runs_of(campaign, lambda mode: made_from)


def raw_of(scenario: Scenario, mode: str, goodput_bps: float = 9e6) -> dict[str, Any]:
    """A synthetic raw record as of a run of ``scenario``."""
    raw = synthetic.raw(mode)
    scale = goodput_bps / 94e6
    for record in raw["probe"]:
        if record["type"] == "flow":
            record["acked_bytes"] = round(record["acked_bytes"] * scale)
    return raw | {"scenario": scenario.to_dict(), "seed": scenario.seed}


class Fake:
    """Runs nothing: notes what it is asked for, and fails where it is told to."""

    def __init__(self, failing: str = "", at_most: int = 1000) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.failing, self.at_most = failing, at_most
        self.lock = threading.Lock()

    def __call__(
        self, scenario: Scenario, mode: str, out: Path, stop: threading.Event
    ) -> dict[str, Any]:
        with self.lock:
            if len(self.asked) == self.at_most:
                raise KeyboardInterrupt
            self.asked.append((scenario.name, mode, scenario.seed))
        (out / "console.log").write_text("said something")
        if self.failing and self.failing in scenario.name:
            raise LabError("the machine has had enough")
        return raw_of(scenario, mode)


SMALL = change('rate = ["10mbit", "100mbit"]', 'rate = ["10mbit"]', FULL)


def flow_record(goodput: float, rtt_us: int, guest_share: float | None) -> dict[str, Any]:
    share = guest_share is not None and {
        "window": 1 - guest_share, "guest": guest_share, "receiver": 0.0, "idle": 0.0
    }  # fmt: skip
    return {"index": 0, "error": None, "goodput_bps": goodput, "limited_share_settled": share,
            "rtt_us": {"min": 1, "p50": rtt_us, "p99": 2 * rtt_us}}  # fmt: skip


def comparison(
    goodputs: dict[tuple[str, int], float], text: str = SMALL, warning: str = ""
) -> dict[str, Any]:
    """A comparison of runs with these goodputs by mode and seed, the same in each cell
    except the first, where the enforced ones have 94 % of that.
    """
    campaign = parse(text)
    stored: dict[str, dict[str, Any]] = {}
    index = []
    for run in runs(campaign):
        mode, seed = run.mode, run.scenario.seed
        index.append({"cell": run.cell.name, "mode": mode, "seed": seed, "key": run.key})
        goodput = goodputs[mode, seed]
        if mode == COMPARED and run.cell is campaign.cells[0]:
            goodput *= 0.94
        share = 0.01 * seed if mode == COMPARED else None
        record = flow_record(goodput, 30_000 if mode == COMPARED else 20_000, share)
        record["dctcp_alpha"] = 0.11 if mode == COMPARED else 0.1
        made = {"goodput_bps": goodput, "flows": [record], "warnings": [w for w in [warning] if w],
                "jain": 0.9 if mode == COMPARED else 1.0,
                "instructions_per_byte": 22.0 if mode == COMPARED else 20.0,
                "queue_bytes": {"p50": 24e3 if mode == COMPARED else 20e3}}  # fmt: skip
        stored[run.key] = {"versions": {"kernel": "6.1"}, "run": made}
    return compare(campaign, index, stored.get)


GOODPUTS = {("native", 1): 8e6, ("native", 2): 10e6, ("enforced", 1): 8e6, ("enforced", 2): 9.8e6}

#: The ratios' geometric mean.
MEAN = (1.0 * 0.98) ** 0.5

FILES = """\
name = "files"
seconds = 100
modes = ["guest", "native", "enforced"]
seeds = [1, 2]
[path]
rate = "10mbit"
rtt = "20ms"
[[transfer]]
bytes = "1MB"
count = 2
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
[[case]]
name = "LAN 10MB"
loss = "1%"
[[bar]]
metric = "saving_kept"
min = 0.95
"""


def transfers(times_s: dict[str, list[list[float]]], text: str = FILES) -> dict[str, Any]:
    """The comparison of runs that took these times, by mode and seed."""
    campaign = parse(text)
    stored, index = {}, []
    for run in runs(campaign):
        mode, seed = run.mode, run.scenario.seed
        raw = synthetic.raw_transfers(mode, times_s[mode][seed - 1], seed)
        record = results_from_raw([raw])
        stored[run.key] = {"versions": {}, "run": record["runs"][0]}
        index.append({"cell": run.cell.name, "mode": mode, "seed": seed, "key": run.key})
    return compare(campaign, index, stored.get)


def text_of(made: dict[str, Any]) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(campaign_page.table(made))
    return console.export_text()


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.rows += tag == "tr"
        self.addresses += [v for k, v in attrs if k in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def drawn(values: list[float | None], step_s: float = 0.1) -> dict[str, Any]:
    """A series of these windows in kB, and RTTs of as many ms."""
    scaled = [v if v is None else 1000 * v for v in values]
    return {"start_s": 0.1, "step_s": step_s, "cwnd_bytes": scaled, "rtt_us": scaled}
