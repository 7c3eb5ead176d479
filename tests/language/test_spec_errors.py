"""Specs that parse and are wrong: a table of what is said about what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.lower import load, read

HEAD = """
graph {
  node a (work = 2 ms, output = 1 MiB, kind = "conv")
  node b[i in 0..2] (work = 3 ms, output = 1 MiB)
  edge a -> b[0] -> b[1] -> b[2]
}
device gpu[2] (memory = 1 GiB)
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
constraint memory
"""

CASES = [
    # names
    ("constraint pin c on gpu[0]", "c", "nothing is called 'c'"),
    ("constraint pin b[7] on gpu[0]", "b[7]", "there is no node 'b[7]': there are b[0] to b[2]"),
    ("constraint pin a on gpu[2]", "gpu[2]", "there is no device 'gpu[2]': there are gpu[0] to gpu[1]"),
    ("constraint pin a on gpus", "gpus", "nothing is called 'gpus'; did you mean 'gpu'?"),
    ("constraint pin a on b[0]", "b[0]", "a device is wanted here, not a node"),
    ("constraint pin gpu[0] on gpu[0]", "gpu[0]", "a node is wanted here, not a device"),
    ("constraint c: lod(gpu[0]) <= 3 ms", "lod", "there is no function 'lod'; did you mean 'load'?"),
    ("constraint c: gpu(0) <= 3 ms", "gpu", "there is no function 'gpu'"),
    ("let x = y\nlet y = x", "x", "'let x' is defined by itself: x -> y -> x"),
    ("param k: intt = 3", "intt", "there is no type 'intt'; did you mean 'int'?"),
    ("param k: int", "k", "param 'k' has no value: give it with -D k=4"),
    ("param k: int = 5 in 1..4", "5", "param 'k' must be in 1..4"),
    ("param k: int = 1.5", "1.5", "param 'k' is of type int; this is 1.5"),
    ("param t: time = 3 MiB", "3 MiB", "param 't' is of type time; this is a size"),
    # units and dimensions
    ("constraint c: load(gpu[0]) <= 3 msec", "msec", "there is no unit 'msec'"),
    ("constraint c: load(gpu[0]) <= 3 Mib", "Mib", "there is no unit 'Mib'; did you mean 'MiB'?"),
    ("constraint c: load(gpu[0]) <= 3", "load(gpu[0]) <= 3", "cannot compare a time and a number without a unit"),
    ("constraint c: load(gpu[0]) <= 3 MiB", "load(gpu[0]) <= 3 MiB", "cannot compare a time and a size"),
    (
        "constraint c: load(gpu[0]) + on(a, gpu[0]) <= 0",
        "load(gpu[0]) + on(a, gpu[0])",
        "cannot add a time and a number",
    ),
    ("let s = { v in nodes if work(v) >= 3 MiB }", "work(v) >= 3 MiB", "cannot compare a time with a size"),
    # linear or refused, with the term that is not
    (
        "constraint c: on(a, gpu[0]) * on(b[0], gpu[0]) <= 1",
        "on(a, gpu[0]) * on(b[0], gpu[0])",
        "the product of two decisions is not linear",
    ),
    ("constraint c: 1 ms / load(gpu[0]) <= 1", "1 ms / load(gpu[0])", "a quotient by a decision is not linear"),
    ("constraint c: abs(load(gpu[0])) <= 1 ms", "abs(load(gpu[0]))", "abs of a decision is not linear"),
    (
        "constraint c: max(load(d) for d in devices) >= 1 ms",
        "max(load(d) for d in devices)",
        "max of a decision is not",
    ),
    ("constraint c: load(gpu[0]) < 1 ms", "load(gpu[0]) < 1 ms", "not '<'; write '<='"),
    (
        "constraint c: load(gpu[0]) != 1 ms",
        "load(gpu[0]) != 1 ms",
        "a constraint over decisions uses '<=', '>=' or '=='",
    ),
    ("constraint c: load(gpu[0])", "load(gpu[0])", "a labelled constraint is an inequality"),
    ("constraint c: not load(gpu[0]) <= 1 ms", "not load(gpu[0]) <= 1 ms", "a labelled constraint is an inequality"),
    ("constraint c: start(a) <= 1 ms", "start(a) <= 1 ms", "start has no meaning where bottleneck is the objective"),
    ("let s = { v in nodes if on(v, gpu[0]) <= 1 }", "on(v, gpu[0]) <= 1", "an inequality over decisions stands only"),
    # arguments
    ("constraint c: on(a) <= 1", "on(a)", "on(node, device) got 1 argument"),
    ("constraint c: load(a) <= 1 ms", "load(a)", "a device is wanted here, not a node"),
    ('constraint c: on("aa", gpu[0]) <= 1', '"aa"', "nothing is called 'aa'; did you mean 'a'?"),
    ('constraint c: on(a, "gpu[7]") <= 1', '"gpu[7]"', "there is no device 'gpu[7]': there are gpu[0] to gpu[1]"),
    (
        "constraint c: load(gpu) <= 1 ms",
        "load(gpu)",
        "not a set of 2 devices; take its members one by one: 'for d in …'",
    ),
    ('constraint c: on("b", gpu[0]) <= 1', 'on("b", gpu[0])', "a node is wanted here, not a set"),
    (
        "constraint c: count(on(v, gpu[0]) for v in nodes) >= 2",
        "count(on(v, gpu[0]) for v in nodes)",
        "count of decisions is the same for every plan, whatever they are; add them up: sum(…)",
    ),
    ("constraint c: length([used(d) for d in gpu]) >= 2", "length([used(d) for d in gpu])", "length of decisions is"),
    ("let x = count(work(v) > 2 ms for v in nodes)", None, "write 'count(v for … if …)'"),
    ("let x = 1 / 0", "1 / 0", "division by zero"),
    ("let x = sqrt(0 - 1)", "sqrt(0 - 1)", "sqrt(-1) is not defined"),
    ("let x = work(v) for", None, "unexpected 'for'"),
    ("constraint c: sum(load(d) for d in 3) <= 1 ms", "d in 3", "'d' must run over a set, a list or a range"),
    ("constraint c: forall d in 3: load(gpu[0]) <= 1 ms", "d in 3", "'d' must run over a set"),
    ("let x = { v in nodes if 3 }", "3", "a condition must be true or false; this is a number without a unit"),
    # statements
    ("constraint separate a", "constraint separate a", "'separate' needs at least 2 nodes"),
    ("constraint colocate by colour", "colour", "nodes are colocated by color, kind, label, not 'colour'"),
    ("constraint colocate by color", "color", "no node has a color"),
    ("constraint subgraphs at most 0 on gpu[0]", "0", "the amount must be one or more; this is 0"),
    ("constraint batch in [1, 2.5]", "[1, 2.5]", "a batch size is a whole number, one or more; this is 2.5"),
    ("constraint break symmetry by task", "task", "symmetry is broken by tasks, batches, time, not 'task'"),
    ('constraint acyclic (parts = "back")', '"back"', "parts is one of both, forward"),
    ("constraint acyclic (part = 3)", "part", "constraint acyclic has no option 'part'; did you mean 'parts'?"),
    ("constraint c: load(gpu[0]) <= 1 ms constraint c: load(gpu[1]) <= 1 ms", "c", "label 'c' is already used at"),
    ("device gpu[3]", "gpu", "device 'gpu[0]' is already declared"),
    ("device x (memry = 3 GiB)", "memry", "a device has no option 'memry'; did you mean 'memory'?"),
    ("device x (memory = 3 ms)", "3 ms", "memory must be a size or a number without a unit; this is a time"),
    ("device x (memory = 3)", "3", "memory of x is a number without a unit, but memory of gpu[0] is a size"),
    ("device x (speed = 0)", "0", "the speed of x must be more than zero"),
    ("device x (speed = 3 TFLOP/s)", "3 TFLOP/s", "the speed of x must be a factor without a unit"),
    ("device x (io = free)", None, "x has io = free, which has a meaning only on interconnect host"),
    ("device x (io = never)", "never", "io is one of paid, free"),
    ("interconnect shard (bandwidth = 1)", "shard", "there is no interconnect 'shard'; did you mean 'shared'?"),
    ("link gpu[0] <-> gpu[1] (latency = 1 us)", None, "'link' goes with interconnect links, not shared"),
    ("minimize bottleneck", "bottleneck", "two objectives are called"),
    ("mtpp 2", "2", "this is language version 1; the spec is written in 2"),
    ('import "nowhere.json" (format = msr)', '"nowhere.json"', "there is no file nowhere.json"),
    ("import nowhere", "nowhere", "there is no param 'nowhere'"),
    ('include "nowhere.mtpp"', '"nowhere.mtpp"', "there is no file 'nowhere.mtpp'"),
    ("graph from generator chian", "chian", "there is no generator 'chian'; did you mean 'chain'?"),
    ("graph from generator chain (nods = 3)", "chain", "did you mean 'nodes'?"),
    ("device x[0]", "device x[0]", "this declares no device"),
    ("device makespan", "makespan", "'makespan' is a word of the language; choose another name"),
    ("let nodes = 3", "nodes", "'nodes' is a word of the language"),
    ("let a1 = 1\nlet a1 = 2", "a1", "'a1' is already defined at"),
]


def errors(text: str, **params: object) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        load(text + "\n", params)
    return caught.value.diagnostics


@pytest.mark.parametrize(("added", "place", "message"), CASES, ids=[case[0] for case in CASES])
def test_table(added: str, place: str | None, message: str) -> None:
    """A sound spec with one wrong statement added: the message is said, about that place."""
    found = [d for d in errors(HEAD + added) if message in d.message]
    assert found, [d.message for d in errors(HEAD + added)]
    if place is not None:
        assert any(d.span is not None and d.span.text == place for d in found), [d.span and d.span.text for d in found]


NODES = [
    ("node a (work = 1 ms) node a", "node 'a' is already declared"),
    ("node a (wrk = 1 ms)", "a node has no option 'wrk'; did you mean 'work'?"),
    ("node a (work = 1 ms, work = 2 ms)", "option 'work' is given twice"),
    ("node a (work = 1 ms) node b (work = 2)", "work of b is a number without a unit, but work of a is a time"),
    ("node a (output = 1 MiB) node b (params = 2)", "params of b is a number without a unit"),
    ("node a (work = 0 - 1)", "work must not be negative"),
    ("node a edge a -> b", "there is no node 'b'"),
    ("node a edge a -> a", "an edge from a node to itself"),
    ("node a[i in 0..2] edge a -> a[0]", "an edge from a node to itself: 'a[0]' is on both sides"),
    ("node a node b edge a -> b edge b -> a", "the graph has a cycle: a -> b -> a"),
    ("", "the graph has no nodes"),
    ("node a[i in 0..2000000]", "a range may have at most 1,000,000 members"),
    ("node a[2000000]", "a family has 0 to 1,000,000 members; this one has 2,000,000"),
    ("node a[i in [1.5]]", "the members of a family are named by whole numbers or strings"),
    ("node a (work = 1e308 * 1e308)", "the number is too large"),
]


@pytest.mark.parametrize(("nodes", "message"), NODES, ids=[case[0] for case in NODES])
def test_graphs(nodes: str, message: str) -> None:
    """What is wrong in a graph block is said."""
    text = f"graph {{ {nodes} }}\ndevice d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck"
    assert any(message in d.message for d in errors(text)), [d.message for d in errors(text)]


def test_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph that would expand to more than the stated number of nodes is refused with that number."""
    monkeypatch.setattr("mtpp_dsl.language.lowering.graph_items.MAX_NODES", 1000)
    text = "graph { node a[i in 0..99, j in 0..99] }\ndevice d\nminimize bottleneck"
    assert errors(text)[0].message == "the graph would have more than 1,000 nodes"


