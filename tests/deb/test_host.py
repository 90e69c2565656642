# SPDX-License-Identifier: GPL-2.0-only
"""The life of TCon's packages on a host: README's steps, upgrades, a reboot, removal.

The tests are one story, in this order: each goes on where the one before ended.
"""

import json
import re
import time

import pytest
from host import Host

#: Two guests on br0; the second stands for what is behind an uplink.  Devices of guests do
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
BRIDGE = """
ovs-vsctl add-br br0 -- add-port br0 p1 \
    -- add-port br0 p2 -- set Interface p2 other_config:tcon-role=uplink
"""
REACHED = "ip netns exec g1 ping -q -c 1 -w 20 10.0.0.2"
PING = "ip netns exec g1 ping -q -i 0.05 10.0.0.2 >/run/ping 2>&1 & echo $! >/run/ping.pid"
PING_END = "kill -INT $(cat /run/ping.pid); sleep 1; cat /run/ping"
RULE = "flow=in_port=p1"


@pytest.fixture(scope="module")
def host(tmp_path_factory, packages, another_ovs):
    folder = tmp_path_factory.mktemp("host")
    files = {f"{name}.deb": path for name, path in another_ovs.items()}
    files |= {packages[name].name: packages[name] for name in ("tcon-dkms", "tcon-switch")}
    made = Host(folder, files)
    try:
        made.boot()
        made.run(GUESTS)
        made.run(BRIDGE)
        made.run(REACHED)
        made.run(SNAPSHOT.format(name="before"))
        yield made
    except BaseException:
        print((folder / "console").read_text(errors="replace")[-3000:])
        raise
    finally:
        made.close()


#: What is on the host, without what changes by itself.
SNAPSHOT = """
find / -xdev \\( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log \\
    -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd \\
    -o -path /var/tmp -o -path /root -o -path /srv \\) -prune -o -print | sort >/srv/{name}
dpkg-divert --list | sort >/srv/{name}.diversions
update-alternatives --get-selections >/srv/{name}.alternatives
"""


def lost(report):
    sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", report).groups()
    assert int(sent) > 100
    return int(sent) - int(received)


def enforced(host):
    """Send from the guest: the state of the flow, and its CC."""
    host.run("ip netns exec g1 iperf3 -c 10.0.0.2 -t 30 >/run/iperf 2>&1 & sleep 5")
    flows = json.loads(host.run("ovs-appctl tcon/flows -j br0"))["flows"]
    data = max(flows, key=lambda flow: flow["sent_bytes"])
    host.run("pkill -x -f 'iperf3 -c.*' || true")
    assert data["sent_bytes"] > 100_000
    return data["state"], data["cc"]


def daemon(host):
    return host.run("cat /run/openvswitch/ovs-vswitchd.pid; cat /sys/module/openvswitch/srcversion")


def test_it_is_installed_under_traffic(host, readme):
    running = daemon(host)
    host.run(PING)
    start = time.monotonic()
    host.run("cd /srv/tcon\n" + readme[1][1])
    installed = time.monotonic()
    host.run(readme[2][0])
    host.run(f"ovs-appctl tcon/set-cc br0 {RULE} bbr")
    assert enforced(host) == ("repair-enforced", "bbr")
    print(f"installed in {installed - start:.0f} s, enforced {time.monotonic() - installed:.0f} s "
          "later, on an emulated host")  # fmt: skip
    assert lost(host.run(PING_END)) == 0
    assert daemon(host) == running, "neither was restarted"


def test_its_state_is_told(host):
    shown = host.run("ovs-appctl tcon/show br0")
    assert re.search(r"attach: *netfilter", shown)
    assert re.search(r"p1.*guest", shown)
    assert re.search(r"p2.*uplink", shown)
    assert "tcon" in host.run("dkms status")
    assert host.run("modinfo -F signer tcon").strip(), "DKMS's key"


def test_readmes_rules(host, readme):
    """Step 4 as it stands, with the port that there is."""
    commands = readme[4][0].replace("vnet0", "p1")
    host.run(commands)
    assert "bbr" in host.run("ovs-appctl tcon/show br0")
    host.run("ovs-appctl tcon/del-cc br0")


def test_a_new_kernel_has_the_modules(host):
    before = host.run("uname -r")
    host.run("apt-get update && apt-get install linux-image-amd64")
    host.reboot()
    assert host.run("uname -r") != before
    host.run("lsmod | grep -w ^tcon")
    host.run(GUESTS)
    host.run(REACHED)
    host.run(f"ovs-appctl tcon/set-cc br0 {RULE} cubic")
    assert enforced(host) == ("repair-enforced", "cubic")


def test_another_open_vswitch(host):
    """The commands do not depend on its version, and what was diverted is the new one's."""
    host.run("apt-get install /srv/tcon/openvswitch-*.deb")
    assert "next1" in host.run("dpkg-query -W openvswitch-switch")
    host.run(REACHED)
    assert "cubic" in host.run("ovs-appctl tcon/show br0")
    assert enforced(host) == ("repair-enforced", "cubic")
    host.run("ovs-appctl version | grep ovs-vswitchd")
    assert not host.run("dpkg --verify openvswitch-common openvswitch-switch").strip()


def test_it_is_removed_under_traffic(host, readme):
    """Step 6's last line: the host is as it was."""
    running = daemon(host)
    host.run(PING)
    host.run(readme[6][0].splitlines()[-1])
    host.run("rm /etc/modules-load.d/tcon.conf")
    assert lost(host.run(PING_END)) == 0
    assert daemon(host) == running
    assert "tcon" not in host.run("lsmod; dkms status; systemctl list-units --all")
    host.run(SNAPSHOT.format(name="after"))
    for what in ("diversions", "alternatives"):
        host.run(f"diff /srv/before.{what} /srv/after.{what}")
    kernels = r"6\.1\.0-[0-9]+|linux-(image|headers)-amd64|/boot/"  # was upgraded meanwhile
    changed = host.run(f"diff /srv/before /srv/after | grep '^[<>]' | grep -vE '{kernels}' || true")
    assert changed == ""
    host.run("ovs-appctl version | grep ovs-vswitchd")
    host.run("dpkg --verify openvswitch-common openvswitch-switch")
