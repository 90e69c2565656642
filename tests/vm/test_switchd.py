# SPDX-License-Identifier: GPL-2.0-only
"""tcon-switchd beside an ovs-vswitchd that knows nothing of TCon.

`make switchd` runs this, with what the package tcon-switch puts on a host; that the
commands do the same there is for the files that it runs with this one.
"""

import contextlib
import json
import os
import re
import subprocess
import time
from pathlib import Path

import genl
import pytest
from rig import Genl, load_all, run

OWN = "/usr/lib/tcon-switch/ovs-appctl"
SWITCHD = "/usr/sbin/tcon-switchd"
PIDFILE = Path("/run/openvswitch/tcon-switchd.pid")
LOG = Path("/var/log/openvswitch/tcon-switchd.log")
PRERM = Path("/lab/tcon-switch.prerm")
DUMPFAULT = Path("/run/dumpfault")


def ask(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def start(**environment):
    command = [SWITCHD, "--pidfile", "--detach", "--log-file", "-vconsole:off"]
    subprocess.run(command, env=os.environ | environment, check=True)


def stop():
    run("ovs-appctl", "-t", "tcon-switchd", "exit")
    wait_for(lambda: not PIDFILE.exists())


def wait_for(what, timeout_s=10):
    deadline = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("options", [(), ("-T", "5"), ("--timeout", "5"), ("--timeout=5", "-v")])
def test_commands_reach_the_daemon(options):
    reply = ask("ovs-appctl", *options, "tcon/list-cc")
    assert reply.returncode == 0, reply.stderr
    assert "bbr" in reply.stdout


@pytest.mark.parametrize(
    "command",
    [
        "ovs-appctl tcon/set-cc br0 flow=tcp,nw_src=10.0.0.0/24,tp_dst=443 bbr",
        "ovs-appctl tcon/set-cc br0 flow=in_port=vnet0 linux:illinois",
    ],
)
def test_rules_of_the_readme_are_taken(net, tcon, command):
    run(*command.replace("vnet0", "p1").split())
    assert [rule["cc"] for rule in tcon.rules()] == [command.split()[-1]]


def test_all_else_reaches_ovs_vswitchd():
    assert ask("ovs-appctl", "version").stdout.startswith("ovs-vswitchd (Open vSwitch)")
    for words in (("list-commands",), ("-T", "5", "list-commands")):
        listed = ask("ovs-appctl", *words).stdout
        own = ask(OWN, *words).stdout
        assert listed.startswith(own)
        commands = [line.split()[0] for line in listed.removeprefix(own).splitlines()]
        assert {"tcon/set-cc", "tcon/help"} <= set(commands)
        assert all(command.startswith("tcon/") for command in commands)
    named = ask("ovs-appctl", "-t", "ovs-vswitchd", "list-commands").stdout
    assert "tcon/" not in named


def test_the_version_is_tcons():
    said = ask(SWITCHD, "--version").stdout
    assert re.match(r"tcon-switchd 0\.1\.0\nOpen vSwitch Library \d", said)
    assert ask("ovs-appctl", "-t", "tcon-switchd", "version").stdout == said


def test_without_the_module_the_rules_that_wait_are_shown(net):
    run("ovs-appctl", "tcon/set-cc", "br0", "flow=tcp,tp_dst=80", "bbr")
    run("ovs-appctl", "tcon/set-cc", "--volatile", "br0", "flow=all", "cubic")
    loaded = re.findall(r"^tcon\w*", Path("/proc/modules").read_text(), re.M)
    try:
        for name in loaded:  # the newest is first
            run("rmmod", name)
        reply = ask("ovs-appctl", "tcon/show")
    finally:
        load_all()
    assert reply.returncode == 2
    assert reply.stderr.startswith(
        "tcon.ko is not loaded (try: modprobe tcon)\n"
        "nothing is enforced; for when it is, there are:\n"
        "bridge br0\n"
    )
    assert re.search(r"^    tcon-rule-\d+ of Bridge br0: flow=priority=32768,tcp,tp_dst=80 bbr$",
                     reply.stderr, re.M)  # fmt: skip
    assert "\n    flow=priority=32768,all cubic; volatile\n" in reply.stderr
    wait_for(lambda: len(Genl().rules()) == 2)
    run("ovs-appctl", "tcon/del-cc", "br0")


def test_a_target_that_is_named_is_asked():
    for target in (("-t", "ovs-vswitchd"), ("--target=ovs-vswitchd",), ("-tovs-vswitchd",)):
        reply = ask("ovs-appctl", *target, "tcon/list-cc")
        assert reply.returncode == 2
        assert '"tcon/list-cc" is not a valid command' in reply.stderr
    assert "tcon/show" in ask("ovs-appctl", "-t", "tcon-switchd", "list-commands").stdout


def test_a_complaint_is_ovs_appctls():
    reply = ask("ovs-appctl", "tcon/show", "nobridge")
    assert reply.returncode == 2
    assert "nobridge" in reply.stderr.splitlines()[0]
    assert reply.stderr.splitlines()[-1] == "ovs-appctl: tcon-switchd: server returned an error"


def test_rules_outlive_the_daemon_unless_it_cleans_up(net, tcon):
    run("ovs-appctl", "tcon/set-cc", "br0", "flow=all", "bbr")
    before = tcon.rules()
    assert before
    stop()
    assert tcon.rules() == before
    start()
    assert "bbr" in ask("ovs-appctl", "tcon/show", "br0").stdout, "taken over"
    run("ovs-appctl", "-t", "tcon-switchd", "exit", "--cleanup")
    wait_for(lambda: not PIDFILE.exists())
    assert not tcon.rules()
    start()


def test_a_removal_takes_away_what_a_stopped_daemon_left(net, tcon, tmp_path):
    run("ovs-appctl", "tcon/set-cc", "br0", "flow=all", "bbr")
    stop()
    assert tcon.rules()
    script = PRERM.read_text().replace("/run/systemd/system", str(tmp_path))
    run("sh", "-c", script, "prerm", "remove")
    wait_for(lambda: not PIDFILE.exists())
    assert not tcon.rules()
    start()


def test_exit_takes_no_other_option():
    reply = ask("ovs-appctl", "-t", "tcon-switchd", "exit", "--clean")
    assert reply.returncode == 2
    assert "the only option is --cleanup" in reply.stderr


@contextlib.contextmanager
def failing(command, *, halfway=False):
    """Such requests to tcon.ko fail, for a daemon that was started for it."""
    DUMPFAULT.write_text(str(genl.E[f"TCON_CMD_{command}"] * (-1 if halfway else 1)))
    try:
        yield
    finally:
        DUMPFAULT.unlink()


@pytest.fixture
def fallible():
    """The daemon, to be started again where dumps may fail."""
    yield lambda: start(LD_PRELOAD="/lab/dumpfault.so")
    stop()
    start()


def ages(tcon):
    """The rules as the kernel tries them, newest first."""
    return [(rule["cc"], rule["match"]) for rule in tcon.rules()]


def test_what_could_not_be_read_at_first_is_read_later(net, tcon, fallible):
    """Rules that nobody wants any more go, and the others have their order."""
    for dst, cc in ((1, "bbr"), (2, "reno"), (3, "cubic")):
        run("ovs-appctl", "tcon/set-cc", "br0", f"flow=tp_dst={dst}", cc)
    listed = run("ovs-vsctl", "get", "Bridge", "br0", "other_config")
    first, second, _ = re.findall(r"tcon-rule-\d+", listed)
    cubic, reno, bbr = ages(tcon)
    stop()
    run("ovs-vsctl", "remove", "Bridge", "br0", "other_config", second, "--", "set", "Bridge",
        "br0", 'other_config:tcon-rule-9999="flow=tp_dst=1 bbr"', "--", "remove", "Bridge", "br0",
        "other_config", first)  # fmt: skip
    with failing("GET_RULE"):
        fallible()
        run("ovs-appctl", "tcon/set-cc", "--volatile", "br0", "flow=tp_dst=4", "vegas")
        assert reno in ages(tcon)
        assert "the rules in tcon.ko cannot be read yet: Cannot allocate" in LOG.read_text()
    wait_for(lambda: ages(tcon)[1:] == [bbr, cubic])
    assert ages(tcon)[0][0] == "vegas"
    run("ovs-appctl", "tcon/del-cc", "br0")
    assert not tcon.rules()


def test_counters_that_could_not_be_read_have_rates_later(net, fallible):
    run("ovs-appctl", "tcon/set-cc", "br0", "flow=all", "bbr")
    stop()
    with failing("GET_INFO"):
        fallible()
        reply = ask("ovs-appctl", "tcon/show")
        assert reply.stderr.startswith("netlink to tcon.ko failed: No buffer space available\n")
        time.sleep(1)
    wait_for(lambda: json.loads(run("ovs-appctl", "tcon/show", "-j"))["rate_over_ms"], 30)


def resident_kb():
    status = Path(f"/proc/{PIDFILE.read_text().strip()}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


#: Commands, and the dumps that each makes.
DUMPS = (
    ("tcon/list-cc", "GET_CC"),
    ("tcon/show", "GET_CC"), ("tcon/show", "GET_PORT"), ("tcon/show", "GET_RULE"),
    ("tcon/compare br0", "GET_CC"), ("tcon/compare br0", "GET_RULE"),
    ("tcon/trace br0 tcp,in_port=p1", "GET_CC"), ("tcon/trace br0 tcp,in_port=p1", "GET_PORT"),
    ("tcon/trace br0 tcp,in_port=p1", "GET_RULE"),
    ("tcon/set-cc br0 flow=all bbr", "GET_CC"),
    ("tcon/set-cc br0 flow=in_port=p1 bbr", "GET_PORT"),
)  # fmt: skip


def test_nothing_is_left_of_a_dump_that_fails(net, tcon, fallible):
    """Neither memory nor half of an answer: one sentence."""
    stop()
    fallible()
    run("ovs-appctl", "tcon/set-cc", "br0", "flow=all", "reno", "share=50%")
    before = tcon.rules()
    assert len(before) == 1
    for command, dump in DUMPS:
        sizes = []
        with failing(dump, halfway=True):
            for _ in range(40):
                reply = ask("ovs-appctl", *command.split())
                assert (reply.returncode, reply.stdout) == (2, ""), (command, dump)
                assert reply.stderr.startswith("Cannot allocate memory\n"), (command, dump)
                sizes.append(resident_kb())
        assert sizes[-1] - sizes[9] < 400, (command, dump)
        assert tcon.rules() == before


def test_a_port_is_known_as_soon_as_the_database_says(net):
    run("ip", "link", "add", "late0", "type", "veth", "peer", "name", "late1")
    try:
        run("ovs-vsctl", "add-port", "br0", "late0")
        wait_for(lambda: "late0" in ask("ovs-appctl", "tcon/show", "br0").stdout)
        run("ovs-vsctl", "set", "Interface", "late0", "other_config:tcon-role=uplink")
        wait_for(lambda: "uplink" in next(
            line for line in ask("ovs-appctl", "tcon/show", "br0").stdout.splitlines()
            if "late0" in line))  # fmt: skip
        run("ovs-vsctl", "del-port", "br0", "late0")
        wait_for(lambda: "late0" not in ask("ovs-appctl", "tcon/show", "br0").stdout)
    finally:
        run("ip", "link", "del", "late0")


@pytest.mark.parametrize("words", [("--bogus",), ("unix:/a", "unix:/b")])
def test_a_wrong_command_line_is_refused(words):
    reply = ask(SWITCHD, *words)
    assert reply.returncode == 1
    assert reply.stderr.strip()
