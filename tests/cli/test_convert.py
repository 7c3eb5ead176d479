"""``mtpp convert``: from every format to those that can be written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.exchange.formats.reading import read
from mtpp_dsl.exchange.model.model_json import write
from tests.small_models import gpt, llama


def test_a_model_becomes_a_graph_in_any_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(llama(2), tmp_path / "m.json")
    first = [str(tmp_path / "m.json")]
    assert run(["convert", *first, str(tmp_path / "again.json")]) == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    assert "wrote" in capsys.readouterr().out
    options = ["--group-by", "layer", "--size", "batch=2", "--weight-type", "int4"]
    wanted = llama(2).graph(group_by="layer", batch=2, weight_type="int4")
    assert run(["convert", *first, str(tmp_path / "g.json"), *options, "-q"]) == 0
    captured = capsys.readouterr()
    assert not captured.out
    assert "warning: the new file does not know the model" in captured.err
    graph = read(tmp_path / "g.json").graph
    assert graph.costs == wanted.costs
    assert (graph.names, graph.memory.tolist()) == (wanted.names, wanted.memory.tolist())
    assert run(["convert", *first, str(tmp_path / "g.dot"), *options]) == 2
    assert "DOT cannot say costs of several operators of one node" in capsys.readouterr().err
    assert run(["convert", *first, str(tmp_path / "g.dot"), *options, "--sum-costs"]) == 0
    assert run(["convert", str(tmp_path / "g.dot"), str(tmp_path / "g.nodes.csv")]) == 0
    summed = read(tmp_path / "g.nodes.csv").graph.costs
    assert summed is not None
    assert wanted.costs is not None
    assert summed.flop.tolist() == wanted.costs.per_node(wanted.costs.flop, wanted.n).tolist()


def test_ties_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(gpt(1), tmp_path / "m.json")
    assert run(["convert", str(tmp_path / "m.json"), str(tmp_path / "g.json"), "--to", "graph"]) == 0
    assert 'say in the spec \'constraint colocate "transformer.wte", "lm_head"\'' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["g.nodes.csv", "m2.json", "--to", "model"], "holds a graph, not a model"),
        (["m.json", "m2.json", "--to", "model", "--group-by", "layer"], "keeps the whole model: leave out the options"),
        (["m.json", "m2.onnx"], "is of no format that can be written; say which with --to"),
        (["m.json", "m2.dot", "--to", "msr"], "format msr can only be read; those that can be written are"),
        (["m.json", "m2.dot", "--size", "bacth=2"], "did you mean 'batch'?"),
        (["m.json", "m2.dot", "--size", "batch=two"], "--size batch=two: expected a whole number"),
        (["g.nodes.csv", "m2.dot", "--group-by", "layer"], "files of format csv have no option 'group_by'"),
        (["none.json", "m2.dot"], "there is no file"),
        (
            ["phases.json", "m2.dot"],
            "DOT cannot say phases; write JSON, or one phase of a model (mtpp convert --phase)",
        ),
    ],
)
def test_refused(options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(llama(1), tmp_path / "m.json")
    (tmp_path / "g.nodes.csv").write_text("name,work\na,1\n")
    (tmp_path / "g.edges.csv").write_text("source,target\n")
    phases = [{"name": name, "weight": 1, "nodes": [{"name": "a"}], "edges": []} for name in ("prefill", "decode")]
    head = {"format": "mtpp-graph", "version": 1, "units": {"work": "s", "size": "B", "memory": "B"}}
    (tmp_path / "phases.json").write_text(json.dumps({**head, "phases": phases}))
    assert run(["convert", *(str(tmp_path / each) if "." in each else each for each in options)]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("m2*"))
