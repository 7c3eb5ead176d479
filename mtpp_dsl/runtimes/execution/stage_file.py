"""Build the stages of a split from a torch model: the part of ``stages.py`` that is the same in every export.

This file needs torch and the standard library alone. A stage is a module of its own: it holds the operators and the
weights of its part, takes what the stage before it sends, and sends on what any later stage reads.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.exchange.importers.torch_names import operator_names

__all__ = ["Input", "SplitError", "StageFile", "exported", "flat", "split_graph"]

Input = Mapping[str, Any]
"""An input of a model: its ``name``, its ``dtype`` as torch calls it, its ``shape`` of numbers and names of symbols."""
Symbols = Mapping[str, Sequence[Any]]
"""The sizes that are open, each with the least and the largest value; None for no end."""
TRACED = (3, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127)
"""Sizes to export with: no two equal, and none that torch would take for a number that is always the same."""


class SplitError(ValueError):
    """The split does not fit the model, or its stages cannot run one after the other."""


@dataclass(frozen=True)
class StageFile:
    """A part of a model.

    Attributes:
        device: the device that the plan gives it.
        module: takes the tensors *receives*, in this order, and returns a tuple with those in *sends*.
        receives, sends: the values by their names in the exported graph.
    """

    device: str
    module: Any
    receives: tuple[str, ...]
    sends: tuple[str, ...]


def flat(values: Any) -> tuple[Any, ...]:
    """Return the tensors in nested arguments or results, in the order in which torch.export has them."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(values)
    return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


def exported(model: Any, inputs: Sequence[Input], symbols: Symbols) -> Any:
    """Return the graph of a model as a module that computes the same, for all sizes that the symbols may have.

    Args:
        model: takes *inputs* as its first arguments.
        inputs: their names, types and sizes.
        symbols: the sizes that are open, each with the least and the largest value; None for no end.

    Raises:
        SplitError: an input has a size that is neither a number nor one of the symbols.
    """
    import torch

    named = list(inspect.signature(model.forward).parameters)
    if [one_input["name"] for one_input in inputs] != named[: len(inputs)]:
        raise SplitError(
            f"the inputs are {', '.join(one_input['name'] for one_input in inputs)}; forward has {', '.join(named)}"
        )
    sizes = dict(zip(symbols, TRACED, strict=False))
    dims = {name: torch.export.Dim(name, min=least, max=most) for name, (least, most) in symbols.items()}
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    args, shapes = [], []
    for one_input in inputs:
        open_sizes = {place: size for place, size in enumerate(one_input["shape"]) if isinstance(size, str)}
        unknown = [size for size in open_sizes.values() if size not in sizes]
        if unknown:
            raise SplitError(f"input {one_input['name']} has the size {unknown[0]}, which is no symbol of the model")
        shape = [sizes.get(size, size) for size in one_input["shape"]]
        args.append(torch.zeros(shape, dtype=getattr(torch, one_input["dtype"]), device=device))
        shapes.append({place: dims[size] for place, size in open_sizes.items()})
    with torch.no_grad(), device, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's own code
        dynamic = tuple(shapes) if symbols else None
        program = torch.export.export(model, tuple(args), dynamic_shapes=dynamic, strict=False)
    return program.module(check_guards=False)


def run_stages(stages: Sequence[StageFile], args: Sequence[Any]) -> tuple[Any, ...]:
    """Run all stages one after the other in this process, and return the tensors that the model returns."""
    values = flat(tuple(args))
    for stage in stages:
        values = stage.module(*values)
    return values


