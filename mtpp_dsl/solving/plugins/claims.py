"""A small problem for everything that a scope can claim, with that and nothing else: what conformance is tested on.

A plug-in is asked for the problems of a claim in their order, and solves the first that it accepts: what it claims may
hold only beside ``acyclic``, or of stages in order. Each problem stands beside one that lacks what is claimed, and has
another optimum: whoever ignores what he claims is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Bottleneck,
    Colocate,
    Constraint,
    Contiguous,
    Copies,
    Decision,
    ExclusiveLinks,
    Finish,
    Forbid,
    InOrder,
    Largest,
    Latency,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Pin,
    PinChunks,
    Repeat,
    Replicate,
    Robust,
    Separate,
    Shard,
    StageMemory,
    Start,
    Subgraphs,
    Used,
)
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["ClaimedKind", "ScopeClaim", "claimed", "claims", "variants"]

Rules = tuple[Constraint, ...]

ORDERS: tuple[Rules, ...] = ((), (Acyclic(),), (InOrder(),))
"""What a plug-in may need beside: nothing, or that data never goes back."""

NAMES, CHAIN = "abcd", [(0, 1), (1, 2), (2, 3)]
WORK, HEAVY = [3.0, 5.0, 4.0, 2.0], [4.0, 1.0, 1.0, 1.0]
SPLIT = Graph.create(NAMES, CHAIN, work=WORK, output=[0.25, 0.25, 0.25, 0.0], params=HEAVY, memory=HEAVY)
"""A chain whose best split in two is {a, c} and {b, d}, and {a, b} and {c, d} where it is not to go back."""

THERE_AND_BACK = Graph.create(
    NAMES, CHAIN, work=[1.0, 1.25, 4.0, 3.5], output=0.25, params=1.0, backward=[False, False, True, True]
)
"""A training graph whose best split keeps the two ends together: that goes back, but not in one of the parts."""

PAIR = np.ones((2, 2))
TWO = (Device("p", memory=4.0), Device("q", memory=4.0))
UNLIMITED = (Device("p"), Device("q"))
SLOW = (Device("p"), Device("q", speed=0.5))
NETWORKS: dict[str, Interconnect] = {
    "shared": Shared(1.0),
    "host": Host(1.0),
    "links": Links(PAIR, 0.125 * PAIR),
    "tree": Tree(("root",), np.array([0, 0, -1]), np.array([1.0, 1.0, np.inf]), np.zeros(3), np.zeros(3) > 0),
}
ONE_PIECE = (Subgraphs(most=1),)
WEIGHTED = Objective.linear([(Bottleneck(), 1.0), (Latency(), 0.125)])
DIAMOND = Graph.create(
    NAMES, [(0, 1), (0, 2), (1, 3), (2, 3)], work=[1.0, 4.0, 3.0, 2.0], output=0.5, params=HEAVY, memory=HEAVY
)
STAR = Graph.create(NAMES, [(0, 1), (0, 2), (0, 3)], work=[1.0, 9.0, 9.0, 9.0], output=[2.0, 0.0, 0.0, 0.0])
CHAINS = Graph.create(NAMES, [(0, 2), (1, 3)], work=WORK, output=0.25, params=HEAVY, memory=HEAVY)
BATCH = Graph.create("ab", [(0, 1)], work=[2.0, 3.0], output=0.5, params=[3.0, 2.0], memory=[3.0, 2.0])
BOTTLENECK, MAKESPAN = Objective("bottleneck"), Objective("makespan")
NONE = np.zeros(4, np.bool_)


@dataclass(frozen=True)
class ClaimedKind:
    """What is asked, apart from what a plug-in may need beside."""

    on: Interconnect
    to: Objective
    graph: Graph = SPLIT
    devices: tuple[Device, ...] = UNLIMITED
    rules: Rules = ()

    def problem(self, order: Rules = ()) -> Problem:
        """Return the problem beside *order*."""
        return Problem.create(self.graph, self.devices, self.on, self.to, [*order, *self.rules])


@dataclass(frozen=True)
class ScopeClaim:
    """One thing that a scope can claim for an objective on an interconnect.

    Attributes:
        asked: a problem that has it.
        without: problems in which it is ignored, in one way or another.
        orders: what may be asked beside, so that the optima differ.
    """

    asked: ClaimedKind
    without: tuple[ClaimedKind, ...]
    orders: tuple[Rules, ...] = ORDERS

    def problems(self) -> Iterator[tuple[str, Problem]]:
        """Yield the problem beside each of what a plug-in may need, with what to add to its name."""
        for order in self.orders:
            beside = f" (beside {' and '.join(rule.keyword for rule in order)})" if order else ""
            yield beside, self.asked.problem(order)


def row(*terms: tuple[Decision, float], most: float, penalty: float | None = None) -> Linear:
    """Return a labelled constraint that limits a sum from above."""
    return Linear(label="limit", terms=terms, sense="<=", rhs=most, penalty=penalty)


ONE_USED = ((Used(0), 1.0), (Used(1), 1.0))
UNEVEN = Largest(tuple((((Load(d), 1.0 + d),), 0.0) for d in range(2)))

SPOKEN: dict[str, Linear] = {
    "on": row((On(1, 0), -1.0), (On(2, 0), -1.0), most=-2.0),
    "load": row((Load(0), 1.0), most=5.0),
    "bottleneck": row((Load(0), 1.0), (Bottleneck(), -0.5), most=0.0),
    "used": row(*ONE_USED, most=1.0),
    "latency": row((Latency(), 1.0), most=14.0),
    "largest": row((UNEVEN, 1.0), most=12.0),
}
"""A row that speaks of each decision of a split, and leaves none of its best plans."""

TIMED: dict[str, Linear] = {
    "on": SPOKEN["on"],
    "load": row((Load(0), 1.0), (Load(1), -1.0), most=-8.0),
    "bottleneck": row((Bottleneck(), 1.0), most=6.0),
    "used": SPOKEN["used"],
    "latency": row((Latency(), 1.0), most=10.0),
    "start": row((Start(2), 1.0), most=1.0),
    "finish": row((Finish(2), 1.0), most=4.0),
    "makespan": row((Makespan(), 1.0), (Load(0), -1.0), most=0.0),
}
"""The same of schedules."""

KEPT: dict[str, tuple[Constraint, ...]] = {
    "colocate": (Colocate(nodes=(1, 2)),),
    "separate": (Separate(nodes=(0, 1)), Separate(nodes=(0, 2))),
    "pin": (Pin(nodes=(1, 2), devices=(0,)),),
    "forbid": (Forbid(nodes=(1, 2), devices=(1,)),),
}
"""Constraints that leave none of the best splits, whether data may go back or not."""


def with_rules(base: ClaimedKind, *rules: Constraint, orders: tuple[Rules, ...] = ORDERS) -> ScopeClaim:
    """Return the claim of constraints: *base* beside them, and by itself."""
    return ScopeClaim(replace(base, rules=(*base.rules, *rules)), (base,), orders)


def _of_splits(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what can be claimed of an objective of splits, whatever joins the devices."""
    soft, back = row(*ONE_USED, most=1.0, penalty=2.0), replace(base, graph=THERE_AND_BACK)
    whole = replace(back, graph=replace(THERE_AND_BACK, backward=NONE))
    yield "itself", ScopeClaim(base, (replace(base, on=Shared(8.0)),))
    yield "acyclic", with_rules(base, Acyclic(), orders=((),))
    yield "contiguous", with_rules(base, Contiguous(), orders=((),))
    yield "stages", with_rules(base, InOrder(), orders=((),))
    for kind, rules in KEPT.items():
        yield kind, with_rules(base, *rules)
    yield "memory", with_rules(replace(base, devices=TWO), Memory())
    roomy = replace(base, devices=tuple(replace(device, memory=7.0) for device in TWO), rules=(*base.rules, Memory()))
    working = replace(roomy, graph=replace(SPLIT, workspace=np.array([0.0, 3.0, 3.0, 0.0])))
    yield "workspaces", ScopeClaim(working, (roomy,))
    for kind, spoken in SPOKEN.items():
        if base.to.parts == "together" or kind != "bottleneck":
            yield f"a row about {kind}", with_rules(base, spoken)
    yield (
        "a penalty",
        ScopeClaim(with_rules(base, soft).asked, (base, with_rules(base, replace(soft, penalty=None)).asked)),
    )
    yield "backward", ScopeClaim(back, (whole,), (*ORDERS[1:], (Contiguous(),)))
    yield "unequal speeds", ScopeClaim(replace(base, devices=SLOW), (base,))
    rare = replace(base.graph, kinds=("", "rare", "rare", ""))
    yield (
        "nodes that a device cannot run",
        ScopeClaim(
            replace(base, graph=rare, devices=(UNLIMITED[0], replace(UNLIMITED[1], unsupported=frozenset(["rare"])))),
            (base,),
        ),
    )


