# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own CCs, run by TCon (linux:NAME).

One of them does, ACK by ACK, what TCon's own Reno does; all of them can be set,
changed on a flow that runs, and taken away, and move data through a path that
loses some.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import genl
import pytest
import rig as rigs
import wire
from genl import E
from hosts import MEGA, PORT, Net, assert_enforced
from rig import Conn, poll, run, state
from tcon_lab.errors import LabError
from tcon_lab.ovs import appctl
from wire import ACK, CWR, ECE, PSH, SYN

Ends = tuple[rigs.RawEnd, rigs.RawEnd]


@pytest.fixture
def ends(rig: rigs.Rig) -> Ends:
    return rig.scripted()


#: The CCs of Linux 6.1.
NAMES = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "reno", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
MSS = 1448  # payload of a segment with time stamps
RTT_S = 0.04
INFINITE = 0x7FFFFFFF


def listed(tcon: genl.Genl) -> dict[str, dict[int, bytes]]:
    """The attributes of every CC that tcon/list-cc shows."""
    found = {}
    for raw in tcon.dump("GET_CC"):
        attrs = dict(genl.parse(dict(genl.parse(raw))[E["TCON_A_CC"]]))
        found[attrs[E["TCON_CC_A_NAME"]].rstrip(b"\0").decode()] = attrs
    return found


def words(attrs: dict[int, bytes], name: str) -> str:
    return attrs[E[f"TCON_CC_A_{name}"]].rstrip(b"\0").decode()


def sysctl(name: str) -> list[str]:
    return Path(f"/proc/sys/net/ipv4/{name}").read_text().split()


# --- names ------------------------------------------------------------------------


def test_all_can_be_set(ends: Ends, tcon: genl.Genl) -> None:
    """Modules are loaded when a rule names their CC, and held as long as tcon_linux is there."""
    for name in NAMES:
        tcon.set_rule(f"linux:{name}")
        assert [rule["cc"] for rule in tcon.rules()] == [f"linux:{name}"]
    found = listed(tcon)
    assert {f"linux:{name}" for name in NAMES} <= found.keys()
    assert words(found["linux:illinois"], "CATEGORY") == "hybrid"
    assert words(found["linux:illinois"], "SOURCE") == "Linux; Liu, Basar, Srikant, 2006"
    paced = {name for name, attrs in found.items() if E["TCON_CC_A_PACED"] in attrs}
    assert "linux:bbr" in paced
    assert "linux:cubic" not in paced
    for name in set(NAMES) - {"reno", "cubic"}:
        with pytest.raises(RuntimeError, match="in use"):
            rigs.unload(f"tcp_{name}")
    rigs.unload("tcon_linux")
    rigs.unload("tcp_illinois")


def test_what_the_kernel_has_is_listed(ends: Ends, tcon: genl.Genl) -> None:
    """CCs without being named: loaded when the adapter is, and later."""
    rigs.unload("tcon_linux")
    assert not any(name.startswith("linux:") for name in listed(tcon))
    run("modprobe", "tcp_veno")
    with contextlib.suppress(RuntimeError):
        rigs.unload("tcp_hybla")
    run("modprobe", "tcon_linux")
    expected = {f"linux:{name}" for name in sysctl("tcp_available_congestion_control")}
    assert {name for name in listed(tcon) if name.startswith("linux:")} == expected
    assert "linux:veno" in expected
    assert "linux:hybla" not in expected
    run("modprobe", "tcp_hybla")
    assert "linux:hybla" in listed(tcon)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("linux:nonsuch", "the kernel has no such CC, nor a module tcp_NAME"),
        ("linux:", "the kernel has no such CC, nor a module tcp_NAME"),
        ("linux:a-name-of-more-than-15", "the kernel has no such CC, nor a module tcp_NAME"),
        ("nonsuch:reno", "there is no module for what stands before the colon"),
        (":reno", "there is no module for what stands before the colon"),
    ],
)
def test_others_are_refused(ends: Ends, tcon: genl.Genl, name: str, why: str) -> None:
    tcon.set_rule("cubic")
    with pytest.raises(genl.Refused) as refused:
        tcon.set_rule(name)
    assert (refused.value.errno, refused.value.message) == (errno.ENOPKG, why)
    assert [rule["cc"] for rule in tcon.rules()] == ["cubic"]


