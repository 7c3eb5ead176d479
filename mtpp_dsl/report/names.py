"""Lists of names for people: families folded, long lists shortened in the middle."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["fold_names"]

_INSTANCE = re.compile(r"\[(\d+)\](?=\.)")
_MEMBER = re.compile(r"(.*)\[(\d+)\]")


def fold_names(names: Sequence[str], most: int | None = 6) -> str:
    """Return names with runs of a family folded, and the middle left out where there are more than *most*.

    >>> fold_names(["embed", "attn[0]", "attn[1]", "attn[2]", "mlp[0]"])
    'embed, attn[0..2], mlp[0]'
    >>> fold_names(["a", "b", "c", "d", "e[0]", "e[1]", "f"], most=4)
    'a, b, … 2 more …, e[0..1], f'
    >>> fold_names([f"layer[{i}].{x}" for i in (0, 1, 2) for x in ("norm", "head[0]", "head[1]")])
    'layer[0..2].norm, layer[0..2].head[0..1]'
    """
    families: dict[str, list[int]] = {}
    for name in names:
        match = _MEMBER.fullmatch(name)
        families.setdefault(match[1] if match else name, []).append(int(match[2]) if match else -1)
    parts: list[tuple[str, int]] = []
    for base, numbers in families.items():
        if numbers == [-1]:
            parts.append((base, 1))
        else:
            parts += [(f"{base}[{run}]", count) for run, count in _runs(sorted(numbers))]
    for depth in reversed(range(max((len(_INSTANCE.findall(name)) for name, _ in parts), default=0))):
        parts = _folded(parts, depth)
    if most is None or len(parts) <= most + 1:
        return ", ".join(name for name, _ in parts)
    half = most // 2
    more = f"… {sum(count for _, count in parts[half:-half])} more …"
    return ", ".join([*(name for name, _ in parts[:half]), more, *(name for name, _ in parts[-half:])])


def _folded(parts: list[tuple[str, int]], depth: int) -> list[tuple[str, int]]:
    """Return parts with runs of instances of a block folded: those that differ in the subscript at *depth* alone."""
    groups: dict[tuple[str, str], dict[int, int]] = {}
    for name, count in parts:
        found = list(_INSTANCE.finditer(name))
        key, number = ((name, ""), -1)
        if depth < len(found):
            at = found[depth]
            key, number = (name[: at.start()], name[at.end() :]), int(at[1])
        groups.setdefault(key, {})[number] = count
    folded: list[tuple[str, int]] = []
    for (before, after), counts in groups.items():
        if -1 in counts:
            folded.append((before, counts[-1]))
            continue
        numbers = sorted(counts)
        for run, length in _runs(numbers):
            folded.append((f"{before}[{run}]{after}", sum(counts[number] for number in numbers[:length])))
            numbers = numbers[length:]
    return folded


def _runs(numbers: list[int]) -> list[tuple[str, int]]:
    """Return runs of numbers as they are written, with how many are in each."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [(f"{run[0]}..{run[-1]}" if len(run) > 1 else f"{run[0]}", len(run)) for run in runs]
