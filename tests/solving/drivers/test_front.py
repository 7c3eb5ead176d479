"""Fronts of two objectives, against brute force, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl import Progress, front, load, verify
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import with_objectives
from mtpp_dsl.solving.drivers.several import Several
from tests.weighted_problems import all_costs, random_problem

SPEC = """mtpp 1
graph {
  node a (work = 2 ms, output = 1 MiB)
  node b (work = 3 ms, output = 1 MiB)
  node c (work = 4 ms)
  edge a -> b -> c
}
device gpu[2]
device cpu (speed = 0.5)
interconnect shared (bandwidth = 8 GiB/s)
minimize cost: 3 * used(gpu[0]) + 3 * used(gpu[1]) + used(cpu)
minimize bottleneck
constraint acyclic
"""


def truth(problem: Problem) -> list[tuple[float, float]]:
    """Return the costs of the whole front of two objectives."""
    found: list[tuple[float, float]] = []
    for first, second in sorted(set(all_costs(problem))):
        if not found or second < found[-1][1] - 1e-9:
            found.append((first, second))
    return found


@pytest.mark.sampled(21)
@pytest.mark.parametrize("seed", range(60))
def test_whole_front(seed: int) -> None:
    """With points enough the front is that of brute force, and no plan is below the bounds of a point."""
    problem = random_problem(seed, objectives=2)
    names = [objective.shown for objective in problem.objectives]
    pair = with_objectives(problem, names if seed % 2 else names[::-1])
    every = all_costs(pair)
    found = front(pair, names if seed % 2 else names[::-1], points=60, method="exact", time_limit=200)
    costs = [tuple(one.cost for one in point.objectives) for point in found.points]
    wanted = truth(pair)
    assert len(costs) == len(wanted)
    assert [cost for pair in costs for cost in pair] == pytest.approx([c for pair in wanted for c in pair], abs=1e-5)
    assert found.complete == bool(every)
    for point in found.points:
        assert not verify(pair, point.plan)
        first, second = point.objectives
        assert first.bound is not None
        assert second.bound is not None
        for a, b in every:
            assert a > first.cost + 1e-6 or b >= second.bound.cost - 1e-5
            assert b > second.cost + 1e-6 or a >= first.bound.cost - 1e-5


def test_few_points_lie_apart() -> None:
    """With fewer points than there are, both ends are among them, and the front is not called complete."""
    problem = next(
        p for p in (random_problem(seed, objectives=2, rows=0, most=5) for seed in range(90)) if len(truth(p)) > 4
    )
    names = [objective.shown for objective in problem.objectives]
    found = front(problem, names, points=3, method="exact")
    costs = [tuple(one.cost for one in point.objectives) for point in found.points]
    assert len(costs) == 3
    assert not found.complete
    assert costs[0] == pytest.approx(truth(problem)[0])
    assert costs[-1] == pytest.approx(truth(problem)[-1])
    assert "Front(3 points of" in repr(found)


def test_stopping_keeps_the_points_found() -> None:
    """After a request to stop the points found until then are the front."""
    problem = load(SPEC)
    progress = Progress(lambda inner, _: "point 3" in inner.heading and progress.stop())
    found = front(problem, ["bottleneck", "cost"], method="exact", progress=progress)
    assert found.termination == "interrupted"
    assert 2 <= len(found) < 5
    assert not found.complete
    assert front(problem, ["bottleneck", "cost"], method="exact").values[-1] == pytest.approx((0.018, 1.0))


class Clock:
    """A clock that solves of a front advance by a share of what they may take, of which some find nothing new.

    Args:
        weak: the numbers of the solves that return their start, without a bound.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, weak: Container[int]) -> None:
        self.now, self.limits, self.weak, self.share = 0.0, list[float](), weak, 1.0
        self.solve = Several.__call__
        monkeypatch.setattr("mtpp_dsl.solving.drivers.front.monotonic", lambda: self.now)
        monkeypatch.setattr(Several, "__call__", lambda *arguments: self.called(*arguments))

    def called(
        self, several: Several, problem: Problem, limit: float, start: Plan | None, progress: Progress
    ) -> Result:
        """Solve, or find nothing new."""
        self.limits.append(limit)
        self.now += self.share * limit
        result = self.solve(several, problem, None, start, progress)
        if len(self.limits) - 1 not in self.weak or start is None:
            return result
        return replace(
            result, plan=start, evaluation=evaluate(problem, start), bound=None, termination="time_limit", verified=True
        )


