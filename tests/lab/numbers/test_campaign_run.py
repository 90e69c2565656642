# SPDX-License-Identifier: GPL-2.0-only
"""A campaign's runs: which there are, when they are run, and which files are kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import synthetic
from campaigns import CAMPAIGNS, FULL, SMALL, Fake, change, runs
from tcon_lab.errors import LabError
from tcon_lab.experiment.campaign_file import load, parse
from tcon_lab.numbers import gallery
from tcon_lab.numbers.against_native import compare
from tcon_lab.numbers.campaign_run import Estimate, Store, conduct, duration


def test_keys_say_what_numbers_depend_on() -> None:
    got = runs(parse(FULL))
    assert len(got) == 8 * 2 * 2
    keys = {run.key for run in got}
    assert len(keys) == 32
    assert not keys & {run.key for run in runs(parse(FULL), "v2")}
    renamed = runs(parse(change('name = "grid"', 'name = "other"')))
    assert [run.key for run in renamed] == [run.key for run in got]
    longer = runs(parse(change("seconds = 10", "seconds = 11")))
    assert not keys & {run.key for run in longer}


def test_runs_that_are_equal_are_done_once() -> None:
    text = change('loss = ["0%", "0.1%"]', 'guest_cc = ["reno", "vegas"]')
    got = runs(parse(text))
    assert len(got) == 32
    native = {run.key for run in got if run.mode == "native"}
    assert len(native) == 8  # native BBR beside either guest
    assert len({run.key for run in got}) == 8 + 16
    got = runs(parse(change('loss = ["0%", "0.1%"]', "receiver_tcon = [true, false]")))
    assert len({run.key for run in got if run.mode == "native"}) == 8  # enforces nothing
    assert len({run.key for run in got}) == 8 + 16


def test_parameters_of_a_cc_are_only_of_runs_in_which_it_works() -> None:
    def keys(mode: str, more: str) -> set[str]:
        text = change('guest_cc = "cubic"', f'guest_cc = "cubic"\n{more}')
        return {run.key for run in runs(parse(text)) if run.mode == mode}

    for more, other in (
        ("guest_params = {beta = 800}", "enforced"),
        ("params = {startup_gain = 2}", "enforced"),
        ("native_params = {probe_gain = 2}", "native"),
    ):
        for mode in ("native", "enforced"):
            assert (keys(mode, "") == keys(mode, more)) == (mode != other), more


LINUX = change('modes = ["native", "enforced"]', 'modes = ["linux", "enforced"]', FULL)


def test_runs_of_mode_linux() -> None:
    got = runs(parse(LINUX))
    enforced = {run.key for run in runs(parse(FULL)) if run.mode == "enforced"}
    assert {run.key for run in got if run.mode == "enforced"} == enforced  # shared
    linux = [run for run in got if run.mode == "linux"]
    assert {run.scenario.flows[0].enforced_cc(run.mode) for run in linux} == {"linux:bbr"}
    assert len({run.key for run in got}) == 32
    other = runs(parse(change('native_cc = "bbr"', 'native_cc = "vegas"', LINUX)))
    assert not {run.key for run in linux} & {run.key for run in other}
    assert enforced == {run.key for run in other if run.mode == "enforced"}


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store, fake, said = Store(tmp_path), Fake(at_most=5), []
    store.prepare(campaign, runs(campaign))
    with pytest.raises(KeyboardInterrupt):
        conduct(runs(campaign), store, fake, 1, said.append)
    assert len(fake.asked) == 5
    again = Fake()
    assert conduct(runs(campaign), store, again, 2, said.append) == []
    assert len(again.asked) == 16 - 5
    assert not set(fake.asked) & set(again.asked)
    assert "5 of 16 runs are done already" in said
    assert said[-1] == "16 of 16 runs done"
    assert re.fullmatch(r"6 of 16 runs done, about \d+ s left", said[said.index(
        "5 of 16 runs are done already") + 1])  # fmt: skip
    assert not list(store.console.iterdir())
    third = Fake()
    conduct(runs(campaign), store, third, 1, said.append)
    assert third.asked == []
    conduct(runs(campaign, "v2"), store, third, 1, said.append)
    assert len(third.asked) == 16


def test_a_damaged_file_is_no_result(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign), store, Fake(), 1, lambda line: None)
    files = sorted((tmp_path / "runs").iterdir())
    files[0].write_text(files[0].read_text()[:100])
    files[1].write_text(files[2].read_text())
    files[3].write_text(json.dumps({"key": files[3].stem}))
    fake = Fake()
    conduct(runs(campaign), store, fake, 1, lambda line: None)
    assert len(fake.asked) == 3


@pytest.mark.parametrize("text", ["{}", '{"campaign": "grid"}', '{"campaign": "x", "runs": [{}]}'])
def test_a_damaged_index_is_named(text: str, tmp_path: Path) -> None:
    campaign, store = parse(SMALL), Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    assert len(store.index(campaign)) == len(runs(campaign))
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(LabError, match=r"index\.json is damaged"):
        store.index(campaign)


def test_a_failure_stops_nothing_and_is_reported(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store, said = Store(tmp_path), []
    store.prepare(campaign, runs(campaign))
    failures = conduct(runs(campaign), store, Fake(failing="64ms-0pct"), 2, said.append)
    assert (
        sorted((f.run.cell.name, f.run.mode) for f in failures)
        == [("10mbit 64ms 0%", "enforced")] * 2 + [("10mbit 64ms 0%", "native")] * 2
    )
    assert {f.reason for f in failures} == {"the machine has had enough"}
    assert said[-1] == "12 of 16 runs done, 4 failed"
    assert sum("FAILED: the machine has had enough" in line for line in said) == 4
    kept = {log.parent.name for log in store.console.rglob("*.log")}
    assert kept == {failure.run.key for failure in failures}
    made = compare(campaign, store.index(campaign), store.load)
    assert len(made["missing"]) == 4
    assert "10mbit 64ms 0%, native, seed 1" in made["missing"]
    assert made["cells"][2]["metrics"] == {}


def test_what_is_stored_has_no_samples(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign)[:1], store, Fake(), 1, lambda line: None)
    (file,) = (tmp_path / "runs").iterdir()
    stored = json.loads(file.read_text())
    assert stored["key"] == file.stem == runs(campaign)[0].key
    assert (stored["mode"], stored["seed"]) == ("native", 1)
    assert stored["versions"]["kernel"] == "6.1.0"
    assert stored["scenario"]["path"]["rtt_us"] == 8000
    assert "samples" not in file.read_text().replace("rtt_samples", "")
    assert stored["run"]["flows"][0]["rtt_us"]["p50"] > 20_000


def test_what_is_stored_of_one_flow_has_its_series(tmp_path: Path) -> None:
    campaign = parse(change('rate = ["10mbit", "100mbit"]', 'rate = ["100mbit"]', LINUX))
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    conduct(runs(campaign)[:2], store, Fake(), 1, lambda line: None)
    found = gallery.collect(store.index(campaign), store.load)
    assert list(found) == ["100mbit 8ms 0%"]
    assert {mode: list(seeds) for mode, seeds in found["100mbit 8ms 0%"].items()} == {
        "linux": ["1"], "enforced": ["1"]
    }  # fmt: skip
    drawn = found["100mbit 8ms 0%"]["enforced"]["1"]
    assert (drawn["start_s"], drawn["step_s"], len(drawn["rtt_us"])) == (0.1, 0.1, 100)
    text = change('guest_cc = "cubic"', 'guest_cc = "cubic"\ncount = 2', FULL)
    two = runs(parse(text))[0]
    store.save(two, synthetic.raw("native", 2) | {"scenario": two.scenario.to_dict()}, 1.0)
    flows = json.loads((tmp_path / f"runs/{two.key}.json").read_text())["run"]["flows"]
    assert [flow["series"] for flow in flows] == [None, None]


def test_an_index_is_of_one_campaign(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path / "x")
    with pytest.raises(LabError, match="holds no campaign's results"):
        store.index(campaign)
    store.prepare(campaign, runs(campaign))
    assert len(store.index(campaign)) == 16
    other = parse(change('name = "grid"', 'name = "other"'))
    with pytest.raises(LabError, match="holds the results of campaign grid"):
        store.index(other)
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="Not a directory"):
        Store(tmp_path / "file").prepare(campaign, [])


def test_estimates() -> None:
    got = runs(parse(FULL))
    slow = [run for run in got if run.scenario.path.rate_bps == 100_000_000]
    fast = [run for run in got if run.scenario.path.rate_bps == 10_000_000]
    assert slow[0].weight == 12 + 10 * 1.1
    assert fast[0].weight == 12 + 10 * 0.2
    estimate = Estimate([slow[0], slow[1], fast[0]], 2)
    assert estimate.left_s is None
    estimate.took(slow[0], 46)  # two seconds for each unit of weight
    assert estimate.left_s == pytest.approx((23 + 14) * 2 / 2)
    estimate.failed(slow[1])
    assert estimate.left_s == pytest.approx(14)


def test_transfers_are_weighed_by_their_bytes() -> None:
    small, large = (
        next(r for r in runs(load(CAMPAIGNS / "transfers.toml")) if r.cell.name == name)
        for name in ("LAN 10MB", "LAN large")
    )
    assert small.weight == pytest.approx(12 + 100 * (0.8 + 0.003) * 1.1)
    assert large.weight == pytest.approx(12 + 4 * (5.04 + 0.003) * 1.1)
    (request, *_) = runs(load(CAMPAIGNS / "light-load.toml"))
    assert request.weight == pytest.approx(12 + 16 * 1.1)  # 1000 at 62.5 in a second


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (100, "2 min"), (5000, "83 min"), (5400, "1 h 30 min"),
     (11100, "3 h 05 min")],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_series_has_300_points_at_most() -> None:
    def sample(n: int) -> dict[str, Any]:
        return {"t_s": round(0.1 * (n + 1), 3), "rtt_us": n if n % 7 else None,
                "guest_cwnd_bytes": 2 * n, "tcon_cwnd_bytes": 3 * n}  # fmt: skip

    samples = [sample(n) for n in range(700)]
    assert gallery.series(samples[:300], "native") == {
        "start_s": 0.1, "step_s": 0.1, "cwnd_bytes": [2 * n for n in range(300)],
        "rtt_us": [n if n % 7 else None for n in range(300)],
    }  # fmt: skip
    thin = gallery.series(samples, "enforced")
    assert thin is not None
    assert (thin["step_s"], thin["cwnd_bytes"]) == (0.3, list(range(0, 2100, 9)))
    linux = gallery.series(samples, "linux")
    assert linux is not None
    assert linux["cwnd_bytes"][1] == 9  # TCon's, not the guest's
    assert gallery.series(samples[:1], "native") is None
    assert gallery.series([], "native") is None


def test_one_command_runs_in_a_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "x")
    refused = pytest.raises(LabError, match="another command runs a campaign in")
    with store.alone(), refused, Store(tmp_path / "x").alone():
        pass
    with Store(tmp_path / "x").alone():
        pass


def test_another_campaigns_index_stays(tmp_path: Path) -> None:
    campaign = parse(SMALL)
    store = Store(tmp_path)
    store.prepare(campaign, runs(campaign))
    other = parse(SMALL.replace(f'name = "{campaign.name}"', 'name = "other"'))
    with pytest.raises(LabError, match=f"holds the results of campaign {campaign.name}"):
        store.prepare(other, runs(other))
    assert len(store.index(campaign)) == len(runs(campaign))
