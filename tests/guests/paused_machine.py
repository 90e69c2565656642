# SPDX-License-Identifier: GPL-2.0-only
"""The hypervisor's side of test_machines.py: a guest with a kernel of its own on br0, a
server 20 ms away behind 20 Mbit/s, BBR enforced on what the guest sends.

The guest is stopped for 0.1, 1 and 10 s of that.  What is known then goes out as JSON.
"""

import hashlib
import json
import random
import subprocess
import time
from pathlib import Path

from tcon_lab import machines
from tcon_lab.ovs import appctl

SIZE_BYTES = 12_000_000
PAUSES_S = (0.1, 1, 10)

NETWORK = """
modprobe -a veth sch_netem sch_tbf
ip netns add server
ip link add up0 type veth peer name server0 netns server
ip link set up0 up
ethtool -K up0 tso off >/dev/null
ip -n server link set server0 up
ip -n server addr add 10.0.0.2/24 dev server0
ip netns exec server tc qdisc add dev server0 root netem delay 20ms limit 10000
ovs-vsctl add-br br0 -- add-port br0 up0 -- add-port br0 br0-h1 \
    -- set Interface up0 other_config:tcon-role=uplink
# Open vSwitch takes the queue away that it finds on a new port.
tc qdisc add dev up0 root tbf rate 20mbit burst 3200 limit 100000
ovs-appctl tcon/set-cc br0 flow=tcp,in_port=br0-h1 bbr
"""

SERVE = """
import hashlib, socket
with socket.create_server(("10.0.0.2", 5201)) as server:
    print(flush=True)
    data, _ = server.accept()
    digest = hashlib.sha256()
    while chunk := data.recv(1 << 18):
        digest.update(chunk)
    print(digest.hexdigest())
"""

SEND = f"""
import random, socket
with socket.create_connection(("10.0.0.2", 5201)) as data:
    data.sendall(random.Random(1).randbytes({SIZE_BYTES}))
"""


def flow() -> dict:
    """What TCon knows of the guest's half of the connection."""
    flows = json.loads(appctl("tcon/flows", "-j", "br0"))["flows"]
    return next((f for f in flows if f["dst"] == "10.0.0.2"), {"acked_bytes": 0})


def wait_for_more(more_bytes: int, sender: subprocess.Popen) -> dict:
    """Until so many bytes more have been acknowledged; the flow then."""
    wanted = flow()["acked_bytes"] + more_bytes
    while (now := flow())["acked_bytes"] < wanted:
        assert sender.poll() is None, sender.communicate()
        time.sleep(0.1)
    return now


def main() -> None:
    """Send, pause, tell."""
    guest = machines.VirtualMachine("h1", "br0-h1", "02:00:00:01:00:01", 1)
    subprocess.run(["bash", "-ec", NETWORK], check=True)
    machines.wait_for([guest])
    assert not guest.popen(["ip", "addr", "add", "10.0.0.1/24", "dev", "h1-eth0"]).wait()
    serve = ["ip", "netns", "exec", "server", "python3", "-c", SERVE]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    sender = guest.popen(["python3", "-c", SEND])
    wait_for_more(1_000_000, sender)
    resumed = []
    for pause_s in PAUSES_S:
        guest.pause(pause_s)
        resumed.append({"pause_s": pause_s, **wait_for_more(1_000_000, sender)})
    received = server.communicate()[0].strip()
    tap = Path("/sys/class/net/br0-h1/statistics")
    sent = hashlib.sha256(random.Random(1).randbytes(SIZE_BYTES)).hexdigest()
    told = {
        "status": sender.wait(),
        "same_bytes": received == sent,
        "resumed": resumed,
        "kernels": [guest.popen(["uname", "-r"]).communicate()[0].decode().strip(),
                    Path("/proc/sys/kernel/osrelease").read_text().strip()],
        "bytes_per_packet": int((tap / "rx_bytes").read_text())
        / int((tap / "rx_packets").read_text()),
    }  # fmt: skip
    print(json.dumps(told))


main()
