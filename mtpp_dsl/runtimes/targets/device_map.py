"""Device maps of accelerate and transformers: the device of each module."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mtpp_dsl.core.base.files import MAX_FILE_BYTES, parse_json, read_bytes
from mtpp_dsl.core.constraints import Colocate, Memory, StageMemory
from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph_origin import GraphOrigin
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import escaped
from mtpp_dsl.runtimes.targets.graph_modules import Module, modules_of
from mtpp_dsl.runtimes.targets.stages import is_cpu, origin_of, plain_plan, refuse_beyond

Place = int | str
MAX_ENTRIES = 100_000
"""Of a map; more are refused."""


class DeviceMap:
    """A map from modules to devices, whole layers each: numbers for accelerators in their order, "cpu" for the host.

    Layers may be in any order on the devices. Weights that modules share are on one device.
    """

    name = "device-map"
    summary = "accelerate and transformers: device_map, a JSON file"
    runtime = "accelerate"

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem with whole layers, and memories that are kept to."""
        refuse_beyond(problem, self.runtime)
        _places(problem)
        origin = origin_of(self.name)
        kept = [*_whole(problem), *_beside_inputs(problem)]
        whole = [Colocate(nodes=nodes, origin=origin) for nodes in kept if len(nodes) > 1]
        stated = any(isinstance(rule, (Memory, StageMemory)) for rule in problem.constraints)
        limited = not stated and any(device.memory is not None for device in problem.devices)
        return problem.with_constraints([*problem.constraints, *whole, *([Memory(origin=origin)] if limited else [])])

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the map as JSON, and beside it a manifest."""
        plain_plan(plan, self.runtime)
        places = _places(problem)
        device_of: dict[str, Place] = {}
        for nodes in _whole(problem):
            homes = {int(plan.assignment[v]) for v in nodes}
            if len(homes) > 1:
                names = " and ".join(problem.devices[d].name for d in sorted(homes))
                raise UsageError(
                    f"{self.runtime} cannot run this plan: {problem.graph.names[nodes[0]]} and the rest of its layer "
                    f"are on {names}; add 'constraint colocate', or solve with --for {self.name}"
                )
        device_of |= {
            m.path: places[plan.assignment[m.nodes[0]]] for m in modules_of(problem.graph, chain=False) if m.weighs
        }
        device_of |= _without_nodes(problem, plan, device_of, places)
        device_of |= _of_others(problem, plan, device_of, places)
        contents = {"device_map.json": device_of, "device_map.manifest.json": stamp.to_json()}
        return {name: escaped(json.dumps(content, indent=2)) + "\n" for name, content in contents.items()}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a map: every module on a device of the spec, no layer on two."""
        name = str(source) if isinstance(source, Path) else "the device map"
        data = parse_json(read_bytes(source, MAX_FILE_BYTES) if isinstance(source, Path) else source.encode(), name)
        if not isinstance(data, dict) or not all(isinstance(place, (int, str)) for place in data.values()):
            raise UsageError(f"{name} is no device map: an object that gives modules their devices")
        if len(data) > MAX_ENTRIES:
            raise UsageError(f"{name} has {len(data):,} entries; {MAX_ENTRIES:,} are read")
        given = {path: _device(problem, path, place) for path, place in data.items()}
        modules = modules_of(problem.graph, chain=False)
        _check_paths(problem, given, modules)
        homes = [0] * problem.graph.n
        for module in modules:
            around = not module.weighs and any(path.startswith(f"{module.path}.") for path in given)
            home = None if around else _home(given, module)
            if home is None and module.weighs:
                raise UnsoundSplit(f"module {module.path!r} is lost: the map gives it no device")
            for v in module.nodes:
                homes[v] = -1 if home is None else home
        return Split(tuple(_settled(problem, homes)))


def _whole(problem: Problem) -> list[tuple[int, ...]]:
    """Return the nodes of each layer, and of each module outside the layers with what is in it."""
    modules = modules_of(problem.graph, chain=False)
    weighing = {module.path for module in modules if module.weighs and module.layer is None}
    groups: dict[object, list[int]] = {}
    for module in modules:
        around = [path for path in (*reversed(_parents(module.path)), module.path) if path in weighing]
        key = (*around, module.nodes)[0] if module.layer is None else module.layer
        groups.setdefault(key, []).extend(module.nodes)
    return [tuple(sorted(nodes)) for nodes in groups.values()]


