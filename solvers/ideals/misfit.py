"""Classes that no device can take, in words."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.constraints import Acyclic, Colocate, Constraint, Forbid, Memory, Pin
from mtpp_dsl.problem import Problem
from mtpp_dsl.result import Infeasibility
from mtpp_dsl.solvers.combinatorial.devices import DeviceClasses
from mtpp_dsl.solvers.ideals.classes import Classes, cycle_of
from mtpp_dsl.units import format_quantity

__all__ = ["misfit"]

KINDS = (Acyclic, Colocate, Memory, Pin, Forbid)


def misfit(problem: Problem, devices: DeviceClasses, classes: Classes) -> Infeasibility | None:
    """Return why there is no plan with an acyclic quotient, if one class of nodes alone shows it."""
    allowed = np.isfinite(classes.time)
    room = np.where(allowed, devices.memory[None, :], -np.inf).max(axis=1, initial=-np.inf)
    for c in np.flatnonzero(~(classes.size <= room)).tolist():
        nowhere = bool(np.isinf(room[c]))
        at_fault = (np.isinf(devices.time).sum(axis=1) if nowhere else problem.graph.memory).tolist()
        nodes = [v for v in classes.members[c] if at_fault[v] > 0]
        names = problem.graph.names
        shown = ", ".join(names[v] for v in nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
        cycle = cycle_of(problem, classes.members[c])
        why = f", as colocation closes the cycle {' -> '.join(names[v] for v in cycle)}" if cycle else ""
        if nowhere:
            what = "no device may take it" if len(nodes) == 1 else "no device may take them all"
        else:
            unit = problem.graph.memory_unit
            take = "takes" if len(nodes) == 1 else "take"
            needs, has = format_quantity(float(classes.size[c]), unit), format_quantity(float(room[c]), unit)
            what = f"{take} {needs}; the largest device has {has}"
        together = " must be on one device" + why + ": " if len(nodes) > 1 else ": "
        return Infeasibility(f"{shown}{together}{what}", _clash(problem, set(nodes)))
    return None


def _clash(problem: Problem, nodes: set[int]) -> tuple[str, ...]:
    def concerns(constraint: Constraint) -> bool:
        return not hasattr(constraint, "nodes") or bool(nodes & set(constraint.nodes))

    return tuple(str(c) for c in problem.constraints if isinstance(c, KINDS) and concerns(c))
