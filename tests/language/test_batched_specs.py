"""Batches in the language: options, tables of times, files of them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.checks.batch_check import duration
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.syntax.layout import format_spec
from tests.batched_cases import built, cases

HEAD = """graph {
  node a (work = 2 ms, params = 1 MiB, output = 1 MiB)
  node b[2] (work = 3 ms, output = 1 MiB)
  edge a -> b[0] -> b[1]
}
device cpu (type = "cpu")
device gpu[2]
interconnect links (bandwidth = 1 GiB/s)
"""
BATCHED = HEAD + "maximize throughput (batch = 4)\n"


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        load(text + "\n")
    return caught.value.diagnostics


def takes(problem: Problem, node: str, device: str) -> list[float]:
    """Return what batches of 1, 2, … inputs take; chunks are of one input."""
    assert problem.batching.chunk == 1
    row: list[float] = problem.batching.time[problem.graph.index[node], problem.device_index[device], 1:].tolist()
    return row


def test_options_of_the_objective() -> None:
    """Batch, chunk and the reading of transfers; ``per_input`` is a word, bare or quoted."""
    for word in ("per_input", '"per_input"'):
        objective = load(HEAD + f"maximize throughput (batch = 128, chunk = 32, transfer = {word})").objective
        assert (objective.batch, objective.chunk, objective.transfer) == (128, 32, "per_input")
    objective = load(BATCHED).objective
    assert (objective.batch, objective.chunk, objective.transfer) == (4, None, "per_batch")
    assert load(HEAD + "maximize throughput (batch = 4, transfer = per_batch)").objective.transfer == "per_batch"


def test_a_word_with_a_hyphen_is_a_difference_elsewhere() -> None:
    """``per-input`` is a difference, which subtracts."""
    problem = load("let per = 5 let input = 3 let rest = per-input\n" + BATCHED + "constraint batch in [rest]")
    assert problem.batching.sizes == ((1,),) * 3


def test_options_of_devices() -> None:
    """A fixed share and an overhead shape the law of batches."""
    problem = load(BATCHED.replace("device gpu[2]", "device gpu[2] (fixed = 60%, overhead = 10 us)"))
    assert [device.fixed for device in problem.devices] == [0, 0.6, 0.6]
    assert takes(problem, "a", "gpu[1]") == pytest.approx([1e-5 + 2e-3 * (0.6 + 0.4 * p) for p in (1, 2, 3, 4)])
    assert takes(problem, "a", "cpu") == pytest.approx([2e-3 * p for p in (1, 2, 3, 4)])


def test_routing() -> None:
    """Without routing over others, devices without a link cannot reach each other."""
    links = "interconnect links{}\nlink cpu <-> gpu[0] (bandwidth = 1 GiB/s)\n"
    for option, routing in (("", "widest"), (" (routing = widest)", "widest"), (" (routing = direct)", "direct")):
        problem = load(BATCHED.replace("interconnect links (bandwidth = 1 GiB/s)\n", links.format(option)))
        assert isinstance(problem.interconnect, Links)
        assert problem.interconnect.routing == routing


def test_times_by_law() -> None:
    """Loop variables stand in members, size and value; a later statement replaces an earlier one."""
    problem = load(
        BATCHED + "param share = 40%\n"
        "time b[i], a on gpu at batch p = (share + (1 - share) * p) * (i + 1) * work(a) for i in 0..1 for p in 1..4\n"
        "time a on gpu[1] at batch 2 = 9 ms\ntime b on gpu[1] at batch 3 = inf\n"
    )
    assert takes(problem, "b[0]", "gpu[0]") == pytest.approx([2e-3 * (0.4 + 0.6 * p) for p in (1, 2, 3, 4)])
    assert takes(problem, "a", "gpu[1]") == pytest.approx([4e-3, 9e-3, 4e-3 * 2.2, 4e-3 * 2.8])
    assert takes(problem, "b[1]", "gpu[1]")[2] == float("inf")
    assert takes(problem, "b[1]", "cpu") == pytest.approx([3e-3 * p for p in (1, 2, 3, 4)])


def test_a_node_that_cannot_run_has_no_batches() -> None:
    """The time inf on a device, without a size, stands over times of batches before and after it."""
    times = "time v on gpu at batch p = p * 1 ms for v in nodes for p in 1..4\n"
    never = "time a on gpu[1] = inf\n"
    for text in (times + never, never + times):
        problem = load(BATCHED + text)
        assert takes(problem, "a", "gpu[1]") == [float("inf")] * 4
        assert takes(problem, "a", "gpu[0]") == pytest.approx([1e-3 * p for p in (1, 2, 3, 4)])


def test_a_table_of_a_device_is_not_that_of_a_type() -> None:
    """What a statement says of a device called like another's type stays with that device."""
    problem = load(
        BATCHED.replace("gpu[2]", 'gpu device big (type = "gpu")') + "time a on gpu at batch p = 7 ms for p in 1..4"
    )
    assert takes(problem, "a", "gpu") == [7e-3] * 4
    assert takes(problem, "a", "big") == pytest.approx([2e-3 * p for p in (1, 2, 3, 4)])


