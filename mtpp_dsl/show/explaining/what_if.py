"""Find what other hardware would change: one more device of each type, twice the bandwidth, a quarter more memory.

Each altered problem is solved from the present plan, with a bound. What is said of the two best costs follows from
plans and bounds alone: the best cost then is at least the bound then and at most that of the plan then, and likewise
now. That the alteration cannot make anything worse is used only where every plan stays one and costs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.constraints import Bottleneck, InOrder, Latency, Linear, Load, Makespan, On, Used, decisions_in
from mtpp_dsl.core.errors import MtppError, Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.altered import with_bandwidth, with_memory
from mtpp_dsl.show.explaining.another_device import alike, with_device
from mtpp_dsl.show.explaining.budget import BudgetTask, SolvedTask, solved
from mtpp_dsl.show.explaining.question import Question
from mtpp_dsl.show.report.names import short_names
from mtpp_dsl.show.report.reached import still_better

__all__ = ["Case", "WhatIf", "cases_of", "never_worse", "what_if"]

Kind = Literal["device", "bandwidth", "memory"]
BANDWIDTH, MEMORY = 2.0, 1.25
SAME = 1e-9
MOST_TYPES = 8
"""Types of devices of which one more is tried; of more types those with the largest loads."""


class Altered(NamedTuple):
    """One alteration: its kind, what it is called, how to make it, and the devices that are alike it."""

    kind: Kind
    name: str
    make: Callable[[Problem], Problem]
    like: str = ""


@dataclass(frozen=True, repr=False)
class Case(Short):
    """What came of one alteration.

    Attributes:
        kind: what is altered.
        name: in words.
        device: the name of the new device; "" for the other kinds.
        like: the devices that are as the new one; "" for the other kinds.
        status: of the answer to the altered problem; "" where there is none.
        cost: of the best plan found; None without one.
        bound: no plan of the altered problem costs less; None where none was proved.
        better: whether the alteration can make no plan worse, as far as the problem itself says.
        why: why there is no answer; "" where there is one.
    """

    kind: Kind
    name: str
    device: str = ""
    like: str = ""
    status: str = ""
    cost: float | None = None
    bound: float | None = None
    better: bool = False
    why: str = ""

    def ratios(self, cost: float | None, bound: float | None) -> tuple[float | None, float | None]:
        """Return between what the best cost then lies, as multiples of the best cost now; None where nothing says.

        Args:
            cost: of the best plan now.
            bound: no plan now costs less.
        """
        least = self.bound / cost if self.bound is not None and cost is not None and cost > 0 else None
        most = self.cost / bound if self.cost is not None and bound is not None and bound > 0 else None
        if self.better and cost is not None and cost > 0:
            most = min(1.0, np.inf if most is None else most)
        if least is not None and most is not None and least > most:  # by the rounding of bounds
            least = most
        return least, most


@dataclass(frozen=True, repr=False)
class WhatIf(Short):
    """What came of all alterations.

    Attributes:
        question: what was asked, and found.
        cases: in the order in which they were tried.
    """

    question: Question
    cases: tuple[Case, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; values are those of the objective, ratios are of costs."""
        question = self.question
        cases = []
        for case in self.cases:
            least, most = case.ratios(question.cost, question.bound)
            cases.append(
                {
                    "kind": case.kind,
                    "name": case.name,
                    "device": case.device or None,
                    "like": case.like or None,
                    "status": case.status or None,
                    "value": question.value(case.cost),
                    "bound": question.value(case.bound),
                    "best": {"least": least, "most": most},
                    "never_worse": case.better,
                    "why": case.why or None,
                }
            )
        now = {"value": question.value(question.cost), "bound": question.value(question.bound)}
        return {"now": now, "cases": cases}

    def words(self) -> list[str]:
        """Return it in words."""
        start = "by itself" if self.question.plan is None else "from the present plan"
        lines = [f"what if there were (each solved {start}):"]
        for case in self.cases:
            outcome = case.why or self._case(case)
            lines.append(f"  {case.name}: {outcome}")
        gap = self.question.gap
        if gap is not None and gap > OPTIMAL_GAP and any(case.cost is not None for case in self.cases):
            lines.append(f"  {self._room()}: a part of a gain may be had without")
        return lines

    def _room(self) -> str:
        """Return how far the present plan may be from the best of the problem as it is."""
        question, objective = self.question, self.question.problem.objective
        assert question.cost is not None
        assert question.bound is not None
        room = still_better(objective, objective.value(question.cost), objective.value(question.bound))
        if not room:
            return "the present plan is not proved to be the best"
        return f"without a change the best plan is at most {room} than the present one"

    def _case(self, case: Case) -> str:
        """Return what came of one case in words."""
        question, shown = self.question, self.question.shown
        if case.status == "infeasible":
            return "no plan exists" + (" either" if question.answer["status"] == "infeasible" else "")
        parts = []
        if case.cost is not None:
            parts.append(f"{shown(case.cost)}{self._beside(case.cost)}")
        if case.bound is not None:
            optimal = case.status == "optimal"
            word = "below" if question.problem.objective.sense == "minimize" else "above"
            limit = f"no plan is {word} {shown(case.bound)}"
            as_now = question.cost is None or shown(case.bound) == shown(question.cost) or case.bound > question.cost
            most = "" if as_now else self._beside(case.bound)
            parts.append("proved to be the best then" if optimal else f"{limit}{most}")
        least, most_ = case.ratios(question.cost, question.bound)
        if least is not None and most_ is not None and _times(least) != _times(most_):
            if question.problem.objective.name == "throughput":  # whose value is one divided by the cost
                least, most_ = 1 / most_, 1 / least if least else np.inf
            name = question.problem.objective.shown
            parts.append(f"the best {name} then is {_times(least)} to {_times(most_)} times the best now")
        return "; ".join(parts)

    def _beside(self, cost: float) -> str:
        """Return how a cost is beside that of the plan, by the values of the objective."""
        if self.question.cost is None:
            return ", where there is no plan now" if self.question.answer["status"] == "infeasible" else ""
        compared = self.question.compared(cost) or "as now"
        return f", which is {compared}" if compared in ("more", "less") else f", {compared}"


