"""Stages in the order of devices: each device is a type of its own, and a state is how far a chain has come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.core.problem.graph import Ints, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import DeviceTypes, device_types
from mtpp_dsl.solvers.algorithms.stages.costs import ShapeStates, shape_states
from mtpp_dsl.solvers.algorithms.stages.table import StageTable

__all__ = ["line_states", "staged_types", "states_of_table"]


def staged_types(problem: Problem) -> DeviceTypes:
    """Return the types of devices for chains of stages: where devices are in an order, one of each, in that order."""
    types, line = device_types(problem), problem.line
    if line is None:
        return types
    old = types.of[list(line.devices)]
    return replace(
        types,
        members=tuple((d,) for d in line.devices),
        of=frozen(np.argsort(np.array(line.devices)), np.int64),
        time=frozen(types.time[:, old], np.float64),
        pays=frozen(types.pays[old], np.bool_),
        memory=frozen(types.memory[old], np.float64),
        overflow=frozen(types.overflow[old], np.float64),
        replicas=frozen(types.replicas[old], np.int64),
        syncs=frozen(types.syncs[old], np.bool_),
    )


def states_of_table(table: StageTable, problem: Problem, *, backwards: bool = False) -> ShapeStates:
    """Return the states of the devices of a table, with the stages counted apart where their number matters.

    Args:
        table: of stages, on :func:`staged_types`.
        problem: whose devices may be in an order.
        backwards: whether chains begin with the last stage.
    """
    if problem.line is not None:
        return line_states(table, problem, backwards=backwards)
    stages = int(table.types.counts.sum()) if table.counts_stages else 0
    return shape_states(table.types.counts, table.take, stages=stages)


def line_states(table: StageTable, problem: Problem, *, backwards: bool = False) -> ShapeStates:
    """Return how far along the order of devices a chain has come, and where it matters how many stages it has.

    A stage may be on any device after the last one, if none between has to have a node. A chain may end where none
    after it has to. Of two chains of the same ideal the one that has come less far has more devices left; that tells
    which is better only if none between has to have a node.
    """
    line = problem.line
    assert line is not None
    k = problem.k
    place = np.arange(k)[::-1] if backwards else np.arange(k)  # of each type, in the order in which chains go
    filled = np.array([d in line.filled for d in line.devices], np.bool_)[np.argsort(place)]
    owed = np.concatenate([[0], np.cumsum(filled)])  # devices before each place that have to have a node
    counts = table.keeps_by_place and not filled.all()
    rows = k + 1 if counts else 1
    come, stages = (each.ravel() for each in np.divmod(np.arange((k + 1) * rows), rows))
    passed = (place[None, :] < come[:, None]).astype(np.int64)
    columns: list[Ints] = [passed]
    if filled.any():
        columns.append((owed[-1] - owed[come])[:, None])  # two chains are compared where this is equal
    if counts:
        columns.append(stages[:, None])
    used = np.concatenate(columns, axis=1)
    stride = np.array([*([rows] * k), *([0] if filled.any() else []), *([1] if counts else [])], np.int64)
    if filled.any():
        stride[:] = 0  # no state is better than another one
    at = place[[shape.kind for shape in table.shapes]]
    ahead = at[None, :] >= come[:, None]
    skipped = np.where(ahead, owed[at][None, :] - owed[come][:, None], 1)
    to = np.where(ahead, (at[None, :] + 1) * rows, 0)
    fits = ahead & (skipped == 0)
    if counts:
        to = to + np.minimum(stages + 1, k)[:, None]
        fits &= (stages < k)[:, None]
    return ShapeStates(
        used=used,
        stride=stride,
        after=np.ascontiguousarray(stages if counts else np.minimum(come, k)),
        to=np.ascontiguousarray(np.where(fits, to, 0)),
        open=np.ascontiguousarray(fits),
        final=np.ascontiguousarray(owed[come] == owed[-1]),
    )
