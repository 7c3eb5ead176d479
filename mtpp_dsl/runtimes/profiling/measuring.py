"""Run something many times, warmed up, and say how long one run takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time

from mtpp_dsl.runtimes.execution.clocks import CLOCKS, Clock, TimeSpread, spread

LEAST_SAMPLE = 50e-6
"""Seconds that one sample takes at least: shorter runs are taken together, so that reading the clock does not count."""


@dataclass(frozen=True)
class MeasuringEffort:
    """How long to measure one operator.

    Attributes:
        seconds: of measuring, after the warm-up.
        samples: at least so many, unless *most* seconds have passed.
        most: seconds after which no further sample is taken.
        warm: runs before the first one that counts.
        clock: see :data:`mtpp_dsl.runtimes.execution.clocks.CLOCKS`.
    """

    seconds: float = 0.1
    samples: int = 15
    most: float = 5.0
    warm: int = 3
    clock: Clock = "wall"


def measure(
    run: Callable[[], object],
    effort: MeasuringEffort,
    wait: Callable[[], object] | None = None,
    between: Callable[[], object] | None = None,
) -> TimeSpread:
    """Return the time of one call of *run*, as the median of samples and their quartiles.

    Args:
        run: what is measured.
        effort: how long.
        wait: waits until all that *run* has begun has ended, for devices that work by themselves.
        between: runs before each call and is not measured. What runs between two calls in a model leaves little of the
            first one in the caches; without *between* short calls are taken together.
    """
    now = CLOCKS[effort.clock]
    done = wait or (lambda: None)
    began = now()
    for _ in range(effort.warm):
        run()
    done()
    once = (now() - began) / effort.warm
    together = max(1, int(LEAST_SAMPLE / max(once, 1e-9))) if between is None else 1
    times: list[float] = []
    processor: list[float] = []
    spent = 0.0
    while not times or (spent < effort.most and (spent < effort.seconds or len(times) < effort.samples)):
        start = now()
        if between is not None:
            between()
        on_processor, began = thread_time(), now()
        for _ in range(together):
            run()
        done()
        ended = now()
        processor.append((thread_time() - on_processor) / together)
        spent += ended - start
        times.append((ended - began) / together)
    return spread(times, processor if wait is None else ())
