"""What a sound spec means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.problem.devices import Host, Links, Shared
from mtpp_dsl.language.lowering.lower import load

REST = "\ndevice d[2] (memory = 4 MiB)\ninterconnect shared (bandwidth = 1 MiB/s)\nminimize bottleneck\n"


def test_quickstart(specs: Path) -> None:
    """The quickstart reads as a person would read it."""
    problem = load(specs / "quickstart.mtpp")
    graph = problem.graph
    assert graph.names[:3] == ("embed", "attn[0]", "attn[1]")
    edges = [(graph.names[u], graph.names[v]) for u, v in zip(graph.tails, graph.heads, strict=True)]
    assert ("mlp[0]", "attn[1]") in edges
    assert sum(u == "embed" for u, _ in edges) == 5
    assert graph.m == 13
    assert graph.work[graph.index["mlp[2]"]] == 0.005
    assert graph.memory[graph.index["embed"]] == 100 * 2**20
    assert [device.name for device in problem.devices] == ["stage[0]", "stage[1]", "stage[2]"]
    assert problem.interconnect == Shared(8 * 2.0**30)
    assert (problem.time_unit, graph.size_unit) == ("s", "B")
    assert load(specs / "quickstart.mtpp", {"k": "5"}).k == 5


def test_families_and_comprehensions() -> None:
    """Indices go by row, conditions filter, and every step sees the variables before it."""
    problem = load(
        "graph { node a[i in 0..1, j in 0..2] (work = i + j) node b[2] (work = 7)\n"
        "edge a[0, j] -> a[1, k] for j in 0..2 for k in j..2 if j != k }\n"
        "device d interconnect shared (bandwidth = 1) minimize bottleneck"
    )
    graph = problem.graph
    assert graph.names == ("a[0,0]", "a[0,1]", "a[0,2]", "a[1,0]", "a[1,1]", "a[1,2]", "b[0]", "b[1]")
    assert graph.work.tolist() == [0, 1, 2, 1, 2, 3, 7, 7]
    assert list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)) == [(0, 4), (0, 5), (1, 5)]


def test_algebra() -> None:
    """A labelled constraint becomes rows: constants to the right, each decision once, forall in the label."""
    problem = load(
        "graph { node a (work = 1 s) node b (work = 3 s) }\nlet big = { v in nodes if work(v) >= 2 s }"
        + REST
        + "constraint r: "
        "forall e in devices: 2 * load(e) - 1 s + load(d[0]) >= load(e) + sum(work(v) * on(v, e) for v in big)\n"
        "constraint s: 1 s <= bottleneck <= 9 s\nconstraint t: count(big) <= 1\n"
    )
    rows = list(problem.of(c.Linear))
    assert [row.label for row in rows] == ["r[d[0]]", "r[d[1]]", "s", "s"]
    assert dict(rows[0].terms) == {c.Load(0): 2.0, c.On(1, 0): -3.0}
    assert dict(rows[1].terms) == {c.Load(0): 1.0, c.Load(1): 1.0, c.On(1, 1): -3.0}
    assert (rows[0].sense, rows[0].rhs) == (">=", 1.0)
    assert [(dict(row.terms), row.sense, row.rhs) for row in rows[2:]] == [
        ({c.Bottleneck(): -1.0}, "<=", -1.0),
        ({c.Bottleneck(): 1.0}, "<=", 9.0),
    ]


def test_strings_name_nodes_and_devices() -> None:
    """Where a node or a device is wanted, a string is its name, in functions too."""
    problem = load(
        """
        graph { node "a/1" (work = 2) node b (work = 3) }
        device gpu[2] (memory = 3)
        interconnect shared (bandwidth = 1)
        minimize bottleneck
        constraint one: on("a/1", "gpu[1]") + load("gpu[0]") / 5 <= memory("gpu[1]")
        """
    )
    (row,) = problem.of(c.Linear)
    assert dict(row.terms) == {c.On(0, 1): 1.0, c.Load(0): 0.2}
    assert row.rhs == 3


def test_constant_rows() -> None:
    """A row without decisions that holds is left out; one that does not is kept, as an infeasibility."""
    head = "graph { node a (work = 1 s) }" + REST
    assert not list(load(head + "constraint c: sum(on(v, d[0]) for v in nodes if work(v) > 9 s) <= 2").of(c.Linear))
    row = next(load(head + "constraint c: count(nodes) >= 2").of(c.Linear))
    assert (row.terms, row.sense, row.rhs) == ((), ">=", 1.0)


def test_structural_constraints() -> None:
    """Every constraint of the language, with members given in every way."""
    problem = load(
        "graph { node a (color = 1) node b[i in 0..3] (color = mod(i, 2)) }" + REST + "let late = { b[2], b[3] }\n"
        "constraint acyclic constraint contiguous on d[1] constraint memory constraint colocate by color\n"
        'constraint colocate a, late constraint separate b[0], "b[1]" constraint pin late on d\n'
        "constraint forbid b[i] on d[i] for i in 0..1 constraint subgraphs at most 2 on d[0]\n"
        "constraint replicate d up to 3 (sync = none)\n"
    )
    found = [(type(x), getattr(x, "nodes", None), getattr(x, "devices", None)) for x in problem.constraints]
    assert found == [
        (c.Acyclic, None, None),
        (c.Contiguous, None, (1,)),
        (c.Memory, None, None),
        (c.Colocate, (0, 2, 4), None),
        (c.Colocate, (1, 3), None),
        (c.Colocate, (0, 3, 4), None),
        (c.Separate, (1, 2), None),
        (c.Pin, (3, 4), (0, 1)),
        (c.Forbid, (1,), (0,)),
        (c.Forbid, (2,), (1,)),
        (c.Subgraphs, None, (0,)),
        (c.Replicate, None, (0, 1)),
    ]
    assert all(constraint.origin.startswith("<text>:") for constraint in problem.constraints)


def test_links() -> None:
    """Links are directed or not, one by one or by family; where there is none the bandwidth is 0."""
    problem = load(
        "graph { node a (work = 1 s, output = 1 B) node b edge a -> b }\ndevice cpu device gpu[2]\n"
        "interconnect links\nlink cpu <-> gpu (bandwidth = 8 B/s, latency = 1 ms)\n"
        "link gpu[0] -> gpu[1] (bandwidth = 2 B/s)\nminimize makespan"
    )
    assert isinstance(problem.interconnect, Links)
    assert problem.interconnect.bandwidth.tolist() == [[0, 8, 8], [8, 0, 2], [8, 0, 0]]
    assert problem.interconnect.latency[1].tolist() == [0.001, 0, 0]


def test_import_and_override(data: Path, tmp_path: Path) -> None:
    """An import brings graph, devices and interconnect; later statements replace what they name."""
    workload = data / "dnn-partitioning/throughput/OperatorGraphs/bert_l-3_inference.json"
    spec = f'import "{workload}" (format = msr)\nminimize bottleneck\n'
    problem = load(spec)
    assert [device.name for device in problem.devices] == ["acc[0]", "acc[1]", "acc[2]", "cpu[0]"]
    assert isinstance(problem.interconnect, Host)
    assert np.array_equal(problem.time[:, 3], problem.graph.times["cpu"])
    smaller = load(spec + "device acc[2] (speed = 2)\ninterconnect host (bandwidth = 2)\n")
    assert [device.name for device in smaller.devices] == ["acc[0]", "acc[1]", "cpu[0]"]
    assert smaller.devices[0].memory == problem.devices[0].memory
    assert np.array_equal(smaller.time[:, 0], problem.time[:, 0] / 2)
    assert smaller.interconnect == Host(2.0)


def test_included_params_and_objectives_can_be_replaced(tmp_path: Path) -> None:
    """What an include brought, the including file may say again."""
    (tmp_path / "base.mtpp").write_text("param k: int = 2\ngraph { node a (work = 1 s) }" + REST.replace("[2]", "[k]"))
    (tmp_path / "top.mtpp").write_text('include "base.mtpp"\nparam k: int = 3\nmaximize throughput\n')
    problem = load(tmp_path / "top.mtpp")
    assert problem.k == 3
    assert (problem.objective.name, problem.objective.value(0.5)) == ("throughput", 2.0)


def test_paths_start_from_the_file_that_names_them(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default is relative to its file, a -D to the working folder."""
    (tmp_path / "specs").mkdir()
    text = (data / "dnn-partitioning/throughput/OperatorGraphs/bert_l-3_inference.json").read_text()
    (tmp_path / "specs" / "w.json").write_text(text)
    (tmp_path / "v.json").write_text(text)
    (tmp_path / "specs" / "a.mtpp").write_text(
        'param f: path = "w.json"\nimport f (format = msr)\nminimize bottleneck\n'
    )
    monkeypatch.chdir(tmp_path)
    assert load("specs/a.mtpp").graph.n == 235
    assert load("specs/a.mtpp", {"f": "v.json"}).graph.n == 235


