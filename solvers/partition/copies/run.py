"""One run of the method ``copies``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Copies, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.problem.plan_rules import is_chain
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.chains.chain import NodeChain
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import least_bottleneck
from mtpp_dsl.solvers.partition.copies.branch import CopiesSearch, holdings, windows
from mtpp_dsl.solvers.partition.copies.graph import GraphPricer, graph_instance, side_by_side
from mtpp_dsl.solvers.partition.copies.instance import instance_of
from mtpp_dsl.solvers.partition.copies.pipelines import Pipelines, groups, narrowed, pipelines, too_long, too_many
from mtpp_dsl.solvers.partition.copies.pricing import Pricer
from mtpp_dsl.solvers.partition.copies.shares import Mix, best_mix, fractions, priced
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

NAME = "copies"
MAX_GROUPED = 8
"""Devices of which groups are looked for as a first plan of other shares, too."""
WINDOWS_SHARE = 0.5
"""Of the time, what the search of windows gets where devices may hold more than ranges."""
WINDOWS_GAP, LEAST_GAP = 1e-3, 1e-7
"""How near it has to come to its bound there, and searches at the least."""


def run_copies(problem: Problem, limits: Limits, progress: Progress) -> Result:
    """Return the best routes found, and what no routes are better than."""
    return _Run(problem, limits, progress).result()


class _Run:
    """State of one run."""

    def __init__(self, problem: Problem, limits: Limits, progress: Progress) -> None:
        self.problem, self.limits, self.progress = problem, limits, progress
        self.rule = next(problem.of(Copies))
        self.incumbent = Incumbent(NAME, problem, limits, progress)
        self.chain = is_chain(problem.graph)
        self.instance: Any = instance_of(problem) if self.chain else graph_instance(problem)
        self.root: Mix | None = None

    def result(self) -> Result:
        """Go from the cheap to the dear, until plan and bound meet."""
        self.incumbent.take_start()
        try:
            reason = self.search()
        except SearchEnded:
            return self.incumbent.result()
        if reason is not None:
            return self.incumbent.result("infeasible", infeasibility=Infeasibility(reason))
        return self.incumbent.result()

    def search(self) -> str | None:
        """Search, and return why there is no plan where that is proved."""
        rule, instance = self.rule, self.instance
        beside, complete = self.side_by_side()
        if beside.single is None and complete and instance.ordered:
            return "no single route fits: some nodes have no device, or all do not fit into memory together"
        exact = complete and instance.ordered and not len(instance.carried)
        for routes in ([beside.single], beside.routes):
            if routes and routes[0] is not None:
                self.mix([route for route in routes if route is not None])
        if exact and (rule.share == "pipelines" or rule.most == 1):
            self.prove(beside.period, "best pipelines on disjoint devices, by dynamic programming over sets of devices")
            return None
        if self.chain and (rule.share == "stages" or instance.k <= MAX_GROUPED) and not too_long(instance):
            self.stages()
        if self.incumbent.done:
            return None
        return self.routes()

    def side_by_side(self) -> tuple[Pipelines, bool]:
        """Return the best pipelines on disjoint devices, and True; of large chains the best single one, and False."""
        if not self.chain:
            return side_by_side(self.instance, self.rule.most, self.progress.say), True
        if not too_many(self.instance):
            return pipelines(self.instance, self.rule.most, self.progress.say), True
        one = self.instance
        chain = NodeChain(one.time, one.memory, one.room, one.sent, one.received)
        split = least_bottleneck(chain, gap=self.limits.gap, say=self.progress.say, pause=self.incumbent.pause)
        return Pipelines([], split.device, inf), False

    def stages(self) -> None:
        """Take the plan of stages whose rates are largest at the dearest transfers, and bound by the cheapest."""
        shared = groups(self.instance, self.rule.most, hopeful=False, say=self.progress.say)
        if shared.stages:
            narrow = narrowed(self.instance, shared)
            self.take(priced(Pricer(narrow), narrow.end, pause=self.incumbent.pause))
        if self.rule.share == "stages" and self.instance.ordered:
            hopeful = groups(self.instance, self.rule.most, hopeful=True, say=self.progress.say)
            self.prove(hopeful.period, "largest least rate of stages, by dynamic programming over sets of devices")

    def routes(self) -> str | None:
        """Bound by prices on devices, and branch on what devices hold."""
        self.progress.say(f"pricing routes of {self.instance.n} nodes over {self.instance.k} devices")
        pricer: Any = (Pricer if self.chain else GraphPricer)(self.instance, self.progress.say)
        root = priced(pricer, self.instance.end, pause=self.incumbent.pause, proved=self.prove_prices)
        if root.lower == inf:
            return "no single route fits: some nodes have no device, or all do not fit into memory together"
        self.root = root
        self.take(root)
        if self.incumbent.done or self.rule.share not in ("ranges", "any"):
            return None
        search = CopiesSearch(
            pricer=pricer,
            root=root,
            most=self.rule.most,
            gap=max(self.limits.gap, LEAST_GAP),
            upper=lambda: self.incumbent.cost,
            take=self.take,
            prove=lambda _: None,
            pause=self.incumbent.pause,
        )
        if self.rule.share == "ranges":
            search.prove = lambda lower: self.prove(lower, "branch and bound over the windows of devices")
            windows(search)
            return None
        self.progress.say("searching ranges of nodes for each device")
        search.pause, search.gap = self._part(WINDOWS_SHARE), max(self.limits.gap, WINDOWS_GAP)
        if self.chain:
            with suppress(_Over):
                windows(search)
        search.pause, search.gap = self.incumbent.pause, max(self.limits.gap, LEAST_GAP)
        search.prove = lambda lower: self.prove(lower, "branch and bound over what devices hold")
        self.progress.say("searching sets of nodes for each device")
        holdings(search)
        return None

    def _part(self, share: float) -> Callable[[], None]:
        """Return a function that raises when this share of the time left is over, or all."""
        until = self.limits.within(share * self.limits.remaining)

        def pause() -> None:
            self.incumbent.pause()
            if until.remaining <= 0:
                raise _Over

        return pause

    def mix(self, routes: list[Ints]) -> None:
        """Take the best shares of these routes."""
        load = np.array([self.instance.loads(route) for route in routes])
        if not np.isfinite(load).all():
            return
        period, shares, price = best_mix(load)
        kept = [i for i in range(len(routes)) if shares[i] > 0]
        self.take(Mix(0.0, period, [routes[i] for i in kept], shares[kept], price, []))

    def take(self, mix: Mix) -> None:
        """Take the plan of these shares, if it is one and is better than what is known."""
        if not mix.routes or mix.period >= self.incumbent.cost * (1 - 1e-12):
            return
        shares = fractions(self.instance, mix.routes, mix.shares, mix.period)
        back = np.empty(self.instance.n, np.int64)
        back[self.instance.order] = np.arange(self.instance.n)
        routes = [route[back] for route in mix.routes]
        self.incumbent.take(Plan.of_routes(self.problem, zip(shares, routes, strict=True)))

    def prove_prices(self, lower: float, price: Floats) -> None:
        """Report what prices of devices prove."""
        self.prove(lower, "prices of devices at which no route is cheaper", price=price)

    def prove(self, lower: float, why: str, price: Floats | None = None) -> None:
        """Report that no plan has a smaller period."""
        if not 0 < lower < inf:
            return
        certificate = None
        if price is not None:
            names = [device.name for device in self.problem.devices]
            if (
                self.chain
                and len(price) == len(names)
                and not any(isinstance(c, (Colocate, Separate)) for c in self.problem.constraints)
            ):
                prices = {name: float(p) for name, p in zip(names, price, strict=True) if p > 0}
                certificate = Certificate("routes", {"prices": prices})
        self.incumbent.prove(Bound(lower, method=NAME, proof="checked", by="mtpp", detail=why, certificate=certificate))


class _Over(Exception):
    """A part of the time is over."""
