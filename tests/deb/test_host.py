# SPDX-License-Identifier: GPL-2.0-only
"""The life of TCon's packages on a host that boots: README's steps, upgrades, removal.

The tests are one story for each suite, in this order: each goes on where the one before
ended.
"""

import json
import re

import pytest
from chroot import Chroot
from host import Host, ScriptError
from steps import TOP

#: Two guests of br0; the second stands for what is behind an uplink.  Devices of guests do
#: not outlive a boot, the bridge's ports do.
GUESTS = """
for n in 1 2; do
    ip netns add g$n
    ip link add p$n type veth peer name eth0 netns g$n
    ip -n g$n address add 10.0.0.$n/24 dev eth0
    ip -n g$n link set eth0 up
    ip link set p$n up
done
ip netns exec g2 iperf3 --server --daemon
"""
BRIDGE = "ovs-vsctl add-br br0 -- add-port br0 p1 -- add-port br0 p2"
REACHED = "ip netns exec g1 ping -q -c 1 -w 60 10.0.0.2"

#: What the kernel itself counts at both ends of br0, on the way there and back.
ECHOES = """
ip netns exec g1 nstat -asz IcmpOutEchos IcmpInEchoReps
ip netns exec g2 nstat -asz IcmpInEchos IcmpOutEchoReps
"""

#: What is on the host, without what changes by itself.
SNAPSHOT = """
find / -xdev \\( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log \\
    -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd \\
    -o -path /var/tmp -o -path /root -o -path /srv \\) -prune -o -print | sort >/srv/{name}
dpkg-divert --list | sort >/srv/{name}.diversions
update-alternatives --get-selections >/srv/{name}.alternatives
dpkg-query -W -f '${{Package}}\\n' | sort >/srv/{name}.packages
"""
#: What came with other packages and stays when they go, but for kernels.  That apt's autoremove
#: takes more, on Debian 13 a compiler that was there before, is none of TCon's business.
PURGE = """
apt-get purge $(dpkg-query -W -f '${Package}\\n' | sort | comm -13 /srv/before.packages - |
    grep -v ^linux-image)
"""
#: What an upgraded kernel brings, and DKMS's key.
KERNELS = "/boot/|/lib/modules/|linux-image|[.]old$|/mok[.]"


#: Compilers run in an emulated host for half an hour.  So they run in a chroot, and the host
#: is given what they made; DKMS does all that it does, on both kernels.
COMPILER_CACHE = """
echo 'DPkg::Path "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin";' >/etc/apt/apt.conf.d/91ccache
echo 'cache_dir = /srv/ccache' >/etc/ccache.conf
"""
UPGRADE = """
echo 'deb [trusted=yes] file:/srv/next ./' >/etc/apt/sources.list
apt-get update
apt-get install linux-image-amd64 linux-headers-amd64
"""


#: The compilers' cache is not for the tree: make finds there that all is built.
IN_TREE = "cd /srv/tree; export TCON_CACHE=/srv/cache CCACHE_DISABLE=1"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, suite, packages, tree, readme, readme_tree):
    """An archive of what compilers gave in a chroot."""
    files = [*packages.values(), tree]
    chroot = Chroot(tmp_path_factory.mktemp("compiled"), suite, files)
    chroot.run(COMPILER_CACHE)
    chroot.install(readme[1][1])
    chroot.run(UPGRADE)
    chroot.run("mkdir /srv/tree; tar -C /srv/tree -xf /srv/tcon/tree.tar")
    chroot.install(readme_tree[0].replace("make && make install", ""))
    chroot.install(f"{IN_TREE}; make KDIR=/lib/modules/$(uname -r)/build all userspace")
    chroot.run("tar -C /srv --exclude 'cache/ovs-tree-*' -cf /srv/made.tar ccache cache tree")
    yield chroot.folder / "srv/made.tar"
    chroot.close()


@pytest.fixture(scope="module")
def host(tmp_path_factory, suite, packages, compiled):
    files = [*packages.values(), compiled, TOP / "debian/tests/enforce"]
    made = Host(tmp_path_factory.mktemp(suite), suite, files)
    try:
        with made.timed("boot"):
            made.boot()
        made.run(f"tar -C /srv -xf /srv/tcon/made.tar\n{COMPILER_CACHE}")
        made.run("apt-get update; apt-get install python3; apt-get autoremove")
        made.run(GUESTS)
        made.run(BRIDGE)
        made.run(REACHED)
        made.run(SNAPSHOT.format(name="before"))
        yield made
    except BaseException:
        print(made.console.read_text(errors="replace")[-3000:])
        raise
    finally:
        made.close()
        report(suite, made.times_s)