def test_units_or_none() -> None:
    """Times without a unit do not go with a bandwidth in B/s, nor sizes in B with a plain bandwidth."""
    text = "graph {{ node a (work = {}, output = {}) node b edge a -> b }}\ndevice d\nminimize bottleneck\n"
    shared = "interconnect shared (bandwidth = {})"
    for work, output, bandwidth in [("1", "1 B", "1 B/s"), ("1 s", "1", "1"), ("1 s", "1 B", "1"), ("1", "1", "1 B/s")]:
        assert errors(text.format(work, output) + shared.format(bandwidth))
    for work, output, bandwidth in [("1 s", "1 B", "1 B/s"), ("1", "1", "1"), ("0", "1 B", "1 B/s"), ("1 s", "0", "1")]:
        load(text.format(work, output) + shared.format(bandwidth))


def test_operations_need_a_speed() -> None:
    """Work in FLOP is a time only on a device with a speed in FLOP/s."""
    text = "graph { node a (work = 2 GFLOP) }\ninterconnect shared (bandwidth = 1 B/s)\nminimize bottleneck\n"
    assert "the work is in FLOP, so d needs a speed" in errors(text + "device d")[0].message
    assert "(a peak counts only for nodes" in errors(text + "device d (peak = 4 GFLOP/s)")[0].message
    assert load(text + "device d (speed = 4 GFLOP/s)").time.tolist() == [[0.5]]