def test_statements_go_over_the_times_of_the_graph() -> None:
    """A statement changes what it names; the rest of a table that the graph brought stays."""
    graph = Graph.create(
        ["a", "b"],
        [(0, 1)],
        work=[1.0, 1.0],
        batch_times={"gpu": {1: [1.0, 2.0], 2: [3.0, float("inf")]}, "d[1]": {1: [5.0, 5.0], 2: [6.0, 6.0]}},
    )
    builder = mtpp_dsl.Builder().graph(graph).device("d", count=2, type="gpu").interconnect("links", latency=1)
    problem = builder.maximize("throughput", batch=2).time("b", "d", {2: 9}).build()
    assert takes(problem, "a", "d[0]") == [1, 3]
    assert takes(problem, "b", "d[0]") == [2, 9]
    assert takes(problem, "b", "d[1]") == [5, 9]


def test_time_is_a_name_elsewhere() -> None:
    """Nodes, params, devices and types may be called time and times, also where the file is formatted."""
    text = (
        "param time: time = 3 ms\nlet times = [1, 2]\n"
        "graph {\n  node x (work = time, output = 1 B)\n}\ndevice at\ninterconnect links (bandwidth = 1 B/s)\n"
        "maximize throughput (batch = 2)\nconstraint break symmetry by time\n"
        "time x on at at batch b = b * time for b in times\n"
    )
    assert takes(load(text), "x", "at") == [3e-3, 6e-3]
    assert format_spec(Source("x", text)) == text


def test_layout_of_times() -> None:
    """Neighbouring statements stand as a table."""
    text = (
        "time a on gpu[0] at batch 4=5 ms\ntime bbb[i]on cpu at batch 16=1 ms for i in 0..1\n"
        'times from"p.csv"(unit=ms)\nmaximize throughput(transfer=per_input)'
    )
    assert format_spec(Source("x", text)).splitlines() == [
        "time a      on gpu[0] at batch 4  = 5 ms",
        "time bbb[i] on cpu    at batch 16 = 1 ms for i in 0..1",
        'times from "p.csv" (unit = ms)',
        "maximize throughput (transfer = per_input)",
    ]


