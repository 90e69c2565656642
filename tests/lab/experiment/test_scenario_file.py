# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files: their meaning, and the complaints about wrong ones."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tcon_lab import scenario
from tcon_lab.errors import LabError
from tcon_lab.experiment.scenario_file import load, parse
from tcon_lab.experiment.toml import locate
from tcon_lab.scenario import Flow, Scenario, ScenarioError, Transfer

SCENARIOS = Path(__file__).parents[3] / "tools/scenarios"

FULL = """\
# a comment
name = "full"
seconds = 20
modes = ["guest",
         "native", "enforced"]
seed = 7

[path]
rate = "100mbit"
rtt = "20ms"
loss = "0.1%"
queue = "1000p"

[[flow]]
count = 2
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
start = "500ms"
extra_delay = "250us"
extra_loss = "1%"

[[flow]]
guest_cc = "reno"
"""


def test_a_full_scenario() -> None:
    got = parse(FULL)
    first = Flow(2, "cubic", "bbr", "bbr", 500_000, 250, 0.01)
    second = Flow(1, "reno", "reno", None, 0, 0, 0.0)
    assert got == Scenario(
        "full", 20.0, ("guest", "native", "enforced"), 7,
        scenario.Path(100_000_000, 20_000, 0.001, 1000), (first, second),
    )  # fmt: skip
    assert got.connections() == [first, first, second]
    assert got.path.bdp_bytes == 250_000


def test_who_decides_in_which_mode() -> None:
    first, second = parse(FULL).flows
    modes = ("guest", "native", "enforced")
    assert [first.stack_cc(mode) for mode in modes] == ["cubic", "bbr", "cubic"]
    assert [first.enforced_cc(mode) for mode in modes] == [None, None, "bbr"]
    assert [first.deciding_cc(mode) for mode in modes] == ["cubic", "bbr", "bbr"]
    assert [second.deciding_cc(mode) for mode in modes] == ["reno", "reno", "reno"]


MINIMAL = """\
name = "x"
seconds = 1.5
[path]
rate = "{rate}"
rtt = "{rtt}"
queue = "{queue}"
[[flow]]
guest_cc = "cubic"
"""


def minimal(
    rate: str = "10mbit", rtt: str = "100ms", queue: str = "50p", more: str = ""
) -> Scenario:
    """``more`` is about the flow."""
    return parse(MINIMAL.format(rate=rate, rtt=rtt, queue=queue) + more)


def test_defaults() -> None:
    got = minimal()
    assert (got.modes, got.seed, got.seconds) == (("native", "enforced"), 1, 1.5)
    assert got.path.loss_fraction == 0.0


def test_guests_that_answer_late() -> None:
    """A delay between a guest and TCon is a part of the round trip."""
    near, far = minimal(), minimal(more='guest_delay = "30ms"\n')
    assert near.flows[0].guest_delay_us == 0
    assert far.flows[0].guest_delay_us == 30_000
    assert far.full_rtt_us == near.full_rtt_us + 30_000


def test_guests_that_pause() -> None:
    paused = minimal(more='guest_pause = "30ms"\n')
    assert (minimal().flows[0].guest_pause_us, paused.flows[0].guest_pause_us) == (0, 30_000)
    assert paused.full_rtt_us == minimal().full_rtt_us + 30_000
    with pytest.raises(ScenarioError, match=r'guest_pause is "0\.1s": of each 100ms'):
        minimal(more='guest_pause = "0.1s"\n')
    with pytest.raises(ScenarioError, match="guest_pause does not go with guest_delay"):
        minimal(more='guest_pause = "30ms"\nguest_delay = "1ms"\n')