def test_a_family_complains_once() -> None:
    """One wrong option of a family is one error, and its members are known all the same."""
    found = errors(
        "graph { node a[i in 0..3] (wrk = 1) edge a[0] -> a[3] }\ndevice d\n"
        "interconnect shared (bandwidth = 1)\nminimize bottleneck"
    )
    assert [d.message.partition(";")[0] for d in found] == ["a node has no option 'wrk'"]


def test_errors_of_all_kinds_of_statements_in_one_run() -> None:
    """An error does not keep later statements from being checked, and what only follows from it is not said."""
    found = errors(
        """
        param k: int = 3.5
        let slow = { v in nodes if work(v) > limit }
        let limit = 3 mss
        graph {
          node a (work = 1 msec, output = 1 MiB)
          node b (work = k * 1 ms)
          edge a -> c
        }
        device gpu[2] (memry = 4 GiB)
        interconnect shared (bandwith = 8 GiB/s)
        minimize makspan
        constraint pin a on gpu[2]
        constraint pin a on gpu[k]
        constraint cap: forall d in devices: load(d) <= 3 ms
        constraint separate slow
        constraint memory
        constraint small: forall d in devices: sum(on(v, d) for v in nodes if work(v) > 0 ms) <= 1 / limit
        """
    )
    assert sorted(d.span.text for d in found if d.span is not None) == sorted(
        ["3.5", "msec", "c", "memry", "bandwith", "makspan", "gpu[2]", "mss"]
    )