def test_sentences(ends: Ends) -> None:
    """A user is told what is wrong, and by the same command that all is well."""
    with pytest.raises(LabError) as refused:
        appctl("tcon/set-cc", "br0", "flow=all", "linux:nonsuch")
    assert (
        "there is no CC 'linux:nonsuch': the kernel has no such CC, nor a module tcp_NAME"
        in str(refused.value)
    )
    with pytest.raises(LabError, match="there is no module for what stands before the colon"):
        appctl("tcon/set-cc", "br0", "flow=all", "nonsuch:reno")
    with pytest.raises(LabError, match="linux:reno has no parameter 'beta', nor any other"):
        appctl("tcon/set-cc", "br0", "flow=all", "linux:reno", "beta=0.5")
    assert "linux:" not in appctl("tcon/show", "br0").split("CCs:")[0]
    appctl("tcon/set-cc", "br0", "flow=all", "linux:westwood")
    assert "all linux:westwood; flows: 0" in appctl("tcon/show", "br0")
    ccs = {cc["name"]: cc for cc in json.loads(appctl("tcon/list-cc", "-j"))["ccs"]}
    assert ccs["linux:westwood"]["category"] == "loss"
    assert ccs["linux:westwood"]["source"] == "Linux; Mascolo et al., 2001"
    assert ccs["linux:westwood"]["params"] == []
    appctl("tcon/del-cc", "br0")


def test_parameters_are_refused(ends: Ends, tcon: genl.Genl) -> None:
    with pytest.raises(genl.Refused, match="no such parameter"):
        tcon.set_rule("linux:cubic", params={"beta": 700})


# --- the same as TCon's own Reno -----------------------------------------------------


def connect(conn: Conn, tcon: genl.Genl, cc: str, *, ecn: bool = False) -> Conn:
    """``ecn``: guest and peer speak it themselves."""
    conn.guest_sends(SYN | ECE | CWR if ecn else SYN)
    # Too late for ECN, which DCTCP would have it ask for.
    tcon.set_rule(cc)
    time.sleep(RTT_S)
    conn.peer_sends(SYN | ACK | ECE if ecn else SYN | ACK, window=0xFF80)
    conn.guest_sends()
    conn.window = 0x4000
    assert state(tcon, conn.sport) == ("repair-enforced", "none", cc)
    return conn


def offer(conn: Conn, n: int) -> None:
    """The guest sends n segments, whatever becomes of them."""
    for _ in range(n):
        conn.clock += 1
        data = random.Random(conn.guest_nxt).randbytes(MSS)
        conn.guest.send(conn.from_guest(PSH | ACK, data).frame())
        conn.guest_ts = conn.clock
        conn.guest_nxt += MSS


def acks(conn: Conn, ack: int, *blocks: tuple[int, int], ece: bool = False) -> None:
    """The peer acknowledges, with SACK blocks, whatever the guest hears of it."""
    conn.clock += 1
    sent = conn.from_peer(ACK | ECE if ece else ACK, ack=ack)
    if blocks:
        sent = sent.but(options=sent.options + wire.NOP * 2 + wire.opt_sack(*blocks))
    conn.peer_ts = conn.clock
    conn.peer.send(sent.frame())


