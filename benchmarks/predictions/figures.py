"""Figures of splits that were run: predicted and measured times, and what the difference is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).with_name("results")
RUNTIMES = ("torch-stages", "accelerate", "llama-cpp")


@dataclass(frozen=True)
class SplitFigures:
    """A split that was predicted and measured.

    Attributes:
        split: whose it is: "mtpp", or the runtime's default.
        places: what is where, in words.
        predicted: seconds, as mtpp says before anything of this split is run.
        measured: seconds of each run.
        factors: what the measured time is of the predicted one, cause by cause: their product is measured / predicted.
        parts: predicted and measured seconds of each part, such as a stage, by its name.
    """

    split: str
    places: str
    predicted: float
    measured: tuple[float, ...]
    factors: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """The median of the measured times."""
        return median(self.measured)

    @property
    def ratio(self) -> float:
        """The measured time over the predicted one."""
        return self.median / self.predicted


@dataclass(frozen=True)
class RuntimeComparison:
    """What running two splits or more in a runtime showed.

    Attributes:
        runtime: one of RUNTIMES.
        what: is measured, in a sentence.
        facts: about machine, versions and what the predictions are made of.
        splits: the first is mtpp's, the second the runtime's default.
        others: how many cores other programs kept busy meanwhile; None where the system does not say.
        skipped: why nothing was measured; "" where something was.
    """

    runtime: str
    what: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    splits: tuple[SplitFigures, ...] = ()
    others: float | None = None
    skipped: str = ""


class Absent(Exception):
    """The runtime is not here; says how to get it."""


def write(comparison: RuntimeComparison, folder: Path = FOLDER) -> None:
    """Write the figures of a runtime."""
    text = json.dumps(asdict(comparison), indent=1)
    (folder / f"{comparison.runtime}.json").write_text(f"{text}\n", encoding="utf-8")


def read(folder: Path = FOLDER) -> list[RuntimeComparison]:
    """Return the figures of the runtimes that there are figures of."""
    paths = [folder / f"{runtime}.json" for runtime in RUNTIMES]
    return [_of(json.loads(path.read_text(encoding="utf-8"))) for path in paths if path.is_file()]


def _of(data: dict[str, Any]) -> RuntimeComparison:
    splits = tuple(
        SplitFigures(
            **one | {"measured": tuple(one["measured"]), "parts": {k: tuple(v) for k, v in one["parts"].items()}}
        )
        for one in data["splits"]
    )
    return RuntimeComparison(**data | {"splits": splits})
