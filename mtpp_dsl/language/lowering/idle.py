"""Warnings of what a spec says to no effect: names that nothing reads, memory that nothing uses; and of no work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil, floor, log10

from mtpp_dsl.core.base.units import format_quantity
from mtpp_dsl.core.constraints import Constraint, Memory, StageMemory
from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix, Source, Span
from mtpp_dsl.language.lowering.law import LAW
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.lexing import without_remarks
from mtpp_dsl.language.syntax.places import whole_lines

_KINDS: dict[type[tree.Tree], str] = {
    tree.ParamStatement: "param",
    tree.LetStatement: "let",
    tree.DefStatement: "def",
    tree.BlockStatement: "block",
}
_NAMING = (tree.ParamStatement, tree.LetStatement, tree.DefStatement, tree.BlockStatement)
_NAME = re.compile(r"[A-Za-z_]\w*")


def idle_names(statements: Sequence[tree.Statement], source: Source) -> Iterator[Diagnostic]:
    """Yield a warning for each param, let and function of *source* that nothing names but its own statement.

    Those of included files are not looked at: a file of definitions may hold more than each of its users needs.
    """
    own = [s for s in statements if isinstance(s, _NAMING) and s.span.source is source]
    if not own:
        return
    named = _named({statement.span.source for statement in statements})
    declared = Counter(s.name.text for s in statements if isinstance(s, _NAMING))
    for statement in own:
        name = statement.name.text
        if named[name] <= declared[name] and not (isinstance(statement, tree.DefStatement) and name == LAW):
            what = _KINDS[type(statement)]
            warning = _warning(
                f"{what} {name!r} is never used: use it, or remove it", statement.name.span, code="MTPP-W102"
            )
            fix = Fix(f"remove {what} {name!r}", (Edit(whole_lines(statement.span), ""),), safe=False)
            yield replace(warning, fix=fix)


def idle_work(graph: Graph, statements: Sequence[tree.Statement]) -> Iterator[Diagnostic]:
    """Yield a warning where no node takes any time."""
    graphs = [graph, *(phase.graph for phase in graph.phases)]
    tables = [table for part in graphs for table in (*part.times.values(), *part.device_times.values())]
    if graph.n == 0 or graph.work.any() or graph.batch_times or any(table.any() for table in tables):
        return
    kinds = (tree.GraphBlock, tree.GraphFile, tree.GraphGenerator, tree.ImportStatement)
    span = next((s.span for s in reversed(statements) if isinstance(s, kinds)), None)
    yield _warning(
        "there is no work to split, as all nodes take no time: give nodes (work = …)", span, code="MTPP-W301"
    )


def idle_memory(
    graph: Graph,
    devices: Sequence[Device],
    joined: Interconnect,
    constraints: Sequence[Constraint],
    statements: Sequence[tree.Statement],
    first: tuple[str, Span | None],
) -> Iterator[Diagnostic]:
    """Yield a warning for memory that nothing keeps to, or that no node takes.

    Args:
        graph: with what the nodes take.
        devices: with their memories.
        joined: may stream what does not fit.
        constraints: may keep to the memories.
        statements: of the spec and of what it includes.
        first: what the spec calls the first memory of a device, and its place.
    """
    rules = any(isinstance(constraint, Memory) for constraint in constraints)
    streams = _streams(joined)
    limited = any(device.memory is not None for device in devices)
    called = _named({s.span.source for s in statements}, calls=True)
    places = [s.span for s in statements if isinstance(s, tree.ConstraintStatement) and s.rule.text == "memory"]
    if first[0] and not _limits_memory(joined, constraints) and not called["memory"]:
        yield _warning(
            f"{first[0]} is given, but no constraint uses it: say 'constraint memory', "
            "or 'overflow = stream' on the interconnect",
            first[1],
            code="MTPP-W401",
        )
    elif graph.origin is None and not _keeps_memory(constraints):
        for what in ("cache", "workspace"):
            column = getattr(graph, what)
            if column.any():
                name = graph.names[int(column.argmax())]
                instead = (
                    "and 'overflow' counts parameters alone: add it to the reserve of devices"
                    if streams
                    else "but no constraint uses it: say 'constraint memory'"
                )
                yield _warning(f"the {what} of {name} is given, {instead}", code="MTPP-W401")
    if limited and ((rules and not graph.memory.any()) or (streams and not rules and not graph.params.any())):
        places += [s.span for s in statements if isinstance(s, tree.InterconnectStatement)]
        yield _warning(
            "no node takes any memory, so every device has enough: give nodes (params = …)",
            *places[:1],
            code="MTPP-W402",
        )


def _streams(joined: Interconnect) -> bool:
    return isinstance(joined, (Shared, Host)) and joined.overflow


def _limits_memory(joined: Interconnect, constraints: Sequence[Constraint]) -> bool:
    """Return whether something keeps to the memories of devices, or pays for what does not fit."""
    return _streams(joined) or _keeps_memory(constraints)


def _keeps_memory(constraints: Sequence[Constraint]) -> bool:
    custom = any(isinstance(constraint, CustomConstraint) and constraint.keeps_memory for constraint in constraints)
    return custom or any(isinstance(constraint, Memory) for constraint in constraints)


def idle_reserve(
    graph: Graph,
    devices: Sequence[Device],
    joined: Interconnect,
    constraints: Sequence[Constraint],
    statements: Sequence[tree.Statement],
) -> Iterator[Diagnostic]:
    """Yield a warning where devices with a limited memory keep less free than a node of a model needs while it runs.

    Where nothing keeps to the memory, :func:`idle_memory` says so, and that is all; a runtime does.
    """
    origin = graph.origin
    if origin is None or not origin.working or any(isinstance(constraint, StageMemory) for constraint in constraints):
        return
    if not (
        _limits_memory(joined, constraints)
        or any(isinstance(statement, tree.TargetStatement) for statement in statements)
    ):
        return
    needed = max(origin.working)
    short = [device for device in devices if device.memory is not None and device.reserve < needed]
    if not short:
        return
    name = graph.names[origin.working.index(needed)]
    places = [s.span for s in statements if isinstance(s, (tree.GraphFile, tree.ImportStatement))]
    given = any(device.reserve for device in short)
    kept = f"{short[0].name} reserves too little" if given else "nothing is reserved"
    yield _warning(
        f"{kept} for activations: there are up to {format_quantity(needed, 'B', decimal=True)} at once in {name}; say "
        f"(reserve = {_rounded_up(needed)}) on the devices",
        *places[-1:],
        code="MTPP-W409",
    )


def _rounded_up(size: float) -> str:
    """Return a size of two digits that is not below *size*: 2.1 GB for 2,014,000,000 B."""
    step = 10.0 ** max(floor(log10(size)) - 1, 0)
    return format_quantity(ceil(size / step) * step, "B", decimal=True)


def free_streams(
    devices: Sequence[Device], joined: Interconnect, constraints: Sequence[Constraint]
) -> Iterator[Diagnostic]:
    """Yield a warning for the first device whose memory streams parameters for nothing, as it pays no I/O."""
    limits = [x.devices for x in constraints if isinstance(x, Memory)]
    if not (isinstance(joined, (Shared, Host)) and joined.overflow):
        return
    for d, device in enumerate(devices):
        limited = any(kept is None or d in kept for kept in limits)
        if device.memory is not None and not device.pays_io and not limited:
            yield _warning(
                f"memory of {device.name} has no effect: with io = free the device pays nothing for "
                f"the parameters that 'overflow = stream' streams; say 'constraint memory on {device.name}'",
                code="MTPP-W403",
            )
            return


def idle_tables(graph: Graph, devices: Sequence[Device], left_out: Sequence[Device]) -> Iterator[Diagnostic]:
    """Yield a warning where the times of a graph's file are by devices that the spec does not have.

    Args:
        graph: with the times of its file.
        devices: those of the spec.
        left_out: those of the file, which ``graph from`` does not take.
    """
    named = [device.name for device in left_out if device.name in graph.times]
    if named and not any({device.name, device.type} & set(graph.times) for device in devices):
        yield _warning(
            f"the graph has times for {', '.join(named)}, but no device of the spec has such a name: all use those "
            f"of {named[0]}; declare devices of these names, or take the file's with 'import'",
            code="MTPP-W404",
        )


def idle_batches(
    objective: Objective, devices: Sequence[Device], first: Span | None, graph: Graph
) -> Iterator[Diagnostic]:
    """Yield a warning for times of batches, the first of which are given at *first*, where the objective has none.

    The overhead of a device has a meaning, too, where a law makes times of the *graph*'s costs there.
    """
    if objective.batch is not None:
        return
    graphs = [phase.graph for phase in graph.phases] or [graph]
    modelled = {name for part in graphs for name, row in part.time_sources.items() if TimeSource.MODELLED in row}
    given = [] if first is None else [first.place]
    given += [device.name for device in devices if device.fixed or (device.overhead and device.name not in modelled)]
    if given:
        yield _warning(
            f"{given[0]}: times of batches have a meaning only for 'maximize throughput (batch = …)'; "
            f"to {objective} takes single inputs: give times without 'at batch'",
            first,
            code="MTPP-W405",
        )


def _named(sources: Iterable[Source], *, calls: bool = False) -> Counter[str]:
    """Return how often each name stands in the texts, comments and strings apart; with *calls* those of functions."""
    pattern = re.compile(r"[A-Za-z_]\w*(?=\s*\()") if calls else _NAME
    counts: Counter[str] = Counter()
    for source in sources:
        counts.update(pattern.findall(without_remarks(source.text)))
    return counts


def _warning(message: str, span: Span | None = None, *, code: str) -> Diagnostic:
    return Diagnostic(message, span, "warning", code=code)
