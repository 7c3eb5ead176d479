"""Times of nodes on devices: the option ``time`` of a node, what wins over what, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.solving.api import solve
from tests.batched_cases import built, cases

REST = """
device cpu (type = "slow", speed = 0.5)
device gpu[2]
interconnect {}
"""
KINDS = {
    "shared": ("shared (bandwidth = 1 GiB/s)", "minimize bottleneck"),
    "host": ("host (bandwidth = 1 GiB/s)", "minimize bottleneck constraint acyclic"),
    "latency": ("host (bandwidth = 1 GiB/s)", "minimize latency"),
    "links": ("links (bandwidth = 1 GiB/s)", "minimize makespan"),
    "batches": (
        "links (bandwidth = 1 GiB/s)",
        "maximize throughput (batch = 4) time b on cpu at batch p = p * 9 ms for p in 1..4",
    ),
}


def times(graph: str, rest: str = "", kind: str = "shared") -> Any:
    """Return [n, devices] the times, in ms, of a spec with a graph of these items."""
    joined, objective = KINDS[kind]
    text = f"graph {{ {graph} }}\n{REST.format(joined)}\n{rest}\n{objective}"
    return np.round(mtpp_dsl.load(text).time * 1e3, 9).tolist()


def test_names_win_over_families_and_these_over_types() -> None:
    """A device's own name counts before its family, and this before its type, in whichever order they stand."""
    given = 'time = {"gpu[1]": 3 ms, gpu: 2 ms, accelerator: 1 ms, slow: 9 ms}'
    assert times(f"node a ({given})") == [[9.0, 2.0, 3.0]]
    assert times('node a (time = {accelerator: 1 ms, gpu: 2 ms, "gpu[1]": 3 ms, slow: 9 ms})') == [[9.0, 2.0, 3.0]]


def test_statements_win_over_options_and_work_fills_in() -> None:
    """``time v on d`` overrides an option; where there is neither, work and speed count."""
    assert times("node a (work = 2 ms, time = {gpu: 1 ms})", "time a on gpu[1] = 5 ms") == [[4.0, 1.0, 5.0]]


def test_values_are_expressions() -> None:
    """Times are formulas of the other options and of loops, a map that is defined elsewhere, or one time for all."""
    assert times("node a[i in 1..2] (params = 2 MiB, time = {gpu: i * 3 ms, cpu: params / (1 GiB/s)})")[1] == [
        pytest.approx(2 / 1024 * 1e3),
        6.0,
        6.0,
    ]
    assert times("node a (time = fast) node b (time = 7 ms)", "let fast = {cpu: inf, gpu: 1 ms}") == [
        [np.inf, 1.0, 1.0],
        [7.0, 7.0, 7.0],
    ]