def test_data_both_ways() -> None:
    """The receiver's data has a rate of its own, and the way back a bottleneck."""
    one, both = minimal(), minimal(more='back = "2mbit"\n')
    assert (one.flows[0].back_bps, both.flows[0].back_bps) == (0, 2_000_000)
    assert (one.path.back_rate_bps, one.path.back_queue_packets) == (0, 0)
    narrow = minimal(queue='50p"\nback_rate = "20mbit')
    assert (narrow.path.back_rate_bps, narrow.path.back_queue_packets) == (20_000_000, 167)
    assert narrow.path.back.rate_bps == 20_000_000
    assert narrow.full_rtt_us == one.full_rtt_us + 167 * 1500 * 8 // 20
    short = minimal(queue='50p"\nback_rate = "20mbit"\nback_queue = "0.5bdp')
    assert short.path.back_queue_packets == 84
    assert scenario.from_json(narrow.to_json()) == narrow
    with pytest.raises(ScenarioError, match=r"back_queue says nothing without path\.back_rate"):
        minimal(queue='50p"\nback_queue = "20p')
    with pytest.raises(ScenarioError, match='flow 1\'s back is "1bit": unknown unit'):
        minimal(more='back = "1bit"\n')
    with pytest.raises(ScenarioError, match=r'unknown key "back" in \[transfer\]'):
        parse(TRANSFERS.replace("count = 20", 'back = "1mbit"'))


def test_weights() -> None:
    assert (minimal().flows[0].weight, minimal(more="weight = 4\n").flows[0].weight) == (1, 4)
    for wrong in ("0", "17", "0.04"):
        with pytest.raises(ScenarioError, match=rf"weight is {wrong}, not from 0\.05 to 16"):
            minimal(more=f"weight = {wrong}\n")


def test_params() -> None:
    assert minimal().flows[0].params == {}
    given = minimal(more="params = {fast_convergence = 0, beta = 0.8}\n")
    assert given.flows[0].params == {"fast_convergence": 0, "beta": 0.8}
    assert given.flows[0] in {given.flows[0], minimal().flows[0]}  # the runner has sets of them
    assert scenario.from_json(given.to_json()) == given
    for wrong, words in (
        ("3", "params must be a table, not a number"),
        ("{beta = true}", "params.beta is no number"),
        ('{beta = "0.8"}', "params.beta is no number"),
        ("{weight = 2}", 'params has "weight", which is no name of a parameter'),
        ('{"a b" = 1}', 'params has "a b", which is no name of a parameter'),
    ):
        with pytest.raises(ScenarioError, match=re.escape(words)):
            minimal(more=f"params = {wrong}\n")


def test_parameters_of_the_kernels_ccs() -> None:
    assert (minimal().flows[0].guest_params, minimal().flows[0].native_params) == ({}, {})
    same = minimal(more="guest_params = {beta = 800}\n")
    assert same.flows[0].native_params == {"beta": 800}
    assert scenario.from_json(same.to_json()) == same
    other = minimal(more='guest_params = {beta = 800}\nnative_cc = "bbr"\nenforce = "bbr"\n')
    assert [other.flows[0].stack_params(mode) for mode in other.modes] == [{}, {"beta": 800}]
    own = minimal(more="guest_params = {beta = 800}\nnative_params = {beta = 700}\n").flows[0]
    assert (own.stack_params("native"), own.stack_params("guest")) == ({"beta": 700}, {"beta": 800})
    assert own in {own}  # the runner has sets of them
    for wrong, words in (
        ("{beta = 0.8}", "guest_params.beta is no whole number"),
        ("{beta = true}", "guest_params.beta is no whole number"),
        ('{"a/b" = 1}', 'guest_params has "a/b", which is no name of a parameter'),
    ):
        with pytest.raises(ScenarioError, match=re.escape(words)):
            minimal(more=f"guest_params = {wrong}\n")


def second(flow: str) -> str:
    """The complaint about a CUBIC flow with a parameter and this one; empty: none."""
    first = MINIMAL.format(rate="10mbit", rtt="100ms", queue="50p")
    try:
        parse(f"{first}guest_params = {{beta = 800}}\n[[flow]]\n{flow}", "f")
    except ScenarioError as error:
        return str(error)
    return ""


