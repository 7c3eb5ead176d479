"""Report what running a split found: whether the results are the same, and measured beside predicted times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.clocks import TimeSpread, spread
from mtpp_dsl.runtimes.execution.plan_parts import ModelPart

__all__ = ["RunReport", "compare", "notes_of", "rows_of"]


@dataclass(frozen=True)
class Comparison:
    """How the results of the split differ from those of the whole model.

    Attributes:
        equal: each number is the same, bit for bit (two that are no numbers are the same).
        largest: the largest difference.
        relative: that difference over the largest result of its tensor, in absolute value.
        deviation: the standard deviation of the whole model's results, the least of all tensors with several numbers:
            where it is 0, equal results prove nothing.
        values: how many numbers were compared.
    """

    equal: bool
    largest: float
    relative: float
    deviation: float
    values: int

    @property
    def telling(self) -> bool:
        """Whether the results vary, so that their comparison means something."""
        return self.values > 0 and self.deviation > 0


def compare(split: Sequence[Any], whole: Sequence[Any]) -> Comparison:
    """Compare arrays one by one.

    Raises:
        UsageError: there are not as many of them, or shapes or types differ.
    """
    if len(split) != len(whole):
        raise UsageError(f"the split returns {len(split)} tensors, and the whole model {len(whole)}")
    equal, largest, relative, values = True, 0.0, 0.0, 0
    deviations = []
    for i, (one, other) in enumerate(zip(map(np.asarray, split), map(np.asarray, whole), strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            shapes = f"{one.dtype}{list(one.shape)}, and the whole model {other.dtype}{list(other.shape)}"
            raise UsageError(f"result {i} of the split is {shapes}")
        values += one.size
        equal = equal and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        if not one.size or one.dtype.kind not in "biufc":
            continue
        numbers = other.astype(np.float64)
        gap = np.abs(one.astype(np.float64) - numbers)
        gap[(one == other) | (np.isnan(gap) & np.isnan(numbers) & np.isnan(one.astype(np.float64)))] = 0.0
        worst = float(np.max(np.where(np.isnan(gap), np.inf, gap)))
        finite = numbers[np.isfinite(numbers)]
        scale = float(np.max(np.abs(finite))) if finite.size else 0.0
        largest = max(largest, worst)
        relative = max(relative, worst / scale if scale else worst)
        if one.size > 1:
            deviations.append(float(np.std(finite)) if finite.size else 0.0)
    return Comparison(equal, largest, relative, min(deviations, default=0.0), values)


TOLERANCE = 1e-5
"""Results that differ by more, over the largest of them, are not those of the model."""


@dataclass(frozen=True)
class StageRow:
    """Statements about a device.

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
        comparison = self.comparison
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
                "equal": comparison.equal,
                "largest_difference": comparison.largest,
                "relative_difference": comparison.relative,
                "standard_deviation": comparison.deviation,
                "numbers": comparison.values,
            },
            "unit": "s",
            "stages": [row.to_json() for row in self.stages],
            "machine": dict(self.machine),
            "notes": list(self.notes),
        }


def rows_of(problem: Problem, parts: Sequence[ModelPart], times: Sequence[Sequence[float]]) -> tuple[StageRow, ...]:
    """Return a row for each device; *times* are those of each part, run for run."""
    stage_rows = []
    for d in dict.fromkeys(part.device for part in parts):
        own = [i for i, part in enumerate(parts) if part.device == d]
        nodes = np.array(sorted(v for i in own for v in parts[i].nodes), np.int64)
        operators = len({operator for i in own for operator in parts[i].operators})
        sums = [sum(runs) for runs in zip(*(times[i] for i in own), strict=True)]
        predicted = float(problem.time[nodes, d].sum()) if problem.time_unit == "s" else None
        device = problem.devices[d]
        stage_rows.append(StageRow(device.name, device.type, len(nodes), operators, len(own), predicted, spread(sums)))
    return tuple(stage_rows)


def notes_of(
    parts: Sequence[ModelPart], symbols: Mapping[str, int], planned: Mapping[str, int], telling: bool
) -> tuple[str, ...]:
    """Return what the reader of a report should be told."""
    notes = []
    if len({part.device for part in parts}) < len(parts):
        notes.append("the stages wait for each other in a circle: this plan runs in one process, and in no pipeline")
    changed = {name: size for name, size in symbols.items() if planned.get(name) != size}
    if changed:
        run, plan = (", ".join(f"{name} = {of[name]}" for name in changed if name in of) for of in (symbols, planned))
        notes.append(f"run with {run}; the predicted times are for {plan}")
    if not telling:
        notes.append("all results of the model are the same number: that they are equal proves nothing")
    return tuple(notes)
