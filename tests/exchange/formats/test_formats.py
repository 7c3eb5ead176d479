"""Reading files: what is read, and what is said of files that cannot be."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Memory
from mtpp_dsl.core.errors import PluginError, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.reading import read

MSR: dict[str, Any] = {
    "maxSizePerFPGA": 100.0,
    "maxFPGAs": 2,
    "maxCPUs": 1,
    "nodes": [
        {
            "id": 7,
            "name": "conv",
            "supportedOnFpga": 1,
            "cpuLatency": 10.0,
            "fpgaLatency": 1.0,
            "isBackwardNode": 0,
            "colorClass": 3,
            "size": 40.0,
        },
        {
            "id": 8,
            "name": "relu",
            "supportedOnFpga": True,
            "cpuLatency": 20,
            "fpgaLatency": 2,
            "isBackwardNode": False,
            "colorClass": None,
            "size": 50,
        },
        {"id": 9, "supportedOnFpga": True, "cpuLatency": 5, "fpgaLatency": 3, "isBackwardNode": True, "size": 0},
    ],
    "edges": [{"sourceId": 7, "destId": 8, "cost": 0.5, "size": 1.0}, {"sourceId": 7, "destId": 9, "cost": 0.5}],
}

MOIRAI: dict[str, Any] = {
    "devices": 2,
    "device_memory": [10.0, 20.0],
    "tasks": [
        {"id": 0, "times": [0.0, 0.0], "memory": 0.0, "successors": [1, 2]},
        {"id": 1, "times": [1.0, 2.0], "memory": 4.0, "successors": [2]},
        {"id": 2, "times": [3.0, 1.5], "memory": 5.0, "successors": []},
    ],
    "transfers": [{"id": 5, "source": 1, "target": 2, "times": [[0.0, 7.0], [8.0, 0.0]]}],
}


def written(folder: Path, data: object, name: str = "w.json") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def changed(base: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    data = copy.deepcopy(base)
    change(data)
    return data


def put(*path: str | int, value: object) -> Callable[[dict[str, Any]], object]:
    """Return what sets the entry at *path* to *value*."""

    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return change


def test_msr_graph(tmp_path: Path) -> None:
    """Every documented field of an msr file lands where the docstring says."""
    graph = read(written(tmp_path, MSR), "msr").graph
    assert graph.names == ("7", "8", "9")
    assert graph.labels == ("conv", "relu", "")
    assert graph.work.tolist() == [1, 2, 3]
    assert list(graph.times) == ["cpu"]
    assert graph.times["cpu"].tolist() == [10, 20, 5]
    assert graph.output.tolist() == [0.5, 0, 0]
    assert graph.memory.tolist() == [40, 50, 0]
    assert graph.params.tolist() == [0, 0, 0]
    assert (graph.work_unit, graph.size_unit, graph.memory_unit) == ("", "", "B")
    assert graph.colors.tolist() == [3, -1, -1]
    assert graph.backward.tolist() == [False, False, True]


def test_msr_devices(tmp_path: Path) -> None:
    """Accelerators have the file's memory and pay I/O; CPUs have no limit and pay none."""
    workload = read(written(tmp_path, MSR), "msr")
    assert workload.devices == (
        Device("acc[0]", memory=100.0),
        Device("acc[1]", memory=100.0),
        Device("cpu[0]", type="cpu", pays_io=False),
    )
    assert workload.interconnect == Host(1.0)
    assert workload.warnings == ()


def test_msr_cost_of_a_split(tmp_path: Path) -> None:
    """A split costs what tarnawski2020 says: one write, one read per accelerator, nothing on a CPU."""
    workload = read(written(tmp_path, MSR), "msr")
    assert workload.interconnect is not None
    problem = Problem.create(workload.graph, workload.devices, workload.interconnect, constraints=[Memory()])
    found = evaluate(problem, Plan.create(problem, [0, 1, 2]))
    assert found.load.tolist() == [1.5, 2.5, 5.0]
    assert found.memory.tolist() == [40, 50, 0]


