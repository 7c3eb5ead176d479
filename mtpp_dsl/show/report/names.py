"""Lists of names for people: families folded, long lists shortened in the middle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_INSTANCE = re.compile(r"\[(\d+)\](?=\.)")
_MEMBER = re.compile(r"(.*)\[(\d+)\]")
_SEPARATOR = re.compile(r"(?<=[^./])[./](?=[^./])")
_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d{0,8})", re.DOTALL)
MAX_NAME = 300
"""Longer names are no paths."""


def fold_names(names: Sequence[str], most: int | None = 6) -> str:
    """Return names with runs of a family folded, and the middle left out where there are more than *most*.

    >>> fold_names(["embed", "attn[0]", "attn[1]", "attn[2]", "mlp[0]"])
    'embed, attn[0..2], mlp[0]'
    >>> fold_names(["a", "b", "c", "d", "e[0]", "e[1]", "f"], most=4)
    'a, b, … 2 more …, e[0..1], f'
    >>> fold_names([f"layer[{i}].{x}" for i in (0, 1, 2) for x in ("norm", "head[0]", "head[1]")])
    'layer[0..2].norm, layer[0..2].head[0..1]'
    """
    return _listed(_parts(names), most)


def fold_modules(names: Sequence[str], sizes: Callable[[], Mapping[str, int]], most: int | None = 6) -> str:
    """Return names as :func:`fold_names` does; where there are too many, modules that are whole take one place.

    Args:
        names: such as those of the nodes of a device.
        sizes: gives how many names each module has (see :func:`module_sizes`); called where it is needed.
        most: so many are shown.

    >>> every = ["embed", *(f"/block{i}/{x}" for i in range(4) for x in ("norm", "MatMul", "Add"))]
    >>> fold_modules(every[:11], lambda: module_sizes(every))
    'embed, /block0..2 (9 nodes), /block3/norm'
    """
    parts = _parts(names)
    if most is None or len(parts) <= most + 1:
        return _listed(parts, most)
    here, whole = module_sizes(names), sizes()
    parts_and_modules: list[tuple[str, int, bool]] = []
    alone: list[str] = []
    seen: set[str] = set()
    for name in names:
        module = next((outer for outer in _modules(name) if here[outer] == whole.get(outer) and here[outer] > 1), None)
        if module is None:
            alone.append(name)
        elif module not in seen:
            seen.add(module)
            parts_and_modules += [*((*part, False) for part in _parts(alone)), (module, here[module], True)]
            alone = []
    return _listed(_numbered([*parts_and_modules, *((*part, False) for part in _parts(alone))]), most)


def module_sizes(names: Sequence[str]) -> Mapping[str, int]:
    """Return how many of *names* are in each module that dots and slashes speak of."""
    return Counter(module for name in names for module in _modules(name))


def _modules(name: str) -> list[str]:
    """Return the modules that a name speaks of, the outermost first; none of families, which are folded otherwise."""
    if "[" in name or len(name) > MAX_NAME:
        return []
    return [name[: match.start()] for match in _SEPARATOR.finditer(name)]


def _numbered(parts: list[tuple[str, int, bool]]) -> list[tuple[str, int]]:
    """Return names and modules, each with its number of nodes and whether it is one; numbered modules are folded."""
    names: list[tuple[str, int]] = []
    last: tuple[str, int, int] | None = None
    for name, count, module in parts:
        match = _NUMBERED.fullmatch(name) if module else None
        shown = name
        if match is None:
            last = None
        else:
            base, number = match[1], int(match[2])
            first = number
            if last is not None and last[:2] == (base, number - 1):
                first = last[2]
                count += names.pop()[1]
                shown = f"{base}{first}..{number}"
            last = (base, number, first)
        names.append((f"{shown} ({count} nodes)" if module else name, count))
    return names


def _parts(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return names with families folded, and how many are in each."""
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
    return parts


def _listed(parts: list[tuple[str, int]], most: int | None) -> str:
    """Return parts as text, the middle left out where there are more than *most*."""
    if most is None or len(parts) <= most + 1:
        return ", ".join(name for name, _ in parts)
    half = most // 2
    more = f"… {sum(count for _, count in parts[half:-half])} more …"
    return ", ".join([*(name for name, _ in parts[:half]), more, *(name for name, _ in parts[-half:])])


def _folded(parts: list[tuple[str, int]], depth: int) -> list[tuple[str, int]]:
    """Return parts with runs of instances of a block folded: those that differ in the subscript at *depth* alone."""
    groups: dict[tuple[str, str], dict[int, int]] = {}
    for name, count in parts:
        instances = list(_INSTANCE.finditer(name))
        key, number = ((name, ""), -1)
        if depth < len(instances):
            at = instances[depth]
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


# Names in sentences: none of thousands of characters.

MAX_SHORT = 60
"""Characters of a name that are told."""


def short_name(name: str) -> str:
    """Return a name, a long one without its middle, one of no characters in quotes.

    >>> short_name("attn[3]"), short_name(""), short_name("x" * 5000)[:3]
    ('attn[3]', "''", 'xxx')
    >>> len(short_name("x" * 5000))
    60
    """
    if not name.strip():
        return repr(name)
    half = (MAX_SHORT - 1) // 2
    return name if len(name) <= MAX_SHORT else f"{name[: MAX_SHORT - 1 - half]}…{name[-half:]}"


def short_names(names: Sequence[str], most: int | None = 6) -> str:
    """Return names in a few words, each once: families folded, long lists and long names without their middle.

    >>> short_names(["attn[0]", "attn[1]", "y" * 100])[:12]
    'attn[0..1], '
    """
    return fold_names([*dict.fromkeys(short_name(name) for name in names)], most)
