"""Specs that would expand without end: refused with the limit, and soon."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.core.base.spec_limits import MAX_NODES
from mtpp_dsl.core.constraints import Subgraphs
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.plans.plan import quotient_order
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.language.lowering.lower import load

GRAPH = "graph { node a[3] (work = 1) }\n"
REST = "device d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
SPEC = GRAPH + REST
LISTS = "".join(f"{{kind}} a{i + 1} = [{', '.join([f'a{i}'] * 10)}]\n" for i in range(50))
NESTED = "{kind} a0 = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + LISTS

BEYOND = [
    (SPEC + "constraint c: " + " ".join(f"forall i{j} in 0..1:" for j in range(50)) + " load(d) <= 1", "steps"),
    (SPEC + "constraint c: " + " ".join(f"forall i{j} in 0..1:" for j in range(500)) + " load(d) <= 1", "100 deep"),
    (SPEC + "constraint c: sum(load(d) for i in 0..999999 for j in 0..2) <= 1", "steps"),
    (SPEC + "let s = {i in 0..9999 if i > 1}\nconstraint pin a[0] on d for i in 0..9999 if count(s) > 1", "steps"),
    (
        SPEC.replace("d\n", "d[1000]\n", 1) + "constraint c: forall d in devices: sum(load(e) for e in devices) <= 1",
        "steps",
    ),
    (SPEC.replace("a[3]", "a[1000000000]"), "0 to 1,000,000 members; this one has 1,000,000,000"),
    (SPEC.replace("a[3]", "a" * 1001), "a name has at most 1,000 characters"),
    (SPEC.replace("d\n", "d[100001]\n", 1), "more than 100,000 devices"),
    (SPEC.replace("d\n", "d[3001]\n", 1).replace("shared", "links"), "links join at most 3,000 devices"),
    (SPEC.replace("a[3]", "a[1000]").replace("d\n", "d[50001]\n", 1), "1,000 nodes × 50,001 devices"),
    (SPEC.replace("work = 1", "work = 1, color = 100000000000000000000000"), "a color is a whole number"),
    (SPEC + "constraint subgraphs at most 10000000000 on d", "at most 1,000,000,000"),
    (NESTED.format(kind="let") + SPEC, "with those of the lists in it"),
    (NESTED.format(kind="param") + SPEC, "with those of the lists in it"),
    (GRAPH + "device d\ninterconnect links (bandwidth = 1)\nmaximize throughput (batch = 1000000000000)", "chunks"),
    ("let a = " + "9" * 100_000 + "\n" + SPEC, "too large"),
    ("let a = 1e99999999\n" + SPEC, "too large"),
    ("\n".join(f"constraint pin b{i} on d" for i in range(200)) + "\n" + SPEC, "nothing is called 'b99'"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("text", "message"), BEYOND, ids=[message for _, message in BEYOND])
def test_beyond_a_limit(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is refused by the limit that it breaks, in its place."""
    for module in ("complaints", "gathering"):
        monkeypatch.setattr(f"mtpp_dsl.language.values.{module}.MAX_STEPS", 200_000)
    with pytest.raises(SpecError) as caught:
        load(text)
    assert message in str(caught.value)
    assert all(diagnostic.span is not None for diagnostic in caught.value.diagnostics)
    assert len(caught.value.diagnostics) <= 100


def test_long_chains_of_lets() -> None:
    """Definitions in their order may refer to those before without end; out of order, only so deep."""
    lets = ["let x0 = 1", *(f"let x{i} = x{i - 1} + 1" for i in range(1, 3000))]
    problem = load(SPEC + "\n".join(lets) + "\nconstraint subgraphs at most x2999 on d")
    (constraint,) = problem.of(Subgraphs)
    assert constraint.most == 3000
    with pytest.raises(SpecError, match="lets refer to each other more than 100 deep, from 'x2999' on"):
        load(SPEC + "\n".join(reversed(lets)))


def test_unknown_names_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near words are looked for until as many as may be have been compared."""
    monkeypatch.setattr("mtpp_dsl.language.values.scope.MAX_COMPARED", 10)
    with pytest.raises(SpecError) as caught:
        load(SPEC.replace("a[3]", "alpha") + "\n".join(["constraint pin alpa on d"] * 6))
    said = ["did you mean 'alpha'" in diagnostic.message for diagnostic in caught.value.diagnostics]
    assert said[0]
    assert not said[-1]


def test_pairs_that_a_generator_draws() -> None:
    """A layered graph of wide layers is refused before it is drawn for hours."""
    text = "graph from generator layered (nodes = 1000000, width = 400000, p = 0)\n" + REST
    with pytest.raises(SpecError, match=r"at most 300,000,000 are drawn"):
        load(text)


def test_many_equal_constraints() -> None:
    """Constraints given twice are found by their hash: four times as many take no sixteen times as long."""
    text = SPEC.replace("a[3]", "a[2000]") + "\n".join(f"constraint pin a[{i % 2000}] on d" for i in range(4000))
    assert len(load(text).constraints) == 2000


def test_order_of_many_devices() -> None:
    """The order of a hundred thousand devices needs no table of all pairs; the first declared comes first."""
    order = quotient_order(np.array([99_999, 0, 5]), np.array([0, 1]), np.array([1, 2]), 100_000)
    assert order is not None
    assert order[:2] == (1, 2)
    assert order.index(99_999) < order.index(0) < order.index(5)
    assert quotient_order(np.array([0, 1, 0]), np.array([0, 1]), np.array([1, 2]), 3) is None


def test_names_are_one_line() -> None:
    """A line break in the name of a node or a device is refused: it would look like another row of the answer."""
    with pytest.raises(SpecError, match=r"the name of a node has a line break: 'b\\nstage'"):
        load('graph { node a (work = 1) node "b\\nstage" (work = 1) }\n' + REST)
    with pytest.raises(UsageError, match="the name of a device has a line break"):
        Problem.create(Graph.create("a", []), [Device("x\ny")], Shared(1.0), Objective("bottleneck"))


@pytest.mark.long
@pytest.mark.parametrize("more", [0, 1])
def test_a_file_of_a_million_nodes(more: int, tmp_path: Path) -> None:
    """A file of as many nodes as may be is read; one with one more is refused, with the limit."""
    node = {"supportedOnFpga": 1, "fpgaLatency": 1, "cpuLatency": 1, "size": 0}
    nodes = [{"id": i, **node} for i in range(MAX_NODES + more)]
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": []}, separators=(",", ":")))
    if more:
        with pytest.raises(UsageError, match="1,000,000"):
            Msr().read(path)
    else:
        assert Msr().read(path).graph.n == MAX_NODES


@pytest.mark.parametrize("string", ['"' + "x" * 300_000, '"' + "\\x" * 150_000 + '"'], ids=["open", "escapes"])
def test_a_long_string_takes_little(string: str) -> None:
    """What a string takes is no multiple of its length, as it was where a pattern kept a place for each character."""
    tracemalloc.start()
    try:
        with pytest.raises(SpecError):
            load(f"{GRAPH}minimize {string}")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 100 * len(string)
