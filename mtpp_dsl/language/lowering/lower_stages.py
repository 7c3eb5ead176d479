"""The stages of lowering: params, lets, graph, devices, times, interconnect, objective, constraints."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeVar

from mtpp_dsl.core.base.units import TIME
from mtpp_dsl.core.constraints import Constraint
from mtpp_dsl.core.problem.devices import Device, Interconnect, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.variants import OneMore
from mtpp_dsl.core.text.source import Diagnostic, Place, Source, Span
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.language.lowering.blocks import defined
from mtpp_dsl.language.lowering.choosing import Group, chosen, opened, unrepeated
from mtpp_dsl.language.lowering.device_options import declare_type
from mtpp_dsl.language.lowering.lower_constraints import lower_constraint
from mtpp_dsl.language.lowering.lower_costs import has_costs, model_times
from mtpp_dsl.language.lowering.lower_devices import (
    ReadChannel,
    declare_devices,
    lower_interconnect,
    lower_links,
    memory_units,
)
from mtpp_dsl.language.lowering.lower_graph import lower_graph, read_file, read_old_plan
from mtpp_dsl.language.lowering.lower_labelled import lower_labelled
from mtpp_dsl.language.lowering.lower_objective import StatedObjective, counting, lower_objective
from mtpp_dsl.language.lowering.lower_times import TimeTables, TransferTimes
from mtpp_dsl.language.lowering.lower_units import check_io, given_in_seconds, times_in_seconds
from mtpp_dsl.language.lowering.times_files import times_from
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.partial import Broken
from mtpp_dsl.language.syntax.places import adding
from mtpp_dsl.language.syntax.upgrade import LANGUAGE_VERSION, another_version
from mtpp_dsl.language.values.complaints import Complaint, Findings, Unsettled
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.definitions import check_assert, define
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.params import bind_params
from mtpp_dsl.language.values.phases import check_phase_names, declare_phases, in_phases
from mtpp_dsl.language.values.scope import SpecScope

S = TypeVar("S", bound=tree.Statement)

BATCHED = {"batch": "batch sizes", "repeat": "several batches of a node"}
"""Constraints that only the throughput of a batch can have, and what they are about."""

_GRAPH = {"graph", "nodes", "weights", "time unit"}
_DEVICES = {"devices", "options"}
_ALL = _GRAPH | _DEVICES | {"interconnect", "objective", "anything"}
_UNSETTLED = {
    "": _ALL,
    "include": _ALL,
    "import": _ALL - {"objective", "anything"},
    "scenario": _ALL,
    "block": _GRAPH,
    "graph": _GRAPH,
    "weights": {"weights", "time unit"},
    "device": _DEVICES,
    "options": {"options"},
    "type": {"types", "options"},
    "interconnect": {"interconnect", "time unit"},
    "phase": _ALL,
    "link": {"interconnect", "time unit"},
    "time": {"time unit", "weights"},
    "times": {"time unit", "weights"},
    "minimize": {"objective"},
    "maximize": {"objective"},
}
"""What a statement that does not parse leaves unknown, by what begins it."""


class LoweringStages:
    """Reads the statements, kind by kind; what one kind got wrong is left out of the checks of the later ones.

    Attributes:
        scope: what the names of the spec mean; its ``unsettled`` says what could not be read.
        findings: the errors.
        warnings: what the spec says to no effect.
        replaced: a graph that takes the place of the spec's, or None.
        graph, devices, constraints: what was read; empty where nothing could be.
        stated: the statements of each constraint, by the constraint.
        joined, objective: what was read; None where nothing could be.
        left_out: devices of the graph's file, which ``graph from`` does not take.
        first_batch: where the first time of a batch is given; None where none is.
        broken: the statements that do not parse.
        scenario: the name of the one that counts; None for none.
        included: files that are included whatever the params.
        more: a device that is added to those of the spec, before objectives and constraints are read; None for none.
    """

    def __init__(
        self,
        source: Source,
        statements: list[tuple[tree.Statement, Path]],
        params: dict[str, object],
        replaced: Graph | None,
        broken: Sequence[Broken] = (),
        scenario: str | None = None,
        included: Collection[Path] = (),
        more: OneMore | None = None,
    ) -> None:
        self.scenario, self.included, self.more = scenario, included, more
        self.source, self.statements, self.given, self.replaced = source, statements, params, replaced
        self.scope, self.findings = SpecScope(), Findings()
        self.memory, self.times = UnitKeeper("sizes"), UnitKeeper("times")
        self.warnings: list[Diagnostic] = []
        self.graph = Graph.create([], [])
        self.devices: tuple[Device, ...] = ()
        self.joined: Interconnect | None = None
        self.objective: Objective | None = None
        self.asked: list[StatedObjective] = []
        self.constraints: list[Constraint] = []
        self.stated: dict[Constraint, list[Span]] = {}
        self.left_out: tuple[Device, ...] = ()
        self.sent: TransferTimes | None = None  # measured times of transfers, until the interconnect is read
        self.first_batch: Span | None = None
        self.broken = broken
        for piece in broken:
            named = {piece.name} if piece.kind in ("param", "let", "def", "block") else set()
            self.scope.remarks.unsettled |= _UNSETTLED.get(piece.kind, set()) | named

    def read(self) -> bool:
        """Go through all stages; return whether nothing is wrong.

        Raises:
            SpecError: there are as many errors as one run reports.
        """
        attempt = self.findings.attempt
        self.choose()
        attempt(self.version)
        for diagnostic in (
            *define(self.statements, self.scope),
            *bind_params(self.statements, self.given, self.scope),
        ):
            self.findings.add(diagnostic)
        attempt(declare_phases, [statement for statement, _ in self.of(tree.PhaseStatement)], self.scope)
        brought = self.read_graph()
        self.read_devices(brought.devices)
        attempt(check_phase_names, [statement for statement, _ in self.of(tree.PhaseStatement)], self.scope)
        self.read_times()
        attempt(self.interconnect, brought.interconnect)
        if self.more is not None and not self.findings.failed:
            self.add_device(self.more)
        attempt(self.read_old_plan)
        attempt(self.read_objectives)
        for name in self.scope.lets:  # in their order, so that none waits for long chains of others
            attempt(evaluate, tree.Name(span=self.scope.lets[name].name.span, name=name), self.scope)
        for statement, _ in self.of(tree.AssertStatement):
            attempt(check_assert, statement, self.scope)
        self.read_constraints()
        return not self.findings.failed

    def choose(self) -> None:
        """Keep the statements that count: those of the chosen scenario, and of files whose condition is true."""
        self.statements = chosen(self.statements, self.scenario, self.findings)
        more = any(isinstance(statement, Group) for statement, _ in self.statements)
        while more:
            scope = SpecScope()
            for _ in (*define(self.statements, scope), *bind_params(self.statements, self.given, scope)):
                pass  # said when all statements are known
            self.statements, more = opened(self.statements, scope, self.included, self.findings)

    # helpers

    def counted(self, statements: Sequence[tuple[S, Path]], what: str, *unsettled: str) -> list[tuple[S, Path]]:
        """Return the statements whose condition is true, of which only one counts.

        Where a condition is wrong, what the statement would say is *unsettled*.
        """
        kept = []
        for statement, folder in statements:
            clauses = getattr(statement, "clauses", None)
            counts = self.findings.attempt(unrepeated, clauses, what, self.scope)
            if counts is None:
                self.scope.remarks.unsettled.update(unsettled)
            elif counts:
                kept.append((statement, folder))
        return kept

    def of(self, kind: type[S]) -> list[tuple[S, Path]]:
        """Return the statements of a kind, each with the folder its paths start from."""
        return [(s, folder) for s, folder in self.statements if isinstance(s, kind)]

    def last(self, statements: Sequence[tuple[S, Path]], what: str) -> tuple[S, Path] | None:
        """Return the statement that counts: the last one. Two in one file are an error."""
        for (first, _), (second, _) in itertools.pairwise(statements):
            if first.span.source is second.span.source:
                message, places = f"{what} is already given at {first.span.place}", Place(first.span, "given here")
                self.findings.add(Diagnostic(message, second.span, code="MTPP-E021", places=(places,)))
        return statements[-1] if statements else None

    def missing(self, what: str, example: str) -> Complaint:
        """Return the complaint that the spec lacks a statement; where some do not parse, it may be one of them."""
        if self.broken:
            return Unsettled(what)
        stop = len(self.source.text.rstrip())
        fix = adding(what, example, self.source, [statement for statement, _ in self.statements])
        return Complaint(
            f"the spec has no {what}",
            Span(self.source, max(0, stop - 1), stop),
            [f"for example: {example}"] if fix is None else [],
            code="MTPP-E020",
            fix=fix,
        )

    def lack(self, what: str, example: str) -> None:
        """Note that the spec lacks a statement."""

        def complain() -> None:
            raise self.missing(what, example)

        self.findings.attempt(complain)

    @property
    def in_units(self) -> bool:
        """Whether the graph has units, as far as it was read; True where it has no amounts."""
        given = bool(self.graph.size_unit or self.graph.work_unit)
        return given or not (self.graph.n and (self.graph.work.any() or self.graph.output.any()))

    # the kinds of statements

    def version(self) -> None:
        """Hold that the spec is written in this version of the language."""
        for statement, _ in self.of(tree.VersionStatement):
            if statement.version.value != LANGUAGE_VERSION:
                self.findings.add(another_version(statement.version.span))
                return

    def read_graph(self) -> Workload:
        """Read the graph that counts; return the workload that an import brought."""
        before = self.findings.failed
        workload = self.workload()
        self.graph = self.findings.attempt(in_phases, workload.graph, self.scope, None) or workload.graph
        read = [*self.of(tree.ImportStatement), *self.of(tree.GraphFile), *self.of(tree.GraphGenerator)]
        place = read[-1][0].span if read else None
        self.warnings += [Diagnostic(message, place, "warning", code="MTPP-W302") for message in workload.warnings]
        if self.findings.failed > before:
            self.scope.remarks.unsettled |= {"edges", "weights", "time unit"}
            if not workload.graph.n:
                self.scope.remarks.unsettled.add("nodes")
        self.scope.set_graph(self.graph)
        return workload

    def workload(self) -> Workload:
        """Return the graph that counts, with the devices and interconnect that an import brought."""
        imported = self.last(
            self.counted(self.of(tree.ImportStatement), "an import", "nodes", "devices", "interconnect"), "an import"
        )
        graphs = [
            (s, folder)
            for s, folder in self.statements
            if isinstance(s, (tree.GraphBlock, tree.GraphFile, tree.GraphGenerator))
        ]
        graph = self.last(self.counted(graphs, "the graph", "nodes"), "the graph")
        brought = Workload(Graph.create([], []))
        if imported is not None:
            read = self.findings.attempt(self.read_import, *imported)
            if read is None:
                self.scope.remarks.unsettled |= {"devices", "options", "interconnect"}
            brought = read or brought
        elif graph is None and self.replaced is None and "nodes" not in self.scope.remarks.unsettled:
            self.lack("graph", "graph { node a (work = 1 ms) }")
        if self.replaced is not None:
            return Workload(self.replaced, brought.devices, brought.interconnect, brought.warnings)
        if graph is None:
            return brought
        blocks = defined([statement for statement, _ in self.statements], self.findings)
        own = self.findings.attempt(lower_graph, *graph, self.scope, self.findings, blocks)
        self.left_out = own.devices if own is not None else ()
        lowered = own.graph if own is not None else Graph.create([], [])
        warnings = (*brought.warnings, *(own.warnings if own is not None else ()))
        return Workload(lowered, brought.devices, brought.interconnect, warnings)

    def read_import(self, statement: tree.ImportStatement, folder: Path) -> Workload:
        """Read the file of an ``import`` statement."""
        return read_file(statement.path, statement.options, folder, self.scope)

    def read_devices(self, imported: tuple[Device, ...]) -> None:
        """Read the devices, in the order of their statements, over those that an import brought."""
        devices = {device.name: device for device in imported}
        self.scope.declared.bases.update(name.partition("[")[0] for name in devices)
        fresh: dict[Source, dict[str, Span]] = {}
        for declared_type, _ in self.of(tree.TypeStatement):
            self.findings.attempt(declare_type, declared_type, self.scope)
        for statement, _ in self.of(tree.DeviceStatement):
            declared = fresh.setdefault(statement.span.source, {})
            before, keepers = self.findings.failed, (self.memory, self.times)
            self.findings.attempt(declare_devices, statement, devices, declared, self.scope, *keepers)
            if self.findings.failed > before:
                known = statement.name.text in self.scope.declared.bases
                self.scope.remarks.unsettled |= {"options"} if known else {"options", "devices"}
        if not devices and "devices" not in self.scope.remarks.unsettled:
            rules = {statement.rule.text for statement, _ in self.of(tree.ConstraintStatement)}
            memory = f" (memory = 16{' GiB' * self.in_units})" if "memory" in rules else ""
            self.lack("device", f"device gpu[4]{memory}")
            self.scope.remarks.unsettled |= {"devices", "options"}
        for statement, _ in self.of(tree.DeviceStatement)[:1]:
            self.findings.attempt(memory_units, self.graph, self.memory, statement.span)
        self.devices = tuple(devices.values())
        self.scope.set_devices(self.devices)

    def read_times(self) -> None:
        """Give the graph the times that statements say, in their order."""
        for transfer, _ in self.of(tree.TransferStatement):
            self.sent = self.sent or TransferTimes(self.graph, self.scope, self.times)
            self.findings.attempt(self.sent.statement, transfer)
        statements = [(s, f) for s, f in self.statements if isinstance(s, (tree.TimeStatement, tree.TimesFile))]
        costs = has_costs(self.graph)
        if not (statements or self.scope.declared.node_times or costs):
            return
        tables = TimeTables(self.graph, self.scope, self.times, self.findings)
        tables.options()
        unread = False  # whether times are missing because a file of them could not be taken
        for statement, folder in statements:
            if isinstance(statement, tree.TimeStatement):
                self.findings.attempt(tables.statement, statement)
            else:
                before = self.findings.failed
                self.findings.attempt(times_from, tables, statement, folder)
                unread |= self.findings.failed > before
        if not unread and not {"devices", "nodes", "options", "edges", "weights"} & self.scope.remarks.unsettled:
            if costs:
                self.findings.attempt(model_times, tables, [statement for statement, _ in self.statements])
            tables.check_complete()
        self.graph = self.scope.graph = self.findings.attempt(tables.result) or self.graph
        self.first_batch = tables.first_batch

    def interconnect(self, imported: Interconnect | None) -> None:
        """Read what joins the devices, and with it whether times are in seconds."""
        before = self.findings.failed
        self.scope.remarks.unsettled.add("time unit")
        given = self.counted(self.of(tree.InterconnectStatement), "the interconnect", "interconnect")
        counting = self.last(given, "the interconnect")
        links = [statement for statement, _ in self.of(tree.LinkStatement)]
        switches = [statement for statement, _ in self.of(tree.SwitchStatement)]
        if counting is not None:
            self.join(lower_interconnect(counting[0], self.scope), links)
        elif imported is None:
            self.scope.remarks.need("interconnect")
            if not links and not switches:
                unit = " GiB/s" if self.in_units else ""
                raise self.missing("interconnect", f"interconnect shared (bandwidth = 8{unit})")
            kind, place = ("tree", switches[0].span) if switches else ("links", links[0].span)
            self.join(ReadChannel(kind, None, None, False, place), links)
        elif links or switches:
            kind, place = ("links", links[0].span) if links else ("tree", switches[0].span)
            raise Complaint(f"say 'interconnect {kind}' to replace what the import brought", place, code="MTPP-E403")
        else:
            seconds = given_in_seconds(self.graph.work_unit in ("s", "FLOP"), self.times)
            self.scope.units.time, self.joined = "s" if seconds else "", self.measured(imported)
        if self.findings.failed == before and "weights" not in self.scope.remarks.unsettled:
            self.scope.remarks.unsettled.discard("time unit")

    def join(self, channel: ReadChannel, links: Sequence[tree.LinkStatement]) -> None:
        """Join the devices by a channel and its links."""
        switches = [statement for statement, _ in self.of(tree.SwitchStatement)]
        joined, time = lower_links(channel, links, self.scope, self.graph, switches)
        self.scope.remarks.need("weights")
        seconds = times_in_seconds(self.graph, joined, time == TIME, self.times, channel.span)
        check_io(self.devices, joined, channel.span)
        self.scope.units.time, self.joined = "s" if seconds else "", self.measured(joined)

    def measured(self, joined: Interconnect) -> Interconnect:
        """Return what joins the devices with the measured times of transfers, if there are any."""
        return joined if self.sent is None else self.sent.result(joined)

    def add_device(self, more: OneMore) -> None:
        """Add a device that the spec does not declare, so that what is said of all devices is said of it, too.

        Raises:
            Refused: nothing says what would join it to the others.
        """
        assert self.joined is not None
        like = self.devices[more.like].name
        self.graph, self.devices, self.joined = more.grown(self.graph, self.devices, self.joined)
        self.scope.declared.exact.update(
            {(what, more.name): value for (what, name), value in self.scope.declared.exact.items() if name == like}
        )
        self.scope.graph = self.graph
        self.scope.set_devices(self.devices)
        self.scope.evaluated.lets.clear()

    def read_old_plan(self) -> None:
        """Read the earlier plan, if there is one."""
        self.scope.remarks.unsettled.add("plan")
        statement = self.last(self.counted(self.of(tree.ImportPlan), "an import"), "an earlier plan")
        if statement is not None:
            self.scope.declared.old_places = read_old_plan(*statement, self.scope)
        self.scope.remarks.unsettled.discard("plan")

    def read_objectives(self) -> None:
        """Read the objectives that count, in their order."""
        wrong = False
        for statement in counting([statement for statement, _ in self.of(tree.ObjectiveStatement)]):
            new = self.findings.attempt(lambda s=statement: list(lower_objective(s, self.scope)))
            wrong |= new is None
            for asked in new or ():
                name = asked.objective.called
                twin = next((other for other in self.asked if other.objective.called == name), None)
                if twin is not None:
                    remedy = "label them: minimize cost: …" if name == "objective" else "each is given once"
                    place = Place(twin.span, "the first")
                    message = f"two objectives are called {name!r}; {remedy}"
                    self.findings.add(Diagnostic(message, asked.span, code="MTPP-E604", places=(place,)))
                    continue
                self.asked.append(asked)
        if not self.asked and not wrong:
            self.scope.remarks.need("objective")
            raise self.missing("objective", "minimize bottleneck")
        self.objective = self.asked[0].objective if self.asked and not wrong else None

    @property
    def timed(self) -> bool:
        """Whether plans will say when nodes run."""
        objectives = [asked.objective for asked in self.asked]
        on_links = isinstance(self.joined, Links) and (len(objectives) > 1 or any(one.is_linear for one in objectives))
        return on_links or any(one.timed for one in objectives)

    def read_constraints(self) -> None:
        """Read the constraints, in their order, each once."""
        labels: dict[str, tree.LabelledConstraint] = {}
        batched = self.objective is None or self.objective.batch is not None
        first = self.asked[0] if self.objective is not None else None
        for statement, _ in self.statements:
            if isinstance(statement, tree.ConstraintStatement):
                new = self.findings.attempt(lambda s=statement: list(lower_constraint(s, self.scope)))
                self.state(new or (), statement.span)
                if not batched and statement.rule.text in BATCHED:
                    what = BATCHED[statement.rule.text]
                    message = f"{what} need 'maximize throughput (batch = …)'; to {self.objective} runs one input"
                    self.findings.add(Diagnostic(message, statement.span, code="MTPP-E623"))
            elif isinstance(statement, tree.LabelledConstraint):
                rows = self.findings.attempt(
                    lambda s=statement: list(lower_labelled(s, self.scope, first, timed=self.timed))
                )
                self.check_labels(statement, [row.label for row in rows or ()], labels)
                self.state(rows or (), statement.span)
        self.constraints = list(self.stated)

    def state(self, constraints: Sequence[Constraint], span: Span) -> None:
        """Note that a statement says these constraints; those that another one has said before stay in their place."""
        for constraint in dict.fromkeys(constraints):
            self.stated.setdefault(constraint, []).append(span)

    def check_labels(
        self, statement: tree.LabelledConstraint, rows: Sequence[str], labels: dict[str, tree.LabelledConstraint]
    ) -> None:
        """Complain of a label that another statement has; with ``forall``, of one whose instances another one has."""
        label = statement.label.text
        repeated = statement.quantifiers or statement.clauses is not None
        for name in dict.fromkeys(rows if repeated else [label]):
            first = labels.get(name)
            if first is not None:
                message = f"label {name!r} is already used at {first.span.place}"
                places = (Place(first.label.span, "first used here"),)
                self.findings.add(Diagnostic(message, statement.label.span, code="MTPP-E102", places=places))
                break
            labels[name] = statement
