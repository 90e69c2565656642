# SPDX-License-Identifier: GPL-2.0-only
"""The schemas against the readers: what these take fits, and keys are the same."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import synthetic
from commands import TOOLS, tcon_lab
from jsonschema import Draft202012Validator
from tcon_lab.experiment import campaign_file, published, scenario_file
from tcon_lab.experiment.campaign_file import MATRIX_KEYS
from tcon_lab.numbers.campaign_run import compact
from tcon_lab.numbers.results import results_from_raw, to_text
from tcon_lab.scenario import ScenarioError
from tcon_lab.schema import FORMATS, schema

FOLDERS = {"scenario": "scenarios", "campaign": "campaigns", "published": "published"}
FILES = [
    (name, file)
    for name, folder in FOLDERS.items()
    for file in sorted((TOOLS / folder).glob("*.toml"))
]
READERS = {
    "scenario": scenario_file.parse,
    "campaign": campaign_file.parse,
    "published": published.parse,
}


def errors(name: str, document: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema(name)).iter_errors(document)]


@pytest.mark.parametrize("name", FORMATS)
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    json.dumps(schema(name), allow_nan=False)


@pytest.mark.parametrize(("name", "file"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_the_files_that_come_with_tcon_fit(name: str, file: Path) -> None:
    assert errors(name, tomllib.loads(file.read_text())) == []


SCENARIO = """\
name = "all"
seconds = 2.5
modes = ["guest", "stock"]
seed = 7
[path]
rate = "1.5 mbit"
rtt = "20ms"
loss = "0.1%"
queue = "1.0bdp,50p"
aqm = "red"
aqm_min = "30p"
aqm_max = "40p"
aqm_probability = "2%"
aqm_ecn = true
duplicate = "1%"
corrupt = "1%"
reorder = "1%"
reorder_by = "1ms"
[[flow]]
count = 2
guest_cc = "cubic"
native_cc = "bbr"
enforce = "linux:bic"
start = "1s"
extra_delay = "1ms"
extra_loss = "1%"
ipv6 = true
tso = false
gso = false
quickack = true
ecn = true
guest_params = {beta = 800}
native_params = {probe_rtt_mode_ms = 100}
params = {beta = 0.8}
receiver_tcon = false
placement = "vm"
tcon_vms = 2
[[transfer]]
bytes = "1MB"
count = 3
load = "5%"
guest_cc = "vegas"
"""
CAMPAIGN = """\
name = "all"
seconds = 10
modes = ["native", "enforced"]
seeds = [1, 2]
published = "../published/tcon-paper.toml"
[path]
rate = "10mbit"
[[flow]]
guest_cc = "cubic"
[matrix]
rtt = ["8ms", "64ms"]
cc = ["bbr", ["linux:bic"]]
[[case]]
name = "a"
loss = "1%"
[[case.flow]]
guest_cc = "reno"
[[case]]
name = "b"
[[bar]]
metric = "goodput"
min = 0.9
max = 1.1
aim = 1
rtt_max = "1s"
loss_max = "5%"
guest_cc = ["reno"]
receiver_tcon = true
over = "cells"
[short]
seconds = 1
seeds = [3]
case = ["a"]
rtt = ["8ms"]
"""
PUBLISHED = """\
source = "x"
[[table]]
name = "1"
title = "t"
where = "w"
campaign = "c"
note = "n"
columns = [["cc", "text"], ["rtt", "ms"]]
rows = [["a", 1], [["a", "b"], "-"]]
[[value]]
quantity = "q"
unit = "s"
low = 1
spread = 1
of = {cc = "a"}
where = "w"
[[completion]]
case = "c"
where = "w"
mean_s = {guest = 1}
most_within_s = {guest = 1}
p999_reduction = {native = 0.1}
"""
FULL = {"scenario": SCENARIO, "campaign": CAMPAIGN, "published": PUBLISHED}


def take(name: str, text: str) -> str:
    """The reader's complaint about a text; empty: it takes it."""
    try:
        READERS[name](text, str(TOOLS / "campaigns/f.toml"))
    except ScenarioError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FULL)
