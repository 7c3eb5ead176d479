"""Method ``ideals`` on links and trees: chains at once, other graphs by ideals and the homes of tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from mtpp_dsl.core.constraints import Acyclic, Colocate, Forbid, InOrder, Memory, Pin
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.chains.least_bottleneck import least_bottleneck
from mtpp_dsl.solvers.algorithms.homes.home_search import HomeSearch, LabelsCrowded
from mtpp_dsl.solvers.algorithms.homes.of_problem import chain_from, chain_in_line, shipping_in_line, shipping_of
from mtpp_dsl.solvers.algorithms.ideals.lattice import Lattice
from mtpp_dsl.solvers.algorithms.ideals.lattice import chain as prefixes
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes
from mtpp_dsl.solvers.algorithms.least_load import simple_bound
from mtpp_dsl.solvers.algorithms.slicing.linear_split import linear_split, lines_of, orders_of
from mtpp_dsl.solvers.partition.ideals.ideals_search import NO_CHAIN_OF_IDEALS, UNASKED, IdealsSearch

MAX_IDEALS = 100_000
"""With more ideals than this, only the prefixes of some orders are gone through."""
FEW_IDEALS = 20_000
ORDERS = 8
LINES = 8
"""Of the nodes, and of the devices for a first plan."""
ROUGH = 0.01
"""How near to the best split of an order a first plan has to be."""
DETAIL = (
    "every split of the chain has a load of this or more: a dynamic programme over nodes done, devices used and the "
    "next device; loads were added up in whole numbers, rounded down"
)
HOMES = (
    "every chain of ideals has a load of this or more (tarnawski2020, 5.1), wherever the tensors that it cuts are; "
    "loads were added up in whole numbers, rounded down"
)
NOWHERE = (
    "every chain of ideals has a load of this or more, if every device sends and receives at its best rate; loads were "
    "added up in whole numbers, rounded down"
)
MANY = "the supernodes have more than {most:,} ideals, or too many homes: the plan is the best along some orders"


class NetworkRun(IdealsSearch):
    """Solves one problem on links or a tree."""

    def _prepare(self) -> None:
        self._shipping, self._of = shipping_of(self._original)
        self._line = self._original.line
        if self._line is not None:
            self._shipping = shipping_in_line(self._shipping, self._line)
        self._proves = self._original.acyclic
        self._lower = 0.0
        self._some = False  # whether any split was found, be it a plan or not

    def _go(self) -> None:
        if not self._proves:
            self._incumbent.note(UNASKED)
        lower, why, _ = simple_bound(self._original)
        self._bounded(lower, f"archer2024, Lemma 3.3: {why}")
        self._at_once()
        if self._closed or self._along_chain() or self._closed:
            return
        supernodes = self._supernodes()
        lattice = self._lattice(supernodes)
        if lattice is None or lattice.size > MAX_IDEALS:
            self._give_up(MANY.format(most=MAX_IDEALS))
            self._along_orders()
            return
        self._few = lattice.size <= FEW_IDEALS
        if lattice.size > self._shipping.n + 1:
            self._along_orders()
        try:
            for relaxed in (True, False):
                if self._climb(lattice, relaxed=relaxed):
                    return
        except LabelsCrowded:
            self._give_up(MANY.format(most=MAX_IDEALS))

    def _at_once(self) -> None:
        """Take splits along one order by their times alone, before code is compiled."""
        shipping = self._shipping
        order = next(orders_of(shipping, self._limits.seed))
        for line in lines_of(shipping, np.random.default_rng(self._limits.seed), 1 if self._line else LINES):
            if self._closed:
                return
            device = linear_split(shipping.time, shipping.memory, shipping.room, order, line.tolist())
            if device is not None:
                some = self._some
                self._take(device)
                self._some = some  # a guess that is no plan proves nothing

    def _along_chain(self) -> bool:
        """Solve a chain; return whether it is one, and nothing is left to do."""
        line = chain_from(self._shipping)
        if line is None:
            return False
        chain, place = line
        chain = chain if self._line is None else chain_in_line(chain, self._line)
        split = least_bottleneck(
            chain,
            upper=self._incumbent.cost,
            gap=0.0,
            say=self._progress.say,
            pause=self._pause,
        )
        if split.device is not None:
            self._take(split.device[place])
        if split.lower == np.inf:
            self._found_none()
            return True
        self._bounded(min(split.lower, self._incumbent.cost), DETAIL)
        cost = self._incumbent.cost
        return cost < np.inf and cost <= max(split.lower, split.value if split.device is not None else 0.0) * (1 + 1e-9)

    def _climb(self, lattice: Lattice, *, relaxed: bool) -> bool:
        """Raise the bound; return whether nothing is left to do."""
        search = self._search(lattice, lambda lower: self._bounded(lower, NOWHERE if relaxed else HOMES))
        _, upper, done = search.climb(self._lower, self._incumbent.cost, self._limits.gap, relaxed=relaxed)
        if done and upper == np.inf and not self._some:
            self._found_none()
            return True
        return self._closed

    def _along_orders(self) -> None:
        """Find good splits of some orders of the supernodes."""
        for order in islice(orders_of(self._shipping, self._limits.seed), ORDERS):
            if self._closed:
                return
            search = self._search(prefixes(order), lambda _: None)
            try:
                search.climb(self._lower, self._incumbent.cost, max(ROUGH, self._limits.gap), relaxed=False)
            except LabelsCrowded:
                self._incumbent.note(MANY.format(most=MAX_IDEALS))

    def _search(self, lattice: Lattice, bounded: Callable[[float], None]) -> HomeSearch:
        return HomeSearch(
            self._shipping,
            lattice,
            self._most_bytes / 2,
            say=self._progress.say,
            pause=self._pause,
            keep=self._take,
            bounded=bounded,
        )

    def _supernodes(self) -> OrderedSupernodes:
        shipping = self._shipping
        return OrderedSupernodes(
            members=tuple((v,) for v in range(shipping.n)),
            time=shipping.time,
            memory=shipping.memory,
            params=shipping.memory,
            nets=(),
            before=shipping.before,
        )

    def _take(self, device: Ints) -> float:
        """Keep the split if it is a plan; return what it costs, or ``inf``."""
        if self._line is not None:
            device = np.array(self._line.devices, np.int64)[device]
        plan = Plan.create(self._original, device[self._of])
        self._some = True
        return evaluate(self._original, plan).cost if self._incumbent.take(plan) else np.inf

    def _bounded(self, lower: float, detail: str) -> None:
        self._lower = max(self._lower, lower)
        if self._proves:
            self._raise(lower, detail)

    def _found_none(self) -> None:
        if self._proves and self._incumbent.plan is None and not self._some:
            self._no_plan(NO_CHAIN_OF_IDEALS, Acyclic, Colocate, Forbid, InOrder, Memory, Pin)