def _of_channels(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what else can be claimed on a channel that all devices share."""
    assert isinstance(base.on, (Shared, Host))
    grouped = tuple(replace(device, group=group) for device, group in zip(UNLIMITED, "xy", strict=True))
    slower = replace(base.on, between=0.25)
    yield "groups", ScopeClaim(replace(base, on=slower, devices=grouped), (base,))
    among = tuple(Device(f"d[{d}]", group=group) for d, group in enumerate("xxy"))
    pinned = ClaimedKind(slower, base.to, devices=among, rules=(Pin(nodes=(1,), devices=(2,)),))
    ordered, unordered = (replace(pinned, rules=(*pinned.rules, Acyclic(groups=rule))) for rule in ("ordered", "free"))
    yield "free groups", ScopeClaim(unordered, (ordered,), ((),))
    streamed = replace(base, on=replace(base.on, overflow=True), devices=TWO)
    yield "streams", ScopeClaim(streamed, (base, replace(base, devices=TWO, rules=(Memory(),))))
    if base.to.parts == "together":
        heavy = replace(base.graph, params=4 * base.graph.params)
        fetched = replace(base, graph=heavy, on=replace(base.on, overflow=True, prefetch=True), devices=TWO)
        slower_on, never = replace(base.on, overflow=True), base.on
        yield "prefetch", ScopeClaim(fetched, tuple(replace(fetched, on=on) for on in (slower_on, never)))
    if isinstance(base.on, Host):
        free = tuple(replace(device, pays_io=False) for device in UNLIMITED)
        yield "devices that do not pay for I/O", ScopeClaim(replace(base, devices=free), (base,))
        yield "one of them", ScopeClaim(replace(base, devices=(UNLIMITED[0], free[1])), (base,), ORDERS[1:2])


def _of_bottlenecks(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what else can be claimed of a bottleneck on a channel."""
    yield "deviations", with_rules(base, Robust(most=1, share=0.5))
    yield "replicas", with_rules(base, Replicate(most=2), orders=ORDERS[:2])
    yield "shards", with_rules(base, Shard(by=(1, 2)), orders=ORDERS[:2])
    kept = replace(
        base,
        graph=replace(SPLIT, saved=np.array([1.0, 1.0, 1.0, 1.0])),
        devices=tuple(replace(d, memory=8.0) for d in TWO),
    )
    yield (
        "memory of stages",
        ScopeClaim(
            replace(kept, rules=(StageMemory(schedule="1f1b", microbatches=2),)),
            (kept, replace(kept, rules=(Memory(),))),
            ORDERS[1:],
        ),
    )


def _of_iterations(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what can be claimed of the time of an iteration."""
    yield "itself", ScopeClaim(base, (replace(base, to=BOTTLENECK),), ORDERS[1:])
    for kind, rules in KEPT.items():
        yield kind, with_rules(base, *rules, orders=ORDERS[1:])
    yield "memory", with_rules(replace(base, devices=TWO), Memory(), orders=ORDERS[1:])
    yield "replicas", with_rules(base, Replicate(most=2), orders=ORDERS[1:2])
    yield "shards", with_rules(base, Shard(by=(1, 2)), orders=ORDERS[1:2])
    yield "unequal speeds", ScopeClaim(replace(base, devices=SLOW), (base,), ORDERS[1:])


def _of_phases(on: Interconnect) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what can be claimed of single phases."""
    graph = phased_graph({"p": SPLIT, "q": replace(SPLIT, work=np.array([2.0, 1.0, 1.0, 5.0]))})
    both = ClaimedKind(on, BOTTLENECK, graph=graph)
    p, q = (replace(both, to=Objective.linear([(Bottleneck(name), 1.0)])) for name in "pq")
    yield "a phase", ScopeClaim(p, (both, q))
    limit = row((Latency("q"), 1.0), most=9.0)
    yield "a row about a phase", with_rules(p, limit)


def _of_linear(on: Interconnect) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield objectives that speak of one decision each, and go against the largest load."""
    prices: list[tuple[Decision, float]] = [(On(v, d), float(1 + (v + d) % 2)) for v in range(4) for d in range(2)]
    terms: dict[str, list[tuple[Decision, float]]] = {
        "on": prices,
        "load": [(Load(0), 3.0), (Load(1), 1.0)],
        "bottleneck": [(Bottleneck(), 2.0)],
        "used": list(ONE_USED),
        "latency": [(Latency(), 1.0)],
        "largest": [(UNEVEN, 1.0)],
    }
    for kind, weighted in terms.items():
        yield (
            f"an objective of {kind}",
            ScopeClaim(ClaimedKind(on, Objective.linear(weighted)), (ClaimedKind(on, BOTTLENECK),)),
        )


def _of_schedules(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what can be claimed of one sample that runs on links."""
    alone: tuple[Rules, ...] = ((),)
    yield "itself", ScopeClaim(base, (replace(base, to=BOTTLENECK),), alone)
    three = Links(np.ones((3, 3)), np.zeros((3, 3)))
    star = ClaimedKind(three, base.to, graph=STAR, devices=tuple(map(Device, "pqr")))
    yield "exclusive links", with_rules(star, ExclusiveLinks(), orders=alone)
    for kind, rules in KEPT.items():
        yield kind, with_rules(base, *rules, orders=alone)
    yield "memory", with_rules(replace(base, devices=TWO), Memory(), orders=alone)
    yield "acyclic", with_rules(base, Acyclic(), orders=alone)
    yield "contiguous", with_rules(base, Contiguous(), orders=alone)
    for kind, spoken in TIMED.items():
        yield f"a row about {kind}", with_rules(base, spoken, orders=alone)
    yield "unequal speeds", ScopeClaim(replace(base, devices=SLOW), (base,), alone)
    yield "a penalty", ScopeClaim(with_rules(base, row(*ONE_USED, most=1.0, penalty=1.0)).asked, (base,), alone)


def _of_batches(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what can be claimed of the throughput of a batch."""
    alone, apart = (
        ((),),
        ClaimedKind(base.on, Objective("throughput", batch=1), graph=Graph.create("ab", [], work=[2.0, 3.0])),
    )
    yield "batch", with_rules(base, BatchSizes(sizes=(2,)), orders=alone)
    yield "colocate", with_rules(apart, Colocate(nodes=(0, 1)), orders=alone)
    yield "separate", with_rules(base, Separate(nodes=(0, 1)), orders=alone)
    yield "pin", with_rules(base, Pin(nodes=(0, 1), devices=(0,)), orders=alone)
    yield "forbid", with_rules(base, Forbid(nodes=(0, 1), devices=(1,)), orders=alone)
    yield "pin chunks", with_rules(base, PinChunks(nodes=(0,), places=(0, 0)), orders=alone)
    limited = with_rules(replace(base, devices=TWO), Memory(), orders=alone)
    yield "memory", limited
    yield "repeat", with_rules(limited.asked, Repeat(most=2), orders=alone)
    yield "unequal speeds", ScopeClaim(replace(base, devices=SLOW), (base,), alone)


def _of_subgraphs(base: ClaimedKind) -> Iterator[tuple[str, ScopeClaim]]:
    """Yield what can be claimed of the latency of one sample by subgraphs."""
    orders: tuple[Rules, ...] = ((Contiguous(),), ONE_PIECE)
    diamond = replace(base, graph=DIAMOND)
    yield (
        "subgraphs",
        ScopeClaim(replace(diamond, rules=ONE_PIECE), (replace(diamond, rules=(Subgraphs(most=2),)),), ((),)),
    )
    for kind, rules in KEPT.items():
        yield kind, with_rules(base, *rules, orders=orders)
    yield "memory", with_rules(replace(base, devices=TWO), Memory(), orders=orders)
    yield "unequal speeds", ScopeClaim(replace(base, devices=SLOW), (base,), orders)


@cache
def claims() -> dict[str, ScopeClaim]:
    """Return what can be claimed, each by a name such as "memory, for a bottleneck on links"."""
    by_name: dict[str, ScopeClaim] = {}

    def add(asked: str, on: str, several: Iterator[tuple[str, ScopeClaim]]) -> None:
        by_name.update({f"{name}, for {asked} on {on}": claim for name, claim in several})

    for name, on in NETWORKS.items():
        bottleneck, weighted = ClaimedKind(on, BOTTLENECK), ClaimedKind(on, WEIGHTED)
        period = ClaimedKind(on, Objective("throughput"))
        add("a bottleneck", name, _of_splits(bottleneck))
        add("a throughput", name, iter([("copies", with_rules(period, Copies(most=2), orders=(ORDERS[1], ())))]))
        add("a weighted sum", name, _of_splits(weighted))
        add("a weighted sum", name, _of_linear(on))
        add("single phases", name, _of_phases(on))
        if not isinstance(on, (Shared, Host)):
            continue
        separate = ClaimedKind(on, Objective("bottleneck", parts="separate"))
        turned = replace(THERE_AND_BACK, work=np.array([3.0, 1.0, 3.5, 1.0]))
        parts = ScopeClaim(replace(separate, graph=turned), (replace(bottleneck, graph=turned),))
        add("a bottleneck", name, _of_channels(bottleneck))
        add("a bottleneck", name, _of_bottlenecks(bottleneck))
        add("a weighted sum", name, _of_channels(weighted))
        add("separate parts", name, iter([("itself", parts), *list(_of_splits(separate))[1:], *_of_channels(separate)]))
        for schedule in ("gpipe", "1f1b"):
            iteration = Objective("iteration", microbatches=3, schedule=schedule)
            add(f"an iteration of {schedule}", name, _of_iterations(ClaimedKind(on, iteration)))
        add("the latency of a sample", name, _of_subgraphs(ClaimedKind(on, MAKESPAN, graph=CHAINS)))
    links = NETWORKS["links"]
    add("a makespan", "links", _of_schedules(ClaimedKind(links, MAKESPAN, graph=DIAMOND)))
    add("a batch", "links", _of_batches(ClaimedKind(links, Objective("throughput", batch=2), graph=BATCH)))
    return by_name


@cache
def variants() -> dict[str, dict[str, Problem]]:
    """Return the problems of every claim, by names that tell them apart."""
    return {name: {name + beside: problem for beside, problem in claim.problems()} for name, claim in claims().items()}


def claimed(accepts: Callable[[Problem], str | None]) -> dict[str, Problem]:
    """Return of every claim the first problem that a plug-in accepts, if it accepts one."""
    chosen = {}
    for several in variants().values():
        first = next((name for name, problem in several.items() if accepts(problem) is None), None)
        if first is not None:
            chosen[first] = several[first]
    return chosen
