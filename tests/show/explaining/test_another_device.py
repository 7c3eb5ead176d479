"""One more device: the altered problem is the one that the spec says with one device more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Constraint, Linear, On
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device, Links, Shared, Tree
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.another_device import alike, with_device
from tests.amount import part
from tests.oracle import optimum

GRAPH = """
graph {
  node a[i in 0..4] (work = 3 ms, params = 1 MB, output = 100 kB, kind = if i < 2 then "conv" else "gemm")
  edge a[i] -> a[i + 1] for i in 0..3
}
"""
COMMON = f"""
param k: int
{GRAPH}
device cpu (memory = 9 MB, speed = 0.5, unsupported = ["conv"])
"""
REST = "interconnect shared (bandwidth = 1 GB/s)\n"
GPUS = "device gpu[k] (memory = 4 MB, price = 3 USD)\n"
SPECS = {
    "shared": f"""{COMMON}{GPUS}interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint memory constraint stages constraint contiguous on gpu
constraint pin a[0] on gpu constraint pin a[4] on gpu[0], cpu constraint forbid a[3] on gpu[0]
constraint cap: forall d in devices: load(d) <= 30 ms
constraint few: forall v in nodes: sum(on(v, d) for d in gpu) >= 0.5
constraint alone: forall d in gpu, v in {{a[0], a[1]}}: on(v, d) + on(a[4], d) <= 1
constraint all: sum(used(d) for d in devices) <= 3
constraint first: load(gpu[0]) <= 9 ms
""",
    "linear": f"""{COMMON}{GPUS}interconnect host (bandwidth = 1 GB/s, overflow = stream)
minimize cost: sum(used(d) * 2 for d in gpu) + used(cpu)
minimize bottleneck
constraint worst: forall v in nodes: on(v, cpu) <= 0 (penalty = 3)
constraint big: max(load(d) for d in devices) <= 90 ms
""",
    "groups": f"""param k: int
{GRAPH}
device cpu (group = 0)
device gpu[k] (memory = 4 MB, group = 1)
interconnect shared (bandwidth = 1 GB/s, between = 1 MB/s)
minimize latency
constraint acyclic (groups = free) constraint memory on gpu
""",
    "links": f"""{COMMON}{GPUS}link gpu <-> gpu (bandwidth = 2 GB/s)
link gpu -> cpu (bandwidth = 1 GB/s, latency = 3 us)
link cpu -> gpu (bandwidth = 3 GB/s)
minimize makespan constraint exclusive links
constraint late: forall v in {{a[0]}}: finish(v) <= 9 ms
""",
    "tree": f"""param k: int
{GRAPH}switch rack switch top switch box (uplink = 2 GB/s, under = rack)
device cpu (switch = rack, uplink = 9 GB/s)
device gpu[k] (memory = 4 MB, switch = box, uplink = 1 GB/s)
minimize bottleneck constraint memory
""",
    "replicas": f"""{COMMON}{GPUS}interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint acyclic constraint replicate gpu up to 2 (sync = none)
constraint memory on gpu (schedule = "1f1b", microbatches = 4)
""",
    "shards": f"""{COMMON}{GPUS}interconnect shared (bandwidth = 1 GB/s)
minimize iteration (microbatches = 4) constraint acyclic
constraint shard gpu by [1, 2] constraint memory on gpu[0], gpu[1]
""",
    "batch": f"""{COMMON}device gpu[k] (fixed = 20%, overhead = 1 us)
link gpu <-> gpu (bandwidth = 2 GB/s) link gpu <-> cpu (bandwidth = 1 GB/s)
maximize throughput (batch = 8)
constraint batch on gpu in [4, 8] constraint repeat up to 2 on gpu constraint break symmetry by time
""",
    "times": f"""{COMMON}{GPUS}interconnect shared (bandwidth = 1 GB/s)
