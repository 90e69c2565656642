# SPDX-License-Identifier: GPL-2.0-only
"""Keys: how they are read from a terminal, and what they change in a view."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator

from .history import History
from .screen import View

#: Sequences that a terminal sends for keys that are no character.
_NAMES = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"\x1b[B": "down", b"\x1bOB": "down",
    b"\x1b": "escape", b"\r": "enter", b"\n": "enter", b"\x7f": "backspace", b"\b": "backspace",
    b"\x03": "q", b"\x04": "q",
}  # fmt: skip
_SORT_KEYS = {"r": "rate", "t": "rtt", "p": "repairs", "l": "limit"}


def names(data: bytes) -> list[str]:
    """The keys in what a terminal has sent, by name or character."""
    found = []
    while data:
        size = next((n for n in (3, 1) if data[:n] in _NAMES), 0)
        if size:
            found.append(_NAMES[data[:size]])
        else:
            size = 1
            found.append(data[:1].decode("ascii", "replace"))
        data = data[size:]
    return found


class Keyboard:
    """The keys of a terminal that is in raw mode."""

    def wait(self, timeout_s: float) -> list[str]:
        """Keys that come within a time; at once when there are some."""
        if select.select([sys.stdin], [], [], max(0.0, timeout_s))[0]:
            return names(os.read(sys.stdin.fileno(), 64)) or ["q"]  # the terminal is gone
        return []


class NoKeyboard:
    """There is no terminal to read from: only time passes."""

    def wait(self, timeout_s: float) -> list[str]:
        """No keys."""
        time.sleep(max(0.0, timeout_s))
        return []


@contextlib.contextmanager
def keyboard() -> Iterator[Keyboard | NoKeyboard]:
    """The keys of standard input, each as it is pressed."""
    if not sys.stdin.isatty():
        yield NoKeyboard()
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin, termios.TCSANOW)
        mode = termios.tcgetattr(sys.stdin)
        mode[1] |= termios.OPOST  # what is drawn has plain line ends
        termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
        yield Keyboard()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _type(view: View, key: str) -> None:
    """A key while a MATCH is being typed."""
    typed = view.typing or ""
    if key == "enter":
        view.match, view.typing, view.chosen, view.complaint = typed, None, None, ""
    elif key == "escape":
        view.typing = None
    elif key == "backspace":
        view.typing = typed[:-1]
    elif len(key) == 1 and key.isprintable():
        view.typing = typed + key


def _choose(view: View, history: History, step: int) -> None:
    """Choose the flow that is step lines further down."""
    order = [flow.key for flow in history.sorted(view.sort)]
    if not order:
        return
    at = order.index(view.chosen) + step if view.chosen in order else 0
    view.chosen = order[max(0, min(at, len(order) - 1))]


def press(view: View, history: History, key: str) -> bool:
    """Do what a key asks for.  Returns whether to go on."""
    if view.typing is not None:
        _type(view, key)
    elif key == "q":
        return False
    elif key in _SORT_KEYS:
        view.sort = _SORT_KEYS[key]
    elif key in ("up", "down"):
        _choose(view, history, -1 if key == "up" else 1)
    elif key == "enter":
        if view.chosen not in history.flows:
            _choose(view, history, 0)
        view.one = not view.one
    elif key == "escape":
        view.one = False
    elif key == "/":
        view.typing = view.match
    return True
