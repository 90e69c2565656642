# SPDX-License-Identifier: GPL-2.0-only
"""The lab's topology, made of Mininet nodes::

    Server 1                                                     Server 2
    h1 --+                                                        +-- s1
    ...  br0 --(uplink)-- r1 --[bottleneck]--> r2 --(uplink)-- br1  ...
    hN --+                                                        +-- sN

* ``h1 .. hN`` send, ``s1 .. sN`` receive: a pair of guests for each connection,
  so that each has a TCP stack (and a CC) of its own.
* r1 -> r2 is the bottleneck: tbf with a pfifo of the scenario's length, or with its
  AQM in that place (see :mod:`.aqm`), and before it a policer where one is asked for.  Or netem
  is both where the scenario says so: see :func:`link_commands`.  The
  uplinks have no TSO, as behind a NIC that has cut the guest's super-packets:
  the queue holds, and netem loses, packets as they are on a wire.
* Delay, loss, duplication and corruption sit behind the bottleneck, at r2: half
  of the round trip and the mischief towards Server 2, the other half towards
  r1.  So TCon at Server 1 sees all of the RTT.
* Where the way back has a rate, its bottleneck is r2 -> r1, and the delay behind it at r1.
* A flow's own delays and losses are at its receiver's port on br1, and so is
  reordering: there a packet that is to overtake others skips the delay.  A delay between
  a sender and TCon is at its port on br0, on the way back.
* Where packets are lost, doubled or reordered nothing before has merged them
  again (GRO): see :meth:`Lab._moderate`.
* TCon may stand elsewhere than on br0: see :mod:`.placement`.

The same code runs in the lab's VM and, as root, on a real machine.
"""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Node, OVSSwitch
from mininet.topo import Topo

from . import aqm, placement
from .errors import LabError
from .machines import VirtualMachine, wait_for
from .ovs import appctl
from .scenario import FRAME_BYTES, GUEST_PAUSE_PERIOD_US, Flow, Scenario
from .scenario import Path as Bottleneck

#: Where the bottleneck's queue is, below tbf; netem in tbf's place has it itself.
QUEUE_PARENT = "1:1"
#: RED's place; it must be asked for packets (see aqm.py).
_RED_PARENT = "5:1"
#: tbf's bucket holds what it may be late: two frames, or this time.
_MIN_BURST_BYTES = 2 * FRAME_BYTES
_BURST_US = 300
#: Limit of queues that must never overflow.
_AMPLE_PACKETS = 1_000_000
#: Linux' own default of tcp_rmem's maximum.
_MIN_BUFFER_BYTES = 6 << 20
#: How much more than the path holds a socket may hold: Linux offers half of a
#: receive buffer, and behind a hole up to four times the path may wait.
_BUFFER_FACTOR = 8
#: From this rate on, as NICs do, a device merges packets (GRO) that come within this
#: time: the hosts behind it work on fewer, larger ones.  Not more of them, though a
#: device that is told of a time keeps what it has for up to a jiffy: with one ACK for
#: 64 KiB a sender is all bursts, and DCTCP's marks begin far below its threshold.
#: Nor where no guest sends bursts: each of a few packets at a time may be kept that jiffy.
_MODERATED_MIN_RATE_BPS = 200_000_000
_MODERATION_NS = 125_000
_MIN_OPEN_FILES = 256
_OPEN_FILES_PER_GUEST = 16
_QDISC = Path(aqm.__file__).with_name("qdisc.py")
_NO_OFFLOAD = "tso off tx-udp-segmentation off"
_UPLINKS = {"br0": ("br0-up", "r1-up"), "br1": ("br1-up", "r2-up")}


