"""Problems that cannot have a plan, found by counting: no solver, no search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from mtpp_dsl.constraints import Colocate, Constraint, Forbid, Linear, Memory, On, Pin, Separate
from mtpp_dsl.graph import Floats
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Infeasibility
from mtpp_dsl.units import format_quantity
from mtpp_dsl.verification import TOLERANCE

__all__ = ["quick"]


def quick(problem: Problem) -> Infeasibility | None:
    """Return why *problem* has no plan, if counting shows it; None proves nothing.

    Looks for: a node, or nodes held together, that no device may or can run or hold; more memory needed
    than there is; nodes held together and apart; more nodes held apart than devices they may use; a
    constraint whose left side cannot reach its right side.
    """
    for find in FINDERS:
        found = next(find(problem), None)
        if found is not None:
            reason, clash = _needed(problem, find, *found)
            return Infeasibility(reason, tuple(str(constraint) for constraint in clash))
    return None


Finding = tuple[str, Sequence[Constraint]]

MANY = 1_000_000
"""Nodes times constraints of a finding; beyond it, none is tried to be left out."""


def _needed(
    problem: Problem, find: Callable[[Problem], Iterator[Finding]], reason: str, clash: Sequence[Constraint]
) -> Finding:
    """Return the finding with those constraints of its *clash* only without which it is none."""
    kept = list(dict.fromkeys(map(id, clash)))
    by_id = {id(constraint): constraint for constraint in clash}
    if problem.graph.n * len(kept) <= MANY:
        for number in list(kept):
            rest = [other for other in kept if other != number]
            found = next(find(problem.with_constraints([by_id[other] for other in rest])), None)
            if found is not None:
                reason, kept = found[0], rest
    return reason, [by_id[number] for number in kept]


def _groups(problem: Problem) -> list[list[int]]:
    """Return the nodes, those held together in one list."""
    root = list(range(problem.graph.n))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for group in problem.of(Colocate):
        for v in group.nodes:
            root[find(v)] = find(group.nodes[0])
    members: dict[int, list[int]] = {}
    for v in range(problem.graph.n):
        members.setdefault(find(v), []).append(v)
    return list(members.values())


def _nowhere(problem: Problem) -> Iterator[Finding]:
    for v in np.flatnonzero(~np.isfinite(problem.time).any(axis=1)).tolist():
        yield f"no device can run {_names(problem, [v])}", []
    for group in [*([v] for v in range(problem.graph.n)), *_groups(problem)]:
        if not problem.allowed[group].all(axis=0).any():
            held = " together" if len(group) > 1 else ""
            yield f"no device is left for {_names(problem, group)}{held}", _placing(problem, group)


def _too_large(problem: Problem) -> Iterator[Finding]:
    limit = _room(problem)
    need = problem.graph.memory
    for group in _groups(problem):
        allowed = problem.allowed[group].all(axis=0)
        together = float(need[group].sum())
        if together > limit[allowed].max():
            best = int(np.flatnonzero(allowed)[limit[allowed].argmax()])
            one = len(group) == 1
            room = _size(problem, float(problem.memory_limit[best]))
            reason = (
                f"{_names(problem, group)} {'takes' if one else 'take'} {_size(problem, together)}; the largest device "
                f"for {'it' if one else 'them'}, {problem.devices[best].name}, has {room}"
            )
            yield reason, [*problem.of(Memory), *_placing(problem, group)]


def _too_much(problem: Problem) -> Iterator[Finding]:
    total, room = float(problem.graph.memory.sum()), float(_room(problem).sum())
    if total > room:
        exact = float(problem.memory_limit.sum())
        yield (
            f"all nodes take {_size(problem, total)}; all devices together have {_size(problem, exact)}",
            list(problem.of(Memory)),
        )


def _together_and_apart(problem: Problem) -> Iterator[Finding]:
    home = {v: number for number, group in enumerate(_groups(problem)) for v in group}
    for apart in problem.of(Separate):
        seen: dict[int, int] = {}
        for v in sorted(set(apart.nodes)):
            other = seen.setdefault(home[v], v)
            if other != v:
                together = [c for c in problem.of(Colocate) if home[c.nodes[0]] == home[v]]
                yield f"{_names(problem, [other, v])} are to be together and apart", [apart, *together]


def _too_many_apart(problem: Problem) -> Iterator[Finding]:
    for apart in problem.of(Separate):
        nodes = sorted(set(apart.nodes))
        usable = int(problem.allowed[nodes].any(axis=0).sum())
        if len(nodes) > usable:
            where = f"there are {usable} devices" if usable == problem.k else f"they may use {usable} devices"
            yield (
                f"{_names(problem, nodes)} are to be on {len(nodes)} devices; {where}",
                [
                    apart,
                    *(_placing(problem, nodes) if usable < problem.k else []),
                ],
            )


def _out_of_reach(problem: Problem) -> Iterator[Finding]:
    for row in problem.of(Linear):
        if not all(isinstance(decision, On) for decision, _ in row.terms):
            continue
        low, high, size = _reach(problem, row)
        slack = TOLERANCE * (size + abs(row.rhs))
        if row.sense != ">=" and low > row.rhs + slack:
            side = f"at least {low:.6g}"
        elif row.sense != "<=" and high < row.rhs - slack:
            side = f"at most {high:.6g}"
        else:
            continue
        nodes = {decision.node for decision, _ in row.terms if isinstance(decision, On)}
        places = [c for c in problem.constraints if isinstance(c, (Pin, Forbid)) and nodes & set(c.nodes)]
        yield f"the left side of {row.label} is {side}; it must be {row.sense} {row.rhs:.6g}", [row, *places]


def _reach(problem: Problem, row: Linear) -> tuple[float, float, float]:
    """Return the least and greatest left side when every node is on one allowed device, and the terms' total size."""
    weights: dict[int, list[float]] = {}
    for decision, a in row.terms:
        assert isinstance(decision, On)
        weights.setdefault(decision.node, [0.0] * problem.k)[decision.device] += a
    low = high = size = 0.0
    for v, by_device in weights.items():
        choices = np.array(by_device)[problem.allowed[v]]
        low, high, size = low + choices.min(), high + choices.max(), size + np.abs(by_device).max()
    return float(low), float(high), float(size)


def _room(problem: Problem) -> Floats:
    """Return [devices] what the independent check would still let each hold, and its rounding."""
    room: Floats = problem.memory_limit * (1 + TOLERANCE * (1 + 1e-6))
    return room


def _placing(problem: Problem, nodes: Iterable[int]) -> list[Constraint]:
    """Return the constraints that say where *nodes* may be, or hold them together."""
    inside = set(nodes)
    kinds = (Pin, Forbid, Colocate) if len(inside) > 1 else (Pin, Forbid)
    return [c for c in problem.constraints if isinstance(c, kinds) and inside & set(c.nodes)]


def _names(problem: Problem, nodes: Sequence[int]) -> str:
    names = [problem.graph.names[v] for v in nodes]
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _size(problem: Problem, value: float) -> str:
    return format_quantity(value, problem.graph.memory_unit)


FINDERS: Sequence[Callable[[Problem], Iterator[Finding]]] = (
    _nowhere,
    _too_large,
    _too_much,
    _together_and_apart,
    _too_many_apart,
    _out_of_reach,
)
