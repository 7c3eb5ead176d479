"""Find what each constraint of a spec costs: the problem is solved without it, and plans and bounds are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import format_gap
from mtpp_dsl.core.constraints import BreakSymmetry, Constraint
from mtpp_dsl.core.errors import MtppError, Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, relative_gap
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import shortened
from mtpp_dsl.language.syntax.places import SpecLines
from mtpp_dsl.show.explaining.altered import relaxes, without
from mtpp_dsl.show.explaining.budget import BudgetTask, SolvedTask, solved
from mtpp_dsl.show.explaining.items import label_of, statements_of
from mtpp_dsl.show.explaining.question import Question
from mtpp_dsl.show.explaining.slack import Slack, slack_of

__all__ = ["ConstraintCosts", "Effect", "Price", "constraints", "statement_words"]

Effect = Literal["restricts", "allows", "changes", "orders", "fixed"]
"""What a constraint does: takes plans away; allows plans; both; orders equal devices alone; says what is asked."""

MOST_SHOWN = 4
MOST_TEXT = 200


@dataclass(frozen=True, repr=False)
class Price(Short):
    """What the constraints of one statement cost, or gain.

    All costs are those of the first objective, as methods minimise it.

    Attributes:
        named: as messages call them.
        lines: of the statement.
        rows: how many constraints it stands for.
        effect: what they do to the set of plans.
        cost: of the best plan that is known without them; None without one.
        bound: no plan without them costs less; None where none was proved.
        least, most: between these is what the best plan costs more with them than without; negative where it costs
            less. None where nothing was proved.
        impossible: whether it was proved that there is no plan without them.
        slack: what the plan leaves of their limits, the tightest first.
        why: why nothing is known; "" where something is.
        said: the finding in a sentence.
        constraints: these.
    """

    named: str
    lines: tuple[SpecLines, ...]
    rows: int
    effect: Effect
    cost: float | None = None
    bound: float | None = None
    least: float | None = None
    most: float | None = None
    impossible: bool = False
    slack: tuple[Slack, ...] = ()
    why: str = ""
    said: str = ""
    constraints: tuple[Constraint, ...] = ()

    @property
    def free(self) -> bool:
        """Whether it was proved that they cost nothing."""
        return self.least == self.most == 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        names = ("named", "rows", "effect", "cost", "bound", "least", "most", "impossible", "why", "said")
        return {
            **{name: getattr(self, name) for name in names},
            "lines": [part.to_json() for part in self.lines],
            "slack": [part.to_json() for part in self.slack],
        }

    def words(self) -> list[str]:
        """Return it in words."""
        lines = [f"  {statement_words(self.lines, self.named)}", f"      {self.said}"]
        binding = [slack for slack in self.slack if slack.binding]
        if binding:
            shown = [f"{shortened(slack.name, 80)} ({slack.said})" for slack in binding[:MOST_SHOWN]]
            more = [f"{len(binding) - MOST_SHOWN} more"] if len(binding) > MOST_SHOWN else []
            lines.append(f"      binding: {', '.join([*shown, *more])}")
        elif self.slack:
            of = f", the tightest of {len(self.slack)}" if len(self.slack) > 1 else ""
            how = "not binding" if self.free else "the plan is within it"
            lines.append(f"      {how}: {shortened(self.slack[0].name, 80)} has {self.slack[0].said}{of}")
        return lines


@dataclass(frozen=True, repr=False)
class ConstraintCosts(Short):
    """What each statement about constraints costs.

    Attributes:
        prices: the dearest first.
        shown: the value of the objective of the plan, for people.
        proved: whether the plan was proved to be the best.
        claimed: whether only a file says so.
    """

    prices: tuple[Price, ...]
    shown: str
    proved: bool
    claimed: bool = False

    def to_json(self) -> list[dict[str, Any]]:
        """Return it as JSON."""
        return [price.to_json() for price in self.prices]

    def words(self) -> list[str]:
        """Return it in words."""
        best = "which is proved to be the best" if self.proved else "which may not be the best"
        best = "the best, as the answer says" if self.proved and self.claimed else best
        head = f"What the constraints cost. With all of them the plan is at {self.shown}, {best}:"
        return [head, *(line for price in self.prices for line in price.words())]


def statement_words(lines: Sequence[SpecLines], named: str) -> str:
    """Return the place and the text of a statement on one line, shortened; what messages call it where it has none."""
    if not lines:
        return shortened(named, MOST_TEXT)
    text = " ".join(lines[0].text.split()) or named
    return f"{lines[0]}: {text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + '…'}"


@dataclass(frozen=True)
class _Case:
    """One statement: its constraints, and the problem without them, or why there is none."""

    group: tuple[Constraint, ...]
    effect: Effect
    altered: Problem | None
    why: str
    slack: tuple[Slack, ...]

    @property
    def tight(self) -> float:
        """How much is left of its tightest limit, as a share; 0 where nothing tells."""
        if not self.slack:
            return 0.0
        first = self.slack[0]
        return max(0.0, first.left / (max(abs(first.limit), abs(first.used)) or 1.0))


def constraints(question: Question, seconds: float) -> ConstraintCosts | None:
    """Return what each statement about constraints costs; None without a plan, or without constraints.

    The problem is solved without each statement, in the time that there is; those that may be binding come first.

    Args:
        question: about an answer with a plan.
        seconds: that it may take.
    """
    if question.plan is None or question.cost is None or not question.problem.constraints:
        return None
    cases = [_case(question, group) for group in statements_of(question.problem.constraints, question.places)]
    order = sorted((case for case in cases if case.altered is not None), key=lambda case: case.tight)
    tasks = [
        BudgetTask(f"without {label_of(case.group)}", case.altered, question.plan) for case in order if case.altered
    ]
    done = {id(case): one for case, one in zip(order, solved(question, tasks, seconds), strict=True)}
    prices = [_price(question, case, done.get(id(case))) for case in cases]
    prices.sort(key=lambda price: (-abs(price.most or 0.0) if price.why == "" else 1.0, price.effect))
    prices.sort(key=lambda price: -_known(question, price))
    gap = None if question.bound is None else relative_gap(question.cost, question.bound, size_of(question))
    return ConstraintCosts(
        tuple(prices), question.shown(question.cost), gap is not None and gap <= OPTIMAL_GAP, question.claimed
    )


def _known(question: Question, price: Price) -> float:
    """Return by how much the plans that are known differ: what a constraint seems to cost, or to gain."""
    assert question.cost is not None
    if price.impossible:
        return float("inf")
    return 0.0 if price.cost is None else abs(question.cost - price.cost)


def _case(question: Question, group: tuple[Constraint, ...]) -> _Case:
    problem = question.problem
    assert question.plan is not None
    assert question.evaluation is not None
    slack = tuple(slack_of(problem, question.plan, question.evaluation, group))
    if all(isinstance(rule, BreakSymmetry) for rule in group):
        return _Case(group, "orders", None, "", slack)
    try:
        altered = replace(without(problem, group), later=())
    except Refused as error:
        return _Case(group, "fixed", None, str(error), slack)
    enlarges = all(rule.enlarges for rule in group)
    effect: Effect = "allows" if enlarges else "restricts" if relaxes(problem, group) else "changes"
    return _Case(group, effect, altered, "", slack)


def _price(question: Question, case: _Case, done: SolvedTask | None) -> Price:
    """Return what a statement costs, of what was found without it."""
    places = question.places
    lines = tuple(dict.fromkeys(places.of_constraint(case.group[0])))
    blank = Price(label_of(case.group), lines, len(case.group), case.effect, slack=case.slack, constraints=case.group)
    if case.effect == "orders":
        sentence = "costs nothing: it orders equal devices, and never takes the best plan away"
        return replace(blank, least=0.0, most=0.0, said=sentence)
    if done is None or done.result is None:
        why = case.why if done is None else done.why
        sentence = "it cannot be left out" if case.effect == "fixed" else "what it costs is not known"
        return replace(blank, why=why, said=f"{sentence}: {why}")
    result = done.result
    if result.infeasibility is not None:
        return replace(blank, impossible=True, said=f"without it there is no plan: {result.infeasibility.reason}")
    cost = _best(question, case.altered, result.cost)
    bound = None if result.bound is None else result.bound.cost
    return _compared(question, replace(blank, cost=cost, bound=bound))


def _best(question: Question, altered: Problem | None, cost: float | None) -> float | None:
    """Return the least cost known without a statement: the plan with it may be one without it, too."""
    assert question.plan is not None
    assert altered is not None
    plan = question.plan.of(None)
    try:
        own = None if verify(altered, plan) else evaluate(altered, plan).cost
    except MtppError:
        own = None
    return min((x for x in (cost, own) if x is not None), default=None)


def _compared(question: Question, price: Price) -> Price:
    """Return a price with the range of what the statement costs, and the sentence on it."""
    assert question.cost is not None
    with_it, under_it = question.cost, question.bound
    low, high = price.cost, price.bound
    if price.effect == "restricts":  # the best plan without it is no worse
        under_it = max((x for x in (under_it, high) if x is not None), default=None)
    elif price.effect == "allows":  # and here no better
        high = max((x for x in (under_it, high) if x is not None), default=None)
    least = None if under_it is None or low is None else under_it - low
    most = None if high is None else with_it - high
    if price.effect == "restricts":
        least = max(0.0, least) if least is not None else 0.0
        least, most = (0.0, 0.0) if most is not None and none(question, most) else (least, most)
    elif price.effect == "allows":
        most = min(0.0, most) if most is not None else 0.0
        least, most = (0.0, 0.0) if least is not None and none(question, -least) else (least, most)
    price = replace(price, least=least, most=most, bound=high if price.effect == "allows" else price.bound)
    say = {"restricts": costs, "allows": gains}.get(price.effect, changes)
    return replace(price, said=say(question, price))


# Say what a constraint costs or gains, in a sentence: no more is claimed than plans and bounds show.


def size_of(question: Question) -> float:
    """Return the size of the largest term of the cost of the plan; 0.0 where terms do not cancel."""
    return 0.0 if question.evaluation is None else question.evaluation.size


def none(question: Question, difference: float) -> bool:
    """Return whether a difference of costs is none, to the solvers' tolerances."""
    assert question.cost is not None
    return difference <= max(OPTIMAL_GAP * abs(question.cost), 2 * OPTIMAL_GAP * size_of(question))