def report(suite, times_s):
    """Print how long each step took, and keep it in build/host."""
    print(f"\n{suite}: seconds, in an emulated machine, compilers not run anew")
    for step, took_s in times_s.items():
        print(f"{took_s:9.1f}  {step}")
    kept = TOP / "build/host" / f"{suite}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(times_s, indent=1) + "\n")


class Traffic:
    """Pings from one guest to the other while the block runs.  None may be lost.

    ``running``: what changes if ovs-vswitchd is started again, or openvswitch.ko loaded.
    """

    def __init__(self, host, options):
        self._host = host
        self._options = options

    def __enter__(self):
        self._before = self._counts()
        self._running = self._runs()
        self._host.run(f"ip netns exec g1 ping -q {self._options} 10.0.0.2 >/run/ping 2>&1 &\n"
                       "echo $! >/run/ping.pid; sleep 2")  # fmt: skip
        return self

    def __exit__(self, kind, *_):
        self._host.run("kill -INT $(cat /run/ping.pid); sleep 1")
        if kind is not None:
            return
        after = self._counts()
        counted = {name: after[name] - self._before[name] for name in after}
        print(f"pings at both ends: {counted}")
        assert min(counted.values()) > 200
        assert len(set(counted.values())) == 1, "packets were lost"
        assert self._runs() == self._running

    def _counts(self):
        said = self._host.run(ECHOES)
        return {name: int(n) for name, n in re.findall(r"^(Icmp\w+)\s+(\d+)", said, re.M)}

    def _runs(self):
        return self._host.run(
            "cat /run/openvswitch/ovs-vswitchd.pid; stat -c %i /sys/module/openvswitch"
        )


def eventually(host, command):
    """Run a command until it succeeds: its output."""
    return host.run(f"for n in {{1..60}}; do {command} && exit; sleep 1; done; exit 1")


def enforced(host):
    """Send from the guest: state and CC of the flow."""
    host.run("ip netns exec g1 iperf3 -c 10.0.0.2 -b 20M -t 60 >/run/iperf 2>&1 & sleep 5")
    flows = json.loads(host.run("ovs-appctl tcon/flows -j br0"))["flows"]
    data = max(flows, key=lambda flow: flow["sent_bytes"])
    host.run("pkill -x -f 'iperf3 -c.*'; cat /run/iperf")
    assert data["sent_bytes"] > 100_000
    return data["state"], data["cc"]


def changed(host, before, after, but="^$"):
    """Lines in which two snapshots differ, and that do not match ``but``."""
    for what in ("diversions", "alternatives"):
        host.run(f"diff /srv/{before}.{what} /srv/{after}.{what}")
    return host.run(f"diff /srv/{before} /srv/{after} | grep '^[<>]' | grep -vE '{but}' || true")


def test_steps_1_and_2_lose_no_packet(host, readme):
    with Traffic(host, "-i 0.01"):
        with host.timed("install"):
            host.run("cd /srv/tcon\n" + readme[1][1])
        with host.timed("modprobe"):
            host.run(readme[2][0])
        with host.timed("set-cc, to the first flow seen enforced"):
            host.run("ovs-appctl tcon/set-cc br0 flow=in_port=p1 bbr")
            assert enforced(host) == ("repair-enforced", "bbr")
        host.run("ovs-appctl tcon/del-cc br0")


def test_step_3_tells_roles_and_sets_one(host, readme):
    host.run(readme[3][0].replace("veth7", "p2"))
    shown = host.run("ovs-appctl tcon/show br0")
    assert "attach: netfilter" in shown
    assert re.search(r"p1.*guest", shown)
    assert re.search(r"p2.*uplink", shown)
    assert "tcon" in host.run("dkms status")
    assert host.run("modinfo -F signer tcon").strip(), "DKMS's key"


def test_step_4_sets_rules(host, readme):
    commands, in_database = (block.replace("vnet0", "p1") for block in readme[4])
    said = host.run(commands)
    assert "bbr" in said
    host.run(in_database)
    eventually(host, f"{in_database.splitlines()[-1].partition('#')[0]} | grep applied")
    host.run("ovs-vsctl remove Bridge br0 other_config tcon-rule-wan; ovs-appctl tcon/del-cc br0")


def test_step_5_watches(host):
    host.run("ovs-appctl tcon/set-cc br0 flow=in_port=p1 bbr")
    host.run("cd /srv/tcon; apt-get install ./tcon-top_*.deb")
    host.run("ip netns exec g1 iperf3 -c 10.0.0.2 -b 1M -t 60 >/run/iperf 2>&1 & sleep 3")
    assert "10.0.0.2" in host.run("tcon-top br0 -b -n 1")
    host.run("systemctl enable --now tcon-exporter")
    page = "from urllib.request import *; print(urlopen('http://127.0.0.1:9957/metrics').read())"
    metrics = eventually(host, f'python3 -c "{page}"')
    assert "ovs_tcon_up 1.0" in metrics
    assert re.search(r'ovs_tcon_info\{.*attach="netfilter"', metrics)
    host.run("pkill -x -f 'iperf3 -c.*'")


