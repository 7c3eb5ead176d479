"""Check what nodes need while they run, and take off the memory of devices what is sure of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.constraints import Constraint, Copies, Repeat, Replicate, Shard, StageMemory
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.core.problem.objective import Objective

SEVERAL = (Copies, Repeat, Replicate, Shard, StageMemory)
"""Constraints under which it is not defined which workspaces a device has to have room for."""


def check_workspace(graph: Graph, constraints: Sequence[Constraint], objectives: Sequence[Objective]) -> None:
    """Check that workspaces are those of plans with one device for each node.

    Raises:
        UsageError: there are batches.
        ConstraintError: a node may be on several devices, or memory depends on the place of a stage.
    """
    if not graph.workspace.any():
        return
    v = int(graph.workspace.argmax())
    remedy = "leave workspace out, and keep it free with 'reserve' on the devices"
    other = next((constraint for constraint in constraints if isinstance(constraint, SEVERAL)), None)
    if other is not None:
        raise ConstraintError(
            f"the workspace of {graph.names[v]} counts where each node is on one device, and its memory is the same at "
            f"every place; constraint {other} does not leave it so: {remedy}",
            other.origin,
        )
    if any(objective.batch is not None for objective in objectives):
        raise UsageError(f"the workspace of {graph.names[v]} is that of one input, not of a batch: {remedy}")


def least_workspace(graph: Graph, allowed: Bools, room: Floats) -> Floats:
    """Return [devices] the least workspace of any node that may be there; 0 where none may, or *room* has no limit.

    A device that has a node needs that much at least, whichever node it is; one without a node needs no room at all. So
    with the least of it taken off, no plan is lost; and where all of a device's nodes need the same, no other is let
    through.

    Args:
        graph: with the workspaces of its nodes.
        allowed: [n, devices] where each node may be.
        room: [devices] of memory.
    """
    least = np.where(allowed, graph.workspace[:, None], np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(least) & np.isfinite(room), least, 0.0)
