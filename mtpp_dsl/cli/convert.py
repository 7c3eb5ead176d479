"""``mtpp convert``: a graph or a model from one format to another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mtpp_dsl.cli.calls import ConvertCall
from mtpp_dsl.cli.parameters import key_values
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core import registry
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.base.writing import check_writable
from mtpp_dsl.core.contracts.protocols import Format
from mtpp_dsl.core.errors import OptionError, UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.formats.reading import read as read_graph_file
from mtpp_dsl.exchange.formats.reading import read_model
from mtpp_dsl.exchange.formats.workload import Workload

OPTIONS = ("group_by", "phase", "weight_type", "ties", "experts_read")
"""How a model becomes a graph."""


def convert_file(call: ConvertCall) -> int:
    """Read a file, write it in another format and say what was written; return the exit code.

    A model stays a model where the new format holds models and nothing is chosen of it; else it becomes a graph.

    Raises:
        UsageError: a file that cannot be read or written, or a format that cannot say what is in the graph.
    """
    check_writable(call.target)
    chosen = {name: getattr(call, name) for name in OPTIONS}
    options = {name: value for name, value in chosen.items() if value is not None} | _symbols(call.size)
    model = read_model(call.source, call.read_as)
    name = call.write_as or _target_format(call.target, model is not None and not options and not call.sum_costs)
    writer = registry.load(registry.FORMATS, name)()
    if hasattr(writer, "write_model"):
        if model is None:
            raise UsageError(f"{call.source} holds a graph, not a model: format {name} is for models; write --to graph")
        if options or call.sum_costs:
            raise UsageError(f"format {name} keeps the whole model: leave out the options, or write --to graph")
        files = writer.write_model(model, call.target)
        _tell(call, files, f"{counted(model.n, 'operator')} of a model", model.warnings)
        return 0
    if not hasattr(writer, "write"):
        raise UsageError(f"format {name} can only be read; those that can be written are {', '.join(_writable())}")
    workload = read_graph_file(call.source, call.read_as, options)
    graph = _summed(workload.graph) if call.sum_costs else workload.graph
    files = writer.write(Workload(_alone(graph, name)), call.target)
    counts = f"{counted(graph.n, 'node')}, {counted(graph.m, 'edge')}"
    _tell(call, files, counts, (*workload.warnings, *_lost(workload)))
    return 0


def _symbols(sizes: list[str]) -> dict[str, int]:
    """Return the values of symbols that ``--size`` gives."""
    values = {}
    for name, text in key_values(sizes, "--size").items():
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise OptionError(f"--size {name}={text[:30]}: expected a whole number", name)
        values[name] = int(text)
    return values


def _target_format(target: Path, as_model: bool) -> str:
    """Return the format that a file of this name is written in."""
    fitting = [name for name in _writable() if target.suffix.lower() in registry.load(registry.FORMATS, name).suffixes]
    for_models = [name for name in fitting if hasattr(registry.load(registry.FORMATS, name), "write_model")]
    chosen = for_models if as_model and for_models else [name for name in fitting if name not in for_models]
    if len(chosen) != 1:
        could = f"could be {' or '.join(chosen)}" if chosen else "is of no format that can be written"
        raise UsageError(f"{target} {could}; say which with --to: {', '.join(_writable())}")
    return chosen[0]


def _writable() -> list[str]:
    """Return the formats that can be written."""
    plugins: dict[str, type[Format]] = {
        name: registry.load(registry.FORMATS, name) for name in registry.available(registry.FORMATS)
    }
    return [name for name, plugin in plugins.items() if hasattr(plugin, "write") or hasattr(plugin, "write_model")]


def _alone(graph: Graph, name: str) -> Graph:
    """Return a graph whose operators are called as their nodes, where a node has one: formats of rows have no more."""
    costs = graph.costs
    if name == "graph" or costs is None or len(np.unique(costs.owner)) < len(costs):
        return graph
    kinds = tuple(graph.kinds[v] or kind for v, kind in zip(costs.owner.tolist(), costs.kinds, strict=True))
    named = list(graph.kinds)
    for v, kind in zip(costs.owner.tolist(), kinds, strict=True):
        named[v] = kind
    return replace(graph, kinds=tuple(named), costs=replace(costs, kinds=kinds, names=("",) * len(costs)))


def _summed(graph: Graph) -> Graph:
    """Return a graph whose nodes have one operator each, that does what all of theirs do together."""
    if graph.phases:
        raise UsageError("--sum-costs is for one phase: choose it with --phase")
    costs = graph.costs
    if costs is None:
        return graph
    nodes = costs.nodes.tolist()
    columns: dict[str, Any] = {
        what: costs.per_node(getattr(costs, what), graph.n)[nodes] for what in ("flop", "read", "write")
    }
    moved = np.nan_to_num(costs.read + costs.write)
    heaviest = [max(costs.items_of(v), key=lambda item: (np.nan_to_num(costs.flop[item]), moved[item])) for v in nodes]
    dtypes = [costs.dtypes[item] for item in heaviest]
    kinds = [graph.kinds[v] for v in nodes]
    return replace(graph, costs=Costs.create(nodes, **columns, kinds=kinds, dtypes=dtypes))


def _lost(workload: Workload) -> list[str]:
    """Return what of a file is not in the new one."""
    warnings = []
    if workload.devices:
        warnings.append(
            "the devices of the file and what joins them are not in the new file, which is of the graph alone"
        )
    origin = workload.graph.origin
    if origin is not None:
        warnings.append("the new file does not know the model: plans of it cannot be exported to runtimes")
        for tie in origin.ties:
            nodes = ", ".join(f'"{workload.graph.names[v]}"' for v in tie.nodes)
            warnings.append(f"{tie.name}: say in the spec 'constraint colocate {nodes}', or convert with --ties copy")
    return warnings


def _tell(call: ConvertCall, files: tuple[Path, ...], what: str, warnings: tuple[str, ...] | list[str]) -> None:
    for warning in warnings:
        say(f"warning: {warning}", stderr=True)
    if not call.quiet:
        say(f"wrote {', '.join(map(str, files))}: {what}")
