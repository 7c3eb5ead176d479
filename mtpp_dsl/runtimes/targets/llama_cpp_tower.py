"""Where llama.cpp has the tower of a model that reads images: all of it on one device, which a launch line may name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.launch_line import ON_HOST, LaunchLine
from mtpp_dsl.runtimes.targets.llama_cpp_devices import LlamaCppNames
from mtpp_dsl.runtimes.targets.stages import is_cpu

__all__ = ["BEHIND", "homes_of", "joins_of", "source_of", "tower_home", "tower_of", "tower_options"]

FILE = ' --mmproj "${2:?which mmproj file?}"'
"""The option of the script that takes the file of the tower."""

BEHIND = "behind the device of the first layer: llama.cpp runs that, and the target leaves it out"


def tower_of(problem: Problem) -> tuple[int, ...]:
    """Return the nodes of what reads images: those of the role or the kind "tower", and what lies between them."""
    graph = problem.graph
    roles = graph.kinds if graph.origin is None else graph.origin.roles
    own = {v for v in range(graph.n) if "tower" in (graph.kinds[v], roles[v])}
    if not own:
        return ()
    order = graph.topological_order.tolist()
    behind, ahead = set(own), set(own)
    for v in order:
        if not behind.isdisjoint(graph.predecessors(v).tolist()):
            behind.add(v)
    for v in reversed(order):
        if not ahead.isdisjoint(graph.successors(v).tolist()):
            ahead.add(v)
    return tuple(sorted(own | (behind & ahead)))


def joins_of(problem: Problem, before: Sequence[int]) -> tuple[int, ...]:
    """Return those of *before*, which can run in this order, that depend on the tower and hold no weights."""
    graph, tower = problem.graph, tower_of(problem)
    behind = set(tower)
    for v in before:
        if not behind.isdisjoint(graph.predecessors(v).tolist()):
            behind.add(v)
    return tuple(sorted(v for v in behind.difference(tower) if not graph.params[v]))


def homes_of(problem: Problem, assignment: Sequence[int]) -> list[int]:
    """Return the devices on which a plan has the tower, rising; none where there is no tower."""
    homes: list[int] = np.unique([assignment[v] for v in tower_of(problem)]).tolist()
    return [int(d) for d in homes]


def source_of(problem: Problem) -> str:
    """Return ", from" the file of the tower, where the graph comes from one."""
    origin = problem.graph.origin
    name = None if origin is None else origin.model.source.arguments.get("mmproj")
    return f", from {name:.80}" if isinstance(name, str) else ""


def tower_options(problem: Problem, home: int, names: LlamaCppNames) -> str:
    """Return the options that take the file of a tower and have it on a device: the first GPU needs none."""
    if is_cpu(problem.devices[home]):
        return f"{FILE} --no-mmproj-offload"
    return FILE if home == names.gpus[0] else f"{FILE} -mmdev {names.name[home]}"


def tower_home(problem: Problem, line: LaunchLine, names: LlamaCppNames) -> tuple[int | None, tuple[str, ...]]:
    """Return the device that has the tower by a launch line, None where the spec has none, and what should be said.

    Without an option of its own the tower is on the first of ``--device``, or else on the first GPU of the machine
    itself, those of servers coming last (``clip_ctx`` of clip.cpp, ``common_params_parse_ex`` of arg.cpp).

    Raises:
        UnsoundSplit: it is on a device that the spec does not have, or the line leaves it out.
    """
    if not tower_of(problem):
        more = "the line loads what reads images (--mmproj), which the spec does not have: keep room for it"
        return None, (more,) if line.reads_images else ()
    if line.reads_images is False:
        raise UnsoundSplit("--no-mmproj leaves out what reads images, which the spec has")
    cpu = next((d for d, device in enumerate(problem.devices) if is_cpu(device)), None)
    if line.tower == ON_HOST or not names.gpus:
        if cpu is None:
            raise UnsoundSplit("the line has what reads images on the host, and the spec has no CPU")
        return cpu, ()
    by_name = {name: d for d, name in names.name.items()}
    if line.tower is None:
        if line.devices is not None:
            return by_name[line.devices[0]], ()
        return next((d for d in names.gpus if d not in names.address), names.gpus[0]), ()
    if line.tower not in by_name:
        known = ", ".join(f"{name} is {problem.devices[d].name}" for name, d in by_name.items())
        raise UnsoundSplit(f"-mmdev {line.tower[:40]} is none of the GPUs of the spec: {known}")
    return by_name[line.tower], ()
