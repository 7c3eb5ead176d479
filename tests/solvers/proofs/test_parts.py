"""Certificates ``parts``: what both parts alone cost is no more than their sum, and what is wrong proves nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.parts import PartsProof, part_of
from mtpp_dsl.solving.answers import part_proofs
from mtpp_dsl.solving.answers.part_proofs import parts_for
from tests.amount import part
from tests.oracle import optimum
from tests.solvers.methods.test_auto_parts import training


def test_a_plan_taken_to_a_part_costs_no_more_there() -> None:
    """For every split: the load of every device in a part alone is at most its share in the whole."""
    random = np.random.default_rng(0)
    for seed in range(40):
        problem = training(seed)
        if problem.objective.quantity != "sum of bottlenecks":
            continue
        device = random.integers(problem.k, size=problem.graph.n)
        whole = evaluate(problem, Plan.create(problem, device))
        for backward, loads in ((False, whole.forward), (True, whole.backward)):
            alone = part_of(problem, backward=backward)
            own = evaluate(alone, Plan.create(alone, device[problem.graph.backward == backward]))
            assert (own.load <= loads + 1e-9).all(), seed


def test_what_is_searched_is_no_more_than_the_optimum() -> None:
    """Both parts solved alone, and proved again; a little more than they prove is not."""
    found = 0
    for seed in range(part(120, 20)):
        problem = training(seed)
        best = optimum(problem) if problem.objective.quantity == "sum of bottlenecks" else None
        if best is None:
            continue
        certificate = parts_for(problem, 0.0, Limits(time=4.0))
        if certificate is None:
            continue
        found += 1
        proved = PartsProof().prove(problem, certificate.data, Limits())
        assert 0 <= proved <= best * (1 + 1e-9), seed
        assert parts_for(problem, proved * (1 + 1e-6) + 1e-6, Limits(time=4.0)) is None
    assert found > part(20, 20)


def small(parts: str = "separate") -> Problem:
    graph = Graph.create("abcd", [(0, 1), (1, 2), (2, 3)], work=[1, 2, 3, 4], backward=[False, False, True, True])
    objective = Objective("bottleneck", parts=parts)  # type: ignore[arg-type]
    return Problem.create(graph, [Device("d"), Device("e")], Shared(1.0), objective, [Acyclic()])


def test_only_certificates_of_bottlenecks_count() -> None:
    good: dict[str, Any] = {side: {"kind": "ideals", "target": 2.0 - 1e-9} for side in ("forward", "backward")}
    assert PartsProof().prove(small(), good, Limits()) == pytest.approx(4.0, rel=1e-8)
    for wrong in (
        None,
        {},
        {"kind": "windows"},
        {"kind": "parts"},
        {"kind": ["ideals"]},
        {"kind": "ideals", "target": 2.1},
    ):
        with pytest.raises(Refused):
            PartsProof().prove(small(), good | {"forward": wrong}, Limits())
    with pytest.raises(Refused, match="sums of the bottlenecks of both parts"):
        PartsProof().prove(small("together"), good, Limits())


def test_nothing_is_searched_of_other_objectives_or_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parts_for(small("together"), 1.0, Limits(time=2.0)) is None
    monkeypatch.setattr(part_proofs, "_certificate", lambda *_: None)
    assert parts_for(small(), 1.0, Limits(time=2.0)) is None
