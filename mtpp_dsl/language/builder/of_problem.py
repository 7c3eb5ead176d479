"""Problems that there are already as the statements of a spec: equal in all that matters, to the last bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Device, Host, Links, Tree
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.transfers import transfers
from mtpp_dsl.core.problem.variants import free_of
from mtpp_dsl.language.builder.of_costs import figures, hung, modelled, split_options, switches, with_costs
from mtpp_dsl.language.builder.of_graph import node_text
from mtpp_dsl.language.builder.of_rows import objective_text, row_texts
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.language.words.written import named, option_list, percent, quantity, quoted, value

__all__ = ["statements_of"]

_PLAIN = Device("")


def statements_of(problem: Problem) -> list[str]:
    """Return the statements that say all of *problem* but its graph.

    Raises:
        UsageError: the problem has what no spec can say.
    """
    return [text for part in _PARTS for text in part(problem)]


def _phases(problem: Problem) -> Iterator[str]:
    """Yield the statement of the phases, if there are any."""
    if problem.phases:
        weights = {p.name: {} if p.weight == 1 else {"weight": quantity(p.weight, "")} for p in problem.graph.phases}
        yield "phase " + ", ".join(f"{name}{option_list(options)}" for name, options in weights.items())


def _devices(problem: Problem) -> Iterator[str]:
    """Yield the devices in their order: alike members of a family as one, the others one by one."""
    texts = [_device(problem, device) for device in problem.devices]
    d = 0
    while d < problem.k:
        base, bracket, inside = problem.devices[d].name.partition("[")
        stop = d
        if bracket and inside == "0]" and _is_word(base):
            while stop < problem.k and problem.devices[stop].name == f"{base}[{stop - d}]" and texts[stop] == texts[d]:
                stop += 1
        whole = stop > d and not any(other.name.startswith(f"{base}[") for other in problem.devices[stop:])
        if whole:
            yield f"device {base}[{stop - d}]{texts[d]}"
        else:
            stop = d + 1
            name = problem.devices[d].name
            yield f"device {name if _is_word(name) else quoted(name)}{texts[d]}"
        d = stop


def _is_word(name: str) -> bool:
    """Return whether a device may be called so without quotation marks."""
    return name.isidentifier() and name.isascii() and name not in RESERVED


def _device(problem: Problem, device: Device) -> str:
    """Return the options of a device that are not the default."""
    memory, time = problem.graph.memory_unit, problem.time_unit
    speed = "FLOP/s" if problem.graph.work_unit == "FLOP" else ""
    options: dict[str, Any] = {}
    if device.type != _PLAIN.type:
        options["type"] = device.type
    if device.memory is not None:
        options["memory"] = quantity(device.memory, memory)
    for what, unit in (("reserve", memory), ("speed", speed), ("fixed", ""), ("overhead", time)):
        given = getattr(device, what)
        if given != getattr(_PLAIN, what) or (what == "speed" and speed):
            options[what] = quantity(given, unit)
    if not device.pays_io and isinstance(problem.interconnect, Host):  # elsewhere it means nothing
        options["io"] = "free"
    if device.unsupported:
        options["unsupported"] = [*device.unsupported]
    if device.group is not None:
        options["group"] = device.group
    for what, amount, unit in (("price", device.price, device.price_unit), ("power", device.power, device.power_unit)):
        if amount is not None:
            options[what] = quantity(amount, unit)
    if isinstance(problem.interconnect, Tree):
        options |= hung(problem, problem.interconnect, problem.device_index[device.name])
    options |= figures(device)
    return option_list(options, texts=("type", "unsupported", "group", "switch"), words=("io", "duplex"))


WORDS = ("routing", "overlap", "send", "duplex")
"""Options of links whose values are words."""


def _interconnect(problem: Problem) -> Iterator[str]:
    joined = problem.interconnect
    sized = bool(problem.graph.output.any() or problem.graph.sizes.any())
    rate = "B/s" if (problem.graph.size_unit == "B" if sized else problem.time_unit) else ""
    if isinstance(joined, Links):
        yield from _links(problem, joined, rate)
        return
    if isinstance(joined, Tree):
        yield f"interconnect tree{option_list(split_options(joined), words=('overlap', 'send'))}"
        return
    options: dict[str, Any] = {"bandwidth": quantity(joined.bandwidth, rate)}
    if joined.overflow:
        options["overflow"] = joined.streaming
    if joined.between is not None:
        options["between"] = quantity(joined.between, rate)
    yield f"interconnect {joined.keyword}{option_list(options, words=('overflow',))}"


def _links(problem: Problem, links: Links, rate: str) -> Iterator[str]:
    """Yield what joins each pair of devices: all alike in one statement, others by pairs."""
    k = problem.k
    routing: dict[str, Any] = {"routing": links.routing} if links.routing != "widest" else {}
    routing |= split_options(links)
    pairs = [(d, e) for d in range(k) for e in range(k) if d != e]
    texts = {(d, e): _link(float(links.bandwidth[d, e]), float(links.latency[d, e]), rate, problem) for d, e in pairs}
    alike = set(texts.values())
    if len(alike) == 1 and (common := next(iter(alike))) is not None:
        yield f"interconnect links{option_list({**common_options(common), **routing}, words=WORDS)}"
        return
    yield f"interconnect links{option_list(routing, words=WORDS)}"
    names = [quoted(device.name) for device in problem.devices]
    for (d, e), given in texts.items():
        both = texts[e, d] == given
        if given is not None and not (both and d > e):
            arrow = "<->" if both else "->"
            yield f"link {names[d]} {arrow} {names[e]}{option_list(common_options(given))}"


def common_options(given: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the options of a link by name."""
    return dict(given)


