"""Certificates of every kind: changed in any field they are refused, or what they say is true."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from math import inf, nextafter
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Certificate
from mtpp_dsl.core.problem.devices import Device, Host, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.methods.mip import mip_method
from tests.oracle import optimum
from tests.solvers.proofs.test_chain import pipelines
from tests.tools.forging import CHANGES, JUNK, changed, places


def certificates(problem: Problem) -> list[Certificate]:
    found = []
    for name in ("simple", "node", "anchor", "count", "configuration", "superblock"):
        method = registry.load(registry.METHODS, name)() if name != "superblock" else registry_formulation(name)
        if method.accepts(problem) is None:
            bound = method.solve(problem, Limits(time=5.0, threads=1), Progress()).bound
            found += [bound.certificate] if bound is not None and bound.certificate is not None else []
    return found


def registry_formulation(name: str) -> Any:
    from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod

    return MipMethod(registry.load(registry.FORMULATIONS, name)())


def proves(problem: Problem, kind: str, data: Mapping[str, Any]) -> float:
    try:
        return float(registry.load(registry.PROOFS, kind)().prove(problem, data, Limits(time=60.0)))
    except Refused:
        return 0.0


@settings(max_examples=60)
@given(pipelines(most=5), st.data())
def test_any_field_changed(problem: Problem, draw: st.DataObject) -> None:
    """One or two fields changed, in any way: refused, or no more is proved than is true."""
    best = optimum(problem)
    assume(best)
    assert best is not None
    found = certificates(problem)
    assume(found)
    names = [*problem.graph.names, *(device.name for device in problem.devices)]
    for certificate in found:
        data = deepcopy(dict(certificate.data))
        for _ in range(draw.draw(st.integers(1, 2))):
            spots = [path for path in places(data) if path]
            if spots:
                path = draw.draw(st.sampled_from(spots))
                data = changed(data, path, draw.draw(st.sampled_from(CHANGES)), draw.draw(st.sampled_from(JUNK)), names)
        if draw.draw(st.booleans()) and "target" in data:
            data["target"] = draw.draw(st.sampled_from([nextafter(best, inf) * (1 + 1e-9), best * 1.001, best * 2]))
        assert proves(problem, certificate.kind, data) <= best * (1 + 1e-9)


def net_problem() -> Problem:
    graph = Graph.create("abcd", [(0, 1), (0, 2), (0, 3)], work=8.0, output=[2, 0, 0, 0])
    return Problem.create(graph, [Device(f"d{d}") for d in range(4)], Shared(1.0), constraints=[Acyclic()])


APART = {"a": {"devices": 4, "apart": ["a", "b", "c", "d"]}}
EQUAL = {f"d{d}": 1.0 for d in range(4)}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"target": 10.0, "shares": EQUAL},
        {"target": 10.0, "shares": EQUAL, "nets": []},
        {"target": 10.0, "shares": EQUAL, "nets": {"a": 4}},
        {"target": 10.0, "shares": EQUAL, "nets": {"x": APART["a"]}},
        {"target": 10.0, "shares": EQUAL, "nets": {"b": APART["a"]}},
        {"target": 10.0, "shares": EQUAL, "nets": {"a": {"devices": 5, "apart": ["a", "b", "c", "d", "a"]}}},
        {"target": 10.0, "shares": EQUAL, "nets": {"a": {"devices": 4, "apart": []}}},
        {"target": 10.0, "shares": EQUAL, "nets": {"a": {"devices": 4.0, "apart": ["a", "b", "c", "d"]}}},
        {"target": 10.0, "shares": EQUAL, "nets": {"a": {"devices": 3, "apart": ["a", "b", "c", "d"]}}},
        {"target": 17.0, "shares": EQUAL, "nets": APART},
        {"target": 10.1, "shares": EQUAL, "nets": APART},
        {"target": 10.0, "shares": {}, "nets": APART},
        {"target": 10.0, "shares": {"d9": 1.0}, "nets": APART},
    ],
)
def test_counts_that_prove_nothing_are_refused(data: dict[str, Any]) -> None:
    """Tensors that are none, nodes that are not on them, named twice or not apart, and sums that are too small."""
    assert proves(net_problem(), "count", {"target": 10.0, "shares": EQUAL, "nets": APART}) >= 10.0 * (1 - 1e-9)
    with pytest.raises(Refused):
        registry.load(registry.PROOFS, "count")().prove(net_problem(), data, Limits())


def test_a_cpu_pays_no_tensor() -> None:
    """A tensor on four devices, one of which pays nothing, is paid by three."""
    graph = net_problem().graph
    devices = [*(Device(f"d{d}") for d in range(3)), Device("d3", type="cpu", pays_io=False)]
    problem = Problem.create(graph, devices, Host(1.0))
    data = {"target": 9.5, "shares": EQUAL, "nets": APART}
    assert optimum(problem) == 10.0
    assert proves(problem, "count", data) == pytest.approx(9.5)
    assert proves(problem, "count", {**data, "target": 9.6}) == 0.0


@pytest.mark.parametrize("name", ["superblock", "guess"])
def test_superblocks_are_proved_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block with its share of the work costs as much wherever it stands: by other code, without a solver."""
    monkeypatch.setattr(mip_method, "PROOF_SECONDS", 30.0)  # on a busy machine, too
    graph = regal(nodes=24, model="ws", reading="own-memory", seed=3)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(4)], Shared(1.0), constraints=[Acyclic()])
    bound = registry_formulation(name).solve(problem, Limits(time=30.0, threads=1), Progress()).bound
    assert bound is not None
    if bound.certificate is None:
        assert name == "guess"  # what it knows of the blocks around the middle one no certificate says
        return
    assert bound.certificate.kind == "chain"
    assert proves(problem, "chain", bound.certificate.data) >= bound.cost


def test_exact_bounds_that_rest_on_the_model_alone() -> None:
    """Where the first row of a model is the bound, it is proved as that of ``simple`` is."""
    graph = Graph.create("ab", [(0, 1)], work=[8, 1], output=0.0)
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic(), Memory()])
    bound = registry_formulation("exact").solve(problem, Limits(time=30.0), Progress()).bound
    assert bound is not None
    if bound.cost <= 8.0:
        assert bound.certificate is not None
        assert bound.certificate.kind == "shares"
        assert proves(problem, "shares", bound.certificate.data) >= bound.cost


@pytest.mark.parametrize(
    "joined", ["interconnect links (bandwidth = 1, overlap = full)", "switch s\ninterconnect tree (overlap = full)"]
)
def test_work_on_networks_is_proved_again(joined: str) -> None:
    """The bound of ``simple`` on a network comes with a certificate that proves it; others are refused there."""
    option = "(switch = s, uplink = 1)" if "tree" in joined else ""
    problem = mtpp_dsl.load(
        "graph { node a (work = 4, output = 8)\nnode b (work = 3)\nnode c (work = 3)\nedge a -> b -> c }\n"
        f"{joined}\ndevice d[2] {option}\nminimize bottleneck\n"
    )
    bound = mtpp_dsl.solve(problem, "simple").bound
    assert bound is not None
    assert bound.certificate is not None
    checker = registry.load(registry.PROOFS, bound.certificate.kind)()
    assert checker.prove(problem, dict(bound.certificate.data), Limits()) == pytest.approx(bound.cost) == 5.0
    with pytest.raises(Refused, match="shared and host"):
        registry.load(registry.PROOFS, "count")().prove(problem, {"target": 5.0, "shares": {}, "tensors": {}}, Limits())
