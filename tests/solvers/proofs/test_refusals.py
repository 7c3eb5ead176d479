"""What certificates say that is no such thing is refused, and what checkers do not know: each for its own reason."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Constraint, Copies, Repeat, Replicate, Shard, StageMemory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.leaves import leaves_of, rows_below
from mtpp_dsl.solvers.proofs.rows import Units
from mtpp_dsl.solvers.proofs.schedule_rows import schedule_rows

DEVICES = "device p (memory = 9)\ndevice q (memory = 9)\n"
ROW = DEVICES + "interconnect shared (bandwidth = 2)\nminimize bottleneck\n"
ORDERED = ROW + "constraint acyclic\n"
TIMED = DEVICES + "interconnect links (bandwidth = 2)\nminimize makespan\n"
TRAINED = 'node "d" (work = 2, part = backward)\nedge "c" -> "d"\n'
BATCH = DEVICES + "interconnect links (bandwidth = 2)\nmaximize throughput (batch = 4)\n"
COPIED = DEVICES + "interconnect links (bandwidth = 2)\nmaximize throughput\nconstraint copies up to 2\n"
CPU = (
    'device p (memory = 9)\ndevice q (type = "cpu", io = "free")\ninterconnect host (bandwidth = 2)\n'
    "minimize makespan\nconstraint contiguous\n"
)
REPLICATED = "constraint acyclic\nconstraint replicate devices up to 2\n"
STAGES = DEVICES + "interconnect shared (bandwidth = 2)\n"
TARGET = {"target": 3.0}
ROUNDS = {"target": 3.0, "count": 1, "rounds": [{"heads": [], "tails": []}]}
CLAIM = {"node": "a", "device": "p", "time": 0.5, "since": 0.0, "weights": {"p": 1.0}, "port": 0.0}


def spec(rest: str, more: str = "") -> str:
    return (
        'mtpp 1\ngraph {\nnode "a" (work = 1, output = 2, memory = 1)\nnode "b" (work = 3, output = 2, memory = 2)\n'
        f'node "c" (work = 2)\nedge "a" -> "b"\nedge "b" -> "c"\n{more}}}\n{rest}'
    )


@cache
def problem_of(text: str) -> Problem:
    return mtpp_dsl.load(text)


def claimed(*claims: Mapping[str, Any]) -> dict[str, Any]:
    return {**ROUNDS, "rounds": [{"heads": [*claims], "tails": []}]}


REFUSED: list[tuple[str, str, Mapping[str, Any], str]] = [
    ("windows", spec(TIMED), {**ROUNDS, "count": 10_001}, "count is no whole number"),
    ("windows", spec(TIMED), {**ROUNDS, "count": 0.5}, "count is no whole number"),
    ("windows", spec(ROW.replace("bottleneck", "makespan")), ROUNDS, "about links"),
    ("windows", spec(BATCH), ROUNDS, "one sample"),
    ("windows", spec(TIMED), claimed({**CLAIM, "node": "x"}), "no node or no device"),
    ("windows", spec(TIMED), claimed({**CLAIM, "device": "x"}), "no node or no device"),
    ("windows", spec(TIMED), claimed({**CLAIM, "weights": {"x": 1.0}}), "'x', which is no device"),
    ("windows", spec(TIMED), claimed(CLAIM, CLAIM), "twice"),
    ("windows", spec(TIMED), claimed(CLAIM), "does not prove it"),
    ("series", spec(TIMED + "".join(f"device d{d}\n" for d in range(29))), TARGET, "more than 30 devices"),
    ("path-hull", spec(CPU), {"path": ["a", "c"]}, "along no edge"),
    ("path-hull", spec(CPU), {"path": ["b", "a"]}, "along no edge"),
    (
        "path-hull",
        spec(CPU + "constraint memory\n"),
        {"path": ["a"], "cuts": [[0, 0, 1e300]]},
        "too large to count with",
    ),
    (
        "path-hull",
        spec(CPU + "constraint memory\n"),
        {"path": ["a"], "cuts": [[0, 0, 1e10]]},
        "too large to count with",
    ),
    ("path-hull", spec(CPU), {"path": ["a"], "cuts": [[0, 0, "1"]]}, "no run of its path"),
    ("chain", spec(ORDERED, TRAINED), TARGET, "backward part"),
    ("chain", spec(ROW), TARGET, "need no order"),
    ("configuration", spec(ROW), {**TARGET, "weights": {"a": 2}, "most": {"p": 0}}, "does not name the devices"),
    ("halves", spec(ORDERED + 'constraint forbid "a" on "p", "q"\n'), TARGET, "may be on no device"),
    ("ideals", spec(STAGES + 'maximize used("p")\nconstraint acyclic\n'), TARGET, "grow with bottlenecks"),
    ("ideals", spec(STAGES + 'minimize bottleneck - used("p")\nconstraint acyclic\n'), TARGET, "falls where"),
    ("ideals", spec(STAGES + "minimize makespan\nconstraint acyclic\nconstraint contiguous\n"), TARGET, "no schedule"),
    ("ideals", spec(TIMED + REPLICATED), TARGET, "bottlenecks and iterations"),
    ("leaves", spec(STAGES + 'minimize bottleneck - used("p")\n'), TARGET, "grows with each"),
    (
        "leaves",
        spec(STAGES + 'device r (speed = 2)\nminimize used("p") + used("q") + bottleneck\nconstraint acyclic\n'),
        TARGET,
        "of known devices",
    ),
    ("leaves", spec(STAGES + 'maximize load("p")\n'), TARGET, "grows with each"),
    ("routes", spec(BATCH), {"prices": {"p": 1.0}}, "about bottlenecks"),
    (
        "routes",
        spec(ROW.replace("bottleneck", "makespan") + "constraint contiguous\n"),
        {"prices": {"p": 1.0}},
        "about bottlenecks",
    ),
    ("routes", spec(TIMED.replace("makespan", "bottleneck")), {"prices": {"p": 1.0}}, "there is none"),
    ("routes", spec(COPIED, TRAINED), {"prices": {"p": 1.0}}, "backward part"),
    ("routes", spec(COPIED), {"prices": {"p": 1.0, "x": 1.0}}, "'x', which is no device"),
    ("routes", spec(COPIED), {"prices": {"p": 0.0}}, "no device a price"),
    ("batches", spec(BATCH), {"work": {"weights": {"p": 0.0}, "prices": {}}}, "no device a weight"),
    (
        "batches",
        spec(BATCH),
        {"work": {"weights": {"p": 1.0}, "prices": {"p": 1.0}, "head": 0, "tail": 0}},
        "memory that is not limited",
    ),
    ("batches", spec(BATCH), {"work": {"weights": {"p": 1.0}, "prices": {"p": 1e250}}}, "prices of the certificate"),
    ("batches", spec(BATCH), {}, "neither a path nor work"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=lambda i: f"{REFUSED[i][0]}-{i}")
def test_refused(number: int) -> None:
    kind, text, data, why = REFUSED[number]
    with pytest.raises(Refused, match=why):
        registry.load(registry.PROOFS, kind)().prove(problem_of(text), data, Limits(time=60.0))


def test_time_that_is_over_before_the_work_of_a_batch() -> None:
    work = {"weights": {"p": 1.0, "q": 1.0}, "prices": {}, "head": 0, "tail": 0}
    checker = registry.load(registry.PROOFS, "batches")()
    assert checker.prove(problem_of(spec(BATCH)), {"work": work}, Limits(time=60.0)) > 0
    with pytest.raises(UsageError, match="time was not enough"):
        checker.prove(problem_of(spec(BATCH)), {"work": work}, Limits(time=0.0))


APART = "mtpp 1\ngraph { node x[3] (work = 2) }\ndevice p\ninterconnect links\nminimize makespan\n"


def test_an_interval_ends_with_the_schedule() -> None:
    """Three nodes of 2 on one device take more than 3; an interval that ends later says nothing."""
    interval = {"start": 0.0, "end": 3.0, "weights": {"p": 1.0}}
    checker = registry.load(registry.PROOFS, "windows")()
    assert checker.prove(problem_of(APART), {**ROUNDS, "interval": interval}, Limits(time=60.0)) == pytest.approx(3.0)
    for changed in ({"end": 5.0}, {"start": 3.0}, {"weights": {"p": 0.0}}):
        data = {**ROUNDS, "interval": {**interval, **changed}}
        with pytest.raises(Refused, match="every interval room"):
            checker.prove(problem_of(APART), data, Limits(time=60.0))


@pytest.mark.parametrize(
    "rule", [Replicate(most=2), Shard(by=(1, 2)), StageMemory(schedule="1f1b", microbatches=2)], ids=lambda r: r.keyword
)
def test_stages_on_networks(rule: Constraint) -> None:
    """What stages mean on links nobody has said: specs may not ask for it, and certificates prove nothing."""
    problem = problem_of(spec(TIMED.replace("makespan", "bottleneck"))).with_constraints([Acyclic(), rule])
    with pytest.raises(Refused, match="have one channel"):
        registry.load(registry.PROOFS, "ideals")().prove(problem, TARGET, Limits(time=60.0))


@pytest.mark.parametrize("rule", [Copies(most=2), Repeat(most=2)], ids=lambda r: r.keyword)
def test_stages_whose_nodes_run_several_times(rule: Constraint) -> None:
    """Specs may not ask for both; a certificate about stages proves nothing then."""
    problem = problem_of(spec(ORDERED)).with_constraints([Acyclic(), Replicate(most=2), rule])
    with pytest.raises(Refused, match="changes what stages hold"):
        registry.load(registry.PROOFS, "ideals")().prove(problem, TARGET, Limits(time=60.0))


TREES = [
    ({}, "no tree"),
    ([[0]], "without a multiplier"),
    ([[0, -1.0]], "not a number of zero or more"),
    ([[0, 1e101]], "not a number of zero or more"),
    ([[0, True]], "not a number of zero or more"),
    ([[0, 1.0, 0, 1.0]], "twice"),
    ([[10_000, 1.0]], "names row"),
    ([[], []], "behind its last leaf"),
    ([0, []], "before all its boxes"),
    ([0, 0, [], [], []], "which is not 0 or 1"),
    ([], "before all its boxes"),
    ([True, [], []], "names variable"),
]


@pytest.mark.parametrize("number", range(len(TREES)))
def test_trees_that_are_none(number: int) -> None:
    tree, why = TREES[number]
    with pytest.raises(Refused, match=why):
        list(leaves_of(rows_below(problem_of(spec(TIMED)), 3.0), tree))


@pytest.mark.parametrize("limit", [0.0, 1e-251, 1e251, inf])
def test_limits_that_nothing_is_counted_in(limit: float) -> None:
    with pytest.raises(Refused, match="cannot be counted in units"):
        Units(limit)
    with pytest.raises(Refused, match="cannot be counted in units"):
        Units(1e-250).allowed(1e250)


MANY = [
    ("divided_chunks.MAX_CHOICES", "leaves", spec(BATCH), TARGET, "ways to divide the chunks of nodes"),
    ("divided_chunks.MAX_DIVISIONS", "leaves", spec(BATCH), TARGET, "ways to divide the chunks of a node"),
    ("chunk_order.MAX_NODES", "leaves", spec(BATCH), {**TARGET, "ordered": True}, "more than 0 nodes"),
    ("chain_labels.MAX_LABELS", "ideals", spec(ROW + REPLICATED), {"target": 9.0}, "labels"),
    ("halves.MAX_GROUPS", "halves", spec(ORDERED), TARGET, "too many to check"),
    ("heaviest.MAX_GROUPS", "cuts", spec(ROW), {**TARGET, "nodes": ["a"], "shares": {"p": 1.0}}, "too many to check"),
    ("lattice.MAX_COUNTS", "ideals", spec(ORDERED), TARGET, "numbers of devices"),
    ("rows.MAX_TERMS", "leaves", spec(ROW), TARGET, "numbers"),
    ("schedule_rows.MAX_NODES", "leaves", spec(TIMED), TARGET, "more than 0 nodes"),
    ("series.MAX_DEVICES", "series", spec(TIMED), TARGET, "more than 0 devices"),
    ("series.MAX_NODES", "series", spec(TIMED), TARGET, "more than 0 nodes"),
]


@pytest.mark.parametrize("number", range(len(MANY)), ids=lambda i: MANY[i][0])
def test_too_many(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more than a checker goes through is refused: here nothing is little enough."""
    name, kind, text, data, why = MANY[number]
    monkeypatch.setattr(f"mtpp_dsl.solvers.proofs.{name}", 0)
    with pytest.raises(UsageError, match=why):
        registry.load(registry.PROOFS, kind)().prove(problem_of(text), data, Limits(time=60.0))


@pytest.mark.parametrize("text", [spec(BATCH), spec(ROW.replace("bottleneck", "makespan"))])
def test_rows_of_other_schedules(text: str) -> None:
    with pytest.raises(Refused, match="these rows are about"):
        schedule_rows(problem_of(text), 3.0)
