"""Parts of a schedule of one sample, to be solved anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.solvers.backends.cpsat.request import Reply, Request, Solution, Status
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample, timetable
from mtpp_dsl.solvers.schedule.lns.choice import Chooser, PartChoice
from mtpp_dsl.solvers.schedule.lns.neighbourhoods import Neighbourhoods
from mtpp_dsl.solvers.schedule.lns.sample_timeline import SampleTimeline

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["SampleParts"]

SIDEWAYS = 0.4
"""How often another schedule that is as short is looked for, and taken."""


class ChosenPart(NamedTuple):
    """A part that was chosen, and whether a schedule that is as short will do."""

    choice: PartChoice
    sideways: bool


class SampleParts(Neighbourhoods[ChosenPart, Solution]):
    """Windows of a schedule, chosen by what has helped.

    Args:
        whole: the problem in whole numbers.
        random: where random numbers come from.
    """

    ties = True

    def __init__(self, whole: WholeSample, random: Generator) -> None:
        self.problem, self.random = whole.instance.problem, random
        self._whole, self._chooser = whole, Chooser(whole, random)

    def go_on_from(self, plan: Plan) -> None:
        """Choose parts of *plan* from now on."""
        self._line = SampleTimeline.of(self._whole, plan)

    def choose(self) -> tuple[ChosenPart, Request | None]:
        """Return a part, and ask for a shorter schedule, or sometimes for another that is no longer."""
        choice = self._chooser.choose(self._line)
        sideways = bool(self.random.random() < SIDEWAYS) and not choice.everything
        request = choice.window.request(self._line.makespan - (not sideways), hint=False)
        return ChosenPart(choice, sideways), None if request.at_least > request.cutoff else request

    def plans(self, part: ChosenPart, reply: Reply[Solution]) -> list[Plan]:
        """Return the plan with a solution of a part put in, in exact times; none if there is no solution."""
        if reply.solution is None or reply.value is None:
            return []
        solution = part.choice.window.schedule(reply.solution, reply.value)
        return [timetable(self._whole.instance, self._whole.request, solution)]

    def learn(self, part: ChosenPart, status: Status, *, better: bool) -> None:
        """Make windows of a kind larger where they are solved, and smaller where not."""
        part.choice.kind.learn(status, better)

    def proves(self, part: ChosenPart, reply: Reply[Solution] | None) -> bool:
        """Return whether the part is all of the schedule, and no shorter one exists."""
        refuted = reply is None or reply.status == "infeasible"
        return part.choice.everything and refuted and not part.sideways