def _share(question: Question, cost: float) -> str:
    """Return by what share of its value a plan of this cost differs from the plan that was found."""
    assert question.cost is not None
    objective = question.problem.objective
    mine, other = objective.value(question.cost), objective.value(cost)
    return format_gap(abs(other - mine) / abs(mine)) if mine else question.shown(abs(other - mine))


def costs(question: Question, price: Price) -> str:
    """Return what constraints that take plans away cost."""
    cost, bound, shown = question.cost, price.bound, question.shown
    assert cost is not None
    if price.free:
        return "costs nothing: without it no plan is better, which is proved"
    if price.cost is None or none(question, cost - price.cost):
        if bound is None or price.most is None:
            return "without it no better plan was found; how much better one could be is not known"
        most = _share(question, bound)
        return f"without it no better plan was found, and none is better than {shown(bound)} ({most} better)"
    better = _share(question, price.cost)
    if price.least and price.most is not None and none(question, price.most - price.least):
        return f"without it the best plan is at {shown(price.cost)}, {better} better, which is proved"
    known = f"without it there is a plan at {shown(price.cost)}"
    most = "how much better the best is, is not known" if bound is None else f"at most {_share(question, bound)} better"
    if price.least and not none(question, price.least):
        return f"{known}; the best is at least {_share(question, cost - price.least)} better, {most}"
    return f"{known}, {better} better ({most}); but the plan with it may not be the best"


