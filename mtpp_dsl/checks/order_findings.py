"""Problems without a plan whose stages are in the order of devices, found by counting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mtpp_dsl.checks.holding import Finding, groups_of, holding, listed, named, placing
from mtpp_dsl.checks.out_of_place import out_of_place
from mtpp_dsl.checks.unfilled import unfilled
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import InOrder
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.in_order import listed_devices
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["behind", "too_few"]


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
    found = out_of_place(allowed[:, list(line.devices)], arcs)
    if found is None:
        return
    chain, place = found
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
    found = unfilled(allowed, filled)
    if found is None:
        return
    devices, few = found
    nodes = [v for group in few for v in groups[group]]
    many = [v for v in range(problem.graph.n) if not problem.allowed[v, devices].all()]
    said = listed([problem.devices[d].name for d in devices])
    held = any(len(group) > 1 for group in groups)
    there = f"{counted(len(few), 'group')} of nodes held together" if held else counted(len(few), "node")
    together_by = [c for group in groups if len(group) > 1 for c in holding(problem, group)]
    verb = "are" if len(few) != 1 else "is"
    each, them = ("each of ", f"these {len(devices)}") if len(devices) > 1 else ("", "it")
    yield (
        f"{each}{said} has to have a node, and there {verb} {there} for {them}",
        [*rules, *together_by, *placing(problem, [*nodes, *many])],
    )
