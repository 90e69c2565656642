# SPDX-License-Identifier: GPL-2.0-only
"""The bottleneck's AQM and the guests' ECN: scenario, commands, counters, report."""

from __future__ import annotations

import copy
import struct

import pytest
import synthetic
from tcon_lab import lab, qdisc, scenario
from tcon_lab.aqm import Aqm, counters
from tcon_lab.experiment import campaign_file as campaign
from tcon_lab.experiment.scenario_file import parse
from tcon_lab.numbers.results import results_from_raw
from tcon_lab.pages import report
from tcon_lab.scenario import Path, Scenario, ScenarioError

TEXT = """\
name = "x"
seconds = 1
modes = ["guest", "native"]
[path]
rate = "100mbit"
rtt = "20ms"
queue = "400p"
{path}
[[flow]]
guest_cc = "cubic"
{flow}
"""


def of(path: str, flow: str = "") -> Scenario:
    return parse(TEXT.format(path=path, flow=flow), "f")


def aqm_of(path: str) -> Aqm | None:
    return of(path).path.aqm


# --- scenario -------------------------------------------------------------------


def test_without_a_word_the_queue_is_droptail() -> None:
    assert aqm_of("") is None
    assert aqm_of('aqm = "droptail"') is None
    assert of("").path == Path(100_000_000, 20_000, 0.0, 400)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('aqm = "step"\naqm_threshold = "20p"',
         Aqm("step", ecn=True, min_packets=20, max_packets=20)),
        ('aqm = "step"\naqm_threshold = "399p"',
         Aqm("step", ecn=True, min_packets=399, max_packets=399)),
        ('aqm = "red"', Aqm("red", min_packets=33, max_packets=100, probability=0.02)),
        ('aqm = "red"\naqm_min = "10p"',
         Aqm("red", min_packets=10, max_packets=30, probability=0.02)),
        ('aqm = "red"\naqm_min = "200p"',
         Aqm("red", min_packets=200, max_packets=400, probability=0.02)),
        ('aqm = "red"\naqm_max = "60p"\naqm_ecn = true',
         Aqm("red", ecn=True, min_packets=20, max_packets=60, probability=0.02)),
        ('aqm = "red"\naqm_min = "5p"\naqm_max = "15p"\naqm_probability = "10%"',
         Aqm("red", min_packets=5, max_packets=15, probability=0.1)),
        ('aqm = "ared"\naqm_min = "2p"\naqm_max = "6p"',
         Aqm("ared", min_packets=2, max_packets=6, probability=0.02)),
        ('aqm = "codel"', Aqm("codel", target_us=5000, interval_us=100_000)),
        ('aqm = "codel"\naqm_target = "500us"\naqm_interval = "10ms"\naqm_ecn = true',
         Aqm("codel", ecn=True, target_us=500, interval_us=10_000)),
        ('aqm = "fq_codel"', Aqm("fq_codel", ecn=True, target_us=5000, interval_us=100_000)),
        ('aqm = "fq_codel"\naqm_ecn = false',
         Aqm("fq_codel", target_us=5000, interval_us=100_000)),
        ('aqm = "pie"', Aqm("pie", target_us=15_000, tupdate_us=15_000)),
        ('aqm = "pie"\naqm_target = "1ms"\naqm_tupdate = "30ms"\naqm_ecn = true',
         Aqm("pie", ecn=True, target_us=1000, tupdate_us=30_000)),
    ],
)  # fmt: skip
def test_what_a_scenario_says(text: str, wanted: Aqm) -> None:
    got = of(text)
    assert got.path.aqm == wanted
    assert scenario.from_json(got.to_json()) == got


def test_reds_thresholds_where_the_queue_is_short() -> None:
    text = TEXT.replace("400p", "40p").format(path='aqm = "red"\naqm_ecn = true', flow="")
    wanted = Aqm("red", ecn=True, min_packets=3, max_packets=10, probability=0.02)
    assert parse(text).path.aqm == wanted


