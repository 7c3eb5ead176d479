"""Nodes of a graph from the operators of a model: runs of one module first, then layers, never with a cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias, get_args

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.model.layer_parts import parts_of_layers
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.operator_names import Names, language_name
from mtpp_dsl.exchange.model.whole_layers import Key, joined_outside, ordered, whole_layers

GroupBy: TypeAlias = Literal["operator", "module", "layer", "part"]
GROUP_BY: tuple[str, ...] = get_args(GroupBy)
LAYERED = ("layer", "part")
"""Ways of grouping that keep layers, or their parts, whole."""


@dataclass(frozen=True, eq=False, repr=False)
class Grouping(Short, Picklable):
    """Groups of operators, in an order in which they can run; where several may be next, in that of the model.

    Attributes:
        by: "operator", "module", "part" or "layer".
        names: of the groups; each is unique.
        paths: of the modules or layers as the framework spells them; of single operators those of their modules.
        members: for each group the numbers of its operators, rising.
        copied: for each group those of its members that are computed anew in each group that reads them. Their costs
            are those of the first such group.
        home: for each operator the group that computes it; the first of several.
        layers: for each group the number of its layer; None outside the stack.
        roles: for each group "embedding", "layer", "norm", "head" or "".
        parts: for each group the part of its layer that it is; "" where groups are no parts, and outside of layers.
        warnings: layers that could not be kept whole.
    """

    by: str
    names: tuple[str, ...]
    paths: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    copied: tuple[frozenset[int], ...]
    home: tuple[int, ...]
    layers: tuple[int | None, ...]
    roles: tuple[str, ...]
    parts: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.members)


def group(model: Model, by: str = "layer") -> Grouping:
    """Return groups of the operators of a model whose quotient graph has no cycle.

    * ``operator``: each operator is a group.
    * ``module``: consecutive operators of one module path are a group: a run. Runs of an order in which operators can
      run never make a cycle.
    * ``layer``: runs of one layer are one group each. What stands outside of the layers is grouped by block, or by
      module path, before, between and after them, so that a module around the stack is parted into what it does before
      and after. Where a layer would make a cycle with operators outside of layers, it takes them in; where several
      layers would make one, they stay parted into their runs, with a warning.

    * ``part``: as by layer, and each layer is parted into attention, router, routed and shared experts, feed-forward
      network, and what combines them; see :func:`mtpp_dsl.exchange.model.layer_parts.parts_of_layers`.

    Operators that may be recomputed are copied into each group that reads them. Those of a backward pass belong to the
    group of their module's forward pass, unless each operator is a group.

    Raises:
        UsageError: *by* is none of these; by layer or part, and no operator is of a layer.
    """
    if by not in GROUP_BY:
        raise UsageError(f"group_by is operator, module, part or layer, not {by!r}{did_you_mean(by, GROUP_BY)}")
    if by in LAYERED and all(operator.layer is None for operator in model.operators):
        raise UsageError("no operator of the model is of a numbered layer; group by module or by operator")
    return _Groups(model, by).result()


class _Groups:
    """Finds the groups of one model.

    Attributes:
        parts: the operators of each run, or of what runs were joined to; empty once joined to another.
        part: for each operator the number of its part; -1 of one that is copied, or of the backward pass.
        keys: of each part.
    """

    def __init__(self, model: Model, by: str) -> None:
        self.model, self.by = model, by
        self.readers = _readers(model)
        self.again = _recomputed(model, self.readers)
        self.folded = [by != "operator" and operator.backward for operator in model.operators]
        self.warnings: list[str] = []
        kept = [v for v in range(model.n) if not self.again[v] and not self.folded[v]]
        if not kept:
            raise UsageError("all operators of the model are of the backward pass")
        self.part_of = parts_of_layers(model) if by == "part" else [""] * model.n
        self.key_of: list[Key] = [_key(model, v, by, self.part_of[v]) for v in range(model.n)]
        runs = (
            [[v] for v in kept]
            if by == "operator"
            else [list(run) for _, run in groupby(kept, self.key_of.__getitem__)]
        )
        self.parts: list[list[int]] = runs
        self.keys: list[Key] = [self.key_of[run[0]] for run in runs]
        self.part = [-1] * model.n
        for p, run in enumerate(runs):
            for v in run:
                self.part[v] = p

    def result(self) -> Grouping:
        """Return the groups."""
        edges = self._edges()
        if self.by in LAYERED:
            place, parted = whole_layers(self.keys, edges)
            self._warn_of(parted)
            place = joined_outside(self.keys, place, edges)
        else:
            place = list(range(len(self.parts)))
        return self._numbered(place, edges)

    def _edges(self) -> set[tuple[int, int]]:
        """Return which part reads from which, by way of copied operators as well."""
        sources: list[set[int]] = [set() for _ in range(self.model.n)]  # of each operator: parts whose tensors it needs
        edges: set[tuple[int, int]] = set()
        for u in range(self.model.n):
            if self.folded[u]:
                continue
            mine = self.part[u]
            given = sources[u] if self.again[u] else {mine}
            if not self.again[u]:
                edges.update((source, mine) for source in sources[u] if source != mine)
            for reader in self.readers[u]:
                sources[reader] |= given
        return edges

    def _warn_of(self, parted: set[Key]) -> None:
        """Warn of layers that could not be whole."""
        if parted:
            named = ", ".join(path or str(layer) for path, layer in sorted(parted, key=str)[:3])
            self.warnings.append(
                f"{len(parted)} layers cannot be whole without a cycle between groups, and are parted into runs: "
                f"{named}{', …' if len(parted) > 3 else ''}"
            )

    def _numbered(self, place: Sequence[int], edges: set[tuple[int, int]]) -> Grouping:
        """Return the groups in their order, with copies and backward operators put in."""
        firsts = sorted(set(place))
        order = ordered(firsts, {(place[u], place[v]) for u, v in edges if place[u] != place[v]})
        number = {p: g for g, p in enumerate(order)}
        home = [number[place[p]] if p >= 0 else -1 for p in self.part]
        members: list[set[int]] = [set() for _ in order]
        for v, g in enumerate(home):
            if g >= 0:
                members[g].add(v)
        copied = self._copies(home, members)
        self._backward(home, members)
        names, paths = self._names(order)
        layers = [self._layer(own - again) for own, again in zip(members, copied, strict=True)]
        of_parts = [self.part_of[self.parts[p][0]] if self.keys[p][1] is not None else "" for p in order]
        return Grouping(
            by=self.by,
            names=tuple(names),
            paths=tuple(paths),
            members=tuple(tuple(sorted(group_members)) for group_members in members),
            copied=tuple(map(frozenset, copied)),
            home=tuple(home),
            layers=tuple(layers),
            roles=tuple(self._roles(members, copied, layers)),
            parts=tuple(of_parts),
            warnings=tuple(self.warnings),
        )

    def _copies(self, home: list[int], members: list[set[int]]) -> list[set[int]]:
        """Put each operator that may be recomputed into the groups that read it; return what was put into each."""
        copied: list[set[int]] = [set() for _ in members]
        wanted: dict[int, set[int]] = {}
        for v in reversed(range(self.model.n)):
            if not self.again[v]:
                continue
            groups: set[int] = set()
            for reader in self.readers[v]:
                if self.again[reader]:
                    groups |= wanted[reader]
                elif not self.folded[reader]:
                    groups.add(home[reader])
            wanted[v] = groups
            home[v] = min(groups)
            for g in groups:
                members[g].add(v)
                copied[g].add(v)
        return copied

    def _backward(self, home: list[int], members: list[set[int]]) -> None:
        """Put each operator of a folded backward pass into the group of its module's forward pass.

        It is the last group of its layer, or of its path; else that of an operator whose tensor it reads.
        """
        by_key: dict[Key, int] = {}
        for v, g in enumerate(home):
            if g >= 0 and not self.again[v]:
                by_key[self.key_of[v]] = max(g, by_key.get(self.key_of[v], -1))
        takes = self.model.taken
        for v in range(self.model.n):
            if not self.folded[v]:
                continue
            g_of_module = by_key.get(self.key_of[v])
            if g_of_module is None:
                makers = [self.model.tensors[t].producer for t in takes[v]]
                g_of_module = max((home[u] for u in makers if u is not None), default=len(members) - 1)
            home[v] = g_of_module
            members[g_of_module].add(v)

    def _names(self, order: Sequence[int]) -> tuple[list[str], list[str]]:
        """Return the names of the groups, and their paths as the framework spells them.

        Of several groups of one path each is a run: ``layers[3].mlp.run[0]`` is found by what it is part of.
        """
        model = self.model
        if self.by == "operator":
            chosen = [self.parts[p][0] for p in order]
            return [model.operators[v].name for v in chosen], [model.operators[v].path for v in chosen]
        inside = [p for p, key in enumerate(self.keys) if key[1] is not None]
        first, last = (inside[0], inside[-1]) if inside else (-1, -1)
        paths = [self.keys[p][0] for p in order]
        sides: dict[str, set[bool]] = {}
        for p, path in zip(order, paths, strict=True):
            if inside and self.keys[p][1] is None and not first < p < last:
                sides.setdefault(path, set()).add(p > last)
        wanted = []
        for p, path in zip(order, paths, strict=True):
            name = self._group_name(path, p)
            if len(sides.get(path, ())) == 2 and not first < p < last:
                name += ".after" if p > last else ".before"
            wanted.append(name)
        several, run = Counter(wanted), Counter[str]()
        names = Names()
        unique_names = []
        for name in wanted:
            unique_names.append(names.unique(f"{name}.run[{run[name]}]" if several[name] > 1 else name))
            run[name] += 1
        return unique_names, paths

    def _group_name(self, path: str, p: int) -> str:
        layer = self.keys[p][1]
        if not path and layer is not None:
            return f"layer[{layer}]"
        return language_name(path) if path else "root"

    def _layer(self, members: set[int]) -> int | None:
        """Return the layer that all of some operators are of, if they are; for a group by layers it took others in."""
        numbers = {self.model.operators[v].layer for v in members if not self.folded[v]}
        if self.by in LAYERED:
            numbers.discard(None)
        return numbers.pop() if len(numbers) == 1 else None

    def _roles(
        self, members: Sequence[set[int]], copied: Sequence[set[int]], layers: Sequence[int | None]
    ) -> Iterable[str]:
        """Yield the role of each group: the last that its own operators have, or what its place and kinds say."""
        inside = [g for g, layer in enumerate(layers) if layer is not None]
        for g, own in enumerate(members):
            operators = [self.model.operators[v] for v in sorted(own - copied[g]) if not self.folded[v]]
            roles = [operator.role for operator in operators if operator.role]
            kinds = {operator.kind for operator in operators}
            if layers[g] is not None:
                yield "layer"
            elif roles:
                yield roles[-1]
            elif inside and g < inside[0] and "embedding" in kinds:
                yield "embedding"
            elif inside and g > inside[-1] and kinds & {"matmul", "norm"}:
                yield "head" if "matmul" in kinds else "norm"
            else:
                yield ""


def _readers(model: Model) -> list[list[int]]:
    """Return for each operator those that read its tensors."""
    readers: list[set[int]] = [set() for _ in range(model.n)]
    for u, v in model.edges:
        readers[u].add(v)
    return [sorted(of_one) for of_one in readers]


def _recomputed(model: Model, readers: Sequence[Sequence[int]]) -> list[bool]:
    """Return which operators are computed anew where they are read: those that may be, and that a forward pass reads.

    One that is not read, or is read by the backward pass alone, stays where it is.
    """
    again = [False] * model.n
    for v in reversed(range(model.n)):
        if model.operators[v].recomputable and not model.operators[v].backward:
            again[v] = any(
                again[r] or not (model.operators[r].recomputable or model.operators[r].backward) for r in readers[v]
            )
    return again


def _key(model: Model, v: int, by: str, part: str) -> Key:
    """Return what an operator shares with others of its group: by layer the path down to its number, and its part."""
    operator = model.operators[v]
    if by not in LAYERED or operator.layer is None:
        return ((by in LAYERED and operator.block) or operator.path, None)
    parts = operator.path.split(".")
    number = str(operator.layer)
    depth = parts.index(number) + 1 if number in parts else 0
    layer = parts[:depth] if depth or not part else [f"layer.{number}"]
    return (".".join([*layer, *filter(None, [part])]), operator.layer)
