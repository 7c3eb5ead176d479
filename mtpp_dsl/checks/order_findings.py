"""Name nodes that are held together, and the constraints that hold or place them, for findings of contradictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Forbid, InOrder, Pin
from mtpp_dsl.core.problem.colocation import colocated, cycle, together
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.in_order import listed_devices
from mtpp_dsl.core.problem.problem import Problem

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


def behind(problem: Problem) -> Iterator[Finding]:
    """Find a node that comes after another one, and that no device may have which is as far along their order."""
    line = None if problem.objective.batch is not None else problem.line
    if line is None:
        return
    home = together(problem)
    groups = groups_of(problem)
    allowed = np.array([problem.allowed[group].all(axis=0) for group in groups], np.bool_).reshape(-1, problem.k)
    if not allowed.any(axis=1).all():
        return  # said already
    back = problem.graph.backward
    arcs = [
        (int(home[v]), int(home[u])) if back[u] else (int(home[u]), int(home[v]))
        for u, v in zip(problem.graph.tails.tolist(), problem.graph.heads.tolist(), strict=True)
        if back[u] == back[v] and home[u] != home[v]
    ]
    chain_and_place = _out_of_place(allowed[:, list(line.devices)], arcs)
    if chain_and_place is None:
        return
    chain, place = chain_and_place
    nodes = [v for v in groups[chain[-1]] if not problem.allowed[v].all()]
    far = problem.devices[line.devices[place]].name
    before = named(problem, groups[chain[-2]][:1])
    last = named(problem, nodes)
    reason = f"{last} may be on no device from {far} on, and {before}, which comes before, on none before it"
    yield reason, [*problem.of(InOrder), *(c for group in chain for c in holding(problem, groups[group]))]


def too_few(problem: Problem) -> Iterator[Finding]:
    """Find devices that have to have a node, under ``stages (empty = never)``, and more of them than nodes for them."""
    rules = [rule for rule in problem.of(InOrder) if rule.empty == "never"]
    if not rules or problem.objective.batch is not None or any(problem.replicate):
        return
    filled = sorted({d for rule in rules for d in listed_devices(rule, problem.k)})
    groups = groups_of(problem)
    allowed = np.array([problem.allowed[group].all(axis=0) for group in groups], np.bool_).reshape(-1, problem.k)
    shortage = unfilled(allowed, filled)
    if shortage is None:
        return
    devices, few = shortage
    nodes = [v for group in few for v in groups[group]]
    many = [v for v in range(problem.graph.n) if not problem.allowed[v, devices].all()]
    names = listed([problem.devices[d].name for d in devices])
    colocated = any(len(group) > 1 for group in groups)
    there = f"{counted(len(few), 'group')} of nodes held together" if colocated else counted(len(few), "node")
    together_by = [c for group in groups if len(group) > 1 for c in holding(problem, group)]
    verb = "are" if len(few) != 1 else "is"
    prefix, them = ("each of ", f"these {len(devices)}") if len(devices) > 1 else ("", "it")
    yield (
        f"{prefix}{names} has to have a node, and there {verb} {there} for {them}",
        [*rules, *together_by, *placing(problem, [*nodes, *many])],
    )


# Nodes for which the order of devices leaves no device, as what comes before them has to be too far along it.


def _out_of_place(allowed: Bools, arcs: Iterable[tuple[int, int]]) -> tuple[list[int], int] | None:
    """Return groups one after the other, the last without a device, and the place from which on it has none; or None.

    The earliest place of a group is the first that it may have from the earliest places of those before it on.

    Args:
        allowed: [groups, places] where each group of nodes may be, the devices in their order.
        arcs: pairs of groups of which the first is on the device of the second, or on an earlier one.

    >>> _out_of_place(np.array([[False, True], [True, True], [True, False]]), [(0, 1), (1, 2)])
    ([0, 1, 2], 1)
    >>> _out_of_place(np.array([[True, False], [True, True]]), [(0, 1)]) is None
    True
    """
    after: dict[int, list[int]] = {}
    for first, then in arcs:
        after.setdefault(first, []).append(then)
    places = [np.flatnonzero(row).tolist() for row in allowed]
    earliest = [row[0] if row else 0 for row in places]
    before: dict[int, int] = {}  # the group that has moved the earliest place of another one
    waiting = [group for group, place in enumerate(earliest) if place]
    while waiting:
        group = waiting.pop()
        for other in after.get(group, ()):
            if earliest[other] >= earliest[group]:
                continue
            place = _first(places[other], earliest[group])
            if place is None:
                chain = [other, group]
                while chain[-1] in before:
                    chain.append(before[chain[-1]])
                return chain[::-1], earliest[group]
            earliest[other], before[other] = place, group
            waiting.append(other)
    return None


def _first(places: Sequence[int], least: int) -> int | None:
    """Return the first place from *least* on; None if there is none."""
    return next((place for place in places if place >= least), None)


# Devices that have to have a node, and for which there are too few: found by counting.


def unfilled(allowed: Bools, filled: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return devices of *filled* and all groups of nodes that may be on them, which are fewer; None if there are none.

    Fewer groups than devices is the only way in which devices cannot each have a group of its own (Hall 1935). A device
    that may have as many groups as there are devices in *filled* is never among them.

    Args:
        allowed: [groups, devices] where the nodes of each group, which are all on one device, may be.
        filled: devices that have to have a node.

    >>> unfilled(np.array([[True, True, False], [True, True, True]]), [0, 1, 2])
    ([0, 1, 2], [0, 1])
    >>> unfilled(np.array([[True, True], [True, False]]), [0, 1]) is None
    True
    """
    scarce = [d for d in filled if int(allowed[:, d].sum()) < len(filled)]
    holder: dict[int, int] = {}  # of a group, the device that has it
    for d in scarce:
        came: dict[int, int] = {}  # the device from which a group was reached
        waiting, free = [d], -1
        reached = {d}
        while waiting and free < 0:
            e = waiting.pop()
            for group in np.flatnonzero(allowed[:, e]).tolist():
                if group in came:
                    continue
                came[group] = e
                if group not in holder:
                    free = group
                    break
                reached.add(holder[group])
                waiting.append(holder[group])
        if free < 0:
            return sorted(reached), sorted(came)
        while True:
            e = came[free]
            before = next((group for group, of in holder.items() if of == e), None)
            holder[free] = e
            if before is None:
                break
            free = before
    return None
