# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium without a network, driven by its DevTools protocol over a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIMEOUT_S = 120.0
#: Its pipe is on descriptors 3 (commands) and 4 (answers and events).
_SHELL = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--window-size=1400,1000", "about:blank",
)  # fmt: skip


def program() -> str | None:
    """Where a Chromium is, if there is one."""
    names = ("chromium", "chromium-headless-shell", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


class Page:
    """A page: what it asked for, what it complained about, and its JavaScript."""

    def __init__(self, send_fd: int, receive_fd: int) -> None:
        self._send_fd, self._receive_fd = send_fd, receive_fd
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=0, uploadThroughput=0)  # fmt: skip

    def _receive(self, deadline_s: float) -> dict[str, Any]:
        """The next message; messages end with a zero byte."""
        while b"\0" not in self._rest:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._receive_fd], [], [], left_s)[0]:
                raise TimeoutError("Chromium does not answer")
            chunk = os.read(self._receive_fd, 1 << 20)
            if not chunk:
                raise EOFError("Chromium has ended")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come before its answer are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send_fd, json.dumps(message).encode() + b"\0")
        deadline_s = time.monotonic() + TIMEOUT_S
        while (answer := self._receive(deadline_s)).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, file: Path) -> None:
        """Load a file and wait until its scripts have run."""
        self.events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        deadline_s = time.monotonic() + TIMEOUT_S
        while not self.said("Page.loadEventFired"):
            self.events.append(self._receive(deadline_s))

    def said(self, method: str) -> list[dict[str, Any]]:
        """The parameters of a kind's events so far."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def run(self, expression: str) -> Any:
        """The value of JavaScript; of a promise, what it resolves to."""
        done = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def click(self, selector: str) -> None:
        """Press the mouse where an element is."""
        at = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center'});"
            "const r = e.getBoundingClientRect();"
            "return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, key: str) -> None:
        """Press a key where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def complaints(self) -> list[str]:
        """Errors and warnings of scripts and of the browser."""
        found = [p["exceptionDetails"]["text"] for p in self.said("Runtime.exceptionThrown")]
        found += [
            str([argument.get("value", argument.get("description")) for argument in p["args"]])
            for p in self.said("Runtime.consoleAPICalled")
            if p["type"] in ("error", "warning", "assert")
        ]
        return found + [
            p["entry"]["text"]
            for p in self.said("Log.entryAdded")
            if p["entry"]["level"] == "error"
        ]

    def requested(self) -> list[str]:
        """Addresses that the page asked for."""
        return [p["request"]["url"] for p in self.said("Network.requestWillBeSent")]


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """A browser with one page, which ends with the block."""
    command = program()
    assert command is not None, "there is no chromium: tools/install-deps installs it"
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["bash", "-c", _SHELL, "bash", str(their_in), str(their_out), command,
             f"--user-data-dir={profile}", *_OPTIONS],
            pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        try:
            yield Page(our_out, our_in)
        finally:
            os.close(our_out)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(our_in)
