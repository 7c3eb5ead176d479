"""Statements to a :class:`~mtpp_dsl.core.problem.problem.Problem`, with every complaint collected."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from mtpp_dsl.core.base.files import Folders, folders_of, hashing
from mtpp_dsl.core.base.interpreter import uncollected
from mtpp_dsl.core.base.spec_limits import check_table
from mtpp_dsl.core.base.units import NONE
from mtpp_dsl.core.errors import ConstraintError, DeviceError, MtppError, SpecError, UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import OneMore
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.lowering.analysis import Analysis
from mtpp_dsl.language.lowering.choosing import all_of, scenarios
from mtpp_dsl.language.lowering.custom import under_target
from mtpp_dsl.language.lowering.idle import (
    free_streams,
    idle_batches,
    idle_memory,
    idle_names,
    idle_reserve,
    idle_tables,
    idle_work,
)
from mtpp_dsl.language.lowering.lower_stages import LoweringStages
from mtpp_dsl.language.lowering.reader import Read, read_source, read_statements
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.parser import MAX_DEPTH
from mtpp_dsl.language.syntax.partial import Broken
from mtpp_dsl.language.syntax.places import Places
from mtpp_dsl.language.syntax.rereading import ParsedBefore
from mtpp_dsl.language.values.definitions import hidden_names
from mtpp_dsl.language.values.origin import origin_of
from mtpp_dsl.language.values.scope import SpecScope

_IF_OR_STATEMENT = re.compile(r"\bif\b|^\s*+[a-z]++", re.MULTILINE)


def load(
    spec: str | os.PathLike[str],
    params: Mapping[str, object] | None = None,
    search: Folders = (),
    graph: Graph | None = None,
    *,
    scenario: str | None = None,
) -> Problem:
    """Read and check a spec; see :func:`analyse` for the arguments.

    Raises:
        SpecError: with every error found, each in its place.
        UsageError: the file is missing or unreadable, or its path empty.
    """
    return _read(spec, search).problem(params, graph=graph, scenario=scenario)


def analyse(
    spec: str | os.PathLike[str] | Source,
    params: Mapping[str, object] | None = None,
    search: Folders = (),
    graph: Graph | None = None,
    texts: Mapping[str | os.PathLike[str], str] | None = None,
    *,
    scenario: str | None = None,
) -> Analysis:
    """Read and check a spec, whatever is wrong with it: nothing that is wrong in its text is raised.

    What does not parse, or has another error, is left out of the checks of the rest: one mistake is one error.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``), or a text that has a name.
        params: values for its ``param`` statements, as ``-D`` gives them.
        search: folders where ``include`` looks after the including file's own.
        graph: takes the place of the spec's graph.
        texts: texts of files by their paths, which count in place of what is on the disk.
        scenario: the name of the spec's scenario that counts.

    Raises:
        UsageError: the file is missing or unreadable, or its path empty.
    """
    by_path = {os.path.realpath(path): text for path, text in (texts or {}).items()}
    return _read(spec, search, by_path).analyse(params, graph=graph, scenario=scenario)


def read(spec: str | os.PathLike[str], search: Folders = (), *, folder: Path | None = None) -> Spec:
    """Read and parse a spec, with what it includes, and give its params no value yet.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``).
        search: folders where ``include`` looks after the including file's own.
        folder: where the paths in a text start from; None is the working folder. A path has its own.

    Raises:
        SpecError: with every error of the syntax, each in its place.
        UsageError: the file is missing or unreadable, or its path empty.
    """
    parsed = _read(spec, search, within=folder)
    if parsed.parsed.diagnostics:
        raise SpecError(parsed.parsed.diagnostics)
    return parsed


def _read(
    spec: str | os.PathLike[str] | Source,
    search: Folders,
    texts: Mapping[str, str] | None = None,
    within: Path | None = None,
) -> Spec:
    """Read and parse a spec, broken or not; paths in a text start from the folder *within*, else the working one."""
    if isinstance(spec, Source):
        source, folder, path = spec, within or Path(), None
    elif isinstance(spec, str) and ("\n" in spec or "{" in spec):
        source, folder, path = Source("<text>", spec), within or Path(), None
    else:
        if not os.fspath(spec):
            raise UsageError("the path of the spec is empty: give a file, or the text of a spec")
        path = Path(spec)
        folder = path.parent
    with hashing() as hashes:
        if path is not None:
            source = read_source(path, str(path), None, texts)
        parsed = Spec.of(source, folder, search, texts)
    return replace(parsed, path=path, hashes={**hashes, **parsed.hashes})


@dataclass(frozen=True, eq=False, repr=False)
class Spec:
    """A spec that was read and parsed once, for problems with different values of its params.

    >>> import mtpp_dsl
    >>> spec = mtpp_dsl.read('''
    ... param k: int
    ... graph from generator chain (nodes = 8)
    ... device d[k]
    ... interconnect shared (bandwidth = 1)
    ... minimize bottleneck
    ... ''')
    >>> [spec.problem(k=k).k for k in (2, 3, 4)]
    [2, 3, 4]

    Attributes:
        source: the text of the spec itself.
        parsed: the statements of the spec and of all that it includes, and what does not parse.
        path: of the spec; None for a text.
        hashes: the SHA-256 of the files that were read, by absolute path.
    """

    source: Source
    parsed: Read
    path: Path | None
    hashes: Mapping[str, str]

    @classmethod
    def of(
        cls,
        source: Source,
        folder: Path,
        search: Folders = (),
        texts: Mapping[str, str] | None = None,
        memories: dict[Path | None, ParsedBefore] | None = None,
    ) -> Spec:
        """Read and parse a text, broken or not, with what it includes.

        Args:
            source: the text.
            folder: where its paths start.
            search: folders where ``include`` looks after the including file's own.
            texts: texts of files by their real paths, which count in place of what is on the disk.
            memories: of the text and of what it includes, so that only statements that have changed are parsed; what
                was read with them before is of no use then.
        """
        with hashing() as hashes:
            try:
                return cls(
                    source, read_statements(source, folder, folders_of(search), texts, memories), source.path, hashes
                )
            except RecursionError:
                return cls(source, Read([], [_too_deep(source)], [], (), [source]), source.path, hashes)

    def __repr__(self) -> str:
        named = ", ".join(self.params) or "none"
        return f"Spec({self.source.name!r}: {len(self.parsed.statements)} statements, params {named})"

    @property
    def params(self) -> tuple[str, ...]:
        """The names of its params."""
        names = [
            statement.name.text
            for statement in all_of(self.parsed.statements)
            if isinstance(statement, tree.ParamStatement)
        ]
        return tuple(dict.fromkeys(names))

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The names of its scenarios."""
        return tuple(scenarios(self.parsed.statements))

    def problem(
        self,
        values: Mapping[str, object] | None = None,
        /,
        *,
        graph: Graph | None = None,
        scenario: str | None = None,
        **params: object,
    ) -> Problem:
        """Return the problem with these values of the params; data files that the spec names are read anew.

        Args:
            values: of params by name, also of those that are called as an argument of this method is.
            graph: takes the place of the spec's graph.
            scenario: the name of the spec's scenario that counts.
            params: values by name: numbers, or text as ``-D`` takes it.

        Raises:
            SpecError: with every error found, each in its place.
        """
        analysis = self.analyse({**(values or {}), **params}, graph=graph, scenario=scenario)
        if analysis.problem is None:
            raise SpecError(analysis.errors)
        return analysis.problem

    def analyse(
        self,
        values: Mapping[str, object] | None = None,
        *,
        graph: Graph | None = None,
        scenario: str | None = None,
        begun: Callable[[SpecScope], None] | None = None,
        one_more: OneMore | None = None,
    ) -> Analysis:
        """Return all that is found with these values of the params, errors and warnings among it.

        Args:
            values: of params by name.
            graph: takes the place of the spec's graph.
            scenario: the name of the spec's scenario that counts.
            begun: is given the scope before it is filled: by that another thread can stop the reading.
            one_more: a device that is added to those of the spec, before objectives and constraints are read.

        Raises:
            Stopped: the scope was told to stop.
            Refused: nothing says what would join the device that is added to the others.
        """
        parsed = self.parsed
        with hashing() as hashes, uncollected():
            hashes.update(self.hashes)
            given = dict(values or {})
            more = parsed.broken, scenario, parsed.included, one_more
            lowering = Lowering(self.source, parsed.statements, given, self.path, graph, hashes, *more)
            if begun is not None:
                begun(lowering.scope)
            try:
                problem = lowering.run(sound=not parsed.diagnostics)
            except RecursionError:
                problem = None
                lowering.findings.wrong.append(_too_deep(self.source))
        diagnostics = [*parsed.diagnostics, *lowering.wrong, *lowering.warnings]
        of = self.source, parsed.sources, parsed.own, lowering.scope
        return Analysis.of(*of, diagnostics, problem, replace(lowering.places, sources=tuple(parsed.sources)))


