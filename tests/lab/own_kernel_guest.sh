#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's side of test_own_kernel.py: an ordinary machine with CUBIC.
set -e
modprobe -a virtio_pci virtio_net
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip addr add 10.0.0.1/24 dev eth0
ip link set eth0 up
for _ in $(seq 600); do
	ping -c 1 -W 1 10.0.0.2 >/dev/null 2>&1 && break
done
# iperf3 -J exits with 0 even where nobody listens yet.
for _ in $(seq 60); do
	iperf3 -c 10.0.0.2 -C cubic -t 10 -J >/tmp/report && grep -q sum_received /tmp/report && break
	sleep 0.5
done
cat /tmp/report