def test_red_stays_within_what_its_arithmetic_holds() -> None:
    text = TEXT.replace("400p", "100000p").format(path='aqm = "red"', flow="")
    queue = parse(text).path.aqm
    assert queue is not None
    # The kernel: bits of the threshold in bytes, and of the weight, below 32.
    _, high, _, weight_log2, _, _ = queue.red_words(1514, 10**7)
    assert int(high).bit_length() + int(weight_log2) < 32


@pytest.mark.parametrize(
    ("path", "line", "words"),
    [
        ('aqm = "blue"', 8, 'path.aqm is "blue", an unknown AQM; known are droptail, red, ared'),
        ("aqm = true", 8, "path.aqm must be a string, not a boolean"),
        ('aqm = "step"', 4, "path.aqm_threshold is missing"),
        ('aqm_threshold = "20p"', 8, 'path.aqm_threshold says nothing with aqm "droptail"'),
        ('aqm = "pie"\naqm_interval = "9ms"', 9,
         'path.aqm_interval says nothing with aqm "pie"; it is of codel, fq_codel'),
        ('aqm = "step"\naqm_threshold = "20p"\naqm_ecn = false', 10, "path.aqm_ecn says nothing"),
        ('aqm = "step"\naqm_threshold = 20', 9, "path.aqm_threshold must be a string"),
        ('aqm = "step"\naqm_threshold = "20"', 9, 'path.aqm_threshold is "20" without a unit: p'),
        ('aqm = "step"\naqm_threshold = "20kB"', 9, 'unknown unit "kB", not p'),
        ('aqm = "step"\naqm_threshold = "0p"', 9, "not a whole number of packets above 0"),
        ('aqm = "step"\naqm_threshold = "1.5p"', 9, "not a whole number of packets above 0"),
        ('aqm = "step"\naqm_threshold = "-1p"', 9, "it cannot be negative"),
        ('aqm = "step"\naqm_threshold = "400p"', 9, "path.aqm_threshold is 400 packets: more than "
         "399, with which a queue of 400 packets could still mark"),
        ('aqm = "red"\naqm_min = "x"', 9, "path.aqm_min"),
        ('aqm = "red"\naqm_min = "30p"\naqm_max = "30p"', 9,
         "path.aqm_min is 30 packets, not below aqm_max, which is 30"),
        ('aqm = "red"\naqm_max = "1p"', 9, "path.aqm_min is 1 packets, not below aqm_max"),
        ('aqm = "red"\naqm_max = "401p"', 9, "path.aqm_max is 401 packets: more than 400"),
        ('aqm = "red"\naqm_probability = "0%"', 9, "path.aqm_probability is 0"),
        ('aqm = "red"\naqm_probability = "0.1"', 9, "without a unit: %"),
        ('aqm = "red"\naqm_probability = "101%"', 9, "more than 100%"),
        ('aqm = "red"\naqm_ecn = "on"', 9, "path.aqm_ecn must be true or false, not a string"),
        ('aqm = "codel"\naqm_target = "5"', 9, 'path.aqm_target is "5" without a unit'),
        ('aqm = "codel"\naqm_target = "0ms"', 9, 'path.aqm_target is "0ms": less than 1us'),
        ('aqm = "codel"\naqm_interval = "11s"', 9, "more than 10s"),
        ('aqm = "fq_codel"\naqm_interval = "0us"', 9, 'path.aqm_interval is "0us"'),
        ('aqm = "pie"\naqm_tupdate = "0s"', 9, 'path.aqm_tupdate is "0s": less than 1us'),
        ('aqm = "pie"\naqm_update = "1ms"', 9, 'unknown key "aqm_update" in [path]'),
    ],
)  # fmt: skip
def test_errors_name_the_line(path: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        of(path)
    message = str(caught.value)
    assert message.startswith(f"f:{line}: ")
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message


def test_a_queue_too_short_for_red() -> None:
    with pytest.raises(ScenarioError, match="aqm_min is 1 packets, not below aqm_max, which is 1"):
        parse(TEXT.replace("400p", "1p").format(path='aqm = "red"', flow=""))


# --- campaigns ------------------------------------------------------------------

CAMPAIGN = TEXT.replace('modes = ["guest", "native"]\n', "seeds = [1]\n")


def cells(path: str, tables: str) -> list[tuple[str, Aqm | None]]:
    text = CAMPAIGN.format(path=path, flow=tables)
    return [(cell.name, cell.scenario.path.aqm) for cell in campaign.parse(text, "f").cells]


def step(packets: int) -> Aqm:
    return Aqm("step", ecn=True, min_packets=packets, max_packets=packets)


def test_a_matrix_of_thresholds() -> None:
    tables = '[matrix]\naqm_threshold = ["20p", "65p"]'
    assert cells('aqm = "step"', tables) == [("20p", step(20)), ("65p", step(65))]
    with pytest.raises(ScenarioError, match=r'^f:12: .* says nothing with aqm "droptail"'):
        cells("", tables)


def test_a_matrix_of_aqms_takes_of_the_path_what_is_theirs() -> None:
    codel = Aqm("codel", target_us=1000, interval_us=100_000)
    path = 'aqm_threshold = "20p"\naqm_target = "1ms"'
    wanted = [("droptail", None), ("step", step(20)), ("codel", codel)]
    assert cells(path, '[matrix]\naqm = ["droptail", "step", "codel"]') == wanted


def test_cases_of_aqms() -> None:
    tables = (
        '[[case]]\nname = "fifo"\n[[case]]\nname = "k20"\naqm = "step"\naqm_threshold = "20p"\n'
        '[[case]]\nname = "k65"\naqm = "step"\naqm_threshold = "65p"\n'
    )
    assert cells("", tables) == [("fifo", None), ("k20", step(20)), ("k65", step(65))]
    with pytest.raises(ScenarioError, match=r'^f:16: .* says nothing with aqm "red"'):
        cells("", tables.replace('"step"', '"red"', 1))


# --- guests' ECN ----------------------------------------------------------------


def test_who_speaks_ecn() -> None:
    (flow,) = of("").flows
    assert [flow.speaks_ecn(mode) for mode in ("guest", "native", "enforced")] == [False] * 3
    (flow,) = of("", "ecn = true").flows
    assert [flow.speaks_ecn(mode) for mode in ("guest", "native", "enforced")] == [True] * 3
    (flow,) = of("", 'native_cc = "dctcp"').flows
    assert [flow.speaks_ecn(mode) for mode in ("guest", "native")] == [False, True]
    with pytest.raises(ScenarioError, match=r"^f:11: flow 1's ecn must be true or false"):
        of("", "ecn = 1")


def test_the_modules_of_a_scenario() -> None:
    plain = lab._scenario_modules(of(""))
    wanted = lab._scenario_modules(of('aqm = "step"\naqm_threshold = "9p"', 'native_cc = "dctcp"'))
    assert set(wanted) - set(plain) == {"sch_red", "tcp_dctcp"}
    for kind in ("red", "codel", "fq_codel", "pie"):
        assert f"sch_{kind}" in lab._scenario_modules(of(f'aqm = "{kind}"'))
        assert f"sch_{kind}" in lab.root.KERNEL_MODULES
    assert "sch_red" in lab._scenario_modules(of('aqm = "ared"'))
    assert "tcp_dctcp" in lab.root.KERNEL_MODULES


# --- commands -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('aqm = "codel"', "codel limit 400 target 5000us interval 100000us noecn"),
        ('aqm = "codel"\naqm_ecn = true', "codel limit 400 target 5000us interval 100000us ecn"),
        ('aqm = "fq_codel"\naqm_target = "1ms"',
         "fq_codel limit 400 target 1000us interval 100000us memory_limit 2147483647 ecn"),
        ('aqm = "pie"\naqm_tupdate = "4ms"', "pie limit 400 target 15000us tupdate 4000us noecn"),
    ],
)  # fmt: skip
def test_what_tc_is_told(text: str, words: str) -> None:
    queue = aqm_of(text)
    assert queue is not None
    assert " ".join(queue.tc_words(400)) == words
    assert queue.red_words(1514, 10**7) == []


