# SPDX-License-Identifier: GPL-2.0-only
"""What a script expects and does not get: the first of it ends the script."""

from __future__ import annotations


class Difference(Exception):  # noqa: N818 (it is a finding, not a fault)
    """``what``: a field or a kind, as in the table.  ``line``: of the script, 0 before events."""

    def __init__(self, what: str, detail: str, line: int = 0) -> None:
        super().__init__(detail)
        self.what, self.detail, self.line = what, detail, line

    def __str__(self) -> str:
        return f"line {self.line}, {self.what}: {self.detail}"
