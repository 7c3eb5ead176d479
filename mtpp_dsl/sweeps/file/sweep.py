"""Hold what a sweep file says, as data: problems, methods and limits, before they are multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mtpp_dsl.sweeps.file.run import Scalar

__all__ = ["LEFT_OPEN", "MethodEntry", "ProblemEntry", "Settings", "Sweep"]


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
        said = {name: value for name, value in vars(self).items() if value is not None}
        return replace(others, **said)


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
