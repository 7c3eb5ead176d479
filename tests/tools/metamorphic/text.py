"""A spec as lines, one statement a line, and what relations change in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Spec"]

_TIME = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) s\b")
_RATE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) GB/s")
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) GB\b(?!/)")
_MEMBERS = re.compile(r'"layer\[\d+\]"|(?<![\w"])[vd]\d+\b')


@dataclass(frozen=True)
class Spec:
    """A spec, a statement or an item of the graph on each line; nodes are called v0, v1, …, devices d0, d1, …."""

    lines: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Spec:
        """Return the spec of a text that has a statement on each line, without its comments."""
        return cls(tuple(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")))

    @property
    def text(self) -> str:
        """The text, as mtpp reads it."""
        return "\n".join(self.lines) + "\n"

    def starting(self, *words: str) -> list[int]:
        """Return the numbers of the lines that begin with one of these words."""
        return [i for i, line in enumerate(self.lines) if line.startswith(tuple(f"{word} " for word in words))]

    def names(self, kind: str) -> list[str]:
        """Return the names of all nodes, or of all devices, in their order: *kind* is ``node`` or ``device``."""
        return [self.lines[i].split()[1] for i in self.starting(kind)]

    def has(self, *words: str) -> bool:
        """Return whether any of these texts stands in the spec."""
        return any(word in line for word in words for line in self.lines)

    def with_line(self, line: str) -> Spec:
        """Return the spec with one statement more, the last."""
        return Spec((*self.lines, line))

    def without(self, *numbers: int) -> Spec:
        """Return the spec without the lines of these numbers."""
        return Spec(tuple(line for i, line in enumerate(self.lines) if i not in numbers))

    def replaced(self, number: int, line: str) -> Spec:
        """Return the spec with another line in the place of one."""
        return Spec((*self.lines[:number], line, *self.lines[number + 1 :]))

    def renamed(self, names: Mapping[str, str]) -> Spec:
        """Return the spec with other names of nodes and devices."""
        return Spec(tuple(_MEMBERS.sub(lambda m: names.get(m[0], m[0]), line) for line in self.lines))

    def scaled(self, factor: str) -> Spec:
        """Return the spec with all times multiplied by a factor, and all rates divided by it."""
        lines = (_by(_TIME, line, lambda x: x * Decimal(factor), "s") for line in self.lines)
        return Spec(tuple(_by(_RATE, line, lambda x: x / Decimal(factor), "GB/s") for line in lines))

    def resized(self, factor: str) -> Spec:
        """Return the spec with all sizes and all rates multiplied by a factor."""
        lines = (_by(_SIZE, line, lambda x: x * Decimal(factor), "GB") for line in self.lines)
        return Spec(tuple(_by(_RATE, line, lambda x: x * Decimal(factor), "GB/s") for line in lines))


def _by(pattern: re.Pattern[str], line: str, change: Callable[[Decimal], Decimal], unit: str) -> str:
    return pattern.sub(lambda match: f"{change(Decimal(match[1])).normalize():f} {unit}", line)
