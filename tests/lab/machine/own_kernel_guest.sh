#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's side of test_own_kernel.py: an ordinary machine with CUBIC.
set -e
modprobe -a virtio_pci virtio_net
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip addr add 10.0.0.1/24 dev eth0
ip link set eth0 up
# iperf3 -J exits with 0 even where nobody listens yet.
until iperf3 -c 10.0.0.2 -C cubic -n 20M -J >/tmp/report && grep -q sum_received /tmp/report; do
	sleep 0.5
done
cat /tmp/report