def _beside_inputs(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Yield each node outside the layers that has no weights, with what it reads.

    Such operators are of a module around others, which runs them wherever their inputs are, all of them on one device.
    """
    graph = problem.graph
    reads: dict[int, list[int]] = {}
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        reads.setdefault(v, []).append(u)
    for module in modules_of(graph, chain=False):
        if not module.weighs and module.layer is None:
            for v in module.nodes:
                yield tuple(sorted({v, *reads.get(v, ())}))


def _places(problem: Problem) -> list[Place]:
    """Return what maps call each device.

    Raises:
        UsageError: there are two CPUs.
    """
    places: list[Place] = []
    for device in problem.devices:
        if is_cpu(device):
            if "cpu" in places:
                raise UsageError(f"accelerate knows one host, and {device.name} is a second CPU: declare one")
            places.append("cpu")
        else:
            places.append(sum(isinstance(place, int) for place in places))
    return places


def _device(problem: Problem, path: str, place: Place) -> int:
    """Return the number of the device that a map calls *place*.

    Raises:
        UnsoundSplit: the spec has no such device.
    """
    match = re.fullmatch(r"(?:cuda|xpu|npu|mps|hpu)(?::(\d{1,6}))?", place) if isinstance(place, str) else None
    called: Place = place if match is None else int(match[1] or 0)
    places = _places(problem)
    if isinstance(called, bool) or called not in places:
        raise UnsoundSplit(
            f"module {path!r} is on {place!r}, and the devices of the spec are {', '.join(map(repr, places))}, as maps "
            "call them"
        )
    return places.index(called)


def _without_nodes(
    problem: Problem, plan: Plan, device_of: Mapping[str, Place], places: list[Place]
) -> dict[str, Place]:
    """Return the modules that are computed anew and are neither in the map nor around what is: rotary tables.

    Others without weights, such as dropout, stay out of the map: they run where their inputs are, each time.
    """
    origin = problem.graph.origin
    if origin is None:
        return {}
    more: dict[str, Place] = {}
    operators = origin.model.operators
    for v, members in enumerate(origin.members):
        for i in members:
            path = operators[i].path
            parents = {path, *_parents(path)}
            around = not path or any(other.startswith(f"{path}.") for other in device_of)
            if operators[i].recomputable and not around and not parents & (device_of.keys() | more.keys()):
                more[path] = places[plan.assignment[v]]
    return more


def _of_others(problem: Problem, plan: Plan, device_of: Mapping[str, Place], places: list[Place]) -> dict[str, Place]:
    """Return the names of weights that no module in the map holds, on the device that reads them.

    They are of modules without operators: of one that others share, such as T5's ``shared``, and of one around others,
    such as the bias of BERT's ``cls.predictions``, where the name of the weight itself stands in the map.
    """
    origin = problem.graph.origin
    if origin is None:
        return {}
    more: dict[str, Place] = {}
    for w, weight in enumerate(origin.model.weights):
        for name in (weight.name, *weight.tied):
            if device_of.keys() & {name, *_parents(name)}:
                continue
            path = name.rpartition(".")[0]
            around = any(other.startswith(f"{path}.") for other in device_of)
            more[name if around else path] = places[plan.assignment[_reader(origin, w)]]
    return more


def _reader(origin: GraphOrigin, weight: int) -> int:
    """Return a node that reads a weight."""
    operators = origin.model.operators
    return next(v for v, own in enumerate(origin.members) if any(weight in operators[i].weights for i in own))


def _check_paths(problem: Problem, given: Mapping[str, int], modules: tuple[Module, ...]) -> None:
    """Refuse paths that are no module, and layers of which parts are on different devices.

    Raises:
        UnsoundSplit: so it is.
    """
    origin = problem.graph.origin
    known = {module.path for module in modules}
    if origin is not None:
        known |= {one.path for one in origin.model.operators}
        known |= {name for weight in origin.model.weights for name in (weight.name, *weight.tied)}
    around = {""} | known
    for path in known:
        around |= set(_parents(path))
    for path in given:
        if path not in around and (origin is not None or not around - {""} & set(_parents(path))):
            raise UnsoundSplit(f"there is no module {path!r}{did_you_mean(path, around - {''})}")
    for weight in () if origin is None else origin.model.weights:
        names = (weight.name, *weight.tied)
        if not any(given.keys() & {name, *_parents(name)} for name in names):
            raise UnsoundSplit(f"weight {weight.name!r} is lost: the map gives no device to a module around it")


def _parents(path: str) -> list[str]:
    """Return the paths of the modules around one, "" for the whole model the last."""
    parts = path.split(".")
    return [".".join(parts[:i]) for i in reversed(range(len(parts)))]


def _home(given: Mapping[str, int], module: Module) -> int | None:
    """Return the device of a module: of itself, of the module around it, or of all of its parts.

    Raises:
        UnsoundSplit: parts of it are on different devices, or it is doubled: on another device than its parts.
    """
    path: str | None = module.path
    above = None
    while path is not None:
        if path in given:
            above = given[path]
            break
        path = path.rpartition(".")[0] if path else None
    inside = {given[other] for other in given if other.startswith(f"{module.path}.")}
    homes = inside | ({above} if above is not None else set())
    if len(homes) > 1:
        raise UnsoundSplit(f"module {module.path!r} is on several devices, and accelerate runs it on one")
    return homes.pop() if homes else None


def _settled(problem: Problem, homes: list[int]) -> list[int]:
    """Return the devices of all nodes: those that the map lacks run where their inputs are, or else their readers."""
    graph, order = problem.graph, problem.graph.topological_order.tolist()
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    reads: dict[int, list[int]] = {}
    readers: dict[int, list[int]] = {}
    for u, v in edges:
        reads.setdefault(v, []).append(u)
        readers.setdefault(u, []).append(v)
    for near, nodes in ((reads, order), (readers, order[::-1]), (reads, order)):
        for v in nodes:
            if homes[v] < 0:
                homes[v] = next((homes[u] for u in near.get(v, ()) if homes[u] >= 0), -1)
    return [max(home, 0) for home in homes]