def test_what_cannot_be_read_hides_nothing_else() -> None:
    """Names that may be of a graph or of devices that could not be read are no errors; what else is wrong is one."""
    rest = "interconnect shared (bandwidth = 1)\nconstraint pin x on d[0]\nconstraint break symmetry by task"
    found = errors(f'graph from "absent.json"\ndevice d[2]\n{rest}')
    assert [d.message.partition(":")[0].partition(";")[0] for d in found] == [
        "there is no file absent.json",
        "symmetry is broken by tasks, batches, time, not 'task'",
        "the spec has no objective",
    ]
    found = errors(f"graph {{ node a node b }}\ndevice d[2 ms]\nminimize bottleneck\n{rest}")
    assert [d.message.partition(";")[0] for d in found] == [
        "the size of a family must be a whole number",
        "symmetry is broken by tasks, batches, time, not 'task'",
    ]


def test_missing_parts_are_named() -> None:
    """A spec without a graph, device, interconnect or objective says which, with an example."""
    assert "the spec has no graph" in errors("minimize bottleneck")[0].message
    assert "the spec has no device" in errors("graph { node a }")[0].message
    assert {d.message for d in errors("graph { node a }\ndevice d")} == {
        "the spec has no interconnect",
        "the spec has no objective",
    }


def test_params_from_outside() -> None:
    """-D names a param that exists, with a value of its type."""
    text = HEAD + "param k: int = 4\nparam t: time = 1 ms"
    assert "-D q: there is no param 'q'" in errors(text, q=3)[0].message
    assert "param 'k' is of type int, such as 4; this is a time" in errors(text, k="3 ms")[0].message
    assert "param 'k' is of type int" in errors(text, k="2.5")[0].message
    assert errors(text, k="x")[0].notes == ("nothing is called 'x'",)
    assert load(text, {"k": "1 + 2", "t": "5 us"}).origin.params == {"k": 3, "t": "5 us"}
    listed = load(HEAD + "param a = [1, 2 ms]\nparam b = 1..3\nparam c = 0..200", {"b": "[]"}).origin.params
    assert listed == {"a": "[1, 2 ms]", "b": "[]", "c": "201 items"}


