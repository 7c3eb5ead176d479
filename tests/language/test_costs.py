"""Times that the law makes of costs: against the roofline in plain Python, and what overrides, replaces or lacks it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.costs import Costs, TimeSource
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.time_sources import counted_sources
from mtpp_dsl.language.lowering.law_arrays import column_times
from mtpp_dsl.solving.answers.json import schema
from tests.small_models import gpt

GPU = "peak = {bf16: 100 TFLOP/s, fp32: 10 TFLOP/s}, bandwidth = 1 TB/s"
TAIL = "interconnect shared (bandwidth = 10 GB/s)\nminimize bottleneck\n"


def spec(nodes: str, devices: str = f"device gpu[2] ({GPU})", more: str = "") -> str:
    return f"graph {{\n{nodes}\n}}\n{devices}\n{more}\n{TAIL}"


def load(nodes: str, devices: str = f"device gpu[2] ({GPU})", more: str = "") -> Problem:
    return mtpp_dsl.load(spec(nodes, devices, more))


def wrong(nodes: str, devices: str = f"device gpu[2] ({GPU})", more: str = "") -> str:
    with pytest.raises(SpecError) as caught:
        load(nodes, devices, more)
    return str(caught.value)


numbers = st.one_of(st.just(0.0), st.floats(1.0, 1e15))
items = st.lists(
    st.tuples(st.integers(0, 3), numbers, numbers, numbers, st.sampled_from(("", "matmul", "norm")), st.booleans()),
    min_size=1,
    max_size=12,
)
machines = st.lists(
    st.tuples(*[st.floats(1e6, 1e15)] * 3, *[st.sampled_from((1.0, 0.25, 0.8))] * 3, st.sampled_from((0.0, 3e-6))),
    min_size=1,
    max_size=3,
)


@given(items, machines)
def test_groups_of_operators_take_the_sum_of_their_rooflines(
    operators: list[tuple[int, float, float, float, str, bool]], gpus: list[tuple[float, ...]]
) -> None:
    owner, flop, read, write, kinds, half = zip(*operators, strict=True)
    costs = Costs.create(
        owner, flop=flop, read=read, write=write, kinds=kinds, dtypes=["fp16" if each else "fp32" for each in half]
    )
    graph = Graph.create("abcd", [(0, 1)], costs=costs, size_unit="B")
    devices = "\n".join(
        f"device d{i} (peak = {{fp16: {fast!r} FLOP/s, other: {slow!r} FLOP/s}}, bandwidth = {rate!r} B/s, "
        f"efficiency = {{matmul: {a}, memory: {b}, other: {c}}}, overhead = {late!r} s)"
        for i, (fast, slow, rate, a, b, c, late) in enumerate(gpus)
    )
    problem = mtpp_dsl.read(f"{devices}\n{TAIL}").problem(graph=graph)
    for d, (fast, slow, rate, a, b, c, late) in enumerate(gpus):
        expected = [0.0] * 4
        for v, f, r, w, kind, is_half in operators:
            if f or r or w:
                computing = f / ((fast if is_half else slow) * {"matmul": a}.get(kind, c))
                expected[v] += late + max(computing, (r + w) / (rate * b))
        assert problem.time[:, d] == pytest.approx(expected, rel=1e-12, abs=0)


def test_nodes_read_their_parameters_and_inputs_and_write_their_output() -> None:
    problem = load(
        "node a (flop = 0 FLOP, params = 3 GB, output = 2 GB)\nnode b (flop = 0 FLOP, output = 1 GB)\n"
        "node c (flop = 0 FLOP, read = 5 GB)\nedge a -> b -> c\nedge a -> c"
    )
    assert problem.time[:, 0].tolist() == pytest.approx([5e-3, 3e-3, 5e-3])


def test_what_is_said_of_a_time_overrides_the_law() -> None:
    problem = load(
        "node a (flop = 1 TFLOP, dtype = bf16)\nnode b (flop = 1 TFLOP, dtype = bf16, time = 3 ms)\n"
        "node c (flop = 1 TFLOP, dtype = bf16, work = 4 ms)\nnode d (flop = 1 TFLOP, dtype = fp8)\n"
        "node e (work = 7 ms)",
        f"device gpu[2] ({GPU})\ndevice cpu (speed = 0.5)",
        "time a on gpu[1] = 1 ms\ntime d on gpu = 2 ms\ntime a, d on cpu = 9 ms",
    )
    expected = [[10e-3, 1e-3, 9e-3], [3e-3] * 3, [4e-3, 4e-3, 8e-3], [2e-3, 2e-3, 9e-3], [7e-3, 7e-3, 14e-3]]
    assert problem.time.tolist() == [pytest.approx(row) for row in expected]
    assert {name: row.tolist() for name, row in problem.graph.time_sources.items()} == {
        "gpu[0]": [TimeSource.MODELLED, 0, 0, 0, 0]
    }


def test_measured_times_override_the_law(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("node,device,time (ms)\na,gpu[0],7\n")
    (tmp_path / "s.mtpp").write_text(
        spec("node a (flop = 1 TFLOP, dtype = bf16)\nnode b (flop = 1 TFLOP, dtype = bf16)", more='times from "t.csv"')
    )
    problem = mtpp_dsl.load(tmp_path / "s.mtpp")
    assert problem.time.tolist() == [[7e-3, 10e-3], [10e-3, 10e-3]]
    assert problem.graph.time_sources["gpu[0]"].tolist() == [TimeSource.MEASURED, TimeSource.MODELLED]


def test_figures_are_needed_only_where_they_count() -> None:
    """What computes nothing needs no peak, what moves nothing no bandwidth, and a view neither."""
    nodes = "node a (flop = 0 FLOP, read = 2 GB)\nnode b (flop = 0 FLOP)"
    assert load(nodes, "device d (bandwidth = 1 TB/s)").time.tolist() == [[2e-3], [0.0]]
    assert "'a' has no time there" in wrong(nodes, "device d")
    assert load("node b (flop = 0 FLOP)", "device d").time.tolist() == [[0.0]]
    assert load("node c (flop = 1 GFLOP)", "device d (peak = 1 TFLOP/s)").time.tolist() == [[1e-3]]
    assert "has no peak given" in wrong("node c (flop = 1 GFLOP)", "device d (bandwidth = 1 TB/s)")


def test_times_that_a_lost_file_would_give_are_not_asked_for() -> None:
    """The file is the one error; devices without figures are the same spec with the file."""
    said = wrong("node a (flop = 1 GFLOP)", "device gpu", more='times from "none.json"')
    assert "there is no file none.json" in said
    assert "has no peak" not in said


def test_a_law_of_the_spec_replaces_that_of_the_package() -> None:
    """It may use what it likes, on devices without figures, too; one that asks for names is asked for each."""
    nodes = "node a (flop = 1 GFLOP, weight_type = int4)\nnode b (flop = 1 GFLOP)"
    devices = "device x\ndevice y (power = 2 W)"
    law = """
        let factor = 2
        def slower(d) = if d == y then factor else 1
        def roofline(node, d) = (if weight_type(node) == "int4" then 1 ms else if name(node) == "b" then 2 ms else 9 s)
                                * slower(d)
    """
    problem = load(nodes, devices, law)
    assert problem.time.tolist() == [[1e-3, 2e-3], [2e-3, 4e-3]]
    assert "roofline(node, d)" in problem.graph.law
    never = load(nodes, devices, 'def roofline(v, d) = if name(d) == "x" then inf else 1 ms')
    assert never.time.tolist() == [[math.inf, 1e-3]] * 2
    added = load("node a (flop = 1 TFLOP, read = 2 GB, write = 0 B, dtype = bf16)", more='include "laws/additive.mtpp"')
    assert added.time[0].tolist() == pytest.approx([12e-3] * 2)


def test_phases_have_costs_of_their_own() -> None:
    problem = load(
        "node a (flop = {prefill: 1 TFLOP, decode: 1 GFLOP}, read = {prefill: 1 GB, decode: 2 GB}, write = 0 B, "
        "dtype = bf16)",
        more="phase prefill, decode (weight = 3)\ntime a on gpu[1] in decode = 7 ms",
    )
    assert problem.phase("prefill").time[0].tolist() == pytest.approx([10e-3, 10e-3])
    assert problem.phase("decode").time[0].tolist() == pytest.approx([2e-3, 7e-3])
    assert problem.time[0].tolist() == pytest.approx([16e-3, 31e-3])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (wrong("node a (flop = 1 GFLOP, dtype = fp8)"), r"has no peak for fp8, in which 'a' computes; .*bf16, fp32"),
        (wrong("node a (flop = 1 GFLOP)"), r"peaks by type of numbers \(bf16, fp32\), and 'a' does not say"),
        (wrong("node a (flop = 1 GFLOP)", "device gpu"), "'gpu' has no peak, and 'a' has no time"),
        (wrong("node a (flop = 0 FLOP, read = 1 B)", "device d (peak = 1 TFLOP/s)"), "'d' has no bandwidth given"),
        (wrong("node a (flop = 3)"), "flop must be a number of operations; this is a number without a unit"),
        (wrong("node a (read = 3 GB)"), "give flop, too"),
        (wrong("node a (flop = 1 FLOP, read = 3)"), "read must be a size"),
        (wrong("node a (flop = 1 FLOP, output = 3)", "device d (peak = 1 TFLOP/s)"), "follows from sizes in B"),
        (wrong("node a (work = 1 ms)", "device d (peak = 1 TB/s)"), "peak must be a speed in FLOP/s; this is a bandw"),
        (wrong("node a (work = 1 ms)", "device d (peak = {bf16: 0 FLOP/s})"), "peak must be more than zero"),
        (wrong("node a (work = 1 ms)", "device d (bandwidth = 3)"), "bandwidth must be a bandwidth; this is a number"),
        (
            wrong("node a (work = 1 ms)", "device d (efficiency = {matmul: 120%})"),
            "of matmul is more than 0 %, at most",
        ),
        (wrong("node a (work = 1)\nnode b (flop = 1 TFLOP, dtype = bf16)"), "all times carry units, or none"),
        (wrong("node a (flop = 1 FLOP)", "device d", "def roofline(v, d) = flop(v)"), "this is a number of operations"),
        (wrong("node a (flop = 1 FLOP)", "device d", "def roofline(v) = 1 ms"), "takes a node and a device"),
        (wrong("node a (flop = 1 FLOP)", "device d", "def roofline(v, d) = -1 ms"), "must not be negative"),
        (wrong("node a (flop = 1 GFLOP)", 'device g (type = "a100")'), "without quotation marks: .type = a100."),
    ],
)
def test_messages(said: str, message: str) -> None:
    assert re.search(message, said), said


def test_an_operator_that_nobody_can_count_needs_a_time() -> None:
    costs = Costs.create([0, 0, 1], flop=[1.0, np.nan, 1.0], read=0, write=0, names=["x", "sort", ""])
    graph = Graph.create(["a", "b"], [], costs=costs)
    devices = "device gpu (peak = 1 FLOP/s)\n"
    with pytest.raises(SpecError, match=r"the operations of operator sort are unknown: .*time a on gpu = 3 ms"):
        mtpp_dsl.read(devices + TAIL).problem(graph=graph)
    problem = mtpp_dsl.read(f"{devices}time a on gpu = 3 ms\n{TAIL}").problem(graph=graph)
    assert problem.time.tolist() == [[3e-3], [1.0]]


def test_an_overhead_counts_once() -> None:
    """A batch has the overhead of its device beside; under a law every operator has it."""
    with pytest.raises(SpecError, match="its overhead would count twice"):
        mtpp_dsl.load(
            f"graph {{ node a (flop = 1 GFLOP, dtype = bf16) }}\ndevice gpu ({GPU}, overhead = 1 us)\n"
            "interconnect links (bandwidth = 1 GB/s)\nmaximize throughput (batch = 4)\n"
        )


PROFILE = """{"format": "mtpp-profile", "version": 1, "device": "cpu", "symbols": {"batch": 2, "seq": 4},
 "operators": {"x": "s", "y": "t", "b": "t"}, "signatures": {"s": {"median": 0.002}, "t": {"median": 0.003}}}