def red_parameters(text: str) -> dict[str, object]:
    """The parameters in the netlink message for a scenario's RED."""
    queue = aqm_of(text)
    assert queue is not None
    assert queue.tc_words(400) == []
    low, high, probability, weight_log2, halving_us, flags = queue.red_words(1514, 10**7)
    message = qdisc.red_request(
        7, "1:1", "3:", int(low), int(high), float(probability), int(weight_log2),
        float(halving_us), flags,
    )  # fmt: skip
    size, kind, ask, _, _ = struct.unpack_from("=IHHII", message)
    family, ifindex, handle, parent, _ = struct.unpack_from("=BxxxiIII", message, 16)
    assert (size, kind, ask & 0x5, family) == (len(message), 36, 0x5, 0)
    assert (ifindex, handle, parent) == (7, 0x30000, 0x10001)
    top = attributes(message[36:])
    assert top[1] == b"red\0"
    options = attributes(top[2])
    limit, low_bytes, high_bytes, weight, *rest = struct.unpack("=IIIBBBB", options[1])
    assert (limit, rest[0], rest[2]) == (0, 0, 0)
    assert (rest[1], options[2]) == qdisc.idle_table(float(halving_us))
    value, selector = struct.unpack("=II", options[4])
    assert selector == 0b1101
    return {
        "min": low_bytes, "max": high_bytes, "weight_log2": weight, "flags": value,
        "falls": any(options[2]),
        "probability": round(struct.unpack("=I", options[3])[0] / 2**32, 6),
    }  # fmt: skip


