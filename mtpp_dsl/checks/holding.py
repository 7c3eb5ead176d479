"""Name nodes that are held together, and the constraints that hold or place them, for findings of contradictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, InOrder, Pin
from mtpp_dsl.core.problem.colocation import colocated, cycle, together
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Finding", "closed_cycle", "groups_of", "holding", "listed", "named", "placing"]

LONGEST = 12
"""Nodes of a cycle that are shown."""

Finding = tuple[str, Sequence[Constraint]]
"""A reason, and the constraints of which it speaks."""


def groups_of(problem: Problem) -> list[list[int]]:
    """Return the nodes, those that every plan has on one device in one list."""
    members: dict[int, list[int]] = {}
    for v, home in enumerate(together(problem).tolist()):
        members.setdefault(home, []).append(v)
    return list(members.values())


def closed_cycle(problem: Problem, nodes: Sequence[int], home: Ints | None = None) -> str:
    """Return in words the cycle that puts *nodes* on one device, where no colocation alone does; else "".

    *home* is ``colocated(problem)``, for a caller that asks of many nodes.
    """
    home = colocated(problem) if home is None else home
    walk = cycle(problem, nodes) if len(set(home[list(nodes)].tolist())) > 1 else []
    if not walk:
        return ""
    tied = _of_ties(problem, walk)
    short = [*walk[: LONGEST - 1]] if len(walk) > LONGEST else walk
    shown = " -> ".join(problem.graph.names[v] for v in short)
    return f"colocation closes the cycle {shown}{' -> …' if short is not walk else ''}{tied}"


def _of_ties(problem: Problem, walk: Sequence[int]) -> str:
    """Return what to say where nodes of a cycle are together because they read the same weights; else ""."""
    origin = problem.graph.origin
    if origin is None or not any(len({*tie.nodes} & {*walk}) > 1 for tie in origin.ties):
        return ""
    return " (of tied weights: with ties = copy, each node has its own)"


def placing(problem: Problem, nodes: Iterable[int]) -> list[Constraint]:
    """Return the constraints that say where *nodes* may be, or hold them together."""
    inside = set(nodes)
    kinds = (Pin, Forbid, Colocate) if len(inside) > 1 else (Pin, Forbid)
    return [c for c in problem.constraints if isinstance(c, kinds) and inside & set(c.nodes)]


def holding(problem: Problem, group: Sequence[int]) -> list[Constraint]:
    """Return the constraints that say where the nodes of *group* may be, or make them one."""
    cyclic = len(group) > 1 and closed_cycle(problem, group)
    return [
        *((c for c in problem.constraints if isinstance(c, (Acyclic, InOrder))) if cyclic else ()),
        *placing(problem, group),
    ]


def named(problem: Problem, nodes: Sequence[int]) -> str:
    """Return the names of some nodes as a list in a sentence, of many the first ones."""
    return listed([problem.graph.names[v] for v in nodes])


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, of many the first ones."""
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
