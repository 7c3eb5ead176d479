"""The model that a graph was made of, and which of its operators each node stands for: the way back from a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core.base.data_classes import Picklable, Short


@dataclass(frozen=True)
class Tie:
    """Nodes that share weights, which have to be on one device.

    Attributes:
        nodes: their numbers, rising.
        name: what messages call the weights.
    """

    nodes: tuple[int, ...]
    name: str


@dataclass(frozen=True, eq=False, repr=False)
class GraphOrigin(Short, Picklable):
    """What a graph was made of; everything that maps a plan back to a model goes through it.

    Attributes:
        model: a :class:`mtpp_dsl.exchange.model.model.Model`; this package knows nothing of it.
        group_by: "operator", "module", "part" or "layer".
        members: for each node the numbers of the model's operators that it stands for, rising. An operator that is
            computed anew wherever it is read is a member of several nodes.
        layers: for each node the number of its layer; None outside the stack, and for a node with parts of several.
        roles: for each node "embedding", "layer", "norm", "head" or ""; of several roles the last.
        symbols: the values of the model's symbols.
        options: what else was chosen: the phases, ``weight_type``, ``ties``, ``experts_read``.
        ties: nodes that share weights; :meth:`mtpp_dsl.core.problem.problem.Problem.create` keeps them together.
        working: for each node the most bytes of tensors that are there at once while it runs, in any phase; beside its
            weights, and what it keeps from step to step.
        path: of the file that the model was read from, as the spec gives it; "" where there is none.
    """

    model: Any
    group_by: str
    members: tuple[tuple[int, ...], ...]
    layers: tuple[int | None, ...]
    roles: tuple[str, ...]
    symbols: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    ties: tuple[Tie, ...] = ()
    working: tuple[float, ...] = ()
    path: str = ""