time a[i] on gpu = 2 ms for i in 0..4
time a[i] on cpu = 5 ms for i in 2..4
minimize bottleneck
""",
}


def _arrays(problem: Problem) -> list[object]:
    joined = problem.interconnect
    found: list[object] = [problem.time.tolist(), [replace(d, name="") for d in problem.devices]]
    if isinstance(joined, Links):
        found += [joined.bandwidth.tolist(), joined.latency.tolist(), joined.routing]
    elif isinstance(joined, Tree):
        found += [joined.parents.tolist(), joined.uplink.tolist(), joined.latency.tolist(), joined.half.tolist()]
    else:
        found.append(joined)
    return found


def _rules(problem: Problem) -> set[Constraint]:
    """Return the constraints, terms of rows in one order."""
    found: set[Constraint] = set()
    for rule in problem.constraints:
        if isinstance(rule, Linear):
            found.add(replace(rule, terms=tuple(sorted(rule.terms, key=repr))))
        elif getattr(rule, "devices", None) is not None and rule.keyword != "stages":
            found.add(replace(rule, devices=tuple(sorted(rule.devices))))  # type: ignore[attr-defined]
        else:
            found.add(rule)
    return found


@pytest.mark.parametrize("name", SPECS)
def test_one_more_device_is_what_the_spec_says_with_one_device_more(name: str) -> None:
    spec = mtpp_dsl.read(SPECS[name])
    small, large = spec.problem(k=3), spec.problem(k=4)
    like = small.device_index["gpu[2]"]
    found = with_device(small, like)
    assert [device.name for device in found.devices] == [device.name for device in large.devices]
    assert _arrays(found) == _arrays(large)
    assert _rules(found) == _rules(large)
    assert [one.shown for one in found.objectives] == [one.shown for one in large.objectives]
    for mine, theirs in zip(found.objectives, large.objectives, strict=True):
        assert sorted(mine.terms, key=repr) == sorted(theirs.terms, key=repr)
    assert small.k + 1 == found.k  # and the problem itself is as it was
    assert _rules(small) == _rules(spec.problem(k=3))


@pytest.mark.parametrize("seed", range(6))
def test_in_an_order_it_comes_after_its_type_and_the_optimum_is_that_of_the_spec(seed: int) -> None:
    spec = mtpp_dsl.read(f"""
        param k: int
        graph {{
          node a[i in 0..3] (work = [3, 1, 4, 2][mod(i + {seed}, 4)], output = {seed % 3})
          edge a[i] -> a[i + 1] for i in 0..2
        }}
        device fast[k] (speed = 2) device slow (speed = {1 + seed % 2})
        interconnect shared (bandwidth = 1)
        minimize bottleneck
        constraint stages (empty = never) constraint pin a[3] on slow
    """)
    small, large = spec.problem(k=1 + seed % 2), spec.problem(k=2 + seed % 2)
    found = with_device(small, 0)
    assert optimum(found) == pytest.approx(optimum(large))
    assert [device.name for device in found.devices] == [device.name for device in large.devices]


def test_types_are_devices_that_differ_in_their_names_alone() -> None:
    problem = mtpp_dsl.read(SPECS["shared"]).problem(k=3)
    assert alike(problem) == ((0,), (1, 2, 3))
    assert with_device(problem, 0).devices[1].name == "cpu_2"


def _problem(rows: Sequence[Constraint] = (), joined: object = None) -> Problem:
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0)
    return Problem.create(graph, [Device("x"), Device("y")], joined or Shared(1.0), constraints=rows)  # type: ignore[arg-type]


ROWS = (
    "constraint most: sum(used(d) for d in devices) <= {a}",
    "constraint budget: sum(price(d) * used(d) for d in devices) <= {b} USD",
    "constraint dear: sum(price(d) / 1 USD * used(d) for d in devices) <= {b} (penalty = 2{time})",
    "constraint all: sum(used(d) for d in devices) >= {a} (penalty = 1{time})",
    "constraint even: forall d in devices: load(d) / 1 ms <= 8 (penalty = {a}{time})",
    "constraint apart: forall d in devices, v in {{a[0], a[1]}}: on(v, d) + on(a[2], d) <= 1",
    "constraint own: used(cpu) + on(a[1], cpu) <= {a}",
    "constraint family: sum(on(v, d) for v in nodes, d in gpu) <= {a}",
    "constraint work: sum(load(d) for d in devices) <= 2{b} ms",
    "constraint big: max(load(d) for d in devices) <= 1{b} ms",
)
ASKED = (
    "minimize bottleneck",
    "minimize latency",
    "minimize cost: sum(price(d) / 1 USD * used(d) for d in devices) constraint due: bottleneck <= 12 ms",
    "minimize cost: sum(load(d) for d in devices) / 1 ms + sum(used(d) * 2 for d in gpu)",
    "minimize worst: max(load(d) * (1 + price(d) / 1 USD) for d in devices)",
    "maximize throughput",
)


@pytest.mark.parametrize("seed", range(part(40)))
def test_the_best_with_it_is_that_of_a_spec_that_declares_it(seed: int) -> None:
    """By brute force, with rows, budgets, penalties and objectives over devices, of which some cost nothing."""
    draw = Random(seed)
    cpu = f"(price = {draw.choice([0, 1, 2])} USD, speed = {draw.choice([1, 1.5])})"
    gpu = f"(price = {draw.choice([0, 1, 3])} USD, speed = 2)"
    objective = draw.choice(ASKED)
    time = "" if "cost" in objective else " ms"
    allowed = [row for row in ROWS if "penalty" not in row or "throughput" not in objective]
    rows = [row.format(a=draw.randint(1, 3), b=draw.randint(1, 6), time=time) for row in draw.sample(allowed, 2)]
    rest = "\n".join([REST, objective, *rows])
    graph = "graph { node a[i in 0..2] (work = (3 + i) * 1 ms, output = 1 MB) edge a[0] -> a[1] }\n"

    def text(more_cpu: str, gpus: int) -> str:
        return f"{graph}device cpu {cpu}\n{more_cpu}device gpu[{gpus}] {gpu}\n{rest}"

    k = draw.randint(1, 2)
    asked = mtpp_dsl.load(text("", k))
    for like, declared in ((0, text(f"device cpu_2 {cpu}\n", k)), (1, text("", k + 1))):
        found, wanted = with_device(asked, like), mtpp_dsl.load(declared)
        assert optimum(found) == optimum(wanted), (like, declared)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("minimize cost: used(gpu[0]) + used(gpu[1]) + 2 * used(cpu)", "'minimize cost' names devices such as gpu"),
        ("minimize bottleneck constraint two: sum(used(gpu[i]) for i in 0..1) <= 1", "constraint two .* one by one"),
        ("minimize bottleneck assert count(devices) == 3", "is not valid with another device like gpu.*: "),
    ],
)
def test_what_names_devices_one_by_one_is_refused(rest: str, said: str) -> None:
    """Nothing says whether it is about another one, and an answer would be stamped as proved."""
    text = f"graph {{ node a (work = 1 ms) }} device cpu device gpu[2] (speed = 2)\n{REST}{rest}"
    with pytest.raises(Refused, match=said):
        with_device(mtpp_dsl.load(text), 1)


def test_what_has_no_spec_is_refused_where_it_speaks_of_devices() -> None:
    row = Linear(label="r", terms=((On(0, 0), 1.0), (On(0, 1), 1.0)), sense="<=", rhs=1.5)
    with pytest.raises(Refused, match=r"nothing says whether constraint r is about another device like x"):
        with_device(_problem([row]), 0)
    other = Linear(label="r", terms=((On(0, 1), 1.0),), sense="<=", rhs=0.5)
    two = Problem.create(_problem().graph, [Device("x"), Device("y", speed=2.0)], Shared(1.0), constraints=[other])
    assert with_device(two, 0).constraints == (other,)
    lone = Links(np.array([[0.0, 2.0], [3.0, 0.0]]), np.zeros((2, 2)))
    two = Problem.create(two.graph, two.devices, lone)
    with pytest.raises(Refused, match="nothing says what would join it"):
        with_device(two, 1)
