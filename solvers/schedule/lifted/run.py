"""Bound and schedule modules in a row at the same time: method ``lifted``."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED as FIRST
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Colocate, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.graph import Bools, Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.comparable import without_bypasses
from mtpp_dsl.solvers.algorithms.cut_nodes import modules
from mtpp_dsl.solvers.algorithms.windows.climbing import ROUNDING
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKinds
from mtpp_dsl.solvers.algorithms.windows.module_times import COUNTS
from mtpp_dsl.solvers.backends.mip.matrix import by
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.decomposition.anchors import chain_of
from mtpp_dsl.solvers.schedule.lifted.classes import class_graph
from mtpp_dsl.solvers.schedule.lifted.module_row import LiftedRow, ModuleAnnealing
from mtpp_dsl.solvers.schedule.lifted.module_search import ModuleSchedule
from mtpp_dsl.solvers.schedule.lifted.programme import ModuleBound
from mtpp_dsl.solvers.schedule.lifted.questions import CLOSE, LEVELS, ModuleQuestion

__all__ = ["LiftedRun", "suits"]

NAME = "lifted"
BYPASSES = (0, 1, 2, 4)
WANTED = 400
"""Edges that may bypass a cut node: the fewest with which no module has more than so many nodes."""
FINE = 24
"""Nodes between two anchors of the second row."""
FINE_NODES = 20_000
"""Larger graphs have no second row."""
MAX_TABLE, MAX_COLUMNS = 5_000_000, 100_000
"""Edges of all kinds times pairs of devices, and columns of a programme of each kind, of graphs that it suits."""
SECONDS = 1.0
"""Between two plans that are put together, at least."""


@dataclass(frozen=True, eq=False)
class _Asking:
    """A question to a row that is being answered."""

    row: LiftedRow
    question: ModuleQuestion
    answer: Future[ModuleBound]


class LiftedRun:
    """One run of method ``lifted``.

    Modules between comparable nodes that few edges bypass are a row; without these edges no schedule is longer, so that
    the shortest way through bounds of the modules, over the devices of their ends, is a bound. Bounds begin with
    longest paths and with what must share devices before edges meet
    (:mod:`mtpp_dsl.solvers.algorithms.windows.module_times`); then programmes are asked about those on the shortest
    way, cheap ones first (:mod:`mtpp_dsl.solvers.schedule.lifted.programme`). Meanwhile the modules on the shortest way
    by schedules are annealed, from what the programmes count and from pieces of plans. A second row, finer and with
    nodes left out, gives bounds alone. Memory is looked at in whole plans only.

    Args:
        problem: a makespan on links.
        limits: when to stop, and a plan to start from.
        progress: told of plans and bounds.
    """

    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        self._problem, self._limits, self._progress = problem, limits, progress
        self._incumbent = Incumbent(NAME, problem, limits, progress)
        self._rows: list[LiftedRow] = []
        self._scheduled = not any(isinstance(c, (Colocate, Separate)) for c in problem.constraints)
        self._planned, self._value = -inf, inf

    def result(self) -> Result:
        """Return the best plan and the best bound."""
        impossible = quick(self._problem)
        if impossible is not None:
            return self._progress.result(NAME, self._limits, "infeasible", infeasibility=impossible)
        if not self._scheduled:
            self._incumbent.note("nodes must, or must not, share a device: modules are bounded, and not scheduled")
        try:
            self._begin()
            self._search()
        except SearchEnded:
            pass
        if self._rows:
            self._prove()
            self._plan(last=True)
        return self._incumbent.result(solver="highs")

    def _begin(self) -> None:
        """Make the row of modules of the whole graph, and take what is known at once."""
        self._incumbent.take_start()
        row = self._row(edges=_edges(self._problem.graph), bound=True)
        self._prove()
        if self._scheduled:
            start = self._incumbent.plan
            for _ in row.start():
                self._plan()
            if start is not None:
                row.cut(start)
            self._plan()
        self._deepen(row)

    def _row(self, *, kept: Bools | None = None, edges: Bools | None = None, bound: bool) -> LiftedRow:
        pause, say, seed = self._incumbent.pause, self._progress.say, self._limits.seed
        row = LiftedRow(self._problem, pause, say, kept=kept, edges=edges, bound=bound, seed=seed)
        self._rows.append(row)
        return row

    def _deepen(self, row: LiftedRow) -> None:
        for most in COUNTS:
            row.deepen(most)
            self._prove()

    def _refine(self) -> None:
        """Add the row of a finer chain, which leaves out nodes and edges, for bounds alone."""
        problem = self._problem
        if problem.graph.n > FINE_NODES:
            return
        weight = np.where(problem.allowed, problem.time, inf).min(axis=1)
        chain = chain_of(problem.graph, weight, (FINE,))
        if len(chain.anchors) > 1:
            row = self._row(kept=chain.kept, edges=chain.edges, bound=False)
            for _ in row.start():
                pass
            self._deepen(row)

    def _search(self) -> None:
        """Ask and anneal until there is nothing left to do: side by side, or by turns.

        By turns with a single thread, and without a limit of time: then the answer depends on the seed alone.
        """
        alone = cores(self._limits) == 1 or self._limits.remaining == inf
        row, questions = self._rows[0], self._questions()
        with ThreadPoolExecutor(2, "lifted") as pool:
            asking: _Asking | None = None
            job: ModuleAnnealing | None = None
            annealing: Future[ModuleSchedule | None] | None = None
            while not self._incumbent.done:
                asking = asking or self._ask(pool, questions)
                if asking is not None and alone:
                    wait_for([asking.answer])
                if annealing is None and self._scheduled:
                    job = row.annealing()
                    annealing = None if job is None else pool.submit(row.run, job, self._ended)
                if annealing is not None and alone:
                    wait_for([annealing])
                waiting: list[Future[Any]] = [future for future in (asking and asking.answer, annealing) if future]
                if not waiting:
                    break
                wait_for(waiting, None, FIRST)
                if annealing is not None and job is not None and annealing.done():
                    row.keep(job, annealing.result())
                    annealing = None
                if asking is not None and asking.answer.done():
                    self._take(asking)
                    asking = None
                self._plan()
            if annealing is not None and job is not None:
                row.keep(job, annealing.result())
            if asking is not None:
                self._take(asking)

    def _ended(self) -> bool:
        return self._progress.ended(self._limits) is not None

    def _questions(self) -> Iterator[tuple[LiftedRow, ModuleQuestion] | None]:
        """Yield the next question, of the cheapest level of any row first; None while there is none."""
        refined = False
        while True:
            best = max(row.bound for row in self._rows)
            useful = [row for row in self._rows if row.value > best * (1 + CLOSE)]
            chosen = next(
                (
                    (row, question)
                    for level in range(len(LEVELS))
                    for row in sorted(useful, key=lambda row: row.asked)
                    if (refined or level == 0) and (question := row.question(level, self._known)) is not None
                ),
                None,
            )
            if chosen is None and not refined:
                refined = True
                self._refine()
                continue
            yield chosen

    @property
    def _known(self) -> float:
        """The makespan of the best plan of anybody."""
        return min(self._incumbent.cost, inf if self._progress.cost is None else self._progress.cost)

    def _ask(
        self, pool: ThreadPoolExecutor, questions: Iterator[tuple[LiftedRow, ModuleQuestion] | None]
    ) -> _Asking | None:
        """Begin to answer the next question, if there is one."""
        chosen = next(questions)
        if chosen is None:
            return None
        row, question = chosen
        programme = row.questions.programme(question)
        whole, nodes, gap = LEVELS[question.level]

        def answer() -> ModuleBound:
            return programme.bound(
                whole=whole, nodes=nodes, gap=gap, seconds=self._limits.remaining, stopped=self._ended
            )

        return _Asking(row, question, pool.submit(answer))

    def _take(self, asking: _Asking) -> None:
        """Wait for an answer, and record and report what it says."""
        asking.row.take(asking.question, asking.answer.result())
        self._prove()

    def _prove(self) -> None:
        """Report the best bound."""
        for row in self._rows:
            count, margin = len(row.tables.row.modules), ROUNDING * (1 + self._problem.graph.n / 1e3)
            if row.bound < inf:
                detail = (
                    f"the shortest way through {count} modules of {len(row.tables.row.kinds)} kinds, of up to"
                    f" {row.largest} nodes, by {row.asked} assignment programmes"
                )
                self._incumbent.prove(Bound(row.bound * (1 - margin), NAME, "trusted", by(), detail))

    def _plan(self, *, last: bool = False) -> None:
        """Put the plan of all modules together, if that is shorter and some time has gone by."""
        row = self._rows[0]
        if not self._scheduled or (not last and monotonic() < self._planned + SECONDS):
            return
        value = row.value
        if value < min(self._value, self._incumbent.cost):
            self._value, self._planned = value, monotonic()
            plan = row.plan(ScheduleInstance.of(self._problem))
            if plan is not None and not self._incumbent.take(plan):
                self._incumbent.note(f"schedules of the modules make no plan together: {self._incumbent.broken}")


def suits(problem: Problem) -> bool:
    """Return whether a graph is a row of small modules, and of few kinds, or of kinds that have few classes of nodes.

    That takes a moment. Other graphs are bounded by ``lifted`` too, but hardly better than by longest paths.
    """
    left = _edges(problem.graph)
    row = ModuleKinds.of(problem, lambda: None, edges=left)
    edges = sum(len(kind.net.tail) for kind in row.kinds)
    if row.largest > WANTED + 2 or edges * problem.k**2 > MAX_TABLE:
        return False
    return sum(class_graph(kind).size for kind in row.kinds) <= MAX_COLUMNS


def _edges(graph: Graph) -> Bools:
    """Return [m] the edges that are left where those that bypass some cut node are dropped."""
    for most in BYPASSES:
        left = without_bypasses(graph, most)
        if max((len(part.nodes) for part in modules(graph, edges=left)), default=0) <= WANTED:
            return left
    return without_bypasses(graph, BYPASSES[0])