def test_free_devices_stream_for_nothing() -> None:
    """The memory of a device with io = free limits nothing under overflow = stream: it is said, with the remedy."""
    spec = (
        "graph { node a (work = 1 s, params = 8 MiB) } device cpu (io = free, memory = 1 MiB)\n"
        "interconnect host (bandwidth = 1 MiB/s, overflow = stream) minimize bottleneck\n"
    )
    problem = load(spec)
    assert problem.overflow_limit.tolist() == [np.inf]
    assert "say 'constraint memory on cpu'" in problem.warnings[0]
    assert not load(spec + "constraint memory on cpu").warnings


def test_idle_memory_is_a_warning() -> None:
    """A device's memory that nothing keeps to is pointed out."""
    problem = load("graph { node a (work = 1 s) }" + REST)
    assert "no constraint uses it" in problem.warnings[0]
    assert not load("graph { node a (work = 1 s, params = 1 B) }" + REST + "constraint memory").warnings


def test_a_cache_beside_streamed_parameters_is_a_warning() -> None:
    """Parameters alone are streamed: 'constraint memory' would end that, so it is not what to say."""
    spec = (
        "graph { node a (work = 1 s, params = 1 GB, cache = 2 GB) } device d (memory = 2 GB)\n"
        "interconnect shared (bandwidth = 1 GB/s, overflow = prefetch) minimize bottleneck\n"
    )
    (warned,) = load(spec).warnings
    assert "the cache of a is given, and 'overflow' counts parameters alone: add it to the reserve of devices" in warned
    assert not load(spec.replace(", cache = 2 GB", "")).warnings


