"""Report what running a split found: whether the results are the same, and measured beside predicted times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.comparison import Comparison
from mtpp_dsl.runtimes.execution.parts import ModelPart
from mtpp_dsl.runtimes.execution.timing import TimeSpread, spread

__all__ = ["TOLERANCE", "RunReport", "StageRow", "notes_of", "rows_of"]

TOLERANCE = 1e-5
"""Results that differ by more, over the largest of them, are not those of the model."""


@dataclass(frozen=True)
class StageRow:
    """What is said of a device.

    Attributes:
        device: its name.
        type: of the device.
        nodes, operators: how many it has.
        parts: how often it begins to work for one input: once in a pipeline.
        predicted: seconds for one input, as the spec says; None where its times have no unit.
        measured: the same on this machine.
    """

    device: str
    type: str
    nodes: int
    operators: int
    parts: int
    predicted: float | None
    measured: TimeSpread

    @property
    def ratio(self) -> float | None:
        """The measured over the predicted time."""
        return self.measured.median / self.predicted if self.predicted else None

    def to_json(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return {
            "device": self.device,
            "type": self.type,
            "nodes": self.nodes,
            "operators": self.operators,
            "parts": self.parts,
            "predicted": self.predicted,
            "measured": {
                "median": self.measured.median,
                "low": self.measured.low,
                "high": self.measured.high,
                "runs": self.measured.runs,
            },
            "ratio": self.ratio,
        }


@dataclass(frozen=True)
class RunReport:
    """What running a split found.

    Attributes:
        backend: "torch" or "onnx".
        model: the file, or ``module:callable``.
        processes: how many ran at once.
        microbatches: how many inputs went through, each of the sizes in *symbols*.
        repeats: how often all of them did, after a run that warms up.
        comparison: of the results with those of the whole model.
        stages: by device, in the order in which they run.
        symbols: the sizes of one input.
        machine: facts about it.
        notes: what the reader should be told.
    """

    backend: str
    model: str
    processes: int
    microbatches: int
    repeats: int
    comparison: Comparison
    stages: tuple[StageRow, ...]
    symbols: Mapping[str, int]
    machine: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether the split computes what the model computes."""
        return self.comparison.equal or self.comparison.relative <= TOLERANCE

    def to_json(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        found = self.comparison
        return {
            "run": 1,
            "backend": self.backend,
            "model": self.model,
            "processes": self.processes,
            "microbatches": self.microbatches,
            "repeats": self.repeats,
            "symbols": dict(self.symbols),
            "results": {
                "same": self.sound,
                "equal": found.equal,
                "largest_difference": found.largest,
                "relative_difference": found.relative,
                "standard_deviation": found.deviation,
                "numbers": found.values,
            },
            "unit": "s",
            "stages": [row.to_json() for row in self.stages],
            "machine": dict(self.machine),
            "notes": list(self.notes),
        }


def rows_of(problem: Problem, parts: Sequence[ModelPart], times: Sequence[Sequence[float]]) -> tuple[StageRow, ...]:
    """Return a row for each device; *times* are those of each part, run for run."""
    found = []
    for d in dict.fromkeys(part.device for part in parts):
        own = [i for i, part in enumerate(parts) if part.device == d]
        nodes = np.array(sorted(v for i in own for v in parts[i].nodes), np.int64)
        operators = len({operator for i in own for operator in parts[i].operators})
        sums = [sum(runs) for runs in zip(*(times[i] for i in own), strict=True)]
        predicted = float(problem.time[nodes, d].sum()) if problem.time_unit == "s" else None
        device = problem.devices[d]
        found.append(StageRow(device.name, device.type, len(nodes), operators, len(own), predicted, spread(sums)))
    return tuple(found)


def notes_of(
    parts: Sequence[ModelPart], symbols: Mapping[str, int], planned: Mapping[str, int], telling: bool
) -> tuple[str, ...]:
    """Return what the reader of a report should be told."""
    found = []
    if len({part.device for part in parts}) < len(parts):
        found.append("the stages wait for each other in a circle: this plan runs in one process, and in no pipeline")
    changed = {name: size for name, size in symbols.items() if planned.get(name) != size}
    if changed:
        run, plan = (", ".join(f"{name} = {of[name]}" for name in changed if name in of) for of in (symbols, planned))
        found.append(f"run with {run}; the predicted times are for {plan}")
    if not telling:
        found.append("all results of the model are the same number: that they are equal proves nothing")
    return tuple(found)