def _link(bandwidth: float, latency: float, rate: str, problem: Problem) -> tuple[tuple[str, str], ...] | None:
    """Return the options of a link, or None where there is none."""
    if bandwidth == 0:
        return None
    options = [] if np.isinf(bandwidth) else [("bandwidth", quantity(bandwidth, rate))]
    if latency or not options:
        options.append(("latency", quantity(latency, problem.time_unit)))
    return tuple(options)


def _transfers(problem: Problem) -> Iterator[str]:
    """Yield the times of transfers that do not follow from the links, those of one edge and one time together."""
    links, graph = problem.interconnect, problem.graph
    if not isinstance(links, Links) or links.transfers is None:
        return
    usual = transfers(replace(links, transfers=None), graph)
    names = [quoted(device.name) for device in problem.devices]
    pairs = [(d, e) for d in range(problem.k) for e in range(problem.k) if d != e]
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    differ = False
    for edge in range(graph.m):
        given = links.transfers[edge][first, second]
        odd = given != usual.along(np.full(len(pairs), edge), first, second)
        ends = (node_text(graph, int(v)) for v in (graph.tails[edge], graph.heads[edge]))
        tail, head = (end if end[0] == '"' else f"{{{end}}}" for end in ends)
        who = f"time {tail} -> {head} on"
        if pairs and (not differ or odd.all()) and (given == given[0]).all():
            yield f"{who} devices -> devices = {quantity(float(given[0]), problem.time_unit)}"
            differ = True
            continue
        for p in np.flatnonzero(odd if differ else np.ones(len(pairs), np.bool_)).tolist():
            d, e = pairs[p]
            yield f"{who} {names[d]} -> {names[e]} = {quantity(float(given[p]), problem.time_unit)}"
        differ = True


def _times(problem: Problem) -> Iterator[str]:
    """Yield the times that do not follow from work and speed, or from costs, those of equal devices together."""
    costs = with_costs(problem.graph)
    if problem.phases:
        for phase in problem.phases:
            yield from _times_alone(problem.phase(phase), f" in {phase}", costs)
        return
    yield from _times_alone(problem, "", costs)


def _times_alone(problem: Problem, phase: str, costs: Bools) -> Iterator[str]:
    """Yield the times of one phase, or of a problem without phases; *costs*: [n] the nodes whose costs are said."""
    graph = problem.graph
    odd = [_odd(problem, d, costs) for d in range(problem.k)]
    by_law = [modelled(graph, device, costs) for device in problem.devices]
    columns: dict[tuple[bytes, bytes], list[int]] = {}
    for d in range(problem.k):
        column = np.where(odd[d], problem.time[:, d], np.nan).tobytes()
        columns.setdefault((column, by_law[d].tobytes()), []).append(d)
    whole = (graph.work == 0) & np.array(odd).any(axis=0)
    for devices in columns.values():
        where = named(problem.devices[d].name for d in devices)
        d = devices[0]
        supported = np.array([kind not in problem.devices[d].unsupported for kind in graph.kinds], np.bool_)
        for v in np.flatnonzero(odd[d] | (whole & supported & ~by_law[d])).tolist():
            time = quantity(float(problem.time[v, d]), problem.time_unit)
            yield f"time {node_text(graph, v)} on {where}{phase} = {time}"


