"""Random small problems with linear objectives and soft rows, each as data and as the text of a spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from mtpp_dsl.core.constraints import (
    Acyclic,
    Bottleneck,
    Constraint,
    Decision,
    ExclusiveLinks,
    Finish,
    Latency,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Start,
    Used,
)
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["Case", "random_case", "random_timed_case"]

TIMES = (Start, Finish, Makespan)
Terms = tuple[tuple[Decision, float], ...]


@dataclass(frozen=True)
class Case:
    """A problem, and a spec that says the same."""

    problem: Problem
    text: str


def random_case(seed: int) -> Case:
    """Return a problem of up to five nodes on up to three devices, on shared or host."""
    r = Random(seed)
    n, k = r.randint(1, 5), r.randint(1, 3)
    graph, lines = _graph(r, n)
    devices = [Device(f"d{d}", speed=r.choice([1.0, 1.0, 2.0]), memory=r.choice([None, 3.0])) for d in range(k)]
    kind, bandwidth, overflow = r.choice(["shared", "host"]), r.choice([1.0, 2.0]), r.random() < 0.3
    constraints: list[Constraint] = [Acyclic()] if r.random() < 0.5 else []
    if r.random() < 0.3 and any(device.memory is not None for device in devices):
        constraints.append(Memory())
    pool = [On, On, Used, Used, Load, Bottleneck, Latency]
    constraints += _soft(r, n, k, pool, lambda sense: 0)
    if r.random() < 0.4:
        terms = _terms(r, n, k, pool, 0)
        constraints.append(
            Linear(label="hard", terms=terms, sense=r.choice(["<=", ">="]), rhs=r.choice([0.0, 1.0, 4.0]))
        )  # type: ignore[arg-type]
    objective = _objective(r, n, k, pool, 0, Objective("bottleneck"))
    link = (Shared if kind == "shared" else Host)(bandwidth, overflow=overflow)
    stream = ", overflow = stream" if overflow else ""
    joined = f"interconnect {kind} (bandwidth = {bandwidth:g}{stream})"
    problem = Problem.create(graph, devices, link, objective, constraints)
    return Case(problem, _text(lines, devices, joined, objective, constraints))


def random_timed_case(seed: int) -> Case:
    """Return a problem of up to four nodes on two devices joined by links, whose costs grow with every time."""
    r = Random(seed)
    n, k = r.randint(1, 4), r.randint(1, 2)
    graph, lines = _graph(r, n)
    devices = [Device(f"d{d}", speed=r.choice([1.0, 1.0, 2.0])) for d in range(k)]
    bandwidth, latency = r.choice([1.0, 2.0]), r.choice([0.0, 0.5])
    constraints: list[Constraint] = [ExclusiveLinks()] if r.random() < 0.4 else []
    pool = [On, Used, Load, Bottleneck, Latency, *TIMES]
    constraints += _soft(r, n, k, pool, lambda sense: {"<=": 1, ">=": -1}.get(sense))
    objective = _objective(r, n, k, pool, 1, Objective("makespan"))
    link = Links(bandwidth=np.full((k, k), bandwidth), latency=np.full((k, k), latency))
    joined = f"interconnect links (bandwidth = {bandwidth:g}, latency = {latency:g})"
    problem = Problem.create(graph, devices, link, objective, constraints)
    return Case(problem, _text(lines, devices, joined, objective, constraints))


def _graph(r: Random, n: int) -> tuple[Graph, list[str]]:
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if r.random() < 0.5]
    work, output, params = (
        [r.choice(choice) for _ in range(n)] for choice in ([1.0, 2.0, 3.5], [0.0, 1.0], [0.0, 2.0])
    )
    names = [f"v{v}" for v in range(n)]
    lines = [
        f"node {name} (work = {work[v]:g}, output = {output[v]:g}, params = {params[v]:g})"
        for v, name in enumerate(names)
    ]
    lines += [f"edge {names[u]} -> {names[v]}" for u, v in edges]
    return Graph.create(names, edges, work=work, output=output, params=params), lines


def _decision(r: Random, n: int, k: int, pool: Sequence[type[Decision]]) -> Decision:
    kind = r.choice(pool)
    if kind is On:
        return On(r.randrange(n), r.randrange(k))
    if kind in (Used, Load):
        return kind(r.randrange(k))  # type: ignore[call-arg]
    return kind(r.randrange(n)) if kind in (Start, Finish) else kind()  # type: ignore[call-arg]


def _terms(r: Random, n: int, k: int, pool: Sequence[type[Decision]], sign: int | None) -> Terms:
    """Return random terms; those of times have this *sign*, and with None there are no times."""
    kinds = [kind for kind in pool if sign is not None or kind not in TIMES]
    found: dict[Decision, float] = {}
    for _ in range(r.randint(1, 4)):
        decision = _decision(r, n, k, kinds)
        timed = isinstance(decision, TIMES)
        found[decision] = (sign or 1) * r.choice([1.0, 3.0]) if timed else r.choice([-2.0, -1.0, -0.5, 1.0, 2.0, 3.0])
    return tuple(found.items())


def _soft(r: Random, n: int, k: int, pool: Sequence[type[Decision]], sign: object) -> list[Constraint]:
    rows: list[Constraint] = []
    for number in range(r.randint(0, 2)):
        sense = r.choice(["<=", ">=", "=="])
        terms = _terms(r, n, k, pool, sign(sense))  # type: ignore[operator]
        penalty = r.choice([0.5, 1.0, 10.0])
        rhs = r.choice([0.0, 1.0, 2.0, 4.0])
        rows.append(Linear(label=f"soft{number}", terms=terms, sense=sense, rhs=rhs, penalty=penalty))  # type: ignore[arg-type]
    return rows


def _objective(r: Random, n: int, k: int, pool: Sequence[type[Decision]], sign: int, plain: Objective) -> Objective:
    if r.random() < 0.25:
        return plain
    sense = r.choice(["minimize", "maximize"])
    terms = _terms(r, n, k, pool, sign if sense == "minimize" else -sign)
    return Objective.linear(terms, sense, constant=r.choice([0.0, 0.0, 1.0, -3.0]), label="goal")  # type: ignore[arg-type]


def _text(
    lines: Sequence[str],
    devices: Sequence[Device],
    joined: str,
    objective: Objective,
    constraints: Sequence[Constraint],
) -> str:
    """Return the spec; a bare number is added to time without a unit, as all times are."""
    said = ["graph {", *lines, "}"]
    for device in devices:
        memory = "" if device.memory is None else f", memory = {device.memory:g}"
        said.append(f"device {device.name} (speed = {device.speed:g}{memory})")
    said.append(joined)
    if objective.is_linear:
        constant = f" + {objective.constant:g}" if objective.constant else ""
        said.append(f"{objective.sense} {objective.label}: {_sum(objective.terms)}{constant}")
    else:
        said.append(str(objective))
    for constraint in constraints:
        if isinstance(constraint, Linear):
            penalty = "" if constraint.penalty is None else f" (penalty = {constraint.penalty:g})"
            row = f"{_sum(constraint.terms)} {constraint.sense} {constraint.rhs:g}"
            said.append(f"constraint {constraint.label}: {row}{penalty}")
        else:
            said.append(f"constraint {constraint.keyword}")
    return "\n".join(said) + "\n"


def _sum(terms: Terms) -> str:
    return " + ".join(f"({a:g}) * {_word(decision)}" for decision, a in terms)


def _word(decision: Decision) -> str:
    match decision:
        case On(node, device):
            return f"on(v{node}, d{device})"
        case Used(device):
            return f"used(d{device})"
        case Load(device):
            return f"load(d{device})"
        case Start(node):
            return f"start(v{node})"
        case Finish(node):
            return f"finish(v{node})"
        case _:
            return type(decision).__name__.lower()
