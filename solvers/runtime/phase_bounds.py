"""Bounds on what is asked of single phases, from bounds on bottlenecks of ordinary problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mtpp_dsl.core.constraints import Bottleneck, Decision, Largest, Latency, Linear, Load, On, Penalties, Used
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.result import Bound, Infeasibility
from mtpp_dsl.core.problem.graph import Floats, frozen
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.runtime.incumbent import Incumbent
from mtpp_dsl.solvers.runtime.reduced import Aside

__all__ = ["PhaseBounds"]

Terms = Iterable[tuple[Decision, float]]
ROUNDING = 1e-12


@dataclass
class PhasePart:
    """An ordinary problem of a bottleneck, the name of what it is of, and the best bound on it so far."""

    name: str
    problem: Problem
    lower: float = 0.0
    method: str = ""
    proof: str = "checked"


class PhaseBounds:
    """Bounds a goal over phases from below by bounds on each phase alone, and on a weighted sum of all phases.

    The goal grows with the bottlenecks of its phases, so that it is at least what it is at the bound of each. Also, the
    sum of ``a_p`` times the bottleneck of p is at least the bottleneck of the problem whose times and tensors are the
    sums of ``a_p`` times those of p. For the largest of several sums their mean counts there, which is no larger.

    Args:
        problem: of which :meth:`fits` is true.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._terms, self._constant = _goal(problem)
        least: dict[str | None, Problem] = {None: problem}
        least.update(problem.each_phase.items())
        self._work = {p: float(_least(one).sum()) * (1 - ROUNDING) for p, one in least.items()}
        self._parts = {p: PhasePart(f"phase {p}" if p else "all phases", self._alone(p)) for p in _asked(self._terms)}
        self._mixed, self._scale, self._offset = self._mixture()

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Return whether the goal grows with the loads of phases."""
        objective = problem.objective
        if not problem.phased or problem.timed or objective.batch is not None or objective.maximized:
            return False
        return (objective.is_linear or objective.quantity == "bottleneck") and _grows(_goal(problem)[0])

    def take(
        self, methods: Sequence[Method], limits: Limits, progress: Progress, incumbent: Incumbent
    ) -> Infeasibility | None:
        """Give each part to each of *methods* that accepts it; their plans and bounds go to *incumbent*.

        The time is shared among all that is left. Return why one phase alone has no plan, if that is found: then there
        is none of all.
        """
        incumbent.prove(self.bound())
        tasks = self._tasks(methods)
        for number, (method, part) in enumerate(tasks):
            if incumbent.done:
                return None
            progress.say(f"bounding {part.name} by {method.name}")
            own = limits.within(limits.remaining / (len(tasks) - number), start=None)
            result = method.solve(part.problem, own, Aside(progress))
            if result.infeasibility is not None:
                return replace(result.infeasibility, reason=f"{part.name}: {result.infeasibility.reason}")
            if result.plan is not None:
                incumbent.take(result.plan)
            if result.bound is not None and result.bound.cost > part.lower:
                part.lower, part.method, part.proof = result.bound.cost, method.name, result.bound.proof
                incumbent.prove(self.bound())
        return None

    def _tasks(self, methods: Sequence[Method]) -> list[tuple[Method, PhasePart]]:
        parts = [*self._parts.values(), *([] if self._mixed is None else [self._mixed])]
        return [(method, part) for method in methods for part in parts if method.accepts(part.problem) is None]

    def bound(self) -> Bound:
        """Return the best bound so far."""
        parts = list(self._parts.values())
        values: dict[Decision, float] = {Bottleneck(p): part.lower for p, part in self._parts.items()}
        cost = self._constant + self._at(self._terms, values)
        words = "of each phase alone: "
        if self._mixed is not None and self._mixed.lower > 0:
            mixed = self._offset + self._scale * self._mixed.lower
            if mixed > cost:
                cost, parts, words = mixed, [self._mixed], "of "
        detail = words + ", ".join(f"{one.name} by {one.method or 'its work'}" for one in parts)
        trusted = any(one.proof == "trusted" for one in parts)
        methods = list(dict.fromkeys(one.method for one in parts if one.method))
        size = abs(self._constant) + abs(cost)
        return Bound(
            cost - ROUNDING * size,
            method="+".join(methods) or "simple",
            proof="trusted" if trusted else "checked",
            by="mtpp",
            detail=detail,
        )

    def _at(self, terms: Terms, values: dict[Decision, float]) -> float:
        """Return what a sum is at least, with these values of bottlenecks at least."""
        total = 0.0
        for decision, a in terms:
            match decision:
                case Bottleneck():
                    total += a * values[decision]
                case Latency(phase):
                    total += a * self._work[phase]
                case Largest(sums):
                    total += a * max(constant + self._at(inner, values) for inner, constant in sums)
                case On() | Used():
                    total += min(a, 0.0)
        return total

    def _alone(self, phase: str | None) -> Problem:
        """Return the problem of one phase, or of all together, that asks for its bottleneck."""
        if phase is not None:
            return self._problem.phase(phase)
        kept = [one for one in self._problem.constraints if not isinstance(one, Linear)]
        return self._problem.asking(replace(Objective("bottleneck"), penalised=False), kept)

    def _mixture(self) -> tuple[PhasePart | None, float, float]:
        """Return the weighted sum of phases, what its bottleneck is times, and what is added.

        Delays of transfers count once in it, however often the phases run, so that its weights add up to one.
        """
        problem = self._problem
        weight, offset = dict.fromkeys((None, *problem.phases), 0.0), self._constant

        def add(terms: Terms, times: float) -> float:
            total = 0.0
            for decision, a in terms:
                match decision:
                    case Bottleneck(phase):
                        weight[phase] += times * a
                    case Latency(phase):
                        total += times * a * self._work[phase]
                    case Largest(sums):
                        for inner, constant in sums:
                            share = times * a / len(sums)
                            total += share * constant + add(inner, share)
                    case On() | Used():
                        total += times * min(a, 0.0)
            return total

        offset += add(self._terms, 1.0)
        scale = sum(weight.values())
        if sum(a > 0 for a in weight.values()) < 2 or not 0 < scale < inf:
            return None, 0.0, offset
        alike = [(weight[p] / scale, self._alone(p)) for p in weight if weight[p] > 0]
        first = alike[0][1]

        def total(what: str) -> Floats:
            return frozen(sum(a * getattr(one.graph, what) for a, one in alike), np.float64)

        graph = replace(problem.graph, phases=(), work=total("work"), output=total("output"), sizes=total("sizes"))
        kept = [one for one in first.constraints if not isinstance(one, Linear)]
        time = frozen(sum(a * one.time for a, one in alike), np.float64)
        mixed = replace(first, graph=graph, time=time, constraints=tuple(kept))
        return PhasePart("the weighted sum of the phases", mixed), scale, offset


def _goal(problem: Problem) -> tuple[tuple[tuple[Decision, float], ...], float]:
    """Return the terms and the constant of what is minimised."""
    if not problem.objective.is_linear:
        return ((Bottleneck(), 1.0),), 0.0
    terms, constant = problem.objective.cost_terms
    return tuple(terms), constant


def _least(problem: Problem) -> Floats:
    """Return [n] the least time of each node."""
    return np.asarray(np.where(problem.allowed, problem.time, np.inf).min(axis=1, initial=np.inf), np.float64)


def _grows(terms: Terms) -> bool:
    """Return whether a sum grows with the loads of phases."""
    for decision, a in terms:
        if isinstance(decision, (On, Used)):
            continue
        if a < 0 or not isinstance(decision, (Bottleneck, Latency, Load, Penalties, Largest)):
            return False
        if isinstance(decision, Largest) and not all(_grows(inner) for inner, _ in decision.sums):
            return False
    return True


def _asked(terms: Terms) -> list[str | None]:
    """Return the phases whose bottlenecks a sum is made of."""
    objectives: dict[str | None, None] = {}

    def note(terms: Terms) -> None:
        for decision, _ in terms:
            if isinstance(decision, Bottleneck):
                objectives[decision.phase] = None
            elif isinstance(decision, Largest):
                for inner, _ in decision.sums:
                    note(inner)

    note(terms)
    return list(objectives)
