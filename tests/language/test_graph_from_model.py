"""``graph from "model.json" (batch = 8, …)``: options, symbols and phases of models in specs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.errors import OptionError, SpecError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.model_json import write
from tests.small_models import gpt, llama

REST = """
device gpu[2]
time v on d = 1 ms for v in nodes for d in devices
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
"""


def read(folder: Path, options: str, more: str = "") -> Problem:
    spec = folder / "spec.mtpp"
    spec.write_text(f'{more}\ngraph from "m.json" ({options})\n{REST}')
    return mtpp_dsl.load(spec)


def test_options_and_symbols(tmp_path: Path) -> None:
    write(gpt(2), tmp_path / "m.json")
    graph = read(tmp_path, "group_by = layer, batch = b, seq = 2 * b, ties = copy", "param b = 4").graph
    assert "transformer.h[1]" in graph.names
    assert graph.output[0] == 2 * 64 * 4 * 8
    assert graph.origin is not None
    assert (graph.origin.path, graph.origin.group_by) == ("m.json", "layer")
    assert dict(graph.origin.options) == {"ties": "copy"}
    assert read(tmp_path, "group_by = g", 'param g = "module"').graph.origin.group_by == "module"  # type: ignore[union-attr]
    small = read(tmp_path, "weight_type = int4, experts_read = all_distinct, format = model").graph
    assert small.origin is not None
    assert dict(small.origin.options) == {"ties": "colocate", "weight_type": "int4", "experts_read": "all_distinct"}


def test_tied_weights_are_a_constraint(tmp_path: Path) -> None:
    write(gpt(2), tmp_path / "m.json")
    problem = read(tmp_path, "batch = 1")
    assert next(iter(problem.of(Colocate))).nodes == (0, problem.graph.n - 1)
    assert "constraint colocate" in problem.to_spec()


def test_phases_come_with_the_file(tmp_path: Path) -> None:
    model = llama(1)
    first = replace(model.operators[0], flop={"prefill": 3, "decode": 1})
    write(replace(model, phases=("prefill", "decode"), operators=(first, *model.operators[1:])), tmp_path / "m.json")
    assert read(tmp_path, "seq = 8").phases == ("prefill", "decode")
    weighted = read(tmp_path, "seq = 8", "phase decode (weight = 64), prefill").graph
    assert [(phase.name, phase.weight) for phase in weighted.phases] == [("prefill", 1.0), ("decode", 64.0)]
    assert not read(tmp_path, "phase = decode").phases
    with pytest.raises(SpecError, match="the graph has the phases prefill, decode, and the spec prefil"):
        read(tmp_path, "seq = 8", "phase prefil")


@pytest.mark.parametrize(
    ("options", "place", "code", "said"),
    [
        ("bacth = 2", "spec.mtpp:2:22-26", "E105", "no symbol or option 'bacth': its symbols are batch, seq; did you"),
        ("batch = 0", "spec.mtpp:2:30", "E214", "batch is 0; the model was exported for 1 to 1024"),
        ("batch = 1.5", "spec.mtpp:2:30-32", "E211", "batch must be a whole number"),
        ("group_by = layr", "spec.mtpp:2:33-36", "E110", "did you mean 'layer'?"),
        ("phase = decode", "spec.mtpp:2:30-35", "E110", "the model has no phase 'decode': it has none"),
        ("experts_read = all", "spec.mtpp:2:37-39", "E110", "experts_read is one of expected, all_distinct"),
        ("weight_type = int44", "spec.mtpp:2:36-40", "E110", "did you mean 'int4'?"),
        ("batch = 2, format = msr", "spec.mtpp:2:22-26", "E105", "files of format msr have no option 'batch'"),
    ],
)
def test_refused(options: str, place: str, code: str, said: str, tmp_path: Path) -> None:
    write(llama(1), tmp_path / "m.json")
    with pytest.raises(SpecError) as caught:
        read(tmp_path, options)
    text = str(caught.value)
    assert f"{place}: error[MTPP-{code}]" in text
    assert said in text


def test_too_little_reserve_is_warned_of(tmp_path: Path) -> None:
    write(llama(2), tmp_path / "m.json")
    spec = tmp_path / "spec.mtpp"
    found = {}
    for options in ("memory = 1 GB", "memory = 1 GB, reserve = 1 kB", "memory = 1 GB, reserve = 56 kB"):
        rest = REST.replace("gpu[2]", f"gpu[2] ({options})")
        spec.write_text(f'graph from "m.json" (batch = 2)\n{rest}constraint memory\n')
        found[options] = [said for said in mtpp_dsl.load(spec).warnings if "W409" in said]
    first, small, *enough = found.values()
    assert enough == [[]]
    assert "nothing is reserved for activations: there are up to 55.552 kB at once in model.layers[0]" in first[0]
    assert "say (reserve = 56 kB) on the devices" in first[0]
    assert "gpu[0] reserves too little for activations" in small[0]
    spec.write_text(f'graph from "m.json" (batch = 2)\n{REST.replace("gpu[2]", "gpu[2] (memory = 1 GB)")}')
    assert [said.split("MTPP-")[1][:4] for said in mtpp_dsl.load(spec).warnings] == ["W401"]  # nothing keeps to it


def test_the_model_says_how_it_is_grouped(tmp_path: Path) -> None:
    write(replace(gpt(1), group_by="module"), tmp_path / "m.json")
    assert read(tmp_path, "batch = 1").graph.origin.group_by == "module"  # type: ignore[union-attr]
    assert read(tmp_path, "group_by = layer").graph.origin.group_by == "layer"  # type: ignore[union-attr]


def test_a_broken_model_is_no_file_of_other_formats(tmp_path: Path) -> None:
    write(llama(1), tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text().replace('"kind": "norm"', '"kind": "nrm"', 1)
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(SpecError) as caught:
        read(tmp_path, "batch = 1")
    assert "has the kind 'nrm', which is unknown; did you mean 'norm'?" in str(caught.value)
    assert "msr" not in str(caught.value)


def test_models_with_phases_give_no_warnings(tmp_path: Path) -> None:
    """Their times come of their costs, and what they say of training is nothing that the user wrote in vain."""
    model = gpt(2)
    first = replace(model.operators[0], read={"prefill": 1e6, "decode": 1e3}, saved=4096)
    write(replace(model, phases=("prefill", "decode"), operators=(first, *model.operators[1:])), tmp_path / "m.json")
    spec = tmp_path / "spec.mtpp"
    device = 'device gpu[2] (peak = 1 TFLOP/s, bandwidth = 1 TB/s)\ngraph from "m.json" (seq = 8, ties = copy)\n'
    spec.write_text(f"{device}interconnect shared (bandwidth = 8 GiB/s)\nminimize bottleneck\n")
    problem = mtpp_dsl.load(spec)
    assert problem.time.any()
    assert problem.warnings == ()


def test_the_builder_takes_models_and_their_options(tmp_path: Path) -> None:
    write(gpt(2), tmp_path / "m.json")
    costs = {"peak": {"bf16": "1 TFLOP/s", "int64": "1 TFLOP/s"}, "bandwidth": "1 GB/s"}
    made = [
        mtpp_dsl.Builder().graph(tmp_path / "m.json", group_by="layer", batch=3),
        mtpp_dsl.Builder().graph(gpt(2), group_by="layer", batch=3),
        mtpp_dsl.Builder().graph(gpt(2).graph(group_by="layer", batch=3)),
    ]
    for builder in made:
        problem = (
            builder.device("gpu", count=2, **costs)
            .interconnect("shared", bandwidth="8 GB/s")
            .minimize("bottleneck")
            .build()
        )
        assert problem.graph.output[0] == 2 * 64 * 3 * 16
        assert len([*problem.of(Colocate)]) == 1
        assert problem.time.any()
    with pytest.raises(OptionError, match="a graph takes no options: batch"):
        mtpp_dsl.Builder().graph(gpt(1).graph(), batch=3)
