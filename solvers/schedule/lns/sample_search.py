"""Parts of a schedule of one sample, to be solved anew."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.backends.cpsat.request import Reply, Request, Solution, Status
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample, timetable
from mtpp_dsl.solvers.schedule.lns.neighbourhoods import Neighbourhoods
from mtpp_dsl.solvers.schedule.lns.sample_window import SampleTimeline, Window

if TYPE_CHECKING:
    from numpy.random import Generator

__all__ = ["PartKind", "SampleParts"]

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


# Which part of a schedule to make anew next: kinds of parts whose sizes follow what can be solved.

GROW, SHRINK, SMALLEST = 1.15, 0.8, 6
KEEP = 0.9
"""What a success of long ago still counts, a try later."""


@dataclass
class PartKind:
    """A kind of part.

    Attributes:
        name: of the rule that says which nodes may change devices.
        size: how many nodes a window of it has.
        success: how often it has paid, lately.
    """

    name: str
    size: float
    success: float = 0.5

    def learn(self, status: Status, better: bool) -> None:
        """Take note of an answer: larger windows where they are solved, smaller ones where not."""
        self.size *= GROW if status in ("infeasible", "optimal") else SHRINK
        self.size = max(self.size, SMALLEST)
        self.success = KEEP * self.success + (1 - KEEP) * better


@dataclass(frozen=True)
class PartChoice:
    """A part that was chosen.

    Attributes:
        kind: of which kind.
        window: the part.
        everything: whether it is the whole schedule, all of it free.
    """

    kind: PartKind
    window: Window
    everything: bool


class Chooser:
    """Chooses parts.

    ``all``: a window whose nodes may go anywhere; ``pair``: a larger one, in which nodes on two devices may change
    between these; ``near``: a larger one, in which nodes close to one on the critical path may go anywhere; ``order``:
    a larger one yet, in which nodes stay on their devices.
    """

    SIZES: ClassVar = {"all": 16.0, "pair": 24.0, "near": 32.0, "order": 48.0}

    def __init__(self, whole: WholeSample, random: np.random.Generator) -> None:
        self._whole, self._random = whole, random
        names = self.SIZES if whole.instance.k > 1 else ["order"]
        self._kinds = [PartKind(name, self.SIZES[name]) for name in names if name != "pair" or whole.instance.k > 2]

    def choose(self, line: SampleTimeline) -> PartChoice:
        """Return a part of the schedule *line*."""
        n = self._whole.request.n
        weights = np.array([0.05 + kind.success for kind in self._kinds])
        kind = self._kinds[int(self._random.choice(len(self._kinds), p=weights / weights.sum()))]
        size = min(n, round(kind.size))
        first = int(self._random.integers(-size // 2, n - size // 2)) if size < n else 0
        first, last = max(0, first), min(n, first + size)
        may = self._may(kind.name, line, line.order[first:last])
        everything = (first, last) == (0, n) and bool(may.all())
        return PartChoice(kind, Window(self._whole, line, first, last, may), everything)

    def _may(self, name: str, line: SampleTimeline, inside: Ints) -> Bools:
        """Return [n, k] where nodes may go."""
        n, k = self._whole.request.n, self._whole.request.k
        own = np.zeros((n, k), np.bool_)
        own[np.arange(n), line.device] = True
        if name == "all":
            return np.ones((n, k), np.bool_)
        if name == "pair":
            two = self._random.choice(k, 2, replace=False)
            movable = np.isin(line.device, two)
            own[np.ix_(np.flatnonzero(movable), two)] = True
        if name == "near":
            own[self._near(line, inside)] = True
        return own

    def _near(self, line: SampleTimeline, inside: Ints) -> list[int]:
        """Return a third of the nodes, those the fewest edges from one of them that is on the critical path."""
        graph = self._whole.instance.graph
        critical = inside[(line.end + line.rest)[inside] == line.makespan]
        seed = int(self._random.choice(critical if len(critical) else inside))
        left, seen, waiting = set(inside.tolist()), {seed}, deque([seed])
        while waiting and len(seen) < max(SMALLEST, len(inside) // 3):
            v = waiting.popleft()
            around = [*graph.successors(v).tolist(), *graph.predecessors(v).tolist()]
            fresh = [w for w in around if w in left and w not in seen]
            seen.update(fresh)
            waiting.extend(fresh)
        return sorted(seen)
