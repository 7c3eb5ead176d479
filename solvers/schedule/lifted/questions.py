"""Ask assignment programmes about the modules that decide the bound of a row, cheap questions first."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from mtpp_dsl.solvers.schedule.lifted.programme import LiftedProgramme, ModuleBound
from mtpp_dsl.solvers.schedule.lifted.tables import EndPair, RowTables, ShortestWay

__all__ = ["CLOSE", "LEVELS", "ModuleQuestion", "Questions"]

LEVELS = ((False, 0, 0.0), (True, 60, 4e-3), (True, 1_000, 2e-3), (True, 20_000, 1e-4))
"""Questions, from the cheapest on: whether counts are whole, nodes of branch and bound, and the relative gap."""
MODEST = 1.15
"""Times the length of the best schedule of a kind: a limit above that which a question begins with."""
LOWER = 0.97
"""A question is asked again where its limit has become so much lower."""
CLOSE = 1e-6
"""Relative: bounds and schedules are as good as equal."""


@dataclass(frozen=True)
class ModuleQuestion:
    """How long a module takes: between which devices, at which level, and up to which limit that matters."""

    pair: EndPair
    level: int
    limit: float


@dataclass(frozen=True)
class _Asked:
    """What was asked of a pair last: at which level and limit, and whether nothing up to the limit is possible."""

    level: int
    limit: float
    refuted: bool


class Questions:
    """Raise the lower table of a row along its shortest way.

    Args:
        tables: bounds and schedules of the row.
        largest: columns of the programmes that are asked; kinds that need more keep the bounds they have.
    """

    def __init__(self, tables: RowTables, largest: int) -> None:
        self._tables = tables
        self._small = [graph.size <= largest for graph in tables.graphs]
        self._asked: dict[EndPair, _Asked] = {}

    def next(self, level: int, known: float) -> ModuleQuestion | None:
        """Return what to ask of a pair on the shortest way; None if there is nothing at this level.

        Args:
            level: of :data:`LEVELS`.
            known: the length of a plan: longer ways do not matter.
        """
        tables = self._tables
        way = tables.bounds
        most, best = -inf, None
        for pair in dict.fromkeys(way.pairs):
            c, at = pair[0], pair[1:]
            if not self._small[c] or tables.upper[c][at] <= tables.lower[c][at] * (1 + CLOSE):
                continue
            limit = self._limit(pair, way, known)
            if self._known(pair, level, limit):
                continue
            gain = float(tables.count[c] * (limit - tables.lower[c][at]))
            if gain > most:
                most, best = gain, ModuleQuestion(pair, level, limit)
        return best

    def programme(self, question: ModuleQuestion) -> LiftedProgramme:
        """Return the programme of a question."""
        return LiftedProgramme(self._tables.graphs[question.pair[0]], *self._tables.ends(question.pair), question.limit)

    def record(self, question: ModuleQuestion, answer: ModuleBound) -> None:
        """Record what was proved."""
        self._asked[question.pair] = _Asked(question.level, question.limit, answer.length >= question.limit)
        self._tables.learn(question.pair, answer.length)

    def _limit(self, pair: EndPair, way: ShortestWay, known: float) -> float:
        """Return up to which length a pair is asked about: that of its schedule, or that of a way that is too long."""
        tables = self._tables
        c, i, j = pair
        modules = [m for m, number in enumerate(tables.row.number) if number == c]
        slack = known - min(float(way.ahead[m][i] + way.behind[m + 1][j]) for m in modules)
        limit = min(float(tables.upper[c][i, j]), slack)
        modest = MODEST * float(tables.upper[c].min())
        lower = float(tables.lower[c][i, j])
        return limit if modest <= lower * (1 + CLOSE) or modest >= limit else modest

    def _known(self, pair: EndPair, level: int, limit: float) -> bool:
        """Return whether there is nothing to ask about a pair at a level."""
        if limit <= self._tables.lower[pair[0]][pair[1:]] * (1 + CLOSE):
            return True
        last = self._asked.get(pair)
        if last is None or last.level < level:
            return False
        return not (limit < LOWER * last.limit or (last.refuted and limit > last.limit * (1 + CLOSE)))