def test_all_specs_check(specs: Path) -> None:
    """All six acceptance specs parse and check."""
    found = {path.stem: load(path) for path in sorted(specs.glob("*.mtpp"))}
    assert len(found) == 6
    assert found["bert12_contiguous"].graph.n == 783
    assert found["googlenet_makespan"].k == 4
    assert found["rwnn_batched"].objective.batch == 128
    assert next(found["rwnn_batched"].of(c.BatchSizes)).sizes == (32, 64, 96, 128)


@pytest.mark.parametrize(
    ("memory", "output", "decimal"),
    [
        ("80 GB", "4 KiB", True),
        ("80 GiB", "1.7 GB", False),
        ("8 GiB", "300 MB", False),
        ("300 kB", "2 B", True),
        ("64 B", "8 bit", False),
        ("1 GiB", "8 Gbit", False),
        ("1 GiB", "1 Tbit", True),
    ],
)
def test_sizes_are_shown_in_the_powers_of_the_largest_unit(memory: str, output: str, decimal: bool) -> None:
    """A page says GB where the spec does, though a small size in it is in KiB; bandwidths do not count."""
    problem = mtpp_dsl.load(f"""graph {{ node a (work = 1 s, output = {output}) }}
device d (memory = {memory})\ninterconnect shared (bandwidth = 1 TB/s)\nminimize bottleneck""")
    assert problem.origin.decimal == decimal
