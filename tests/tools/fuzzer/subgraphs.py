"""The latency by subgraphs of tarnawski2020, section 4, on ``host`` and ``shared``: its check, and the least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from tests.tools.fuzzer.instance import Instance, Term
from tests.tools.fuzzer.placing import broken_rows, broken_rules, convex, cyclic

__all__ = ["best", "broken", "cost"]

SLACK = 1e-8
Run = tuple[int, int]


class Runs:
    """The subgraphs of an assignment: (device, number), or (-1, node) for a node where ``io = free``."""

    def __init__(self, inst: Instance, where: Sequence[int], piece: Sequence[int]) -> None:
        self.inst, self.where = inst, where
        self.of: list[Run] = [(d, piece[v]) if inst.pays(d) else (-1, v) for v, d in enumerate(where)]
        self.members = {run: [v for v in range(inst.n) if self.of[v] == run] for run in sorted(set(self.of))}
        self.reads: dict[Run, float] = {}
        self.writes: dict[Run, float] = {}
        for run in self.members:
            into = {u for u, v in inst.edges if self.of[v] == run and self.of[u] != run}
            out = {u for u, v in inst.edges if self.of[u] == run and self.of[v] != run}
            paid = run[0] >= 0
            self.reads[run] = sum(inst.nodes[u].output for u in into) / inst.bandwidth if paid else 0.0
            self.writes[run] = sum(inst.nodes[u].output for u in out) / inst.bandwidth if paid else 0.0
        queues = [[run for run in self.members if run[0] == d] for d in range(inst.k)]
        self.next = [(a, b) for queue in queues for a, b in pairwise(queue)]
        self.waits = {(self.of[u], self.of[v]) for u, v in inst.edges if self.of[u] != self.of[v]} | set(self.next)

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the subgraphs, whenever they run."""
        for d in range(self.inst.k):
            most = self._most(d)
            if self.inst.pays(d) and sum(run[0] == d for run in self.members) > most:
                yield f"more than {most} subgraphs on device {d}"
        for run, nodes in self.members.items():
            if run[0] >= 0 and not convex(set(nodes), list(self.inst.edges)):
                yield f"subgraph {run} is not contiguous"
        if cyclic(self.waits):
            yield "subgraphs wait for each other"

    def _most(self, d: int) -> int:
        most = [rule.most for rule in self.inst.of("Subgraphs") if rule.on(d)]
        return min(most) if most else 1

    def times(self) -> dict[Run, tuple[float, float]]:
        """Return when each begins to read and has written, at the earliest."""
        found: dict[Run, tuple[float, float]] = {}
        while len(found) < len(self.members):
            for run, nodes in self.members.items():
                before = [a for a, b in self.waits if b == run]
                if run not in found and all(a in found for a in before):
                    begin = max([0.0, *(found[a][1] for a in before)])
                    work = sum(self.inst.time(v, self.where[v]) for v in nodes)
                    found[run] = begin, begin + self.reads[run] + work + self.writes[run]
        return found

    def known(self, makespan: float) -> dict[Term, float]:
        """Return the values of the decisions that rows may name."""
        each = [0.0] * self.inst.k
        for v, d in enumerate(self.where):
            each[d] += self.inst.time(v, d)
        for run in self.members:
            if run[0] >= 0:
                each[run[0]] += self.reads[run] + self.writes[run]
        known: dict[Term, float] = {("load", d): load for d, load in enumerate(each)}
        return known | {("makespan",): makespan, ("bottleneck",): max(each)}


def cost(plan: Mapping[str, Any]) -> float:
    """Return when the last node of a plan, as JSON, ends."""
    return max(float(row["end"]) for row in plan["schedule"])


def broken(inst: Instance, plan: Mapping[str, Any], slack: float) -> Iterator[str]:
    """Yield what a plan by subgraphs, as JSON, breaks."""
    place = {device.name: d for d, device in enumerate(inst.devices)}
    rows = {row["node"]: row for row in plan["schedule"]}
    where = [place[plan["assignment"][node.name]] for node in inst.nodes]
    yield from broken_rules(inst, where, slack)
    runs = Runs(inst, where, [rows[node.name]["subgraph"] for node in inst.nodes])
    yield from runs.faults()
    start = [float(rows[node.name]["start"]) for node in inst.nodes]
    end = [float(rows[node.name]["end"]) for node in inst.nodes]
    late = SLACK * max(end)
    for v, d in enumerate(where):
        if abs(end[v] - start[v] - inst.time(v, d)) > late:
            yield f"{inst.nodes[v].name} does not take its time"
    begun = {run: min(start[v] for v in nodes) - runs.reads[run] for run, nodes in runs.members.items()}
    over = {run: max(end[v] for v in nodes) + runs.writes[run] for run, nodes in runs.members.items()}
    if any(begin < -late for begin in begun.values()) or any(begun[b] < over[a] - late for a, b in runs.waits):
        yield "a subgraph starts too early"
    for u, v in inst.edges:
        if runs.of[u] == runs.of[v] and start[v] < end[u] - late:
            yield f"{inst.nodes[v].name} starts too early"
    for run, nodes in runs.members.items():
        busy = sorted((start[v], end[v]) for v in nodes if inst.time(v, where[v]) > 0)
        if any(b[0] < a[1] - late for a, b in pairwise(busy)):
            yield f"two nodes at once in {run}"
    yield from broken_rows(inst, where, runs.known(max(end)), slack)


def best(inst: Instance, slack: float) -> float | None:
    """Return the least latency, by trying every way to part the nodes of every assignment; None if there is none."""
    least: float | None = None
    most = max([rule.most for rule in inst.of("Subgraphs")], default=1)
    for where in product(range(inst.k), repeat=inst.n):
        if any(True for _ in broken_rules(inst, where, slack)):
            continue
        for piece in product(*(range(most if inst.pays(d) else 1) for d in where)):
            runs = Runs(inst, where, piece)
            if any(True for _ in runs.faults()):
                continue
            times = runs.times()
            value = max(over - runs.writes[run] for run, (_, over) in times.items())
            if (least is None or value < least) and not any(
                True for _ in broken_rows(inst, where, runs.known(value), slack)
            ):
                least = value
    return least