def life(ends: Ends, tcon: genl.Genl, cc: str) -> dict[str, tuple[float, float]]:
    """Slow start, a loss, avoidance, a time-out: cwnd and ssthresh in segments after each."""
    conn = connect(Conn(*ends, isn=(1000, 7000)), tcon, cc)
    noted: dict[str, tuple[float, float]] = {}
    flow = functools.partial(rigs.find_flow, tcon, conn.sport)

    def note(what: str, done: Callable[[dict[str, Any]], object]) -> None:
        poll(lambda: done(flow()), what)
        now = flow()
        ssthresh = now["ssthresh_bytes"]
        noted[what] = (now["cwnd_bytes"] / MSS, -1 if ssthresh == INFINITE else ssthresh / MSS)

    def all_acked(now: dict[str, Any]) -> bool:
        """Segments that waited for cwnd or the pacer leave, and are acknowledged as well."""
        if now["una"] != conn.guest_nxt and now["una"] != now["nxt"]:
            time.sleep(RTT_S)
            acks(conn, flow()["nxt"])
        return now["una"] == conn.guest_nxt

    def round_trip(what: str, segments: int) -> None:
        offer(conn, segments)
        note(what, all_acked)

    note("start", all_acked)
    round_trip("slow start", 10)
    round_trip("slow start again", 20)
    una = conn.guest_nxt
    offer(conn, 40)
    time.sleep(RTT_S)
    nxt = flow()["nxt"]
    acks(conn, una, (una + MSS, nxt))
    note("loss", lambda now: now["lost_bytes"] == MSS)
    time.sleep(RTT_S)  # the repair's; sooner, it was not needed
    acks(conn, nxt)
    note("recovered", all_acked)
    round_trip("filled again", 20)  # not at once, so cwnd is not what limits it
    round_trip("avoidance", 20)
    round_trip("a window that does not bind", 5)
    round_trip("avoidance again", 21)
    # A guest that sends beyond its window, and hears nothing, has ACKs that pass TCon by.
    offer(conn, min(22, (flow()["edge"] - conn.guest_nxt) // MSS))
    note("time-out", lambda now: now["timeouts"])
    note("over", all_acked)
    return noted


def test_reno_as_ours(ends: Ends, tcon: genl.Genl) -> None:
    ours, kernels = life(ends, tcon, "reno"), life(ends, tcon, "linux:reno")
    over = kernels.pop("over"), ours.pop("over")
    assert kernels == ours == {
        "start": (10, -1),
        "slow start": (20, -1),
        "slow start again": (40, -1),
        "loss": (20, 20),
        "recovered": (12, 20),  # what may leave: a burst, and twice of the repair
        "filled again": (20, 20),
        "avoidance": (21, 20),
        "a window that does not bind": (21, 20),
        "avoidance again": (22, 20),
        "time-out": (1, 11),  # what may leave; cwnd is two segments
    }  # fmt: skip
    # After a time-out Linux's cwnd is one segment; TCon makes two of it.
    assert over[0][1] == over[1][1] == 11
    assert over[0][0] == pytest.approx(over[1][0], abs=1)


@pytest.mark.parametrize("cc", ["reno", "linux:reno"])
def test_ack_that_ends_a_reduction_and_begins_one(ends: Ends, tcon: genl.Genl, cc: str) -> None:
    """Its ECE is of the next window of data: as Linux, which ends TCP_CA_CWR first."""
    conn = connect(Conn(*ends, isn=(1000, 7000)), tcon, cc, ecn=True)
    flow = functools.partial(rigs.find_flow, tcon, conn.sport)

    def is_at(**want: int) -> None:
        poll(lambda: {name: flow()[name] for name in want} == want, str(want))

    first = conn.guest_nxt
    offer(conn, 10)
    is_at(nxt=conn.guest_nxt)
    time.sleep(RTT_S)
    acks(conn, first + 2 * MSS)
    is_at(cwnd_bytes=12 * MSS)
    acks(conn, first + 3 * MSS, ece=True)
    is_at(una=first + 3 * MSS, ssthresh_bytes=6 * MSS)
    acks(conn, end := conn.guest_nxt, ece=True)  # of the same window
    is_at(una=end, ssthresh_bytes=6 * MSS)
    offer(conn, 1)
    is_at(nxt=conn.guest_nxt)
    time.sleep(RTT_S)
    acks(conn, conn.guest_nxt, ece=True)  # all of it, or a time-out would reduce, too
    is_at(una=conn.guest_nxt, ssthresh_bytes=3 * MSS)


@pytest.mark.parametrize("ece", [False, True])
@pytest.mark.parametrize("cc", ["reno", "linux:reno"])
def test_mark_bars_undo(ends: Ends, tcon: genl.Genl, cc: str, ece: bool) -> None:
    """A DSACK tells of a needless repair: the loss is undone, unless ECE came in between."""
    conn = connect(Conn(*ends, isn=(1000, 7000)), tcon, cc, ecn=True)
    first = conn.guest_nxt
    offer(conn, 10)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["nxt"] == conn.guest_nxt, "ten segments left")
    time.sleep(RTT_S)
    rest = (first + MSS, conn.guest_nxt)
    acks(conn, first, rest)
    poll(lambda: rigs.find_flow(tcon, conn.sport)["repairs"] == 1, "the first is repaired")
    assert rigs.find_flow(tcon, conn.sport)["ssthresh_bytes"] == 5 * MSS
    acks(conn, first, rest, ece=ece)
    acks(conn, conn.guest_nxt, (first, first + MSS))
    poll(lambda: rigs.find_flow(tcon, conn.sport)["una"] == conn.guest_nxt, "all is acknowledged")
    flow = rigs.find_flow(tcon, conn.sport)
    assert flow["spurious"] == 1
    assert flow["ssthresh_bytes"] == (5 * MSS if ece else INFINITE)


@pytest.mark.parametrize("name", NAMES)
def test_life_of(ends: Ends, tcon: genl.Genl, name: str) -> None:
    """A loss and a time-out are felt by those that heed them, and by none too much."""
    noted = life(ends, tcon, f"linux:{name}")
    print(noted)
    cwnd = {what: segments for what, (segments, _) in noted.items()}
    assert cwnd["start"] == (2 if name == "hybla" else 10)
    assert cwnd.pop("time-out") == 1  # what may leave
    assert min(cwnd.values()) >= 2
    assert max(cwnd.values()) <= 200
    assert cwnd["slow start again"] == {"hybla": 13}.get(name, 40)
    if name != "bbr":
        assert cwnd["loss"] < cwnd["slow start again"]


# --- under kernels' own TCP -----------------------------------------------------------


def paces_as_it_shows(net: Net, sport: int) -> bool:
    """linux:bbr shows bits per second and a gain; started, it paces at 0.99 of their product."""
    flow = rigs.find_flow(net.tcon, sport)
    info = dict(re.findall(r"(\S+)=(\S+)", str(flow["cc_info"])))
    rate_bps = 0.99 * int(info["bw_bps"]) * float(info["gain"])
    return rate_bps > 0 and flow["pacing_bps"] == pytest.approx(rate_bps, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
def test_transfer(net: Net, name: str) -> None:
    """Two at once, IPv4 and IPv6, through losses."""
    net.shape(rate="20mbit", delay="10ms", loss="0.5%")
    net.tcon.set_rule(f"linux:{name}")
    before = net.tcon.counters()
    transfers = [net.transfer(MEGA, family=f, port=PORT + f) for f in (4, 6)]
    for transfer in transfers:
        assert_enforced(net.tcon, transfer.sport, f"linux:{name}")
        flow = rigs.find_flow(net.tcon, transfer.sport)
        assert str(flow["cc_info"]).startswith("mode=")
        assert bool(flow["pacing_bps"]) == (name == "bbr")
        if name == "bbr":
            poll(lambda sport=transfer.sport: paces_as_it_shows(net, sport), "pacing as shown")
    for transfer in transfers:
        transfer.finish()
        assert not rigs.find_flow(net.tcon, transfer.sport)["repeated_bytes"]
    after = net.tcon.counters()
    for counter in ("no-memory", "write-failed", "malformed"):
        assert after[counter] == before[counter], counter
    assert rigs.unload("tcon_linux") is None  # its cache complains of what is left


def test_changes_on_a_running_flow(net: Net) -> None:
    """A flow goes from each CC to the next, to TCon's own, to nothing, and back."""
    net.shape(rate="20mbit", delay="10ms", loss="0.2%")
    transfer = net.transfer()
    net.tcon.set_rule("cubic")
    poll(lambda: rigs.find_flow(net.tcon, transfer.sport), "a flow of a port at rest is seen again")
    poll(lambda: state(net.tcon, transfer.sport)[2] == "cubic", "and enforced from its next ACK on")
    for name in NAMES:
        for cc in (f"linux:{name}", "cubic"):
            net.tcon.set_rule(cc)
            found = state(net.tcon, transfer.sport)
            assert found[2] == cc
            assert found[0] in ("window-enforced", "repair-enforced")
            time.sleep(0.05)
        if name in ("cdg", "lp"):
            net.tcon.del_rules()
            assert state(net.tcon, transfer.sport) == ("observed", "no-rule", "none")
    net.tcon.set_rule("linux:cubic")
    transfer.finish()


def test_adapter_goes_and_returns(net: Net) -> None:
    """Flows are handed back; rules hold again when it returns."""
    net.shape(rate="20mbit", delay="10ms")
    net.tcon.set_rule("linux:illinois")
    transfer = net.transfer()
    assert_enforced(net.tcon, transfer.sport, "linux:illinois")
    for _ in range(3):
        rigs.unload("tcon_linux")
        assert state(net.tcon, transfer.sport) == ("observed", "cc-gone", "none")
        run("modprobe", "tcon_linux")
        assert state(net.tcon, transfer.sport)[2] == "linux:illinois"
    transfer.finish()


def test_native_sockets_do_not_notice(net: Net) -> None:
    """The same CC in a guest's stack and under TCon, at once."""
    net.shape(rate="20mbit", delay="10ms", loss="0.2%")
    net.tcon.set_rule("linux:illinois")
    transfer = net.transfer(MEGA, cc="illinois")
    assert_enforced(net.tcon, transfer.sport, "linux:illinois")
    transfer.finish()


def test_rate_of_small_segments(ends: Ends, tcon: genl.Genl) -> None:
    """Where half a segment is delivered, BBR is not told of a whole one."""
    conn = connect(Conn(*ends, isn=(1000, 7000)), tcon, "linux:bbr")
    flow = functools.partial(rigs.find_flow, tcon, conn.sport)

    una = conn.guest_nxt
    offer(conn, 10)
    time.sleep(RTT_S)
    acks(conn, una + 9 * MSS + MSS // 2)
    poll(lambda: flow()["una"] != una, "an ACK")
    offer(conn, 18)
    poll(lambda: flow()["nxt"] == conn.guest_nxt, "all leaves")
    acks(conn, conn.guest_nxt)
    poll(lambda: flow()["una"] == conn.guest_nxt, "the last ACK")
    startup_gain, margin = 2885 / 1000, 0.99
    paced = flow()["pacing_bps"] / (flow()["rate_bps"] * startup_gain * margin)
    assert 0.99 < paced < 1.01, "one segment more would be 1.03"


@pytest.fixture
def foreign() -> Iterator[str]:
    """A CC of a module that was not built with the kernel."""
    run("insmod", "/lab/foreigncc/tcp_foreign.ko")
    yield "linux:foreign"
    with contextlib.suppress(RuntimeError):
        rigs.unload("tcon_linux")
    rigs.unload("tcp_foreign")


def admit_foreign_ccs() -> None:
    rigs.unload("tcon_linux")
    run("modprobe", "tcon_linux", "foreign=1")


def test_foreign_ccs_are_refused(ends: Ends, tcon: genl.Genl, foreign: str) -> None:
    assert foreign not in listed(tcon)
    with pytest.raises(genl.Refused, match="its module was not built with the kernel"):
        tcon.set_rule(foreign)
    admit_foreign_ccs()
    tcon.set_rule(foreign)
    assert foreign in listed(tcon)


def told() -> dict[str, int]:
    """The last arguments of the foreign CC's pkts_acked() and tx_start(), and how often it ran."""
    names = (
        "calls", "pkts_acked", "rtt_us", "in_flight", "ca_state", "tx_starts", "sent_bytes",
    )  # fmt: skip
    folder = Path("/sys/module/tcp_foreign/parameters")
    return {name: int((folder / name).read_text()) for name in names}


def test_what_an_ack_tells(ends: Ends, tcon: genl.Genl, foreign: str) -> None:
    """Whole packets, one RTT, the delivery since; the state that the ACK found."""
    admit_foreign_ccs()
    conn = connect(Conn(*ends, isn=(1000, 7000)), tcon, foreign)
    una = conn.guest_nxt
    offer(conn, 10)
    time.sleep(RTT_S)

    def tells(segments: float, *blocks: tuple[int, int]) -> dict[str, int]:
        before = told()["calls"]
        acks(conn, una + int(segments * MSS), *blocks)
        poll(lambda: told()["calls"] > before, "the CC is told")
        assert told()["calls"] == before + 1
        return told()

    first = tells(4)
    assert first["pkts_acked"] == 4
    assert first["in_flight"] == 4 * MSS
    assert RTT_S * 1e6 <= first["rtt_us"] < RTT_S * 1.5e6
    assert first["ca_state"] == 0
    assert tells(6.5)["pkts_acked"] == 2
    assert tells(8)["pkts_acked"] == 2  # half of one was left
    hole = tells(8, (una + 9 * MSS, una + 10 * MSS))
    assert (hole["pkts_acked"], hole["ca_state"]) == (0, 0)
    assert hole["in_flight"] == 9 * MSS
    assert tells(10)["pkts_acked"] == 2
    tcon.del_rules()


def test_data_after_silence_is_told(ends: Ends, tcon: genl.Genl, foreign: str) -> None:
    """CA_EVENT_TX_START, which from Linux 7.0 on has a callback of its own."""
    admit_foreign_ccs()
    conn = connect(Conn(*ends, isn=(1000, 7000)), tcon, foreign)
    flow = functools.partial(rigs.find_flow, tcon, conn.sport)

    def started(segments: int) -> int:
        """How often, by sending this many segments."""
        before = told()["tx_starts"]
        offer(conn, segments)
        poll(lambda: flow()["nxt"] == conn.guest_nxt, "all leaves")
        return told()["tx_starts"] - before

    assert started(2) == 1
    assert told()["sent_bytes"] == 0, "the data counts as sent afterwards"
    assert started(2) == 0, "data is in flight"
    acks(conn, conn.guest_nxt - MSS)
    poll(lambda: flow()["una"] == conn.guest_nxt - MSS, "most is acknowledged")
    assert started(1) == 0, "some is, still"
    acks(conn, conn.guest_nxt)
    poll(lambda: flow()["una"] == conn.guest_nxt, "all is")
    assert started(2) == 1
    tcon.del_rules()