def test_guests_that_share_a_kernel_have_the_same_parameters() -> None:
    assert second('guest_cc = "cubic"\nguest_params = {beta = 800}') == ""
    assert second('guest_cc = "reno"') == ""
    assert second('guest_cc = "cubic"\nguest = "vm"') == ""
    said = "has cubic with beta 800 (flow 1) and with {} (flow 2), but guests share a kernel."
    assert second('guest_cc = "cubic"\nguest_params = {beta = 1, bic_scale = 41}') == (
        "f:12: mode native " + said.format("beta 1, bic_scale 41")
    )
    assert second('guest_cc = "cubic"') == "f:10: mode native " + said.format("no parameters")
    # TCon would run the kernel's CUBIC beside a guest's.
    linux = 'guest_cc = "reno"\nenforce = "linux:cubic"\n'
    assert second(linux) == "f:10: mode enforced " + said.format("no parameters")
    assert second(f'{linux}native_cc = "cubic"\nnative_params = {{beta = 800}}') == ""


def test_guest():
    assert not minimal().flows[0].in_machine
    assert minimal(more='guest = "vm"\n').flows[0].in_machine
    with pytest.raises(ScenarioError, match='guest is "kvm", an unknown guest'):
        minimal(more='guest = "kvm"\n')
    with pytest.raises(ScenarioError, match='guest_pause does not go with guest = "vm"'):
        minimal(more='guest_pause = "30ms"\nguest = "vm"\n')


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [("64kbit", 64_000), ("1.5mbit", 1_500_000), ("1gbit", 10**9), ("10 mbit", 10**7)],
)
def test_rates(text: str, rate_bps: int) -> None:
    assert minimal(rate=text).path.rate_bps == rate_bps


@pytest.mark.parametrize(
    ("text", "rtt_us"), [("20ms", 20_000), ("300us", 300), ("1s", 10**6), ("0.5ms", 500)]
)
def test_times(text: str, rtt_us: int) -> None:
    assert minimal(rtt=text).path.rtt_us == rtt_us


@pytest.mark.parametrize(
    ("queue", "packets"),
    [
        ("1000p", 1000),
        ("1p", 1),
        ("1.0bdp", 84),  # 10 Mbit/s x 100 ms = 125 000 bytes = 83.3 packets
        ("2bdp", 167),
        ("0.001bdp", 10),  # never below the initial window
        ("1.0bdp,50p", 84),  # the larger of both
        ("1.0bdp, 500p", 500),
    ],
)
def test_queues(queue: str, packets: int) -> None:
    assert minimal(queue=queue).path.queue_packets == packets


def test_the_queue_is_one_bdp_where_nothing_is_said() -> None:
    text = MINIMAL.replace('queue = "{queue}"\n', "").format(rate="100mbit", rtt="20ms")
    assert parse(text).path.queue_packets == 167


MISCHIEF = FULL.replace(
    'queue = "1000p"',
    'queue = "1000p"\nduplicate = "2%"\ncorrupt = "0.5%"\nreorder = "1%"\nreorder_by = "4ms"',
).replace('extra_loss = "1%"', "ipv6 = true\ntso = false\ngso = false\nquickack = true")


def test_what_may_happen_to_packets() -> None:
    path = parse(MISCHIEF).path
    assert (path.duplicate_fraction, path.corrupt_fraction) == (0.02, 0.005)
    assert (path.reorder_fraction, path.reorder_by_us) == (0.01, 4000)
    path = parse(MISCHIEF.replace('reorder_by = "4ms"\n', "")).path
    assert path.reorder_by_us == 2500
    path = parse(MISCHIEF.replace('reorder = "1%"', 'reorder = "0%"')).path
    assert (path.reorder_fraction, path.reorder_by_us) == (0, 0)
    path = parse(FULL).path
    assert (path.duplicate_fraction, path.corrupt_fraction, path.reorder_by_us) == (0, 0, 0)


