"""The innermost loops of the programmes over chains and types of devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Floats, Ints

STEPS_A_SECOND = 1e7
LOOKS = 1 / 16
"""Of the places, what compiled code goes through between two looks at the clock: all of them take up to seconds."""


def _price(
    ahead: Floats, low: Ints, closing: Floats, after: Ints, into: Floats, origin: Ints, queue: Ints, front: Ints,
    back: Ints, answer: Ints,
) -> float:  # fmt: skip
    """Return the least sum over chains of stages of priced work and priced transfers.

    A state is (devices used, type of the next stage, place where it begins). Of equal sums the one with the longest
    last stage is taken.

    Args:
        ahead: [k, n + 1] priced work before each place.
        low: [k, n + 1] the first place at which a stage may begin that ends before each place; the place itself: none.
        closing: [n, k, k] priced transfer behind each place, from type to type.
        after: [states, k] the state with one more device of a type used; -1 where there is none left.
        into: [states, k, n] to be filled with infinity.
        origin: [states, k, n, 3] begin, type and state of the stage before.
        queue: [states, k, n] places in windows that slide.
        front: [states, k] where each window begins, 0 at first.
        back: [states, k] where it ends, 0 at first.
        answer: [3] begin, type and state of the last stage.
    """
    states, k, n = into.shape
    inf = float("inf")
    best = inf
    for v in range(k):
        if after[0, v] >= 0:
            into[0, v, 0] = 0.0
            origin[0, v, 0, 0] = -1
    for end in range(1, n + 1):
        begin = end - 1
        for v in range(k):
            start = low[v, end]
            for c in range(states):
                new = after[c, v]
                if new < 0:
                    continue
                value = into[c, v, begin]
                if value < inf:
                    value -= ahead[v, begin]
                    b = back[c, v]
                    while b > front[c, v] and into[c, v, queue[c, v, b - 1]] - ahead[v, queue[c, v, b - 1]] > value:
                        b -= 1
                    queue[c, v, b] = begin
                    back[c, v] = b + 1
                f = front[c, v]
                while f < back[c, v] and queue[c, v, f] < start:
                    f += 1
                front[c, v] = f
                if f >= back[c, v]:
                    continue
                first = queue[c, v, f]
                total = into[c, v, first] - ahead[v, first] + ahead[v, end]
                if end == n:
                    if total < best:
                        best = total
                        answer[0], answer[1], answer[2] = first, v, c
                    continue
                for w in range(k):
                    if after[new, w] < 0:
                        continue
                    value = total + closing[begin, v, w]
                    if value < into[new, w, end]:
                        into[new, w, end] = value
                        origin[new, w, end, 0], origin[new, w, end, 1], origin[new, w, end, 2] = first, v, c
    return best


def _front(
    first: int, behind: int, ahead: Floats, end: Ints, sent: Floats, received: Floats, cover: Floats, after: Ints,
    best: Floats, origin: Ints, least: Floats, last: Ints,
) -> None:  # fmt: skip
    """Find the least bottleneck of one pipeline on exactly so many devices of each type.

    Args:
        first: the place from which on stages begin; those that begin before it have been looked at.
        behind: the place before which they begin.
        ahead: [k, n + 1] work before each place.
        end: [n, k] the last place behind which a stage may end.
        sent: [n, k, k] what a device pays to send to another, by their types.
        received: [n, k, k] what that one pays.
        cover: [n, k, k] the largest load that the transfer puts on a channel.
        after: [states, k] as for prices.
        best: [n, states, k + 1, k] least bottleneck so far by place, state, last and next type, to be filled with
            infinity; the last type k stands for none.
        origin: [n, states, k + 1, k, 2] where the stage before begins, and the type before it.
        least: [states] to be filled with infinity.
        last: [states, 3] begin, type before and type of the last stage.
    """
    n, states, _, k = best.shape
    inf = float("inf")
    if first == 0:
        for v in range(k):
            best[0, 0, k, v] = 0.0
    for j in range(first, behind):
        for c in range(states):
            for u in range(k + 1):
                for v in range(k):
                    so_far = best[j, c, u, v]
                    new = after[c, v]
                    if so_far == inf or new < 0:
                        continue
                    into = 0.0 if u == k else received[j - 1, u, v]
                    for stop in range(j + 1, end[j, v] + 1):
                        load = into + ahead[v, stop] - ahead[v, j]
                        if stop == n:
                            value = max(so_far, load)
                            if value < least[new]:
                                least[new] = value
                                last[new, 0], last[new, 1], last[new, 2] = j, u, v
                            continue
                        for w in range(k):
                            if after[new, w] < 0:
                                continue
                            value = max(so_far, load + sent[stop - 1, v, w], cover[stop - 1, v, w])
                            if value < best[stop, new, v, w]:
                                best[stop, new, v, w] = value
                                origin[stop, new, v, w, 0] = j
                                origin[stop, new, v, w, 1] = u


def _groups(
    nearest: int, behind: int, ahead: Floats, end: Ints, into: Floats, out: Floats, count: Ints, first: Ints,
    parts: Ints, most: int, rate: Floats, origin: Ints,
) -> None:  # fmt: skip
    """Find the largest least rate of stages, each on a group of devices whose rates add up.

    Args:
        nearest: the place from which on stages end, 0 at first; those that end before it have been looked at.
        behind: the place before which they end.
        ahead: [k, n + 1] work before each place.
        end: [n, k] the last place behind which a stage may end.
        into: [n, k] what a device pays to receive what a place reads.
        out: [n, k] what it pays to send what a place makes.
        count: [states, k] devices of each type; the number of the union of two states is the sum of their numbers.
        first: [states + 1] where the parts of each state begin.
        parts: [pairs] states with as many devices of each type, or fewer.
        most: devices in a group.
        rate: [n + 1, states] to be filled with 0.
        origin: [n + 1, states, 2] begin and group of the last stage.
    """
    n, k = end.shape
    states = len(count)
    rate[0, 0] = float("inf")
    single = [0.0] * k
    for j in range(max(1, nearest), behind):
        for i in range(j):
            for d in range(k):
                single[d] = 0.0
                if end[i, d] >= j:
                    load = ahead[d, j] - ahead[d, i]
                    if i > 0:
                        load += into[i, d]
                    if j < n:
                        load += out[j - 1, d]
                    single[d] = 1.0 / load if load > 0.0 else 1e300
            for group in range(1, states):
                total, size = 0.0, 0
                for d in range(k):
                    if count[group, d] > 0:
                        if single[d] == 0.0:
                            size = most + 1
                        total += count[group, d] * single[d]
                        size += count[group, d]
                if size > most:
                    continue
                free = states - 1 - group
                for pair in range(first[free], first[free + 1]):
                    before = parts[pair]
                    value = min(rate[i, before], total)
                    if value > rate[j, before + group]:
                        rate[j, before + group] = value
                        origin[j, before + group, 0] = i
                        origin[j, before + group, 1] = group


def _knapsack(
    rate: Floats, number: Ints, needs: Ints, count: Ints, before: Floats, total: Floats, chosen: Ints
) -> None:  # fmt: skip
    """Add one pipeline or none to the best ones on each state.

    Args:
        rate: [pipelines] throughput of each.
        number: [pipelines] its state.
        needs: [pipelines, k] devices of each type in it.
        count: [states, k] devices of each type; the number of the union of two states is the sum of their numbers.
        before: [states] largest sum of rates so far; *total* itself where any number may be added.
        total: [states] the same, to be raised.
        chosen: [states] to be filled with -1: the pipeline that is added, -1 for none.
    """
    pipelines, k = needs.shape
    for union in range(1, len(count)):
        for one in range(pipelines):
            fits = True
            for d in range(k):
                if needs[one, d] > count[union, d]:
                    fits = False
                    break
            if fits:
                value = rate[one] + before[union - number[one]]
                if value > total[union] * (1 + 1e-12):
                    total[union] = value
                    chosen[union] = one


PRICE = Kernel(_price, STEPS_A_SECOND)


def in_portions(
    kernel: Kernel[..., Any], steps: float, places: int, pause: Callable[[], None], say: Callable[[str], None] | None
) -> Callable[..., None]:
    """Return a function that runs a kernel on some of the places after others, with a look at the clock before each.

    Args:
        kernel: whose first two arguments are a place and the place after the last.
        steps: that it makes in all.
        places: how many there are.
        pause: raises where the time is up.
        say: told when code has to be compiled.
    """
    run = kernel.pick(steps, say)

    def all_places(*arguments: Any) -> None:
        first = 0
        while first < places:
            pause()
            share = kernel.portion(int(steps) + 1) / (steps + 1)
            last = min(places, first + max(1, int(places * min(share, LOOKS))))
            run(first, last, *arguments)
            first = last

    return all_places


FRONT = Kernel(_front, STEPS_A_SECOND)
GROUPS = Kernel(_groups, STEPS_A_SECOND)
KNAPSACK = Kernel(_knapsack, STEPS_A_SECOND)
