"""Bring modules into canonical forms, and group those that are equal up to the numbers of their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol, TypeAlias

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece


@dataclass(frozen=True, eq=False)
class Canonical:
    """An order of a module's tasks [s] and edges [e], and its form in that order; equal ``key``, equal modules."""

    tasks: Ints
    edges: Ints
    key: bytes


def canonical(piece: ModulePiece, *, weights: bool = True) -> Canonical:
    """Return a form that two modules share only if the found orders map one module onto the other.

    Colours are refined by those of the neighbours until all tasks have different ones; if that does not happen, one
    task of the first shared colour gets its own. So some equal modules may not be recognised, but different ones never
    are taken for equal.

    Args:
        piece: the module.
        weights: False to compare the graphs alone, without times, transfers and constraints.
    """
    order = np.lexsort((np.arange(piece.size), _colors(piece, weights)))
    place = np.empty(piece.size, np.int64)
    place[order] = np.arange(piece.size)
    ends = np.stack([place[piece.tails], place[piece.heads]], axis=1)
    by_end = np.lexsort((ends[:, 1], ends[:, 0]))
    parts: list[object] = [piece.entry, piece.exit, piece.size, piece.k, ends[by_end].tolist()]
    if weights:
        parts += [piece.time[order].tolist(), piece.carry[by_end].tolist(), _constraints(piece, order, place)]
    return Canonical(order, by_end, blake2b(repr(parts).encode(), digest_size=32).digest())


def _constraints(piece: ModulePiece, order: Ints, place: Ints) -> list[object]:
    """Return the constraints of a module beside its graph."""
    classes = np.unique(piece.together[order], return_index=True, return_inverse=True)
    apart = sorted(sorted(place[list(group)].tolist()) for group in piece.apart)
    memory = [] if piece.roomy else [piece.memory[order].tolist(), piece.limit.tolist()]
    return [classes[1][classes[2]].tolist(), apart, memory]


def _colors(piece: ModulePiece, weights: bool) -> Ints:
    """Return [s] a number for every task, all different."""
    kinds: list[object] = [()] * piece.size
    if weights:
        sizes = np.bincount(piece.together, minlength=piece.size)[piece.together]
        memory = np.zeros(piece.size) if piece.roomy else piece.memory
        kinds = list(zip(map(tuple, piece.time.tolist()), memory.tolist(), sizes.tolist(), strict=True))
    ends = [(v == 0 and piece.entry, v == piece.size - 1 and piece.exit) for v in range(piece.size)]
    color = _ranked(list(zip(ends, kinds, strict=True)))
    ways = _ranked([tuple(c.reshape(-1).tolist()) if weights else () for c in piece.carry])
    near = [_neighbours(piece, ways, v) for v in range(piece.size)]
    color = _refined(near, color)
    while max(color, default=-1) < piece.size - 1:
        several = int(np.flatnonzero(np.bincount(color) > 1)[0])
        chosen = color.index(several)
        color = _refined(near, [2 * c + (c == several and v != chosen) for v, c in enumerate(color)])
    return np.array(color, np.int64)


Near: TypeAlias = tuple[list[tuple[int, int]], list[tuple[int, int]]]
"""Kinds of edges and tasks at their other ends, before a task and behind it."""


def _neighbours(piece: ModulePiece, ways: list[int], v: int) -> Near:
    before = [(ways[e], int(piece.tails[e])) for e in piece.into[v]]
    return before, [(ways[e], int(piece.heads[e])) for e in piece.out_of[v]]


def _refined(near: list[Near], color: list[int]) -> list[int]:
    """Return the coarsest colouring, finer than this one, in which equal colours have equal neighbours' colours."""
    count = len(set(color))
    while True:
        seen = [
            (color[v], tuple(sorted((e, color[u]) for e, u in ins)), tuple(sorted((e, color[w]) for e, w in outs)))
            for v, (ins, outs) in enumerate(near)
        ]
        number = {value: i for i, value in enumerate(sorted(set(seen)))}
        color = [number[value] for value in seen]
        if len(number) == count:
            return color
        count = len(number)


def _ranked(values: list[object]) -> list[int]:
    number = {value: i for i, value in enumerate(sorted(set(map(repr, values))))}
    return [number[repr(value)] for value in values]


class _Module(Protocol):
    """A module whose tasks and edges have numbers in a graph."""

    @property
    def nodes(self) -> Ints: ...

    @property
    def edges(self) -> Ints: ...


@dataclass(frozen=True, eq=False)
class EqualMember:
    """A module as one of a class of equal ones.

    Attributes:
        of: number of the class.
        nodes, edges: numbers in the graph of the tasks and edges of the class's first module, as this module has them.
    """

    of: int
    nodes: Ints
    edges: Ints


def equal_modules(modules: Sequence[_Module], forms: Sequence[Canonical]) -> tuple[list[int], tuple[EqualMember, ...]]:
    """Return the first module of each class of equal ones, by its place in *modules*, and every module as a member.

    Args:
        modules: to be compared.
        forms: of the modules; equal ``key``, equal modules.
    """
    number: dict[bytes, int] = {}
    firsts: list[int] = []
    members = []
    for i, (module, form) in enumerate(zip(modules, forms, strict=True)):
        if form.key not in number:
            number[form.key] = len(firsts)
            firsts.append(i)
        first = forms[firsts[number[form.key]]]
        nodes, edges = np.empty_like(module.nodes), np.empty_like(module.edges)
        nodes[first.tasks] = module.nodes[form.tasks]
        edges[first.edges] = module.edges[form.edges]
        members.append(EqualMember(number[form.key], nodes, edges))
    return firsts, tuple(members)