PARAMS = """
param k: int = 4
param few: int = 2 in [1, 2]
param f: float = 1
param room: size = 16 GB in [16 GB, 32 GB]
param plain: size
param t: time = 1 ms
param b: bandwidth = 8 GB/s
param g: bool = true
param u = 3 ms
"""

GIVEN = [
    ("k", "five", "param 'k' is of type int, such as 4"),
    ("k", "3 ms", "param 'k' is of type int, such as 4; this is a time"),
    ("k", "2.5", "param 'k' is of type int, such as 4; this is 2.5"),
    ("k", "", "param 'k' is of type int, such as 4"),
    ("k", "1e400", "param 'k' is of type int, such as 4"),
    ("k", True, "param 'k' is of type int, such as 4; this is true or false"),
    ("k", None, "cannot use a NoneType as a value"),
    ("few", "3", "param 'few' must be in [1, 2]"),
    ("f", "3 ms", "param 'f' is of type float, such as 0.5; this is a time"),
    ("room", "1e9", "it has no unit, and param 'room' is a size: write one, such as -D room=16GB"),
    ("room", "big", "param 'room' is of type size, such as 16GB"),
    ("room", "3 gb", "param 'room' is of type size, such as 16GB"),
    ("t", "5", "it has no unit, and param 't' is a time: write one, such as -D t=3ms"),
    ("b", "8 GB", "param 'b' is of type bandwidth, such as 8GB/s; this is a size"),
    ("g", "yes", "param 'g' is of type bool, such as true"),
    ("u", "x y", "this is no value; a text with spaces stands in double quotes"),
]


@pytest.mark.parametrize(("name", "value", "message"), GIVEN, ids=[f"{name}={value}" for name, value, _ in GIVEN])
def test_wrong_values_from_outside(name: str, value: object, message: str) -> None:
    """What is wrong about a value given with -D is said of that, with its type and a value that would do."""
    (found,) = errors(HEAD + PARAMS, **{"plain": "1 GB", name: value})
    assert found.message == f"-D {name}={value}: {message}"
    assert found.span is None


def test_a_value_without_a_unit_is_blamed_before_what_reads_it() -> None:
    """A size given as a number where the spec has units is named first; where nothing has units, it is taken."""
    text = HEAD.replace("memory = 1 GiB", "memory = room") + "param room: size"
    first, second = errors(text, room="1e9")
    assert first.message == (
        "-D room=1e9 has no unit, and other quantities of the spec have one: write one, such as -D room=16GB"
    )
    assert "all sizes of a problem carry units" in second.message
    plain = "graph { node a (params = 3) }\ndevice d (memory = room)\ninterconnect shared (bandwidth = 1)\n"
    assert load(plain + "minimize bottleneck\nparam room: size\n", {"room": "5"}).devices[0].memory == 5