def attributes(raw: bytes) -> dict[int, bytes]:
    found = {}
    while raw:
        size, kind = struct.unpack_from("=HH", raw)
        found[kind] = raw[4:size]
        raw = raw[(size + 3) & ~3 :]
    return found


def test_what_red_is_told() -> None:
    ecn, adaptive, nodrop = 1, 4, 8
    assert red_parameters('aqm = "step"\naqm_threshold = "20p"') == {
        "min": 30280, "max": 30280, "weight_log2": 0, "flags": ecn | nodrop, "probability": 1.0,
        "falls": False,
    }  # fmt: skip
    text = 'aqm = "red"\naqm_min = "10p"\naqm_max = "40p"\naqm_probability = "5%"'
    wanted = {
        "min": 15140, "max": 60560, "weight_log2": 9, "flags": 0, "probability": 0.05,
        "falls": True,
    }  # fmt: skip
    assert red_parameters(text) == wanted
    assert red_parameters(text + "\naqm_ecn = true") == wanted | {"flags": ecn}
    text = text.replace('"red"', '"ared"')
    assert red_parameters(text) == wanted | {"flags": adaptive}
    assert red_parameters(text + "\naqm_ecn = true") == wanted | {"flags": ecn | adaptive}


@pytest.mark.parametrize(
    ("open_", "create", "action"), [(False, False, 0), (True, False, 2), (True, True, 2)]
)
def test_what_a_plug_is_told(open_: bool, create: bool, action: int) -> None:
    message = qdisc.plug_request(7, open_, create)
    size, kind, ask, _, _ = struct.unpack_from("=IHHII", message)
    _, ifindex, handle, parent, _ = struct.unpack_from("=BxxxiIII", message, 16)
    assert (size, kind, bool(ask & 0x400)) == (len(message), 36, create)
    assert (ifindex, handle, parent) == (7, 0x70000, 0xFFFFFFFF)
    top = attributes(message[36:])
    assert top[1] == b"plug\0"
    assert struct.unpack("=iI", top[2])[0] == action


def test_when_guests_pause() -> None:
    """At the same time wherever it is asked, for the first part of each period."""
    assert qdisc.pauses(700_000, 30_000, 100_000) == (False, 730_000)
    assert qdisc.pauses(729_999, 30_000, 100_000) == (False, 730_000)
    assert qdisc.pauses(730_000, 30_000, 100_000) == (True, 800_000)
    assert qdisc.pauses(799_999, 30_000, 100_000) == (True, 800_000)


