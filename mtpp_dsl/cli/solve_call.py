"""Hold the arguments of ``mtpp solve``, as given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SolveCall"]


@dataclass(frozen=True)
class SolveCall:
    """The arguments of ``mtpp solve``, as given."""

    spec: Path
    define: list[str]
    scenario: str | None
    include: list[Path]
    method: str
    solver: str
    time_limit: str
    gap: str
    threads: int | None
    scheduler: str | None
    seed: int
    start: Path | None
    solver_option: list[str]
    coarsen: str | None
    channels: int | None
    module_time_limit: str | None
    module_method: str | None
    policy: Path | None
    target: str | None
    json: Path | None
    checkpoint: Path | None
    write_model: Path | None
    trace: Path | None
    gantt: Path | None
    html: Path | None
    what_if: str | None
    pareto: str | None
    points: int | None
    plot: list[str]
    microbatches: int | None
    sweep: list[str]
    db: Path | None
    quiet: bool
    verbose: bool
