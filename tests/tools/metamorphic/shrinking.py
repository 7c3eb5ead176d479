"""A failing spec made small: statements, nodes, devices, options and numbers that the failure does not need go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from time import monotonic

from tests.tools.metamorphic.text import Spec

__all__ = ["shrunk"]

_OPTION = re.compile(r"[^,()]+ = (?:\[[^\]]*\]|\{[^}]*\}|[^,()\[\]{}]+)")
_NUMBER = re.compile(r"(?<![\w.\[])\d+(?:\.\d+)?(?![\w.\]])")


def shrunk(spec: Spec, fails: Callable[[Spec], bool], seconds: float = 120.0) -> Spec:
    """Return the smallest spec that still fails and is reached by leaving out or rounding one thing after another.

    Args:
        spec: fails.
        fails: whether a spec fails in the same way; of one that cannot be read, false.
        seconds: no change is tried after these.
    """
    until, again = monotonic() + seconds, True
    while again:
        again = False
        for step in (_halves, _without_members, _without_lines, _without_options, _rounded):
            spec, changed = _walked(spec, step, fails, until)
            again |= changed
        if monotonic() > until:
            break
    return spec


def _walked(
    spec: Spec, step: Callable[[Spec], Iterator[Spec]], fails: Callable[[Spec], bool], until: float
) -> tuple[Spec, bool]:
    """Take all changes of one kind that keep the failure; return the spec, and whether there was one."""
    changed, again = False, True
    while again:
        again = False
        for smaller in step(spec):
            if monotonic() > until:
                return spec, changed
            if smaller != spec and fails(smaller):
                spec, changed, again = smaller, True, True
                break
    return spec, changed


def _without(spec: Spec, names: set[str]) -> Spec:
    """Return the spec without these nodes and devices, and without every line and list item that names them."""
    lines = []
    for line in spec.lines:
        words = line.split()
        if words[0] in ("node", "device", "edge", "link") and names & {word.rstrip(",") for word in words[1:4]}:
            continue
        for name in names:
            line = re.sub(rf"{re.escape(name)}(?![\w\]]), |, {re.escape(name)}(?![\w\]])", "", line)
        if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) for name in names):
            lines.append(line)
    return Spec(tuple(lines))


def _halves(spec: Spec) -> Iterator[Spec]:
    nodes = spec.names("node")
    part = len(nodes) // 2
    while part > 1:
        for at in range(0, len(nodes), part):
            yield _without(spec, set(nodes[at : at + part]))
        part //= 2


def _without_members(spec: Spec) -> Iterator[Spec]:
    for kind in ("node", "device"):
        names = spec.names(kind)
        if len(names) > 1:
            for name in reversed(names):
                yield _without(spec, {name})


def _without_lines(spec: Spec) -> Iterator[Spec]:
    for at in reversed(spec.starting("edge", "link", "time", "constraint", "target", "switch")):
        yield spec.without(at)


def _without_options(spec: Spec) -> Iterator[Spec]:
    for at, line in enumerate(spec.lines):
        head, bracket, rest = line.partition(" (")
        if not bracket or (line.startswith("constraint") and ":" in line) or not rest.endswith(")"):
            continue
        options = _OPTION.findall(rest[:-1])
        for one in range(len(options)):
            left = ", ".join(text.strip() for i, text in enumerate(options) if i != one)
            yield spec.replaced(at, f"{head} ({left})" if left else head)


def _rounded(spec: Spec) -> Iterator[Spec]:
    for at, line in enumerate(spec.lines):
        for match in _NUMBER.finditer(line):
            for number in ("0", "1", "2", str(round(float(match[0])))):
                if number != match[0] and (float(number) < float(match[0]) or "." in match[0]):
                    yield spec.replaced(at, line[: match.start()] + number + line[match.end() :])