def test_includes(tmp_path: Path) -> None:
    """Errors in an included file show the chain; cycles are named; a file is included once."""
    (tmp_path / "a.mtpp").write_text('include "b.mtpp"\n')
    (tmp_path / "b.mtpp").write_text("constraint acylic\n")
    with pytest.raises(SpecError) as caught:
        load(tmp_path / "a.mtpp")
    assert "included from" in str(caught.value)
    assert "a.mtpp:1:9" in str(caught.value)
    (tmp_path / "b.mtpp").write_text('include "c.mtpp"\n')
    (tmp_path / "c.mtpp").write_text('include "b.mtpp"\n')
    with pytest.raises(SpecError, match=r"files include each other: b\.mtpp -> c\.mtpp -> b\.mtpp"):
        load(tmp_path / "a.mtpp")
    (tmp_path / "c.mtpp").write_text(HEAD)
    (tmp_path / "a.mtpp").write_text('include "b.mtpp" include "c.mtpp"\n')
    assert load(tmp_path / "a.mtpp").graph.n == 4
    (tmp_path / "lib").mkdir()
    (tmp_path / "c.mtpp").rename(tmp_path / "lib" / "c.mtpp")
    for search in ([tmp_path / "lib"], [str(tmp_path / "lib")], tmp_path / "lib"):
        assert load(tmp_path / "a.mtpp", search=search).graph.n == 4


def test_byte_order_mark(tmp_path: Path) -> None:
    """A file as some editors write it reads like any other."""
    (tmp_path / "x.mtpp").write_bytes(b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode())
    assert load(tmp_path / "x.mtpp").graph.n == 4


def test_magnitudes() -> None:
    """Numbers that no solver computes with are refused, with their sum."""
    text = "graph {{ node a (work = {}, output = {}) node b edge a -> b }}\ndevice d\nminimize bottleneck\n"
    for work, output, bandwidth in [("1e308 s", "1 B", "1 B/s"), ("1 s", "1 TB", "1e-300 B/s")]:
        found = errors(text.format(work, output) + f"interconnect shared (bandwidth = {bandwidth})")
        assert "is refused" in found[0].message


def test_files(tmp_path: Path) -> None:
    """A missing file, a folder and a file that is no text are errors of the call."""
    with pytest.raises(UsageError, match="there is no file"):
        load(tmp_path / "none.mtpp")
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path)
    (tmp_path / "x.mtpp").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="UTF-8"):
        load(tmp_path / "x.mtpp")


@pytest.mark.parametrize(
    ("more", "place", "message"),
    [
        ("device d[2] (group = 1)", "4", "device 'd[0]' is in a group, which has no effect here"),
        ("device d[2] (memory = 1, reserve = 2)", "4", "device 'd[0]' reserves 2 of a memory of 1"),
        ("device d[2]\nconstraint replicate d up to 2", "5", "loads of replicas are defined for both parts"),
    ],
)
def test_what_does_not_go_together_has_a_place(more: str, place: str, message: str) -> None:
    """An error that shows only in the whole problem points at the device or constraint it is about."""
    text = (
        "graph { node a (work = 1) node b (work = 1, part = backward) }\n"
        f"interconnect shared (bandwidth = 4)\nminimize bottleneck (parts = separate)\n{more}"
    )
    with pytest.raises(SpecError) as caught:
        load(text)
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message
    assert diagnostic.span.place == f"<text>:{place}"


def test_the_network_between_groups_has_a_place_and_units() -> None:
    """A network between groups that is faster than the one inside is refused where it stands, in units."""
    text = (
        "graph { node a (work = 1 s, output = 1 GB) }\ndevice d (group = 1)\n"
        "interconnect shared (bandwidth = 10 GB/s, between = 12.5 GB/s)\nminimize bottleneck"
    )
    with pytest.raises(SpecError) as caught:
        load(text)
    (diagnostic,) = caught.value.diagnostics
    assert "is 12.5 GB/s; it must be more than zero, and at most 10 GB/s" in diagnostic.message
    assert diagnostic.span.place == "<text>:3"


@pytest.mark.parametrize("reader", [load, read])
def test_an_empty_path_is_called_empty(reader: Callable[[str], object]) -> None:
    with pytest.raises(UsageError, match="the path of the spec is empty"):
        reader("")
