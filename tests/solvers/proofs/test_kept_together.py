"""Nodes that the checker of ideals holds together: the best plan is among those that do, load by load."""

from __future__ import annotations

import numpy as np
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.constraints import (
    Acyclic,
    Colocate,
    Constraint,
    Contiguous,
    Forbid,
    InOrder,
    Linear,
    Memory,
    Pin,
    Separate,
    Used,
)
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs import lattice
from mtpp_dsl.solvers.proofs.kept_together import kept_together
from mtpp_dsl.solvers.proofs.lattice import IdealsProof
from tests.amount import part


def small(seed: int, most: int = 5, devices_at_most: int = 3) -> Problem:
    """Return a small acyclic problem with ties and zeros, sources with little work, and any of the constraints."""
    random = np.random.default_rng(seed)
    n, k = int(random.integers(2, most + 1)), int(random.integers(2, devices_at_most + 1))
    p = random.choice([0.2, 0.4, 0.7])
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < p]
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        edges,
        work=random.choice([0.0, 0.0, 0.1, 0.3, 1.0, np.pi], n),
        output=random.choice([0.0, 0.1, 0.3, 0.4, 1.0, 3.0], n),
        params=random.choice([0.0, 0.0, 1.0], n),
        memory=random.choice([0.0, 0.0, 1.0], n),
        kinds=[str(random.choice(["", "", "odd"])) for _ in range(n)],
    )
    devices = [
        Device(
            f"d{d}",
            speed=float(random.choice([1.0, 1.0, 2.0])),
            memory=float(random.choice([2.0, 3.0])),
            pays_io=random.random() < 0.7,
            unsupported=frozenset({"odd"} if random.random() < 0.2 and d else ()),
        )
        for d in range(k)
    ]

    def some() -> tuple[int, ...]:
        return tuple(sorted(random.choice(n, 2, replace=False).tolist()))

    kinds: list[Constraint] = [
        Memory(), Colocate(nodes=some()), Separate(nodes=some()), Contiguous(), InOrder(),
        Pin(nodes=some()[:1], devices=(0,)), Forbid(nodes=some()[:1], devices=(k - 1,)),
    ]  # fmt: skip
    rules = [Acyclic(), *(kind for kind in kinds if random.random() < 0.2)]
    overflow = random.random() < 0.3
    link = Shared(1.0, overflow=overflow) if random.random() < 0.5 else Host(1.0, overflow=overflow)
    return Problem.create(graph, devices, link, constraints=rules)


def proves(problem: Problem, target: float) -> bool:
    try:
        return IdealsProof().prove(problem, {"target": target}, Limits()) == target
    except Refused:
        return False


