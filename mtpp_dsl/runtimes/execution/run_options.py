"""State how a split is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.runtimes.execution.clocks import Clock


@dataclass(frozen=True)
class RunOptions:
    """How a split is run.

    Attributes:
        processes: "1": one process does everything; "stages": each stage has one.
        microbatches: how many inputs.
        repeats: how often, after a run that warms up.
        seed: of weights and inputs.
        threads: of each process.
        clock: see :data:`mtpp_dsl.runtimes.execution.clocks.CLOCKS`.
        symbols: sizes in place of those of the plan.
        inputs: arrays in place of random ones, by the name of the input; each of one microbatch.
        optimise: let onnxruntime fuse operators.
        time_limit: seconds; None for none.
    """

    processes: Literal["1", "stages"] = "1"
    microbatches: int = 2
    repeats: int = 5
    seed: int = 0
    threads: int = 1
    clock: Clock = "wall"
    symbols: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    optimise: bool = False
    time_limit: float | None = None


def sizes_with(planned: Mapping[str, int], given: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of a plan's graph with those that are *given* in their place.

    Raises:
        UsageError: one is given that the graph does not have.
    """
    refuse_unknown("--size", given, planned)
    return {**planned, **given}


def refuse_unknown(flag: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse names that an option gives and the model does not have.

    Raises:
        UsageError: there is such a one.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        what = f"the model has {', '.join(known)}" if known else "the model has none"
        raise UsageError(f"{flag}: there is no {unknown[0]!r}{did_you_mean(unknown[0], known)} ({what})")
