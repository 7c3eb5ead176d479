"""Method ``auto`` starts nothing twice without a reason."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from mtpp_dsl.core.constraints import Colocate, InOrder, Linear, Replicate, Robust, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import METHODS, available, built_in, load
from mtpp_dsl.solvers.methods.auto import bottleneck as run
from mtpp_dsl.solvers.methods.auto import steps
from mtpp_dsl.solvers.methods.auto.auto import Auto
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, run_lane
from mtpp_dsl.solving.plugins.samples import large, large_schedule, small

PROBLEMS = {**small(), "large": large(), "large schedule": large_schedule()}
MODELS = (
    "methods.mip.mip_method:MipMethod",
    "methods.cp_sat:Splitting",
    "methods.cp_sat:Scheduling",
    "methods.cp_sat:BatchScheduling",
)
SECONDS = 60.0
UNSLICED = (Colocate, InOrder, Linear, Replicate, Robust, Separate)
"""Of a problem with these ``auto`` may slice what is left without them."""
MOMENTS = {"single-device", "simple", "node", "reach", "anchor", "count", "critical-path"}
MOMENTS |= {"greedy", "met", "peft", "cpop", "etf", "published-greedy"}


class Starts:
    """What ``auto`` starts: every method ends at once, with nothing found.

    Attributes:
        seen: of each method with its arguments, seed and problem, the seconds that it was given each time.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, termination: Termination) -> None:
        self.seen: dict[tuple[object, ...], list[float]] = {}
        self._termination = termination
        found = [load(METHODS, name) for name in available(METHODS) if name != "auto"]
        found += [built_in(f"mtpp_dsl.solvers.{place}") for place in MODELS]
        for kind in (one for one in found if isinstance(one, type)):
            monkeypatch.setattr(kind, "solve", self._solver(), raising=False)
        # of a stricter problem auto is run anew, aside and in little time
        for module in ("bottleneck", "steps"):
            monkeypatch.setattr(f"mtpp_dsl.solvers.methods.auto.{module}.search_stricter", lambda *_: None)
        for module in (run, steps):
            monkeypatch.setattr(module, "run_together", _one_after_another)

    def _solver(self) -> Any:
        def solve(method: Method, problem: Problem, limits: Limits, progress: Progress) -> Result:
            step = getattr(method, "step", None)  # another way to the same bound
            key = (type(method), method.name, step, limits.seed, pickle.dumps(problem))
            given = min(limits.remaining, getattr(method, "patience", SECONDS))  # that of ideals are seconds
            self.seen.setdefault(key, []).append(given)
            return Result(self._termination, method=method.name, seed=limits.seed)

        return solve

    def of(self, problem: Problem, threads: int | None) -> list[tuple[str, int, list[float]]]:
        """Return the names and seeds of what was started more than once, and the seconds that it was given."""
        self.seen.clear()
        Auto().solve(problem, Limits(time=SECONDS, threads=threads, gap=0.0), Progress())
        return [(str(key[1]), int(str(key[3])), given) for key, given in self.seen.items() if len(given) > 1]


def _one_after_another(
    problem: Problem, lanes: Sequence[Sequence[LaneTask]], limits: Limits, progress: Progress, *, began: object
) -> tuple[list[Result], tuple[str, ...]]:
    return [result for lane in lanes for result in run_lane(problem, lane, limits, progress)], ()


def accepted() -> Iterator[tuple[str, Problem]]:
    return ((name, problem) for name, problem in PROBLEMS.items() if Auto().accepts(problem) is None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_what_has_ended_by_itself_is_not_started_again(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """No method that ends by itself is given the same problem with the same seed again, by whatever step."""
    starts = Starts(monkeypatch, "complete")
    for name, problem in accepted():
        assert starts.of(problem, threads) == [], name
        assert len(starts.seen) >= (1 if problem.prefetches else 2), name  # exact alone knows that


@pytest.mark.sampled(3)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_what_the_time_has_ended_is_given_more(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """What the time has ended is started again only with twice as much; searches for plans take new seeds."""
    starts = Starts(monkeypatch, "time_limit")
    for name, problem in accepted():
        for method, _, given in starts.of(problem, threads):
            assert method not in ("annealing", "slicegraph", "latency-search", "lns"), name
            assert all(later >= 1.9 * sooner for sooner, later in pairwise(given)), (name, method, given)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("termination", ["complete", "time_limit"])
def test_the_outline_is_what_is_done(monkeypatch: pytest.MonkeyPatch, termination: Termination) -> None:
    """``mtpp check`` names what auto comes to, but for what takes a moment or a part of the problem, without work."""
    starts = Starts(monkeypatch, termination)
    for name, problem in accepted():
        starts.of(problem, threads=None)
        started = dict.fromkeys(str(key[1]) for key in starts.seen)
        starts.seen.clear()
        told = Auto().outline(problem)
        assert starts.seen == {}, name
        assert len(set(told)) == len(told) > 0, name
        part = {"slicegraph"} if any(isinstance(c, UNSLICED) for c in problem.constraints) else set()
        part |= {"configuration", "ideals"} if problem.phased else set()  # of single phases
        if problem.objective.parts == "separate":  # of the forward or backward part
            part |= {"branching", "orders"}
        assert set(told) - part == set(started) - MOMENTS - part, name
