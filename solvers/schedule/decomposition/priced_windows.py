"""Bound a module by prices of windows: the least that its work in them costs, over all devices that nodes may be on.

A window of a device, or of a port, has a head and a tail. Whatever starts there no earlier than the head, and is
followed by the tail at least, runs there one at a time: the module takes the head, the tail and this work. So it takes
at least any mean of such sums. The least mean over all devices of the nodes is a cost of nodes and edges, which
:class:`~mtpp_dsl.solvers.algorithms.least_labelling.Labelling` finds, as modules become narrow by leaving nodes out.
The same tells what must not be chosen by a schedule below a limit; without it paths are longer, and windows begin later
and are followed by more. Prices are the duals of a linear programme over all windows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.algorithms.least_labelling import Labelling
from mtpp_dsl.solvers.schedule.decomposition.module_choices import ModuleChoices
from mtpp_dsl.solvers.schedule.decomposition.module_windows import OpenItems, module_windows, prices_of
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece

__all__ = ["PricedBound", "PricedModule", "PricedWindow"]

PRICES = 1 << 16
"""What all prices of a round add up to, about."""
ROUNDS = 6
"""Of prices, in each of which choices may be closed."""
QUESTIONS = 8
"""About one module with given devices of its ends, at most."""
FAR, NEAR = 2e-3, 3e-4
"""Relative: how far above what is known a limit is at first, and at least; twice as far after each that was refuted."""
MARGIN = 1e-9
"""Relative: values are known so well."""
MAX_TABLE = 1 << 12
"""Of the widest table of a module."""
MAX_ITEMS = 6_000
"""Nodes on devices and edges between two of a module."""


class PricedWindow(NamedTuple):
    """A window and its price.

    Attributes:
        kind: what it is of. device: which.
        head: what is in it starts no earlier. tail: what is in it is followed by no less.
        price: a whole number.
    """

    kind: int
    device: int
    head: float
    tail: float
    price: int


class PricedBound(NamedTuple):
    """A bound on the time of a module, and what proves it.

    Attributes:
        time: no schedule is shorter.
        limit: what is closed is so for schedules below this.
        rounds: prices, one after another.
    """

    time: float
    limit: float
    rounds: tuple[tuple[PricedWindow, ...], ...]


class PricedModule:
    """Bounds one module by prices of windows.

    Args:
        piece: the module.
    """

    def __init__(self, piece: ModulePiece) -> None:
        self._piece = piece
        self._labelling = Labelling(piece.size, piece.tails, piece.heads)
        items = piece.size * piece.k + len(piece.tails) * piece.k**2
        self.suits = piece.k ** (self._labelling.width + 1) <= MAX_TABLE and items <= MAX_ITEMS
        """Whether its tables are small enough."""

    def least_time(self, entry: int, exit_: int, known: float, enough: float) -> PricedBound | None:
        """Return the best bound found on the module's time between two states of its ends; None if none is better.

        The first question is about schedules below *enough*, the next ones about those a little above what is known.

        Args:
            entry: the state of the entry.
            exit_: that of the exit.
            known: a bound on its time.
            enough: finite; what is more than that is not needed.
        """
        best, limit, step = None, enough, FAR
        for _ in range(QUESTIONS):
            bound = self.below(entry, exit_, limit)
            if bound.time > known * (1 + MARGIN):
                best, known = bound, bound.time
            if bound.time >= limit:
                step *= 2
            elif limit <= known * (1 + step) * (1 + MARGIN):
                step /= 4
            if known >= enough or step < NEAR:
                break
            limit = min(enough, known * (1 + step))
        return best

    def below(self, entry: int, exit_: int, limit: float) -> PricedBound:
        """Return a bound, no more than *limit*, for which everything is closed that only longer schedules do."""
        choices, least, kept = ModuleChoices(self._piece, entry, exit_), 0.0, 0
        rounds: list[tuple[PricedWindow, ...]] = []
        for _ in range(ROUNDS):
            if not choices.close_paths(limit):
                return PricedBound(limit, limit, tuple(rounds))
            if choices.length > least:
                least, kept = choices.length, len(rounds)
            windows, nodes, edges = self._priced(choices, least)
            if not windows:
                break
            rounds.append(windows)
            total = sum(window.price for window in windows)
            base = sum(window.price * min(window.head + window.tail, least) for window in windows)
            costs = self._labelling.costs(nodes, edges)
            if (base + costs.least) / total > least:
                least, kept = (base + costs.least) / total, len(rounds)
            if least >= limit * (1 + MARGIN):
                return PricedBound(limit, limit, tuple(rounds))
            most = limit * (1 + MARGIN) * total - base
            if not choices.close(costs.nodes >= most, costs.edges >= most):
                break
        return PricedBound(min(least * (1 - MARGIN), limit), limit, tuple(rounds[:kept]))

    def _priced(self, choices: ModuleChoices, least: float) -> tuple[tuple[PricedWindow, ...], Floats, Floats]:
        """Return windows with the best prices, and what nodes and edges cost by them."""
        items = OpenItems(choices)
        windows = list(module_windows(items, least))
        prices = np.rint(prices_of(windows, items, least) * PRICES) if windows else np.zeros(0)
        cost, found = np.zeros(items.count), []
        for w in np.flatnonzero(prices).tolist():
            window = windows[w]
            cost[window.items] += prices[w] * window.work
            found.append(PricedWindow(*window[:4], int(prices[w])))
        return tuple(found), *items.costs(cost)
