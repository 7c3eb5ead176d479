"""Objectives: what is optimised, and the cost behind it that methods minimise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtpp_dsl.base.shown import Short

__all__ = ["OBJECTIVES", "Objective"]

OBJECTIVES: dict[str, tuple[str, ...]] = {
    "bottleneck": ("parts",),
    "makespan": (),
    "throughput": ("batch", "parts", "chunk", "transfer"),
}
"""What can be optimised, with the options of each."""


@dataclass(frozen=True, repr=False)
class Objective(Short):
    """What is optimised.

    A plan's ``cost``, the minimised quantity behind every objective, is its bottleneck, the sum of the
    bottlenecks of its two parts, or its makespan (in time); ``value`` turns a cost into what the user asked for.

    With ``parts = "separate"`` the forward pass of a batch comes before its backward pass, as in GPipe's schedule, and
    the cost is the largest forward load plus the largest backward load (tarnawski2020, 5.3).

    Attributes:
        name: what is optimised.
        batch: the number of inputs of a batched throughput (ghannane2023, 3.2), which is ``batch / makespan``.
        parts: whether both parts of a training graph count as one.
        chunk: inputs that stay together throughout a batched plan; None for as many as the batch sizes allow.
        transfer: whether what an edge carries takes the same time for every batch, as in ghannane2023, (3.3), or
            grows with the inputs that both batches share.
    """

    name: Literal["bottleneck", "makespan", "throughput"]
    batch: int | None = None
    parts: Literal["together", "separate"] = "together"
    chunk: int | None = None
    transfer: Literal["per-batch", "per-input"] = "per-batch"

    @property
    def sense(self) -> Literal["minimize", "maximize"]:
        """Whether a larger value is better."""
        return "maximize" if self.name == "throughput" else "minimize"

    @property
    def quantity(self) -> Literal["bottleneck", "sum of bottlenecks", "makespan"]:
        """The cost that is minimised."""
        if self.name == "makespan" or self.batch is not None:
            return "makespan"
        return "bottleneck" if self.parts == "together" else "sum of bottlenecks"

    def __str__(self) -> str:
        batch = "" if self.batch is None else f" of a batch of {self.batch}"
        parts = " (parts = separate)" if self.parts == "separate" else ""
        return f"{self.sense} {self.name}{batch}{parts}"

    def value(self, cost: float) -> float:
        """Return the objective's value of a plan (or a bound) whose cost is *cost*."""
        if self.name != "throughput":
            return cost
        return (self.batch or 1) / cost if cost > 0 else float("inf")

    def unit(self, time_unit: str) -> str:
        """Return the unit of the value: "s", "1/s" or ""."""
        return f"1/{time_unit}" if self.name == "throughput" and time_unit else time_unit
