"""A sweep to its runs: problems by methods by solvers by seeds, each with its key."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, prod
from pathlib import Path, PurePosixPath
from typing import Any

from mtpp_dsl.core.errors import SpecError, UsageError, did_you_mean
from mtpp_dsl.language.lowering.lower import Spec
from mtpp_dsl.language.lowering.lower import read as read_spec
from mtpp_dsl.sweeps.file.entries import filled
from mtpp_dsl.sweeps.file.keys import coarsen_told, key_of, options_told, start_told
from mtpp_dsl.sweeps.file.problem_files import (
    Absent,
    Hashes,
    declared,
    fingerprint,
    path_params,
    substituted,
    values_of,
)
from mtpp_dsl.sweeps.file.run import Run, Scalar
from mtpp_dsl.sweeps.file.sweep import MethodEntry, ProblemEntry, Settings, Sweep

__all__ = ["expand"]

MAX_RUNS = 250_000
MAX_NAME = 200
MAX_SAID = 4
"""So many problems that are left out are named."""
USUAL = Settings(seeds=(0,), time_limit=60.0, memory_limit=inf, gap=1e-6, threads=1)
"""What holds of a run where the sweep says nothing."""


def expand(sweep: Sweep) -> list[Run]:
    """Return the runs of a sweep, in the order of its file: problem by problem, method by method, seed by seed.

    Each spec is read and hashed once. Runs with the same key are one run.

    Raises:
        SpecError: a spec does not parse.
        UsageError: a file is missing, two problems have one name, or there are more than 250,000 runs.
    """
    return Expansion(sweep).runs()


@dataclass(frozen=True)
class _Problem:
    """A problem of a sweep: a spec with values of its params.

    Attributes:
        entry: of the sweep file that it is of.
        name: unique in the sweep.
        spec: path from the folder of the sweep, or text.
        sha256: of all that it is read from.
        params: values of its params.
        files: names of those that are paths of files that the spec reads, of which the contents count.
        scenario: "" for none.
        words: what stands for names in braces.
    """

    entry: ProblemEntry
    name: str
    spec: str
    sha256: str
    params: Mapping[str, Scalar]
    files: frozenset[str]
    scenario: str
    words: Mapping[str, Scalar]


class Expansion:
    """The expansion of one sweep: specs and files that it has read are kept.

    Args:
        sweep: what is expanded.

    Attributes:
        left_out: the problems whose files are not there, where the sweep says ``missing = "skip"``.
    """

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self.left_out: list[str] = []
        self._hashes = Hashes()
        self._digests: dict[tuple[str, frozenset[tuple[str, Scalar]]], str] = {}

    @property
    def left_out_note(self) -> str:
        """Which problems are left out, the first few by name; "" if none is."""
        if not self.left_out:
            return ""
        more = len(self.left_out) - MAX_SAID
        names = [*self.left_out[:MAX_SAID], *([f"{more} more"] if more > 0 else [])]
        return f"left out, as their files are not there: {', '.join(names)}"

    def runs(self) -> list[Run]:
        """Return the runs; see :func:`expand`."""
        runs: dict[str, Run] = {}
        places: dict[str, str] = {}
        for entry in self.sweep.problems:
            specs = self._specs(entry)
            methods = self._methods(entry)
            self._check_count(entry, len(specs), methods, len(runs))
            for problem in itertools.chain.from_iterable(self._problems(entry, spec) for spec in specs):
                if problem.name in places:
                    raise UsageError(
                        f"{entry.place}: two problems are called {problem.name!r}, the other one by "
                        f'{places[problem.name]}: give them names of their own, such as name = "{{stem}}-…"'
                    )
                places[problem.name] = entry.place
                for method in methods:
                    for run in self._runs_of(problem, method):
                        runs.setdefault(run.key, run)
        return list(runs.values())

    def _specs(self, entry: ProblemEntry) -> list[FoundSpec]:
        """Return the specs of an entry; none where they are not there and may be left out."""
        try:
            return found_specs(entry, self.sweep.folder, self.sweep.data)
        except Absent:
            if entry.missing != "skip":
                raise
            self.left_out.append(", ".join(entry.specs))
            return []

    def _methods(self, entry: ProblemEntry) -> list[MethodEntry]:
        return [method for method in self.sweep.methods if entry.methods is None or method.label in entry.methods]

    def _settings(self, entry: ProblemEntry, method: MethodEntry) -> Settings:
        return method.settings.over(entry.settings).over(self.sweep.settings).over(USUAL)

    def _check_count(self, entry: ProblemEntry, specs: int, methods: list[MethodEntry], before: int) -> None:
        """Raise UsageError where an entry makes more runs than a sweep may have."""
        of_methods = sum(
            max(1, len(method.solvers)) * (len(self._settings(entry, method).seeds or (0,)) if method.seeded else 1)
            for method in methods
        )
        count = specs * prod(map(len, entry.params.values())) * len(entry.scenarios) * of_methods
        if before + count > MAX_RUNS:
            raise UsageError(f"{entry.place}: this makes {count:,} runs; a sweep has at most {MAX_RUNS:,}")

    def _problems(self, entry: ProblemEntry, source: FoundSpec) -> Iterator[_Problem]:
        """Yield the problems of a spec: one for all values of params and scenarios."""
        folder, data = self.sweep.folder, self.sweep.data
        spec = _read_text(entry, source.spec, folder) if entry.text else read_spec(source.path)
        _check_known(entry, spec, source.shown)
        files = path_params(spec)
        varied = [name for name, values in entry.params.items() if len(values) > 1]
        for values in itertools.product(*entry.params.values()):
            params = dict(zip(entry.params, values, strict=True))
            shown = {name: Path(str(value)).stem if name in files else value for name, value in params.items()}
            there = entry.missing != "skip" or all(self._is_there(params[name]) for name in params if name in files)
            for scenario in entry.scenarios:
                words = {**source.words, "scenario": scenario, "group": entry.group, **shown}
                called = _name(entry, words, [f"{name}={shown[name]}" for name in varied])
                if not there:
                    self.left_out.append(called)
                    continue
                yield _Problem(
                    entry=entry,
                    name=called,
                    spec=source.spec,
                    sha256=self._sha256(source, spec, values_of(spec, params, str(folder), data), scenario, files),
                    params=params,
                    files=files,
                    scenario=scenario,
                    words=words,
                )

    def _is_there(self, value: Scalar) -> bool:
        """Return whether there is a file that a param names."""
        try:
            return (self.sweep.folder / substituted(str(value), self.sweep.data)).is_file()
        except Absent:
            return False

    def _sha256(
        self, source: FoundSpec, spec: Spec, values: Mapping[str, Scalar], scenario: str, files: frozenset[str]
    ) -> str:
        """Return the hash of what a problem is read from, computed once for the same files."""
        known = source.spec, frozenset((name, value) for name, value in values.items() if name in files)
        if known in self._digests:
            return self._digests[known]
        made = fingerprint(spec, values, scenario, self._hashes)
        if made.problem is None:  # else the files may depend on any of the values
            self._digests[known] = made.digest
        return made.digest

    def _runs_of(self, problem: _Problem, method: MethodEntry) -> Iterator[Run]:
        """Yield the runs of a problem by a method."""
        sweep = self.sweep
        settings = self._settings(problem.entry, method)
        try:
            start, started = self._start(problem, method)
        except Absent:
            if problem.entry.missing != "skip":
                raise
            self.left_out.append(f"{problem.name} by {method.label}")
            return
        options, coarsen = self._options(method), coarsen_told(method.coarsen, sweep.folder, self._hashes)
        limits: dict[str, Any] = {
            "time_limit": None if settings.time_limit == inf else settings.time_limit,
            "memory_limit": None if settings.memory_limit == inf else settings.memory_limit,
            "gap": settings.gap,
            "threads": settings.threads,
        }
        seeds = settings.seeds or (0,)
        for solver in method.solvers or ("",):
            for seed in seeds if method.seeded else (0,):
                run = Run(
                    key="",
                    sweep=sweep.name,
                    problem=problem.name,
                    group=problem.entry.group,
                    spec=problem.spec,
                    spec_sha256=problem.sha256,
                    params=problem.params,
                    scenario=problem.scenario,
                    method=method.name,
                    label=f"{method.label}, {solver}" if len(method.solvers) > 1 else method.label,
                    options=method.options,
                    solver=solver,
                    solver_options=method.solver_options,
                    coarsen=method.coarsen,
                    start=start,
                    seed=seed,
                    folder=str(sweep.folder),
                    data=sweep.data,
                    **limits,
                )
                yield replace(run, key=key_of(run, problem.files, options, coarsen, started))

    def _start(self, problem: _Problem, method: MethodEntry) -> tuple[str, str]:
        """Return the path of the plan that a method starts from for a problem, and its hash; "" for none."""
        if not method.start:
            return "", ""
        path = filled(method.start, problem.words)
        sha = start_told(path, self.sweep.folder, self.sweep.data, self._hashes)
        if not sha:
            raise Absent(f"method {method.label!r} starts from {path}, for problem {problem.name!r}: no such file")
        return path, sha

    def _options(self, method: MethodEntry) -> Mapping[str, Scalar]:
        """Return what the key says of a method's options: of a file its hash.

        Raises:
            UsageError: a file is not there.
        """
        options = options_told(method.options, method.files, self.sweep.folder, self._hashes)
        for name in method.files:
            if not options[name]:
                raise UsageError(f"method {method.label!r}: {name} = {method.options[name]}: there is no such file")
        return options


def _read_text(entry: ProblemEntry, text: str, folder: Path) -> Spec:
    """Return the spec that a sweep file has as a text; mistakes in it are said with the place of the problem."""
    try:
        return read_spec(text, folder=folder)
    except SpecError as error:
        note = f"<text> is of the problem at {entry.place}"
        raise SpecError([replace(one, notes=(*one.notes, note)) for one in error.diagnostics]) from None


def _name(entry: ProblemEntry, words: Mapping[str, Scalar], varied: list[str]) -> str:
    """Return the name of a problem.

    Raises:
        UsageError: it is empty, or too long.
    """
    name = (
        filled(entry.name, words)
        if entry.name
        else "-".join(part for part in (str(words["stem"]), *varied, str(words["scenario"])) if part)
    )
    if not name.strip() or len(name) > MAX_NAME:
        raise UsageError(f"{entry.place}: a name has from 1 to {MAX_NAME} characters, not {len(name)}: {name[:40]!r}")
    return name


def _check_known(entry: ProblemEntry, spec: Spec, shown: str) -> None:
    """Raise UsageError where a spec has no such param or scenario."""
    for what, asked, known in (("param", entry.params, spec.params), ("scenario", entry.scenarios, spec.scenarios)):
        for name in asked:
            if name and declared(name) not in known:
                there = f" (it has: {', '.join(known)})" if known else " (it has none)"
                raise UsageError(f"{entry.place}: {shown} has no {what} {name!r}{did_you_mean(name, known)}{there}")


# The files that the globs of a sweep stand for.

MAX_FILES = 100_000
_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class FoundSpec:
    """A spec of a sweep.

    Attributes:
        spec: its path from the folder of the sweep, with slashes, or its text.
        path: where it is; the folder of the sweep for a text.
        words: what ``{stem}`` and ``{folder}`` stand for in names.
        shown: what messages call it.
    """

    spec: str
    path: Path
    words: Mapping[str, Scalar]
    shown: str


def found_specs(entry: ProblemEntry, folder: Path, data: str) -> list[FoundSpec]:
    """Return the specs of an entry, each once, in the order of its globs and then of their names.

    Raises:
        Absent: a glob stands for nothing.
        UsageError: a glob stands for too much, for a name of several lines, or begins with ``**`` at the root.
    """
    if entry.text:
        return [FoundSpec(entry.text, folder, {"stem": entry.stem, "folder": folder.name}, "its text")]
    specs: dict[str, FoundSpec] = {}
    for pattern in entry.specs:
        for spec in _matching(pattern, folder, data, entry.place):
            if "\n" in spec:  # which tells a text from a path
                raise UsageError(f"{entry.place}: {spec!r:.80}: the name of a spec in a sweep is one line")
            path = Path(os.path.normpath(folder / substituted(spec, data)))
            specs.setdefault(spec, FoundSpec(spec, path, {"stem": path.stem, "folder": path.parent.name}, spec))
    return list(specs.values())


def _matching(pattern: str, folder: Path, data: str, place: str) -> list[str]:
    """Return the paths that a glob stands for, written as the glob is."""
    parts = PurePosixPath(pattern).parts
    fixed = PurePosixPath(*itertools.takewhile(lambda part: not _SIGNS.search(part), parts))
    rest = parts[len(fixed.parts) :]
    try:
        base = folder / substituted(str(fixed), data)
    except Absent as error:
        raise Absent(f"{place}: {error}") from None
    if not rest:
        if not base.is_file():
            raise Absent(f"{place}: there is no file {pattern}")
        return [pattern]
    if base == Path(base.anchor) and "**" in rest:
        raise UsageError(f"{place}: {pattern}: '**' does not begin at the root: name a folder")
    try:
        paths = [path for path in itertools.islice(base.glob("/".join(rest)), MAX_FILES + 1) if path.is_file()]
    except (ValueError, NotImplementedError, OSError) as error:
        raise UsageError(f"{place}: {pattern}: {error}") from None
    if not paths:
        raise Absent(f"{place}: there is no file like {pattern}")
    if len(paths) > MAX_FILES:
        raise UsageError(f"{place}: {pattern} stands for more than {MAX_FILES:,} files")
    return sorted((fixed / path.relative_to(base).as_posix()).as_posix() for path in paths)
