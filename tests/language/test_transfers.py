"""Measured times of transfers: what the statements mean, and what is wrong with them."""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import SpecError

HEAD = """
graph {
  node a (work = 1 ms, output = 1 MB)
  node b (work = 1 ms)
  node c (work = 1 ms)
  edge a -> b
  edge a -> c
}
device gpu[2]
device cpu
interconnect links (bandwidth = 1 GB/s, latency = 1 ms)
minimize makespan
"""


def carried(text: str) -> list[list[list[float]]]:
    problem = mtpp_dsl.load(HEAD + text)
    found: list[list[list[float]]] = [(1000 * problem.transfers.of(e)).round(9).tolist() for e in range(2)]
    return found


def test_they_take_the_place_of_what_links_take() -> None:
    """One edge between one pair of devices, one way; all else takes what it takes without them."""
    plain = [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
    assert carried("") == [plain, plain]
    assert carried("time a -> b on gpu[0] -> cpu = 7 ms\n") == [[[0, 2, 7], [2, 0, 2], [2, 2, 0]], plain]


def test_sets_loops_and_later_ones() -> None:
    """Ends are sets too, within a device nothing takes time, later statements replace earlier ones, and inf is one."""
    assert carried(
        "time a -> nodes on devices -> devices = 3 ms\n"
        "time a -> v on gpu[i] -> gpu[1 - i] = inf for v in {b} for i in 0..1 if i == 0\n"
    ) == [[[0, float("inf"), 3], [3, 0, 3], [3, 3, 0]], [[0, 3, 3], [3, 0, 3], [3, 3, 0]]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time b -> a on gpu[0] -> cpu = 7 ms", r"E101\]: there is no edge b -> a"),
        ("time a -> b on cpu -> cpu = 7 ms", r"E402\]: a transfer within a device takes no time"),
        (
            "time a -> b on gpu[0] -> cpu = 7 MB",
            r"E213\]: a transfer takes a time or a number without a unit; this is a size",
        ),
        ("time a -> b on gpu[0] -> cpu = -7 ms", r"E214\]: a time must not be negative; this is -7 ms"),
        ("time a -> b on gpu[0] -> cpu = 7", r"E213\]: .*all times carry units, or none do"),
        ("time a -> b on a -> cpu = 7 ms", r"a device is wanted here, not a node"),
    ],
)
def test_wrong_ones(text: str, message: str) -> None:
    """What cannot be meant is an error in its place."""
    with pytest.raises(SpecError, match=message):
        mtpp_dsl.load(f"{HEAD}{text}\n")


def test_only_links_carry_edges() -> None:
    """On a channel, tensors are carried, and no edges."""
    text = HEAD.replace("links (bandwidth = 1 GB/s, latency = 1 ms)", "shared (bandwidth = 1 GB/s)")
    with pytest.raises(SpecError, match=r"E403\]: times of transfers go with interconnect links, not shared"):
        mtpp_dsl.load(text.replace("makespan", "bottleneck") + "time a -> b on gpu[0] -> cpu = 7 ms\n")


def test_memories_in_bytes_beside_outputs_in_time() -> None:
    """As in published files: outputs are transfer times, without a unit, and every node says its memory."""
    text = """
graph {{
  node a (work = 1, output = 2, memory = 3 MB)
  node b (work = 1{})
  edge a -> b
}}
device d[2] (memory = 4 MB)
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint memory
"""
    graph = mtpp_dsl.load(text.format(", memory = 1 MB")).graph
    assert (graph.work_unit, graph.size_unit, graph.memory_unit) == ("", "", "B")
    assert graph.memory.tolist() == [3e6, 1e6]
    for wrong in ("", ", memory = 1 MB, params = 2"):
        with pytest.raises(SpecError, match="all sizes of a problem carry units, or none do"):
            mtpp_dsl.load(text.format(wrong))
