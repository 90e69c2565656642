# SPDX-License-Identifier: GPL-2.0-only
"""The last lines of a run with failures: the host's commands that repeat just those tests."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

import pytest


def command(start: str, test: str) -> str:
    """``start`` ends with the target.  The Makefile puts TESTS between single quotes, for bash."""
    if re.search(r"[^\w./:\[\]=,+-]", test):
        test = '"' + re.sub(r'(["$`\\])', r"\\\1", test) + '"'
    test = test.replace("'", "'\\''").replace("$", "$$")
    return f"{start} {shlex.quote(f'TESTS={test}')}"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """With TCON_REPEAT, what to type before TESTS."""
    yield
    start = os.environ.get("TCON_REPEAT")
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    if not start or not failed:
        return
    terminalreporter.write_line("to repeat:")
    for test in dict.fromkeys(report.nodeid for report in failed):
        terminalreporter.write_line(command(start, test))
