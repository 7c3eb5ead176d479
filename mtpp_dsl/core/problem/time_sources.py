"""Where the times of a problem are from: given, made of costs by a law, or measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.graph import Graph, Ints, frozen
from mtpp_dsl.core.problem.problem import Problem


def sources_of(problem: Problem) -> Ints:
    """Return [n, devices] the :class:`TimeSource` of each time.

    With phases it is that of the sum: modelled if any part of it is, else measured if any part is.
    """
    graphs = [phase.graph for phase in problem.graph.phases] or [problem.graph]
    parts = np.stack([_alone(graph, problem) for graph in graphs])
    sources = np.full(parts.shape[1:], TimeSource.GIVEN)
    for source in (TimeSource.MEASURED, TimeSource.MODELLED):
        sources[(parts == source).any(axis=0)] = source
    return frozen(sources, np.int64)


def counted_sources(problem: Problem) -> Mapping[str, int]:
    """Return how many times of nodes on devices that can run them are from where, by words; {} if all are given."""
    sources, runs = sources_of(problem), np.isfinite(problem.time)
    if not sources.any():
        return {}
    return {
        source.name.lower(): int((runs & (sources == source)).sum())
        for source in (TimeSource.MODELLED, TimeSource.MEASURED, TimeSource.GIVEN)
    }


def _alone(graph: Graph, problem: Problem) -> Ints:
    unsaid = np.zeros(graph.n, np.int64)
    columns = [graph.time_sources.get(device.name, unsaid) for device in problem.devices]
    return frozen(np.stack(columns, axis=1) if columns else np.zeros((graph.n, 0)), np.int64)
