"""A sweep whose answers contradict each other says so, and ends with the code of a bug."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.store.store import Store
from tests.sweeps.rows import an_outcome

SWEEP = """mtpp-sweep = 1
name = "s"
methods = ["simple", "random"]
[[problems]]
name = "p"
text = '''mtpp 1
graph from generator chain (nodes = 8)
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
'''
"""


def test_plan_that_beats_a_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is left to run here: what another process has recorded is looked at, too."""
    path = tmp_path / "s.toml"
    path.write_text(SWEEP, encoding="utf-8")
    runs = {each.label: each for each in expand(read_sweep(path))}
    with Store.open(tmp_path / "s.sqlite") as store:
        store.put(runs["simple"], an_outcome(None, status="bound", bound=2.0, objective="bottleneck"))
        store.put(runs["random"], an_outcome(2.0, objective="bottleneck"))
        assert run(["bench", str(path)]) == 0
        assert "contradiction" not in capsys.readouterr().err
        store.put(replace(runs["random"], key="0" * 64, seed=1), an_outcome(1.9, objective="bottleneck"))
    assert run(["bench", str(path), "--quiet"]) == 7
    expected = (
        "contradiction, please report it: random on p seed 1 has a plan of 1.9, and simple on p seed 0 has a bound of 2"
    )
    assert expected in capsys.readouterr().err
