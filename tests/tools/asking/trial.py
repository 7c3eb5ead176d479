"""One spec: read, solved and asked about; what is said held against the truth."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import format_exc
from typing import Any

import mtpp_dsl
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.errors import MtppError, Refused, SpecError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.show.explaining.explain import explained
from mtpp_dsl.show.explaining.question import question_of
from tests.tools.asking.claims import wrong
from tests.tools.asking.meaning import Meant
from tests.tools.asking.truth import Truth
from tests.tools.fuzzer.families import make
from tests.tools.fuzzer.instance import Instance
from tests.tools.fuzzer.reading import differences

__all__ = ["asked"]

METHODS = {
    "shared": ("auto", "exact", "ideals", "simple", "branching", "annealing"),
    "host": ("auto", "exact", "ideals", "simple", "annealing"),
    "links": ("auto", "moirai", "branch-and-bound", "heft", "critical-path"),
    "latency": ("latency", "auto", "path-hull"),
    "batch": ("batched", "auto", "heft"),
}
"""By which instances are answered, in turns."""
WHOLE = {"latency": "latency"}
"""The method that solves altered specs where that of the answer gives a plan or a bound alone."""
HALVES = ("simple", "annealing", "heft", "path-hull", "critical-path")
POOR = 0.4
"""Of the splits, how many are explained that need not be good ones."""


def asked(family: str, seed: int, seconds: float, tried: Counter[str], *, infeasible: bool = False) -> list[str]:
    """Return what is wrong with the explanation of one instance, and count in *tried* what was looked at."""
    inst = make(family, seed)
    with TemporaryDirectory() as folder:
        try:
            problem = mtpp_dsl.load(inst.written(Path(folder)), **inst.defines)
        except SpecError:
            tried["not read"] += 1
            return []
        if list(differences(inst, problem)):  # what the fuzzer is for
            tried["read differently"] += 1
            return []
        truth = Truth(Meant(inst, problem))
        if infeasible and truth.best is not None:
            return []
        method = METHODS[family][seed % len(METHODS[family])]
        try:
            return list(_asked(inst, problem, truth, method, seconds, tried))
        except Refused:
            tried["refused"] += 1
            return []
        except Exception:  # whatever is raised is to be told with the seed
            return [format_exc()]


def _asked(
    inst: Instance, problem: Any, truth: Truth, method: str, seconds: float, tried: Counter[str]
) -> Iterator[str]:
    """Yield what is wrong with the explanation of a problem that was read."""
    rng = random.Random(f"{inst.family} {inst.seed} ask")
    whole = WHOLE.get(inst.family, "auto")
    given: Any = mtpp_dsl.solve(problem, method, time_limit=10)
    if given.plan is None and given.infeasibility is None:
        given = mtpp_dsl.solve(problem, whole, time_limit=10)
    if rng.random() < POOR and truth.best is not None and not problem.timed:
        given = _poor(inst, problem, rng) or given
    again = whole if method in HALVES else method
    question = question_of(problem, given, node=rng.randrange(inst.n), time=seconds, method=again)
    names = ["bottleneck", "critical", "next", "infeasible", "constraints", "node", "what_if"]
    found = explained(question, names if question.plan is not None else [name for name in names if name != "node"])
    tried.update(f"part {name}" for name in found.parts)
    tried[str(question.answer["status"])] += 1
    yield from wrong(truth, question, found)
    tried.update(truth.tried)


def _poor(inst: Instance, problem: Any, rng: random.Random) -> Plan | None:
    """Return a plan that need not be a good one; None where it is not found quickly."""
    every = list(product(range(inst.k), repeat=inst.n))
    rng.shuffle(every)
    names, devices = problem.graph.names, [device.name for device in problem.devices]
    for where in every[:200]:
        try:
            plan = Plan.from_json(problem, {name: devices[d] for name, d in zip(names, where, strict=True)})
            if not verify(problem, plan):
                return plan
        except MtppError:
            pass
    return None
