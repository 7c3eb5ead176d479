"""Answers to small specs, held against all plans."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, size_of
from mtpp_dsl.core.constraints import Copies
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.problem import Problem
from tests.tools.metamorphic.answers import TOLERANCE, Answer
from tests.tools.metamorphic.claims import others
from tests.tools.metamorphic.relations import Trial

__all__ = ["exhausted"]

METHODS = 3
"""How many methods are asked, beside the one that is tried."""
MAX_PLANS = 3000


def exhausted(trial: Trial) -> Iterator[str]:
    """Yield what is wrong with the answers of some methods beside the best of all plans, if these are few."""
    mine = trial.ask()
    if mine.problem is None:
        return
    best = _best(mine.problem)
    if best is None:
        return
    names = others(mine.problem)
    for name in [trial.method, *trial.random.sample(names, min(METHODS, len(names)))]:
        answer = trial.answers.ask(trial.spec, name)
        yield from (f"{what} (by {name})" for what in _wrong(answer, *best))


def _best(problem: Problem) -> tuple[float, float] | None:
    """Return the cost of the best plan, or ``inf``, and the size of its numbers; None if plans are many."""
    few = 100 if problem.timed or problem.objective.batch is not None else 1000
    if problem.k**problem.graph.n > few:
        return None
    try:
        found = [(cost_of(problem, plan), size_of(problem, plan)) for plan in islice(plans(problem), MAX_PLANS)]
    except MtppError:
        return None
    return None if len(found) == MAX_PLANS else min(found, default=(inf, 0.0))


def _wrong(answer: Answer, best: float, size: float) -> Iterator[str]:
    margin = 0.0 if best == inf else TOLERANCE * max(abs(best), size if size < inf else 0.0)
    if answer.infeasible and best < inf:
        yield f"false infeasible: there is a plan of {best!r}"
    if answer.bound is not None and answer.bound > best + margin:
        yield f"bound above a plan: the bound is {answer.bound!r}, and the best plan costs {best!r}"
    if answer.result is None or answer.problem is None or not _settled(answer.problem):
        return
    if answer.cost is not None and answer.cost < best - margin:
        yield f"better than all: a plan of {answer.cost!r}, and the best costs {best!r}"
    if answer.cost is not None and answer.result.status == "optimal" and answer.cost > best + 2 * margin:
        yield f"false optimal: a plan of {answer.cost!r}, and the best costs {best!r}"


def _settled(problem: Problem) -> bool:
    """Return whether the best of the plans that are tried is the optimum.

    Rows on times may ask nodes to wait, and routes may have to share stages: such plans are not tried.
    """
    if any(problem.of(Copies)):
        return False
    timed = problem.timed and isinstance(problem.interconnect, Links)
    return not timed or not (problem.objective.is_linear or any(problem.hard_rows) or any(problem.soft_rows))