@pytest.mark.parametrize("rate_bps", [10**5, 10**7, 10**9, 10**11])
def test_how_red_falls_while_idle(rate_bps: int) -> None:
    """As if frames had come to an empty queue, one after the other: (1 - w)^m.  The kernel
    takes halves from the table, and within the first cell a line.
    """
    queue = aqm_of('aqm = "red"')
    assert queue is not None
    *_, halving_us, _ = queue.red_words(1514, rate_bps)
    cell_log2, table = qdisc.idle_table(float(halving_us))
    cell_us, frame_us = 2.0**cell_log2, 8e6 * 1514 / rate_bps
    for idle_us in (frame_us * 20 * 1.5**n for n in range(12)):
        exact = (1 - 2**-9) ** (idle_us / frame_us)
        halves = table[int(idle_us / cell_us) & 255]
        got = 2.0**-halves if halves else 1 - min(idle_us / cell_us, 0.5)
        assert exact / 2 < got < exact * 2, (idle_us, exact, got)
    assert max(table) <= 31


# --- counters and report --------------------------------------------------------


def test_counters_are_of_the_queue_not_of_its_children() -> None:
    root = {"kind": "tbf", "handle": "1:", "root": True, "drops": 99}
    fifo = {"kind": "pfifo", "handle": "4:", "parent": "3:1", "drops": 3}
    red = {"kind": "red", "handle": "3:", "parent": "1:1", "drops": 7, "marked": 5}
    codel = {"kind": "codel", "parent": "1:1", "drops": 2, "ecn_mark": 4, "ce_mark": 1}
    assert counters([root, fifo, red], "1:1") == {"marks": 5, "drops": 7}
    assert counters([root, codel], "1:1") == {"marks": 5, "drops": 2}
    assert counters([root, fifo | {"parent": "1:1"}], "1:1") == {"marks": 0, "drops": 3}
    netem = {"kind": "netem", "handle": "5:", "parent": "1:1", "drops": 9}
    assert counters([root, netem, red | {"parent": "5:1"}], "1:1") == {"marks": 5, "drops": 7}
    alone = {"kind": "netem", "handle": "1:", "root": True, "drops": 9}
    assert counters([alone], "1:1") == {"marks": 0, "drops": 9}
    with pytest.raises(KeyError):
        counters([root], "1:1")


def test_marks_and_drops_in_results_and_report() -> None:
    raw = synthetic.raw("native")
    raw["queue_counts"] = {"marks": 0, "drops": 12}
    unmarked = results_from_raw([raw])
    assert (unmarked["runs"][0]["queue_marks"], unmarked["runs"][0]["queue_drops"]) == (0, 12)
    page = report.report_html([unmarked])
    assert "Queue marks" not in page
    assert "<th>Instructions" not in page
    marking = copy.deepcopy(raw)
    marking["queue_counts"]["marks"] = 3217
    marking["scenario"]["path"]["aqm"] = {
        "kind": "step", "ecn": True, "min_packets": 20, "max_packets": 20,
    }  # fmt: skip
    results = results_from_raw([marking])
    assert results["runs"][0]["queue_marks"] == 3217
    page = report.report_html([results])
    assert "Queue marks" in page
    assert "<td>3217</td>" in page
    assert "queue of 1000 packets, step at 20 packets; 10 s" in page


def test_instructions_in_the_report() -> None:
    raw = synthetic.raw("native") | {"busy_s": 0.5, "instruction_ns": 1}
    results = results_from_raw([raw])
    each = results["runs"][0]["instructions_per_byte"]
    page = report.report_html([results])
    assert "<th>Instructions" in page
    assert f"<td>{each:.2f}</td>" in page


def test_records_without_counters_have_none() -> None:
    run = results_from_raw([synthetic.raw("native")])["runs"][0]
    assert (run["queue_marks"], run["queue_drops"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('aqm = "red"\naqm_ecn = true', "red 33 to 100 packets 2 % with ECN"),
        ('aqm = "codel"', "codel target 5 ms interval 100 ms without ECN"),
        ('aqm = "pie"', "pie target 15 ms tupdate 15 ms without ECN"),
    ],
)
def test_an_aqm_in_words(text: str, words: str) -> None:
    assert str(aqm_of(text)) == words