CASES = [
    ("time c on gpu at batch 1 = 3 ms", "c", "nothing is called 'c'"),
    ("time a on gpus at batch 1 = 3 ms", "gpus", "did you mean 'gpu'?"),
    ("time gpu on a at batch 1 = 3 ms", "gpu", "a node is wanted here, not a device"),
    ("time a on gpu at batch 0 = 3 ms", "0", "a batch has one input or more; this has 0"),
    ("time a on gpu at batch 1.5 = 3 ms", "1.5", "the size of a batch must be a whole number; this is 1.5"),
    ("time a on gpu at batch [1, 2] = 3 ms", "[1, 2]", "the size of a batch must be a number; this is a list"),
    ("time a on gpu at batch 1 = 3", "3", "the time of a batch is a number without a unit, but other times"),
    ("time a on gpu at batch 1 = 3 MiB", "3 MiB", "a batch takes a time or a number without a unit; this is a size"),
    ("time a on gpu at batch 1 = 1 ms - 2 ms", "1 ms - 2 ms", "a time must not be negative"),
    ("time a on gpu at batch 1 = nan", "nan", "nothing is called 'nan'"),
    ('times from "no.csv"', '"no.csv"', "there is no file no.csv"),
    ('times from "no.csv" (unit = MB)', "MB", "unit is one of ns, us"),
    ("device x (fixed = 120%)", "120%", "the fixed share of a batch is at most 100 %; this is 120 %"),
    ("device x (overhead = 3 MiB)", "3 MiB", "overhead must be a time or a number without a unit"),
    ("device x (overhead = 3)", "3", "overhead of x is a number without a unit, but other times"),
    ("device x (fixd = 3)", "fixd", "a device has no option 'fixd'; did you mean 'fixed'?"),
    ("constraint batch in 3", "3", "batch sizes are a list of whole numbers; this is a number without a unit"),
    ("constraint batch in [3]", "constraint batch in [3]", "add up to 4 inputs"),
    ("constraint batch in []", "constraint batch in []", "add up to 4 inputs"),
]


@pytest.mark.parametrize(("added", "place", "message"), CASES, ids=[case[0] for case in CASES])
def test_what_is_wrong_has_a_place(added: str, place: str, message: str) -> None:
    """A sound spec with one wrong statement added: the message is said, about that place."""
    found = errors(BATCHED + added)
    assert [(d.span and d.span.text, message in d.message) for d in found] == [(place, True)], found[0].message


OBJECTIVES = [
    ("(chunk = 2)", "2", "chunk needs a batch"),
    ("(transfer = per_input)", "per_input", "transfer needs a batch"),
    ("(batch = 4, chunk = 3)", "3", "chunks of 3 inputs do not make a batch of 4"),
    ("(batch = 4, chunk = 0)", "0", "a chunk has one input or more; this has 0"),
    ("(batch = 4, transfer = per_inputs)", "per_inputs", "did you mean 'per_input'?"),
    ("(batch = 4, transfer = always)", "always", "transfer is one of per_batch, per_input"),
    ("(batch = 4, chunks = 2)", "chunks", "throughput has no option 'chunks'; did you mean 'chunk'?"),
    ("(batch = 100000)", "maximize throughput (batch = 100000)", "scheduled as 100,000 chunks"),
]


@pytest.mark.parametrize(("options", "place", "message"), OBJECTIVES, ids=[case[0] for case in OBJECTIVES])
def test_wrong_objectives(options: str, place: str, message: str) -> None:
    """What is wrong with an objective is said of it."""
    (found,) = errors(HEAD + f"maximize throughput {options}")
    assert message in found.message
    assert found.span is not None
    assert found.span.text == place


def test_sizes_that_are_no_chunks() -> None:
    """A size that the chunk does not divide is an error."""
    (found,) = errors(HEAD + "maximize throughput (batch = 4, chunk = 2)\nconstraint batch in [1, 2, 4]")
    assert "a batch of 1 inputs is no number of chunks of 2" in found.message


def test_several_errors_in_one_run() -> None:
    """Every wrong statement is reported."""
    found = errors(
        BATCHED + "time c on gpu at batch 1 = 3 ms\ntime a on gpu at batch 0 = 1 ms\ntime a on gpu batch 3 = 1 ms"
    )
    assert len(found) == 3


def test_batches_without_a_batch() -> None:
    """Times of batches are pointed out where nothing goes by them; batch sizes are an error."""
    for text in (
        "time a on gpu at batch p = 3 ms for p in 1..4",
        "device x (fixed = 50%)",
        "device x (overhead = 1 us)",
    ):
        warnings = load(HEAD + "minimize makespan\n" + text).warnings
        assert any("times of batches have a meaning only for" in warning for warning in warnings), text
        assert not any("times of batches" in warning for warning in load(BATCHED + text).warnings)
    (found,) = errors(HEAD + "minimize makespan\nconstraint batch in [1]")
    assert "to minimize makespan runs one input" in found.message