def pipeline_stage(stages: Sequence[StageFile], rank: int, device: Any) -> Any:
    """Return the stage of process *rank* for a schedule of ``torch.distributed.pipelining``."""
    import torch
    from torch.distributed.pipelining import PipelineStage

    class Alone(torch.nn.Module):  # type: ignore[misc]
        """Returns a tensor in place of a tuple with one, as schedules want it."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = stages[rank].module

        def forward(self, *values: Any) -> Any:
            sent = self.inner(*values)
            return sent if len(sent) > 1 else sent[0]

    return PipelineStage(Alone().to(device), rank, len(stages), torch.device(device))


def split_graph(graph_module: Any, parts: Sequence[Iterable[str]], devices: Sequence[str]) -> list[StageFile]:
    """Return the stages of an exported model, one for each of *parts*, in their order.

    Args:
        graph_module: from :func:`exported`.
        parts: the operators of each stage by name. One may be in several: each of these computes it. A call that is no
            operator, such as a question for the size of a tensor, is done wherever it is read.
        devices: the name of the device of each stage.

    Raises:
        SplitError: an operator is missing, is none of the model's, or reads what a later stage computes.
    """
    nodes = list(graph_module.graph.nodes)
    places = _places(nodes, operator_names(graph_module.graph), [frozenset(part) for part in parts])
    _refuse_writes(nodes, places)
    inputs = [node for node in nodes if node.op == "placeholder" and _is_tensor(node)]
    results = _results(nodes)
    homes = dict.fromkeys(inputs, -1) | {node: min(where) for node, where in places.items() if where}
    until = _last_readers(places, homes)
    until |= dict.fromkeys(results, len(parts))
    stages = []
    for s, device in enumerate(devices):
        received = [a for a in (*inputs, *nodes) if a in homes and homes[a] < s <= until.get(a, -1)]
        received = list(dict.fromkeys(received)) if s else inputs
        if s == len(parts) - 1:
            sent = results
        else:
            sent = list(dict.fromkeys(a for a in (*inputs, *nodes) if a in homes and homes[a] <= s < until.get(a, -1)))
        module = _module(graph_module, nodes, places, s, received, sent)
        stages.append(StageFile(device, module, _names_of(received), _names_of(sent)))
    return stages


def _names_of(nodes: Iterable[Any]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def _is_tensor(node: Any) -> bool:
    import torch

    return isinstance(node.meta.get("val"), torch.Tensor)


def _results(nodes: Sequence[Any]) -> list[Any]:
    """Return the values that the model returns, constants and None left out."""
    import torch

    leaves = torch.utils._pytree.tree_leaves(nodes[-1].args[0])
    return [leaf for leaf in leaves if isinstance(leaf, torch.fx.Node)]


def _places(nodes: Sequence[Any], names: Mapping[Any, str], parts: Sequence[frozenset[str]]) -> dict[Any, set[int]]:
    """Return the stages that do each call; a call without readers, such as an assertion, belongs to no stage."""
    calls = [node for node in nodes if node.op in ("call_function", "call_module", "call_method")]
    known = {names[node] for node in calls if node in names}
    asked = frozenset().union(*parts)
    for missing, what in ((asked - known, "the model has no operator"), (known - asked, "no stage has the operator")):
        if missing:
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise SplitError(f"{what} {min(missing)}{more}: is it the model that the plan is for?")
    places: dict[Any, set[int]] = {}
    for node in calls:
        if node in names:
            places[node] = {s for s, part in enumerate(parts) if names[node] in part}
    for node in reversed(calls):
        if node not in names:
            places[node] = {s for user in node.users for s in places.get(user, set())}
    for node in calls:  # a list of tensors is not sent on: its items are taken where it is made
        if node.target is operator.getitem and node.args[0] in places:
            places[node] = places[node.args[0]]
    return places


def _last_readers(places: Mapping[Any, set[int]], homes: Mapping[Any, int]) -> dict[Any, int]:
    """Return the last stage that has to be sent each value.

    Raises:
        SplitError: a stage reads what a later one computes.
    """
    last: dict[Any, int] = {}
    for node, where in places.items():
        for value in node.all_input_nodes:
            for s in where:
                if value not in homes or s in places.get(value, ()):
                    continue
                if homes[value] > s:
                    raise SplitError(
                        f"stage {s} has {node.name}, which reads {value.name} of stage {homes[value]}, a later one"
                    )
                last[value] = max(last.get(value, -1), s)
    return last


def _refuse_writes(nodes: Sequence[Any], places: Mapping[Any, set[int]]) -> None:
    """Refuse operators that write into a tensor which more than their own stage reads."""
    for node in nodes:
        schema = getattr(node.target, "_schema", None)
        for i, argument in enumerate(schema.arguments if schema is not None else ()):
            written = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
            if argument.alias_info is None or not argument.alias_info.is_write or not hasattr(written, "users"):
                continue
            readers = [user for user in written.users if user in places]
            if any(places[user] != places.get(node) for user in readers) or places.get(written) != places.get(node):
                raise SplitError(f"{node.name} writes into {written.name}, which another stage has or reads")


def _module(
    whole: Any, nodes: Sequence[Any], places: Mapping[Any, set[int]], s: int, received: list[Any], sent: list[Any]
) -> Any:
    """Return the module of stage *s*; it has those of the model's parameters and buffers that its operators read."""
    import torch

    graph = torch.fx.Graph()
    copies = {value: graph.placeholder(value.name) for value in received}
    for node in nodes:
        if s not in places.get(node, ()):
            continue
        for value in node.all_input_nodes:
            if value.op == "get_attr" and value not in copies:
                copies[value] = graph.node_copy(value)
        copies[node] = graph.node_copy(node, lambda value: copies[value])
    for value in sent:
        if value.op == "get_attr" and value not in copies:
            copies[value] = graph.node_copy(value)
    graph.output(tuple(_as_sent(graph, value, copies[value]) for value in sent))
    graph.lint()
    return torch.fx.GraphModule(whole, graph)


def _as_sent(graph: Any, value: Any, copy: Any) -> Any:
    """Return a value as it can be sent: without gaps in memory."""
    import torch

    if not _is_tensor(value):
        return copy
    return graph.call_function(torch.ops.aten.contiguous.default, (copy,))
