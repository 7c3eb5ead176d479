"""Modules in a row by programmes over classes: bounds never above the optimum, plans of modules, equal parts as one."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Constraint, ExclusiveLinks
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.comparable import without_bypasses
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKinds
from mtpp_dsl.solvers.methods.modules import Lifted
from mtpp_dsl.solvers.schedule.lifted import module_row, run
from mtpp_dsl.solvers.schedule.lifted.classes import class_graph
from mtpp_dsl.solvers.schedule.lifted.module_row import LiftedRow
from mtpp_dsl.solvers.schedule.lifted.questions import LEVELS
from tests.amount import part
from tests.makespans import best_of, makespan_problem
from tests.oracle import optimum


def row_of_modules(seed: int) -> Problem:
    """Return equal forks and joins in a row, with edges past a module in some, on two devices."""
    random = np.random.default_rng(seed)
    width, bypassed, exclusive = int(random.integers(1, 4)), random.random() < 0.5, random.random() < 0.6
    count = 2 if width < 3 else 1
    names, edges, kinds = ["in"], list[tuple[int, int]](), ["entry"]
    for j in range(count):
        entry = len(names) - 1
        names += [f"m{j}.{w}" for w in range(width)] + [f"out{j}"]
        kinds += ["branch"] * width + ["join"]
        edges += [(entry, entry + 1 + w) for w in range(width)]
        edges += [(entry + 1 + w, entry + width + 1) for w in range(width)]
        edges += [(entry - 1, entry + 1)] if bypassed and j else []
    drawn = {name: random.choice([0.0, 1.0, 1.0, 2.0, 3.0], 2) for name in ("entry", "branch", "join")}
    sizes = {name: float(random.choice([0.0, 0.5, 1.0, 2.0])) for name in drawn}
    closed = int(random.integers(len(names))) if random.random() < 0.3 else -1
    time = np.array([drawn[kind] for kind in kinds])
    if closed >= 0:
        time[closed, 1] = np.inf
    graph = Graph.create(
        names, edges, output=[sizes[kind] for kind in kinds], times={f"d{d}": time[:, d] for d in range(2)}
    )
    rules: list[Constraint] = [ExclusiveLinks()] if exclusive else []
    devices = [Device(f"d{d}") for d in range(2)]
    return Problem.create(graph, devices, Links(np.ones((2, 2)), np.zeros((2, 2))), Objective("makespan"), rules)


def test_no_bound_is_above_the_optimum() -> None:
    """At every level of questions, with limits on either side of the optimum, with and without edges dropped."""
    reached, cases = 0, [(row_of_modules(seed), None) for seed in range(part(24, 4))]
    mixed = [(makespan_problem(seed), best_of(seed)) for seed in range(part(36, 4))]
    for number, (problem, known) in enumerate([*cases, *mixed]):
        best = optimum(problem) if known is None else known
        if best is None:
            continue
        random = np.random.default_rng(number)
        left = without_bypasses(problem.graph, int(random.integers(0, 3)))
        row = LiftedRow(problem, lambda: None, lambda _: None, edges=left)
        limit = best * float(random.choice([0.9, 1.0, 1.2, np.inf]))
        for level, (whole, nodes, gap) in enumerate(LEVELS[:3]):
            for _ in range(10):
                question = row.question(level, limit)
                if question is None:
                    break
                programme = row.questions.programme(question)
                row.take(
                    question,
                    programme.bound(whole=whole, nodes=nodes, gap=gap, seconds=10.0, stopped=lambda: False),
                )
                assert row.bound <= best * (1 + 1e-9)
        reached += limit >= best and row.bound >= best * (1 - 1e-5)
    assert reached >= part(8, 4)


def test_plans_are_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small cases are closed, whatever edges bypass the modules, and no plan is better than the best."""
    monkeypatch.setattr(module_row, "WORK", 2_000)
    monkeypatch.setattr(module_row, "PATIENCE", 2)
    monkeypatch.setattr(run, "WANTED", 2)
    closed = 0
    cases = [row_of_modules(seed) for seed in range(50, 50 + part(6))]
    for problem in [*cases, *map(makespan_problem, range(100, 100 + part(8)))]:
        best, progress = optimum(problem), Progress()
        result = Lifted().solve(problem, Limits(), progress)
        if result.bound is not None and best is not None:
            assert result.bound.cost <= best * (1 + 1e-9)
        if result.plan is not None:
            assert best is not None
            assert verify(problem, result.plan) == []
            assert evaluate(problem, result.plan).cost >= best * (1 - 1e-9)
            closed += result.bound is not None and evaluate(problem, result.plan).cost <= result.bound.cost * (1 + 1e-5)
    assert closed >= 1


def layers(count: int, heads: int) -> Problem:
    """Return layers of equal heads on two devices with exclusive links."""
    names, edges = ["in"], list[tuple[int, int]]()
    for j in range(count):
        entry = len(names) - 1
        names += [f"l{j}.{step}{h}" for h in range(heads) for step in "ab"] + [f"out{j}"]
        for h in range(heads):
            first = entry + 1 + 2 * h
            edges += [(entry, first), (first, first + 1), (first + 1, entry + 2 * heads + 1)]
        edges += [(entry, entry + 2 * heads + 1)]
    graph = Graph.create(names, edges, work=1.0, output=0.25)
    devices = [Device("fast"), Device("slow", speed=0.5)]
    rules = [ExclusiveLinks()]
    return Problem.create(graph, devices, Links(np.ones((2, 2)), np.zeros((2, 2))), Objective("makespan"), rules)


def test_equal_parts_are_one_class() -> None:
    """A layer of six heads, or of sixty, has four classes of nodes, and its edges have four."""
    for heads in (6, 60):
        row = ModuleKinds.of(layers(2, heads), lambda: None)
        graph = class_graph(row.kinds[-1])
        assert sorted(graph.count.tolist()) == [1, 1, heads, heads]
        assert sorted(graph.edges.tolist()) == [1, heads, heads, heads]


def test_stacks_of_layers_suit() -> None:
    """Layers suit, however many heads they have; independent branches of which no two are equal do not."""
    assert run.suits(layers(8, 60))
    names = [f"b{b}.{i}" for b in range(30) for i in range(20)]
    edges = [(20 * b + i, 20 * b + i + 1) for b in range(30) for i in range(19)]
    graph = Graph.create(names, edges, work=np.arange(1.0, 601.0), output=1.0)
    devices = [Device(f"d{d}") for d in range(2)]
    links = Links(np.ones((2, 2)), np.zeros((2, 2)))
    assert not run.suits(Problem.create(graph, devices, links, Objective("makespan")))


def test_layers_are_nearly_closed() -> None:
    """What no path and no share of the work sees: heads that leave and come back through one port."""
    problem, progress = layers(6, 6), Progress()
    result = Lifted().solve(problem, Limits(time=20.0, gap=0.02), progress)
    assert result.bound is not None
    assert result.plan is not None
    assert progress.cost is not None
    assert verify(problem, result.plan) == []
    assert progress.cost <= 1.02 * result.bound.cost


def test_threads_make_no_difference_to_what_holds() -> None:
    """With one thread, questions and annealings take turns; and without any time there is a bound."""
    problem = layers(3, 4)
    best = Lifted().solve(problem, Limits(time=5.0, threads=1), Progress())
    none = Lifted().solve(problem, Limits(time=0.0), Progress())
    assert best.bound is not None
    assert best.plan is not None
    assert none.bound is None or none.bound.cost <= best.bound.cost
