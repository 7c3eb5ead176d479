"""Improve stages that groups of devices share: move a border or a device, or join two stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.partition.copies.instance import ChainInstance

__all__ = ["SharedStage", "improved"]

SharedStage = tuple[int, int, tuple[int, ...]]
"""The place where a stage begins, that behind it, and how many devices of each type run it."""
MAX_MOVES = 2_000
STEPS = (1, 2, 4, 8)
"""By so many nodes a border moves."""


def improved(
    instance: ChainInstance,
    stages: Sequence[SharedStage],
    most: int,
    into: Floats,
    out: Floats,
    pause: Callable[[], None] = lambda: None,
) -> list[SharedStage]:
    """Return stages whose rates are better, the least first, than those of all that one move makes of them.

    Args:
        instance: the chain and the devices.
        stages: to begin with, in order.
        most: devices in a stage.
        into: [n, types] what a device pays to receive what a place reads.
        out: [n, types] what it pays to send what a place makes.
        pause: raises where the time is up.
    """
    ahead = np.vstack(
        [np.zeros(instance.types), np.cumsum(np.where(np.isinf(instance.time), 0, instance.time), axis=0)]
    )

    def rate(stage: SharedStage) -> float:
        begin, stop, group = stage
        if sum(group) > most or begin >= stop:
            return 0.0
        total = 0.0
        for kind, size in enumerate(group):
            if size:
                if instance.end[begin, kind] < stop:
                    return 0.0
                load = ahead[stop, kind] - ahead[begin, kind]
                load += into[begin, kind] if begin else 0.0
                load += out[stop - 1, kind] if stop < instance.n else 0.0
                total += size / max(float(load), 1e-300)
        return total

    best = list(stages)
    rates = [rate(stage) for stage in best]
    for _ in range(MAX_MOVES):
        pause()
        weak = int(np.argmin(rates))
        free = instance.count - np.sum([group for _, _, group in best], axis=0)
        better = None
        for first, last, new in _moves(best, weak, free.tolist()):
            own = [rate(stage) for stage in new]
            after = sorted([*rates[:first], *own, *rates[last:]])
            if after > (sorted(rates) if better is None else better[0]):
                better = after, [*best[:first], *new, *best[last:]], [*rates[:first], *own, *rates[last:]]
        if better is None or better[0][0] < min(rates):
            break
        _, best, rates = better
    return best


def _moves(
    stages: Sequence[SharedStage], weak: int, free: Sequence[int]
) -> Iterator[tuple[int, int, list[SharedStage]]]:
    """Yield what may help a stage: (first, last, new): new stages in place of those from *first* to before *last*."""
    begin, stop, group = stages[weak]
    for kind, size in enumerate(free):
        if size:
            yield weak, weak + 1, [(begin, stop, _plus(group, kind, 1))]
    for other, (low, high, its) in enumerate(stages):
        for kind, size in enumerate(its):
            if size and other != weak:
                first, last = min(weak, other), max(weak, other)
                new = list(stages[first : last + 1])
                new[weak - first] = begin, stop, _plus(group, kind, 1)
                new[other - first] = low, high, _plus(its, kind, -1)
                yield first, last + 1, new
    for left in (weak - 1, weak):
        if 0 <= left < len(stages) - 1:
            (low, border, its), (_, high, others) = stages[left], stages[left + 1]
            yield left, left + 2, [(low, high, tuple(a + b for a, b in zip(its, others, strict=True)))]
            for step in STEPS:
                moved = border + step if left < weak else border - step
                if low < moved < high:
                    yield left, left + 2, [(low, moved, its), (moved, high, others)]


def _plus(group: tuple[int, ...], kind: int, size: int) -> tuple[int, ...]:
    return (*group[:kind], group[kind] + size, *group[kind + 1 :])
