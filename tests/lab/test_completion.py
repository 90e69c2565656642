# SPDX-License-Identifier: GPL-2.0-only
"""Bash completes the tcon/ commands, from what the daemon says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SCRIPT = TOP / "userspace/completion/ovs-appctl"
#: Answers of the programs that are asked.
ANSWERS = {
    "ovs-appctl list-commands": "The available commands are:\n  bond/list\n"
    "  tcon/flows              [-v] [-j [-r]] bridge\n  tcon/set-cc             bridge\n",
    "ovs-appctl tcon/list-cc": "bbr: model, paced, flows: 0\n    cwnd_gain=2 (1 to 4): gain\n"
    "cubic: loss, flows: 1\n    beta=0.7 (0.1 to 0.95): cut\n    hystart=on (on or off): ends\n"
    "linux:veno: loss, flows: 0\nnone: observe only\nnot loaded yet, set-cc does: reno vegas\n",
    "ovs-appctl tcon/help MATCH": "all                  every\nin_port=PORT         port\n"
    "tp_src=PORT[/MASK]   its\ntp_dst=PORT[/MASK]   its\ntcp                  IPv4\n",
    "ovs-appctl tcon/flows --help": "tcon/flows: shows\nusage: ovs-appctl tcon/flows [-v] "
    "[-j [-r]] bridge [flow=MATCH] [limit=N]\nsuch as: ovs-appctl tcon/flows -v br0\n",
    "ovs-vsctl list-br": "br0\nbr-int\n",
    "ovs-vsctl list-ports br0": "vnet0\nvnet1\n",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs that say so, and fail if they are asked anything else."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("ovs-appctl", "ovs-vsctl"):
        lines = ["#!/bin/sh", 'case "${0##*/} $*" in']
        lines += [f"'{asked}') cat <<'END'\n{said}END\n;;" for asked, said in ANSWERS.items()]
        lines += ['*) echo "$0 $*" >>"${0%/*}/unknown"; exit 1 ;;', "esac", ""]
        (folder / name).write_text("\n".join(lines))
        (folder / name).chmod(0o755)
    return folder


def completed(programs: Path, line: str) -> set[str]:
    """What Bash offers in place of the last word, from its last "=" or ":" on."""
    script = (
        f". {SCRIPT}; COMP_LINE=$1 COMP_POINT=${{#1}}; _tcon_ovs_appctl; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    run = subprocess.run(
        ["bash", "-c", script, "-", line], capture_output=True, text=True, check=True,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
    )  # fmt: skip
    assert not run.stderr, run.stderr
    assert not (programs / "unknown").exists(), (programs / "unknown").read_text()
    return {word for word in run.stdout.split("\n") if word}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tc", {"tcon/flows", "tcon/set-cc"}),
        ("-T 5 tcon/s", {"tcon/set-cc"}),
        ("bond/", set()),
        ("tcon/flows ", {"br0", "br-int"}),
        ("tcon/flows -", {"-v", "-j", "-r"}),
        ("tcon/flows -v br0 ", {"flow=", "limit="}),
        ("tcon/flows br0 flow=in_port=", {"vnet0", "vnet1"}),
        ("tcon/set-cc br0 ", {"flow="}),
        ("tcon/set-cc br0 flow=", {"all", "in_port=", "tp_src=", "tp_dst=", "tcp"}),
        ("tcon/set-cc br0 flow=tcp,tp", {"tcp,tp_src=", "tcp,tp_dst="}),
        ("tcon/set-cc br0 flow=in_port=vnet0,t",
         {"vnet0,tp_src=", "vnet0,tp_dst=", "vnet0,tcp"}),
        ("tcon/set-cc br0 flow=tp_dst=8", set()),
        ("tcon/set-cc --volatile br0 flow=all ",
         {"bbr", "cubic", "linux:veno", "none", "reno", "vegas"}),
        ("tcon/set-cc br0 flow=all linux:", {"veno"}),
        ("tcon/set-cc br0 flow=all cubic h", {"hystart="}),
        ("tcon/set-cc br0 flow=all cubic beta=0.8 f", {"fallback=", "for="}),
        ("tcon/set-cc br0 flow=all bbr c", {"cwnd_gain="}),
        ("tcon/trace br0 in_port=vn", {"vnet0", "vnet1"}),
        ("tcon/trace br0 in_port=vnet0,tp_d", {"vnet0,tp_dst="}),
        ("tcon/export-port br0 ", {"vnet0", "vnet1"}),
        ("tcon/help s", {"set-cc"}),
    ],
)  # fmt: skip
def test_words_that_may_follow(programs: Path, line: str, words: set[str]) -> None:
    assert completed(programs, f"ovs-appctl {line}") == words


def test_what_a_rule_may_say_besides_is_known() -> None:
    keys = re.search(
        r"option_keys\[N_OPTIONS\] = \{(.*?)\};",
        (TOP / "userspace/vswitchd/tcon-cc.c").read_text(), re.S,
    )[1]  # fmt: skip
    said = re.search(r'^_tcon_options="(.*)"$', SCRIPT.read_text(), re.M)[1]
    assert {word.rstrip("=") for word in said.split()} == set(re.findall(r'"(\w+)"', keys))