class TConSwitch(OVSSwitch):
    """An OVS kernel bridge with TCon's commands.

    ``uplinks`` names the ports that are no guest's: they are veths, so TCon has
    to be told (``other_config:tcon-role``).
    """

    def __init__(self, name: str, uplinks: tuple[str, ...] = (), **params: Any) -> None:
        params = {"failMode": "standalone", "datapath": "kernel"} | params
        super().__init__(name, **params)
        self._uplinks = uplinks

    def intfOpts(self, intf: Any) -> str:  # noqa: N802 (Mininet's name)
        """Mininet's hook: ovs-vsctl words that follow a port's creation."""
        words: str = super().intfOpts(intf)
        if intf.name in self._uplinks:
            words += f" -- set Interface {intf.name} other_config:tcon-role=uplink"
        return words

    def set_cc(self, match: str, cc: str, **params: object) -> str:
        """Enforce a CC.  Raises LabError with ovs-vswitchd's complaint."""
        return appctl("tcon/set-cc", self.name, f"flow={match}", cc,
                      *(f"{key}={value}" for key, value in params.items()))  # fmt: skip

    def del_cc(self, match: str) -> str:
        """Remove a rule.  Raises LabError with ovs-vswitchd's complaint."""
        return appctl("tcon/del-cc", self.name, f"flow={match}")

    def tcon_show(self) -> Any:
        """`tcon/show -j` of this bridge."""
        return json.loads(appctl("tcon/show", "-j", self.name))

    def tcon_flows(self, *options: str) -> Any:
        """`tcon/flows -j` of this bridge."""
        return json.loads(appctl("tcon/flows", "-j", *options, self.name))


#: Where a guest's commands run.
Guest = Node | VirtualMachine


def run_in(node: Guest, script: str) -> str:
    """Run a shell script in a node's namespace and return its output.

    Raises LabError with what it said if any of its commands fails.
    """
    process = node.popen(["bash", "-ec", script])
    out, err = process.communicate()
    if process.returncode:
        raise LabError(f"{node.name}: {(err or out).decode(errors='replace').strip()}")
    return out.decode()


def _mac(server: int, index: int) -> str:
    return f"02:00:00:{server:02x}:{index >> 8:02x}:{index & 255:02x}"


def _ipv4(server: int, index: int) -> str:
    return f"10.{server}.{index >> 8}.{index & 255}"


def _ipv6(server: int, index: int) -> str:
    return f"fd00:{server}::{index:x}"


_ROUTER_INDEX = 0xFFFE  # 10.SERVER.255.254


class PathTopo(Topo):
    """N guests on each of two servers, two routers between them."""

    def build(
        self, pairs: int = 1, machines: tuple[str, ...] = (), tcons: Collection[str] = ()
    ) -> None:
        """Mininet's hook; ``pairs``: guests on each server, without the ones in ``machines``;
        ``tcons``: the bridges that the sending ones' TCons are on.
        """
        router = placement.ROUTER_BRIDGE in tcons
        vms = sorted(set(tcons) - {"br0", placement.ROUTER_BRIDGE})
        for number, bridge in ((1, "br0"), (2, "br1")):
            uplinks = _UPLINKS[bridge][:1]
            if bridge == "br0":
                uplinks += tuple(port for vm in vms for port in placement.vm_ports(vm))
            self.addSwitch(bridge, cls=TConSwitch, dpid=str(number), uplinks=uplinks)
            self.addHost(f"r{number}", ip=None)
            if not (router and bridge == "br0"):
                self._add_uplink(number, bridge, _UPLINKS[bridge][0])
        for number, vm in enumerate(vms, 4):
            its = self._add_tcon(vm, number)
            for mine, other in zip(placement.vm_ports(vm), its, strict=True):
                self.addLink("br0", vm, intfName1=mine, intfName2=other)
        if router:
            inner, outer = self._add_tcon(placement.ROUTER_BRIDGE, 3)
            name = placement.ROUTER_BRIDGE
            self.addLink("br0", name, intfName1=_UPLINKS["br0"][0], intfName2=inner)
            self._add_uplink(1, name, outer)
        self.addLink("r1", "r2", intfName1="r1-r2", intfName2="r2-r1",
                     addr1=_mac(9, 1), addr2=_mac(9, 2))  # fmt: skip
        for index in range(1, pairs + 1):
            for number, bridge, kind in ((1, "br0", "h"), (2, "br1", "s")):
                if f"{kind}{index}" in machines:
                    continue
                guest = self.addHost(f"{kind}{index}", ip=None)
                self.addLink(
                    bridge,
                    guest,
                    intfName1=f"{bridge}-{guest}",
                    intfName2=f"{guest}-eth0",
                    addr2=_mac(number, index),
                )

    def _add_tcon(self, name: str, number: int) -> tuple[str, str]:
        """A bridge for TCon alone; its ports."""
        inner, outer = placement.ports(name)
        self.addSwitch(name, cls=TConSwitch, dpid=str(number), uplinks=(outer,))
        return inner, outer

    def _add_uplink(self, number: int, bridge: str, port: str) -> None:
        """Add the link from a server to its router."""
        mac, router_port = _mac(number, _ROUTER_INDEX), _UPLINKS[f"br{number - 1}"][1]
        self.addLink(bridge, f"r{number}", intfName1=port, intfName2=router_port, addr2=mac)