def test_msr_without_devices(tmp_path: Path) -> None:
    """A file without device counts is a graph alone."""
    data = {key: MSR[key] for key in ("nodes", "edges")}
    workload = read(written(tmp_path, data), "msr")
    assert workload.devices == ()
    assert workload.interconnect is None


def test_msr_unsupported_node_never_runs_on_an_accelerator(tmp_path: Path) -> None:
    """supportedOnFpga = false is an infinite time on the type, and a warning that says where it does not hold."""
    data = changed(MSR, put("nodes", 1, "supportedOnFpga", value=False))
    workload = read(written(tmp_path, data), "msr")
    assert workload.graph.times["accelerator"].tolist() == [1, np.inf, 3]
    assert workload.interconnect is not None
    problem = Problem.create(workload.graph, workload.devices, workload.interconnect)
    assert problem.time[1].tolist() == [np.inf, np.inf, 20.0]
    assert "1 of 3 nodes are not supported" in workload.warnings[0]


def test_msr_equal_costs_up_to_rounding(tmp_path: Path) -> None:
    """Costs of one producer that differ by rounding are one tensor, of the larger cost."""
    data = changed(MSR, put("edges", 1, "cost", value=0.5 * (1 + 1e-7)))
    assert read(written(tmp_path, data), "msr").graph.output[0] == 0.5 * (1 + 1e-7)


@pytest.mark.parametrize(("more", "one"), [(1e-6, True), (1.1e-6, False)])
def test_msr_costs_a_little_apart(more: float, one: bool, tmp_path: Path) -> None:
    """A relative 1e-6 is rounding, more is not."""
    path = written(tmp_path, changed(MSR, put("edges", 1, "cost", value=0.5 / (1 - more * (1 - 1e-9)))))
    if one:
        assert read(path, "msr").graph.output[0] > 0.5
        return
    with pytest.raises(UsageError, match="two costs"):
        read(path, "msr")


def test_an_edge_given_twice_counts_once(tmp_path: Path) -> None:
    """The data are usable, so it is a warning that names the edge; the graph is the same."""
    for base, edges, edge in ((MSR, "edges", "7 -> 8"), (MOIRAI, "tasks", "1 -> 2")):
        again = copy.deepcopy(base)
        if edges == "edges":
            again["edges"] *= 2
        else:
            again["tasks"][1]["successors"] *= 2
        plain, twice = read(written(tmp_path, base)), read(written(tmp_path, again))
        assert (twice.graph.m, twice.graph.output.tolist()) == (plain.graph.m, plain.graph.output.tolist())
        assert plain.warnings == ()
        assert f"w.json: edge {edge}" in twice.warnings[0]


def test_msr_mixed_color_class(tmp_path: Path) -> None:
    """A class with nodes that the accelerator supports and others is told, as colocation keeps it off."""
    data = changed(MSR, put("nodes", 1, "colorClass", value=3))
    data["nodes"][1]["supportedOnFpga"] = False
    assert "color class 3 mixes" in read(written(tmp_path, data), "msr").warnings[1]
    assert "node '8'" in read(written(tmp_path, data), "msr").warnings[1]


def test_msr_overflow_is_refused(tmp_path: Path) -> None:
    """Streaming what does not fit needs parameter sizes, which the file does not have: never silently nothing."""
    workload = read(written(tmp_path, MSR), "msr")
    with pytest.raises(UsageError, match="different units"):
        Problem.create(workload.graph, workload.devices, Shared(1.0, overflow=True))


