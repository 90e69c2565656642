# SPDX-License-Identifier: GPL-2.0-only
"""Where the datapath differs from the model for a known reason."""

from __future__ import annotations

from dataclasses import dataclass

_TIMEOUT = "at a time-out all leaves that waits, whatever cwnd and the clock say"
_FALLS = "a gap, or what cannot be repaired, is a state of the flow, not of a range"
_UNSEEN = "what took another way, or passed while no rule was there, is not known"
_ACKED = "what waits leaves although the peer, to which it came by another way, has acknowledged it"
_ROOM = "where memory is short what waits leaves"
_BACKOFF = "where TCon's timer has backed off the guest's repeats pass, too"


@dataclass(frozen=True)
class Known:
    """Findings of a kind, in traces whose name begins with `where`.

    Each has to be met, so that it is deleted when it is mended; but not a `rare` one, which hangs
    on what few inputs of a fuzzer do at a time.
    """

    kind: str
    where: str
    why: str
    rare: bool = False


KNOWN = (
    Known("early at a time-out: cwnd", "", _TIMEOUT),
    Known("early at a time-out: clock", "", _TIMEOUT),
    Known("early: cwnd", "input", _ROOM, rare=True),
    Known("early: clock", "input", _ROOM, rare=True),
    Known("state: window-enforced, copy-memory", "input", _ROOM, rare=True),
    Known("again: the peer has it", "input", _ACKED, rare=True),
    Known("again, by the guest: is not lost twice", "input", _BACKOFF, rare=True),
    Known("state: window-enforced, gap", "input", _FALLS),
    Known("state: window-enforced, in-flight", "", _FALLS),
    Known("state: paced, unseen-acks", "input", _UNSEEN),
    Known("state: paced, unseen-data", "input", _UNSEEN, rare=True),
    Known("state: observed, unseen-data", "input", _UNSEEN, rare=True),
    Known("state: paced, mid-stream", "input", _UNSEEN, rare=True),
    Known("state: paced, unanswered", "input", _UNSEEN, rare=True),
    Known("state: observed, mid-stream", "input", _UNSEEN, rare=True),
    Known("state: paced, hidden", "input", _UNSEEN, rare=True),
)
