# SPDX-License-Identifier: GPL-2.0-only
"""The interpreter finds what is not as a script has it: without that, silence would say nothing."""

from __future__ import annotations

import pytest
from place import Place
from shell import Shell
from test_scripts import ending

GOOD = """`./defaults.sh`
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
 +0...0.1 connect(3, ..., ...) = 0
 +0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>
 +.1 < S. 7:7(0) ack 1 win 65535 <mss 1460,sackOK,nop,nop,nop,wscale 7>
 +0 > . 1:1(0) ack 1
 +0 write(3, ..., 1000) = 1000
 +0 > P. 1:1001(1000) ack 1
 +0 %{ assert tcpi_unacked == 1, tcpi_unacked }%
 +.3~+.33 > P. 1:1001(1000) ack 1
 +0 < . 1:101(100) ack 1001 win 257
 +0 > [noecn] . 1001:1001(0) ack 101 <...>
 +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
 +0 read(3, ..., 500) = 100
 +0 read(3, ..., 500) = -1 EAGAIN (Resource temporarily unavailable)
 +0 `true`
"""
WRONG = [
    (3, "0.1 connect", "0.2 connect", "return"),
    (4, "mss 1460", "mss 1440", "options"),
    (4, "wscale 8", "wscale 8,nop,nop,nop,nop", "options"),
    (8, "+0 > P.", "+.02 > P.", "time"),
    (8, "> P.", "> .", "flags"),
    (8, "> P.", "> PE.", "ecn flags"),
    (8, "1:1001(1000) ack 1", "2:1002(1000) ack 1", "seq"),
    (8, "ack 1", "ack 2", "ack"),
    (8, "1:1001(1000)", "1:901(900)", "size"),
    (9, "== 1", "== 2", "code"),
    (10, "+.3~+.33", "+.4~+.5", "time"),
    (12, "[noecn]", "[ect0]", "ecn"),
    (12, "ack 101", "ack 101 win 1", "window"),
    (12, "> [noecn] . ", "> [noecn] U. ", "flags"),
    (14, "= 100", "= 500", "result"),
    (15, "EAGAIN", "EPIPE", "errno"),
    (16, "`true`", "`false`", "command"),
    (16, "`true`", "> . 1001:1001(0) ack 101", "no packet"),
]


def test_a_script_that_is_right(place: Place, shell: Shell) -> None:
    assert ending(GOOD, place, shell) is None


@pytest.mark.parametrize(("line", "right", "wrong", "what"), WRONG)
def test_what_is_wrong_is_found_in_its_line(
    place: Place, shell: Shell, line: int, right: str, wrong: str, what: str
) -> None:
    lines = GOOD.splitlines()
    assert right in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(right, wrong)
    found = ending("\n".join(lines), place, shell)
    assert found is not None
    assert (found.line, found.what) == (line, what), str(found)


def test_a_call_that_does_not_return(place: Place, shell: Shell) -> None:
    """In a script that a rule has taken another way it must not hold up those that follow."""
    blocking = GOOD.replace("fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0", "read(3, ..., 100) = 100")
    found = ending(blocking, place, shell)
    assert found is not None
    assert (found.line, found.what) == (14, "result")
