"""The modules that a node is in: from the model, from dots and brackets in its name, or from its label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.show.report.names import fold_names

Path = tuple[str, ...]
"""The modules that a node is in, the outermost first; the node itself is not among them."""

_PART = re.compile(r"[./]")
_FAMILY = re.compile(r"(.*?)((?:\[[^\[\]]*\])+)", re.DOTALL)
_BRACKET = re.compile(r"\[[^\[\]]*\]")
_NUMBERED = re.compile(r"([A-Za-z_]+) (\d+)\b[,:]?\s*")
_LISTED = re.compile(r"(.+?)([. ])(\d+)")
_NUMBER = re.compile(r"[A-Za-z]?\[?[0-9]+\]?")
MAX_FOLDED, MAX_TOGETHER = 200, 40
"""More names, and those that are longer even when they are folded, are called by the first and the last."""
MAX_DEPTH = 12
"""Modules deeper than this are not told apart."""
MAX_NAME = 300
"""Longer names are no paths."""


def paths_of(graph: Graph) -> list[Path]:
    """Return the modules of every node.

    The paths of the model come first, where the graph was made of one; then names, if their dots and brackets tell
    more than one family apart; then labels, if most have such. Families of which the members with one index follow each
    other, as in ``attn[0] -> mlp[0] -> attn[1]``, are modules by their index.
    """
    if graph.origin is not None:
        paths = _of_model(graph)
        if any(paths):
            return paths
    named = [_of_name(name) for name in graph.names]
    if any(graph.labels) and len({path[:1] for path in named if path}) <= 1:
        labelled = [_of_label(label) for label in graph.labels]
        if sum(map(bool, labelled)) >= graph.n / 2:
            return labelled
    return _by_index(graph, named)


def caption(graph: Graph, v: int) -> str:
    """Return what a node is called in pictures: its name, with the label where the name is ``17`` or ``v[17]``.

    A name with nothing to be seen is told by the number of the node, from 1.
    """
    name, label = graph.names[v], graph.labels[v]
    if not name.strip():
        return f"(node {v + 1})"
    return f"{name} {label}" if label and _NUMBER.fullmatch(name) else name


def together(names: Sequence[str]) -> str:
    """Return what several nodes or modules are called together.

    >>> together(["layers.3", "layers.4", "layers.5"]), together(["attn[0]", "mlp[0]", "attn[1]", "mlp[1]"])
    ('layers.3..5', 'attn[0..1], mlp[0..1]')
    >>> together(["stem", "conv a … conv d", "join", "last"])
    'stem … last'
    """
    numbered = [match for name in names if (match := _LISTED.fullmatch(name))]
    first, last = names[0], names[-1]
    if len(numbered) == len(names) and len({match.group(1, 2) for match in numbered}) == 1:
        low, high = int(numbered[0][3]), int(numbered[-1][3])
        if high - low == len(names) - 1:
            return f"{first[: numbered[0].start(3)]}{low}..{high}" if high > low else first
    folded = fold_names(names, 3) if len(names) <= MAX_FOLDED else "…"
    if len(folded) <= MAX_TOGETHER and "…" not in folded:
        return folded
    return f"{first.partition(' … ')[0]} … {last.rpartition(' … ')[2]}"


def _of_model(graph: Graph) -> list[Path]:
    """Return the path of the innermost module that all operators of a node are in."""
    assert graph.origin is not None
    operators = graph.origin.model.operators
    paths = []
    for members in graph.origin.members:
        parts = [[part for part in _PART.split(operators[o].path) if part] for o in members]
        shared = takewhile(lambda same: len(set(same)) == 1, zip(*parts, strict=False))
        paths.append(_nested(tuple(same[0] for same in shared)[:MAX_DEPTH]))
    return paths


def _nested(parts: Path) -> Path:
    """Return modules by what they are called from the outside: a number has the list that it is in before it."""
    modules: list[str] = []
    for i, part in enumerate(parts):
        modules.append(f"{parts[i - 1]}.{part}" if i and part.isdigit() else part)
    return tuple(modules)


def _of_name(name: str) -> Path:
    """Return the modules that a name speaks of.

    >>> _of_name("layers.3.attn.q"), _of_name("layer[3].norm"), _of_name("attn[3]"), _of_name("embed")
    (('layers', 'layers.3', 'attn'), ('layer[]', 'layer[3]'), ('attn[]',), ())
    """
    if len(name) > MAX_NAME:
        return ()
    parts = [part for part in _PART.split(name) if part]
    modules: list[str] = []
    for i, part in enumerate(parts):
        family = _FAMILY.fullmatch(part)
        if family:
            base = family[1]
            for index in _BRACKET.findall(family[2]):
                modules.append(f"{base}[]")
                base += index
        modules.append(f"{parts[i - 1]}.{part}" if i and part.isdigit() else part)
    return tuple(modules[:-1][:MAX_DEPTH])


def _of_label(label: str) -> Path:
    """Return the modules that a label speaks of, by dots or by words with numbers.

    >>> _of_label("layer 3 head 2 query"), _of_label("bert.pooler.bias"), _of_label("Add38")
    (('layer 3', 'head 2'), ('bert', 'pooler'), ())
    """
    if len(label) > MAX_NAME:
        return ()
    if _PART.search(label) and " " not in label:
        return _nested(tuple(part for part in _PART.split(label) if part)[:-1][:MAX_DEPTH])
    modules, at = [], 0
    while (match := _NUMBERED.match(label, at)) and match.end() < len(label):
        modules.append(f"{match[1]} {match[2]}")
        at = match.end()
    return tuple(modules[:MAX_DEPTH])


def _by_index(graph: Graph, named: list[Path]) -> list[Path]:
    """Return paths in which interleaved families are modules by index; the others as they are."""
    index: dict[int, tuple[str, str]] = {}
    for v, (name, path) in enumerate(zip(graph.names, named, strict=True)):
        if len(path) == 1 and path[0].endswith("[]"):
            index[v] = path[0], name[len(path[0]) - 2 :]
    inside: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        if u in index and v in index:
            (one, i), (other, j) = index[u], index[v]
            if one == other:
                inside[one] += 1
            elif i == j:
                beside[one] += 1
                beside[other] += 1
    mixed = {family for family in beside if beside[family] > inside[family]}
    paths = list(named)
    for v, (family, number) in index.items():
        if family in mixed:
            paths[v] = ("[]", number)
    return paths