def _odd(problem: Problem, d: int, costs: Bools) -> Bools:
    """Return [n] whether the time of each node on a device is none that its work, its kind or its costs say."""
    device, graph = problem.devices[d], problem.graph
    supported = np.array([kind not in device.unsupported for kind in graph.kinds], np.bool_)
    usual = (problem.time[:, d] == graph.work / device.speed) & ~(costs & (graph.work == 0))
    odd: Bools = ~usual & ~modelled(graph, device, costs) & supported
    return odd


def _batch_times(problem: Problem) -> Iterator[str]:
    """Yield the times of batches, those of devices with one table together."""
    graph = problem.graph
    tables: dict[tuple[tuple[int, bytes], ...], list[Device]] = {}
    for device in problem.devices:
        known = _table(graph, device)
        if known:
            tables.setdefault(tuple((size, row.tobytes()) for size, row in known.items()), []).append(device)
    for devices in tables.values():
        where = named(device.name for device in devices)
        for size, row in _table(graph, devices[0]).items():
            for v in np.flatnonzero(~np.isnan(row)).tolist():
                time = quantity(float(row[v]), problem.time_unit)
                yield f"time {node_text(graph, v)} on {where} at batch {size} = {time}"


def _table(graph: Graph, device: Device) -> Mapping[int, Floats]:
    """Return the times of batches on a device by their sizes: those of its name, or of its type."""
    return graph.batch_times.get(device.name, graph.batch_times.get(device.type, {}))


def _objectives(problem: Problem) -> Iterator[str]:
    return (objective_text(problem, objective) for objective in problem.objectives)


def _constraints(problem: Problem) -> Iterator[str]:
    """Yield the constraints in their order; rows of one label that follow each other are one statement."""
    for is_row, group in groupby(free_of(problem).constraints, key=lambda rule: isinstance(rule, c.Linear)):
        if is_row:
            yield from row_texts(problem, [rule for rule in group if isinstance(rule, c.Linear)])
        else:
            for rule in group:
                if not _asks_nothing(problem, rule):
                    yield f"constraint {_rule(problem, rule)}"


def _asks_nothing(problem: Problem, rule: c.Constraint) -> bool:
    """Return whether every plan keeps a constraint, which a spec then may not say."""
    if isinstance(rule, c.Memory):
        return _limited(problem, rule) == ()
    return isinstance(rule, (c.Colocate, c.Separate)) and len(rule.nodes) < 2


def _limited(problem: Problem, rule: c.Memory) -> tuple[int, ...] | None:
    """Return the devices whose memory a constraint limits; None where it is about all, and limits some."""
    chosen = range(problem.k) if rule.devices is None else rule.devices
    limited = tuple(d for d in chosen if problem.devices[d].memory is not None)
    return None if rule.devices is None and limited else limited


