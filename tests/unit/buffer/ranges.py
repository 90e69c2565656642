# SPDX-License-Identifier: GPL-2.0-only
"""Sets of whole numbers, kept as ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Ranges:
    """Numbers start .. end - 1 of each range; they are disjoint, in order, and do not touch."""

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self.pairs: list[tuple[int, int]] = []
        for start, end in pairs:
            self.add(start, end)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def add(self, start: int, end: int) -> None:
        if start >= end:
            return
        if not self.pairs or start > self.pairs[-1][1]:
            self.pairs.append((start, end))
            return
        apart = [pair for pair in self.pairs if pair[1] < start or pair[0] > end]
        near = [pair for pair in self.pairs if pair[1] >= start and pair[0] <= end]
        apart.append((min([start, *(a for a, _ in near)]), max([end, *(b for _, b in near)])))
        self.pairs = sorted(apart)

    def remove(self, start: int, end: int) -> None:
        kept = [(a, min(b, start)) for a, b in self.pairs] + [
            (max(a, end), b) for a, b in self.pairs
        ]
        self.pairs = sorted(pair for pair in kept if pair[0] < pair[1])

    def common(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of it that are in start .. end - 1."""
        cut = ((max(a, start), min(b, end)) for a, b in self.pairs)
        return [pair for pair in cut if pair[0] < pair[1]]

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of start .. end - 1 that it lacks."""
        rest = Ranges([(start, end)])
        for a, b in self.common(start, end):
            rest.remove(a, b)
        return rest.pairs

    def size(self, start: int, end: int) -> int:
        return sum(b - a for a, b in self.common(start, end))