def gains(question: Question, price: Price) -> str:
    """Return what constraints that allow plans gain."""
    cost, bound, shown = question.cost, price.bound, question.shown
    assert cost is not None
    if price.free:
        return "gains nothing: without it there is a plan as good as the best with it, which is proved"
    if price.cost is None:
        sentence = "it allows plans, and without it none was found in the time"
        return sentence if bound is None or bound <= cost else f"{sentence}; none is better than {shown(bound)}"
    if price.cost <= cost or none(question, price.cost - cost):
        return f"gains nothing that was found: without it there is a plan at {shown(price.cost)}, too"
    known, worse = f"without it the best plan that was found is at {shown(price.cost)}", _share(question, price.cost)
    if bound is not None and bound > cost and not none(question, bound - cost):
        if none(question, price.cost - bound) and question.bound is not None and none(question, cost - question.bound):
            return f"without it the best plan is at {shown(price.cost)}, {worse} worse, which is proved"
        return f"{known}, {worse} worse; every one is at least {_share(question, bound)} worse"
    return f"{known}, {worse} worse; whether there is a better one is not known"


def changes(question: Question, price: Price) -> str:
    """Return what is known of constraints without which plans cost something else."""
    if price.cost is None:
        return "without it plans cost something else, and none was found in the time"
    bound = "" if price.bound is None else f", and none is better than {question.shown(price.bound)}"
    return f"without it plans cost something else: there is one at {question.shown(price.cost)}{bound}"
