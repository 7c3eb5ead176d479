"""Quotient problems: the nodes of one are clusters of nodes of another; and how plans are mapped back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Constraint,
    Contiguous,
    Decision,
    Finish,
    Forbid,
    Linear,
    Memory,
    On,
    Pin,
    Separate,
    Start,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Interconnect
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem

KEPT = (Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, Linear, Memory, Pin, Separate)
"""Constraints that a quotient by nodes that may be together keeps."""


def is_contiguous_anyway(problem: Problem) -> bool:
    """Return whether ``acyclic`` implies every ``contiguous``."""
    asked = {constraint.parts for constraint in problem.of(Acyclic)}
    return "both" in asked or (bool(asked) and not problem.graph.backward.any())


def may_bind(problem: Problem) -> Bools:
    """Return [n] which nodes have memory, or parameters, where a limit of these can bind."""
    graph = problem.graph
    heavy = np.zeros(graph.n, np.bool_)
    if (fsum(graph.memory) > problem.memory_limit).any():
        heavy |= graph.memory > 0
    if (fsum(graph.params) > problem.overflow_limit).any():
        heavy |= graph.params > 0
    return heavy


def roots(into: Sequence[int]) -> Ints:
    """Return for each number what it was merged into in the end; *into* says what each was merged into first."""
    ends = np.array(into, np.int64)
    while (ends[ends] != ends).any():
        ends = ends[ends]
    return ends


def quotient(
    problem: Problem,
    cluster: Ints,
    kept: Ints,
    edges: Sequence[tuple[int, int]],
    output: Floats,
    *,
    sizes: Sequence[float] | None = None,
    interconnect: Interconnect | None = None,
    kinds: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Problem:
    """Return the quotient of *problem*: times, memory and parameters are summed, and constraints name clusters.

    Args:
        problem: the problem.
        cluster: [n] the cluster of each node.
        kept: [clusters] the node whose name, kind and part of the graph a cluster takes.
        edges: between clusters.
        output: [clusters] the size of the tensor that a cluster makes.
        sizes: [edges] of what each edge carries; the output of its tail unless given.
        interconnect: the one of the quotient, with times of transfers by these edges; that of *problem* unless given.
        kinds: [clusters] of operators; those of *kept* unless given.
        labels: [clusters] for display; those of *kept* unless given.
    """
    graph = problem.graph
    count = len(kept)

    def total(values: Floats) -> Floats:
        sums = np.zeros((count, *values.shape[1:]))
        np.add.at(sums, cluster, values)
        return sums

    largest = np.zeros(count)
    np.maximum.at(largest, cluster, graph.workspace)
    small = Graph.create(
        [graph.names[v] for v in kept],
        edges,
        work=total(graph.work),
        params=total(graph.params),
        output=output,
        memory=total(graph.memory),
        cache=total(graph.cache),
        workspace=largest,
        sizes=sizes,
        kinds=[graph.kinds[v] for v in kept] if kinds is None else kinds,
        labels=[graph.labels[v] for v in kept] if labels is None else labels,
        colors=graph.colors[kept],
        backward=graph.backward[kept],
        times={kind: total(times) for kind, times in graph.times.items()},
        device_times={name: total(times) for name, times in graph.device_times.items()},
        work_unit=graph.work_unit,
        size_unit=graph.size_unit,
        memory_unit=graph.memory_unit,
    )
    smaller = Problem.create(
        small,
        problem.devices,
        problem.interconnect if interconnect is None else interconnect,
        problem.objective,
        [moved for constraint in problem.constraints if (moved := _on_clusters(constraint, cluster)) is not None],
        time_unit=problem.time_unit,
        origin=problem.origin,
        warnings=problem.warnings,
    )
    return replace(
        smaller, time=frozen(total(problem.time), np.float64)
    )  # the sums hold for whatever kinds the nodes are of


def lifted(problem: Problem, cluster: Ints) -> Callable[[Plan], Plan]:
    """Return a function that turns a plan of the quotient into one of *problem*: nodes go where their cluster is."""
    return lambda plan: Plan.create(problem, plan.assignment[cluster], plan.order)


def named(problem: Problem) -> Bools:
    """Return [n] which nodes a constraint ties to other nodes or counts one by one: no rule may move them."""
    marked = np.zeros(problem.graph.n, np.bool_)
    for constraint in problem.constraints:
        if isinstance(constraint, (Colocate, Separate)) and len(set(constraint.nodes)) > 1:
            marked[list(constraint.nodes)] = True
        if isinstance(constraint, Linear):
            marked[[decision.node for decision, _ in constraint.terms if isinstance(decision, On)]] = True
    return marked


def _on_clusters(constraint: Constraint, cluster: Ints) -> Constraint | None:
    """Return *constraint* with clusters in place of nodes, or None where every plan of the quotient keeps it."""
    match constraint:
        case Pin() | Forbid():
            return replace(constraint, nodes=tuple(sorted({int(cluster[v]) for v in constraint.nodes})))
        case Colocate():
            nodes = tuple(sorted({int(cluster[v]) for v in constraint.nodes}))
            return replace(constraint, nodes=nodes) if len(nodes) > 1 else None
        case Separate():
            return replace(constraint, nodes=tuple(sorted({int(cluster[v]) for v in constraint.nodes})))
        case Linear():
            terms: dict[Decision, float] = {}
            for decision, a in constraint.terms:
                if isinstance(decision, (On, Start, Finish)):
                    decision = replace(decision, node=int(cluster[decision.node]))
                terms[decision] = terms.get(decision, 0.0) + a
            return replace(constraint, terms=tuple((decision, a) for decision, a in terms.items() if a))
        case CustomConstraint():
            raise Refused(f"constraint {constraint} is a plug-in's, and cannot be asked of clusters of nodes")
        case _:
            return constraint
