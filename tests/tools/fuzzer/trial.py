"""One instance: read by the project, answered by its methods, each answer held against the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Any

import mtpp_dsl
from mtpp_dsl.errors import MtppError, Refused, SpecError
from tests.tools.fuzzer.instance import Instance
from tests.tools.fuzzer.loads import loads
from tests.tools.fuzzer.optimum import judge, optimum
from tests.tools.fuzzer.reading import differences

__all__ = ["METHODS", "QUICK", "Trial", "try_instance"]

TOLERANCE = 1e-6
_ONE_PART = ("auto", "exact", "ideals", "simple", "anchor", "node", "count", "configuration", "slicegraph", "dpl",
             "superblock", "guess", "branching", "fig3", "annealing", "diving", "local-search", "pipedream",
             "single-device", "random", "brkga", "mla", "mla-weighted")  # fmt: skip
_LINKS = ("auto", "moirai", "moirai+cp-sat", "critical-path", "interval", "simple", "branch-and-bound", "heft",
          "greedy", "met", "cpop", "peft", "etf", "m-sct", "getf", "placeto", "decomposition", "chain-relaxation",
          "milp-split", "piecewise", "split-bound", "ea", "annealing", "lns", "moirai-printed",
          "single-device")  # fmt: skip
METHODS: dict[str, tuple[str, ...]] = {
    "shared": _ONE_PART,
    "host": _ONE_PART,
    "links": _LINKS,
    "latency": ("auto", "latency", "latency-search", "path-hull", "published-greedy", "single-device"),
    "batch": ("auto", "batched", "batched+cp-sat", "batched-printed", "chunk-order", "critical-path", "simple", "heft",
              "greedy", "met", "milp-split", "piecewise", "split-bound", "ea", "annealing", "lns", "single-device"),
}  # fmt: skip
"""All methods of a family; ``+`` names a solver."""
QUICK: dict[str, tuple[str, ...]] = {
    "shared": ("auto", "exact", "ideals", "configuration", "count", "anchor", "branching", "slicegraph"),
    "host": ("auto", "exact", "ideals", "configuration", "count", "anchor", "dpl", "slicegraph"),
    "links": ("auto", "moirai", "interval", "critical-path", "branch-and-bound", "heft", "moirai", "etf"),
    "latency": ("latency", "path-hull", "latency", "published-greedy"),
    "batch": ("batched", "chunk-order", "critical-path", "heft", "batched", "simple", "greedy"),
}
"""Methods that take turns where an instance is answered by one or two only."""
BATCHED_PRINTED = "batched-printed"


@dataclass
class Trial:
    """What came of an instance.

    Attributes:
        answers: by method, "optimal", "feasible", "bound", "infeasible" or "unknown".
        refused: by method, why.
        failures: what is wrong, by method; "" is the reading.
        best: the least cost of any plan; None where there is none.
        unread: why the spec was refused as a whole.
    """

    answers: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    best: float | None = None
    unread: str = ""


def try_instance(inst: Instance, methods: Sequence[str], folder: Path, seconds: float) -> Trial:
    """Write an instance into a folder, read and solve it, and compare with its meaning and its optimum."""
    trial = Trial()
    try:
        problem = mtpp_dsl.load(inst.written(folder), **inst.defines)
    except SpecError as error:
        trial.unread = str(error)
        return trial
    except Exception as error:
        trial.failures.append(("", f"reading: {error!r}"))
        return trial
    trial.failures += [("", f"read differently: {what}") for what in differences(inst, problem)]
    if trial.failures:
        return trial
    trial.best = optimum(inst)
    for method in methods:
        try:
            _answer(inst, problem, method, seconds, trial)
        except Exception as error:  # whatever a method does is to be told with the seed
            where = " < ".join(
                f"{f.name} ({Path(f.filename).name}:{f.lineno})" for f in extract_tb(error.__traceback__)[::-1]
            )
            trial.failures.append((method, f"{type(error).__name__}: {error}; in {where}"))
    return trial


_NO_THREADS: set[str] = set()


def _solve(problem: Any, method: str, seconds: float) -> Any:
    name, _, solver = method.partition("+")
    options: dict[str, Any] = {"solver": solver} if solver else {}
    if method not in _NO_THREADS:
        try:
            return mtpp_dsl.solve(problem, name, time_limit=seconds, threads=1, **options)
        except MtppError as error:
            if "no use for threads" not in str(error):
                raise
            _NO_THREADS.add(method)
    return mtpp_dsl.solve(problem, name, time_limit=seconds, **options)


def _answer(inst: Instance, problem: Any, method: str, seconds: float, trial: Trial) -> None:
    try:
        result = _solve(problem, method, seconds)
    except Refused as error:
        trial.refused[method] = str(error).split(";")[0]
        return
    trial.answers[method] = result.status
    trial.failures += [(method, what) for what in wrong(inst, problem, result, method, trial.best)]


def wrong(inst: Instance, problem: Any, result: Any, method: str, best: float | None) -> Iterator[str]:
    """Yield what is wrong with an answer."""
    if result.status == "infeasible" and best is not None:
        yield f"called infeasible ({result.infeasibility.reason}), and a plan costs {best!r}"
    if result.bound is not None and best is not None and result.bound.cost > best * (1 + TOLERANCE):
        yield f"the bound {result.bound.cost!r} of {result.bound.method} is above the optimum {best!r}"
    if result.plan is None:
        return
    plan = result.plan.to_json(problem)
    value, broken = judge(inst, plan)
    if broken:
        yield f"the plan {plan} breaks {broken}"
    if abs(value - result.cost) > 1e-8 * max(abs(value), abs(result.cost)) + 1e-12 * _scale(inst):
        yield f"the plan {plan} costs {value!r}, not {result.cost!r}"
    if best is None and not broken:
        loose = optimum(inst, TOLERANCE)
        if loose is None or value < loose * (1 - TOLERANCE):
            yield f"a plan {plan} where there is none"
    elif best is not None and value < best * (1 - TOLERANCE):
        yield f"a plan of {value!r}, and the optimum is {best!r}: {plan}"
    if best is not None and result.status == "optimal" and value > best * (1 + 2 * TOLERANCE):
        yield f"called optimal at {value!r}, and the optimum is {best!r}"
    if inst.objective in ("bottleneck", "throughput"):
        yield from _loads(inst, problem, result, plan)


def _scale(inst: Instance) -> float:
    return sum(node.work for node in inst.nodes) / min(device.speed for device in inst.devices)


def _loads(inst: Instance, problem: Any, result: Any, plan: Any) -> Iterator[str]:
    """Yield the devices whose load is not what the answer says."""
    place = {device.name: d for d, device in enumerate(inst.devices)}
    where = [place[plan["assignment"][node.name]] for node in inst.nodes]
    given = plan["replicas"] or {}
    replicas = {place[lead]: tuple(place[d] for d in members) for lead, members in given.items()}
    for d, load in enumerate(loads(inst, where, replicas)):
        e = [device.name for device in problem.devices].index(inst.devices[d].name)
        said = float(result.evaluation.load[e])
        if abs(said - load) > 1e-8 * max(said, load) + 1e-12 * _scale(inst):
            yield f"the load of {inst.devices[d].name} is {load!r}, not {said!r}"