def test_both_ends_get_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the four solves of the ends has the same time where each takes all that it gets."""
    clock = Clock(monkeypatch, ())
    found = front(load(SPEC), ["bottleneck", "cost"], points=2, method="exact", time_limit=8)
    assert clock.limits == pytest.approx([2, 2, 2, 2])
    assert len(found) == 2


def test_an_end_that_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end that no solve got to is looked for again in the time left; else the front is not called complete."""
    with monkeypatch.context() as patched:
        Clock(patched, {2, 3})
        found = front(load(SPEC), ["bottleneck", "cost"], points=2, method="exact", time_limit=8)
        assert len(found) == 1
        assert not found.complete
    with monkeypatch.context() as patched:
        clock = Clock(patched, {2})
        clock.share = 0.5
        found = front(load(SPEC), ["bottleneck", "cost"], points=2, method="exact", time_limit=8)
        assert found.values[-1] == pytest.approx((0.018, 1.0))
    Clock(monkeypatch, range(2, 99))
    found = front(load(SPEC), ["bottleneck", "cost"], points=2, method="exact", time_limit=8)
    assert len(found) == 1
    assert found.points[0].status == "optimal"
    assert not found.complete
    assert found.termination == "time_limit"


def test_a_start_that_is_bad_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first end that the second one beats in both objectives is dropped, and the first one is looked for again."""
    problem = load(SPEC.replace("device cpu (speed = 0.5)", "device cpu (speed = 0.1)"))
    start = {"assignment": {"a": "gpu[0]", "b": "cpu", "c": "gpu[1]"}}
    whole = front(problem, ["cost", "bottleneck"], points=9, method="exact")
    clock = Clock(monkeypatch, {0, 1})
    clock.share = 0.1
    found = front(problem, ["cost", "bottleneck"], points=9, method="exact", time_limit=800, start=start)
    assert [v for pair in found.values for v in pair] == pytest.approx([v for pair in whole.values for v in pair])
    assert found.complete


def test_what_cannot_be_asked() -> None:
    """Names that are none, one name twice, and methods that cannot keep a row are refused with the remedy."""
    problem = load(SPEC)
    with pytest.raises(UsageError, match=r"no objective 'cst'.*did you mean 'cost'"):
        front(problem, ["bottleneck", "cst"])
    with pytest.raises(UsageError, match="label one: minimize energy"):
        front(problem, ["bottleneck", "energy"])
    with pytest.raises(UsageError, match="two objectives"):
        front(problem, ["cost", "cost"])
    with pytest.raises(Refused, match="auto"):
        front(problem, ["bottleneck", "cost"], method="slicegraph")
    with pytest.raises(UsageError, match="points"):
        front(problem, ["bottleneck", "cost"], points=1)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a table of 80 columns at most, and writes JSON and a picture."""
    spec, answer, picture = tmp_path / "two.mtpp", tmp_path / "front.json", tmp_path / "front.svg"
    spec.write_text(SPEC)
    call = ["solve", str(spec), "--pareto", "bottleneck,cost", "--points", "9", "--method", "exact"]
    pytest.importorskip("matplotlib")
    assert run([*call, "--json", str(answer), "--plot", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "bottleneck" in out
    assert "5 points: every plan is no better in both than one of them" in out
    assert max(map(len, out.splitlines())) <= 80
    data = json.loads(answer.read_text())
    assert data["complete"] is True
    assert len(data["front"]) == 5
    assert "<svg" in picture.read_text()
    assert run(["solve", str(spec), "--points", "9"]) == 2
    assert "--pareto" in capsys.readouterr().err
    assert run([*call, "--checkpoint", str(answer)]) == 2
    assert "--checkpoint" in capsys.readouterr().err


def test_fronts_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every point is checked as an answer is; false values and points that another one dominates are found."""
    spec, answer = tmp_path / "two.mtpp", tmp_path / "front.json"
    spec.write_text(SPEC)
    assert (
        run(["solve", str(spec), "--pareto", "cost,bottleneck", "--method", "exact", "-q", "--json", str(answer)]) == 0
    )
    assert run(["verify", str(spec), str(answer)]) == 0
    assert "5 points; every constraint holds at each" in capsys.readouterr().out
    for change, message in [
        (lambda points: points[1]["objectives"][0].update(value=0.5), "point 2: objectives[0].value"),
        (lambda points: points[1]["plan"]["assignment"].update(a="gpu[1]", b="cpu"), "point 2: "),
        (list.reverse, "out of order"),
        (lambda points: points[2].update(gap=0.25), "point 3: gap"),
    ]:
        data = json.loads(answer.read_text())
        change(data["front"])
        (tmp_path / "false.json").write_text(json.dumps(data))
        assert run(["verify", str(spec), str(tmp_path / "false.json")]) == 7
        assert message in capsys.readouterr().out
    data = json.loads(answer.read_text())
    (tmp_path / "false.json").write_text(json.dumps({"schema": 2, "front": data["front"]}))
    assert run(["verify", str(spec), str(tmp_path / "false.json")]) == 2


def test_command_without_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A front of a problem that has no plan is infeasible: exit code 3."""
    spec = tmp_path / "none.mtpp"
    spec.write_text(SPEC + "constraint fast: bottleneck <= 1 ms\n")
    assert run(["solve", str(spec), "--pareto", "bottleneck,cost", "--method", "exact"]) == 3
    assert "infeasible" in capsys.readouterr().out
