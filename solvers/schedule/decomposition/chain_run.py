"""Solve a graph along a chain of anchors: minimum cuts first, with what lies beside the chain, then CP-SAT."""

from __future__ import annotations

from math import inf

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Bound, Certificate, Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, modules
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample, lower
from mtpp_dsl.solvers.runtime.portfolio.race import cores
from mtpp_dsl.solvers.schedule.decomposition.anchors import chain_of
from mtpp_dsl.solvers.schedule.decomposition.beside import Sides, beside
from mtpp_dsl.solvers.schedule.decomposition.beside_bound import BesideBound
from mtpp_dsl.solvers.schedule.decomposition.chain_starts import ChainStarts
from mtpp_dsl.solvers.schedule.decomposition.decomposition import FEW_TRIES, DecompositionRun, SolvedParts
from mtpp_dsl.solvers.schedule.decomposition.module_answers import Pair
from mtpp_dsl.solvers.schedule.decomposition.solve_modules import Settling
from mtpp_dsl.solvers.schedule.modules.piece import piece_of

__all__ = ["ChainRun", "chain_parts"]

SIZES = (120, 240, 480, 960)
"""Nodes between two anchors, at most: of the first so many CP-SAT often solves, of the last not."""
CHECKED, CHECKED_UNIT = 1e-9, 2.0**-36
"""Relative: a bound is so much lower that the check, whose times are of so small units of it, proves all of it."""
PRICED_UNITS = 4
"""For each node and edge of a module: so many units lower are heads, tails and limits of its windows for the check."""
FAR = 0.5
"""Of the bound that is known: paths of the published transformer are 1.3 times as long, those of randomly wired modules
(2,000 nodes) a fifth."""
CUT_SHARE, START_SHARE = 0.7, 0.15
"""Of the time left: what cuts may take, with plans in which modules move as a whole, and these."""


def chain_parts(problem: Problem, largest: int | None) -> SolvedParts:
    """Return the part of the graph along a chain of anchors, with at most *largest* nodes between two; None for any."""
    weight = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
    chain = chain_of(problem.graph, weight, SIZES if largest is None else (largest,))
    parts = modules(problem.graph, kept=chain.kept, edges=chain.edges)
    left = int((~chain.kept).sum())
    dropped = int((chain.kept[problem.graph.tails] & chain.kept[problem.graph.heads] & ~chain.edges).sum())
    words = f"a relaxation: {left} of {problem.graph.n} nodes, and {dropped} edges between others, are left out"
    return SolvedParts(parts, chain.kept, f"{words}, beside a chain of {len(chain.anchors)} anchors")


