"""Statements to a :class:`~mtpp_dsl.problem.Problem`, with every complaint collected."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from mtpp_dsl.base.files import absolute, hashing
from mtpp_dsl.base.spec_limits import check_table
from mtpp_dsl.base.units import NONE, TIME, format_exact
from mtpp_dsl.constraints import Constraint, Memory
from mtpp_dsl.errors import ConstraintError, DeviceError, MtppError, SpecError
from mtpp_dsl.formats import Workload
from mtpp_dsl.language import tree
from mtpp_dsl.language.expressions import evaluate
from mtpp_dsl.language.idle import idle_memory, idle_names, idle_work
from mtpp_dsl.language.lower_constraints import lower_constraint, lower_labelled
from mtpp_dsl.language.lower_devices import Channel, declare_devices, lower_interconnect, lower_links, memory_units
from mtpp_dsl.language.lower_graph import UnitKeeper, check_word, lower_graph, read_file
from mtpp_dsl.language.lower_objective import lower_objective
from mtpp_dsl.language.lower_times import TimeTables
from mtpp_dsl.language.reader import bind_params, read_source, read_statements
from mtpp_dsl.language.scope import MAX_WRONG, Complaint, Scope
from mtpp_dsl.language.values import Quantity, Value
from mtpp_dsl.language.values import Sequence as Values
from mtpp_dsl.problem import Device, Host, Interconnect, Links, Objective, Origin, Problem, Shared
from mtpp_dsl.problem.graph import Graph
from mtpp_dsl.text.source import Diagnostic, Source, Span

__all__ = ["LANGUAGE_VERSION", "load"]

LANGUAGE_VERSION = 1
MAX_SHOWN = 100
"""Longer lists are told by their length in what results say of params."""

S = TypeVar("S", bound=tree.Statement)
T = TypeVar("T")


def load(
    spec: str | os.PathLike[str],
    params: Mapping[str, object] | None = None,
    search: Sequence[Path] = (),
    graph: Graph | None = None,
) -> Problem:
    """Read and check a spec.

    Args:
        spec: a path, or the text itself (recognised by a newline or a ``{``).
        params: values for its ``param`` statements, as ``-D`` gives them.
        search: folders where ``include`` looks after the including file's own.
        graph: takes the place of the spec's graph.

    Raises:
        SpecError: with every error found, each in its place.
        UsageError: the file is missing or unreadable.
    """
    if isinstance(spec, str) and ("\n" in spec or "{" in spec):
        source, folder, path = Source("<text>", spec), Path(), None
    else:
        path = Path(spec)
        folder = path.parent
    with hashing() as hashes:
        if path is not None:
            source = read_source(path, str(path))
        try:
            statements = read_statements(source, folder, search)
            return _Lowering(source, statements, dict(params or {}), path, graph, hashes).problem()
        except RecursionError:
            raise SpecError([Diagnostic("the spec is nested too deeply", Span(source, 0, 0))]) from None


class _Lowering:
    """Goes through the kinds of statements in the order in which they depend on each other."""

    def __init__(
        self,
        source: Source,
        statements: list[tuple[tree.Statement, Path]],
        params: dict[str, object],
        path: Path | None,
        graph: Graph | None,
        hashes: Mapping[str, str],
    ) -> None:
        self.source, self.path, self.graph, self.hashes = source, path, graph, hashes
        self.statements = statements
        self.given = params
        self.scope = Scope()
        self.wrong: list[Diagnostic] = []
        self.memory, self.times = UnitKeeper("sizes"), UnitKeeper("times")
        self.notes: list[str] = []
        self.left_out: tuple[Device, ...] = ()  # devices of the graph's file, which 'graph from' does not take

    def problem(self) -> Problem:
        """Return the problem; where units do not agree, params given without one are named first."""
        try:
            return self.lowered()
        except SpecError as error:
            units = any(str(NONE) in diagnostic.message for diagnostic in error.diagnostics)
            blamed = [Diagnostic(message) for message in self.scope.plain if units]
            raise SpecError([*blamed, *error.diagnostics]) from None

    def lowered(self) -> Problem:
        self.attempt(self.version)
        self.wrong += bind_params(self.statements, self.given, self.scope)
        self.define_lets()
        self.stop_if_wrong()
        workload, interconnect = self.workload()
        self.stop_if_wrong()
        self.scope.set_graph(workload.graph)
        devices = self.devices(workload.devices)
        self.stop_if_wrong()
        self.scope.set_devices(devices)
        graph = self.batch_times(workload.graph)
        self.stop_if_wrong()
        self.scope.graph = graph
        joined = self.attempt(self.interconnect, interconnect)
        objective = self.attempt(self.objective)
        self.stop_if_wrong()
        assert joined is not None
        assert objective is not None
        for name in self.scope.lets:  # in their order, so that none waits for long chains of others
            self.attempt(evaluate, tree.Name(span=self.scope.lets[name].name.span, name=name), self.scope)
        constraints = self.constraints(objective)
        self.stop_if_wrong()
        self.warn(graph, devices, joined, constraints)
        self.warn_of_free_streams(constraints, joined)
        self.warn_of_idle_batches(objective)
        self.warn_of_idle_tables(graph, devices)
        try:
            check_table("the times of nodes on devices", (graph.n, "nodes"), (len(devices), "devices"))
            return Problem.create(
                graph,
                devices,
                joined,
                objective,
                constraints,
                time_unit=self.scope.time_unit,
                origin=self.origin(),
                warnings=[*workload.warnings, *self.notes],
            )
        except MtppError as error:
            raise SpecError([Diagnostic(str(error), self.place_of(error, objective.batch is not None))]) from None

    # helpers

    def attempt(self, function: Callable[..., T], *arguments: object) -> T | None:
        """Call *function*; a complaint is noted and gives None."""
        try:
            return function(*arguments)
        except Complaint as complaint:
            self.wrong.append(complaint.diagnostic)
            if len(self.wrong) >= MAX_WRONG:
                raise SpecError(self.wrong) from None
            return None

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

    def stop_if_wrong(self) -> None:
        if self.wrong:
            raise SpecError(self.wrong)

    def of(self, kind: type[S]) -> list[tuple[S, Path]]:
        return [(s, folder) for s, folder in self.statements if isinstance(s, kind)]

    def last(self, found: Sequence[tuple[S, Path]], what: str) -> tuple[S, Path] | None:
        """Return the statement that counts: the last one. Two in one file are an error."""
        for (first, _), (second, _) in itertools.pairwise(found):
            if first.span.source is second.span.source:
                self.wrong.append(Diagnostic(f"{what} is already given at {first.span.place}", second.span))
        return found[-1] if found else None

    def missing(self, what: str, example: str) -> Complaint:
        stop = len(self.source.text.rstrip())
        return Complaint(
            f"the spec has no {what}", Span(self.source, max(0, stop - 1), stop), [f"for example: {example}"]
        )

    # the kinds of statements

    def version(self) -> None:
        for statement, _ in self.of(tree.VersionStatement):
            if statement.version.value != LANGUAGE_VERSION:
                span = statement.version.span
                raise Complaint(
                    f"this is language version {LANGUAGE_VERSION}; the spec is written in {span.text}", span
                )

    def define_lets(self) -> None:
        for statement, _ in self.of(tree.LetStatement):
            name = statement.name.text
            self.attempt(check_word, statement.name)
            old = self.scope.lets.get(name)
            if old is not None and old.span.source is statement.span.source:
                self.wrong.append(Diagnostic(f"{name!r} is already defined at {old.span.place}", statement.name.span))
            if name in self.scope.params:
                self.wrong.append(Diagnostic(f"{name!r} is a param already", statement.name.span))
            self.scope.lets[name] = statement

    def workload(self) -> tuple[Workload, Interconnect | None]:
        """Return the graph that counts, with the devices and interconnect that an import brought."""
        imported = self.last(self.of(tree.ImportStatement), "an import")
        graphs = [
            (s, folder)
            for s, folder in self.statements
            if isinstance(s, (tree.GraphBlock, tree.GraphFile, tree.GraphGenerator))
        ]
        graph = self.last(graphs, "the graph")
        brought = Workload(Graph.create([], []))
        if imported is not None:
            brought = self.attempt(self.read_import, *imported) or brought
        elif graph is None and self.graph is None:
            self.wrong.append(self.missing("graph", "graph { node a (work = 1 ms) }").diagnostic)
        if self.graph is not None:
            return Workload(self.graph, brought.devices, brought.interconnect, brought.warnings), brought.interconnect
        if graph is None:
            return brought, brought.interconnect
        own = self.attempt(lower_graph, *graph, self.scope, self.wrong)
        self.left_out = own.devices if own is not None else ()
        found = own.graph if own is not None else brought.graph
        warnings = (*brought.warnings, *(own.warnings if own is not None else ()))
        return Workload(found, brought.devices, brought.interconnect, warnings), brought.interconnect

    def read_import(self, statement: tree.ImportStatement, folder: Path) -> Workload:
        return read_file(statement.path, statement.options, folder, self.scope)

    def devices(self, imported: tuple[Device, ...]) -> tuple[Device, ...]:
        devices = {device.name: device for device in imported}
        self.scope.bases.update(name.partition("[")[0] for name in devices)
        fresh: dict[Source, set[str]] = {}
        for statement, _ in self.of(tree.DeviceStatement):
            declared = fresh.setdefault(statement.span.source, set())
            self.attempt(declare_devices, statement, devices, declared, self.scope, self.memory, self.times)
        if not devices and not self.wrong:
            self.wrong.append(self.missing("device", "device gpu[4] (memory = 16 GiB)").diagnostic)
        for statement, _ in self.of(tree.DeviceStatement)[:1]:
            assert self.scope.graph is not None
            self.attempt(memory_units, self.scope.graph, self.memory, statement.span)
        return tuple(devices.values())

    def batch_times(self, graph: Graph) -> Graph:
        """Return the graph with the times of batches that statements give, in their order."""
        statements = [(s, f) for s, f in self.statements if isinstance(s, (tree.TimeStatement, tree.TimesFile))]
        if not statements:
            return graph
        tables = TimeTables(graph, self.scope, self.times, self.wrong)
        for statement, folder in statements:
            if isinstance(statement, tree.TimeStatement):
                self.attempt(tables.statement, statement)
            else:
                self.attempt(tables.file, statement, folder)
        return tables.result()

    def interconnect(self, imported: Interconnect | None) -> Interconnect:
        graph = self.scope.graph
        assert graph is not None
        found = self.last(self.of(tree.InterconnectStatement), "the interconnect")
        links = [statement for statement, _ in self.of(tree.LinkStatement)]
        if found is None:
            if links and imported is None:
                channel = Channel("links", None, None, False, links[0].span)
            elif imported is not None and not links:
                self.check_batch_times(graph.work_unit in ("s", "FLOP"))
                return imported
            elif imported is not None:
                raise Complaint("say 'interconnect links' to replace what the import brought", links[0].span)
            else:
                raise self.missing("interconnect", "interconnect shared (bandwidth = 8 GiB/s)")
        else:
            channel = lower_interconnect(found[0], self.scope)
        joined, time = lower_links(channel, links, self.scope, graph)
        self.check_times(joined, time == TIME, channel.span)
        self.check_io(joined, channel.span)
        return joined

    def check_times(self, joined: Interconnect, channel_in_seconds: bool, span: Span) -> None:
        """Hold the times of transfers, where there can be any, against the times of nodes."""
        graph = self.scope.graph
        assert graph is not None
        work_in_seconds = graph.work_unit in ("s", "FLOP")
        works = bool(graph.work.any() or graph.times)
        nothing = isinstance(joined, Links) and joined.transfers is None and not joined.bandwidth.any()
        transfers = not nothing and bool(graph.output.any() or graph.sizes.any())
        if works and transfers and work_in_seconds != channel_in_seconds:
            one, two = ("in s", "without a unit") if work_in_seconds else ("without a unit", "in s")
            raise Complaint(
                f"running times are {one}, but transfers take times {two}: all times carry units, or none do", span
            )
        known = works or transfers or channel_in_seconds
        self.check_batch_times((work_in_seconds if works else channel_in_seconds) if known else None)

    def check_batch_times(self, in_seconds: bool | None) -> None:
        """Settle the unit of times, which is that of batches where nothing else has one."""
        of_batches = self.times.dimension
        if in_seconds is not None and of_batches is not None and (of_batches == TIME) != in_seconds:
            raise Complaint(
                f"{self.times.first} is {of_batches}, but other times of the problem are "
                f"{TIME if in_seconds else NONE}: all times carry units, or none do",
                self.times.place,
            )
        self.scope.time_unit = "s" if (of_batches == TIME if in_seconds is None else in_seconds) else ""

    def check_io(self, joined: Interconnect, span: Span) -> None:
        assert self.scope.devices is not None
        free = [device.name for device in self.scope.devices if not device.pays_io]
        if free and not isinstance(joined, Host):
            raise Complaint(
                f"{free[0]} has io = free, which has a meaning only on interconnect host, not on {joined.keyword}; "
                f"declare it again with (io = paid)",
                span,
            )

    def objective(self) -> Objective:
        found = self.last(self.of(tree.ObjectiveStatement), "the objective")
        if found is None:
            raise self.missing("objective", "minimize bottleneck")
        return lower_objective(found[0], self.scope)

    def constraints(self, objective: Objective) -> list[Constraint]:
        found: dict[Constraint, None] = {}  # in their order, each once
        labels: dict[str, tree.LabelledConstraint] = {}
        for statement, _ in self.statements:
            if isinstance(statement, tree.ConstraintStatement):
                new = self.attempt(lambda s=statement: list(lower_constraint(s, self.scope)))
                found.update(dict.fromkeys(new or ()))
                if objective.batch is None and statement.rule.text == "batch":
                    message = f"batch sizes need 'maximize throughput (batch = …)'; to {objective} runs one input"
                    self.wrong.append(Diagnostic(message, statement.span))
            elif isinstance(statement, tree.LabelledConstraint):
                label = statement.label.text
                if label in labels:
                    place = labels[label].span.place
                    self.wrong.append(Diagnostic(f"label {label!r} is already used at {place}", statement.label.span))
                labels[label] = statement
                rows = self.attempt(lambda s=statement: list(lower_labelled(s, self.scope, objective)))
                found.update(dict.fromkeys(rows or ()))
        return list(found)

    def warn(
        self, graph: Graph, devices: tuple[Device, ...], joined: Interconnect, constraints: list[Constraint]
    ) -> None:
        """Warn of what the spec says to no effect, each in its place."""
        statements = [statement for statement, _ in self.statements]
        memory = self.memory.first, self.memory.place
        found = [
            *idle_names(statements, self.source),
            *(() if self.graph is not None else idle_work(graph, statements)),
            *idle_memory(graph, devices, joined, constraints, statements, memory),
        ]
        self.notes += map(str, found)

    def warn_of_free_streams(self, constraints: Sequence[Constraint], joined: Interconnect) -> None:
        streams = isinstance(joined, (Shared, Host)) and joined.overflow
        held = [x.devices for x in constraints if isinstance(x, Memory)]
        assert self.scope.devices is not None
        for d, device in enumerate(self.scope.devices):
            limited = any(devices is None or d in devices for devices in held)
            if streams and device.memory is not None and not device.pays_io and not limited:
                self.notes.append(
                    f"memory of {device.name} has no effect: with io = free the device pays nothing for "
                    f"the parameters that 'overflow = stream' streams; say 'constraint memory on {device.name}'"
                )
                return

    def warn_of_idle_tables(self, graph: Graph, devices: Sequence[Device]) -> None:
        """Warn that the times of a graph's file are by devices that the spec does not have."""
        named = [device.name for device in self.left_out if device.name in graph.times]
        if named and not any({device.name, device.type} & set(graph.times) for device in devices):
            self.notes.append(
                f"the graph has times for {', '.join(named)}, but no device of the spec has such a name: all use those "
                f"of {named[0]}; declare devices of these names, or take the file's with 'import'"
            )

    def warn_of_idle_batches(self, objective: Objective) -> None:
        if objective.batch is not None:
            return
        assert self.scope.devices is not None
        given = [s.span.place for s, _ in self.statements if isinstance(s, (tree.TimeStatement, tree.TimesFile))]
        given += [device.name for device in self.scope.devices if device.fixed or device.overhead]
        if given:
            self.notes.append(
                f"{given[0]}: times of batches have a meaning only for 'maximize throughput (batch = …)'; "
                f"to {objective} uses the work of the nodes"
            )

    def origin(self) -> Origin:
        hashes = dict(self.hashes)
        if self.path is None:
            folder, own = Path(), hashlib.sha256(self.source.text.encode()).hexdigest()
        else:
            folder, own = self.path.parent, hashes.pop(absolute(self.path))
        params = {name: _plain(value) for name, value in self.scope.params.items()}
        files = {_seen_from(folder, path): digest for path, digest in sorted(hashes.items())}
        path = None if self.path is None else str(self.path)
        return Origin(path, own, MappingProxyType(params), self.scope.decimal, MappingProxyType(files))


def _seen_from(folder: Path, path: str) -> str:
    """Return a path as it is seen from a folder, with slashes; by way of links where that is shorter."""
    ends = [(path, absolute(folder)), (os.path.realpath(path), os.path.realpath(folder))]
    try:
        ways = [os.path.relpath(*pair).replace(os.sep, "/") for pair in ends]
    except ValueError:  # another drive
        return path.replace(os.sep, "/")
    return min(ways, key=lambda way: way.count("../"))


def _plain(value: Value, inner: bool = False) -> object:
    if isinstance(value, Quantity):
        return value.value if value.dimension == NONE else format_exact(value.value, value.dimension)
    if isinstance(value, Values):
        if inner or len(value) > MAX_SHOWN:
            return f"{len(value)} items"
        return f"[{', '.join(str(_plain(item, inner=True)) for item in value)}]"
    return value if isinstance(value, (str, bool)) else str(value)
