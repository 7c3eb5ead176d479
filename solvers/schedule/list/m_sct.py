"""Method ``m-sct``: small communication times, by favourite children."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.list.list_rules import upward_ranks
from mtpp_dsl.solvers.schedule.list.list_run import Lister
from mtpp_dsl.solvers.schedule.list.ranks import mean_carry, mean_time
from mtpp_dsl.solvers.schedule.list.relaxation import ProgrammeRows, minimum

__all__ = ["m_sct"]


PLAIN = "without favourite children this is etf"


def m_sct(lister: Lister) -> Plan:
    """Solve the programme, then place nodes by their starts."""
    return lister.earliest(upward_ranks(lister.instance), favourite=favourites(lister))


def favourites(lister: Lister) -> Ints | None:
    """Return [n] the favourite child of every node, -1 for none; None, with a note, if HiGHS found no solution.

    Columns: for every edge whether it is paid (0: its head is the favourite of its tail), starts, and the makespan.
    """
    graph, n, m = lister.instance.graph, lister.instance.n, lister.instance.m
    takes, carry = mean_time(lister.instance), mean_carry(lister.instance)
    scale = max(float(takes.max(initial=0.0)), float(carry.max(initial=0.0))) or 1.0
    takes, carry = takes / scale, carry / scale
    edges, nodes, one, each = np.arange(m), np.arange(n), np.ones(m), np.ones(n)
    paid = ProgrammeRows(
        np.concatenate([edges, edges, edges]),
        np.concatenate([m + graph.tails, m + graph.heads, edges]),
        np.concatenate([one, -one, carry]),
        -takes[graph.tails],
    )
    ended = ProgrammeRows(
        np.concatenate([nodes, nodes]), np.concatenate([m + nodes, np.full(n, m + n)]), np.append(each, -each), -takes
    )
    children, parents = np.diff(graph.offsets), np.diff(graph.offsets_in)
    one_child = ProgrammeRows(graph.tails, edges, -one, 1.0 - np.maximum(children, 1))
    one_parent = ProgrammeRows(graph.heads, edges, -one, 1.0 - np.maximum(parents, 1))
    cost = np.zeros(m + n + 1)
    cost[-1] = 1.0
    upper = np.concatenate([one, np.full(n + 1, np.inf)])
    found = minimum(lister, cost, ProgrammeRows.stacked(paid, ended, one_child, one_parent), upper, otherwise=PLAIN)
    return None if found is None else _matched(graph.tails, graph.heads, found[:m], n)


def _matched(tails: Ints, heads: Ints, paid: Floats, n: int) -> Ints:
    """Return [n] the head of each node's edge that is paid by less than a half; no head is the favourite of two."""
    favourite = np.full(n, -1, np.int64)
    taken = np.zeros(n, np.bool_)
    for e in np.argsort(paid, kind="stable").tolist():
        if paid[e] >= 0.5:
            break
        if favourite[tails[e]] < 0 and not taken[heads[e]]:
            favourite[tails[e]] = heads[e]
            taken[heads[e]] = True
    return favourite