def test_what_readers_take_fits(name: str) -> None:
    assert take(name, FULL[name]) == ""
    assert errors(name, tomllib.loads(FULL[name])) == []


def part_of(whole: Any, at: list[str]) -> Any:
    """The part of a schema at a place, which may refer to a definition of its own."""
    found = whole
    for part in at:
        found = found[part]
        if "$ref" in found:
            found = part_of(whole, found["$ref"].removeprefix("#/").split("/"))
    return found


def tables(name: str) -> list[tuple[str, list[str]]]:
    """The headings in FULL, and where the schema has their tables."""
    items = ["items"]
    kinds = {"path": [], "matrix": [], "short": []}
    found = [("", [])]
    for heading in dict.fromkeys(re.findall(r"^\[+[a-z.]+\]+$", FULL[name], re.M)):
        word = heading.strip("[]")
        at: list[str] = []
        for part in word.split("."):
            at += ["properties", part, *kinds.get(part, items)]
        found.append((heading, at))
    return found


@pytest.mark.parametrize(
    ("name", "heading", "at"), [(name, *table) for name in FULL for table in tables(name)]
)
def test_the_keys_are_those_that_the_reader_knows(name: str, heading: str, at: list[str]) -> None:
    """A key that nobody knows makes the reader list those that it does."""
    place = f"{heading}\n" if heading else ""
    text = FULL[name].replace(place, f"{place}nobody = 1\n", 1) if place else (
        f"nobody = 1\n{FULL[name]}"
    )  # fmt: skip
    said = take(name, text)
    known = re.search(r'unknown key "nobody".*; known keys are (.*)\.$', said)
    assert known, said
    assert set(part_of(schema(name), at)["properties"]) == set(known[1].split(", "))
    assert errors(name, tomllib.loads(text)) != []


def test_a_matrix_takes_what_the_reader_takes() -> None:
    matrix = part_of(schema("campaign"), ["properties", "matrix"])
    assert set(matrix["properties"]) == set(MATRIX_KEYS)


