"""A schedule as a sequence of nodes and transfers, and how long before the end each has to be over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample

__all__ = ["SampleTimeline"]


@dataclass(frozen=True, eq=False)
class SampleTimeline:
    """A schedule in whole numbers.

    Attributes:
        device, start, takes: [n] of every node.
        sent, carried: [m] of every transfer; of an edge within a device, its tail's end and 0.
        order: [n] nodes in the order in which they start; each comes after what it reads, and after what its device
            does before it.
        place, place_sent: [n], [m] of every node and transfer among all of them.
        rest, rest_sent: [n], [m] the time from the end of each to the end of everything, were all as late as its order
            on devices (and ports, where links are exclusive) lets it.
        port: [m] whether the transfer keeps ports busy.
    """

    device: Ints
    start: Ints
    takes: Ints
    sent: Ints
    carried: Ints
    order: Ints
    place: Ints
    place_sent: Ints
    rest: Ints
    rest_sent: Ints
    port: Bools

    @property
    def end(self) -> Ints:
        """[n] of every node."""
        return np.asarray(self.start + self.takes, np.int64)

    @property
    def makespan(self) -> int:
        """When the last node ends."""
        return int(self.end.max(initial=0))

    @classmethod
    def of(cls, whole: WholeSample, plan: Plan) -> SampleTimeline:
        """Return the timeline of *plan*, whose moments are rounded down to the units of *whole*."""
        assert plan.schedule is not None
        asked, graph, n = whole.request, whole.instance.graph, whole.instance.n
        device = np.asarray(plan.assignment, np.int64)
        start = whole.scale.down(plan.schedule.start)
        takes = asked.duration[np.arange(n), device]
        carried = asked.table[asked.row, device[graph.tails], device[graph.heads]]
        end = (start + takes)[graph.tails]
        sent = np.maximum(whole.scale.down(np.nan_to_num(plan.schedule.sent)), end)
        place = np.empty(n)
        place[graph.topological_order] = np.arange(n)
        keys = (np.append(place, place[graph.heads] - 0.5), np.append(start + takes, sent + carried))
        items = np.lexsort((*keys, np.append(start, sent)))
        rank = np.empty(len(items), np.int64)
        rank[items] = np.arange(len(items))
        port = asked.exclusive & (carried > 0)
        rest, rest_sent = _rests(whole, device, takes, carried, items, port)
        return cls(device, start, takes, sent, carried, items[items < n], rank[:n], rank[n:], rest, rest_sent, port)


def _rests(whole: WholeSample, device: Ints, takes: Ints, carried: Ints, items: Ints, port: Bools) -> tuple[Ints, Ints]:
    """Return the times from the ends of nodes and of transfers to the end of everything."""
    graph, n, k = whole.instance.graph, whole.instance.n, whole.instance.k
    where, duration, carry = device.tolist(), takes.tolist(), carried.tolist()
    tails, heads, exclusive = graph.tails.tolist(), graph.heads.tolist(), port.tolist()
    rest, rest_sent = [0] * n, [0] * graph.m
    runs, sends, receives = [0] * k, [0] * k, [0] * k  # from when on, before the end, each is busy
    after = [0] * n  # from when on, before the end, what a node sends has to be on its way
    for item in reversed(items.tolist()):
        if item < n:
            d = where[item]
            rest[item] = max(after[item], runs[d]) if duration[item] else after[item]
            if duration[item]:
                runs[d] = rest[item] + duration[item]
            continue
        e = item - n
        u, v = tails[e], heads[e]
        rest_sent[e] = rest[v] + duration[v]
        if exclusive[e]:
            d, f = where[u], where[v]
            rest_sent[e] = max(rest_sent[e], sends[d], receives[f])
            sends[d] = receives[f] = rest_sent[e] + carry[e]
        after[u] = max(after[u], rest_sent[e] + carry[e])
    return np.array(rest, np.int64), np.array(rest_sent, np.int64)