def test_a_device_without_a_size() -> None:
    """An empty list takes a device out; the reader is told."""
    problem = load(BATCHED + "constraint batch on cpu in []")
    assert problem.batching.sizes == ((), (1, 2, 3, 4), (1, 2, 3, 4))
    assert any("device 'cpu' runs nothing" in warning for warning in problem.warnings)


def test_many_devices_without_a_size() -> None:
    """Devices that run nothing for one reason are one warning."""
    text = BATCHED + "device idle[5]\nconstraint batch on idle in [1000000]\n"
    found = [warning for warning in load(text).warnings if "run nothing" in warning]
    assert len(found) == 1
    assert "devices 'idle[0]' and 4 others run nothing: they have no batch size of at most" in found[0]


def test_times_alone_settle_the_unit() -> None:
    """Without other times, the tables of batches say whether times carry units; overhead and tables must agree."""
    text = (
        "graph { node a }\ndevice d%s\ninterconnect links\nmaximize throughput (batch = 2)\n"
        "time a on d at batch p = %s for p in 1..2"
    )
    assert load(text % ("", "3 ms")).time_unit == "s"
    assert load(text % ("", "3")).time_unit == ""
    assert "all times of a problem carry units" in errors(text % (" (overhead = 1 us)", "3"))[0].message


PROFILE = (
    'batch,node,note,device,time (us)\r\n1,a,x,gpu,5\n\n2,"a",,"gpu",7.5\n'
    "1,b,,gpu[1],1e1\n2,b,,cpu,inf\n2,b,,gpu[1],3\n1,b,,cpu,1\n"
)


def measured(tmp_path: Path, content: str, more: str = "") -> Problem:
    (tmp_path / "p.csv").write_text(content, encoding="utf-8")
    (tmp_path / "s.mtpp").write_text(BATCHED.replace("batch = 4", "batch = 2") + f'times from "p.csv"{more}\n')
    return load(tmp_path / "s.mtpp")


def test_files_of_times(tmp_path: Path) -> None:
    """Nodes, devices, families and types by name, columns in any order, a unit in the header, inf for never."""
    problem = measured(tmp_path, PROFILE)
    assert takes(problem, "a", "gpu[0]") == pytest.approx([5e-6, 7.5e-6])
    assert takes(problem, "a", "cpu") == pytest.approx([2e-3, 4e-3])
    assert takes(problem, "b[1]", "gpu[1]") == pytest.approx([1e-5, 3e-6])
    assert takes(problem, "b[0]", "cpu") == [pytest.approx(1e-6), float("inf")]
    problem = measured(tmp_path, "node,device,batch,time\na,accelerator,1,5\na,accelerator,2,6\n", " (unit = ns)")
    assert takes(problem, "a", "gpu[1]") == pytest.approx([5e-9, 6e-9])
    assert takes(problem, "a", "cpu") == pytest.approx([2e-3, 4e-3])


def test_a_statement_after_a_file_counts(tmp_path: Path) -> None:
    """The later of a file and a statement counts."""
    problem = measured(tmp_path, PROFILE, "\ntime a on gpu[0] at batch 1 = 1 s")
    assert takes(problem, "a", "gpu[0]") == pytest.approx([1, 7.5e-6])
    assert takes(problem, "a", "gpu[1]") == pytest.approx([5e-6, 7.5e-6])


