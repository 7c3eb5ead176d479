"""Method ``copies`` against brute force, the reference instances of the notes, and what must not be used."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import Acyclic, Constraint, Copies, Memory, Pin, Replicate
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import ConstraintError, Refused
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import PROOFS, load
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solving.api import find_method
from mtpp_dsl.solving.plugins.samples import optimum, small
from tests.copies_brute import least_period, references
from tests.networks import random_links, random_tree

SHARES = ("pipelines", "stages", "ranges", "any")


def problem_of(data: dict[str, Any], share: str, most: int | None = None, between: float | None = None) -> Problem:
    """Return a reference instance as a problem."""
    n, k = data["n"], data["k"]
    times = {f"d{d}": np.array([float(row[d]) for row in data["time"]]) for d in range(k)}
    graph = Graph.create(
        [f"n{v}" for v in range(n)],
        [(u, v) for u, v in data["edges"]],
        work=0.0,
        output=[float(x) for x in data["out"]],
        memory=[float(x) for x in data["mem"]],
        device_times=times,
    )
    room = data.get("cap") or [sum(data["mem"])] * k
    constraints: list[Constraint] = [Memory(), Copies(most=most or k, share=share)]  # type: ignore[arg-type]
    if data.get("acyclic"):
        constraints.append(Acyclic())
    constraints += [Pin(nodes=(v,), devices=tuple(where)) for v, where in enumerate(data.get("pin") or [])]
    groups = ["a" if 2 * d < k else "b" for d in range(k)] if between else [None] * k
    devices = [Device(f"d{d}", memory=float(room[d]), group=groups[d]) for d in range(k)]
    return Problem.create(
        graph, devices, Shared(float(data["bw"]), between=between), Objective("throughput"), constraints
    )


def randomly(rng: random.Random) -> dict[str, Any]:
    """Return a small chain."""
    n, k = rng.choice([(3, 2), (4, 2), (3, 3)])
    mem = [rng.randint(1, 3) for _ in range(n)]
    return {
        "n": n,
        "k": k,
        "edges": [[i, i + 1] for i in range(n - 1)],
        "time": [[rng.choice([0, 1, 2, 3, 4, 5, 6]) for _ in range(k)] for _ in range(n)],
        "out": [rng.randint(0, 2) for _ in range(n)],
        "mem": mem,
        "cap": [rng.randint(max(mem), sum(mem)) for _ in range(k)] if rng.random() < 0.8 else None,
        "acyclic": rng.random() < 0.7,
        "bw": 1,
    }


def chains() -> list[dict[str, Any]]:
    return [
        r
        for r in references()
        if all(v == u + 1 for u, v in r["data"]["edges"]) and not isinstance(r["data"]["bw"], list)
    ]


@pytest.mark.parametrize("share", ["pipelines", "any"])
def test_references(share: str) -> None:
    """Optima by hand and by brute force; those of single pipelines where routes may not come back are bounds alone."""
    for reference in chains():
        problem = problem_of(reference["data"], share)
        wanted = float(Fraction(reference["pipes" if share == "pipelines" else "copies"]))
        result = mtpp_dsl.solve(problem, time_limit=20)
        assert result.bound is not None
        assert result.bound.cost <= wanted * (1 + 1e-9), reference["name"]
        if share == "any" or reference["data"].get("acyclic"):
            assert result.cost == pytest.approx(wanted), reference["name"]
            assert result.status == "optimal"


def check(rng: random.Random, share: str) -> None:
    """Hold the method to brute force, and its certificate to the bound."""
    data = randomly(rng)
    problem = problem_of(data, share, rng.choice([None, None, 1, 2]))
    wanted = least_period(problem)
    result = mtpp_dsl.solve(problem, "copies", time_limit=20, gap=1e-9)
    if wanted is None:
        assert result.status in ("infeasible", "bound", "unknown"), data
        return
    assert result.infeasibility is None, data
    if result.bound is not None:
        assert result.bound.cost <= wanted * (1 + 1e-7), (data, result)
        if result.bound.certificate is not None:
            certificate = result.bound.certificate
            proved = load(PROOFS, certificate.kind)().prove(problem, certificate.data, Limits())
            assert result.bound.cost * (1 - 1e-9) <= proved <= wanted * (1 + 1e-7), data
    if result.plan is not None:
        assert verify(problem, result.plan) == []
        assert result.cost is not None
        assert result.cost >= wanted * (1 - 1e-7), (data, result, result.plan.routes)
        assert cost_of(problem, result.plan) == pytest.approx(result.cost)
    most = next(problem.of(Copies)).most
    exact = data["acyclic"] and (share != "ranges" or most in (1, data["k"]))
    if exact or (share == "any" and most >= data["k"]):
        assert result.cost == pytest.approx(wanted, rel=1e-6, abs=1e-9), (data, share, result)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("share", SHARES)
def test_small_chains(share: str) -> None:
    rng = random.Random(f"copies {share}")
    for _ in range(12):
        check(rng, share)


@pytest.mark.long
@pytest.mark.parametrize("share", SHARES)
def test_more_small_chains(share: str) -> None:
    rng = random.Random(f"more copies {share}")
    for _ in range(100):
        check(rng, share)


def on_network(rng: random.Random, share: str) -> Problem:
    """Return a small chain on links or a tree, some of them slow, late or missing."""
    data = randomly(rng)
    k = data["k"]
    joined = random_tree(rng, k) if rng.random() < 0.5 else random_links(rng, k)
    joined = replace(joined, overlap="none", send="once")
    shared = problem_of(data, share)
    return Problem.create(shared.graph, shared.devices, joined, Objective("throughput"), shared.constraints)


def check_on_network(rng: random.Random, share: str) -> None:
    """Hold the method to brute force on a network, and its certificate to the bound."""
    problem = on_network(rng, share)
    wanted = least_period(problem)
    result = mtpp_dsl.solve(problem, "copies", time_limit=20, gap=1e-9)
    if wanted is None:
        assert result.plan is None
        return
    assert result.infeasibility is None
    assert result.bound is not None
    assert result.bound.cost <= wanted * (1 + 1e-7)
    if result.bound.certificate is not None:
        proved = load(PROOFS, "routes")().prove(problem, result.bound.certificate.data, Limits())
        assert result.bound.cost * (1 - 1e-9) <= proved <= wanted * (1 + 1e-7)
    assert result.plan is None or verify(problem, result.plan) == []
    if share == "any":
        assert result.cost == pytest.approx(wanted, rel=1e-6, abs=1e-9), problem.to_spec()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("share", SHARES)
def test_networks(share: str) -> None:
    """Unreachable pairs, links that are not the same both ways, channels that several devices share."""
    rng = random.Random(f"copies on networks {share}")
    for _ in range(10):
        check_on_network(rng, share)


@pytest.mark.long
@pytest.mark.parametrize("share", SHARES)
def test_more_networks(share: str) -> None:
    rng = random.Random(f"copies on more networks {share}")
    for _ in range(60):
        check_on_network(rng, share)


@pytest.mark.parametrize(
    "method", ["simple", "anchor", "node", "count", "configuration", "superblock", "guess", "ideals"]
)
def test_bounds_of_one_pipeline_are_refused(method: str) -> None:
    """They are above the optimum: one input in five may go to a device that takes four times as long."""
    slow = next(r for r in references() if r["name"] == "slow copy")
    data = {**slow["data"], "acyclic": True}
    problem = problem_of(data, "any")
    reason = find_method(method).accepts(problem)
    assert reason is not None
    assert "copies" in reason
    single = problem.with_constraints([c for c in problem.constraints if not isinstance(c, Copies)])
    if find_method(method).accepts(single) is None:
        bound = mtpp_dsl.solve(single, method, time_limit=5).bound
        assert bound is not None
        assert bound.cost > float(Fraction(slow["copies"]))  # which would be wrong


def test_merged_nodes_take_memory_in_every_copy() -> None:
    """Rule A would merge two nodes, of which the second device has room for one: 4 in place of 5/2."""
    reference = next(r for r in references() if r["name"] == "rule A")
    problem = problem_of(reference["data"], "any")
    assert "copies" in str(Contract().accepts(problem))
    single = problem.with_constraints([c for c in problem.constraints if not isinstance(c, (Copies, Memory))])
    assert Contract().accepts(single) is None
    assert Contract().apply(single)[0].graph.n == 1


def test_through_text_and_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A problem is the same after it was written; its answer is verified, and a share that was changed is not."""
    problem = problem_of({**chains()[0]["data"], "acyclic": True}, "ranges")
    spec, answer = tmp_path / "copies.mtpp", tmp_path / "answer.json"
    spec.write_text(problem.to_spec())
    again = mtpp_dsl.load(spec)
    assert next(again.of(Copies)) == next(problem.of(Copies))
    assert run(["solve", str(spec), "--json", str(answer)]) == 0
    assert run(["verify", str(spec), str(answer)]) == 0
    assert "proved again here" in capsys.readouterr().out
    said = json.loads(answer.read_text())
    said["plan"]["routes"][0]["share"] = "1/3"
    answer.write_text(json.dumps(said))
    assert run(["verify", str(spec), str(answer)]) != 0
    assert "add up to" in capsys.readouterr().out


