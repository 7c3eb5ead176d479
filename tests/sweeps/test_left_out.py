"""Problems whose files are not there, and names made of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.sweeps.file.expansion import Expansion, expand
from mtpp_dsl.sweeps.file.file import read_sweep

SPEC = """mtpp 1
param workload: path
graph from workload (format = graph)
device d[2]
interconnect shared (bandwidth = 1)
minimize bottleneck
"""
GRAPH = '{"format": "mtpp-graph", "version": 1, "nodes": [{"name": "a", "work": 1}], "edges": []}'


def sweep_of(folder: Path, missing: str, start: str = "") -> Path:
    (folder / "spec.mtpp").write_text(SPEC)
    (folder / "there.json").write_text(GRAPH)
    file = folder / "sweep.toml"
    file.write_text(
        f"""mtpp-sweep = 1
methods = [{{ name = "expert", start = "{start}" }}]
[[problems]]
spec = ["spec.mtpp"]
name = "{{workload}}"
missing = "{missing}"
params.workload = ["there.json", "gone.json", "${{MTPP_DATA}}/far.json"]
"""
    )
    return file


def test_problems_without_files_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the sweep says so; without a data folder too. A path in a name is its stem."""
    monkeypatch.setenv("MTPP_DATA", str(tmp_path / "nowhere"))
    expansion = Expansion(read_sweep(sweep_of(tmp_path, "skip")))
    assert [run.problem for run in expansion.runs()] == ["there"]
    assert expansion.left_out == ["gone", "far"]
    assert expansion.left_out_note == "left out, as their files are not there: gone, far"
    expansion.left_out += ["other", "another", "one", "two"]
    assert expansion.left_out_note.endswith("gone, far, other, another, 2 more")
    with pytest.raises(UsageError, match="no folder of data"):
        expand(read_sweep(sweep_of(tmp_path, "error")))
    monkeypatch.setenv("MTPP_DATA", str(tmp_path))
    (tmp_path / "far.json").write_text(GRAPH.replace('"work": 1', '"work": 2'))  # equal ones would be one run
    assert [run.problem for run in expand(read_sweep(sweep_of(tmp_path, "skip")))] == ["there", "far"]


def test_a_start_is_named_by_the_stem_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a run without its start is left out, or refused."""
    monkeypatch.setenv("MTPP_DATA", str(tmp_path))
    start = "${MTPP_DATA}/{workload}_plan.json"
    expansion = Expansion(read_sweep(sweep_of(tmp_path, "skip", start)))
    assert expansion.runs() == []
    assert expansion.left_out[0] == "there by expert"
    (tmp_path / "there_plan.json").write_text("{}")
    [run] = expand(read_sweep(sweep_of(tmp_path, "skip", start)))
    assert run.start == "${MTPP_DATA}/there_plan.json"
    (tmp_path / "there_plan.json").unlink()
    with pytest.raises(UsageError, match="no such file"):
        expand(read_sweep(sweep_of(tmp_path, "error", start)))


def test_missing_is_error_or_skip(tmp_path: Path) -> None:
    """Anything else is a mistake."""
    with pytest.raises(SpecError, match='expected "error"'):
        read_sweep(sweep_of(tmp_path, "ignore"))