def test_the_best_plan_keeps_them_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the checker of ideals proves its cost, and no more, where it does so without holding anything together."""
    held = proved = 0
    for seed in range(part(900, 45)):
        problem = small(seed)
        together = kept_together(problem)
        best = min((evaluate(problem, plan).cost for plan in plans(problem)), default=None)
        strict = problem.with_constraints([*problem.constraints, *together])
        kept = min((evaluate(problem, plan).cost for plan in plans(strict)), default=None)
        assert kept == pytest.approx(best, rel=1e-12, abs=0.0) if best is not None else kept is None, seed
        held += bool(together)
        if best:
            targets = best * (1 - 1e-9), best * (1 + 1e-9)
            mine = [proves(problem, target) for target in targets]
            with monkeypatch.context() as patch:
                patch.setattr(lattice, "kept_together", lambda _: [])
                assert mine == [proves(problem, target) for target in targets], seed
            assert not mine[1], seed
            proved += mine[0]
    assert held > part(100, 45)
    assert proved > part(600, 45)


def test_no_plan_of_tiny_problems_is_better() -> None:
    """On many of up to four nodes on two devices: each condition of each rule is what keeps some of them right."""
    for seed in range(part(2400, 4)):
        problem = small(10_000 + seed, 4, 2)
        together = kept_together(problem)
        if together:
            best = min((evaluate(problem, plan).cost for plan in plans(problem)), default=None)
            strict = problem.with_constraints([*problem.constraints, *together])
            kept = min((evaluate(problem, plan).cost for plan in plans(strict)), default=None)
            assert kept == pytest.approx(best, rel=1e-12, abs=0.0) if best is not None else kept is None, seed


def sizes(edges: list[tuple[int, int]], work: list[float], output: list[float], k: int = 2) -> list[int]:
    graph = Graph.create([f"v{v}" for v in range(len(work))], edges, work=work, output=output)
    devices = [Device(f"d{d}") for d in range(k)]
    rules = kept_together(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic()]))
    return sorted(len(rule.nodes) for rule in rules)


def test_what_has_become_one_node_is_looked_at_again() -> None:
    """With what it reads, and what reads it: sources one after the other, idle sinks, and a chain from either end."""
    chain = [(v, v + 1) for v in range(5)]
    assert sizes(chain, [1.0] * 6, [9.0, 8.0, 7.0, 6.0, 5.0, 0.0]) == [6]
    assert sizes(chain, [0.0] * 5 + [9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 0.0]) == [6]
    assert sizes([(0, 2), (1, 2), (2, 3)], [0.0, 0.0, 5.0, 5.0], [1.0, 1.0, 1.0, 0.0]) == [3]
    assert sizes([(0, 1), (0, 2), (0, 3), (3, 4)], [5.0, 0.0, 0.0, 9.0, 9.0], [4.0, 0.0, 0.0, 1.0, 0.0]) == [3]
    assert sizes([(0, 1), (1, 2)], [5.0, 0.0, 0.0], [3.0, 1.0, 0.0]) == [3]
    assert sizes([(0, 3), (1, 3), (2, 3), (3, 4)], [9.0, 9.0, 9.0, 1.0, 9.0], [1.0, 1.0, 1.0, 4.0, 0.0]) == [2]
    assert sizes([(0, 3), (1, 3), (2, 3), (3, 4)], [9.0, 9.0, 9.0, 1.5, 9.0], [1.0, 1.0, 1.0, 4.0, 0.0]) == []
    assert sizes([(0, 2), (1, 3), (2, 3), (3, 4)], [9.0, 9.0, 0.0, 0.0, 9.0], [1.0, 1.0, 1.0, 1.5, 0.0]) == [2]
    assert sizes([(0, 1), (0, 2)], [1.0, 0.0, 9.0], [3.0, 0.0, 0.0]) == [3]  # one reader is left then
    assert sizes([(1, 0), (0, 2)], [0.0, 0.0, 9.0], [3.0, 5.0, 0.0]) == [3]  # the first reads nothing then
    assert sizes([(0, 1), (1, 2)], [9.0, 0.0, 9.0], [2.0, 2.0, 0.0]) == [2]


@pytest.mark.parametrize("what", ["memory", "workspace", "params"])
def test_what_takes_room_stays_where_it_is(what: str) -> None:
    """Where that may be short, and of the node that would move alone."""
    link = Shared(1.0, overflow=what == "params")
    rules: list[Constraint] = [Acyclic(), *([] if what == "params" else [Memory()])]
    devices = [Device("x", memory=4.0), Device("y", memory=4.0)]
    for sizes_of, held in (([1.0, 0.0], False), ([0.0, 1.0], True), ([0.5, 0.0], False)):
        graph = Graph.create("ab", [(0, 1)], work=[1.0, 9.0], output=[1.0, 0.0], **{"memory": 0.0, what: sizes_of})
        assert bool(kept_together(Problem.create(graph, devices, link, constraints=rules))) == held
        assert kept_together(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic()]))


def test_devices_that_pay_for_nothing_ask_for_no_time() -> None:
    """And others for the tensors that they would read."""
    devices = [Device("x", pays_io=True), Device("y", pays_io=False)]
    for work, read, held in ((0.0, 0.0, True), (1.0, 0.0, False), (0.0, 1.5, True), (0.0, 2.5, False)):
        graph = Graph.create("pab", [(0, 1), (1, 2)], work=[9.0, work, 9.0], output=[read, 2.0, 0.0])
        rules = kept_together(Problem.create(graph, devices, Host(1.0), constraints=[Acyclic()]))
        assert any(set(rule.nodes) == {1, 2} for rule in rules) == held
    graph = Graph.create("pab", [(0, 1), (1, 2)], work=[9.0, 0.0, 9.0], output=[2.5, 2.0, 0.0])
    there = Pin(nodes=(2,), devices=(1,))
    rules = kept_together(Problem.create(graph, devices, Host(1.0), constraints=[Acyclic(), there]))
    assert not any(2 in rule.nodes for rule in rules)
    neither = Forbid(nodes=(1, 2), devices=(0,))
    graph = Graph.create("pab", [(0, 1), (1, 2)], work=[9.0, 0.0, 9.0], output=[1.5, 2.0, 0.0])
    assert kept_together(Problem.create(graph, devices, Host(1.0), constraints=[Acyclic(), neither]))
    nobody = [Device("x", pays_io=False), Device("y", pays_io=False)]
    graph = Graph.create("pab", [(0, 1), (1, 2)], work=[9.0, 0.0, 9.0], output=[2.5, 2.0, 0.0])
    assert kept_together(Problem.create(graph, nobody, Host(1.0), constraints=[Acyclic()]))


def test_each_rule_asks_for_what_it_says() -> None:
    """An only reader, an only input, an idle sink: a little more to do, or a device that cannot, and they are apart."""

    def sets(
        edges: list[tuple[int, int]], work: list[float], output: list[float], rules: tuple[Constraint, ...] = ()
    ) -> int:
        graph = Graph.create("abcd"[: len(work)], edges, work=work, output=output)
        devices = [Device("x"), Device("y")]
        return len(kept_together(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), *rules])))

    assert sets([(0, 1)], [1.0, 9.0], [1.0, 0.0]) == 1
    assert sets([(0, 1)], [1.0 + 1e-15, 9.0], [1.0, 0.0]) == 0
    assert sets([(0, 1), (1, 2)], [0.0, 9.0, 9.0], [1.0, 2.0, 0.0]) == 1
    assert sets([(0, 1), (1, 2), (1, 3)], [5.0, 1.0, 9.0, 9.0], [3.0, 2.0, 0.0, 0.0]) == 1
    assert sets([(0, 1), (1, 2), (1, 3)], [5.0, 1.1, 9.0, 9.0], [3.0, 2.0, 0.0, 0.0]) == 0
    assert sets([(0, 1), (0, 2)], [5.0, 0.0, 9.0], [3.0, 0.0, 0.0]) == 1
    assert sets([(0, 1), (0, 2)], [5.0, 0.1, 9.0], [3.0, 0.0, 0.0]) == 0
    assert sets([(0, 1)], [1.0, 9.0], [1.0, 0.0], (Forbid(nodes=(0,), devices=(1,)),)) == 0
    assert sets([(0, 1)], [1.0, 9.0], [1.0, 0.0], (Separate(nodes=(0, 1)),)) == 0


def test_what_speaks_of_other_things_has_nothing_held_together() -> None:
    """A row over used devices, which may be fewer then; a stage that must not be empty; a backward part; no order."""
    graph = Graph.create("ab", [(0, 1)], work=[1.0, 9.0], output=[1.0, 0.0])
    devices = [Device("x"), Device("y")]
    row = Linear(label="one", terms=((Used(0), 1.0),), sense="<=", rhs=1.0)
    assert kept_together(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), row])) == []
    assert kept_together(Problem.create(graph, devices, Shared(1.0), constraints=[Contiguous()])) == []
    never = InOrder(empty="never")
    assert kept_together(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), never])) == []
    training = Graph.create("ab", [(0, 1)], work=[1.0, 9.0], output=[1.0, 0.0], backward=[False, True])
    assert kept_together(Problem.create(training, devices, Shared(1.0), constraints=[Acyclic()])) == []