def test_of_blocks() -> None:
    """Nodes of blocks have times of their own, from the params of their instances."""
    text = "block layer(i) { node mm (time = {cpu: 9 ms, gpu: (i + 1) * 1 ms}) }"
    assert times("use layer[i in 0..1]", text) == [[9.0, 1.0, 1.0], [9.0, 2.0, 2.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_for_every_objective(kind: str) -> None:
    """Times count in every kind of problem, and a spec that is written from it has the same."""
    joined, objective = KINDS[kind]
    graph = "node a (time = {cpu: 3 ms, gpu: 1 ms}, output = 1 MiB) node b (time = {cpu: 1 ms, gpu: 4 ms}) edge a -> b"
    problem = mtpp_dsl.load(f"graph {{ {graph} }}\n{REST.format(joined)}\n{objective}")
    assert problem.time[:, 0].tolist() == [0.003, 0.001]
    again = mtpp_dsl.load(problem.to_spec())
    assert np.array_equal(again.time, problem.time)
    if kind == "batches":  # the law of the device goes by the time of one input; a table counts before it
        assert problem.batching.time[0, 0].tolist() == pytest.approx([0.0, 0.003, 0.006, 0.009, 0.012])
        assert problem.batching.time[1, 0, 1] == 0.009
    found = solve(problem, time_limit=10)
    assert found.status == "optimal"


WRONG = [
    ("node a (time = {gqu: 1 ms})", "", "nothing is called 'gqu'; did you mean 'gpu'?"),
    (
        "node a (time = {gpu: 1 MiB})",
        "",
        "a node takes a time or a number without a unit; this is a size",
    ),
    ("node a (time = {gpu: 0 ms - 1 ms})", "", "a time must not be negative"),
    ("node a (time = [1 ms])", "", "time is a time, or a map from devices to times such as {cpu: 3 ms}"),
    ("node a (time = {a: 1 ms})", "", "a device is wanted as a key here"),
    ("node a (time = {gpu: 1 ms})", "", "neither a time on cpu nor work: give a time there"),
    ("node a", "time a on gpu = 1 ms", "neither a time on cpu nor work"),
    ("node a (time = {gpu: 1, cpu: 1}) node b (work = 3 ms)", "", "is a number without a unit, but other times"),
]


@pytest.mark.parametrize(("graph", "rest", "message"), WRONG)
def test_what_is_wrong(graph: str, rest: str, message: str) -> None:
    """Each mistake is said, where it is made."""
    with pytest.raises(SpecError) as caught:
        times(graph, rest)
    assert message in str(caught.value)


def test_no_time_where_none_is_needed() -> None:
    """A device that does not run the kind of a node, or has times of batches of it, needs no other time."""
    assert times('node a (kind = "x", time = {gpu: 1 ms})', 'device npu (unsupported = "x") time a on cpu = 1 ms')[
        0
    ] == [
        1.0,
        1.0,
        1.0,
        np.inf,
    ]
    times(
        "node a (time = {gpu: 1 ms}) node b (work = 1 ms)",
        "time a on cpu at batch p = p * 1 ms for p in 1..4",
        "batches",
    )


# published files, written out by hand


ASKED = ("constraint memory", "constraint acyclic", "constraint colocate by color")


def written_msr(file: Path) -> str:
    """Return a throughput workload of tarnawski2020 as a spec of plain statements: times on both types of device."""
    found = json.loads(file.read_text(encoding="utf-8"))
    lines = ["graph {"]
    for node in found["nodes"]:
        slow = node["cpuLatency"]
        fast = node["fpgaLatency"] if node.get("supportedOnFpga", 1) else "inf"
        out = max((edge["cost"] for edge in found["edges"] if edge["sourceId"] == node["id"]), default=0)
        options = f"time = {{cpu: {slow!r}, acc: {fast!r}}}, output = {out!r}, memory = {node['size']!r}".replace(
            "'", ""
        )
        color = node.get("colorClass")
        options += f", color = {color}" if color is not None else ""
        options += ", part = backward" if node.get("isBackwardNode") else ""
        lines.append(f'  node "{node["id"]}" ({options})')
    lines += [f'  edge "{edge["sourceId"]}" -> "{edge["destId"]}"' for edge in found["edges"]]
    room = found["maxSizePerFPGA"]
    devices = f"device acc[{found['maxFPGAs']}] (memory = {room!r})\ndevice cpu[{found['maxCPUs']}] (io = free)"
    rules = ["interconnect host (bandwidth = 1)", "minimize bottleneck", *ASKED]
    return "\n".join([*lines, "}", devices, *rules])


def test_tarnawski_by_hand(data: Path) -> None:
    """BERT-24 as text has the graph and the times of the file, and the optimum that is published."""
    file = data / "dnn-partitioning" / "throughput" / "LayerGraphs" / "bert24_inference.json"
    text = written_msr(file)
    problem = mtpp_dsl.load(text)
    own = mtpp_dsl.load(f'import "{file}" (format = msr)\nminimize bottleneck')
    assert [device.name for device in own.devices] == [device.name for device in problem.devices]
    assert np.array_equal(own.time, problem.time)
    assert np.array_equal(own.graph.output, problem.graph.output)
    found = solve(problem, "ideals", time_limit=20)
    assert found.evaluation is not None
    assert (found.status, found.evaluation.cost) == ("optimal", pytest.approx(17.789906))


def written_moirai(file: Path) -> str:
    """Return a task graph of zhang2023 as a spec of plain statements: times by pairs, transfers by edges and pairs."""
    found = json.loads(file.read_text(encoding="utf-8"))
    k = len(found["device_memory"])
    lines = ["graph {"]
    for task in found["tasks"]:
        takes = ", ".join(f'"gpu[{d}]": {time!r}' for d, time in enumerate(task["times"]))
        lines.append(f'  node "{task["id"]}" (time = {{{takes}}}, memory = {task["memory"]!r})')
    edges = {(task["id"], other) for task in found["tasks"] for other in task["successors"]}
    lines += [f'  edge "{one}" -> "{other}"' for one, other in sorted(edges)]
    lines.append("}")
    lines += [f"device gpu{d} (memory = {room!r})" for d, room in enumerate(found["device_memory"])]
    text = "\n".join([*lines, "interconnect links (bandwidth = 1)"]).replace("gpu[", "gpu").replace(']":', '":')
    given = {(one["source"], one["target"]): one["times"] for one in found["transfers"]}
    for one, other in sorted(edges):
        table = given.get((one, other), [[0] * k] * k)
        for d in range(k):
            for e in range(k):
                if d != e:
                    text += f'\ntime "{one}" -> "{other}" on gpu{d} -> gpu{e} = {table[d][e]!r}'
    return text + "\nminimize makespan\nconstraint memory"


def test_moirai_by_hand(data: Path) -> None:
    """Example-1 of zhang2023 as text: its optimum, 30."""
    found = solve(mtpp_dsl.load(written_moirai(data / "moirai" / "example-1.json")), time_limit=20)
    assert found.evaluation is not None
    assert (found.status, found.evaluation.cost) == ("optimal", pytest.approx(30.0))


def test_batches_by_hand(data: Path) -> None:
    """A case of ghannane2023 as text, times by pairs and sizes: its corrected optimum."""
    case = cases(data)["chain2_K2_L4"]
    text = built(case).to_spec()
    assert "at batch" in text
    found = solve(mtpp_dsl.load(text), time_limit=20)
    assert found.evaluation is not None
    assert (found.status, found.evaluation.cost) == ("optimal", pytest.approx(case["opt_corrected"]))
