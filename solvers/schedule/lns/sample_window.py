"""State a part of a schedule of one sample as a request, all else staying as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.request import INF, Busy, DecisionRow, Request, Solution, Term, request
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample


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


class Window:
    """Nodes that come one after another in a timeline, to be placed and timed anew.

    What starts before them stays where and when it is. What starts after them stays where it is, in its order, and
    comes as late before the end of everything as it can: the sooner the window is over, the sooner all is. Where links
    are exclusive, the transfers of one part and of the other keep their ports busy, at times that stay or that move
    with the end; and the nodes at the other ends of transfers that may change are tasks too, which stay where they are.

    Args:
        whole: the problem. Labelled constraints that speak of anything but placements are left out here: the plan
            that comes of a part is checked.
        line: a schedule.
        first, last: the nodes are ``line.order[first:last]``.
        may: [n, k] where these nodes may go.

    Attributes:
        inside: the nodes.
        nodes: the nodes that are tasks of the request, those inside first.
    """

    def __init__(self, whole: WholeSample, line: SampleTimeline, first: int, last: int, may: Bools) -> None:
        self._whole, self._asked, self._line, self._may = whole, whole.request, line, may
        n, graph = self._asked.n, whole.instance.graph
        self._tails, self._heads = graph.tails, graph.heads
        self.inside = line.order[first:last]
        self._side = np.zeros(n, np.int64)
        self._side[line.order[:first]] = -1
        self._side[line.order[last:]] = 1
        tail, head = self._side[self._tails], self._side[self._heads]
        self._early = line.place_sent < line.place[line.order[first]]
        late = line.place_sent > line.place[line.order[last]] if last < n else np.zeros(len(tail), np.bool_)
        self._moving = (tail == 0) | (head == 0)
        if self._asked.exclusive:
            self._moving |= (tail < 0) & (head > 0) & line.port & ~self._early & ~late
        kept = self._moving if self._asked.exclusive else (tail == 0) & (head == 0)
        self._kept = np.flatnonzero(kept)
        ends = np.unique(np.append(self._tails[kept], self._heads[kept]))
        self.nodes = np.append(self.inside, ends[self._side[ends] != 0])
        self._number = np.full(n, -1)
        self._number[self.nodes] = np.arange(len(self.nodes))

    def request(self, cutoff: int, *, hint: bool) -> Request:
        """Return what to ask for an end by *cutoff*, with the schedule as it is for a hint, if one is wanted."""
        asked, line, nodes = self._asked, self._line, self.nodes
        duration = self._durations()
        head, tail, at_least = self._limits(duration)
        before = self._side[nodes] < 0
        return request(
            duration,
            self._number[self._tails[self._kept]],
            self._number[self._heads[self._kept]],
            asked.row[self._kept],
            asked.table,
            cutoff=cutoff,
            exclusive=asked.exclusive,
            at_least=at_least,
            size=np.where(self._side[nodes] == 0, asked.size[nodes], 0),
            capacity=self._room(),
            together=self._together(),
            apart=tuple(tuple(i for i in self._number[list(vs)].tolist() if i >= 0) for vs in asked.apart),
            head=head,
            tail=tail,
            latest=np.where(before, line.start[nodes], INF),
            rows=tuple(self._rows()),
            busy=tuple(self._busy(duration, head, tail)) if asked.exclusive else (),
            hint=Solution(line.device[nodes], line.start[nodes], line.sent[self._kept]) if hint else None,
        )

    def schedule(self, solution: Solution, makespan: int) -> Solution:
        """Return the whole schedule with *solution* put in, which ends at *makespan*."""
        line, count = self._line, len(self.inside)
        device, start = line.device.copy(), line.start.copy()
        after = self._side > 0
        start[after] = (makespan - line.rest - line.takes)[after]
        device[self.inside], start[self.inside] = solution.device[:count], solution.start[:count]
        sent = np.where(self._early, line.sent, makespan - line.rest_sent - line.carried)
        if self._asked.exclusive:
            sent[self._kept] = solution.sent
        return Solution(device, start, sent)

    def _durations(self) -> Ints:
        """Return the durations of the tasks, ``INF`` where one may not go."""
        asked, line, nodes = self._asked, self._line, self.nodes
        outside = self._side != 0
        bound = np.zeros(int(asked.together.max(initial=-1)) + 1, np.bool_)
        bound[asked.together[outside]] = True
        may = self._may[nodes] & ~(outside[nodes] | bound[asked.together[nodes]])[:, None]
        for tasks in asked.apart:
            others = [v for v in tasks if outside[v]]
            here = [i for i in self._number[list(tasks)].tolist() if i >= 0]
            may[np.ix_(here, line.device[others])] = False
        may[np.arange(len(nodes)), line.device[nodes]] = True
        return np.where(may, asked.duration[nodes], INF)

    def _limits(self, duration: Ints) -> tuple[Ints, Ints, int]:
        """Return when tasks can start, and what is left after their ends, by device; and when all ends at least."""
        asked, line, side, nodes = self._asked, self._line, self._side, self.nodes
        free, left = np.zeros(asked.k, np.int64), np.zeros(asked.k, np.int64)
        early, after = (side < 0) & (line.takes > 0), (side > 0) & (line.takes > 0)
        np.maximum.at(free, line.device[early], line.end[early])
        np.maximum.at(left, line.device[after], (line.takes + line.rest)[after])
        waits = (duration > 0) & (side[nodes] == 0)[:, None]
        head, tail = np.where(waits, free, 0), np.where(waits, left, 0)
        tail_side, head_side = side[self._tails], side[self._heads]
        into = np.flatnonzero((tail_side < 0) & (head_side == 0))
        u, v = self._tails[into], self._heads[into]
        np.maximum.at(head, self._number[v], line.end[u][:, None] + asked.table[asked.row[into], line.device[u], :])
        out = np.flatnonzero((tail_side == 0) & (head_side > 0))
        u, v = self._tails[out], self._heads[out]
        rest = (line.takes + line.rest)[v]
        np.maximum.at(tail, self._number[u], rest[:, None] + asked.table[asked.row[out], :, line.device[v]])
        outside = side[nodes] != 0
        head[outside] = np.where(side[nodes] < 0, line.start[nodes], 0)[outside, None]
        tail[outside] = np.where(side[nodes] > 0, line.rest[nodes], 0)[outside, None]
        at_least = max(self._beside(), int((free + left).max(initial=0)))
        return head, tail, at_least

    def _beside(self) -> int:
        """Return when all ends at least, by what passes the window: nodes before it, and transfers that stay."""
        line, side, k = self._line, self._side, self._asked.k
        across = (side[self._tails] < 0) & (side[self._heads] > 0) & ~self._moving
        kept = line.sent + line.carried + (line.takes + line.rest)[self._heads]
        moved = line.end[self._tails] + line.carried + line.rest_sent
        ends = [int(line.end[side < 0].max(initial=0)), int(np.where(self._early, kept, moved)[across].max(initial=0))]
        early = line.port & ~self._moving & self._early
        late = line.port & ~self._moving & ~self._early
        for node in (self._tails, self._heads):
            free, left = np.zeros(k, np.int64), np.zeros(k, np.int64)
            np.maximum.at(free, line.device[node[early]], (line.sent + line.carried)[early])
            np.maximum.at(left, line.device[node[late]], (line.carried + line.rest_sent)[late])
            ends.append(int((free + left).max(initial=0)))
        return max(ends)

    def _together(self) -> Ints:
        """Return the classes of the tasks; those that are not inside are where they are, each for itself."""
        nodes = self.nodes
        outside = self._side[nodes] != 0
        classes = np.where(outside, self._asked.n + np.arange(len(nodes)), self._asked.together[nodes])
        return np.asarray(np.unique(classes, return_inverse=True)[1].reshape(-1), np.int64)

    def _room(self) -> Ints:
        """Return what the nodes that are not inside leave of the devices."""
        asked, outside = self._asked, self._side != 0
        used = np.zeros(asked.k, np.int64)
        np.add.at(used, self._line.device[outside], asked.size[outside])
        return np.where(asked.capacity < INF, asked.capacity - used, INF)

    def _rows(self) -> Iterator[DecisionRow]:
        """Yield what labelled constraints on placements ask of the nodes inside, all others being where they are."""
        for row in self._asked.rows[: self._whole.labelled]:
            if any(term[0] != "on" for term, _ in row.terms):
                continue
            inside: list[tuple[Term, int]] = []
            rest = 0
            for (_, v, d), a in row.terms:
                if self._side[v] == 0:
                    inside.append((("on", int(self._number[v]), d), a))
                else:
                    rest += a * int(self._line.device[v] == d)
            if inside:
                low, high = (None if limit is None else limit - rest for limit in (row.lower, row.upper))
                yield DecisionRow(tuple(inside), low, high)

    def _busy(self, duration: Ints, head: Ints, tail: Ints) -> list[Busy]:
        """Return when ports carry what does not change, as far as that is neither before nor after everything else."""
        line, busy = self._line, []
        possible = duration < INF
        soon = int((head + duration)[possible].min())
        rest = int((tail + duration)[possible].min())
        for e in np.flatnonzero(line.port & ~self._moving).tolist():
            takes = int(line.carried[e])
            if self._early[e]:
                at = int(line.sent[e])
                if at + takes <= soon:
                    continue
            else:
                at = int(line.rest_sent[e]) + takes
                if at <= rest:
                    continue
            sender, receiver = int(line.device[self._tails[e]]), int(line.device[self._heads[e]])
            moves = not self._early[e]
            busy += [Busy("out", sender, at, takes, moves), Busy("in", receiver, at, takes, moves)]
        return busy