def test_unequal_replicas() -> None:
    """Replicas are equal; on unequal devices the message names shares of stages, which give 2 in place of 3."""
    reference = next(r for r in references() if r["name"] == "unequal replicas")
    problem = problem_of({**reference["data"], "acyclic": True}, "stages")
    result = mtpp_dsl.solve(problem, time_limit=10)
    assert (result.status, result.cost) == ("optimal", pytest.approx(2.0))
    with pytest.raises(ConstraintError, match=r"say 'constraint copies up to 3 \(share = stages\)'"):
        Problem.create(
            problem.graph,
            problem.devices,
            problem.interconnect,
            Objective("throughput"),
            [Acyclic(), Replicate(most=3)],
        )


@pytest.mark.parametrize(
    ("part", "lines", "why"),
    [
        ("", "interconnect links (bandwidth = 1, overlap = full)", "there is none"),
        (
            ", part = backward",
            "interconnect shared (bandwidth = 1)\nconstraint acyclic\nconstraint copies up to 1",
            "backward part",
        ),
    ],
)
def test_prices_prove_nothing_elsewhere(part: str, lines: str, why: str) -> None:
    """Without copies work and transfers may overlap, and a backward part may return: such certificates are refused."""
    problem = mtpp_dsl.load(
        f"graph {{ node a (work = 4, output = 4)\nnode b (work = 4{part})\nedge a -> b }}\ndevice d[2]\n"
        f"minimize bottleneck\n{lines}\n"
    )
    with pytest.raises(Refused, match=why):
        load(PROOFS, "routes")().prove(problem, {"prices": {"d[0]": 1.0, "d[1]": 1.0}}, Limits())