FILES = [
    ("", "s.mtpp", "is empty; a file of times begins with node,device,batch,time"),
    ("node,device,batches,time\n", "p.csv:1:1-24", "there is no column 'batch'; is it 'batches'?"),
    ("node,device,batch,times\n", "p.csv:1:1-23", "there is no column 'time'; is it 'times'?"),
    ("node,node,device,batch,time\n", "p.csv:1:6-9", "there are two columns 'node'"),
    ("node,device,batch,time (MB)\n", "p.csv:1:19-27", "there is no unit of time 'MB'"),
    ("node,device,batch,time (ms)\nc,gpu,1,5\n", "p.csv:2:1", "nothing is called 'c'"),
    ("node,device,batch,time (ms)\na,gpux,1,5\n", "p.csv:2:3-6", "nothing is called 'gpux'; did you mean 'gpu'?"),
    ("node,device,batch,time (ms)\na,b,1,5\n", "p.csv:2:3", "a device is wanted here, not a node"),
    ("node,device,batch,time (ms)\na,gpu,0,5\n", "p.csv:2:7", "a batch has one input or more"),
    ("node,device,batch,time (ms)\na,gpu,1,-5\n", "p.csv:2:9-10", "a time must not be negative; this is -5"),
    ("node,device,batch,time (ms)\na,gpu,1,nan\n", "p.csv:2:9-11", "a time is a number, or inf"),
    ("node,device,batch,time (ms)\na,gpu,1,1e999\n", "p.csv:2:9-13", "the number is too large"),
    ("node,device,batch,time (ms)\na,gpu,1\n", "p.csv:2:1-7", "this line has 3 cells; the first line has 4"),
    ('node,device,batch,time (ms)\n"a,gpu,1,5\n', "p.csv:2:1-10", "a cell with quotes"),
    ("node,device,batch,time (ms)\na,gpu,1,5\na,gpu[1],1,5\n", "p.csv:3:1-12", "this time is already given at"),
    ("node,device,batch,time\na,gpu,1,5\na,gpu,2,5\n", "p.csv:2:1-9", "but other times of the problem are a time"),
]


@pytest.mark.parametrize(("content", "place", "message"), FILES, ids=[case[2] for case in FILES])
def test_wrong_files_have_a_place(tmp_path: Path, content: str, place: str, message: str) -> None:
    """What is wrong in a file is said of its line and columns, and where the spec names it."""
    with pytest.raises(SpecError) as caught:
        measured(tmp_path, content)
    (found,) = caught.value.diagnostics
    assert message in found.message
    assert f"{place}: error" in str(found) or place == "s.mtpp"
    assert "s.mtpp:" in str(found)


def test_units_of_a_file_are_said_once(tmp_path: Path) -> None:
    """A header and an option that differ are an error."""
    with pytest.raises(SpecError, match="says that its times are in us, and unit says ms"):
        measured(tmp_path, PROFILE, " (unit = ms)")
    assert measured(tmp_path, PROFILE, " (unit = us)").batching.count == 2


def test_a_file_reports_all_its_lines(tmp_path: Path) -> None:
    """Wrong lines are reported together, up to a limit."""
    with pytest.raises(SpecError) as caught:
        measured(tmp_path, "node,device,batch,time (ms)\nc,gpu,1,5\na,gpu,x,5\na,gpu,1,y\n")
    assert len(caught.value.diagnostics) == 3
    with pytest.raises(SpecError) as caught:
        measured(tmp_path, "node,device,batch,time (ms)\n" + "a,gpu,x,5\n" * 99)
    assert len(caught.value.diagnostics) == 20


@given(st.text(alphabet='node,device,batch,time"\n\r\t (us)gpu[0]a1.e-inf', max_size=80))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """No text breaks the reader."""
    with contextlib.suppress(SpecError):
        measured(tmp_path_factory.mktemp("any"), "node,device,batch,time (ms)\n" + text)


def test_the_cases_read_as_they_are(data: Path) -> None:
    """The builder reproduces sizes, times, memories and links of every reference instance."""
    for case in cases(data).values():
        problem = built(case)
        batching, chunk = problem.batching, problem.batching.chunk
        assert batching.inputs == case["L"]
        assert [[size * chunk for size in menu] for menu in batching.sizes] == [
            sorted(size for size in menu if size <= case["L"]) for menu in case["B"]
        ]
        for i, rows in enumerate(case["t"]):
            for u, row in enumerate(rows):
                assert [batching.time[i, u, size] for size in batching.sizes[u]] == [
                    row[str(size * chunk)] for size in batching.sizes[u]
                ]
        np.testing.assert_array_equal(batching.weights, case["wm"])
        np.testing.assert_array_equal(batching.share, chunk * (np.array(case["im"]) + np.array(case["om"])))
        np.testing.assert_array_equal(problem.memory_limit, case["mem"])
        assert isinstance(problem.interconnect, Links)
        assert problem.interconnect.routing == "direct"
        np.testing.assert_array_equal(problem.interconnect.bandwidth * (1 - np.eye(problem.k)), case["beta"])