# Open vSwitch turns connection tracking on in every namespace (nf_conncount
# does); guests and routers of their own would not track what passes.
_NO_CONNTRACK = """
        nft -f - <<-END
		table inet lab {
			chain in { type filter hook prerouting priority raw; notrack; }
			chain out { type filter hook output priority raw; notrack; }
		}
	END
"""


def _guest_script(name: str, server: int, index: int, buffer_bytes: int, route_words: str) -> str:
    device, gateway_mac = f"{name}-eth0", _mac(server, _ROUTER_INDEX)
    memory = f"4096 {buffer_bytes} {buffer_bytes}"
    gateway4, gateway6 = _ipv4(server, _ROUTER_INDEX), _ipv6(server, _ROUTER_INDEX)
    return f"""
        sysctl -qw net.ipv6.conf.{device}.accept_dad=0 net.ipv6.conf.{device}.accept_ra=0
        ip addr add {_ipv4(server, index)}/16 dev {device}
        ip addr add {_ipv6(server, index)}/64 dev {device} nodad
        ip neigh replace {gateway4} lladdr {gateway_mac} dev {device} nud permanent
        ip neigh replace {gateway6} lladdr {gateway_mac} dev {device} nud permanent
        ip route add default via {gateway4} {route_words}
        ip -6 route add default via {gateway6} {route_words}
        sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_notsent_lowat=131072 \\
            'net.ipv4.tcp_rmem={memory}' 'net.ipv4.tcp_wmem={memory}'
    """


def _router_script(number: int, pairs: int) -> str:
    up, across, other = _UPLINKS[f"br{number - 1}"][1], f"r{number}-r{3 - number}", 3 - number
    lines = [
        _NO_CONNTRACK,
        "sysctl -qw net.ipv4.ip_early_demux=0",
        f"sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"
        f" net.ipv6.conf.{up}.accept_dad=0 net.ipv6.conf.{across}.accept_dad=0",
        f"ip addr add {_ipv4(number, _ROUTER_INDEX)}/16 dev {up}",
        f"ip addr add {_ipv6(number, _ROUTER_INDEX)}/64 dev {up} nodad",
        f"ip addr add 10.9.0.{number}/30 dev {across}",
        f"ip addr add fd00:9::{number}/64 dev {across} nodad",
        f"ip neigh replace 10.9.0.{other} lladdr {_mac(9, other)} dev {across} nud permanent",
        f"ip neigh replace fd00:9::{other} lladdr {_mac(9, other)} dev {across} nud permanent",
        f"ip route add {_ipv4(other, 0)}/16 via 10.9.0.{other}",
        f"ip -6 route add {_ipv6(other, 0)}/64 via fd00:9::{other}",
    ]
    for index in range(1, pairs + 1):
        for address in (_ipv4(number, index), _ipv6(number, index)):
            lines.append(
                f"ip neigh replace {address} lladdr {_mac(number, index)} dev {up} nud permanent"
            )
    return "\n".join(lines)