"""


def profiled(tmp_path: Path, spec: str, graph: Graph | None = None) -> Problem:
    (tmp_path / "p.json").write_text(PROFILE)
    (tmp_path / "s.mtpp").write_text(spec)
    return mtpp_dsl.read(tmp_path / "s.mtpp").problem(graph=graph)


def test_a_node_is_measured_if_all_its_operators_are(tmp_path: Path) -> None:
    """One that does nothing needs no measurement; what is not measured stays modelled, with a warning."""
    flop, read = [1e9, 2e9, 0.0, 4e9, 5e9], [1.0, 1.0, 0.0, 1.0, 1.0]
    costs = Costs.create([0, 0, 0, 1, 1], flop=flop, read=read, write=0, names=["x", "y", "view", "y", "z"])
    graph = Graph.create(["a", "b"], [], costs=costs, size_unit="B")
    figures = "peak = 1 TFLOP/s, bandwidth = 1 TB/s"
    devices = f'device one (type = "cpu", {figures})\ndevice two ({figures})'
    problem = profiled(tmp_path, f'{devices}\ntimes from "p.json"\n{TAIL}', graph)
    assert problem.time.tolist() == [pytest.approx([5e-3, 3e-3]), pytest.approx([9e-3, 9e-3])]
    assert "p.json has no time of 'z'" in problem.warnings[0]
    assert counted_sources(problem) == {"modelled": 3, "measured": 1, "given": 0}
    other = profiled(tmp_path, f'{devices}\ntimes from "p.json" (device = two)\n{TAIL}', graph)
    assert other.time[0].tolist() == pytest.approx([3e-3, 5e-3])


def test_a_profile_of_a_written_graph_names_its_nodes(tmp_path: Path) -> None:
    text = spec("node a (work = 1 ms)\nnode b (work = 1 ms)", 'device one (type = "cpu")', 'times from "p.json"')
    assert profiled(tmp_path, text).time.tolist() == [[1e-3], [3e-3]]
    phased = spec("node b (work = 1 ms)", "device cpu", 'phase p, q\ntimes from "p.json" (phase = q)')
    assert profiled(tmp_path, phased).phase("q").time.tolist() == [[3e-3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (spec("node b (work = 1 ms)", "device gpu", 'times from "p.json"'), r"is of 'cpu', .*\(device = gpu\)"),
        (spec("node c (work = 1 ms)", "device cpu", 'times from "p.json"'), "has times of no node .* such as 'c'"),
        (spec("node b (work = 1 ms)", "device cpu", 'phase p, q\ntimes from "p.json"'), "is of one phase: .* p or q"),
        (spec("node b (work = 1)", "device cpu", 'times from "p.json"'), "all times carry units, or none do"),
        (
            spec("node b (work = 1 ms)", "device cpu", 'times from "p.json" (unit = ms)'),
            "profile has no option 'unit'",
        ),
    ],
)
def test_profiles_that_do_not_fit_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        profiled(tmp_path, text)


def test_a_profile_of_other_sizes_is_refused(tmp_path: Path) -> None:
    graph = gpt(1).graph(batch=2, seq=8)
    with pytest.raises(SpecError, match="made with seq = 4, and the graph has seq = 8"):
        profiled(tmp_path, f'device cpu (peak = 1 TFLOP/s, bandwidth = 1 TB/s)\ntimes from "p.json"\n{TAIL}', graph)


def test_answers_say_where_times_are_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The report, the JSON answer, which is verified, and mtpp check, with the law and all times if asked."""
    nodes = "node a[i in 0..3] (flop = 1 TFLOP, dtype = bf16)\nnode b (work = 3 ms)"
    path = tmp_path / "s.mtpp"
    path.write_text(spec(nodes, more="time a[0] on gpu[1] = inf"))
    answer = tmp_path / "a.json"
    assert run(["solve", str(path), "--method", "single-device", "--json", str(answer)]) == 0
    assert "7 modelled by the roofline, 2 given" in " ".join(capsys.readouterr().out.split())
    data = json.loads(answer.read_text())
    jsonschema.validate(data, schema())
    assert data["times"] == {"modelled": 7, "measured": 0, "given": 2}
    assert run(["verify", str(path), str(answer)]) == 0
    data["times"]["modelled"] = 8
    answer.write_text(json.dumps(data))
    assert run(["verify", str(path), str(answer)]) == 7
    assert "times.modelled: 8 in the answer; the spec has 7" in capsys.readouterr().out
    assert run(["check", "-v", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "def roofline(v, d)" in shown
    assert re.search(r"^a\[0\] +~10 ms +-$", shown, re.MULTILINE)
    assert re.search(r"^a\[1\.\.3\] +~10 ms +~10 ms$", shown, re.MULTILINE)
    assert re.search(r"^b +3 ms +3 ms$", shown, re.MULTILINE)


def test_problems_put_together_in_python() -> None:
    """Their times are made by a function; without it, there is a warning."""
    graph = gpt(2).graph(batch=1, seq=16)
    gpu = Device("gpu", type="x", peak={"": 1e12}, bandwidth=1e11)
    bare = Problem.create(graph, [gpu], Shared(1e9))
    assert any("no times were made of them on gpu" in said for said in bare.warnings)
    problem = Problem.create(mtpp_dsl.with_times(graph, [gpu]), [gpu], Shared(1e9))
    assert not any("no times were made" in said for said in problem.warnings)
    again = mtpp_dsl.read(f"device gpu (peak = 1 TFLOP/s, bandwidth = 100 GB/s)\n{TAIL}").problem(graph=graph)
    assert np.array_equal(problem.time, again.time)
    assert (problem.time > 0).any()
    with pytest.raises(SpecError, match="'gpu' has no peak"):
        mtpp_dsl.with_times(graph, [Device("gpu")])


LAWS = (
    "",
    'include "laws/additive.mtpp"',
    """let factor = 3
       def bytes(v) = read(v) + write(v)
       def slow(w, x) = if kind(w) == "matmul" and not bytes(w) > 2 GB then x * factor else -x + 2 * x
       def flops(v, d) = if flop(v) == 0 then 0 s else flop(v) / peak(d, dtype(v))
       def roofline(v, d) = slow(v, flops(v, d)) + (if type(d) == "big" or flop(v) == 0 then 1 us else 0 s)
    """,
)


@pytest.mark.parametrize("law", LAWS)
def test_many_operators_at_once_take_what_they_take_one_by_one(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    flop, read, write = (random.choice([0.0, 1.0, 1e9, 3e12], 200) * random.random(200) for _ in range(3))
    costs = Costs.create(
        np.arange(200) % 30,
        flop=flop,
        read=read,
        write=write,
        kinds=random.choice(["matmul", "norm", ""], 200).tolist(),
        dtypes=np.where(flop > 0, random.choice(["bf16", "fp32"], 200), "int64").tolist(),
    )
    graph = Graph.create([f"n{v}" for v in range(30)], [], costs=costs, size_unit="B")
    types = (
        f"type big ({GPU}, overhead = 2 us)\ndevice a (type = big, efficiency = {{norm: 0.3}})\ndevice b (type = big)"
    )
    spec = mtpp_dsl.read(f"{law}\n{types}\n{TAIL}")
    one_by_one = spec.problem(graph=graph).time
    asked = []

    def counted(*given: object) -> object:
        asked.append(column_times(*given))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr("mtpp_dsl.language.lowering.law.MANY", 10)
    monkeypatch.setattr("mtpp_dsl.language.lowering.law.column_times", counted)
    assert spec.problem(graph=graph).time == pytest.approx(one_by_one, rel=1e-14, abs=0)
    assert len(asked) == 2
    assert all(found is not None for found in asked)


def test_many_operators_are_refused_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtpp_dsl.language.lowering.law.MANY", 0)
    assert "has no peak for fp8" in wrong("node a (flop = 1 GFLOP, dtype = bf16)\nnode b (flop = 2 GFLOP, dtype = fp8)")
    assert "this is a number of operations" in wrong(
        "node a (flop = 1 FLOP)", "device d", "def roofline(v, d) = flop(v)"
    )
    odd = "def roofline(v, d) = if flop(v) > 2 FLOP then -1 ms else 1 ms"
    assert "must not be negative; for 'b'" in wrong("node a (flop = 1 FLOP)\nnode b (flop = 3 FLOP)", "device d", odd)
    named = 'def roofline(v, d) = if name(v) == "b" then 2 ms else 1 ms'
    assert load("node a (flop = 1 FLOP)\nnode b (flop = 1 FLOP)", "device d", named).time.tolist() == [[1e-3], [2e-3]]