POLICED = FULL.replace('queue = "1000p"', 'queue = "1000p"\npolice = "10mbit"')


def test_a_policer() -> None:
    path = parse(POLICED).path
    assert (path.police_bps, path.police_burst_bytes) == (10_000_000, 25_000)
    path = parse(POLICED.replace('"10mbit"', '"10mbit"\npolice_burst = "64kB"')).path
    assert path.police_burst_bytes == 64_000
    path = parse(POLICED.replace('"10mbit"', '"100kbit"')).path
    assert path.police_burst_bytes == 2 * 1514
    path = parse(FULL).path
    assert (path.police_bps, path.police_burst_bytes) == (0, 0)


def test_a_link_that_makes_up_for_what_it_is_late() -> None:
    assert parse(FULL).path.link == "tbf"
    assert parse(FULL.replace('"1000p"', '"1000p"\nlink = "netem"')).path.link == "netem"


def test_family_and_super_packets() -> None:
    first, second = parse(MISCHIEF).flows
    assert (first.ipv6, first.tso, first.gso) == (True, False, False)
    assert (second.ipv6, second.tso, second.gso) == (False, True, True)
    assert (first.quickack, second.quickack) == (True, False)


def test_json_there_and_back() -> None:
    got = parse(FULL)
    assert scenario.from_json(got.to_json()) == got
    assert scenario.from_json(parse(MISCHIEF).to_json()) == parse(MISCHIEF)
    assert scenario.from_dict(got.to_dict()) == got


def linux(modes: str, enforce: str = 'enforce = "bbr"\n') -> str:
    text = FULL.replace('modes = ["guest",\n         "native", "enforced"]', f"modes = {modes}")
    return text.replace('enforce = "bbr"\n', enforce)