def test_moirai(tmp_path: Path) -> None:
    """Every field of a moirai file lands where the docstring says; transfers follow the graph's edges."""
    workload = read(written(tmp_path, MOIRAI), "moirai")
    graph, links = workload.graph, workload.interconnect
    assert isinstance(links, Links)
    assert links.transfers is not None
    assert workload.devices == (Device("d0", memory=10.0), Device("d1", memory=20.0))
    problem = Problem.create(graph, workload.devices, links, Objective("makespan"))
    assert problem.time.tolist() == [[0, 0], [1, 2], [3, 1.5]]
    assert list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert links.transfers.tolist() == [[[0, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 7], [8, 0]]]
    assert graph.memory.tolist() == [0, 4, 5]


@pytest.mark.parametrize(
    ("base", "change", "message"),
    [
        (MSR, lambda d: d.pop("nodes"), "w.json: nodes: missing"),
        (MSR, put("nodes", value={}), "w.json: nodes: expected a list, found {}"),
        (MSR, put("nodes", 1, value=3), r"w.json: nodes\[1\]: expected an object, found 3"),
        (MSR, put("nodes", 1, "id", value=7), r"w.json: nodes\[1\] \(id 7\): id: a second '7'"),
        (MSR, put("nodes", 1, "id", value=1.5), r"nodes\[1\]: id: expected a whole number or a string, found 1.5"),
        (MSR, put("nodes", 1, "id", value="\ud800"), r"id: expected text, found half of .* in \"\\ud800\""),
        (MSR, put("nodes", 1, "name", value="a\udfff"), r"\(id 8\): name: expected text"),
        (
            MSR,
            put("nodes", 1, "fpgaLatency", value="2"),
            r'nodes\[1\] \(id 8\): fpgaLatency: expected a number, found "2"',
        ),
        (
            MSR,
            put("nodes", 1, "fpgaLatency", value=True),
            r"nodes\[1\] \(id 8\): fpgaLatency: expected a number, found true",
        ),
        (MSR, put("nodes", 1, "cpuLatency", value=-1), r"nodes\[1\] \(id 8\): cpuLatency: .* zero or more, found -1"),
        (MSR, put("nodes", 1, "size", value=None), r"nodes\[1\] \(id 8\): size: must not be null"),
        (MSR, put("nodes", 1, "colorClass", value=-2), r"nodes\[1\] \(id 8\): colorClass: .* zero or more"),
        (MSR, put("nodes", 1, "colorClass", value=1.5), r"nodes\[1\] \(id 8\): colorClass: expected a whole number"),
        (
            MSR,
            put("nodes", 1, "supportedOnFpga", value=2),
            r"nodes\[1\] \(id 8\): supportedOnFpga: expected true or false",
        ),
        (MSR, put("nodes", 0, "name", value=3), r"nodes\[0\] \(id 7\): name: expected a string"),
        (MSR, put("edges", 0, "destId", value=99), r"edges\[0\] \(7 -> 99\): destId: there is no node '99'"),
        (MSR, put("edges", 0, "destId", value=7), "w.json: node '7' has an edge to itself"),
        (MSR, put("edges", 1, value={"sourceId": 8, "destId": 7, "cost": 1}), "w.json: the graph has a cycle: 7 -> 8"),
        (MSR, put("edges", 0, "cost", value=0.6), "node '7' sends one tensor at two costs, 0.5 to '9' and 0.6 to '8'"),
        (MSR, put("nodes", 2, "fpgaLatency", value=float("nan")), r"\(id 9\): fpgaLatency: .* zero or more, found NaN"),
        (MSR, put("nodes", 2, "size", value=float("inf")), r"\(id 9\): size: .* zero or more, found Infinity"),
        (MSR, put("edges", 1, "cost", value=float("-inf")), r"edges\[1\] \(7 -> 9\): cost: .* found -Infinity"),
        (MSR, put("edges", 1, "cost", value=-0.5), r"edges\[1\] \(7 -> 9\): cost: .* zero or more, found -0.5"),
        (MSR, put("edges", 1, "cost", value="0.5"), r'edges\[1\] \(7 -> 9\): cost: expected a number, found "0.5"'),
        (MSR, lambda d: d["edges"][1].pop("cost"), r"edges\[1\] \(7 -> 9\): cost: missing"),
        (MSR, lambda d: d["edges"][1].pop("sourceId"), r"edges\[1\]: sourceId: missing"),
        (MSR, put("edges", 1, "sourceId", value=[7]), r"edges\[1\]: sourceId: expected a whole number or a string"),
        (MSR, put("edges", 0, "sourceId", value="x"), r"edges\[0\] \(x -> 8\): sourceId: there is no node 'x'"),
        (MSR, lambda d: d["edges"].append({**d["edges"][0], "cost": 0.7}), "two costs, 0.5 to '8' and 0.7 to '8'"),
        (MSR, lambda d: d["nodes"][1].pop("id"), r"nodes\[1\]: id: missing"),
        (MSR, lambda d: d["nodes"][1].pop("cpuLatency"), r"nodes\[1\] \(id 8\): cpuLatency: missing"),
        (MSR, put("nodes", 1, "colorClass", value="3"), r'\(id 8\): colorClass: expected a number, found "3"'),
        (MSR, put("nodes", 1, "colorClass", value=True), r"\(id 8\): colorClass: expected a number, found true"),
        (MSR, put("nodes", 1, "isBackwardNode", value="no"), r"\(id 8\): isBackwardNode: expected true or false"),
        (MSR, put("nodes", value=[]), "w.json: nodes: an empty list"),
        (MSR, lambda d: d.pop("edges"), "w.json: edges: missing"),
        (MSR, put("maxCPUs", value=-1), "w.json: maxCPUs: expected a number, zero or more, found -1"),
        (MSR, put("maxFPGAs", value=1.5), "w.json: maxFPGAs: expected a whole number, found 1.5"),
        (MSR, put("maxFPGAs", value=10**9), "maxFPGAs: 1000000000 devices; at most"),
        (MSR, lambda d: d.pop("maxSizePerFPGA"), "w.json: maxSizePerFPGA: missing"),
        (MOIRAI, put("devices", value=0), "w.json: devices: expected 1 to 1000, found 0"),
        (MOIRAI, put("device_memory", value=[1.0]), "device_memory: expected a list of 2 entries, found 1"),
        (
            MOIRAI,
            put("tasks", 1, "times", value=[1.0, None]),
            r"tasks\[1\] \(id 1\): times\[1\]: expected a number, found null",
        ),
        (
            MOIRAI,
            put("tasks", 1, "successors", value=[9]),
            r"tasks\[1\] \(id 1\): successors\[0\]: there is no task '9'",
        ),
        (MOIRAI, put("tasks", 1, "id", value=0), r"w.json: tasks\[1\] \(id 0\): id: a second '0'"),
        (
            MOIRAI,
            put("transfers", 0, "source", value=2),
            r"transfers\[0\] \(2 -> 2\): source, target: no edge joins '2' to '2'",
        ),
        (
            MOIRAI,
            put("transfers", 0, "times", value=[[0, 1], [1]]),
            r"times\[1\]: expected a list of 2 entries, found 1",
        ),
        (MOIRAI, put("transfers", 0, "times", value=[[1, 1], [1, 0]]), "the diagonal must be zero"),
        (MOIRAI, put("transfers", 0, "target", value=9), r"transfers\[0\] \(1 -> 9\): target: there is no task '9'"),
        (MOIRAI, put("transfers", 0, "times", 0, 1, value=-7), r"\(1 -> 2\): times\[0\]\[1\]: .* found -7"),
        (MOIRAI, put("tasks", 1, "times", 1, value=float("nan")), r"\(id 1\): times\[1\]: .* found NaN"),
        (MOIRAI, put("tasks", 1, "memory", value=-4), r"\(id 1\): memory: .* zero or more, found -4"),
        (MOIRAI, lambda d: d["tasks"][1].pop("successors"), r"\(id 1\): successors: missing"),
        (MOIRAI, put("tasks", 2, "successors", value=[1]), "w.json: the graph has a cycle: 1 -> 2 -> 1"),
        (MOIRAI, put("tasks", 2, "successors", value=[2]), "w.json: node '2' has an edge to itself"),
        (MOIRAI, put("tasks", value=[]), "w.json: tasks: an empty list"),
        (MOIRAI, lambda d: d.pop("transfers"), "w.json: transfers: missing"),
        (MOIRAI, put("device_memory", 1, value=-1), r"w.json: device_memory\[1\]: .* zero or more, found -1"),
        (
            MOIRAI,
            lambda d: d["transfers"].append(d["transfers"][0]),
            r"transfers\[1\] \(1 -> 2\): .*: a second transfer from '1'",
        ),
    ],
)
def test_wrong_fields(
    tmp_path: Path, base: dict[str, Any], change: Callable[[dict[str, Any]], object], message: str
) -> None:
    """A wrong file is an error that names the file and the field, once."""
    path = written(tmp_path, changed(base, change))
    with pytest.raises(UsageError, match=message) as caught:
        read(path, "msr" if base is MSR else "moirai")
    assert str(caught.value).count(str(path)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "w.json:1:1: not JSON"),
        ('{\n "nodes": [}', "w.json:2:12: not JSON"),
        ('{"nodes": [{"id": 1e999}]}', r"nodes\[0\]: id: expected a whole number or a string, found Infinity"),
        ('{"nodes": [], "nodes": []}', "an object gives 'nodes' twice"),
        ('{"nodes": [{"id": 4, "size": 1, "size": 2}]}', r"an object \(id 4\) gives 'size' twice"),
        ("[]", r"w.json: expected an object, found \[\]"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_not_json(tmp_path: Path, text: str, message: str) -> None:
    """A file that is no JSON object is said to be none, with the place."""
    with pytest.raises(UsageError, match=message):
        read(written(tmp_path, text), "msr")


def test_not_text(tmp_path: Path) -> None:
    """A file that is not UTF-8 is an error that names it."""
    path = tmp_path / "w.json"
    path.write_bytes(b"\xff{}")
    with pytest.raises(UsageError, match=r"w\.json:1:1: the byte 0xff is not UTF-8"):
        read(path, "msr")


def test_missing_file(tmp_path: Path) -> None:
    """A missing file is an error with a near name; a missing folder is named."""
    written(tmp_path, MSR, "bert_L-12.json")
    with pytest.raises(UsageError, match=r"there is no file .*; did you mean 'bert_L-12.json'\?"):
        read(tmp_path / "bert_l-12.json")
    with pytest.raises(UsageError, match="there is no folder"):
        read(tmp_path / "nowhere" / "w.json")


def test_guess(tmp_path: Path) -> None:
    """Without a format, the only one that can read the file is taken; otherwise the names are given."""
    assert len(read(written(tmp_path, MSR)).devices) == 3
    assert len(read(written(tmp_path, MOIRAI)).devices) == 2
    with pytest.raises(UsageError, match="in none of the formats msr, moirai"):
        read(written(tmp_path, {}))
    with pytest.raises(UsageError, match=r"could be msr or moirai; say which with \(format = …\)"):
        read(written(tmp_path, {**MSR, **MOIRAI}))
    with pytest.raises(UsageError, match=r"no format has files named \*\.txt .*one of msr, moirai"):
        read(written(tmp_path, MSR, "w.txt"))


def test_unknown_format(tmp_path: Path) -> None:
    """An unknown format is named, with a near one."""
    with pytest.raises(PluginError, match="there is no format 'msrr'; did you mean 'msr'"):
        read(written(tmp_path, MSR), "msrr")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*MSR, *MOIRAI, *MSR["nodes"][0], "times", "successors"]), inner, max_size=4)
    ),
)