def test_modules_go_and_come_under_load(host, readme):
    """Step 6's second line."""
    with Traffic(host, "-f -s 1000"):
        for _ in range(3):
            host.run(readme[6][0].splitlines()[1])
            assert "tcon" not in host.run("lsmod")
            host.run("modprobe tcon; sleep 2")
    eventually(host, "ovs-appctl tcon/show br0 | grep bbr")
    assert enforced(host) == ("repair-enforced", "bbr")


def test_the_patched_way_is_refused_where_it_is_not(host, readme):
    host.run(readme[6][0].splitlines()[1])
    with pytest.raises(ScriptError, match=r"could not insert 'tcon'"):
        host.run("modprobe tcon attach=openvswitch")
    assert "openvswitch.ko is not a patched one" in host.run("dmesg | tail -n 5")
    host.run("modprobe tcon")


def test_the_packages_own_test_passes(host):
    host.run("sh /srv/tcon/enforce")


def test_a_kernel_upgrade_and_a_reboot_keep_the_rules(host):
    """DKMS builds for the new kernel; Open vSwitch is upgraded, too, before the host boots."""
    before = host.run("uname -r")
    host.run("ovs-appctl tcon/set-cc br0 flow=in_port=p1 cubic")
    with host.timed("kernel upgrade"):
        host.run(UPGRADE)
    with host.timed("reboot"):
        host.reboot()
    assert host.run("uname -r") != before
    host.run("lsmod | grep -w ^tcon")
    host.run(GUESTS)
    host.run(REACHED)
    assert enforced(host) == ("repair-enforced", "cubic")


def test_another_open_vswitch_leaves_the_rules(host):
    with host.timed("upgrade of Open vSwitch"):
        host.run("apt-get install openvswitch-switch openvswitch-common")
    assert "next1" in host.run("dpkg-query -W openvswitch-switch")
    host.run(REACHED)
    assert enforced(host) == ("repair-enforced", "cubic")
    assert "ovs-vswitchd" in host.run("ovs-appctl version")
    assert not host.run("dpkg --verify openvswitch-common openvswitch-switch").strip()


def test_step_6_removes_all_and_loses_no_packet(host, readme):
    first, _, last = readme[6][0].splitlines()
    with Traffic(host, "-i 0.01"):
        host.run(first)
        with host.timed("removal"):
            host.run(f"{last}\napt-get purge tcon-top; rm /etc/modules-load.d/tcon.conf")
    assert "tcon" not in host.run("lsmod; dkms status; systemctl list-units; ovs-vsctl show")
    host.run(PURGE)
    host.run(SNAPSHOT.format(name="after"))
    assert host.run("grep -iE '(^|[^a-z])tcon' /srv/after || true") == ""
    assert changed(host, "before", "after", but=KERNELS) == ""
    assert "ovs-vswitchd" in host.run("ovs-appctl version")
    host.run("dpkg --verify openvswitch-common openvswitch-switch")


def test_the_tree_has_both_ways_and_leaves_nothing(host, readme_tree):
    """README's other way, on the host that the packages have left."""
    build, restart = readme_tree
    packages, make, _ = build.partition("make && make install")
    with host.timed("packages for the tree"):
        host.run(packages)
    host.run(SNAPSHOT.format(name="bare"))
    with host.timed("make && make install"):
        host.run(f"{IN_TREE}; {make}")

    with host.timed("ovs-vswitchd of the tree"):
        host.run("modprobe tcon; systemctl restart ovs-vswitchd")
        host.run(REACHED)
    enforce_bbr(host, "netfilter")

    with host.timed("patched openvswitch.ko"):
        host.run(restart)
        host.run(REACHED)
    enforce_bbr(host, "openvswitch")

    host.run("ovs-appctl tcon/del-cc br0")
    said = host.run(f"{IN_TREE}; make uninstall")
    host.run(SNAPSHOT.format(name="left"))
    assert changed(host, "bare", "left") == ""
    host.run("".join(re.findall(r"^  .*\n", said, re.M)))
    assert "tcon" not in host.run("lsmod; ovs-vsctl show")
    host.run(REACHED)


def enforce_bbr(host, attach):
    host.run("ovs-appctl tcon/set-cc br0 flow=in_port=p1 bbr")
    assert f"attach: {attach}" in host.run("ovs-appctl tcon/show br0")
    assert enforced(host) == ("repair-enforced", "bbr")