def test_mode_linux_is_the_kernels_cc_run_by_tcon() -> None:
    got = parse(linux('["linux", "enforced"]'))
    first, second = got.flows
    assert [first.stack_cc(mode) for mode in got.modes] == ["cubic", "cubic"]
    assert [first.enforced_cc(mode) for mode in got.modes] == ["linux:bbr", "bbr"]
    assert first.deciding_cc("linux") == "linux:bbr"
    assert [second.enforced_cc(mode) for mode in got.modes] == [None, None]
    other = linux('["native", "linux"]', 'enforce = "linux:bbr"\n')
    assert parse(other).flows[0].enforced_cc("linux") == "linux:bbr"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (linux('["native", "linux"]', ""), 4, '"linux" enforces nothing: no flow has enforce'),
        (
            linux('["linux", "enforced"]', 'enforce = "linux:bbr"\n'),
            4,
            'modes "linux" and "enforced" are the same: both enforce linux:bbr',
        ),
    ],
)
def test_mode_linux_where_it_makes_no_sense(text: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(f"f:{line}: ")
    assert words in str(caught.value)


def test_mode_observed_is_native_and_enforces_nothing() -> None:
    (flow, *_) = parse(FULL).flows
    assert flow.stack_cc("observed") == flow.stack_cc("native") == "bbr"
    assert flow.enforced_cc("enforced")
    assert flow.enforced_cc("observed") is None


TRANSFERS = """\
name = "files"
seconds = 60
modes = ["stock", "enforced"]
[path]
rate = "100mbit"
rtt = "20ms"
[[transfer]]
bytes = "1.5MB"
count = 20
guest_cc = "cubic"
native_cc = "bbr"
enforce = "bbr"
[[transfer]]
bytes = "100kB"
load = "5%"
guest_cc = "reno"
start = "1s"
"""


def test_transfers() -> None:
    got = parse(TRANSFERS)
    first, second = got.flows
    assert first.transfer == Transfer(1_500_000, 20, None)
    assert second.transfer == Transfer(100_000, 1, 0.05)
    assert (first.count, second.start_us) == (1, 1_000_000)
    assert first.transfer.per_second(got.path.rate_bps) == 0
    assert second.transfer.per_second(got.path.rate_bps) == 6.25  # 5 Mbit/s of 800 kbit each
    assert [first.stack_cc(mode) for mode in got.modes] == ["bbr", "cubic"]
    assert [first.deciding_cc(mode) for mode in got.modes] == ["bbr", "bbr"]
    assert scenario.from_json(got.to_json()) == got


def test_transfers_over_several_connections() -> None:
    got = parse(TRANSFERS.replace("count = 20", 'count = 20\nfan_in = 8\nrto_min = "0.5ms"\n'
                                  'native_rto_min = "4ms"'))  # fmt: skip
    first, second = got.flows
    assert first.transfer == Transfer(1_500_000, 20, None, 8)
    assert first.transfer.whole_bytes == 12_000_000
    assert (first.count, first.rto_min_us) == (1, 500)
    assert [first.stack_rto_min_us(mode) for mode in ("native", "guest", "enforced")] == [
        4000, None, None,
    ]  # fmt: skip
    assert (second.transfer.fan_in, second.rto_min_us, second.native_rto_min_us) == (1, None, None)
    assert scenario.from_json(got.to_json()) == got


def test_transfers_with_pauses_between() -> None:
    first, second = parse(TRANSFERS.replace("count = 20", 'count = 20\npause = "2s"')).flows
    assert (first.transfer.pause_us, second.transfer.pause_us) == (2_000_000, 0)


def test_flows_come_before_transfers() -> None:
    got = parse(TRANSFERS + '[[flow]]\ncount = 2\nguest_cc = "vegas"\n')
    assert [flow.guest_cc for flow in got.connections()] == ["vegas", "vegas", "cubic", "reno"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("1.5MB", "1.5MiB", 8, "transfer 1's bytes is \"1.5MiB\": unknown unit"),
        ("1.5MB", "0MB", 8, "not a whole number of bytes above 0"),
        ("1.5MB", "0.5B", 8, "not a whole number of bytes"),
        ('bytes = "100kB"\n', "", 13, "transfer 2's bytes is missing"),
        ('"5%"', '"0%"', 15, "transfer 2's load is 0"),
        ('"5%"', '"100%"', 15, "transfer 2's load is 100%"),
        ("count = 20", "count = 0", 9, "transfer 1's count is 0"),
        ("count = 20", "count = 4001", 9, "transfer 1's count is 4001"),
        ("count = 20", "fan_in = 0", 9, "transfer 1's fan_in is 0"),
        ('"5%"', '"5%"\nfan_in = 2', 16, "transfer 2's fan_in does not go with load"),
        ('"5%"', '"5%"\npause = "1s"', 16, "transfer 2's pause does not go with load"),
        ("count = 20", 'pause = "0s"', 9, 'transfer 1\'s pause is "0s": less than 1us'),
        ("count = 20", 'rto_min = "0.1ms"', 9, 'transfer 1\'s rto_min is "0.1ms": not from 200us'),
        ("count = 20", 'native_rto_min = "1.5ms"', 9, "no whole number of ms"),
        ('"1s"', '"60s"', 17, "transfer 2's start is \"60s\", but the run ends after 60s"),
        ("[[transfer]]\nbytes = \"100kB\"", '[[flow]]\nbytes = "100kB"', 14,
         'unknown key "bytes" in [flow]'),
    ],
)  # fmt: skip
def test_errors_about_transfers(old: str, new: str, line: int, words: str) -> None:
    assert TRANSFERS.count(old) == 1
    with pytest.raises(ScenarioError) as caught:
        parse(TRANSFERS.replace(old, new), "f")
    assert str(caught.value).startswith(f"f:{line}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"modes": [], "path": {"x": 1}, "flows": []}'])
def test_json_that_is_none(text: str) -> None:
    with pytest.raises(ScenarioError, match="not a scenario in JSON"):
        scenario.from_json(text)


def test_seeds() -> None:
    got = parse(FULL)
    assert got.with_seed(2**32 - 1).seed == 2**32 - 1
    assert got.seed == 7
    for wrong in (-1, 2**32):
        with pytest.raises(ScenarioError, match=f"seed {wrong} is not within"):
            got.with_seed(wrong)


# A change in FULL, the line that the error names, and its words.
WRONG = [
    ('name = "full"', "name = ", 2, "malformed TOML"),
    ('name = "full"', 'name = "full', 2, "malformed TOML"),
    ("[path]", "[path", 8, "malformed TOML"),
    ("seed = 7", "seed = 7\nseed = 8", 7, "malformed TOML"),
    ('guest_cc = "reno"\n', 'guest_cc = """reno', 24, "malformed TOML"),
    ('name = "full"', "name = 5", 2, "name must be a string, not a number"),
    ('name = "full"', 'name = "a/b"', 2, 'name is "a/b"'),
    ('name = "full"\n', "", 1, "name is missing"),
    ("seconds = 20", 'seconds = "20"', 3, "seconds must be a number, not a string"),
    ("seconds = 20", "seconds = true", 3, "seconds must be a number, not a boolean"),
    ("seconds = 20", "seconds = 0", 3, "seconds is 0"),
    ("seconds = 20", "seconds = -3", 3, "seconds is -3"),
    ("seconds = 20", "seconds = nan", 3, "seconds is nan"),
    ("seconds = 20", "second = 20", 3, 'unknown key "second"; known keys are name, seconds'),
    ('"native", "enforced"]', '"natvie"]', 4, 'unknown mode "natvie"'),
    ('"native", "enforced"]', "3]", 4, "unknown mode 3"),
    ('"native", "enforced"]', '"guest"]', 4, 'mode "guest" stands twice'),
    ('["guest",\n         "native", "enforced"]', "[]", 4, "modes is empty"),
    ('["guest",\n         "native", "enforced"]', '"guest"', 4, "modes must be a list"),
    ("seed = 7", "seed = -7", 6, "seed is -7"),
    ("seed = 7", "seed = 1.5", 6, "seed must be a whole number"),
    ('rate = "100mbit"', 'rate = "100"', 9, 'path.rate is "100" without a unit'),
    ('rate = "100mbit"', "rate = 100", 9, "path.rate must be a string, not a number"),
    ('rate = "100mbit"', 'rate = "100mbps"', 9, 'unknown unit "mbps", not kbit, mbit or gbit'),
    ('rate = "100mbit"', 'rate = "-1mbit"', 9, "it cannot be negative"),
    ('rate = "100mbit"', 'rate = "0mbit"', 9, "less than 1kbit"),
    ('rate = "100mbit"', 'rate = "fast"', 9, "no number with unit kbit, mbit or gbit"),
    ('rate = "100mbit"', 'rate = "101gbit"', 9, "more than 100gbit"),
    ('rate = "100mbit"\n', "", 8, "path.rate is missing"),
    ('rtt = "20ms"', 'rtt = "20"', 10, 'path.rtt is "20" without a unit: us, ms or s'),
    ('rtt = "20ms"', 'rtt = "20m"', 10, 'unknown unit "m"'),
    ('rtt = "20ms"', 'rtt = "2\\n0ms"', 10, r'path.rtt is "2\n0ms", which is no number'),
    ('rtt = "20ms"', 'rtt = "11s"', 10, "more than 10s"),
    ('rtt = "20ms"', "rtt = 2026-01-01", 10, "path.rtt must be a string, not a date or time"),
    ('loss = "0.1%"', 'loss = "0.1"', 11, "without a unit: %"),
    ('loss = "0.1%"', 'loss = "100%"', 11, "path.loss is 100%: it must be less"),
    ('loss = "0.1%"', 'loss = "101%"', 11, "more than 100%"),
    ('queue = "1000p"', 'queue = "1000"', 12, "without a unit: bdp or p"),
    ('queue = "1000p"', 'queue = "0p"', 12, "not a whole number of packets"),
    ('queue = "1000p"', 'queue = "1.5p"', 12, "not a whole number of packets"),
    ('queue = "1000p"', 'queue = "50p,1bdp"', 12, "the first is in bdp, the second in p"),
    ('queue = "1000p"', 'queue = "1bdp,0p"', 12, "not a whole number of packets"),
    ('queue = "1000p"', 'queue = "-1bdp"', 12, "it cannot be negative"),
    ('queue = "1000p"', 'queue = ""', 12, "no number with unit bdp or p"),
    ('queue = "1000p"', 'queue = "1bdp,1p,1p"', 12, "no number with unit bdp or p"),
    ('queue = "1000p"', 'queue = "1000p"\njitter = "1ms"', 13, 'unknown key "jitter" in [path]'),
    ('queue = "1000p"', 'duplicate = "100%"', 12, "path.duplicate is 100%"),
    ('queue = "1000p"', 'corrupt = "1"', 12, 'path.corrupt is "1" without a unit: %'),
    ('queue = "1000p"', "reorder = 0.01", 12, "path.reorder must be a string, not a number"),
    ('queue = "1000p"', 'reorder_by = "1ms"', 12, "says nothing without path.reorder"),
    ('queue = "1000p"', 'police_burst = "1MB"', 12, "says nothing without path.police"),
    ('queue = "1000p"', 'link = "htb"', 12, 'path.link is "htb", an unknown link'),
    ('queue = "1000p"', 'link = "netem"\naqm = "codel"', 12, "is netem, which has no AQM"),
    ('queue = "1000p"', 'police = "1mbit"\npolice_burst = "1513B"', 13,
     "no frame of 1514B would ever pass"),
    ('queue = "1000p"', 'reorder = "1%"\nreorder_by = "10.1ms"', 13,
     "path.reorder_by is 10100us, not above 0 and at most half of the RTT"),
    ('queue = "1000p"', 'reorder = "1%"\nreorder_by = "0ms"', 13, "path.reorder_by is 0us"),
    ("[path]", "[paths]", 8, 'unknown key "paths"'),
    ("count = 2", "count = 0", 15, "flow 1's count is 0"),
    ("count = 2", 'placement = "nic"', 15,
     "flow 1's placement is \"nic\"; known are hypervisor, vm, router"),
    ("count = 2", 'placement = "vm"\ntcon_vms = 9', 16,
     "flow 1's tcon_vms is 9, not within 1 .. 8"),
    ("count = 2", "tcon_vms = 2", 15,
     "flow 1's tcon_vms is 2, which only goes with placement = \"vm\""),
    ("count = 2", 'count = "2"', 15, "flow 1's count must be a whole number"),
    ("count = 2", "count = 1000", 14, "there are 1001 flows, more than 1000"),
    ('guest_cc = "cubic"', 'guest_cc = "qubic"', 16, 'guest_cc is "qubic", an unknown CC'),
    ('guest_cc = "cubic"\n', "", 14, "flow 1's guest_cc is missing"),
    ('native_cc = "bbr"', 'native_cc = "bbr3"', 17, "an unknown CC; known are reno, cubic, bbr"),
    ('enforce = "bbr"', 'enforce = "veno"', 18, "an unknown CC; known are reno, cubic, vegas"),
    ('start = "500ms"', 'start = "20s"', 19, 'start is "20s", but the run ends after 20s'),
    ('extra_delay = "250us"', 'extra_delay = "x"', 20, "flow 1's extra_delay"),
    ('extra_loss = "1%"', "ipv6 = 1", 21, "flow 1's ipv6 must be true or false, not a number"),
    ('extra_loss = "1%"', 'tso = "off"', 21, "flow 1's tso must be true or false, not a string"),
    ('extra_loss = "1%"', "extra_los = 1", 21, 'unknown key "extra_los" in [flow]'),
    ('guest_cc = "reno"', 'guest_cc = "rino"', 24, "flow 2's guest_cc"),
    ('guest_cc = "reno"\n', "", 23, "flow 2's guest_cc is missing"),
    ('guest_cc = "reno"', 'guest_cc = "reno"\nstart = "-1s"', 25, "flow 2's start"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "words"), WRONG)
def test_errors_name_the_line(old: str, new: str, line: int, words: str) -> None:
    assert FULL.count(old) >= 1
    head, tail = FULL.rsplit(old, 1) if "reno" in old else FULL.split(old, 1)
    with pytest.raises(ScenarioError) as caught:
        parse(head + new + tail, "dir/my.toml")
    message = str(caught.value)
    assert message.startswith(f"dir/my.toml:{line}: ")
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message
    assert isinstance(caught.value, LabError)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "name is missing"),
        ('name = "x"\nseconds = 1\n', 1, "path is missing"),
        ('name = "x"\nseconds = 1\npath = 3\n', 3, "path must be a table, not a number"),
        ('name = "x"\nseconds = 1\n[path]\nrate = "1mbit"\nrtt = "1ms"\n', 1,
         "there is no [[flow]] and no [[transfer]]"),
        ('name = "x"\nseconds = 1\nflow = []\n[path]\nrate = "1mbit"\nrtt = "1ms"\n', 3,
         "there is no [[flow]] and no [[transfer]]"),
        ('name = "x"\nseconds = 1\n[path]\nrate = "1mbit"\nrtt = "1ms"\n[flow]\n', 6,
         "flow must be written [[flow]], not as a table"),
        ('name = "x"\nseconds = 1\nflow = [\n 3]\n[path]\nrate = "1mbit"\nrtt = "1ms"\n', 3,
         "flow must be a table, not a number"),
    ],
)  # fmt: skip
def test_errors_about_what_is_not_there(text: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(f"f:{line}: ")
    assert words in str(caught.value)


def test_lines_of_awkward_toml() -> None:
    text = '''# [path]
a = """
[[flow]]
b = 1
"""
c.d = [ # x = 1
  1,

  # 2
  2,
]

[[flow]] # first
"k=1" = 2
[[flow]]
k = {x = 1}
'''
    assert locate(text) == {
        (): 2, ("a",): 2, ("c",): 6, ("c", "d"): 6, ("c", "d", 0): 6, ("c", "d", 1): 6,
        ("flow",): 13, ("flow", 0): 13, ("flow", 0, "k=1"): 14, ("flow", 1): 15,
        ("flow", 1, "k"): 16, ("flow", 1, "k", "x"): 16,
    }  # fmt: skip


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(ScenarioError) as caught:
        load(missing)
    assert str(caught.value) == f"{missing}: cannot be read: No such file or directory."
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'name = "x"\n\xff\n')
    with pytest.raises(ScenarioError) as caught:
        load(binary)
    assert str(caught.value) == f"{binary}:2: this is not UTF-8 text."


def test_the_scenarios_that_come_with_tcon() -> None:
    files = sorted(SCENARIOS.glob("*.toml"))
    assert len(files) >= 5
    for file in files:
        got = load(file)
        assert got.name == file.stem
        assert ("enforced" in got.modes) == any(flow.enforce for flow in got.flows)
        assert got.path.queue_packets >= got.path.bdp_bytes // scenario.PACKET_BYTES


def test_the_vm_needs_nothing_but_the_standard_library() -> None:
    tools = SCENARIOS.parent
    code = f"import sys; sys.path.insert(0, {str(tools)!r}); import tcon_lab.scenario"
    subprocess.run([sys.executable, "-S", "-I", "-c", code], check=True)
