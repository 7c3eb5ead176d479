"""One row of modules under search: what is known of each kind, questions about bounds, and annealing of schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.core.views.tasks import ScheduleInstance
from mtpp_dsl.solvers.algorithms.windows.module_kinds import ModuleKinds
from mtpp_dsl.solvers.algorithms.windows.module_times import ModuleTimes
from mtpp_dsl.solvers.schedule.lifted.classes import class_graph
from mtpp_dsl.solvers.schedule.lifted.generator import ANNEAL
from mtpp_dsl.solvers.schedule.lifted.joining import cut_apart, joined
from mtpp_dsl.solvers.schedule.lifted.module_search import ModuleSchedule, ModuleSearch
from mtpp_dsl.solvers.schedule.lifted.programme import ModuleBound
from mtpp_dsl.solvers.schedule.lifted.questions import CLOSE, ModuleQuestion, Questions
from mtpp_dsl.solvers.schedule.lifted.tables import EndPair, RowTables

__all__ = ["LiftedRow", "ModuleAnnealing"]

COLUMNS = 12_000
"""Of the largest programme that is asked."""
SMALL, SMALL_STEPS = 25, 300
"""Modules of so few nodes are annealed for all devices of their ends at the beginning, for so many moves."""
WORK = 1_000_000
"""Nodes and edges that the first annealings of a module time."""
MOVES = 10
"""Moves of these per node and device, at most."""
DOUBLINGS = 4
"""How often annealings become twice as long, at most."""
TEMPERATURES = (0.005, 0.02, 0.002, 0.01)
"""First temperatures of annealings in turn, as shares of the length of the module."""
PATIENCE = 24
"""Annealings of a pair without a shorter schedule after which it is left alone."""


@dataclass(frozen=True, eq=False)
class ModuleAnnealing:
    """An annealing to come: of a pair, from some devices and keys."""

    pair: EndPair
    device: Ints
    key: Floats | None
    steps: int
    hot: float
    seed: int


class LiftedRow:
    """Modules in a row, of all nodes and edges of a graph or of those that are kept.

    Args:
        problem: a makespan on links.
        pause: called often; raises to end.
        say: told when code has to be compiled.
        kept, edges: [n], [m] what is looked at; None for all.
        bound: whether colocated nodes stay in one module.
        seed: of everything random.

    Attributes:
        tables: what is known.
        searches: of schedules, for each kind.
        questions: that raise the bound.
        asked: how many were asked.
    """

    def __init__(
        self,
        problem: Problem,
        pause: Callable[[], None],
        say: Callable[[str], None],
        *,
        kept: Bools | None = None,
        edges: Bools | None = None,
        bound: bool = True,
        seed: int = 0,
    ) -> None:
        self._pause, self._say, self._seed = pause, say, seed
        row = ModuleKinds.of(problem, pause, kept=kept, edges=edges, bound=bound)
        graphs = [class_graph(kind) for kind in row.kinds]
        self.tables = RowTables(row, graphs, interchangeable(problem))
        self.searches = [ModuleSearch(kind, graph, say) for kind, graph in zip(row.kinds, graphs, strict=True)]
        self.questions = Questions(self.tables, COLUMNS)
        self._times = ModuleTimes(problem, row, pause, say)
        self._fresh: list[EndPair] = []
        self._counted: dict[EndPair, Ints] = {}
        self._quiet: dict[EndPair, int] = {}
        self._turns = 0
        self.asked = 0

    @property
    def bound(self) -> float:
        """The length of the shortest way by bounds."""
        return self.tables.bounds.length

    @property
    def value(self) -> float:
        """The length of the shortest way by schedules."""
        return self.tables.best.length

    @property
    def largest(self) -> int:
        """How many nodes the largest module has, with its ends."""
        return self.tables.row.largest

    def start(self) -> Iterator[None]:
        """Schedule every kind with all nodes on one device, for all devices of both ends; anneal small ones.

        Yields after a first round, in which both ends of a module, and all between, are on one device: a plan at once.
        """
        tables, kinds = self.tables, self.tables.row.kinds
        pairs = [(c, i, j) for c, table in enumerate(tables.upper) for i, j in np.ndindex(table.shape)]
        for pair in pairs:
            ends = [d for d in tables.ends(pair) if d is not None]
            if len({*ends}) < 2:
                self._pause()
                self._try(pair, ends[0] if ends else 0, 0)
        yield
        steps = [SMALL_STEPS if len(kind.time) <= SMALL else 0 for kind in kinds]
        sizes = [len(kind.time) + len(kind.net.tail) for kind in kinds]
        ANNEAL.pick(sum((1 + steps[c]) * sizes[c] for c, _, _ in pairs), self._say)
        done = set[EndPair]()
        for pair in pairs:
            if pair in done:
                continue  # a device that can be swapped with this one had its turn
            done.update(tables.alike(pair))
            self._pause()
            near = [d for d in dict.fromkeys(tables.ends(pair)) if d is not None]
            for d in range(tables.k) if steps[pair[0]] or not near else near:
                self._try(pair, d, steps[pair[0]])

    def _try(self, pair: EndPair, device: int, steps: int) -> None:
        """Keep the schedule that starts with everything on a device."""
        hot = TEMPERATURES[0] * float(self.tables.lower[pair[0]][pair[1:]]) if steps else 0.0
        search = self.searches[pair[0]]
        everywhere = np.full(len(search.kind.time), device)
        self.tables.keep(pair, search.schedule(self.tables.ends(pair), everywhere, steps=steps, hot=hot))

    def cut(self, plan: Plan) -> None:
        """Keep the schedules of the modules of a plan, each begun when its entry ends."""
        tables, number, seen = self.tables, self.tables.row.number, set[tuple[int, bytes]]()
        for j, device, start in cut_apart(plan, tables.row.modules):
            c = number[j]
            if (c, device.tobytes()) in seen:
                continue
            seen.add((c, device.tobytes()))
            self._pause()
            graph = tables.graphs[c]
            pair = c, 0 if graph.entry is None else int(device[0]), 0 if graph.exit is None else int(device[-1])
            tables.keep(pair, self.searches[c].schedule(tables.ends(pair), device, -start))

    def deepen(self, most: int) -> None:
        """Raise the bounds by what up to *most* nodes must share before edges meet."""
        if most <= 4 * self.largest:
            self._times.deepen(most)
            self.tables.learn_all(self._times.tables)

    def question(self, level: int, known: float) -> ModuleQuestion | None:
        """Return a question at a level of :data:`LEVELS`, or None; *known* is the length of a plan."""
        return self.questions.next(level, min(known, self.value))

    def take(self, question: ModuleQuestion, answer: ModuleBound) -> None:
        """Record an answer; its counts are where an annealing of that module begins."""
        self.asked += 1
        self.questions.record(question, answer)
        search = self.searches[question.pair[0]]
        if answer.counts is not None and len(search.kind.time) > SMALL:
            self._counted[question.pair] = search.decoded(answer.counts)
            first = search.schedule(self.tables.ends(question.pair), self._counted[question.pair])
            self.tables.keep(question.pair, first)
            self._quiet[question.pair] = 1
            if question.pair in self.tables.schedules:
                self._fresh.append(question.pair)

    def annealing(self) -> ModuleAnnealing | None:
        """Return the next annealing of a module of the shortest way by schedules; None where all have had enough.

        Modules are drawn by what is to be gained. Of each, every other annealing goes on from the best schedule, and
        the others begin anew, from what a programme counted last; they grow longer by and by.
        """
        tables = self.tables
        weight = {}
        for pair in dict.fromkeys(tables.best.pairs):
            upper, lower = (float(table[pair[0]][pair[1:]]) for table in (tables.upper, tables.lower))
            if pair in tables.schedules and upper - lower > CLOSE * upper and self._quiet.get(pair, 0) < PATIENCE:
                weight[pair] = (upper - lower) * float(tables.count[pair[0]])
        if not weight:
            return None
        pairs, odds = list(weight), np.array(list(weight.values()))
        random = np.random.default_rng([self._seed, self._turns])
        pair = self._fresh.pop() if self._fresh else pairs[int(random.choice(len(pairs), p=odds / odds.sum()))]
        self._turns += 1
        turn = self._quiet.get(pair, 0)
        known, again = tables.schedules[pair], self._counted.get(pair)
        anew = turn % 2 == 1 and again is not None
        nodes, edges = len(self.searches[pair[0]].kind.time), len(self.searches[pair[0]].kind.net.tail)
        return ModuleAnnealing(
            pair=pair,
            device=again if anew and again is not None else known.device,
            key=None if anew else known.key,
            steps=max(SMALL_STEPS, min(WORK // (nodes + edges), MOVES * nodes * tables.k) << min(turn // 4, DOUBLINGS)),
            hot=TEMPERATURES[turn // 2 % len(TEMPERATURES)] * known.length,
            seed=self._seed + self._turns,
        )

    def run(self, annealing: ModuleAnnealing, ended: Callable[[], bool]) -> ModuleSchedule | None:
        """Run an annealing; return the best schedule that it has met."""
        return self.searches[annealing.pair[0]].schedule(
            self.tables.ends(annealing.pair),
            annealing.device,
            annealing.key,
            steps=annealing.steps,
            hot=annealing.hot,
            seed=annealing.seed,
            ended=ended,
        )

    def keep(self, annealing: ModuleAnnealing, schedule: ModuleSchedule | None) -> None:
        """Keep what came of an annealing."""
        helped = self.tables.keep(annealing.pair, schedule)
        self._quiet[annealing.pair] = 0 if helped else self._quiet.get(annealing.pair, 0) + 1

    def plan(self, instance: ScheduleInstance) -> Plan | None:
        """Return the plan of the best schedules of all modules, or None if there is none of some module."""
        tables = self.tables
        way = tables.best
        if way.length == inf:
            return None
        return joined(instance, tables.row.modules, [tables.schedules[pair] for pair in way.pairs])
