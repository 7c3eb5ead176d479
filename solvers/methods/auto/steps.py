"""Hold what the runs of ``auto`` share: what is known, when to stop, and the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method, refusal
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result, Termination, relative_gap
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.slicing.linear_split import even_split
from mtpp_dsl.solvers.methods.auto.penalties import RowsAside
from mtpp_dsl.solvers.methods.auto.reasons import WHY
from mtpp_dsl.solvers.methods.auto.stricter import left_out, search_stricter, stricter_ones
from mtpp_dsl.solvers.runtime.portfolio.lane import LaneTask, run_lane
from mtpp_dsl.solvers.runtime.portfolio.race import MARGIN, run_together

MAX_OUTLINED = 5_000
AT_ONCE = 400
"""With more nodes than these, the searches report their first plans late."""


def first_refusal(methods: Iterable[Method], problem: Problem) -> str | None:
    """Return None if one of *methods* can be used on *problem* here, else why the last of them cannot."""
    reason: str | None = "no method is left for it"
    for method in methods:
        reason = refusal(method, problem)
        if reason is None:
            return None
    return reason


@dataclass
class AutoSteps(ABC):
    """One call: each step reports to ``progress`` and leaves if nothing is open.

    Attributes:
        ended: what the method said that has settled the problem, or was the last to try.
        failed: whether a method, or the process that it ran in, has failed: what it would have found is missing.
        notes: for the user.
        used: whether a solver was used.
        told: where nothing is to be done, the methods that the steps come to, in order; None where they are run.
        minor: methods that are not worth telling of: each is given a moment.
        on_links: whether these steps are for plans on links, which CP-SAT has models for.
    """

    on_links: ClassVar[bool] = False
    minor: ClassVar[frozenset[str]] = frozenset()

    problem: Problem
    limits: Limits
    progress: Progress

    def __post_init__(self) -> None:
        self.ended: Result | None = None
        self.failed = False
        self.notes: list[str] = []
        self.used = False
        self.told: dict[str, None] | None = None
        self._given: list[Method] = []
        self._finished: list[LaneTask] = []  # methods that have ended by themselves, with their seeds

    def outline(self) -> tuple[str, ...]:
        """Go through the steps without any work, and return the names of the methods that they come to, in order.

        Nothing is found on the way, so that no step is left out as plan and bound have met. Graphs of more than
        MAX_OUTLINED nodes are taken as they are: what would come only of a smaller or divided one is not told of. Nor
        are those of :attr:`minor`, and what is given the problem without some of its constraints.
        """
        self.told = {}
        self.result()
        return tuple(name for name in self.told if name not in self.minor)

    def tells(self, *names: str) -> bool:
        """Where nothing is to be done, note that methods of these names would be run, and return True."""
        if self.told is None:
            return False
        self.told.update(dict.fromkeys(names))
        return True

    @property
    def as_it_is(self) -> bool:
        """Whether the graph is too large to be looked at closely where nothing is to be done."""
        return self.told is not None and self.problem.graph.n > MAX_OUTLINED

    @abstractmethod
    def result(self) -> Result:
        """Go through the steps, and return the best of what they found."""

    def searches(self) -> Iterator[Method]:
        """Yield the searches for plans behind these steps, whether or not they accept the problem."""
        yield from ()

    def models(self) -> Iterator[Method]:
        """Yield the models of everything behind these steps, the one that gets further first; they find plans too."""
        yield from ()

    def methods(self) -> Iterator[Method]:
        """Yield the searches and the models; one is made when it is asked for, as some take long to import."""
        yield from self.searches()
        yield from self.models()

    def refusal(self) -> str | None:
        """Return why nothing behind these steps can be used, with the reason of the last; None where something can.

        Where no method takes the problem, one that takes a stricter one will do.
        """
        reason = first_refusal(self.methods(), self.problem)
        return None if reason is None or self.in_place is not None else reason

    @cached_property
    def in_place(self) -> Self | None:
        """The same steps for the first stricter problem, where a method takes that; None where none does."""
        for strict in stricter_ones(self.problem):
            steps = type(self)(strict, self.limits, Progress())
            return steps if first_refusal(steps.methods(), strict) is None else None
        return None

    def search_in_place(self) -> None:
        """Where no method takes the problem, search plans of stricter problems for the rest of the time."""
        if self.closed or first_refusal(self.methods(), self.problem) is None or self.in_place is None:
            return
        if self.told is not None:
            self.tells(*self.in_place.outline())
            return
        self.notes.append(f"no method takes this problem as it is: {left_out(self.problem)}")
        run, limits = type(self), self.limits.within(self.limits.remaining, start=None)
        first = 0.5 if self.progress.plan is None else 1.0
        search_stricter(self.problem, limits, self.progress, lambda *call: run(*call).result(), first)

    def require_one(self) -> None:
        """Raise if nothing behind these steps can be used, with the solver that is asked for.

        Raises:
            Refused: with the reason of the last.
        """
        reason = self.refusal()
        if reason is not None:
            raise Refused(f"auto has nothing that can solve this with solver {self.limits.solver}: {reason}")

    @property
    def searched(self) -> bool:
        """Whether any search accepts the problem; else a model of everything is needed, however large it is."""
        return first_refusal(self.searches(), self.problem) is None

    def model(self) -> list[Method]:
        """Return the first model of everything that can be used, if any; :meth:`insist` leaves it out."""
        model = next((method for method in self.models() if refusal(method, self.problem) is None), None)
        self._given += [] if model is None else [model]
        return [] if model is None else [model]

    def insist(self) -> None:
        """Where all else has found no plan, or failed, give the models of everything a turn that have had none."""
        if self.told:
            return
        had = {type(method) for method in self._given}
        for method in self.models():
            if (self.progress.plan is None or self.failed) and type(method) not in had:
                self.run(LaneTask(method))

    @property
    def closed(self) -> bool:
        """Whether plan and bound are close enough, or there is nothing more to try."""
        progress = self.progress
        if progress.stopped or self.limits.remaining <= 0 or self.ended is not None:
            return True
        return progress.bound is not None and self.closed_by(progress.bound)

    def closed_by(self, bound: Bound) -> bool:
        """Whether the best plan is close enough to *bound*."""
        cost = self.progress.cost
        return cost is not None and relative_gap(cost, bound.cost) <= self.limits.gap

    def take(self, found: Result) -> None:
        """Remember what a method said at its end."""
        self.used |= found.solver is not None
        if found.infeasibility is not None or found.settled:
            self.ended = found
        elif found.termination == "error":
            self.failed = True
            self.notes += found.notes

    def first(self, method: Method) -> None:
        """Take the plan of a method that has it at once, also where the time is over before anything has begun."""
        if self.progress.plan is None and method.accepts(self.problem) is None and not self.tells(method.name):
            self.take(method.solve(self.problem, replace(self.limits, time=None), self.progress))

    def first_split(self) -> bool:
        """Report a split by times alone where the graph is so large that everything else takes a while.

        It takes less than to evaluate a plan, and so is there where the time is over before anything has begun.

        Returns whether there is one.
        """
        if self.problem.graph.n <= AT_ONCE or self.progress.stopped or self.told is not None:
            return False
        plan = even_split(self.problem)
        if plan is not None:
            self.progress.report_plan(plan, evaluate(self.problem, plan).cost)
        return plan is not None

    def rows_aside(self, share: float) -> None:
        """Search without the rows that have a penalty, then without those over ``used``, on sets of devices.

        The former has a *share* of the time left. The outline leaves both out, as it does all that is given the problem
        without some of its constraints.
        """
        if self.closed or self.told is not None:
            return
        search = RowsAside(self.problem, self.limits, self.progress, lambda: self.closed)
        infeasibility = search.whole(share)
        if infeasibility is not None:
            self.take(self.progress.result("auto", self.limits, "infeasible", infeasibility=infeasibility))
        if not self.closed:
            search.sets()

    def run(self, task: LaneTask) -> None:
        """Run one method from the best plan there is, if it accepts the problem and anything is open."""
        open_tasks = self.open([task])
        if self.closed or self.tells(*(one.method.name for one in open_tasks)):
            return
        limits = self.limits.within(self.limits.remaining, start=self.progress.plan or self.limits.start)
        for result in run_lane(self.problem, open_tasks, limits, self.progress, self.began(open_tasks)):
            self.take(result)
            if result.finished:
                self._finished.append(task)

    def begin(self, task: LaneTask, seconds: float) -> None:
        """Note that a task begins, which may take so many seconds, unless it is not worth telling of."""
        if task.method.name not in self.minor:
            self.progress.begin(task.method.name, seconds, WHY.get(task.method.name, task.method.summary))

    def began(self, lane: Sequence[LaneTask]) -> Callable[[int, float], None]:
        """Return what is to be called with the number of each task of a lane that begins."""
        return lambda number, seconds: self.begin(lane[number], seconds)

    def open(self, tasks: Sequence[LaneTask]) -> list[LaneTask]:
        """Return the tasks that can be run, without those whose method has ended by itself with the same seed."""
        had = [(task.method, task.seed) for task in self._finished]
        left = [task for task in tasks if (task.method, task.seed) not in had]
        return [task for task in left if refusal(task.method, self.problem) is None]

    def at_once(self, lanes: Sequence[Sequence[LaneTask]]) -> None:
        """Run lanes at the same time, or the only one here, until plan and bound meet; without what cannot be used."""
        lanes = [
            [task for task in lane if refusal(task.method, self.problem) is None] for lane in map(self.open, lanes)
        ]
        lanes = [lane for lane in lanes if lane]
        if self.tells(*(task.method.name for lane in lanes for task in lane)):
            return
        if len(lanes) == 1:
            results = run_lane(self.problem, lanes[0], self.limits, self.progress, self.began(lanes[0]))
        else:
            results, notes = run_together(self.problem, lanes, self.limits, self.progress, began=self.begin)
            self.notes += notes
        for result in results:
            self.take(result)

    def apart(self, gap: float) -> bool:
        """Return whether there are a plan and a bound, with a larger gap than this between them."""
        cost, bound = self.progress.cost, self.progress.bound
        return cost is not None and bound is not None and relative_gap(cost, bound.cost) > gap

    def answer(self) -> Result:
        """Return the best of what the steps found."""
        self.search_in_place()
        progress, ended = self.progress, self.ended
        if self.limits.solver != Limits().solver and not self.used:
            self.notes.append(f"--solver {self.limits.solver} was not used: no model had to be solved")
        plan, bound = progress.plan, progress.bound
        if ended is not None and ended.bound is not None and (bound is None or not bound.better(ended.bound)):
            bound = ended.bound
        return progress.result(
            "auto",
            self.limits,
            self.termination(plan, bound),
            plan=plan,
            bound=bound,
            evaluation=None if plan is None else evaluate(self.problem, plan),
            solver=None if ended is None else ended.solver,
            time=None if ended is None else ended.time,
            infeasibility=None if ended is None else ended.infeasibility,
            notes=self.notes,
        )

    def termination(self, plan: Plan | None, bound: Bound | None) -> Termination:
        """Return why the search has ended, given the best plan and bound."""
        if self.ended is not None and self.ended.infeasibility is not None:
            return "infeasible"
        if self.progress.stopped:
            return "interrupted"
        if plan is not None and bound is not None and self.closed_by(bound):
            return "gap"
        if self.ended is not None:
            return self.ended.termination
        if self.limits.remaining <= MARGIN:  # processes end so much earlier
            return "time_limit"
        return "error" if self.failed else "complete"


def even_turns(methods: Sequence[Method]) -> list[LaneTask]:
    """Return tasks of which each may take as much of the time as those after it, where none ends early."""
    return [LaneTask(method, 1 / (len(methods) - i)) for i, method in enumerate(methods)]
