"""Compare ``auto`` with the best of its parts, problem by problem and limit by limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import exp, inf, isfinite, log
from typing import NamedTuple

from benchmarks.regret.figures import Figures
from benchmarks.regret.recording import LIMITS

EQUAL = 1e-6
"""Parts as close as this to the best share its win."""


class Regret(NamedTuple):
    """What ``auto`` found of a problem at one limit, beside the best part.

    Attributes:
        problem: its name.
        limit: in seconds.
        plan: cost of auto's plan over that of the best part, at most 1 where auto is as good; inf where auto alone has
            no plan, None where no part has one.
        bound: the best part's bound over auto's, likewise.
        plans_by: the parts whose plan is the best.
        bounds_by: the parts whose bound is the best.
    """

    problem: str
    limit: float
    plan: float | None
    bound: float | None
    plans_by: tuple[str, ...]
    bounds_by: tuple[str, ...]


def regrets(parts: Iterable[Figures], autos: Iterable[Figures]) -> list[Regret]:
    """Return the regret of each run of ``auto`` on a problem that parts were recorded on.

    A run for longer than all limits is compared with the parts at the longest.
    """
    of_problem: dict[str, list[Figures]] = {}
    for part in parts:
        of_problem.setdefault(part.problem, []).append(part)
    return [_regret(auto, of_problem[auto.problem]) for auto in autos if auto.problem in of_problem]


def _regret(auto: Figures, parts: Sequence[Figures]) -> Regret:
    limit = min(auto.limit, LIMITS[-1])
    least = not auto.maximised
    plan, plans_by = _best({part.label: part.plans[limit] for part in parts}, least=least)
    bound, bounds_by = _best({part.label: part.bounds[limit] for part in parts}, least=not least)
    return Regret(
        auto.problem,
        auto.limit,
        _behind(auto.plan, plan, least=least),
        _behind(auto.bound, bound, least=not least),
        plans_by,
        bounds_by,
    )


def _best(values: dict[str, float | None], *, least: bool) -> tuple[float | None, tuple[str, ...]]:
    """Return the best value, and who has it."""
    known = {label: value for label, value in values.items() if value is not None}
    if not known:
        return None, ()
    best = (min if least else max)(known.values())
    return best, tuple(sorted(label for label, value in known.items() if abs(value - best) <= EQUAL * abs(best)))


def _behind(own: float | None, best: float | None, *, least: bool) -> float | None:
    """Return by which factor a value is behind the best, where the least is wanted or the most."""
    if best is None:
        return None
    if own is None:
        return inf
    worse, better = (own, best) if least else (best, own)
    return 1.0 if worse == better else worse / better if better > 0 else inf


class Summary(NamedTuple):
    """The regret of several problems.

    Attributes:
        count: of problems.
        mean: the geometric mean of the ratios, of those that are finite; None without any.
        worst: the largest of these.
        worst_problem: where that is.
        missing: problems on which a part has what auto has not.
        behind: problems with a ratio above the tolerance, those without included.
        winners: the parts that are best, with on how many problems each is.
    """

    count: int
    mean: float | None
    worst: float | None
    worst_problem: str
    missing: tuple[str, ...]
    behind: int
    winners: Counter[str]


TOLERANCE = 1.01
"""A ratio that counts as behind."""


def summary(
    regret: Sequence[Regret], of: Callable[[Regret], float | None], by: Callable[[Regret], tuple[str, ...]]
) -> Summary:
    """Return the summary of one of the two ratios, and of the parts that are best in it."""
    ratios = {one.problem: ratio for one in regret if (ratio := of(one)) is not None}
    known = {problem: ratio for problem, ratio in ratios.items() if isfinite(ratio)}
    worst = max(known, key=lambda problem: known[problem], default="")
    winners: Counter[str] = Counter()
    for one in regret:
        winners.update(by(one))
    return Summary(
        len(regret),
        exp(sum(map(log, known.values())) / len(known)) if known else None,
        known.get(worst),
        worst,
        tuple(problem for problem, ratio in ratios.items() if not isfinite(ratio)),
        sum(ratio > TOLERANCE for ratio in ratios.values()),
        winners,
    )