def _rule(problem: Problem, rule: c.Constraint) -> str:
    """Return what stands behind the word ``constraint``."""
    match rule:
        case c.Acyclic():
            return "acyclic" + _options_besides(parts=(rule.parts, "both"), groups=(rule.groups, "ordered"))
        case c.Contiguous():
            return "contiguous" + _on(problem, rule.devices) + _options_besides(parts=(rule.parts, "both"))
        case c.Memory() if rule.pool is not None:
            block = None if rule.pool.block == 1 else rule.pool.block
            return "cache uniform" + option_list({"tokens": rule.pool.tokens, "block": block})
        case c.Memory():
            return "memory" + _on(problem, _limited(problem, rule))
        case c.StageMemory():
            given: dict[str, Any] = {"schedule": rule.schedule, "microbatches": rule.microbatches}
            given["recompute"] = None if rule.recompute == "never" else rule.recompute
            return "memory" + _on(problem, rule.devices) + option_list(given, words=("schedule", "recompute"))
        case c.Shard():
            return _shard(problem, rule)
        case c.Colocate() | c.Separate():
            return f"{rule.keyword} {_nodes(problem, sorted(rule.nodes))}"
        case c.Pin() | c.Forbid():
            return f"{rule.keyword} {_nodes(problem, sorted(rule.nodes))}{_on(problem, rule.devices)}"
        case c.Subgraphs():
            return f"subgraphs at most {rule.most}" + _on(problem, rule.devices)
        case c.ExclusiveLinks():
            return "exclusive links"
        case c.BatchSizes() if problem.objective.batch is None:
            raise UsageError(f"batch sizes mean nothing to {problem.objective}, and no spec says them beside it")
        case c.BatchSizes():
            return f"batch{_on(problem, rule.devices)} in [{', '.join(map(str, rule.sizes))}]"
        case c.Repeat() if problem.objective.batch is None:
            raise UsageError(f"several batches mean nothing to {problem.objective}, and no spec says them beside it")
        case c.Repeat():
            return f"repeat up to {rule.most}{_on(problem, rule.devices)}"
        case c.Replicate():
            some = rule.devices is not None and len(rule.devices) < problem.k
            where = named(problem.devices[d].name for d in sorted(rule.devices or ())) if some else "devices"
            return f"replicate {where} up to {rule.most}" + _options_besides(sync=(rule.sync, None))
        case c.Robust():
            return f"robust up to {rule.most}" + option_list({"deviation": percent(rule.share)} if rule.share else {})
        case c.Copies():
            return f"copies up to {rule.most}" + _options_besides(share=(rule.share, "any"))
        case c.InOrder():
            return "stages" + _in_order(problem, rule.devices) + _options_besides(empty=(rule.empty, "allowed"))
        case c.BreakSymmetry():
            return f"break symmetry by {rule.by}" + _options_besides(scope=(rule.scope, "both"))
        case CustomConstraint():
            return _custom(problem, rule)
    raise UsageError(f"constraint {rule} cannot be said in a spec: it has no statement")


def _shard(problem: Problem, rule: c.Shard) -> str:
    """Return what stands behind the word ``constraint`` of nodes that may be split over devices."""
    some = rule.devices is not None and len(rule.devices) < problem.k
    where = named(problem.devices[d].name for d in sorted(rule.devices or ())) if some else "devices"
    pairs = zip(rule.by, rule.speedup, strict=False)
    faster = ", ".join(f"{t}: {value(speed)}" for t, speed in pairs if speed != t)
    return f"shard {where} by [{', '.join(map(str, rule.by))}]" + (f" (speedup = {{{faster}}})" if faster else "")


def _options_besides(**options: tuple[object, object]) -> str:
    """Return the options that differ from their defaults."""
    return option_list({key: given for key, (given, usual) in options.items() if given != usual}, words=[*options])


def _nodes(problem: Problem, nodes: Iterable[int]) -> str:
    texts = [node_text(problem.graph, v) for v in nodes]
    return ", ".join(texts) if texts else named(())


def _on(problem: Problem, devices: tuple[int, ...] | None) -> str:
    return _in_order(problem, None if devices is None else tuple(sorted(devices)))


def _in_order(problem: Problem, devices: tuple[int, ...] | None) -> str:
    return "" if devices is None else f" on {named(problem.devices[d].name for d in devices)}"


def _custom(problem: Problem, rule: CustomConstraint) -> str:
    """Return the statement of a plug-in's constraint, as the plug-in says it."""
    text = rule.statement()
    units = {"time": problem.time_unit, "size": problem.graph.memory_unit}
    options: dict[str, Any] = {}
    for name, given in text.options.items():
        kind = rule.options[name].kind
        if given != rule.options[name].default:
            options[name] = quantity(float(given), units[kind]) if kind in units else given
    texts = [name for name, option in rule.options.items() if option.kind in ("text", "word")]
    sets = ", ".join(f"[{_nodes(problem, nodes)}]" for nodes in text.sets)
    members = f" {sets}" if sets else ""
    return f"{rule.keyword}{members}{_in_order(problem, text.devices)}{option_list(options, texts=texts)}"


def _target(problem: Problem) -> Iterator[str]:
    """Yield the runtime that the problem is for; its constraints are not said."""
    if problem.target is not None:
        yield f"target {quoted(problem.target.name)}"


_PARTS = (
    _phases,
    _devices,
    _interconnect,
    switches,
    _transfers,
    _times,
    _batch_times,
    _objectives,
    _constraints,
    _target,
)
