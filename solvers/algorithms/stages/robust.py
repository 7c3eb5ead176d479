"""Stages whose times are off: the largest deviations of a stage, as one shape for each threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.stages.table import StageTable

__all__ = ["thresholds", "with_deviations"]


def thresholds(problem: Problem, device: int) -> Floats:
    """Return the deviations of nodes on *device* that may be the last of those counted, and 0; just 0 if none is.

    Fewer nodes than are counted may be there, which is 0. What is among the largest of the graph that are counted, but
    for the last of these, is never the last that is counted.
    """
    own = problem.deviation[problem.allowed[:, device], device]
    rule = problem.robust
    if rule is None or rule.most >= len(own):
        return np.zeros(1)
    return np.unique(np.append(np.sort(own)[: len(own) - rule.most + 1], 0.0))


def with_deviations(table: StageTable, problem: Problem) -> StageTable:
    """Return *table* with the deviations of the nodes in the loads, as ``constraint robust`` asks.

    The sum of the g largest deviations of a stage is the least, over thresholds t, of ``g t + sum of max(0, deviation -
    t)``; the least is at the last deviation that is counted, or at 0 (Bertsimas and Sim, 2003). So a shape with each
    threshold, whose load has ``g t`` more and whose nodes take so much longer, has a load that is no less than the
    right one, and one of them has that.

    Args:
        table: of shapes of one device each, with the load as its only row.
        problem: whose nodes it is made of.
    """
    rule = problem.robust
    if rule is None:
        return table
    assert len(table.time) == 1, "the rows of the table are what its loads are made of"
    assert all(shape.devices == 1 for shape in table.shapes), "no deviation is said of nodes that devices share"
    old: list[int] = []
    base, time = [], []
    for a, shape in enumerate(table.shapes):
        device = table.types.members[shape.kind][0]
        own = np.where(problem.allowed[:, device], problem.deviation[:, device], 0.0)
        for threshold in thresholds(problem, device).tolist():
            more = np.maximum(own - threshold, 0.0)
            old.append(a)
            base.append(table.base[0, a] + rule.most * threshold)
            time.append(table.time[0, a] + np.bincount(table.supernodes.of, more, minlength=table.supernodes.n))
    return replace(
        table,
        shapes=tuple(table.shapes[a] for a in old),
        time=np.array(time)[None],
        base=np.array(base)[None],
        rate=table.rate[:, old],
        sync=table.sync[old],
        stream=table.stream[old],
        spared=table.spared[old],
        fixed=table.fixed[old],
        each=table.each[old],
        kept=table.kept[old],
        enter=table.enter[old],
        room=table.room[old],
    )
