"""Count again, in plain Python, what nodes that take longer add to the load of every device."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan

from mtpp_dsl.core.constraints import Robust
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["lateness"]


def lateness(problem: Problem, device: Sequence[int]) -> list[float]:
    """Return for every device the most that its nodes can take longer, if so many of them do as the problem allows."""
    found = [0.0] * problem.k
    for rule in problem.of(Robust):
        late: list[list[float]] = [[] for _ in found]
        for v, d in enumerate(device):
            own, share = float(problem.graph.deviation[v]), float(problem.graph.deviation_share[v])
            if problem.time[v, d] == inf:
                continue
            late[d].append((rule.share if isnan(share) else share) * float(problem.time[v, d]) if isnan(own) else own)
        for d, times in enumerate(late):
            found[d] += sum(sorted(times, reverse=True)[: rule.most])
    return found
