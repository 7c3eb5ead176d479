"""Group modules that are equal up to the numbers of their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.schedule.modules.canonical import Canonical

__all__ = ["EqualMember", "equal_modules"]


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