def _bridges_of(flow: Flow) -> tuple[str, ...]:
    """The bridges that its TCon is on."""
    return placement.bridges(flow.placement, flow.tcon_vms)


class Lab:
    """A scenario's network; use as a context manager.

    Without ``tear_down`` it stays: in a VM that ends anyway.

    Raises LabError where a bridge or interface of that name exists already, so
    that nothing of the operator's is replaced.
    """

    def __init__(self, scenario: Scenario, tear_down: bool = True) -> None:
        self._tear_down = tear_down
        self._pauses: list[subprocess.Popen[bytes]] = []
        self.scenario = scenario
        self.pairs = scenario.connections()
        self._machines: dict[str, VirtualMachine] = {}
        self._tcons = sorted({name for flow in self.pairs for name in _bridges_of(flow)})
        self._refuse_existing()
        _set_limits(2 * len(self.pairs))
        self.net = Mininet(
            PathTopo(
                pairs=len(self.pairs),
                machines=tuple(self._machine_names()),
                tcons=self._tcons,
            ),
            switch=TConSwitch,
            controller=None,
            link=Link,
            build=False,
        )

    def __enter__(self) -> Lab:
        try:
            self.net.start()
            self._boot_machines()
            self._configure()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for pause in self._pauses:
            pause.terminate()
        for machine in self._machines.values():
            machine.stop()
        if self._tear_down:
            self.net.stop()

    @property
    def br0(self) -> TConSwitch:
        """Server 1's bridge, whose guests send."""
        return self.net["br0"]

    def sender(self, index: int) -> Guest:
        """The guest on Server 1 that sends connection ``index`` (from 0)."""
        name = f"h{index + 1}"
        return self._machines.get(name) or self.net[name]

    def receiver(self, index: int) -> Node:
        """The guest on Server 2 that receives connection ``index`` (from 0)."""
        return self.net[f"s{index + 1}"]

    def sender_address(self, index: int) -> str:
        """Its address, of the connection's family."""
        return (_ipv6 if self.pairs[index].ipv6 else _ipv4)(1, index + 1)

    def receiver_address(self, index: int) -> str:
        """Its address, of the connection's family."""
        return (_ipv6 if self.pairs[index].ipv6 else _ipv4)(2, index + 1)

    def receiver_ipv4(self, index: int) -> str:
        """Its IPv4 address, which every guest has."""
        return _ipv4(2, index + 1)

    def sender_port(self, index: int) -> str:
        """The name of its port on br0."""
        return f"br0-h{index + 1}"

    @property
    def tcons(self) -> dict[str, TConSwitch]:
        """The bridges that the sending guests' TCons are on, by name."""
        return {name: self.net[name] for name in self._tcons}

    def enforce(self, index: int, cc: str) -> None:
        """Set a CC for a connection, where its TCon is.  Raises LabError."""
        flow = self.pairs[index]
        protocol, key = ("tcp6", "ipv6_src") if flow.ipv6 else ("tcp", "nw_src")
        words = {"weight": flow.weight} if flow.weight != 1 else {}
        if flow.rto_min_us:
            words["rto_min_us"] = flow.rto_min_us
        for name in _bridges_of(flow):
            if flow.placement == placement.HYPERVISOR:
                match = f"in_port={self.sender_port(index)}"
            else:
                inner, _ = placement.ports(name)
                match = f"in_port={inner},{key}={self.sender_address(index)}"
            self.tcons[name].set_cc(f"{protocol},{match}", cc, **words, **flow.params)

    def set_rto_min(self, index: int, least_us: int) -> None:
        """The least time-out of a sender's own stack, which its route has, in ms."""
        for option, gateway in (("", _ipv4(1, _ROUTER_INDEX)), ("-6", _ipv6(1, _ROUTER_INDEX))):
            run_in(
                self.sender(index),
                f"ip {option} route change default via {gateway} rto_min {least_us // 1000}ms",
            )

    def base_rtt_us(self, flow: Flow) -> int:
        """The round trip of a flow when nothing queues."""
        return self.scenario.path.rtt_us + flow.extra_delay_us + flow.guest_delay_us

    def buffer_bytes(self, flow: Flow) -> int:
        """The buffer of a socket that never limits this flow."""
        path = self.scenario.path
        in_path = max(path.rate_bps, path.back_rate_bps) * self.base_rtt_us(flow) // 8_000_000
        queued = (path.queue_packets + path.back_queue_packets) * FRAME_BYTES
        return max(_MIN_BUFFER_BYTES, _BUFFER_FACTOR * (in_path + queued))

    def _refuse_existing(self) -> None:
        for name in {"br0", "br1", *self._tcons}:
            known = subprocess.run(["ovs-vsctl", "br-exists", name], capture_output=True)
            if known.returncode == 0 or Path("/sys/class/net", name).exists():
                raise LabError(f"{name} exists already: the lab will not replace it")

    def _machine_names(self) -> list[str]:
        """The guests that have a kernel of their own."""
        return [f"h{n}" for n, flow in enumerate(self.pairs, 1) if flow.in_machine]

    def _boot_machines(self) -> None:
        """All at once, then wait for each."""
        for name in self._machine_names():
            index = int(name[1:])
            port = self.sender_port(index - 1)
            self._machines[name] = VirtualMachine(name, port, _mac(1, index), index)
            run_in(self.br0, f"ovs-vsctl add-port br0 {port}")
        wait_for(self._machines.values())

    def _configure(self) -> None:
        for number in (1, 2):
            run_in(self.net[f"r{number}"], _router_script(number, len(self.pairs)))
            run_in(self.br0, f"ethtool -K {_UPLINKS[f'br{number - 1}'][0]} {_NO_OFFLOAD}")
        if self.scenario.path.corrupt_fraction:
            # netem turns bits of a packet's linear part only: all must be there.
            run_in(self.br0, f"ethtool -K {_UPLINKS['br0'][0]} sg off")
        fast = self.scenario.path.rate_bps >= _MODERATED_MIN_RATE_BPS
        if fast and any(flow.gso for flow in self.pairs):
            self._moderate()
        for index, flow in enumerate(self.pairs):
            size = self.buffer_bytes(flow)
            for number, node in ((1, self.sender(index)), (2, self.receiver(index))):
                words = "quickack 1" if number == 2 and flow.quickack else ""
                if isinstance(node, Node):
                    run_in(node, _NO_CONNTRACK)
                run_in(node, _guest_script(node.name, number, index + 1, size, words))
            device = f"h{index + 1}-eth0"
            if not flow.tso:
                run_in(self.sender(index), f"ethtool -K {device} {_NO_OFFLOAD}")
            if not flow.gso:
                run_in(self.sender(index), f"ip link set dev {device} gso_max_segs 1")
        if any(flow.placement == placement.VM for flow in self.pairs):
            self._redirect()
        self._shape_path()
        for index, flow in enumerate(self.pairs):
            self._shape_flow(index, flow)
        unseen = [f"br1-s{n}" for n, flow in enumerate(self.pairs, 1) if not flow.receiver_tcon]
        if unseen:
            self._leave_alone(unseen)

    def _redirect(self) -> None:
        """br0's rules where TCon is in VMs."""
        guests = [
            (
                self.sender_port(index),
                _mac(1, index + 1),
                flow.tcon_vms if flow.placement == placement.VM else 0,
            )
            for index, flow in enumerate(self.pairs)
        ]
        rules = (shlex.quote(rule) for rule in placement.flows(guests))
        run_in(self.br0, "\n".join(f"ovs-ofctl add-flow br0 {rule}" for rule in rules))

    def set_tcon_vm(self, name: str, up: bool) -> None:
        """Let a VM that TCon is in die, or come back; ``name``: its bridge's."""
        for port in placement.ports(name):
            run_in(self.br0, f"ip link set dev {port} {'up' if up else 'down'}")

    def _moderate(self) -> None:
        """Let the first device that may merge packets behind the bottleneck do so.

        Not before netem if that does more than delay packets: it would lose whole
        bursts.
        """
        path = self.scenario.path
        if path.reorder_fraction or any(flow.extra_loss_fraction for flow in self.pairs):
            return
        lossy = bool(_mischief(self.scenario))
        peer, node, device = ("r2", "br1", "br1-up") if lossy else ("r1", "r2", "r2-r1")
        peer_device = "r2-up" if lossy else "r1-r2"
        merged_bytes = max(2 * FRAME_BYTES, path.rate_bps * _MODERATION_NS // (8 * 10**9))
        run_in(self.net[peer], f"ethtool -K {peer_device} {_NO_OFFLOAD}")
        run_in(
            self.net[node],
            f"""
            ethtool -K {device} gro on rx-udp-gro-forwarding on
            echo {_MODERATION_NS} > /sys/class/net/{device}/gro_flush_timeout
            echo 1 > /sys/class/net/{device}/napi_defer_hard_irqs
            ip link set dev {device} gro_max_size {merged_bytes}
        """,
        )

    def _shape_path(self) -> None:
        path = self.scenario.path
        forward_us = path.rtt_us // 2 - path.reorder_by_us
        back_us = path.rtt_us - path.rtt_us // 2
        run_in(self.net["r1"], "\n".join(link_commands(path)))
        run_in(
            self.net["r2"],
            f"""
            tc qdisc add dev r2-up root netem delay {forward_us}us \\
                {_mischief(self.scenario)} limit {_AMPLE_PACKETS}
        """,
        )
        node, device = "r2", "r2-r1"
        if path.back_rate_bps:
            run_in(self.net[node], "\n".join(link_commands(path.back, device)))
            node, device = "r1", "r1-up"
        run_in(
            self.net[node],
            f"tc qdisc add dev {device} root netem delay {back_us}us limit {_AMPLE_PACKETS}",
        )

    def _leave_alone(self, ports: list[str]) -> None:
        """Make these ports no guests: TCon does not look at them."""
        words = (f"set Interface {port} other_config:tcon-role=uplink" for port in ports)
        run_in(self.br0, f"ovs-vsctl {' -- '.join(words)}")

    def complete_path(self) -> None:
        """Add what the check of the path must not meet, or would leave traces in."""
        self.start_aqm()
        self.start_policer()
        self.start_pauses()

    def start_aqm(self) -> None:
        """Put the scenario's AQM, as new, where the bottleneck's queue is.

        Not before the path is checked: the overload of the check fills its averages.
        """
        commands = aqm_commands(self.scenario)
        if commands:
            run_in(self.net["r1"], "\n".join(commands))

    def start_policer(self) -> None:
        """Drop before the bottleneck what is beyond the policer's rate and bucket.

        Not before the path is checked: the overload of the check would be dropped.
        """
        path = self.scenario.path
        if not path.police_bps:
            return
        run_in(
            self.net["r1"],
            f"""
            tc qdisc add dev r1-r2 clsact
            tc filter add dev r1-r2 egress matchall action police rate {path.police_bps}bit \\
                burst {path.police_burst_bytes} conform-exceed drop
        """,
        )

    def start_pauses(self) -> None:
        """Let guests that pause do so: packets from and to them wait.

        Not before the path is checked: it has no round trip without a pause.  Raises
        LabError if one cannot.
        """
        for index, flow in enumerate(self.pairs):
            if not flow.guest_pause_us:
                continue
            ends = ((self.sender(index), f"h{index + 1}-eth0"), (self.br0, self.sender_port(index)))
            for node, device in ends:
                words = ["pause", device, str(flow.guest_pause_us), str(GUEST_PAUSE_PERIOD_US)]
                pause = node.popen(["python3", str(_QDISC), *words])
                self._pauses.append(pause)
                if not pause.stdout.readline():
                    raise LabError(f"{node}: {pause.stderr.read().decode().strip()}")

    def bottleneck(self) -> list[dict[str, Any]]:
        """The bottleneck's qdiscs, as `tc -s -j` tells them."""
        found: list[dict[str, Any]] = json.loads(
            run_in(self.net["r1"], "tc -s -j qdisc show dev r1-r2")
        )
        return found

    def _shape_flow(self, index: int, flow: Flow) -> None:
        path = self.scenario.path
        if flow.guest_delay_us:
            run_in(self.br0, f"tc qdisc add dev {self.sender_port(index)} root netem"
                             f" delay {flow.guest_delay_us}us limit {_AMPLE_PACKETS}")  # fmt: skip
        delay_us = flow.extra_delay_us + path.reorder_by_us
        if delay_us or flow.extra_loss_fraction:
            words = _percent("loss", flow.extra_loss_fraction)
            words += _percent("reorder", path.reorder_fraction)
            run_in(
                self.br0,
                f"tc qdisc add dev br1-s{index + 1} root netem delay {delay_us}us {words}"
                f" limit {_AMPLE_PACKETS}",
            )


def link_commands(path: Bottleneck, device: str = "r1-r2") -> list[str]:
    """Commands in a router for a bottleneck's rate and its droptail queue.

    tbf loses what it is late beyond its bucket.  Where softirqs wait for the CPU with guests,
    for milliseconds, that is a third of the link.  netem's packets have times of their own, so it
    makes up for that.  But an AQM below it would find no queue.
    """
    add, rate = f"tc qdisc add dev {device}", f"rate {path.rate_bps}bit"
    if path.link == "netem":
        return [f"{add} root handle 1: netem {rate} limit {path.queue_packets}"]
    burst_bytes = max(_MIN_BURST_BYTES, path.rate_bps * _BURST_US // 8_000_000)
    return [
        f"{add} root handle 1: tbf {rate} burst {burst_bytes} limit {_AMPLE_PACKETS}",
        f"{add} parent {QUEUE_PARENT} handle 2: pfifo limit {path.queue_packets}",
    ]


def aqm_commands(scenario: Scenario) -> list[str]:
    """Commands in r1 for the scenario's AQM; none for droptail."""
    queue, limit_packets = scenario.path.aqm, scenario.path.queue_packets
    if queue is None:
        return []
    if words := queue.tc_words(limit_packets):
        return [f"tc qdisc replace dev r1-r2 parent {QUEUE_PARENT} handle 3: {' '.join(words)}"]
    parent, commands = QUEUE_PARENT, []
    if queue.kind in aqm.REDS:
        parent = _RED_PARENT
        netem = f"netem limit {_AMPLE_PACKETS}"
        commands = [f"tc qdisc replace dev r1-r2 parent {QUEUE_PARENT} handle 5: {netem}"]
    red_words = queue.red_words(FRAME_BYTES, scenario.path.rate_bps)
    words = [str(_QDISC), "red", "r1-r2", parent, "3:", *red_words]
    return [
        *commands,
        f"python3 {shlex.join(words)}",
        f"tc qdisc add dev r1-r2 parent 3:1 handle 4: pfifo limit {limit_packets}",
    ]


def _set_limits(guests: int) -> None:
    """Mininet's limits, but no more open files than it needs.

    Its mnexec closes every possible one, used or not, at each node's start.
    """
    Mininet.init()
    wanted = max(_MIN_OPEN_FILES, _OPEN_FILES_PER_GUEST * guests)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, most), most))


def _mischief(scenario: Scenario) -> str:
    """netem's words for what happens to packets at r2; empty for nothing."""
    path = scenario.path
    return (
        _percent("loss", path.loss_fraction)
        + _percent("duplicate", path.duplicate_fraction)
        + _percent("corrupt", path.corrupt_fraction)
    )


def _percent(word: str, fraction: float) -> str:
    return f"{word} {fraction * 100:.6f}% " if fraction else ""