@pytest.mark.parametrize("name", FULL)
def test_the_heads_of_readers_describe_every_key(name: str) -> None:
    """Of a campaign those that a scenario has too are in the scenario's."""
    readers = {"scenario": [scenario_file], "published": [published]}
    text = "".join(m.__doc__ for m in readers.get(name, [campaign_file, scenario_file]))
    whole = schema(name)
    for table in (whole, *whole["$defs"].values()):
        for key in table["properties"]:
            assert re.search(rf"\b{key}\b", text), key


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("scenario", 'rate = "1.5 mbit"', 'rate = "1.5"'),
        ("scenario", 'rate = "1.5 mbit"', "rate = 5"),
        ("scenario", 'rtt = "20ms"', 'rtt = "-20ms"'),
        ("scenario", 'queue = "1.0bdp,50p"', 'queue = "50p,1.0bdp"'),
        ("scenario", 'aqm = "red"', 'aqm = "blue"'),
        ("scenario", 'native_cc = "bbr"', 'native_cc = "bbr3"'),
        ("scenario", 'enforce = "linux:bic"', 'enforce = "bic"'),
        ("scenario", 'modes = ["guest", "stock"]', "modes = []"),
        ("scenario", 'modes = ["guest", "stock"]', 'modes = ["guest", "guest"]'),
        ("scenario", "seconds = 2.5", "seconds = 0"),
        ("scenario", "seed = 7", "seed = -7"),
        ("scenario", 'name = "all"', 'name = "a b"'),
        ("scenario", 'rtt = "20ms"\n', ""),
        ("scenario", 'bytes = "1MB"\n', ""),
        ("scenario", "count = 3", "count = 0"),
        ("scenario", "guest_params = {beta = 800}", "guest_params = {beta = 0.8}"),
        ("scenario", "guest_params = {beta = 800}", 'guest_params = {"a/b" = 1}'),
        ("campaign", "seeds = [1, 2]", "seeds = [1, 1]"),
        ("campaign", "seeds = [1, 2]", "seeds = []"),
        ("campaign", 'rtt = ["8ms", "64ms"]', 'rtt = "8ms"'),
        ("campaign", 'rtt = ["8ms", "64ms"]', 'rtt = ["8"]'),
        ("campaign", 'metric = "goodput"', 'metric = "speed"'),
        ("campaign", "min = 0.9\nmax = 1.1\naim = 1\n", ""),
        ("campaign", 'over = "cells"', 'over = "all"'),
        ("campaign", 'cc = ["bbr", ["linux:bic"]]', 'cc = ["qubic"]'),
        ("campaign", 'case = ["a"]', "case = []"),
        ("published", '["rtt", "ms"]', '["rtt", "hours"]'),
        ("published", 'unit = "s"', 'unit = "text"'),
        ("published", "low = 1", "low = -1"),
        ("published", "mean_s = {guest = 1}", "mean_s = {gast = 1}"),
        ("published", "native = 0.1", "native = 1.1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_wrong_for_both(name: str, old: str, new: str) -> None:
    assert FULL[name].count(old) == 1
    text = FULL[name].replace(old, new)
    assert take(name, text) != ""
    assert errors(name, tomllib.loads(text)) != []


def test_results_fit() -> None:
    runs = [results_from_raw([synthetic.raw(mode, 3)]) for mode in ("guest", "native", "enforced")]
    runs.append(results_from_raw([synthetic.raw_transfers("enforced", [1.0, 2.0])]))
    runs.append(results_from_raw([synthetic.raw("enforced") | {"probe": [], "queue": []}]))
    for made in runs:
        assert errors("results", json.loads(to_text(made))) == []
        run = made["runs"][0]
        stored = {
            "key": "k", "scenario": made["definition"], "mode": run["mode"], "seed": 1,
            "virtual_time": True, "versions": {}, "real_s": 1.5, "run": compact(run),
        }  # fmt: skip
        assert errors("stored", json.loads(to_text(stored))) == []
        assert errors("stored", json.loads(to_text(stored | {"run": run}))) != []
    assert errors("results", json.loads(to_text(runs))) == []


def test_results_fit_whole_or_not_at_all() -> None:
    made = json.loads(to_text(results_from_raw([synthetic.raw("enforced")])))

    def changed(change: Any) -> list[str]:
        other = copy.deepcopy(made)
        change(other)
        return errors("results", other)

    for key in made:
        assert changed(lambda m, key=key: m.pop(key)), key
    for key in made["runs"][0]:
        assert changed(lambda m, key=key: m["runs"][0].pop(key)), key
    for key in made["runs"][0]["flows"][0]:
        assert changed(lambda m, key=key: m["runs"][0]["flows"][0].pop(key)), key
    assert changed(lambda m: m["runs"][0].update(surprise=1))
    assert changed(lambda m: m["runs"][0].update(jain=2))
    assert changed(lambda m: m["definition"]["path"].update(rate_bps="fast"))
    assert changed(lambda m: m["definition"]["path"].update(surprise=1))
    assert changed(lambda m: m["definition"]["path"].pop("aqm"))
    assert changed(lambda m: m["definition"]["flows"][0].pop("transfer"))
    assert changed(lambda m: m["runs"][0]["flows"][0]["samples"][0].update(rtt_us="long"))


def test_the_command() -> None:
    got = tcon_lab("schema", "campaign")
    assert got.returncode == 0
    assert json.loads(got.stdout) == schema("campaign")
    wrong = tcon_lab("schema", "campaigns")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith('tcon-lab: FORMAT is "campaigns"; known are scenario, campaign')
