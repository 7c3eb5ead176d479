"""Method ``auto`` on networks from specs: the example, answers that are wrong, energy, and what check says."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.solvers.methods.auto.auto import Auto
from mtpp_dsl.solving.api import load
from tests.tree import ROOT

EXAMPLE = ROOT / "examples" / "network.mtpp"
ENERGY = """mtpp 1
graph {
  node a (work = 1 ms, output = 1 MB)
  node b (work = 2 ms, output = 2 MB)
  node c (work = 2 ms)
  edge a -> b -> c
  edge a -> c
}
device x (power = 300 W)
device y (power = 70 W, speed = 1/2)
device z (power = 90 W)
interconnect links (bandwidth = 1 GB/s)
link y -> z (bandwidth = 4 GB/s)
constraint slow: bottleneck <= 6 ms
minimize energy: sum(power(d) * load(d) for d in devices)
"""


def test_a_wrong_load_of_a_channel_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    assert run(["solve", str(EXAMPLE), "-D", "layers=3", "--json", str(right), "--quiet"]) == 0
    assert run(["verify", str(EXAMPLE), str(right), "-D", "layers=3"]) == 0
    answer = json.loads(right.read_text())
    assert answer["status"] == "optimal"
    found = answer["channels"] if "channels" in answer else answer["plan"]["channels"]
    found[0]["load"] *= 1.01
    wrong.write_text(json.dumps(answer))
    capsys.readouterr()
    assert run(["verify", str(EXAMPLE), str(wrong), "-D", "layers=3"]) == 7
    assert found[0]["name"] in capsys.readouterr().out


def test_energy_is_that_of_the_best_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "energy.mtpp"
    spec.write_text(ENERGY)
    problem = load(str(spec))
    plans = [Plan.create(problem, np.array(where)) for where in product(range(3), repeat=3)]
    best = min(cost_of(problem, plan) for plan in plans if not verify(problem, plan))
    found = Auto().solve(problem, Limits(time=20), Progress())
    assert found.status == "optimal"
    assert found.plan is not None
    assert cost_of(problem, found.plan) == pytest.approx(best)
    assert run(["check", str(spec)]) == 0
    assert "slicegraph" not in capsys.readouterr().out
