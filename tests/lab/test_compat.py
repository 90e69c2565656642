# SPDX-License-Identifier: GPL-2.0-only
"""What Kbuild finds in a kernel's headers, for tcon/compat.h."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]

#: Declarations as kernels have them: the header, before and after the change.
DECLARATIONS = {
    "SKBUFF_REF": ("linux/skbuff_ref.h", None, "#ifndef _LINUX_SKBUFF_REF_H"),
    "GSO_ACCECN": (
        "linux/skbuff.h",
        "	SKB_GSO_FRAGLIST = 1 << 18,",
        "	SKB_GSO_TCP_ACCECN = 1 << 19,",
    ),
    "LINUX_UNALIGNED": ("linux/unaligned.h", None, "#ifndef __LINUX_UNALIGNED_H"),
    "HRTIMER_SETUP": (
        "linux/hrtimer.h",
        "extern void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode m);",
        "extern void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(",
    ),
    "TIMER_DELETE_SYNC": (
        "linux/timer.h",
        "extern int del_timer_sync(struct timer_list *timer);",
        "extern int timer_delete_sync(struct timer_list *timer);",
    ),
    "SYSTEM_DFL_WQ": (
        "linux/workqueue.h",
        "extern struct workqueue_struct *system_unbound_wq;",
        "extern struct workqueue_struct *system_dfl_wq;",
    ),
    "GENL_SPLIT_OPS": (
        "net/genetlink.h",
        "int (*pre_doit)(const struct genl_ops *ops,",
        "int (*pre_doit)(const struct genl_split_ops *ops,",
    ),
    "GENL_INFO_DUMP": (
        "net/genetlink.h",
        "static inline const struct genl_dumpit_info *genl_dumpit_info(",
        "genl_info_dump(struct netlink_callback *cb)",
    ),
    "CONG_CONTROL_ACK": (
        "net/tcp.h",
        "void (*cong_control)(struct sock *sk, const struct rate_sample *rs);",
        "void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);",
    ),
    "TCP_ECN_MODES": (
        "net/tcp.h",
        "#define\tTCP_ECN_OK\t\t1",
        "#define\tTCP_ECN_MODE_RFC3168\tBIT(0)",
    ),
    "SEND_CHECK": (
        "net/inet_connection_sock.h",
        "int (*queue_xmit)(struct sock *sk, struct sk_buff *skb, struct flowi *fl);",
        "void (*send_check)(struct sock *sk, struct sk_buff *skb);",
    ),
}


def found(tree: Path) -> set[str]:
    """The features that Kbuild finds in a kernel tree."""
    makefile = (
        f"CONFIG_64BIT := y\nsrctree := {tree}\nsrc := .\n"
        f"include {TOP}/Kbuild\nall:\n\t@echo $(ccflags-y)\n"
    )
    run = subprocess.run(
        ["make", "-s", "-f", "-", "all"], input=makefile, capture_output=True, text=True, check=True
    )
    return set(re.findall(r"-DTCON_HAS_(\w+)", run.stdout))


@pytest.mark.parametrize("after", [False, True])
def test_what_headers_say_is_found(tmp_path: Path, after: bool) -> None:
    for header, *declarations in DECLARATIONS.values():
        file = tmp_path / "include" / header
        file.parent.mkdir(parents=True, exist_ok=True)
        if declaration := declarations[after]:
            with file.open("a") as text:
                text.write(f"\t{declaration}\n")
    assert found(tmp_path) == (set(DECLARATIONS) if after else set())


def test_each_feature_that_is_asked_for_is_looked_for() -> None:
    compat = (TOP / "datapath/include/tcon/compat.h").read_text()
    assert set(re.findall(r"#ifdef TCON_HAS_(\w+)", compat)) == set(DECLARATIONS)
