"""States of a sweep over supernodes: what is known of the tensors of which some supernodes are placed and some not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mtpp_dsl.core.problem.graph import Bools, Ints

Nets = Sequence[Sequence[int]]
ONE, OTHER, BOTH = 1, 2, 3
"""Where pins of a tensor are so far."""
TRIES = 8
"""Orders that are drawn, of which the one with the fewest transitions is kept."""
GIVEN_UP = 1
"""Orders after the first that may have too many transitions before no more are drawn."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """The states of a sweep in which each supernode goes to one side or to the other.

    A state is all that later costs depend on: for each open tensor, the sides on which it has pins. Both the first
    state and the last one are 0, in which nothing is open.

    Attributes:
        order: [n] the supernodes as they are placed.
        begins: [n + 1] the first transition of each step.
        before, after: [transitions] the states.
        on_one: [transitions] whether the supernode goes to the first side.
        states: [n] how many there are after each step.
        pays, paid: transitions in which the first side begins to pay for a tensor, and which it is.
        other_pays, other_paid: the same of the other side.
    """

    order: Ints
    begins: Ints
    before: Ints
    after: Ints
    on_one: Bools
    states: Ints
    pays: Ints
    paid: Ints
    other_pays: Ints
    other_paid: Ints

    def placed(self) -> Ints:
        """Return [transitions] the supernode that each transition places."""
        return np.repeat(self.order, np.diff(self.begins))

    def costs(self, cost: Ints) -> tuple[Ints, Ints]:
        """Return [transitions] what the first side, and the other one, begin to pay for tensors of so much *cost*."""
        one, other = np.zeros(len(self.before), np.int64), np.zeros(len(self.before), np.int64)
        np.add.at(one, self.pays, cost[self.paid])
        np.add.at(other, self.other_pays, cost[self.other_paid])
        return one, other


def frontier(order: Sequence[int], nets: Nets, most: int, elsewhere: Collection[int] = ()) -> Frontier | None:
    """Return the states of a sweep, or None if there are more than *most* transitions.

    Args:
        order: the supernodes that are placed; pins that are not among them are left out.
        nets: the pins of each tensor.
        most: transitions.
        elsewhere: tensors that have pins on neither side: a side pays for them as soon as it has one.
    """
    place = {v: i for i, v in enumerate(order)}
    at: list[list[int]] = [[] for _ in order]
    last: dict[int, int] = {}
    for e, pins in enumerate(nets):
        here = sorted(place[v] for v in pins if v in place)
        for i in here:
            at[i].append(e)
        if here:
            last[e] = here[-1]
    current: list[tuple[tuple[int, int], ...]] = [()]
    begins, states = [0], list[int]()
    moves: list[tuple[int, int, bool]] = []
    payments: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for i, touched in enumerate(at):
        following: dict[tuple[tuple[int, int], ...], int] = {}
        for s, state in enumerate(current):
            for side in (ONE, OTHER):
                open_nets = dict(state)
                for e in touched:
                    seen = open_nets.get(e, 0)
                    open_nets[e] = now = seen | side
                    if now != seen and e in elsewhere:
                        payments[side - 1].append((len(moves), e))
                    elif now != seen and now == BOTH:
                        payments[0].append((len(moves), e))
                        payments[1].append((len(moves), e))
                    if last[e] == i:
                        del open_nets[e]
                new = following.setdefault(tuple(sorted(open_nets.items())), len(following))
                moves.append((s, new, side == ONE))
        if len(moves) > most:
            return None
        current = list(following)
        begins.append(len(moves))
        states.append(len(following))
    before, after, on_one = np.array(moves, np.int64).reshape(-1, 3).T
    (pays, paid), (other_pays, other_paid) = (np.array(one, np.int64).reshape(-1, 2).T for one in payments)
    return Frontier(
        np.array(order, np.int64),
        np.array(begins),
        before,
        after,
        on_one > 0,
        np.array(states, np.int64),
        pays,
        paid,
        other_pays,
        other_paid,
    )


@lru_cache(maxsize=4)
def narrowest(n: int, nets: tuple[tuple[int, ...], ...], most: int) -> Frontier | None:
    """Return the states along the best of some orders, or None if the first ones have more than *most* transitions."""
    random, best = np.random.default_rng(0), None
    for attempt in range(TRIES):
        states = frontier(few_open(n, nets, random), nets, most)
        if states is not None:
            best, most = states, len(states.before)
        elif best is None and attempt >= GIVEN_UP:
            break
    return best


def few_open(n: int, nets: Nets, random: np.random.Generator) -> list[int]:
    """Return an order that goes on with the supernode that leaves the fewest tensors open; ties are drawn."""
    at: list[list[int]] = [[] for _ in range(n)]
    for e, pins in enumerate(nets):
        for v in pins:
            at[v].append(e)
    left = [len(pins) for pins in nets]
    tie = random.random(n).tolist()
    ahead = sorted(range(n), key=lambda v: (-len(at[v]), -tie[v]))
    done, order = [False] * n, list[int]()
    near: set[int] = set()

    def more_open(v: int) -> tuple[int, float]:
        opened = sum(left[e] == len(nets[e]) and left[e] > 1 for e in at[v])
        return opened - sum(left[e] == 1 and len(nets[e]) > 1 for e in at[v]), tie[v]

    while len(order) < n:
        if near:
            v = min(near, key=more_open)
        else:
            while done[ahead[-1]]:
                ahead.pop()
            v = ahead[-1]
        done[v] = True
        near.discard(v)
        order.append(v)
        for e in at[v]:
            left[e] -= 1
            near.update(w for w in nets[e] if not done[w])
    return order
