"""Several phases on one placement: each node runs once in each of them, with times and tensors of that phase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Decision,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Memory,
    On,
    Pin,
    PluginConstraint,
    Separate,
    Used,
    decisions_in,
    of_phase,
    phases_in,
)
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.problem.graph import Floats, Graph, Ints, Phase, frozen

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device, Interconnect
    from mtpp_dsl.core.problem.objective import Objective

MEANT = (Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, InOrder, Linear, Memory, Pin, Separate)
"""The constraints that mean the same in every phase, or say of which they speak."""


def phased_graph(graphs: Mapping[str, Graph], weights: Mapping[str, float] | None = None) -> Graph:
    """Return one graph with a phase for each of *graphs*, which have the same nodes and edges.

    What a node keeps in memory, in its cache and as workspace is the most in any phase. The work, outputs and sizes
    of the result are the sums over the phases, each times its weight: those of all phases together, one input after the
    other.

    Args:
        graphs: by the names of the phases, in their order.
        weights: how often a phase runs for one input; 1 where none is given.

    Raises:
        UsageError: there is no phase; the graphs differ in more than their times and tensors; a weight is not more
            than zero, or of no phase.

    >>> make = lambda work: Graph.create(["a", "b"], [(0, 1)], work=work, output=1.0)
    >>> graph = phased_graph({"prefill": make(3.0), "decode": make(1.0)}, {"decode": 4})
    >>> graph.work.tolist(), [phase.name for phase in graph.phases]
    ([7.0, 7.0], ['prefill', 'decode'])
    """
    weights = weights or {}
    if not graphs:
        raise UsageError("a problem with phases needs one at least")
    unknown = next((name for name in weights if name not in graphs), None)
    if unknown is not None:
        raise UsageError(f"there is no phase {unknown!r} that could have a weight")
    for name, weight in weights.items():
        if not (weight > 0 and isfinite(weight)):
            raise UsageError(f"phase {name!r} has the weight {weight!r}; it must be a number, more than zero")
    first = next(iter(graphs.values()))
    for name, graph in graphs.items():
        _refuse_difference(name, graph, first)
    kept: dict[str, Any] = {
        what: frozen(np.max([getattr(graph, what) for graph in graphs.values()], axis=0), np.float64)
        for what in ("memory", "saved", "cache", "workspace")
    }
    if all(np.array_equal(graph.saved, graph.output) for graph in graphs.values()):
        del kept["saved"]
    phases = tuple(Phase(name, float(weights.get(name, 1.0)), replace(graph, **kept)) for name, graph in graphs.items())
    nothing: Mapping[str, Floats] = MappingProxyType({})
    sums = _sums(phases)
    nowhere: Mapping[str, Ints] = MappingProxyType({})
    in_each: dict[str, Any] = {"times": nothing, "device_times": nothing, "costs": None, "time_sources": nowhere}
    return replace(first, phases=phases, **{"saved": sums["output"], **kept}, **sums, **in_each)


def _refuse_difference(name: str, graph: Graph, first: Graph) -> None:
    """Refuse a phase that is not of the same nodes and edges as the first, or is measured in other units.

    Raises:
        UsageError: it is not; says in what it differs.
    """
    for what in ("names", "kinds", "labels", "work_unit", "size_unit", "memory_unit"):
        if getattr(graph, what) != getattr(first, what):
            raise UsageError(f"phase {name!r} has other {what.replace('_', ' ')} than the first phase")
    for what in ("tails", "heads", "params", "colors", "backward"):
        if not np.array_equal(getattr(graph, what), getattr(first, what)):
            raise UsageError(f"phase {name!r} has other {what} than the first phase")
    if graph.batch_times:
        raise UsageError(f"phase {name!r} has times of batches; phases have times of single inputs only")
    if graph.phases:
        raise UsageError(f"phase {name!r} has phases itself")


def _sums(phases: Sequence[Phase]) -> dict[str, Any]:
    """Return the work, outputs and sizes of all phases together."""
    return {
        what: frozen(sum(phase.weight * getattr(phase.graph, what) for phase in phases), np.float64)
        for what in ("work", "output", "sizes")
    }


def summed(graph: Graph, devices: Sequence[Device], time: Floats) -> Graph:
    """Return *graph* with the [n, devices] times of all its phases together, where phases have tables of times.

    These are times of single devices, as the tables of two phases need not be of the same types of devices.
    """
    if not any(phase.graph.times or phase.graph.device_times for phase in graph.phases):
        return graph
    own = {device.name: frozen(time[:, d], np.float64) for d, device in enumerate(devices)}
    return replace(graph, times=MappingProxyType({}), device_times=MappingProxyType(own))


def speaks_of_phases(objectives: Iterable[Objective], constraints: Iterable[Constraint]) -> bool:
    """Return whether an objective or a row speaks of one phase alone, or of the largest of several sums."""
    return any(
        isinstance(decision, Largest) or getattr(decision, "phase", None) is not None
        for terms in _all_terms(objectives, constraints)
        for decision in decisions_in(terms)
    )


def only_phase(objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> str | None:
    """Return the phase that the one objective and all rows about loads are about; None if there is none such.

    A plug-in's constraint may read the times and loads of all phases together, so there is none beside it.
    """
    terms = list(_all_terms(objectives, constraints))
    if len(objectives) > 1 or any(isinstance(one, PluginConstraint) for one in constraints):
        return None
    if any(isinstance(x, Largest) for sums in terms for x in decisions_in(sums)):
        return None
    phases = {phase for sums in terms for phase in phases_in(sums)}
    asked = phases_in(objectives[0].terms)
    return next(iter(phases)) if phases == asked and len(phases) == 1 else None


def summed_latencies(
    objectives: Sequence[Objective], constraints: Sequence[Constraint]
) -> Mapping[str | None, float] | None:
    """Return what the latency of each phase counts for, where the one objective is a sum of these; None elsewhere.

    Then no row may speak of loads, and no plug-in's constraint may read them.
    """
    terms = objectives[0].terms
    if len(objectives) > 1 or objectives[0].maximized or not terms:
        return None
    if any(a <= 0 or not isinstance(decision, Latency) for decision, a in terms):
        return None
    rows = [decision for row in constraints if isinstance(row, Linear) for decision in decisions_in(row.terms)]
    if any(isinstance(one, PluginConstraint) for one in constraints) or not all(
        isinstance(x, (On, Used)) for x in rows
    ):
        return None
    weights: dict[str | None, float] = {}
    for decision, a in terms:
        for phase in phases_in(((decision, a),)):
            weights[phase] = weights.get(phase, 0.0) + a
    return weights


def mixed_graph(parts: Sequence[tuple[float, Graph]], devices: Sequence[Device], time: Floats) -> Graph | None:
    """Return the graph whose work, outputs and sizes are the sums of shares times those of *parts*.

    None where edges of one tensor are of different sizes: of these the largest counts at each reader, and the largest
    sum may be less than the sum of the largest.

    Args:
        parts: shares, and graphs of the same nodes and edges.
        devices: of *time*.
        time: [n, devices] the times of the nodes in the result.
    """
    for _, graph in parts:
        largest = np.zeros(graph.n)
        np.maximum.at(largest, graph.tails, graph.sizes)
        if (graph.sizes != largest[graph.tails]).any():
            return None
    sums: dict[str, Any] = {
        what: frozen(sum(share * getattr(graph, what) for share, graph in parts), np.float64)
        for what in ("work", "output", "sizes")
    }
    own = MappingProxyType({device.name: frozen(time[:, d], np.float64) for d, device in enumerate(devices)})
    none: Mapping[str, Any] = MappingProxyType({})
    return replace(parts[0][1], phases=(), times=none, device_times=own, costs=None, time_sources=none, **sums)


def of_one_phase(constraint: Constraint) -> Constraint:
    """Return a constraint as it is where there is one phase, of which it need not speak."""
    if not isinstance(constraint, Linear):
        return constraint
    return replace(constraint, terms=tuple((of_phase(decision, None), a) for decision, a in constraint.terms))


def plain_objective(objective: Objective) -> Objective:
    """Return an objective of one phase as it is where there is one: a bottleneck or a latency alone is called so."""
    terms = tuple((of_phase(decision, None), a) for decision, a in objective.terms)
    alone = len(terms) == 1 and terms[0][1] == 1.0 and not objective.constant and not objective.maximized
    match terms[0][0] if alone else None:
        case Bottleneck():
            return replace(objective, name="bottleneck", terms=(), value_unit="")
        case Latency():
            return replace(objective, name="latency", terms=terms, value_unit="")
        case _:
            return replace(objective, terms=terms)


def _all_terms(
    objectives: Iterable[Objective], constraints: Iterable[Constraint]
) -> Iterator[tuple[tuple[Decision, float], ...]]:
    """Yield the terms of all objectives and rows."""
    yield from (objective.terms for objective in objectives)
    yield from (row.terms for row in constraints if isinstance(row, Linear))


def rows_of_phase(constraints: Iterable[Constraint], phase: str) -> Iterator[Constraint]:
    """Yield the constraints as they are of one phase alone: without rows that speak of other loads than its own."""
    for constraint in constraints:
        if not isinstance(constraint, Linear):
            yield constraint
            continue
        maxima = any(isinstance(decision, Largest) for decision, _ in constraint.terms)
        if phases_in(constraint.terms) <= {phase} and not constraint.soft and not maxima:
            yield replace(constraint, terms=tuple((of_phase(decision, None), a) for decision, a in constraint.terms))


def check_phases(
    graph: Graph, interconnect: Interconnect, objectives: Sequence[Objective], constraints: Sequence[Constraint]
) -> None:
    """Check that what is asked has a meaning with the phases that there are.

    Raises:
        UsageError: a phase that is not there; a schedule or a batch of several phases; a largest of several sums that
            is not pushed down.
        ConstraintError: the same of a row.
    """
    names = {phase.name for phase in graph.phases}
    for terms in _all_terms(objectives, constraints):
        for phase in phases_in(terms) - names - {None}:
            known = f"there are {', '.join(phase.name for phase in graph.phases)}" if names else "there are none"
            raise UsageError(f"there is no phase {phase!r}: {known}")
    for objective in objectives:
        if not _pushed_down(objective.terms, "<=" if objective.sense == "minimize" else ">="):
            raise UsageError(
                f"'{objective}' would enlarge a maximum, which is not linear: max(…) may only be minimised"
            )
    for row in constraints:
        if isinstance(row, Linear) and not _pushed_down(row.terms, row.sense):
            raise ConstraintError(f"constraint {row} is not linear: max(…) may only be limited from above", row.origin)
    if not names:
        return
    if any(objective.batch is not None for objective in objectives):
        raise UsageError("a batch has no phases: minimize bottleneck, latency, or those of single phases")
    if any(objective.timed for objective in objectives):
        raise UsageError(
            "a schedule is of one phase: with phases, minimize bottleneck, latency, or those of single phases"
        )
    if getattr(interconnect, "overflow", False) and not getattr(interconnect, "prefetch", False):
        raise UsageError(
            "overflow = stream reads parameters for each input of one phase; with phases, say 'overflow = prefetch' or "
            "'constraint memory'"
        )
    for constraint in constraints:
        if type(constraint) not in MEANT and not isinstance(constraint, PluginConstraint):
            raise ConstraintError(f"constraint {constraint} has no meaning in several phases yet", constraint.origin)
    odd = next((one for one in objectives if not one.is_linear and one.quantity != "bottleneck"), None)
    if odd is not None:
        raise UsageError(f"'{odd}' is not defined of several phases; sum up bottleneck(phase) over them")


def _pushed_down(terms: Iterable[tuple[Decision, float]], sense: str) -> bool:
    """Return whether every largest of several sums is only limited from above where *terms* are."""
    for decision, a in terms:
        if isinstance(decision, Largest):
            if sense == "==" or (a > 0) != (sense == "<="):
                return False
            if not all(_pushed_down(inner, "<=") for inner, _ in decision.sums):
                return False
    return True
