"""Hold nodes together that share a heavy tensor, so that moves take all of them at once."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.problem.colocation import together
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["joined"]

HEAVY = 0.25
"""A tensor is heavy if one transfer takes longer than this share of the mean work of a device."""
LONGEST = 1.0
"""Of the mean work of a device: what nodes that are held together may take."""


def joined(problem: Problem) -> Problem | None:
    """Return the problem in which the producer of a heavy tensor and all its readers stay together.

    Whatever cuts such a tensor pays for it on two devices, so few good plans do; but moves of one node after the other
    from one device to the next do so on their way (herrmann2019 holds nodes together for the same reason).

    Returns None if there is no heavy tensor between nodes that may be apart, or if so many nodes would stay together
    that no plan could share out the work.
    """
    graph = problem.graph
    least = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
    mean = float(least[np.isfinite(least)].sum()) / problem.k
    before = together(problem)
    heavy = (problem.tensor_time[graph.tails] > HEAVY * mean) & (before[graph.tails] != before[graph.heads])
    if not heavy.any():
        return None
    ends = zip(graph.tails[heavy].tolist(), graph.heads[heavy].tolist(), strict=True)
    strict = problem.with_constraints([*problem.constraints, *(Colocate(nodes=pair) for pair in ends)])
    of = together(strict)
    work = np.bincount(of, least)
    changed = np.bincount(of) > np.bincount(before)[before[np.unique(of, return_index=True)[1]]]
    return strict if (work[changed] <= LONGEST * mean).all() else None
