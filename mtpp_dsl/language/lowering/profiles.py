"""``times from "profile.json"``: times of operators that ``mtpp profile`` has measured, as times of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs, TimeSource
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.exchange.model.profile import Profile, read_profile
from mtpp_dsl.language.lowering.lower_graph import resolve_path
from mtpp_dsl.language.lowering.lower_times import TimeTables
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.phases import phase_of
from mtpp_dsl.language.values.scope import Complaint
from mtpp_dsl.language.values.values import DeviceRef, Sequence, Value, describe

__all__ = ["take_profile", "times_from"]

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
        tables.file(statement, folder)


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
    graph = next((each.graph for each in tables.graph.phases if each.name == phase), tables.graph)
    _check_sizes(graph, profile, place)
    nodes, times, missing = _of_nodes(graph, {name: timing.median for name, timing in profile.times.items()})
    if not nodes.any():
        example = f"such as {missing[0]!r}, " if missing else ""
        message = f"{path.name} has times of no node of the graph: all operators of a node, {example}have to be in it"
        raise Complaint(message, place, code="MTPP-E715")
    for d in devices:
        tables.scope.spend(int(nodes.sum()), statement.span)
        tables.put(d, phase, nodes, times, statement.span, TimeSource.MEASURED)
    if missing:
        more = f" and {len(missing) - MAX_NAMED:,} more" if len(missing) > MAX_NAMED else ""
        listed = ", ".join(map(repr, missing[:MAX_NAMED])) + more
        message = f"{path.name} has no time of {listed}: nodes with one of them keep the times that they have otherwise"
        tables.scope.warn(message, place, "MTPP-W408")


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
    found = tuple(item.index for item in items if isinstance(item, DeviceRef))
    if len(found) < len(items):
        raise Complaint(f"a device is wanted here, not {describe(value)}", options.span("device"), code="MTPP-E210")
    return found


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
            found = list(_of_items(graph, graph.costs, v, known))
            times[v] = sum(time for _, time in found)
            missing += [name for name, time in found if np.isnan(time)]
    return ~np.isnan(times), times, missing


def _of_items(graph: Graph, costs: Costs, v: int, known: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield (name, time) of the operators of a node: nan for one that was not measured, 0 for one that does nothing."""
    for item in costs.items_of(v):
        name = costs.names[item] or graph.names[v]
        nothing = costs.flop[item] == 0 and costs.read[item] == 0 and costs.write[item] == 0
        yield name, known.get(name, 0.0 if nothing else np.nan)
