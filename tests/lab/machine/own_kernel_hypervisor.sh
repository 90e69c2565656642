#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The hypervisor's side of test_own_kernel.py: br0 with the guest at eth0, an
# uplink to a server 20 ms away behind 20 Mbit/s, BBR enforced on the guest.
set -e
modprobe -a virtio_pci virtio_net sch_netem sch_tbf
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip netns add server
ip link add up0 type veth peer name server0 netns server
ip link set up0 up
ip link set eth0 up
ip -n server link set server0 up
ip -n server addr add 10.0.0.2/24 dev server0
ip netns exec server tc qdisc add dev server0 root netem delay 20ms limit 10000
ip netns exec server ethtool -K server0 gro off
ovs-vsctl add-br br0 -- add-port br0 eth0 -- add-port br0 up0 \
	-- set Interface eth0 other_config:tcon-role=guest \
	-- set Interface up0 other_config:tcon-role=uplink
# Open vSwitch takes the queue away that it finds on a new port.
tc qdisc add dev up0 root tbf rate 20mbit burst 3200 limit 2000000
ovs-appctl tcon/set-cc br0 flow=tcp,nw_src=10.0.0.1,tp_dst=5201 bbr
ip netns exec server iperf3 -s -1 >/dev/null 2>&1 &
# In the middle of the transfer, by bytes: the guest goes by another clock.
while kill -0 $! 2>/dev/null; do
	ovs-appctl tcon/flows -j br0 >/tmp/flows
	grep -Eq '"acked_bytes":[0-9]{7}' /tmp/flows && break
	sleep 0.1
done
cat /tmp/flows
wait
