"""Hold what a sweep file says, as data: problems, methods and limits, before they are multiplied."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.file.run import Run, Scalar

MAX_PARTS = 1_000_000


@dataclass(frozen=True)
class Settings:
    """Limits and seeds, of which each may be left open: None, or for times and memory no number at all.

    Attributes:
        seeds: of which each makes a run.
        time_limit: seconds of a run; ``inf`` for none.
        memory_limit: bytes of a run; ``inf`` for none.
        gap: the share at which a method may stop.
        threads: of a run.
    """

    seeds: tuple[int, ...] | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    gap: float | None = None
    threads: int | None = None

    def over(self, others: Settings) -> Settings:
        """Return these, with those of *others* where these leave something open."""
        own = {name: value for name, value in vars(self).items() if value is not None}
        return replace(others, **own)


LEFT_OPEN = Settings()


@dataclass(frozen=True)
class MethodEntry:
    """A method of a sweep with what it is given.

    Attributes:
        name: of the method or formulation.
        label: what tables call it; unique in the sweep.
        options: arguments of its class.
        solvers: of which each makes a run; empty for one that takes none.
        solver_options: passed through to the solver.
        coarsen: fusion rules, by name or by path; "" for none.
        start: path of a plan to start from, in which the names of a problem may stand; "" for none.
        settings: limits of its own.
        seeded: whether it takes a seed.
        files: names of the options that are paths of files.
    """

    name: str
    label: str
    options: Mapping[str, Scalar] = field(default_factory=dict)
    solvers: tuple[str, ...] = ()
    solver_options: Mapping[str, Scalar] = field(default_factory=dict)
    coarsen: str = ""
    start: str = ""
    settings: Settings = LEFT_OPEN
    seeded: bool = True
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProblemEntry:
    """Problems of a sweep that one entry of the file describes.

    Attributes:
        specs: globs of files, seen from the sweep's folder; empty for a text.
        text: a spec in place; "" for files.
        stem: what ``{stem}`` in names stands for where there is no file.
        params: values of params, of which each makes a problem.
        scenarios: of which each makes a problem; "" is none.
        name: of a problem, with ``{stem}``, ``{scenario}``, ``{group}`` and names of params; "" for one made of these.
        group: for tables; "" for none.
        methods: labels of the methods that solve these; None for all.
        missing: what is done where a file is not there: ``error``, or ``skip`` to leave the problem out.
        settings: limits of their own.
        place: of the entry in the file, for messages.
    """

    specs: tuple[str, ...] = ()
    text: str = ""
    stem: str = ""
    params: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    scenarios: tuple[str, ...] = ("",)
    name: str = ""
    group: str = ""
    methods: tuple[str, ...] | None = None
    missing: str = "error"
    settings: Settings = LEFT_OPEN
    place: str = ""


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file describes it.

    Attributes:
        path: of its file; None for one made of arguments.
        name: what it calls itself.
        summary: one line about it.
        problems: in the order of the file.
        methods: in the order of the file.
        settings: limits of all runs that say nothing else.
        size: the name of the size that it was read at; "" for the file as it stands.
        sizes: the names of the sizes that its file has.
        folder: where relative paths start from.
        data: the folder that ``${MTPP_DATA}`` stands for; "" where there is none.
    """

    path: Path | None
    name: str
    summary: str
    problems: tuple[ProblemEntry, ...]
    methods: tuple[MethodEntry, ...]
    settings: Settings
    size: str = ""
    sizes: tuple[str, ...] = ()
    folder: Path = Path()
    data: str = ""

    @property
    def database(self) -> Path | None:
        """Where its results are kept unless told otherwise: beside its file."""
        return None if self.path is None else self.path.with_suffix(".sqlite")


def with_time_limit(sweep: Sweep, seconds: float | None) -> Sweep:
    """Return a sweep of which every run has this time limit, whatever it says itself; None is no limit.

    Raises:
        UsageError: it is no time that a run may take.
    """
    limit = inf if seconds is None else seconds
    if limit <= 0:
        raise UsageError(f"a run of {limit:g} s does nothing: give it some time")
    return replace(
        sweep,
        settings=replace(sweep.settings, time_limit=limit),
        problems=tuple(replace(p, settings=replace(p.settings, time_limit=limit)) for p in sweep.problems),
        methods=tuple(replace(m, settings=replace(m.settings, time_limit=limit)) for m in sweep.methods),
    )


def parts_of(text: str) -> tuple[int, int]:
    """Return which part of how many a shard is.

    >>> parts_of("3/40")
    (3, 40)

    Raises:
        UsageError: it is invalid.
    """
    match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text.strip())
    number, count = (int(match[1]), int(match[2])) if match is not None else (0, 0)
    if not 1 <= number <= count <= MAX_PARTS:
        raise UsageError(f"{text!r} is no part of a sweep: write 3/40 for the third of 40")
    return number, count


def shard_of(runs: Sequence[Run], number: int, count: int) -> list[Run]:
    """Return one of *count* parts of a sweep, from 1, in the order of the runs.

    Runs are dealt out by their keys, so that no part gets all runs of a slow method. The parts are disjoint, together
    they are the sweep, and they are the same on every machine.
    """
    dealt = {run.key for run in sorted(runs, key=lambda run: run.key)[number - 1 :: count]}
    return [run for run in runs if run.key in dealt]
