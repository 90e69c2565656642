# SPDX-License-Identifier: GPL-2.0-only
"""struct tcp_info of include/uapi/linux/tcp.h, and SO_MEMINFO, by the names that scripts use."""

from __future__ import annotations

import socket
import struct

_BYTE_FIELDS = "state ca_state retransmits probes backoff options wscales app_limited"
_WORD_FIELDS = """rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent
last_ack_sent last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd
advmss reordering rcv_rtt rcv_space total_retrans"""
_REST = (
    ("Q", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
    ("I", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
    ("Q", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
    ("I", "delivered delivered_ce"),
    ("Q", "bytes_sent bytes_retrans"),
    ("I", "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash"),
    ("H", "total_rto total_rto_recoveries"),
    ("I", "total_rto_time received_ce delivered_e1_bytes delivered_e0_bytes delivered_ce_bytes"),
    ("I", "received_e1_bytes received_e0_bytes received_ce_bytes accurate_ecn"),
)
_FIELDS = (("B", _BYTE_FIELDS), ("I", _WORD_FIELDS), *_REST)
_NAMES = [name for _, names in _FIELDS for name in names.split()]
_LAYOUT = struct.Struct("=" + "".join(f"{len(names.split())}{code}" for code, names in _FIELDS))
_OPTIONS = ("TIMESTAMPS", "SACK", "WSCALE", "ECN", "ECN_SEEN", "SYN_DATA")
_CONSTANTS = {
    name: number
    for names, first in (
        ("ESTABLISHED SYN_SENT SYN_RECV FIN_WAIT1 FIN_WAIT2 TIME_WAIT CLOSE CLOSE_WAIT "
         "LAST_ACK LISTEN CLOSING", 1),
        ("CA_Open CA_Disorder CA_CWR CA_Recovery CA_Loss", 0),
    )
    for number, name in enumerate((f"TCP_{n}" for n in names.split()), first)
} | {
    f"TCPI_OPT_{name}": 1 << n
    for n, name in enumerate(_OPTIONS)
}  # fmt: skip

_SO_MEMINFO = 55
_MEMORY = (
    "RMEM_ALLOC", "RCVBUF", "WMEM_ALLOC", "SNDBUF", "FWD_ALLOC", "WMEM_QUEUED", "OPTMEM", "BACKLOG",
    "DROPS",
)  # fmt: skip


def unpack(raw: bytes) -> dict[str, int]:
    """The fields as tcpi_NAME; what an older kernel does not have is 0."""
    values = _LAYOUT.unpack(raw[: _LAYOUT.size].ljust(_LAYOUT.size, b"\0"))
    info = {f"tcpi_{name}": value for name, value in zip(_NAMES, values, strict=True)}
    scales = info.pop("tcpi_wscales")
    info |= {"tcpi_snd_wscale": scales & 15, "tcpi_rcv_wscale": scales >> 4}
    return info


def names_for_code(fd: int) -> dict[str, int]:
    """What the Python in a script may use about a socket.  Raises OSError."""
    with socket.socket(fileno=fd) as sock:
        try:
            info = unpack(sock.getsockopt(socket.SOL_TCP, socket.TCP_INFO, 512))
            raw = sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, 4 * len(_MEMORY))
            memory = zip(_MEMORY, struct.unpack(f"={len(_MEMORY)}I", raw), strict=True)
            return _CONSTANTS | info | {f"SK_MEMINFO_{name}": value for name, value in memory}
        finally:
            sock.detach()