def _times(ratio: float) -> str:
    return f"{ratio:.3g}"


def what_if(question: Question, seconds: float) -> WhatIf | None:
    """Return what other hardware would change, each alteration solved in its share of *seconds*.

    An infeasible problem is asked, too: whether there is a plan then. None where neither a plan nor its absence is
    known.
    """
    if question.plan is None and question.answer["status"] != "infeasible":
        return None
    asked: list[tuple[Altered, Problem | str]] = []
    for altered in cases_of(question):
        try:
            asked.append((altered, replace(altered.make(question.problem), target=None)))
        except Refused as error:
            asked.append((altered, str(error)))
    tasks = [
        BudgetTask(altered.name, made, _carried(question, made)) for altered, made in asked if isinstance(made, Problem)
    ]
    answers = iter(solved(question, tasks, seconds))
    cases = [
        Case(altered.kind, altered.name, like=altered.like, why=made)
        if isinstance(made, str)
        else _case(question.problem, altered, next(answers))
        for altered, made in asked
    ]
    return WhatIf(question, tuple(cases))


def _case(problem: Problem, altered: Altered, solved_task: SolvedTask) -> Case:
    """Return what came of an alteration that could be asked."""
    new = {device.name for device in solved_task.task.problem.devices} - {device.name for device in problem.devices}
    result = solved_task.result
    return Case(
        altered.kind,
        altered.name,
        device="".join(new),
        like=altered.like,
        status="" if result is None else result.status,
        cost=None if result is None else result.cost,
        bound=None if result is None or result.bound is None else result.bound.cost,
        better=never_worse(problem, altered.kind),
        why=solved_task.why,
    )


def cases_of(question: Question) -> Iterator[Altered]:
    """Yield the alterations of a problem, one more device of each type first."""
    problem, evaluation = question.problem, question.evaluation
    types = list(alike(problem))
    if evaluation is not None:  # the busiest first
        types.sort(key=lambda members: -max(float(evaluation.load[d]) for d in members))
    for members in types[:MOST_TYPES]:
        like = short_names([problem.devices[d].name for d in members])
        first = members[0]
        make = partial(with_device, like=first, search=question.search)
        yield Altered("device", f"one more device like {like}", make, like)
    yield Altered("bandwidth", "twice the bandwidth", lambda p: with_bandwidth(p, BANDWIDTH))
    yield Altered("memory", "a quarter more memory", lambda p: with_memory(p, MEMORY))


def _carried(question: Question, made: Problem) -> Plan | None:
    """Return the present plan as one of an altered problem, by the names in it; None where it is none."""
    if question.plan is None:
        return None
    data = {**question.plan.to_json(question.problem), "order": None}
    try:
        plan = Plan.from_json(made, data)
        return None if verify(made, plan) else plan
    except MtppError:
        return None


def never_worse(problem: Problem, kind: Kind) -> bool:
    """Return whether every plan stays a plan under an alteration, and costs no more.

    Not claimed: for a runtime, whose limits may count devices; with a plug-in's constraint; where a row or a linear
    objective other than the latency speaks of more than where nodes are; of one more device with rows at all, where
    every device has to run something, or where tensors between devices without a link might go by way of it.
    """
    rules = problem.constraints
    if problem.target is not None or any(isinstance(rule, CustomConstraint) for rule in rules):
        return False
    if any(not _of_times_alone(objective) for objective in problem.objectives) or problem.later:
        return False
    rows = [rule for rule in rules if isinstance(rule, Linear)]
    spoken = {type(decision) for row in rows for decision in decisions_in(row.terms)}
    if spoken - {On, Used} or (rows and kind == "device"):
        return False
    if kind != "device":
        return True
    if any(isinstance(rule, InOrder) and rule.empty == "never" for rule in rules):
        return False
    joined = problem.interconnect
    if isinstance(joined, Links) and joined.routing == "widest":
        return bool((np.asarray(joined.bandwidth) + np.eye(problem.k) > 0).all())
    return True


def _of_times_alone(objective: Any) -> bool:
    """Return whether an objective grows with loads and times alone: it is not linear, or the latency or alike."""
    kinds = (Latency, Load, Bottleneck, Makespan)
    return not objective.is_linear or (
        not objective.maximized and all(isinstance(x, kinds) and a > 0 for x, a in objective.terms)
    )
