"""Where the overrides of a launch line of llama.cpp put the tensors of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import Layout
from mtpp_dsl.runtimes.targets.launch_line import LaunchLine
from mtpp_dsl.runtimes.targets.layer_tensors import SMALL, LayerPart, rest_of
from mtpp_dsl.runtimes.targets.llama_cpp_devices import LlamaCppNames

EMBEDDING = "token_embd.weight"


def overridden(
    problem: Problem, stack: Layout, parts: Sequence[LayerPart], line: LaunchLine, names: LlamaCppNames
) -> tuple[dict[int, int], tuple[str, ...]]:
    """Return the devices of nodes whose tensors a line's overrides name, and what should be said of the others.

    Raises:
        UnsoundSplit: some tensors of a node are elsewhere than others, or tensors that the spec has with their layer
            are taken from it; a device is not there.
    """
    homes: dict[int, int] = {}
    for part in parts:
        tensors = part.tensors(problem)
        buffers = {name: _buffer(name, line) for name in tensors}
        places = {None if buffer is None else names.with_buffer(buffer) for buffer in buffers.values()}
        if len(places) > 1:
            one, other = (
                next(n for n in tensors if buffers[n] == b) for b in list(dict.fromkeys(buffers.values()))[:2]
            )
            raise UnsoundSplit(f"the overrides part {one} from {other}, which are one node of the spec")
        place = places.pop() if places else None
        if place is not None:
            homes |= dict.fromkeys(part.nodes, place)
    for name, where in rest_of(stack, parts):
        buffer = _buffer(name, line)
        if buffer is not None and (name, buffer) != (EMBEDDING, "CPU"):
            raise UnsoundSplit(
                f"an override puts {name} into {buffer}, which the spec has with {where}: from a layer it can part "
                "only what is a node of kind experts, shared_experts or ffn"
            )
    return homes, tuple(_small(stack, line))


def _buffer(name: str, line: LaunchLine) -> str | None:
    """Return where the first override that finds a tensor puts it; None where none does."""
    return next((override.buffer for override in line.overrides if override.finds(name)), None)


def _small(stack: Layout, line: LaunchLine) -> Iterable[str]:
    """Yield that small tensors are taken along."""
    taken = [n for n in SMALL if any(_buffer(f"blk.{i}.{n}", line) for i in range(len(stack.layers)))]
    if taken:
        yield f"the overrides take {', '.join(taken)} along, which counts with the attention of its layer here"
