# SPDX-License-Identifier: GPL-2.0-only
"""The command tcon-top."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console, RenderableType
from rich.live import Live

from .history import SORTS, History
from .keys import Keyboard, NoKeyboard, keyboard, press
from .screen import View, screen
from .source import Appctl, Recording, Source, SourceError

#: Flows that are asked for, and the most that can be.
LIMIT, MOST = 1000, 2**32 - 1


class _Parser(argparse.ArgumentParser):
    """One whose complaint is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.exit(2, f"{self.prog}: {message}\n")


def _number(kind: type, low: float, high: float, what: str) -> Callable[[str], Any]:
    """Reads a number from low to high."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
        return value

    return read


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    interval = _number(float, 0.1, 3600, "between 0.1 and 3600 seconds")
    count = _number(int, 1, MOST, f"a whole number from 1 to {MOST}")
    parser = _Parser(prog="tcon-top", description="TCon's flows, live.")
    parser.add_argument("bridge", nargs="?", help="the bridge, such as br0")
    parser.add_argument("match", nargs="?", default="", metavar="MATCH",
                        help="only these flows; as in tcon/flows br0 flow=MATCH")  # fmt: skip
    parser.add_argument("-s", "--sort", choices=SORTS, default="rate", help="what comes first")
    parser.add_argument("-d", "--delay", type=interval, default=1.0, metavar="S",
                        help="seconds between two looks (1)")  # fmt: skip
    parser.add_argument(
        "-n", "--iterations", type=count, metavar="N", help="look N times, then end"
    )
    parser.add_argument("-l", "--limit", type=count, default=LIMIT, metavar="N",
                        help=f"look at N flows at most ({LIMIT})")  # fmt: skip
    parser.add_argument("-b", "--batch", action="store_true",
                        help="print each look below the one before")  # fmt: skip
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write what is seen to FILE, too"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="show what FILE has")
    found = parser.parse_args(words)
    if bool(found.bridge) == bool(found.replay):
        parser.error("name either a bridge or a file to --replay")
    if found.replay and (found.record or found.match):
        parser.error("a file that is replayed has its own flows: no MATCH and no --record")
    return found


def _source(asked: argparse.Namespace, open_files: contextlib.ExitStack) -> Source:
    if asked.replay:
        return Recording(asked.replay)
    return open_files.enter_context(
        contextlib.closing(Appctl(asked.bridge, asked.limit, asked.record))
    )


class Top:
    """Asks, keeps what was said, and draws it."""

    def __init__(self, source: Source, view: View, console: Console) -> None:
        self.source, self.view, self.console = source, view, console
        self.history = History()

    def look(self) -> bool:
        """Ask once; False: there is nothing more to come.

        An error is shown on the screen, unless nothing was seen yet (SourceError): a daemon
        that restarts will answer again.
        """
        try:
            answer = self.source.ask(self.view.match)
        except SourceError as error:
            if not self.history.time_s:
                raise
            self.view.complaint = str(error)
            return True
        if not answer:
            return False
        self.view.complaint = ""
        self.history.add(answer)
        return True

    def drawing(self) -> RenderableType:
        """The screen as it is now."""
        return screen(self.history, self.view, self.console.width, self.console.height)

    def keys_for(self, keys: Keyboard | NoKeyboard, live: Live, until_s: float) -> bool:
        """Obey keys until it is time for the next look.  Returns whether to go on."""
        while (left_s := until_s - time.monotonic()) > 0:
            match = self.view.match
            for key in keys.wait(left_s):
                if not press(self.view, self.history, key):
                    return False
            live.update(self.drawing(), refresh=True)
            if self.view.match != match:
                break
        return True


def _batch(top: Top, delay_s: float, times: int | None, wait: bool) -> None:
    """Print what each look saw."""
    looked = 0
    while top.look():
        top.console.print(top.drawing())
        looked += 1
        if looked == times:
            return
        if wait:
            time.sleep(delay_s)


def _live(top: Top, delay_s: float, times: int | None) -> None:
    """Draw on the whole screen until the user has seen enough."""
    top.look()
    looked = 1
    with (
        keyboard() as keys,
        Live(top.drawing(), console=top.console, screen=True, auto_refresh=False) as live,
    ):
        while looked != times and top.keys_for(keys, live, time.monotonic() + delay_s):
            top.look()
            live.update(top.drawing(), refresh=True)
            looked += 1


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    asked = _arguments(words)
    view = View(asked.bridge or str(asked.replay), asked.sort, asked.match)
    console = Console(highlight=False, markup=False)
    # The terminal is put back whoever ends it.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with contextlib.ExitStack() as open_files:
        try:
            top = Top(_source(asked, open_files), view, console)
            if asked.batch or not console.is_terminal:
                _batch(top, asked.delay, asked.iterations, wait=not asked.replay)
            else:
                _live(top, asked.delay, asked.iterations)
        except SourceError as error:
            print(f"tcon-top: {error}", file=sys.stderr)
            return 1
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 128 + signal.SIGPIPE
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"tcon-top: output: {error.strerror}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