def read_or_refused(path: Path, name: str) -> None:
    try:
        read(path, name)
    except UsageError as error:
        said = str(error)
    else:
        said = str(path)
    assert str(path) in said


@given(JSON, st.sampled_from(["msr", "moirai"]))
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: object, name: str) -> None:
    """Whatever JSON a file holds, it is read or refused with a UsageError, never another exception."""
    path = written(tmp_path_factory.getbasetemp(), data, "fuzz.json")
    read_or_refused(path, name)


@given(st.data())
def test_any_damage_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever one entry of a good file is replaced by, it is read or refused, never another exception."""
    name = data.draw(st.sampled_from(["msr", "moirai"]))
    workload: Any = copy.deepcopy(MSR if name == "msr" else MOIRAI)
    spot = workload
    while True:
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        if not isinstance(spot[key], (dict, list)) or not spot[key] or data.draw(st.booleans()):
            break
        spot = spot[key]
    spot[key] = data.draw(JSON)
    read_or_refused(written(tmp_path_factory.getbasetemp(), workload, "fuzz.json"), name)


def test_published_msr_files(data: Path) -> None:
    """All published inputs are read; figures of Table 1 (nodes, accelerators) hold."""
    folder = data / "dnn-partitioning"
    files = sorted(folder.glob("throughput/*/*.json")) + sorted(folder.glob("latency/*/*.json"))
    assert len(files) >= 18
    for path in files:
        workload = read(path)
        assert workload.warnings == ()
        assert {device.type for device in workload.devices} == {"accelerator", "cpu"}
    bert = read(folder / "throughput/OperatorGraphs/bert_l-3_training.json")
    assert (bert.graph.n, bert.graph.m, int(bert.graph.backward.sum())) == (600, 817, 365)
    assert [device.type for device in bert.devices].count("accelerator") == 3


def test_published_files_disagree_on_units(data: Path) -> None:
    """The layer graphs' throughput files carry costs 1000 times smaller than their latency files: documented."""
    folder = data / "dnn-partitioning"
    one, other = (
        read(folder / kind / "LayerGraphs/resnet50_inference.json").graph for kind in ("throughput", "latency")
    )
    assert one.names == other.names
    np.testing.assert_allclose(one.output * 1000, other.output)
    np.testing.assert_array_equal(one.work, other.work)


