"""Objectives of one's own, several of them, and penalties, as a spec says them."""

from __future__ import annotations

from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Latency, Load, On, Used
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

HEAD = (
    "graph { node a (work = 1 ms, output = 1 MB)\nnode b (work = 2 ms)\nedge a -> b }\n"
    "device d[2] (price = 2 USD, power = 5 W)\ninterconnect shared (bandwidth = 1 GB/s)\n"
)


def load(text: str) -> Problem:
    return mtpp_dsl.load(HEAD + text)


@pytest.mark.parametrize(
    ("text", "terms", "constant", "unit"),
    [
        ("minimize sum(price(x) * used(x) for x in devices)", ((Used(0), 2.0), (Used(1), 2.0)), 0.0, "USD"),
        ("minimize 3 W * load(d[0]) + 1 J", ((Load(0), 3.0),), 1.0, "J"),
        ("maximize on(a, d[0]) - 2 * on(b, d[1]) + 4", ((On(0, 0), 1.0), (On(1, 1), -2.0)), 4.0, ""),
        ("minimize 2 * latency", ((Latency(), 2.0),), 0.0, "s"),
        ("minimize latency", ((Latency(), 1.0),), 0.0, "s"),
    ],
)
def test_expressions(text: str, terms: tuple[object, ...], constant: float, unit: str) -> None:
    """A linear expression over decisions is an objective, in the unit of its value."""
    problem = load(text)
    objective = problem.objective
    assert (objective.terms, objective.constant, objective.unit(problem.time_unit)) == (terms, constant, unit)
    assert objective.sense == text.split()[0]


def test_several_in_their_order() -> None:
    """Objectives of one file come in their order, with labels, tolerances and conditions."""
    problem = load(
        "minimize cost: sum(price(x) * used(x) for x in devices) (within = 10%)\n"
        "minimize slow: bottleneck (within = 2 us) if 1 > 0\nminimize idle: used(d[0]) if 1 > 2\n"
        "minimize each: used(d[1]) (within = 3)\nminimize latency\n"
    )
    found = [(one.shown, one.kind, one.within, one.within_is) for one in problem.objectives]
    assert found == [
        ("cost", "linear", 0.1, "share"),
        ("slow", "bottleneck", 2e-6, "value"),
        ("each", "linear", 3.0, "value"),
        ("latency", "latency", 0.0, "share"),
    ]
    assert [one.allowed_cost(10.0) for one in problem.objectives[:3]] == [11.0, 10.000002, 13.0]


def test_an_including_file_replaces_all_objectives(tmp_path: Path) -> None:
    """Those of the file that includes count alone; without any there, those of the included one do."""
    (tmp_path / "base.mtpp").write_text(HEAD + "minimize bottleneck\nminimize latency\n")
    (tmp_path / "other.mtpp").write_text('include "base.mtpp"\nmaximize there: on(a, d[0])\n')
    (tmp_path / "same.mtpp").write_text('include "base.mtpp"\n')
    assert [one.shown for one in mtpp_dsl.load(tmp_path / "other.mtpp").objectives] == ["there"]
    assert [one.shown for one in mtpp_dsl.load(tmp_path / "same.mtpp").objectives] == ["bottleneck", "latency"]


def test_penalties() -> None:
    """Each row of a labelled constraint has its penalty, which may depend on the values of its loops."""
    problem = load(
        "minimize cost: sum(price(x) * used(x) for x in devices)\n"
        "constraint calm: forall i in 0..1: load(d[i]) <= 1 ms (penalty = (i + 1) * 3 USD / 1 s)\n"
        "constraint hard: load(d[0]) <= 9 ms\n"
    )
    assert [(row.label, row.penalty) for row in problem.soft_rows] == [("calm[0]", 3.0), ("calm[1]", 6.0)]
    assert [row.label for row in problem.hard_rows] == ["hard"]


def test_a_tolerance_of_the_last_objective_is_a_warning() -> None:
    """Nothing comes after it that could make use of the tolerance."""
    assert any("no objective comes after it" in warning for warning in load("minimize latency (within = 1%)").warnings)


WRONG = [
    ("minimize 3 USD * used(d[0]) + 2 EUR * used(d[1])", "cannot add an amount in USD and an amount in EUR"),
    ("minimize sum(on(a, x) * on(b, x) for x in devices)", "the product of two decisions is not linear"),
    ("maximize max(load(x) for x in devices)", "max of a decision is not linear"),
    ("minimize 3 ms", "the same number for every plan"),
    ("minimize d[0]", "an objective is a number; this is a device"),
    ("minimize lattency", "did you mean 'latency'"),
    ("minimize makespan: load(d[0])", "is an objective itself"),
    ("maximize bottleneck", "should minimize bottleneck"),
    ("minimize used(d[0])\nminimize used(d[1])", "label them"),
    ("minimize bottleneck (within = 2 USD)", "within must be a number without a unit or a time"),
    ("minimize used(d[0]) (within = 0.5)", "as a percentage, 50%"),
    ("minimize used(d[0]) (within = -1)", "within must not be negative"),
    ("minimize used(d[0]) (parts = separate)", "no option 'parts'"),
    ("maximize throughput (within = 100%)\nminimize latency", "leave nothing"),
    ("maximize throughput (within = 1 ms)\nminimize latency", "within must be a number without a unit"),
    ("minimize latency\nconstraint c: load(d[0]) <= 1 ms (penalty = 1 USD)", "the penalty must be"),
    ("minimize latency\nconstraint c: load(d[0]) <= 1 ms (penalty = -1)", "must not be negative"),
    ("minimize latency\nconstraint c: load(d[0]) <= 1 ms (penalti = 1)", "did you mean 'penalty'"),
    ("maximize throughput\nconstraint c: load(d[0]) <= 1 ms (penalty = 1)", "cannot be added to a throughput"),
    ("minimize latency\nconstraint c: start(a) <= 1 ms", "start has no meaning"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_said_in_its_place(text: str, message: str) -> None:
    """Each mistake has a message, a place in the statement, and the other place where there is one."""
    with pytest.raises(SpecError) as caught:
        load(text)
    found = [one for one in caught.value.diagnostics if message in one.message]
    assert found, [one.message for one in caught.value.diagnostics]
    assert found[0].span is not None
    assert found[0].span.start >= len(HEAD)
    if "EUR" in text or "the penalty must be" in message:
        assert found[0].places


def test_objectives_are_pure_data() -> None:
    """The same objective made in Python is equal to that of the spec."""
    made = Objective.linear([(Used(0), 2.0), (Used(1), 2.0)], unit="USD", label="cost")
    assert load("minimize cost: sum(price(x) * used(x) for x in devices)").objective == made


def test_a_tolerance_of_a_throughput_is_a_share_of_the_throughput() -> None:
    """Later objectives may use plans with 80 % of the best throughput, which is 125 % of its bottleneck."""
    first = load("maximize throughput (within = 20%)\nminimize latency").objective
    assert first.value(first.allowed_cost(0.004)) == pytest.approx(0.8 * first.value(0.004))
    second = load("maximize throughput (within = 0.2)\nminimize latency").objective
    assert (second.within, second.within_is) == (0.2, "share")
    problem = load("minimize bottleneck")
    wrong = Objective("throughput", within=2.0, within_is="value")
    with pytest.raises(UsageError, match="share of it"):
        Problem.create(problem.graph, problem.devices, problem.interconnect, [wrong, Objective("latency")])
