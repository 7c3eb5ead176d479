"""Two plans of one random spec compared: what is said held against the fuzzer's evaluator and brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mtpp_dsl
from mtpp_dsl.core.errors import MtppError, SpecError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.views.symmetry import interchangeable
from tests.tools.asking.trial import METHODS, _poor
from tests.tools.fuzzer.families import make
from tests.tools.fuzzer.instance import Instance
from tests.tools.fuzzer.loads import loads
from tests.tools.fuzzer.optimum import judge
from tests.tools.fuzzer.reading import differences

__all__ = ["compared"]

NEAR = 1e-8


def compared(family: str, seed: int, tried: Counter[str]) -> list[str]:
    """Return what is wrong with the differences of some plans of one instance, and count in *tried* what was seen."""
    inst = make(family, seed)
    with TemporaryDirectory() as folder:
        try:
            problem = mtpp_dsl.load(inst.written(Path(folder)), **inst.defines)
        except SpecError:
            return []
        if list(differences(inst, problem)):
            return []
        results = list(_results(inst, problem, random.Random(f"{family} {seed} compare")))
        return [what for a, b in pairwise(results) for what in _wrong(inst, problem, a, b, tried)]


def _results(inst: Instance, problem: Any, rng: random.Random) -> Iterator[Any]:
    """Yield the plans of two methods, and others that need not be good."""
    for method in rng.sample(METHODS[inst.family], 2):
        try:
            found = mtpp_dsl.solve(problem, method, time_limit=5)
        except MtppError:
            continue
        if found.plan is not None:
            yield found
    for _ in range(0 if problem.timed else 2):
        plan = _poor(inst, problem, rng)
        if plan is not None:
            yield Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="by hand").of(problem)


def _wrong(inst: Instance, problem: Any, a: Any, b: Any, tried: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with the difference of two plans."""
    found = mtpp_dsl.diff(a, b)
    said, words = found.to_json(), "\n".join(found.words())
    tried["pairs"] += 1
    tried["with other names"] += bool(found.renamed)
    one, other = a.plan.to_json(problem), b.plan.to_json(problem)
    x, y = judge(inst, one)[0], judge(inst, other)[0]
    if abs(x - y) > NEAR * max(x, y):
        better = "a" if x < y else "b"
        more = "more" if problem.objective.name == "throughput" else "less"
        verdict = f"{better.upper()} is better"
        if said["better"] != better or verdict not in words or f": {more} {problem.objective.name}" not in words:
            yield f"costs are {x} and {y}, and it is said: {said['better']}, {words}"
    if not (one["replicas"] or other["replicas"]):
        yield from _moves(problem, found, one["assignment"], other["assignment"])
    if inst.objective in ("bottleneck", "throughput"):
        for key, plan in (("a", one), ("b", other)):
            right = _loads(inst, plan)
            told = {row[key]: row[f"load_{key}"] for row in said["loads"]}
            if any(abs(told[name] - load) > NEAR * load for name, load in right.items()):
                yield f"loads of {key} are {right}, not {told}"


def _loads(inst: Instance, plan: Any) -> dict[str, float]:
    place = {device.name: d for d, device in enumerate(inst.devices)}
    replicas = {place[lead]: tuple(place[d] for d in rest) for lead, rest in (plan["replicas"] or {}).items()}
    found = loads(inst, [place[plan["assignment"][node.name]] for node in inst.nodes], replicas)
    return dict(zip(place, found, strict=True))


def _moves(problem: Any, found: Any, before: Any, after: Any) -> Iterator[str]:
    """Yield what is wrong with moves, and whether other names of alike devices would leave fewer of them."""
    names = [device.name for device in problem.devices]
    kind = {d: i for i, members in enumerate(interchangeable(problem)) for d in members}

    def elsewhere(to: dict[str, str]) -> set[str]:
        one, other = ({v: [d] if isinstance(d, str) else list(d) for v, d in each.items()} for each in (before, after))
        return {v for v in one if [to.get(d, d) for d in one[v]] != other[v]}

    moved = elsewhere(dict(found.renamed))
    if moved != {node for group in found.moved for node in group.nodes} or found.stayed != len(before) - len(moved):
        yield f"moved are {moved}, not {found.moved}"
    if problem.k <= 4:
        every = (p for p in permutations(range(problem.k)) if all(kind[d] == kind[p[d]] for d in kind))
        least = min(len(elsewhere({names[d]: names[e] for d, e in enumerate(p)})) for p in every)
        if least != len(moved):
            yield f"{len(moved)} nodes are said to have moved, and {least} would do"
