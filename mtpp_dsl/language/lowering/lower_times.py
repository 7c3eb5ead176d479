"""``time`` statements: what nodes, batches of them, and transfers take on devices."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.base.spec_limits import check_table
from mtpp_dsl.core.base.units import NONE, TIME
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.devices import Interconnect, Links
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, Ints, frozen
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.problem.problem import running_times
from mtpp_dsl.core.problem.transfers import transfers
from mtpp_dsl.core.text.source import Diagnostic, Span
from mtpp_dsl.language.lowering.node_options import devices_called
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Findings
from mtpp_dsl.language.values.declaring import UnitKeeper
from mtpp_dsl.language.values.expressions import Locals, iterate, number, whole
from mtpp_dsl.language.values.members import Empty, members
from mtpp_dsl.language.values.phases import phase_of
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, Quantity, shown


class TimeTables:
    """The times of nodes on devices, and of batches: those of the graph's file, and what statements say over them.

    Args:
        graph: with the tables of its file, by device or by type of device.
        scope: knows the nodes and the devices.
        keeper: holds that all times carry units, or none do.
        findings: takes the complaints about lines of files.

    Attributes:
        first_batch: where the first time of a batch is given; None where none is.
        law: the text of the spec's own law that has made times of costs; "" for that of the package.
    """

    def __init__(self, graph: Graph, scope: SpecScope, keeper: UnitKeeper, findings: Findings) -> None:
        assert scope.devices is not None
        self.graph, self.scope, self.keeper, self.findings = graph, scope, keeper, findings
        self.devices = scope.devices
        self.first_batch: Span | None = None
        self.rows = 0
        self.own: dict[tuple[str, int], Floats] = {}  # [n] by phase, "" where there are none, and device
        self.said: dict[tuple[str, int], Bools] = {}  # [n] whether a time of one input is given, by phase and device
        self.sources: dict[tuple[str, int], Ints] = {}  # [n] where it is from, by phase and device
        self.law = ""
        known = graph.batch_times
        self.tables: list[dict[int, Floats]] = [
            {size: row.copy() for size, row in known.get(device.name, known.get(device.type, {})).items()}
            for device in self.devices
        ]

    def result(self) -> Graph:
        """Return the graph with the times of single devices.

        Where there are times of batches, every device has a table of its own, so that none is taken for that of a type.
        """
        if self.graph.phases:
            return self.in_phases()
        graph = self.with_own(self.graph, "")
        if self.first_batch is None:
            return graph
        self.drop_excluded()
        tables = {
            device.name: MappingProxyType({size: frozen(rows[size], np.float64) for size in sorted(rows)})
            for device, rows in zip(self.devices, self.tables, strict=True)
        }
        return replace(graph, batch_times=MappingProxyType(tables))

    def drop_excluded(self) -> None:
        """Leave out times of batches of nodes that a device cannot run: their own time there is said to be inf."""
        for key, row in self.own.items():
            excluded = self.said[key] & np.isinf(row)
            for times in self.tables[key[1]].values():
                times[excluded] = np.nan

    def with_own(self, graph: Graph, phase: str) -> Graph:
        """Return the graph of a phase, or of all, with the times of single devices that were given."""
        own = {self.devices[d].name: frozen(row, np.float64) for (of, d), row in self.own.items() if of == phase}
        sources = {self.devices[d].name: frozen(row, np.int64) for (of, d), row in self.sources.items() if of == phase}
        return replace(
            graph,
            device_times=MappingProxyType({**graph.device_times, **own}),
            time_sources=MappingProxyType(
                {**graph.time_sources, **{name: row for name, row in sources.items() if row.any()}}
            ),
            law=self.law,
        )

    def in_phases(self) -> Graph:
        """Return the graph with the times of single devices, phase by phase.

        Raises:
            Complaint: times of batches are given.
        """
        if self.first_batch is not None:
            raise Complaint("times of batches go with no phases", self.first_batch, code="MTPP-E623")
        graphs = {phase.name: self.with_own(phase.graph, phase.name) for phase in self.graph.phases}
        return phased_graph(graphs, {phase.name: phase.weight for phase in self.graph.phases})

    def set(
        self,
        nodes: tuple[int, ...],
        devices: tuple[int, ...],
        batch: int | None,
        time: float,
        span: Span,
        phases: tuple[str, ...] | None = None,
        source: TimeSource = TimeSource.GIVEN,
    ) -> None:
        """Note a time of one input in *phases*, or in all, or of a batch; it replaces an earlier one.

        Raises:
            Complaint: there would be too many tables.
        """
        try:
            for d in devices:
                rows = (
                    [self.table(d, batch)] if batch is not None else [self.single(d, p) for p in phases or self.phases]
                )
                for row in rows:
                    row[list(nodes)] = time
                if batch is None:
                    for p in phases or self.phases:
                        self.said[p, d][list(nodes)] = True
                        self.sources[p, d][list(nodes)] = source
        except UsageError as error:
            raise Complaint(str(error), span, code="MTPP-E901") from None
        if batch is not None and self.first_batch is None:
            self.first_batch = span

    def given(self, d: int, phase: str) -> Bools:
        """Return [n] whether a statement or an option says what a node takes on a device in a phase."""
        return self.said.get((phase, d), np.zeros(self.graph.n, np.bool_))

    def put(self, d: int, phase: str, nodes: Bools, times: Floats, place: Span | None, source: TimeSource) -> None:
        """Note the [n] times of some nodes on a device in a phase, in seconds; *place* is what messages point at.

        Raises:
            UsageError: there would be too many tables.
        """
        self.single(d, phase)[nodes] = times[nodes]
        self.said[phase, d][nodes] = True
        self.sources[phase, d][nodes] = source
        if np.isfinite(times[nodes]).any():
            modelled = source == TimeSource.MODELLED
            what = "what the law makes of costs" if modelled else "what was measured"
            self.keeper.add(Quantity(1, TIME), f"{what} on {self.devices[d].name}", place)

    @property
    def phases(self) -> tuple[str, ...]:
        """The names of the phases; one without a name where there are none."""
        return tuple(phase.name for phase in self.graph.phases) or ("",)

    def single(self, d: int, phase: str) -> Floats:
        """Return [n] the times of a device in a phase, to be changed: at first those that follow from work and speed.

        Raises:
            UsageError: there would be too many.
        """
        if (phase, d) not in self.own:
            graph = next((part.graph for part in self.graph.phases if part.name == phase), self.graph)
            count = len(self.own) + 1
            check_table("the times of nodes on devices", (self.graph.n, "nodes"), (count, "devices"))
            self.own[phase, d] = running_times(graph, self.devices[d : d + 1])[:, 0].copy()
            self.said[phase, d] = np.zeros(self.graph.n, np.bool_)
            self.sources[phase, d] = np.zeros(self.graph.n, np.int64)
        return self.own[phase, d]

    def table(self, d: int, batch: int) -> Floats:
        """Return [n] the times of a size of batch on a device, to be changed; nan where nothing is known.

        Raises:
            UsageError: there would be too many tables of batches.
        """
        if batch not in self.tables[d]:
            self.rows += 1
            check_table("the times of batches", (self.graph.n, "nodes"), (self.rows, "sizes of batches on devices"))
        return self.tables[d].setdefault(batch, np.full(self.graph.n, np.nan))

    def options(self) -> None:
        """Take the times that nodes have by their own options, which all statements override.

        Of several keys about one device its name counts before its family, and this before its type.
        """
        named: dict[str, tuple[int, tuple[int, ...]]] = {}
        wrong: set[int] = set()
        for name, given in self.scope.declared.node_times.items():
            if id(given.span) in wrong:
                continue
            try:
                for key in given.times:
                    named[key] = named.get(key) or devices_called(key, self.scope, given.span)
                for key in sorted(given.times, key=lambda key: named[key][0]):
                    time = given.times[key]
                    if not time.infinite:
                        self.keeper.add(time, f"the time of {name}", given.span)
                    self.scope.steps.spend(len(named[key][1]), given.span)
                    self.set((self.graph.index[name],), named[key][1], None, float(time.value), given.span)
            except Complaint as complaint:
                wrong.add(id(given.span))
                self.findings.add(complaint.diagnostic)

    def check_complete(self) -> None:
        """Complain of a node without work that has a time on some devices, and none on others that could run it."""
        for name, span in self.scope.declared.workless.items():
            v = self.graph.index.get(name)
            if v is None or not any(given[v] for given in self.said.values()):
                continue
            missing = [device.name for d, device in enumerate(self.devices) if not self.has_time(v, d)]
            if missing:
                more = f" and {len(missing) - 1} more" if missing[1:] else ""
                message = (
                    f"{name!r} has a time on other devices, and neither a time on {missing[0]}{more} nor work: give a "
                    "time there, inf where it cannot run, or its work"
                )
                self.findings.add(Diagnostic(message, span, code="MTPP-E309"))
                return

    def has_time(self, v: int, d: int) -> bool:
        """Return whether something says what a node takes on a device, or that this does not run its kind."""
        device, graph = self.devices[d], self.graph
        if all((p, d) in self.said and self.said[p, d][v] for p in self.phases):
            return True
        if graph.kinds[v] in device.unsupported or {device.name, device.type} & {*graph.times, *graph.device_times}:
            return True
        return any(not np.isnan(row[v]) for row in self.tables[d].values())

    def statement(self, statement: tree.TimeStatement) -> None:
        """Take the times of a ``time`` statement.

        Raises:
            Complaint: members that are no nodes or devices, a batch without inputs, a value that is no time.
        """
        for local in iterate(statement.clauses, self.scope):
            try:
                nodes = members(statement.nodes, self.scope, local, NodeRef)
                devices = members(statement.devices, self.scope, local, DeviceRef)
            except Empty as empty:
                empty.warn(self.scope)
                continue
            batch = None
            if statement.batch is not None:
                batch = whole(statement.batch, self.scope, local, "the size of a batch")
                if batch < 1:
                    raise Complaint(
                        f"a batch has one input or more; this has {batch}", statement.batch.span, code="MTPP-E214"
                    )
            self.scope.steps.spend(len(nodes) * len(devices), statement.span)
            phases = None if statement.phase is None else (phase_of(statement.phase, self.scope, local),)
            self.set(nodes, devices, batch, self.value(statement, local), statement.span, phases)

    def value(self, statement: tree.TimeStatement, local: Locals) -> float:
        """Return what a statement says that nodes take; the bare word ``inf``: the device cannot run them."""
        value = statement.value
        if value == tree.Name(span=value.span, name="inf") and not self.means_more("inf", local):
            return float("inf")
        time = number(value, self.scope, local, "a time")
        if time.value == float("inf"):
            return float("inf")
        what = "a node" if statement.batch is None else "a batch"
        if time.dimension not in (TIME, NONE):
            raise Complaint(
                f"{what} takes a time or a number without a unit; this is {time.dimension}",
                value.span,
                code="MTPP-E213",
            )
        if time.value < 0:
            raise Complaint(f"a time must not be negative; this is {shown(time)}", value.span, code="MTPP-E214")
        self.keeper.add(time, f"the time of {what}", value.span)
        return float(time.value)

    def means_more(self, word: str, local: Locals) -> bool:
        """Return whether the spec itself calls something *word*."""
        scope = self.scope
        return word in local or word in scope.params or word in scope.lets or scope.node(word) is not None

    def named(self, name: str, span: Span, kind: type[NodeRef] | type[DeviceRef]) -> tuple[int, ...]:
        """Return the nodes, or the devices, that a cell names: one, a family, or the devices of a type."""
        assert self.scope.devices is not None
        typed = tuple(d for d, device in enumerate(self.scope.devices) if device.type == name)
        if kind is DeviceRef and typed and self.scope.member(name, span) is None:
            return typed
        return members((tree.Text(span=span, value=name),), self.scope, {}, kind)


class TransferTimes:
    """The measured times of transfers, collected before the interconnect is read; later ones replace earlier ones.

    Args:
        graph: with the edges.
        scope: knows the nodes and the devices.
        keeper: holds that all times carry units, or none do.
    """

    def __init__(self, graph: Graph, scope: SpecScope, keeper: UnitKeeper) -> None:
        self.graph, self.scope, self.keeper = graph, scope, keeper
        self.first: Span | None = None
        self.given: list[tuple[list[int], tuple[int, ...], tuple[int, ...], float]] = []
        edges = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
        self.edges = {edge: e for e, edge in enumerate(edges)}

    def statement(self, statement: tree.TransferStatement) -> None:
        """Take the times of a statement: of all edges between its nodes, and of all pairs of its devices.

        Raises:
            Complaint: members that are no nodes or devices, no edge between the nodes, a value that is no time.
        """
        for local in iterate(statement.clauses, self.scope):
            tails, heads = (members((end,), self.scope, local, NodeRef) for end in (statement.tail, statement.head))
            first, second = (members((d,), self.scope, local, DeviceRef) for d in (statement.first, statement.second))
            self.scope.steps.spend(len(tails) * len(heads) + len(first) * len(second), statement.span)
            edges = [self.edges[u, v] for u in tails for v in heads if (u, v) in self.edges]
            if not edges:
                edge = f"{statement.tail.span.text} -> {statement.head.span.text}"
                raise Complaint(
                    f"there is no edge {edge}", statement.tail.span.to(statement.head.span), code="MTPP-E101"
                )
            if first == second and len(first) == 1:
                span = statement.first.span.to(statement.second.span)
                raise Complaint("a transfer within a device takes no time", span, code="MTPP-E402")
            self.given.append((edges, first, second, self.value(statement, local)))
            self.first = self.first or statement.span

    def value(self, statement: tree.TransferStatement, local: Locals) -> float:
        """Return a time; ``inf`` where nothing can be sent."""
        time = number(statement.value, self.scope, local, "a time")
        if time.value == float("inf"):
            return float("inf")
        span = statement.value.span
        if time.dimension not in (TIME, NONE):
            raise Complaint(
                f"a transfer takes a time or a number without a unit; this is {time.dimension}", span, code="MTPP-E213"
            )
        if time.value < 0:
            raise Complaint(f"a time must not be negative; this is {shown(time)}", span, code="MTPP-E214")
        self.keeper.add(time, "the time of a transfer", span)
        return float(time.value)

    def result(self, joined: Interconnect) -> Interconnect:
        """Return the links with the times of all transfers: those given, and what the others take without them.

        Raises:
            Complaint: the interconnect is no links, or there would be too many times.
        """
        if self.first is None:
            return joined
        if not isinstance(joined, Links):
            message = f"times of transfers go with interconnect links, not {joined.keyword}"
            raise Complaint(message, self.first, code="MTPP-E403")
        assert self.scope.devices is not None
        k = len(self.scope.devices)
        try:
            check_table("the times of transfers", (self.graph.m, "edges"), (k, "devices"), (k, "devices"))
        except UsageError as error:
            raise Complaint(str(error), self.first, code="MTPP-E901") from None
        table = self._without(joined, k)
        for edges, first, second, time in self.given:
            block = np.array([[d != e for e in second] for d in first])
            for edge in edges:
                part = table[edge][np.ix_(first, second)]
                table[edge][np.ix_(first, second)] = np.where(block, time, part)
        return replace(joined, transfers=frozen(table, np.float64))

    def _without(self, joined: Links, k: int) -> Floats:
        """Return [m, k, k] what each edge takes from each device to each other by the links alone."""
        if self.graph.m == 0:
            return np.zeros((0, k, k))
        known = transfers(joined, self.graph)
        return np.stack([known.of(edge) for edge in range(self.graph.m)])