def test_built_is_loaded() -> None:
    """A builder's text says what the builder says."""
    builder = mtpp_dsl.Builder().node("a", work="1 ms", output="1 MiB").node("b", work="2 ms").edge("a", "b")
    builder.device("gpu", count=2, fixed=0.5, overhead="3 us").interconnect("links", routing="direct")
    builder.link("gpu[0]", "gpu[1]", bandwidth="1 GiB/s").time(["a", "b"], "gpu", {1: "1 ms", 2: float("inf")})
    builder.maximize("throughput", batch=4, chunk=1, transfer="per_input").constraint("batch in [1, 2, 3, 4]")
    builder.time("b", "gpu[1]", {3: "4 ms", 4: "5 ms"}).time("a", ["gpu[0]", "gpu[1]"], {3: "1 ms", 4: 0})
    builder.constraint("batch on gpu[0] in [1, 2]")
    one, other = builder.build(), load(builder.text())
    assert one.devices == other.devices
    assert one.objective == other.objective
    np.testing.assert_array_equal(one.batching.time, other.batching.time)
    assert takes(one, "b", "gpu[1]") == [0.001, float("inf"), 0.004, 0.005]


def test_a_kind_that_a_device_does_not_support_stays_so() -> None:
    """A table has no say on what a device cannot run."""
    text = BATCHED.replace("work = 2 ms", 'work = 2 ms, kind = "lstm"').replace(
        "gpu[2]", 'gpu[2] (unsupported = "lstm")'
    )
    assert takes(load(text + "time a on gpu at batch 1 = 3 ms"), "a", "gpu[0]") == [float("inf")] * 4


def test_a_missing_size_is_said_of_the_device() -> None:
    """A time that a table lacks is an error at the device, with the sizes that there are."""
    (found,) = errors(BATCHED + "time a on gpu at batch p = 3 ms for p in 1..2")
    assert "there is no time of a batch of 3 of 'a' on gpu[0], only of 1 or 2" in found.message
    assert found.span is not None
    assert found.span.text == "device gpu[2]"


def test_magnitudes_of_batches() -> None:
    """Times that no solver computes with are refused, with their sum."""
    for text in ("time a on gpu at batch 1 = 1e300 s", "device x (overhead = 1e300 s)"):
        assert "is refused" in errors(BATCHED + text)[0].message


def test_links_that_join_nothing_take_no_times() -> None:
    """Without any link there is no time of a transfer whose unit could be another than that of the nodes."""
    problem = load(
        'mtpp 1 graph { node "a" (work = 2 ms, output = 1 MiB) } device x device y\n'
        "interconnect links\nmaximize throughput (batch = 2)"
    )
    assert problem.time_unit == "s"


def test_times_that_nothing_reads_are_told() -> None:
    """A time that a plan cannot use is named, with the remedy; what a spec can use is not."""
    spec = BATCHED.replace("node a (", 'node a (kind = "conv", ').replace("gpu[2]", 'gpu[2] (unsupported = "conv")')
    for text, words in [
        ("time a on gpu at batch p = p * 1 ms for p in 1..4", "times of batches of a on gpu[0] have no effect"),
        ("time b[0] on cpu at batch p = p * 1 ms for p in 1..6", "times of batches of 5 and 6 on cpu have no effect"),
        ("time b on cpu at batch p = 1 ms for p in [3, 4] constraint batch on cpu in [4]", "of batches of 3 on cpu"),
    ]:
        assert any(words in warning for warning in load(spec + text).warnings), text
    assert not load(spec + "time b on gpu at batch p = p * 1 ms for p in 1..4").warnings
    assert not load(spec + "time a on gpu at batch p = inf for p in 1..4").warnings
    slow = spec.replace('(unsupported = "conv")', '(unsupported = "conv", overhead = 1 ms)')
    assert not load(slow + "time b[0] on gpu at batch p = p * 1 ms for p in 1..4").warnings
    law = load(slow + "time b on gpu at batch p = p * 1 ms for p in 1..4").warnings
    assert [warning.partition(":")[0] for warning in law] == ["overhead of device gpu[0] has no effect"]
    (typo,) = load(spec.replace('= "conv")\ni', '= "cnov")\ni')).warnings
    assert "did you mean 'conv'?" in typo
    (size,) = load(
        HEAD.replace("b[1]", "b[1] (size = 1 B)").replace("links", "shared") + "minimize bottleneck"
    ).warnings
    assert "the size of the edge a -> b[0] has no effect on interconnect shared" in size


