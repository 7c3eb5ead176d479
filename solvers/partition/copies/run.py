"""One run of the method ``copies``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

import numpy as np

from mtpp_dsl.core.constraints import Colocate, Copies, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Certificate, Infeasibility, Result
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.plan_rules import is_chain
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.mip.highs import enter_run, leave_run
from mtpp_dsl.solvers.partition.copies.branch import CopiesSearch, holdings
from mtpp_dsl.solvers.partition.copies.graph import GraphPricer, graph_instance, side_by_side
from mtpp_dsl.solvers.partition.copies.instance import instance_of
from mtpp_dsl.solvers.partition.copies.pipelines import pipelines
from mtpp_dsl.solvers.partition.copies.placing import PlacedRoute, placed, placed_apart, placed_loads
from mtpp_dsl.solvers.partition.copies.pricing import CountedPricer, Pricer
from mtpp_dsl.solvers.partition.copies.shares import Mix, best_mix, fractions, priced
from mtpp_dsl.solvers.partition.copies.single import single_pipeline
from mtpp_dsl.solvers.partition.copies.stages import narrowed, stage_table, unions
from mtpp_dsl.solvers.partition.copies.windows import windows
from mtpp_dsl.solvers.runtime.incumbent import Incumbent, SearchEnded

NAME = "copies"
WINDOWS_SHARE = 0.5
"""Of the time, what the search of windows gets where devices may hold more than ranges."""
WINDOWS_GAP, LEAST_GAP = 1e-3, 1e-7
"""How near it has to come to its bound there, and searches at the least."""
MAX_CHECKED = 20_000_000
"""Numbers of devices used of each type, times types and nodes, where the check of a certificate counts devices."""
NO_ROUTE = "no single route fits: some nodes have no device, or all do not fit into memory together"


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
        self.pricer_of_all = self.pricer(self.instance)

    def result(self) -> Result:
        """Go from the cheap to the dear, until plan and bound meet."""
        self.incumbent.take_start()
        enter_run()  # once for hundreds of small programmes
        try:
            reason = self.search()
        except SearchEnded:
            return self.incumbent.result()
        finally:
            leave_run()
        if reason is not None:
            return self.incumbent.result("infeasible", infeasibility=Infeasibility(reason))
        return self.incumbent.result()

    def search(self) -> str | None:
        """Search, and return why there is no plan where that is proved."""
        instance = self.instance
        self.progress.say(
            f"pricing routes of {instance.n} nodes over {self.problem.k} devices of {instance.types} types"
        )
        root = priced(self.pricer_of_all, instance.end, pause=self.incumbent.pause, proved=self.prove_prices)
        if root.lower == inf:
            return NO_ROUTE
        worth = root.price[: instance.types] / instance.count
        if self.pipelines(worth) or self.incumbent.done:
            return None
        if self.chain:
            self.stages(worth)
        if not self.incumbent.done and self.rule.share in ("ranges", "any"):
            self.branches(root)
        return None

    def pipelines(self, worth: Floats) -> bool:
        """Take the best pipelines on disjoint devices; return whether nothing is better."""
        rule, instance = self.rule, self.instance
        self.single()
        search = partial(pipelines, pause=self.incumbent.pause) if self.chain else side_by_side
        beside = search(instance, rule.most, worth, self.progress.say)
        if beside is None:
            return False
        for routes in ([] if beside.single is None else [beside.single], beside.routes):
            if routes:
                self.take_placed(instance, placed_apart(instance, routes))
        if not (beside.complete and instance.ordered) or instance.channels or beside.single is None:
            return False
        if rule.share != "pipelines" and rule.most > 1:
            return False
        self.prove(beside.period, "best pipelines on disjoint devices, by dynamic programming over types of devices")
        return True

    def single(self) -> None:
        """Take the best single pipeline of a chain: a plan that takes no time, where the others take seconds."""
        if not self.chain:
            return
        instance, pause = self.instance, self.incumbent.pause
        plan, lower = single_pipeline(self.problem, instance, gap=self.limits.gap, say=self.progress.say, pause=pause)
        if plan is not None:
            self.incumbent.take(plan)
        if lower > 0 and self.rule.most == 1 and instance.ordered and not instance.channels:
            self.prove(lower, "best single pipeline, by dynamic programming over types of devices")

    def stages(self, worth: Floats) -> None:
        """Take the stages whose rates are largest at the dearest transfers, and bound by the cheapest."""
        instance, most = self.instance, self.rule.most
        during: Any = {"say": self.progress.say, "pause": self.incumbent.pause}
        if self.rule.share == "pipelines":
            return
        table = stage_table(instance, most, hopeful=False, **during)
        if table is None:
            return
        stages = table.climbed(instance, most, self.incumbent.pause)
        if stages:
            self.take_within(narrowed(instance, stages, alike=True))
        if self.rule.share != "stages":
            apart = unions(instance, table, most, worth)
            if apart:
                self.take_within(narrowed(instance, apart, alike=False))
        elif instance.ordered:
            hopeful = stage_table(instance, most, hopeful=True, **during)
            if hopeful is not None:
                if hopeful.complete:
                    why = "largest least rate of stages, by dynamic programming over types of devices"
                    self.prove(hopeful.best().period, why)
                stages = hopeful.climbed(instance, most, self.incumbent.pause)
                if stages and not self.incumbent.done:
                    self.take_within(narrowed(instance, stages, alike=True))

    def take_within(self, narrow: Any) -> None:
        """Take the best shares of routes of an instance in which all routes fit together."""
        self.take(narrow, priced(self.pricer(narrow), narrow.end, pause=self.incumbent.pause))

    def pricer(self, instance: Any) -> CountedPricer:
        """Return what prices routes of an instance."""
        return (Pricer if self.chain else GraphPricer)(instance, self.progress.say)

    def branches(self, root: Mix) -> None:
        """Branch on what devices hold."""
        instance = self.instance
        search = CopiesSearch(
            instance=instance,
            pricer=self.pricer,
            root=root,
            most=self.rule.most,
            gap=max(self.limits.gap, LEAST_GAP),
            upper=lambda: self.incumbent.cost,
            take=self.take,
            prove=lambda _: None,
            pause=self.incumbent.pause,
            ranges=self.ranges,
        )
        if self.rule.share == "ranges":
            search.prove = lambda lower: self.prove(lower, "branch and bound over the windows of devices")
            windows(search)
            return
        self.progress.say("searching ranges of nodes for each device")
        search.pause, search.gap = self._part(WINDOWS_SHARE), max(self.limits.gap, WINDOWS_GAP)
        if self.chain:
            with suppress(_Over):
                windows(search)
        search.pause, search.gap = self.incumbent.pause, max(self.limits.gap, LEAST_GAP)
        search.prove = lambda lower: self.prove(lower, "branch and bound over what devices hold")
        self.progress.say("searching sets of nodes for each device")
        holdings(search)

    def _part(self, share: float) -> Callable[[], None]:
        """Return a function that raises when this share of the time left is over, or all."""
        until = self.limits.within(share * self.limits.remaining)

        def pause() -> None:
            self.incumbent.pause()
            if until.remaining <= 0:
                raise _Over

        return pause

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Return the places from which, and before which, each device that the best plan uses has nodes."""
        plan = self.incumbent.plan
        ranges: dict[int, tuple[int, int]] = {}
        if plan is None:
            return ranges
        for route in [one.assignment for one in plan.routes] or [plan.assignment]:
            for place, d in enumerate(np.asarray(route)[self.instance.order].tolist()):
                low, high = ranges.get(d, (place, place + 1))
                ranges[d] = min(low, place), max(high, place + 1)
        return ranges

    def take(self, instance: Any, mix: Mix) -> None:
        """Take the plan of these shares, if it is one and is better than what is known."""
        if mix.routes and mix.period < self.incumbent.cost * (1 - 1e-12):
            self.take_placed(instance, *placed(instance, mix))

    def take_placed(self, instance: Any, routes: Sequence[PlacedRoute], shares: Floats | None = None) -> None:
        """Take the plan of these routes; in their best shares, if no others are given."""
        load = placed_loads(instance, routes)
        if not np.isfinite(load).all():
            return
        if shares is None:
            _, shares, _ = best_mix(load)
            routes, load = [one for one, p in zip(routes, shares, strict=True) if p > 0], load[shares > 0]
            shares = shares[shares > 0]
        parts = fractions(load, shares, float((shares @ load).max()))
        assigned = [one.assignment(instance) for one in routes]
        kept = [(part, own) for part, own in zip(parts, assigned, strict=True) if part > 0]
        self.incumbent.take(Plan.of_routes(self.problem, kept))

    def prove_prices(self, lower: float, price: Floats) -> None:
        """Report what prices prove: of all devices of each type together."""
        certificate = None
        kinds = (Colocate, Separate)
        instance, counted = self.instance, self.pricer_of_all.counted
        few = not counted or np.prod(instance.count + 1.0) * instance.types * instance.n <= MAX_CHECKED
        plain = self.chain and not instance.channels
        if few and plain and not any(isinstance(c, kinds) for c in self.problem.constraints):
            names = [device.name for device in self.problem.devices]
            of_types = zip((price / instance.count).tolist(), instance.members, strict=True)
            prices = {names[d]: p for p, group in of_types for d in group if p > 0}
            certificate = Certificate("routes", {"prices": prices})
        self.prove(lower, "prices of devices at which no route is cheaper", certificate)

    def prove(self, lower: float, why: str, certificate: Certificate | None = None) -> None:
        """Report that no plan has a smaller period."""
        if 0 < lower < inf:
            self.incumbent.prove(
                Bound(lower, method=NAME, proof="checked", by="mtpp", detail=why, certificate=certificate)
            )


class _Over(Exception):
    """A part of the time is over."""
