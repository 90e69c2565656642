# SPDX-License-Identifier: GPL-2.0-only
"""Changes under traffic, all at once, each in a thread of its own.

Rules, CCs, a port, namespaces, repair and tcon.ko come and go, and all that can be asked is asked.
Of code that did not run the kernel says nothing, so what was done is counted.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import genl
import rig as rigs
from tcon_lab.errors import LabError
from tcon_lab.ovs import appctl

#: How long, in seconds; on a slow host longer, until each thing was done AT_LEAST so often and TCon
#: has done enough: up to LONGEST, after which it is not the host that is slow.
SECONDS = int(os.environ.get("TCON_SECONDS", "60"))
LONGEST = int(os.environ.get("TCON_LONGEST", 5 * SECONDS + 750))
AT_LEAST = 2
CCS = ("cubic", "bbr", "dctcp", "none", "bbr3", "linux:cubic", "vegas", "reno", "ctcp", "bbr")
_REPAIR = Path("/sys/module/tcon/parameters/repair")
#: What KCSAN says of its own work.
_KCSAN = Path("/sys/kernel/debug/kcsan")

Act = Callable[[int], None]


@contextlib.contextmanager
def may_be_away() -> Iterator[None]:
    """A module or a port may be away just now; an open file of a parameter goes with its module."""
    with contextlib.suppress(LabError, genl.Refused, RuntimeError):
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV):
                raise


def _a_race_is_reported() -> bool:
    """Then the test has failed, as the control of check-races is to: no more is found out."""
    return _KCSAN.exists() and bool(re.search(r"^data_races: [1-9]", _KCSAN.read_text(), re.M))


class Chaos:
    """On a bridge with the guests' ports ``steady``, whose rule stays, and ``transient``,
    which does not stay itself.
    """

    def __init__(
        self,
        bridge: str,
        steady: str,
        transient: str,
        enough: dict[str, int],
    ) -> None:
        """What TCon is to count, at least so often."""
        self._bridge, self._steady, self._transient = bridge, steady, transient
        self._number = rigs.run("ovs-vsctl", "get", "Interface", transient, "ofport").strip()
        self._enough = enough
        self.counters: collections.Counter[str] = collections.Counter()
        #: Since tcon.ko was loaded, when it was last asked.
        self._since: dict[str, int] = {}
        #: States in which a dump has met a flow.  The scheduler decides, so no test wants one.
        self.states: set[str] = set()
        self.done: collections.Counter[str] = collections.Counter()
        self._faults: list[BaseException] = []
        #: Held to make rules, which may load CCs.
        self._makes_rules = threading.Lock()
        #: The acts, and how long nothing of the kind is done after each.
        self.acts: dict[Act, float] = {
            self.rules: 0.2,
            self.dumps: 0.5,
            self.reload_cc: 3.0,
            self.reload_all: 4.0,
            self.ports: 3.0,
            self.namespaces: 1.0,
            self.repair: 2.0,
        }
        self.set_rules("bbr")

    def run(self) -> None:
        """Raises the first exception that does not come of something that is away."""
        start = time.monotonic()
        threads = [
            threading.Thread(target=self._repeat, args=(act, pause_s, start))
            for act, pause_s in self.acts.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._faults:
            raise self._faults[0]
        rigs.load_all()
        self.counters.update(genl.Genl().counters())

    def _scarce(self, counters: dict[str, int]) -> dict[str, int]:
        return {name: counters[name] for name, n in self._enough.items() if counters[name] < n}

    def check(self) -> None:
        """Everything was done, and TCon did its part."""
        counted = {name: self.counters[name] for name in self._enough}
        print(f"{dict(self.done)}; {counted}; {sorted(self.states)}")
        if _KCSAN.exists():
            print("; ".join(_KCSAN.read_text().splitlines()))
        for act in self.acts:
            assert self.done[act.__name__] >= AT_LEAST, act.__name__
        assert not self._scarce(self.counters), "not done often enough for races to show"

    def nothing_is_left(self) -> None:
        """Without rules nothing stays held; each flow has one reason."""
        client = genl.Genl()
        client.del_rules(self._bridge)
        rigs.poll(lambda: client.held_bytes() == 0, "nothing is held any more", 30)
        rigs.poll(
            lambda: sum(client.reasons()) == client.info("FLOWS"), "flows have a reason each", 30
        )

    def _is_over(self, start: float) -> bool:
        if _a_race_is_reported():
            return True
        passed = time.monotonic() - start
        if passed <= SECONDS or passed > LONGEST:
            return passed > SECONDS
        return all(self.done[act.__name__] >= AT_LEAST for act in self.acts) and not self._scarce(
            self.counters + collections.Counter(self._since)
        )

    def _repeat(self, act: Act, pause_s: float, start: float) -> None:
        try:
            for number in itertools.count():
                if self._is_over(start):
                    return
                with may_be_away():
                    act(number)
                    self.done[act.__name__] += 1
                time.sleep(pause_s)
        except BaseException as fault:  # noqa: BLE001 (the test's own thread raises it)
            self._faults.append(fault)

    def set_rules(self, cc: str) -> None:
        """All guests have the CC, but the steady one, which has one that wants marks.

        Whom tcon.ko meets in mid-stream is paced.
        """
        words = [] if cc == "none" else ["fallback=pace"]
        appctl("tcon/set-cc", self._bridge, "flow=all", cc, *words)
        match = f"flow=in_port={self._steady},priority=40000"
        appctl("tcon/set-cc", self._bridge, match, "dctcp", "fallback=pace")

    def rules(self, number: int) -> None:
        """Another CC."""
        with self._makes_rules:
            self.set_rules(CCS[number % len(CCS)])

    def repair(self, number: int) -> None:
        """Losses are left to the guests for a while: a tcon.ko that comes repairs again."""
        _REPAIR.write_text("0")
        time.sleep(1)
        _REPAIR.write_text("1")

    def dumps(self, number: int) -> None:
        """All that can be asked is asked."""
        client = genl.Genl()
        self.states |= {genl.STATES[int(flow["state"])] for flow in client.flows()}
        self._since = client.counters()
        client.reasons()
        client.ports()
        client.rules()
        appctl("tcon/show", "-j", self._bridge)

    def reload_cc(self, number: int) -> None:
        """A CC's module goes, and comes when a rule names it."""
        rigs.run("rmmod", "tcon_bbr" if number % 2 else "tcon_dctcp")

    def reload_all(self, number: int) -> None:
        """All modules go and come.  tcon.ko's counters go with it."""
        counters = genl.Genl().counters()
        self._unload()
        if rigs.loaded("tcon"):  # a rule has brought a CC back since
            with self._makes_rules:
                counters = genl.Genl().counters()
                self._unload()
        gone = not rigs.loaded("tcon")
        rigs.load_all()
        if not gone:
            raise LabError("tcon.ko is in use")
        self.counters.update(counters)
        self._since = {}

    def _unload(self) -> None:
        loaded = [name for name in (*rigs.CCS, "tcon") if rigs.loaded(name)]
        rigs.run("rmmod", *loaded, check=False)

    def ports(self, number: int) -> None:
        """A port goes while its guest sends, and comes again."""
        rigs.run("ovs-vsctl", "--if-exists", "del-port", self._transient)
        time.sleep(0.3)
        rigs.run("ovs-vsctl", "--may-exist", "add-port", self._bridge, self._transient, "--", "set",
                 "Interface", self._transient, f"ofport_request={self._number}")  # fmt: skip

    def namespaces(self, number: int) -> None:
        """A network namespace lives and dies, with a rule."""
        rigs.run("ip", "netns", "add", "passing")
        try:
            with rigs.inside("passing"), self._makes_rules:
                genl.Genl().set_rule("cubic", bridge="brx")
        finally:
            rigs.run("ip", "netns", "del", "passing")