def test_who_cannot_run_a_node_is_told() -> None:
    """Where no device is left for a node, a kind that one does not support is named, not the constraint alone."""
    spec = BATCHED.replace("node a (", 'node a (kind = "conv", ').replace("gpu[2]", 'gpu[2] (unsupported = "conv")')
    found = quick(load(spec + "time a on gpu at batch p = 1 ms for p in 1..4\nconstraint pin a on gpu[0]"))
    assert found is not None
    assert found.reason == "no device is left for a: gpu[0] does not support the kind 'conv'"


@st.composite
def timed_specs(draw: st.DrawFn) -> tuple[str, dict[tuple[str, str, int], float], set[str]]:
    """Draw a spec that gives times in every way; what each batch takes by the page; and what must be warned of."""
    count = draw(st.integers(1, 3))
    nodes = {name: (draw(st.integers(0, 5)), draw(st.sampled_from(["", "k"]))) for name in ("a", "b")}
    lines, expected, idle = [f"maximize throughput (batch = {count})", "interconnect links (latency = 1)"], {}, set()
    lines.append("graph {" + " ".join(f'node {v} (work = {w}, kind = "{k}")' for v, (w, k) in nodes.items()) + "}")
    for d in ("x", "y"):
        fixed, overhead = draw(st.sampled_from([0, 50])), draw(st.sampled_from([0, 3]))
        speed, barred = draw(st.sampled_from([0.5, 1, 2])), draw(st.booleans())
        unsupported = ', unsupported = "k"' if barred else ""
        lines.append(f"device {d} (speed = {speed}, fixed = {fixed}%, overhead = {overhead}{unsupported})")
        tabled = set()
        for v, (work, kind) in nodes.items():
            table = draw(st.lists(st.sampled_from([0.0, 1.0, 4.0, np.inf]), min_size=3, max_size=3))
            given = draw(st.booleans())
            beyond = given and draw(st.booleans())
            for p in range(1, 4):
                if given and (p <= count or beyond):
                    lines.append(f"time {v} on {d} at batch {p} = {table[p - 1]:g}")
                    finite = np.isfinite(table[p - 1])
                    idle |= {"sizes"} if finite and p > count else set()
                    idle |= {"kind"} if finite and barred and kind == "k" else set()
                    tabled.add(v)
                law = 0.0 if not work else overhead + work / speed * (fixed / 100 + (1 - fixed / 100) * p)
                expected[v, d, p] = np.inf if barred and kind == "k" else table[p - 1] if given else law
        if (fixed or overhead) and tabled and all(v in tabled or (barred and nodes[v][1] == "k") for v in nodes):
            idle.add("law")
        if barred and not any(kind == "k" for _, kind in nodes.values()):
            idle.add("no kind")
    return "\n".join(lines) + "\n", {key: value for key, value in expected.items() if key[2] <= count}, idle


@settings(max_examples=100, deadline=None)
@given(timed_specs())
def test_every_time_is_honoured_or_told(drawn: tuple[str, dict[tuple[str, str, int], float], set[str]]) -> None:
    """Work, speed, fixed, overhead, unsupported and tables together: each batch takes what the page says."""
    text, expected, idle = drawn
    problem = load(text)
    index = problem.graph.index
    for (v, d, p), time in expected.items():
        device = problem.device_index[d]
        assert problem.batching.time[index[v], device, p] == pytest.approx(time)
        assert duration(problem, index[v], device, p) == pytest.approx(time)
    words = {
        "sizes": "it runs batches of",
        "kind": "from 'unsupported'",
        "law": "into those times",
        "no kind": "no node",
    }
    told = {what for what, said in words.items() if any(said in warning for warning in problem.warnings)}
    assert told == idle
