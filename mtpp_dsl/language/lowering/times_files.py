"""Files of times: comma-separated values, and what ``mtpp profile`` has measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from mtpp_dsl.core.base.exact_numbers import Exact, exact_number
from mtpp_dsl.core.base.units import NONE, TIME, UNITS, unit_hint
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.problem.costs import Costs, TimeSource
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.exchange.model.profile import Profile, read_profile
from mtpp_dsl.language.lowering.lower_graph import resolve_path
from mtpp_dsl.language.lowering.lower_times import TimeTables
from mtpp_dsl.language.lowering.reader import read_source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Findings
from mtpp_dsl.language.values.data_tables import NUMBER, Cell, cells_of, lines_of
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.phases import phase_of
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, Quantity, Sequence, Value, describe

_UNITS = tuple(name for name, (_, dimension) in UNITS.items() if dimension == TIME)
MAX_ERRORS = 20
"""Wrong lines reported of one file."""

MAX_HEADER = 10_000
MAX_LINES = 300_000
"""A file of more measurements is refused."""

COLUMNS = ("node", "device", "batch", "time")
NEEDED = ("node", "device", "time")
_HEADER_UNIT = re.compile(r"time\s*[(\[]\s*([^)\]]*?)\s*[)\]]")


@dataclass(frozen=True)
class Measurement:
    """One line: what a node takes on a device; ``time`` is inf where the device cannot run it.

    ``batch`` is None in a file without such a column: the time is that of one input.
    """

    node: str
    device: str
    batch: int | None
    time: Quantity
    node_span: Span
    device_span: Span
    span: Span


def read_measurements(source: Source, unit: str | None, place: Span, findings: Findings) -> Iterator[Measurement]:
    """Yield the measurements of a file; complaints about single lines go to *findings*.

    Args:
        source: the text. Its first line names the columns, in any order; others than those four are passed over.
            Without ``batch`` the times are those of single inputs.
            The unit of the times may stand behind the name of theirs: ``time (ms)``.
        unit: of the times, where the file does not say; None for plain numbers.
        place: where the spec names the file.
        findings: takes complaints, at most :data:`MAX_ERRORS`.

    Raises:
        Complaint: a column is missing, or units contradict each other.
    """
    lines = lines_of(source)
    first = next(lines, None)
    if first is None:
        raise Complaint(
            f"{source.name} is empty; a file of times begins with {','.join(COLUMNS)}", place, code="MTPP-E709"
        )
    _refuse_others(source, first, place)
    columns, own = _header(cells_of(source, first))
    if own is not None and unit is not None and own != unit:
        raise Complaint(
            f"{source.name} says that its times are in {own}, and unit says {unit}", place, code="MTPP-E709"
        )
    measured = own or unit
    factor, dimension = (1, NONE) if measured is None else UNITS[measured]
    wrong = 0
    for number, line in enumerate(lines):
        if number == MAX_LINES:
            raise Complaint(
                f"{source.name} has more than {MAX_LINES:,} measurements, the most that are read",
                place,
                code="MTPP-E901",
            )
        try:
            yield _measurement(source, line, columns, factor, dimension == TIME)
        except Complaint as complaint:
            findings.add(complaint.diagnostic)
            wrong += 1
            if wrong == MAX_ERRORS:
                return


def _refuse_others(source: Source, first: Span, place: Span) -> None:
    """Refuse a text that is no file of times.

    Raises:
        Complaint: its first line has fewer than two of the columns.
    """
    names = {cell.strip(' \t"').lower().partition(" ")[0] for cell in first.text[:MAX_HEADER].split(",")}
    if len(names & set(COLUMNS)) < 2:
        raise Complaint(
            f"{source.name} is no file of times: its first line does not name the columns",
            place,
            [f"a file of times begins with {','.join(COLUMNS)}; time (ms) gives a unit"],
            code="MTPP-E709",
        )


def _header(cells: list[Cell]) -> tuple[dict[str, int], str | None]:
    """Return the position of each column, and the unit of the times where the header has one."""
    columns: dict[str, int] = {}
    unit = None
    for i, cell in enumerate(cells):
        name = cell.text.lower()
        given = _HEADER_UNIT.fullmatch(cell.text)
        if given is not None:
            name, unit = "time", given[1]
            if unit not in UNITS or UNITS[unit][1] != TIME:
                raise Complaint(
                    f"there is no unit of time {unit!r}{unit_hint(unit, [TIME])}", cell.span, code="MTPP-E201"
                )
        if name in columns:
            raise Complaint(f"there are two columns {name!r}", cell.span, code="MTPP-E102")
        columns[name] = i
    names = [cell.text for cell in cells]
    missing = [name for name in NEEDED if name not in columns]
    if "batch" not in columns and did_you_mean("batch", names):
        missing.append("batch")  # a slip: without the column the times would be those of single inputs
    if missing:
        hint = did_you_mean(missing[0], names).replace("did you mean", "is it")
        raise Complaint(
            f"there is no column {missing[0]!r}{hint}",
            cells[0].span.to(cells[-1].span),
            [f"a file of times begins with {','.join(COLUMNS)}; time (ms) gives a unit"],
            code="MTPP-E709",
        )
    return columns, unit


def _measurement(source: Source, line: Span, columns: dict[str, int], factor: Exact, in_seconds: bool) -> Measurement:
    cells = cells_of(source, line)
    if len(cells) <= max(columns.get(name, 0) for name in COLUMNS):
        raise Complaint(
            f"this line has {len(cells)} cells; the first line has {max(columns.values()) + 1}", line, code="MTPP-E709"
        )
    node, device, time = (cells[columns[name]] for name in NEEDED)
    batch = cells[columns["batch"]] if "batch" in columns else None
    if batch is not None and not _is_batch(batch.text):
        raise Complaint(
            f"a batch has one input or more, a whole number; this is {batch.text!r}", batch.span, code="MTPP-E211"
        )
    if NUMBER.fullmatch(time.text) is None:
        raise Complaint(
            f"a time is a number, or inf where the device cannot run it; this is {time.text!r}",
            time.span,
            code="MTPP-E709",
        )
    value = inf if time.text == "inf" else exact_number(time.text) * factor
    if value < 0:
        raise Complaint(f"a time must not be negative; this is {time.text}", time.span, code="MTPP-E214")
    if value > 10**308 and time.text != "inf":
        raise Complaint("the number is too large", time.span, code="MTPP-E215")
    return Measurement(
        node=node.text,
        device=device.text,
        batch=None if batch is None else int(batch.text),
        time=Quantity(value, TIME if in_seconds else NONE),
        node_span=node.span,
        device_span=device.span,
        span=line,
    )


def _is_batch(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1


MAX_NAMED = 3
"""Operators that a warning names."""


def times_from(tables: TimeTables, statement: tree.TimesFile, folder: Path) -> None:
    """Take the times of a file: a profile where its name ends so (``.json``), else values separated by commas.

    Raises:
        Complaint: the file cannot be read, or cannot be meant.
    """
    path = resolve_path(statement.path, folder, tables.scope)
    if path.suffix.lower() == ".json":
        take_profile(tables, statement, path)
    else:
        _take_table(tables, statement, path)


def _take_table(tables: TimeTables, statement: tree.TimesFile, path: Path) -> None:
    """Take the times of a file of comma-separated values; complaints about its lines go to the tables' findings.

    Raises:
        Complaint: the file cannot be read, or lacks a column.
    """
    options = Options(statement.options, ("unit",), "a file of times", tables.scope)
    unit = options.word("unit", _UNITS)
    try:
        source = read_source(path, str(path), statement.span)
    except UsageError as error:
        raise Complaint(str(error), statement.path.span, code="MTPP-E701") from None
    seen: dict[tuple[int, int, int | None], Span] = {}
    wide: list[tuple[tuple[int, ...], Measurement]] = []
    for row in read_measurements(source, unit, statement.path.span, tables.findings):
        tables.findings.attempt(_take_measurement, tables, row, seen, wide)
    for nodes, row in sorted(wide, key=lambda pair: len(pair[0])):
        for d in tables.named(row.device, row.device_span, DeviceRef):
            lacking = tuple(v for v in nodes if (v, d, row.batch) not in seen)
            seen.update(dict.fromkeys(((v, d, row.batch) for v in lacking), row.span))
            tables.set(lacking, (d,), row.batch, float(row.time.value), row.span, source=TimeSource.MEASURED)


def _take_measurement(
    tables: TimeTables,
    row: Measurement,
    seen: dict[tuple[int, int, int | None], Span],
    wide: list[tuple[tuple[int, ...], Measurement]],
) -> None:
    """Take one line of a file.

    The name of a node is of this one first: those whose names begin with it have the time where no other line gives
    them one. Such lines are added to *wide*, with these nodes.
    """
    nodes = tables.named(row.node, row.node_span, NodeRef)
    devices = tables.named(row.device, row.device_span, DeviceRef)
    tables.scope.steps.spend(len(nodes) * len(devices), row.span)
    if len(nodes) > 1 and row.node in tables.graph.index:
        wide.append((nodes, row))
        nodes = (tables.graph.index[row.node],)
    for key in ((v, d, row.batch) for v in nodes for d in devices):
        first = seen.setdefault(key, row.span)
        if first is not row.span:
            message = f"this time is already given at {first.place}"
            raise Complaint(message, row.span, code="MTPP-E102", second=(first, "first given here"))
    if not row.time.infinite:
        tables.keeper.add(row.time, f"the time at {row.span.place}", row.span)
    tables.set(nodes, devices, row.batch, float(row.time.value), row.span, source=TimeSource.MEASURED)


def take_profile(tables: TimeTables, statement: tree.TimesFile, path: Path) -> None:
    """Take the times of the nodes all of whose operators a profile has; warn of those that it has in part.

    They are those of the devices, the family or the type that the profile names, or the option ``device``.

    Raises:
        Complaint: it is no profile; it is of sizes that the graph does not have, of devices that are not there, or of
            none of the graph's operators; it holds for one of several phases, and does not say for which.
    """
    place = statement.path.span
    options = Options(statement.options, ("device", "phase"), "a profile", tables.scope)
    try:
        profile = read_profile(path)
    except UsageError as error:
        raise Complaint(str(error), place, code="MTPP-E701") from None
    devices = _devices(tables, options, profile, place)
    phase = _phase(tables, options, statement)
    graph = next((part.graph for part in tables.graph.phases if part.name == phase), tables.graph)
    _check_sizes(graph, profile, place)
    nodes, times, missing = _of_nodes(graph, {name: timing.median for name, timing in profile.times.items()})
    if not nodes.any():
        example = f"such as {missing[0]!r}, " if missing else ""
        message = f"{path.name} has times of no node of the graph: all operators of a node, {example}have to be in it"
        raise Complaint(message, place, code="MTPP-E715")
    for d in devices:
        tables.scope.steps.spend(int(nodes.sum()), statement.span)
        tables.put(d, phase, nodes, times, statement.span, TimeSource.MEASURED)
    if missing:
        more = f" and {len(missing) - MAX_NAMED:,} more" if len(missing) > MAX_NAMED else ""
        listed = ", ".join(map(repr, missing[:MAX_NAMED])) + more
        message = f"{path.name} has no time of {listed}: nodes with one of them keep the times that they have otherwise"
        tables.scope.remarks.warn(message, place, "MTPP-W408")


def _devices(tables: TimeTables, options: Options, profile: Profile, place: Span) -> tuple[int, ...]:
    """Return the devices that a profile is of."""
    if "device" not in options:
        try:
            return tables.named(profile.device, place, DeviceRef)
        except Complaint:
            message = (
                f"the profile is of {profile.device!r}, and no device, family or type of the spec is called so: say of "
                "which it holds, as in (device = gpu)"
            )
            raise Complaint(message, place, code="MTPP-E101") from None
    value: Value = options.string("device") if _is_text(options) else options.value("device")
    if isinstance(value, str):
        return tables.named(value, options.span("device"), DeviceRef)
    items = list(value) if isinstance(value, Sequence) else [value]
    numbers = tuple(item.index for item in items if isinstance(item, DeviceRef))
    if len(numbers) < len(items):
        raise Complaint(f"a device is wanted here, not {describe(value)}", options.span("device"), code="MTPP-E210")
    return numbers


def _is_text(options: Options) -> bool:
    return isinstance(options.options["device"].value, tree.Text)


def _phase(tables: TimeTables, options: Options, statement: tree.TimesFile) -> str:
    """Return the phase that a profile is of; "" where there are none."""
    if "phase" in options:
        return phase_of(options.options["phase"].value, tables.scope, {})
    if tables.graph.phases:
        listed = " or ".join(phase.name for phase in tables.graph.phases)
        message = f"a profile is of one phase: say of which, (phase = …) with {listed}"
        raise Complaint(message, statement.span, code="MTPP-E108")
    return ""


def _check_sizes(graph: Graph, profile: Profile, place: Span) -> None:
    """Refuse a profile that was made with other sizes than the graph.

    Raises:
        Complaint: it was.
    """
    own: Mapping[str, float] = {} if graph.origin is None else graph.origin.symbols
    for name, size in profile.symbols.items():
        if name in own and own[name] != size:
            message = f"the profile was made with {name} = {size:g}, and the graph has {name} = {own[name]:g}"
            raise Complaint(message, place, code="MTPP-E715")


def _of_nodes(graph: Graph, known: Mapping[str, float]) -> tuple[Bools, Floats, list[str]]:
    """Return [n] which nodes have a time, [n] the times, and the operators that have none in nodes that lack one."""
    times = np.array([known.get(name, np.nan) for name in graph.names])
    missing = [] if graph.costs is not None else [name for name in graph.names if name not in known]
    if graph.costs is not None:
        times = np.full(graph.n, np.nan)
        for v in graph.costs.nodes.tolist():
            items = list(_of_items(graph, graph.costs, v, known))
            times[v] = sum(time for _, time in items)
            missing += [name for name, time in items if np.isnan(time)]
    return ~np.isnan(times), times, missing


def _of_items(graph: Graph, costs: Costs, v: int, known: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield (name, time) of the operators of a node: nan for one that was not measured, 0 for one that does nothing."""
    for item in costs.items_of(v):
        name = costs.names[item] or graph.names[v]
        nothing = costs.flop[item] == 0 and costs.read[item] == 0 and costs.write[item] == 0
        yield name, known.get(name, 0.0 if nothing else np.nan)