def test_published_experts_cost_what_the_paper_says(data: Path) -> None:
    """The expert split of bert24 costs 20.08, Table 1 of tarnawski2020."""
    folder = data / "dnn-partitioning"
    workload = read(folder / "throughput/LayerGraphs/bert24_inference.json")
    split = json.loads((folder / "experts/bert24_inference_expert.json").read_text())
    device = {str(node): d for d, part in enumerate(split["fpgas"]) for node in part["nodes"]}
    assert workload.interconnect is not None
    problem = Problem.create(workload.graph, workload.devices, workload.interconnect)
    plan = Plan.create(problem, [device[name] for name in workload.graph.names])
    assert evaluate(problem, plan).bottleneck == pytest.approx(20.084, abs=1e-3)


def test_published_moirai_files(data: Path) -> None:
    """All published task graphs are read, with a transfer for every edge but those out of dummy inputs."""
    sizes = {path.stem: read(path) for path in sorted((data / "moirai").glob("*.json"))}
    assert {name: (w.graph.n, w.graph.m, len(w.devices)) for name, w in sizes.items()} == {
        "GoogLeNet": (141, 167, 4),
        "example-1": (14, 19, 3),
        "inceptionv4": (491, 545, 4),
        "transformer": (1374, 1820, 4),
    }
    for name, workload in sizes.items():
        file = json.loads((data / "moirai" / f"{name}.json").read_text())
        told = {(str(t["source"]), str(t["target"])) for t in file["transfers"]}
        graph, links = workload.graph, workload.interconnect
        assert isinstance(links, Links)
        assert links.transfers is not None
        for e, (u, v) in enumerate(zip(graph.tails, graph.heads, strict=True)):
            if (graph.names[u], graph.names[v]) not in told:
                assert not links.transfers[e].any()
                assert not any(graph.times[device.name][u] for device in workload.devices)