def test_stages_that_take_no_time() -> None:
    """Nothing is proved of a period that may be 0, and the plan that has it is kept."""
    problem = mtpp_dsl.load(
        "graph { node a (work = 0) }\ndevice d[2]\ninterconnect shared (bandwidth = 1)\n"
        "maximize throughput\nconstraint acyclic\nconstraint copies up to 2 (share = stages)\n"
    )
    result = mtpp_dsl.solve(problem, "copies", time_limit=10)
    assert (result.cost, result.bound is None or result.bound.cost <= 0) == (0.0, True)


def test_ordered_groups_are_refused() -> None:
    """Routes may not enter a group of devices twice where it is not said that they may; free groups are taken."""
    problem = problem_of({**chains()[0]["data"], "acyclic": True}, "any", between=0.5)
    assert "groups = free" in str(find_method("copies").accepts(problem))
    free = [replace(c, groups="free") if isinstance(c, Acyclic) else c for c in problem.constraints]
    result = mtpp_dsl.solve(problem.with_constraints(free), time_limit=10)
    assert result.status == "optimal"


def check_graph(rng: random.Random, share: str) -> None:
    """Hold the method to brute force on a graph that is no chain."""
    data = {**randomly(rng), "acyclic": True}
    n = data["n"]
    data["edges"] = [[i, j] for i in range(n) for j in range(i + 1, n) if rng.random() < 0.6]
    problem = problem_of(data, share)
    wanted = least_period(problem)
    result = mtpp_dsl.solve(problem, "copies", time_limit=20, gap=1e-9)
    assert (result.plan is None) == (wanted is None), data
    if wanted is None:
        return
    assert result.bound is not None
    assert result.bound.cost <= wanted * (1 + 1e-7), data
    assert result.cost is not None
    assert result.cost >= wanted * (1 - 1e-7), data
    if share != "stages":
        assert result.cost == pytest.approx(wanted, rel=1e-6, abs=1e-9), (data, result)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("share", ["pipelines", "stages", "any"])
def test_graphs(share: str) -> None:
    rng = random.Random(f"copies of graphs {share}")
    for _ in range(10):
        check_graph(rng, share)


@pytest.mark.long
@pytest.mark.parametrize("share", ["pipelines", "stages", "any"])
def test_more_graphs(share: str) -> None:
    rng = random.Random(f"copies of more graphs {share}")
    for _ in range(80):
        check_graph(rng, share)


def test_two_readers() -> None:
    """A reader on each device: 001 and 101 in halves, each of which is acyclic."""
    reference = next(r for r in references() if r["name"] == "two readers")
    result = mtpp_dsl.solve(problem_of({**reference["data"], "acyclic": True}, "any"), time_limit=10)
    assert (result.status, result.cost) == ("optimal", pytest.approx(float(Fraction(reference["copies"]))))


def test_graphs_that_are_refused() -> None:
    """Without acyclic, routes of a graph are no chains of ideals: the triangle's routes go in a circle."""
    reference = next(r for r in references() if r["name"] == "triangle")
    assert "say 'constraint acyclic'" in str(find_method("copies").accepts(problem_of(reference["data"], "any")))


def test_samples_of_conformance() -> None:
    """The suite that tests/solving/plugins/test_conformance.py runs on every method asks this one of copies too."""
    assert optimum("copies") == pytest.approx(1.5)
    for name in ("copies", "unequal copies"):
        assert find_method("copies").accepts(small()[name]) is None