def _too_deep(source: Source) -> Diagnostic:
    """Return the message for a text that is nested too deeply, at the first long chain of ``if``, if it has one."""
    depth, place = 0, Span(source, 0, 0)
    for match in _IF_OR_STATEMENT.finditer(source.text):
        depth = depth + 1 if match[0] == "if" else 0
        if depth > MAX_DEPTH:
            place = Span(source, match.start(), match.end())
            break
    return Diagnostic("the spec is nested too deeply", place, code="MTPP-E901")


def _inside(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.stop <= outer.stop


class Lowering(LoweringStages):
    """Goes through the kinds of statements in the order in which they depend on each other.

    What is wrong in one stage does not end the run: the later ones check what does not depend on it.

    Attributes:
        scope: what the names of the spec mean, as far as it could be read.
        wrong: the errors, once :meth:`run` was called.
        warnings: what the spec says to no effect.
    """

    def __init__(
        self,
        source: Source,
        statements: list[tuple[tree.Statement, Path]],
        params: dict[str, object],
        path: Path | None,
        graph: Graph | None,
        hashes: Mapping[str, str],
        broken: Sequence[Broken] = (),
        scenario: str | None = None,
        included: Collection[Path] = (),
        more: OneMore | None = None,
    ) -> None:
        super().__init__(source, statements, params, graph, broken, scenario, included, more)
        self.path, self.hashes = path, hashes

    @property
    def wrong(self) -> list[Diagnostic]:
        """The errors found so far; where units do not agree, params given without one are named first."""
        units = any(str(NONE) in diagnostic.message for diagnostic in self.findings.wrong)
        plain = [Diagnostic(message, code="MTPP-E213") for message in self.scope.remarks.plain if units]
        return [*plain, *self.findings.wrong]

    @property
    def places(self) -> Places:
        """The places in the spec of the constraints, the objectives and the statements that were read."""
        counting = [statement for statement, _ in self.of(tree.ObjectiveStatement)]
        asked = [next((s.span for s in counting if _inside(one.span, s.span)), one.span) for one in self.asked]
        stated = {constraint: tuple(spans) for constraint, spans in self.stated.items()}
        statements = tuple(statement for statement, _ in self.statements)
        return Places(statements, MappingProxyType(stated), tuple(asked))

    def run(self, *, sound: bool = True) -> Problem | None:
        """Return the problem, or None where something is wrong (see ``wrong``), or the text was not *sound* before."""
        try:
            if self.read() and sound:
                return self.created()
            self.warnings += self.scope.remarks.warnings
            self.warnings += idle_names([statement for statement, _ in self.statements], self.source)
            return None
        except SpecError as error:  # one that ends the run, such as the last of as many as one run reports
            known = set(map(id, self.findings.wrong))
            self.findings.wrong += [diagnostic for diagnostic in error.diagnostics if id(diagnostic) not in known]
            return None

    def created(self) -> Problem | None:
        """Return the problem that the stages have read, with the warnings of what has no effect in it."""
        assert self.objective is not None
        assert self.joined is not None
        graph, devices = self.graph, self.devices
        self.warn()
        try:
            check_table("the times of nodes on devices", (graph.n, "nodes"), (len(devices), "devices"))
            problem = Problem.create(
                graph,
                devices,
                self.joined,
                [asked.objective for asked in self.asked],
                self.constraints,
                time_unit=self.scope.units.time,
                origin=origin_of(self.source, self.path, self.scope, self.hashes, self.scenario),
                warnings=[str(warning) for warning in self.warnings],
            )
        except MtppError as error:
            place = self.place_of(error, self.objective.batch is not None)
            self.findings.add(Diagnostic(str(error), place, code="MTPP-E511"))
            return None
        further = problem.warnings[len(self.warnings) :]
        last = self.last(self.of(tree.TargetStatement), "the target")
        limited = problem if last is None else self.findings.attempt(under_target, problem, last[0], self.scope)
        if limited is None or self.findings.failed:
            return None
        problem = limited
        self.warnings += [
            Diagnostic(message, self.place_in(message), "warning", code="MTPP-W501") for message in further
        ]
        return problem

    def warn(self) -> None:
        """Warn of what the spec says to no effect, each in its place."""
        assert self.objective is not None
        assert self.joined is not None
        statements = [statement for statement, _ in self.statements]
        memory = self.memory.first, self.memory.place
        self.warnings += [
            *self.scope.remarks.warnings,
            *hidden_names(statements, self.scope),
            *idle_names(statements, self.source),
            *(() if self.replaced is not None else idle_work(self.graph, statements)),
            *(
                idle_memory(self.graph, self.devices, self.joined, self.constraints, statements, memory)
                if not self.of(tree.TargetStatement)
                else ()
            ),
            *idle_reserve(self.graph, self.devices, self.joined, self.constraints, statements),
            *self.placed(free_streams(self.devices, self.joined, self.constraints), tree.InterconnectStatement),
            *self.placed(
                idle_batches(self.objective, self.devices, self.first_batch, self.graph), tree.DeviceStatement
            ),
            *self.placed(idle_tables(self.graph, self.devices, self.left_out), tree.GraphFile),
        ]

    def placed(self, warnings: Iterable[Diagnostic], kind: type[tree.Statement]) -> Iterator[Diagnostic]:
        """Yield warnings, those without a place with that of the last statement of a kind."""
        statements = self.of(kind)
        for warning in warnings:
            span = warning.span or (statements[-1][0].span if statements else None)
            yield replace(warning, span=span)

    def place_in(self, message: str) -> Span | None:
        """Return the place of the device that a warning names, or else of the objective."""
        named = re.match(r"device '([^'\[]+)", message)
        devices = [s.span for s, _ in self.of(tree.DeviceStatement) if named is not None and s.name.text == named[1]]
        spans = devices or [s.span for s, _ in self.of(tree.ObjectiveStatement)]
        return spans[-1] if spans else None

    def place_of(self, error: MtppError, batched: bool) -> Span:
        """Return the constraint or device that an error is about, or the objective, or the beginning of the spec."""
        if isinstance(error, DeviceError):
            family = error.device.partition("[")[0]
            devices = [s.span for s, _ in self.of(tree.DeviceStatement) if s.name.text == family]
            return devices[-1] if devices else Span(self.source, 0, 0)
        place = error.place if isinstance(error, ConstraintError) else ""
        constraints = (tree.ConstraintStatement, tree.LabelledConstraint)
        spans = [s.span for s, _ in self.statements if isinstance(s, constraints) and s.span.place == place]
        spans += [s.span for s, _ in self.of(tree.ObjectiveStatement) if batched][-1:]
        return spans[0] if spans else Span(self.source, 0, 0)