class ChainRun(DecompositionRun):
    """One call of method ``chain-relaxation``.

    Args:
        name: of the method.
        problem, limits, progress: as for :meth:`mtpp_dsl.core.contracts.protocols.Method.solve`.
        largest: nodes between two anchors, at most; None for any.
        cuts_alone: whether to end before CP-SAT is asked, where there are nodes beside the chain on exclusive links.
    """

    def __init__(
        self,
        name: str,
        problem: Problem,
        limits: Limits,
        progress: Progress,
        *,
        largest: int | None,
        cuts_alone: bool,
    ) -> None:
        super().__init__(name, problem, limits, progress, chain_parts(problem, largest))
        self._cuts_alone = cuts_alone

    def solve(self) -> Result:
        """Report bounds and plans by cuts, and then by CP-SAT.

        Where links serve any number of transfers, or nothing lies beside the chain, cuts do not help.
        """
        if not self._whole.instance.exclusive or self._parts.kept.all():
            return super().solve()
        bound = self._by_cuts()
        if self._cuts_alone or self._incumbent.done:
            return self._result()
        limits = self._limits
        with ProcessPool(cores(limits), limits.executor) as pool:
            settling = self._settling(pool, self._classes(exclusive=True), lower=bound.times)
            while not self._incumbent.done:
                solves = settling.solves
                self._settle(settling, limits.within(limits.remaining / 3), tries=FEW_TRIES)
                if settling.bound == inf or settling.solves == solves:
                    break
                bound.learn(settling.lower)
                self._raise(bound, limits, settling)
            self._settle(settling, limits)
        return self._ended(settling)

    def _lowered(self) -> WholeSample:
        """Return the problem in whole numbers: cuts and sums are of the whole chain, not of one module."""
        return lower(self._problem)

    def _by_cuts(self) -> BesideBound:
        """Report the bound by cuts, and plans in which anchors are where its best paths have them."""
        whole, limits = self._whole, self._limits
        sides = self._sides = beside(whole.instance.graph, self._parts.modules, self._parts.kept)
        bound = BesideBound(whole, self._parts.modules, self._classes(exclusive=True), sides)
        cuts = limits.within(CUT_SHARE * limits.remaining)

        def over() -> bool:
            return self._progress.ended(cuts) is not None

        bound.time_paths(over)
        self._report_cuts(bound)
        if self._cuts_alone and self._far(bound):
            return bound
        bound.time_modules(self._known(), over)
        self._report_cuts(bound)
        self._raise(bound, cuts)
        self._start(bound, sides)
        self._price(bound, cuts)
        return bound

    def _price(self, bound: BesideBound, limits: Limits, settling: Settling | None = None) -> None:
        """Bound modules by prices of windows, and ask for better weighted means, until neither is of use."""

        def over() -> bool:
            return self._progress.ended(limits) is not None

        while True:
            raised = bound.price(self._known(), over)
            self._report_cuts(bound, settling)
            self._raise(bound, limits, settling)
            if not raised or over():
                break

    def _far(self, bound: BesideBound) -> bool:
        """Return whether paths along the chain are so short, beside the bound that is known, that cuts are no use."""
        known = self._progress.bound
        return known is not None and self._whole.scale.cost(int(min(bound.bound, self._known()))) < FAR * known.cost

    def _start(self, bound: BesideBound, sides: Sides) -> None:
        """Report plans in which anchors are where the best path for each device of the hub has them."""
        whole, limits = self._whole, self._limits.within(START_SHARE * self._limits.remaining)

        def over() -> bool:
            return self._progress.ended(limits) is not None

        pieces = [piece_of(whole, module, exclusive=True) for module in self._parts.modules]
        starts = ChainStarts(whole.instance, pieces, sides, bound.fastest)
        for case in sorted(bound.cases, key=lambda one: one.bound):
            if case.bound < self._known() and (not over() or self._progress.plan is None):
                plan = starts.plan(bound.path(case.hub).states, case.hub, over)
                if plan is not None:
                    self._incumbent.take(plan)

    def _raise(self, bound: BesideBound, limits: Limits, settling: Settling | None = None) -> None:
        """Ask for better weighted means until none is better, or the time is up."""
        bound.run(
            self._known,
            lambda: self._progress.ended(limits) is not None,
            lambda: self._report_cuts(bound, settling),
        )

    def _report_cuts(self, bound: BesideBound, settling: Settling | None = None) -> None:
        """Report the bound if it is better than what the modules by themselves prove."""
        units = min(bound.bound, self._known())
        if not 0 < units < inf or (settling is not None and units <= settling.bound):
            return
        if settling is not None and settling.trusted:
            self._prove(int(units), by_cuts(self._parts, settling), trusted=True)
            return
        graph, ends = self._problem.graph, len(bound.of)
        rounded = 2 * graph.n + (PRICED_UNITS * (graph.n + graph.m + ends) if bound.priced else 0)
        cost = self._whole.scale.cost(int(units)) * (1 - 2 * CHECKED - rounded * CHECKED_UNIT)
        detail = f"{by_cuts(self._parts, None)}; {self._whole.scale}"
        certificate = self._certificate(bound, cost)
        self._incumbent.prove(Bound(cost, self._name, "checked", "mtpp", detail, certificate))

    def _certificate(self, bound: BesideBound, target: float) -> Certificate:
        """Return what a check needs to prove a target, in names."""
        problem, sides = self._problem, self._sides
        names, devices = problem.graph.names, [device.name for device in problem.devices]
        anchors = [module.exit for module in self._parts.modules if module.exit != NONE]
        beside = [[names[v] for v in group.nodes] for group in sides.of]
        return Certificate(
            "anchors",
            {
                "target": target,
                "anchors": [names[v] for v in anchors],
                "beside": beside + [[]] * (len(anchors) + 1 - len(beside)),
                "hub": None if sides.hub < 0 else names[self._parts.modules[sides.hub].exit],
                "means": [
                    [None if case.hub is None else devices[case.hub], devices[case.device], *case.weights]
                    for case in bound.cases
                ],
                "prices": [self._prices(bound, pair, target) for pair in bound.priced],
            },
        )

    def _prices(self, bound: BesideBound, pair: Pair, target: float) -> list[object]:
        """Return how prices bound the time of a class of modules, for a check: times are lower by what it rounds."""
        (c, a, b), priced = pair, bound.priced[pair]
        piece, devices = bound.pieces[c], [device.name for device in self._problem.devices]
        rounding = CHECKED_UNIT * target * PRICED_UNITS * (piece.size + len(piece.edges))

        def lower(units: float) -> float:
            return max(0.0, self._whole.scale.cost(units) * (1 - CHECKED) - rounding)

        return [
            [j for j, other in enumerate(bound.of) if other == c],
            devices[piece.entries[a]] if piece.entry else None,
            devices[piece.exits[b]] if piece.exit else None,
            lower(priced.limit),
            [
                [[w.kind, devices[w.device], lower(w.head), lower(w.tail), w.price] for w in one]
                for one in priced.rounds
            ],
        ]


def by_cuts(parts: SolvedParts, settling: Settling | None) -> str:
    """Return, in words, why the bound of a chain with the nodes beside it holds."""
    solved = "" if settling is None else f" and {settling.solves} solves by CP-SAT, on whose word it rests"
    return (
        f"{parts.words}; over the devices of the anchors, the least of the larger of two: the time along the chain, "
        "and a mean of the load of one device and what it sends and receives, what lies beside the chain included; by "
        f"minimum cuts of every module in windows of its time{solved}"
    )
