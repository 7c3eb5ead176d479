"""The log of every solver reaches whoever wants it, and nobody else."""

from __future__ import annotations

import pytest

from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.api import solve

GRAPH = Graph.create([f"v{i}" for i in range(6)], [(i, i + 1) for i in range(5)], work=[1, 2, 3, 3, 2, 1], output=1.0)
PROBLEM = Problem.create(GRAPH, [Device("a"), Device("b")], Shared(1.0), constraints=[Acyclic()])


@pytest.mark.parametrize("name", registry.available(registry.BACKENDS))
def test_log(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Lines come through the progress; the terminal stays clean with and without them."""
    if not registry.load(registry.BACKENDS, name)().available().ok:
        pytest.skip(f"{name} is not installed")
    lines: list[str] = []
    result = solve(PROBLEM, "exact", solver=name, progress=Progress(solver_log=lines.append))
    assert len(lines) > 3
    assert result.cost == 7.0
    quiet = solve(PROBLEM, "exact", solver=name)  # what proves its bound again depends on how long that took
    assert quiet.cost == 7.0
    assert max(quiet.gap or 0.0, result.gap or 0.0) <= 1e-6
    assert capfd.readouterr() == ("", "")
