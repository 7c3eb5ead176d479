"""What is called a regression between two databases, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import Store
from mtpp_dsl.sweeps.tables.comparison import ComparisonRules, DatabaseComparison, compare
from mtpp_dsl.sweeps.tables.comparison_report import lines, to_json
from tests.sweeps.rows import a_run, an_outcome

Given = list[tuple[Run, RunOutcome]]


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[Given], list[RunRow]]:
    def read(given: Given) -> list[RunRow]:
        path = tmp_path / "x.sqlite"
        path.unlink(missing_ok=True)
        with Store.open(path) as store:
            for run, outcome in given:
                store.put(run, outcome)
            return [*store.rows()]

    return read


def seeds(of: Callable[[int, int], RunOutcome], problems: int = 3, number: int = 8, **others: Any) -> Given:
    """Return runs of several problems and seeds."""
    return [
        (a_run(f"p{p}", seed=seed, spec_sha256=f"{p:064}", **others), of(p, seed))
        for p in range(problems)
        for seed in range(number)
    ]


def noisy(factor: float = 1.0, draw: int = 0, **others: Any) -> Callable[[int, int], RunOutcome]:
    """Return what makes outcomes whose values and times spread by 10 % over the seeds."""
    random = np.random.default_rng(draw)
    return lambda p, _: an_outcome(
        (10 + p) * factor * float(random.uniform(1, 1.1)),
        bound=5.0,
        seconds=float(random.uniform(1, 1.3)),
        termination="time_limit",
        **others,
    )


def verdicts(comparison: DatabaseComparison) -> dict[str, str]:
    return {finding.quantity: finding.verdict for finding in comparison.labels}


def test_noise_is_no_regression(rows: Callable[[Given], list[RunRow]]) -> None:
    found = compare(rows(seeds(noisy())), rows(seeds(noisy(draw=1))))
    assert verdicts(found) == {"value": "", "bound": "", "time": ""}
    assert found.regressions == 0
    assert [*lines(found, ComparisonRules())][-1] == "no regression"


@pytest.mark.parametrize(
    ("change", "of"),
    [
        (lambda o: {"value": (o.value or 0) * 1.08}, "value"),
        (lambda o: {"bound": (o.bound or 0) * 0.9}, "bound"),
        (lambda o: {"seconds": (o.seconds or 0) * 1.5}, "time"),
        (lambda _: {"value": None, "status": "unknown"}, "value"),
    ],
    ids=["value", "bound", "time", "plan lost"],
)
def test_what_is_worse_is_found_and_the_other_way_round_better(
    rows: Callable[[Given], list[RunRow]], change: Callable[[RunOutcome], dict[str, Any]], of: str
) -> None:
    before = seeds(noisy())
    worse = [(run, RunOutcome(**{**outcome.to_json(), **change(outcome)})) for run, outcome in before]
    found = compare(rows(before), rows(worse))
    assert verdicts(found) == {"value": "", "bound": "", "time": "", of: "worse"}
    assert found.regressions >= 1
    assert "worse" in "\n".join(lines(found, ComparisonRules()))
    back = compare(rows(worse), rows(before))
    assert verdicts(back)[of] == "better"
    assert back.regressions == 0


def test_maximized_value_is_worse_where_it_is_smaller(rows: Callable[[Given], list[RunRow]]) -> None:
    before = seeds(noisy(sense="maximize"))
    after = [(run, RunOutcome(**{**o.to_json(), "value": (o.value or 0) * 0.5, "bound": 8.0})) for run, o in before]
    found = compare(rows(before), rows(after))
    assert verdicts(found) == {"value": "worse", "bound": "worse", "time": ""}


def test_one_problem_over_its_seeds(rows: Callable[[Given], list[RunRow]]) -> None:
    """A single problem that is worse is found by its own seeds, where the others hide it."""
    before = seeds(noisy(), problems=4, number=10)
    after = [
        (run, RunOutcome(**{**o.to_json(), "value": (o.value or 0) * (1.3 if run.problem == "p2" else 0.999)}))
        for run, o in before
    ]
    found = compare(rows(before), rows(after))
    worse = [finding for finding in found.problems if finding.verdict == "worse"]
    assert [(finding.problem, finding.quantity) for finding in worse] == [("p2", "value")]


def test_one_seed_that_ends_by_itself_needs_no_test(rows: Callable[[Given], list[RunRow]]) -> None:
    def outcomes(value: float, termination: str) -> Given:
        return seeds(lambda *_: an_outcome(value, bound=1.0, termination=termination), problems=1, number=1)

    for termination, certain in (("complete", 1), ("time_limit", 0)):
        found = compare(rows(outcomes(2.0, termination)), rows(outcomes(2.1, termination)))
        assert found.regressions == len(found.certain) == certain
    within = compare(rows(outcomes(2.0, "complete")), rows(outcomes(2.0001, "complete")))
    assert within.regressions == 0
    assert (
        compare(
            rows(outcomes(2.0, "complete")), rows(outcomes(2.1, "complete")), ComparisonRules(tolerance=0.1)
        ).certain
        == []
    )


def test_failure_is_a_regression(rows: Callable[[Given], list[RunRow]]) -> None:
    before = seeds(noisy(), problems=1, number=3)
    after = [*before[:2], (before[2][0], an_outcome(None, status="crashed", error="signal 11\nmore", seconds=None))]
    found = compare(rows(before), rows(after))
    assert found.regressions == 1
    assert "feasible in A, crashed in B: signal 11" in "\n".join(lines(found, ComparisonRules()))
    assert compare(rows(after), rows(before)).regressions == 0


def test_contradictions_across_databases(rows: Callable[[Given], list[RunRow]]) -> None:
    before = rows([(a_run(method="exact", label="exact"), an_outcome(2.0, bound=2.0))])
    better = rows([(a_run(method="ea", label="ea"), an_outcome(1.9))])
    (found,) = compare(before, better).contradictions
    assert (found.plan.label, found.proof.label) == ("ea", "exact")
    none = rows([(a_run(method="ea", label="ea"), an_outcome(None, status="infeasible"))])
    assert compare(before, none).contradictions
    assert not compare(before, rows([(a_run(params={"k": 2}), an_outcome(1.9))])).contradictions, "another problem"
    assert not compare(before, rows([(a_run(method="ea"), an_outcome(2.0 * (1 - 1e-8)))])).contradictions, "rounding"


def test_pairs_without_the_same_key(rows: Callable[[Given], list[RunRow]]) -> None:
    """Names pair what keys do not; another spec, another unit and two candidates are not compared."""
    before = rows([(a_run("a"), an_outcome()), (a_run("b"), an_outcome()), (a_run("c", seed=1), an_outcome())])
    after = rows(
        [
            (a_run("a", time_limit=5.0), an_outcome()),
            (a_run("b", spec_sha256="1" * 64), an_outcome()),
            (a_run("c", seed=1, time_limit=1.0), an_outcome()),
            (a_run("c", seed=1, time_limit=2.0), an_outcome()),
        ]
    )
    pairing = compare(before, after).pairing
    assert [pair.before.problem for pair in pairing.pairs] == ["a"]
    assert [pair.before.problem for pair in pairing.changed] == ["b"]
    assert (len(pairing.only_before), len(pairing.only_after), pairing.by_key) == (1, 2, 0)


def test_times_of_two_machines_are_not_compared(rows: Callable[[Given], list[RunRow]]) -> None:
    found = compare(rows(seeds(noisy(machine="2 x A"))), rows(seeds(noisy(machine="2 x B"))))
    assert verdicts(found) == {"value": "", "bound": ""}
    assert "times of 24 runs not compared: their machines differ" in [*lines(found, ComparisonRules())]


def test_json_has_no_infinity(rows: Callable[[Given], list[RunRow]]) -> None:
    import json

    before, after = seeds(noisy()), seeds(lambda *_: an_outcome(None, status="crashed", seconds=None))
    data = json.loads(json.dumps(to_json(compare(rows(before), rows(after)), ComparisonRules()), allow_nan=False))
    assert data["regressions"] == 24 + 2 + 3 * 2, "each run, both quantities, and both of each problem"
    assert data["methods"][0]["change"] is None
