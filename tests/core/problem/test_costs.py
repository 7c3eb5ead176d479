"""Costs are kept by item, sorted by node; what a node reads and writes follows from its tensors unless it says so."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mtpp_dsl.core.errors import DeviceError, UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem


def test_items_are_sorted_by_node_and_summed() -> None:
    costs = Costs.create([2, 0, 2], flop=[5.0, 1.0, 7.0], read=[1, 2, 3], write=0, kinds=["a", "b", "c"])
    assert costs.owner.tolist() == [0, 2, 2]
    assert costs.kinds == ("b", "a", "c")
    assert costs.nodes.tolist() == [0, 2]
    assert list(costs.items_of(2)) == [1, 2]
    assert list(costs.items_of(1)) == []
    assert costs.per_node(costs.flop, 4).tolist() == [1, 0, 12, 0]
    assert pickle.loads(pickle.dumps(costs)) == costs
    assert costs != Costs.create([2, 0, 2], flop=[5.0, 1.0, 8.0], read=[1, 2, 3], write=0, kinds=["a", "b", "c"])


def test_what_is_not_said_follows_from_parameters_and_tensors() -> None:
    costs = Costs.create([0, 1], flop=[1.0, 2.0], read=[np.nan, 9.0], write=np.nan)
    settled = costs.settled(np.array([3.0, 3.0]), np.array([4.0, 4.0]), np.array([5.0, 6.0]))
    assert settled.read.tolist() == [7, 9]
    assert settled.write.tolist() == [5, 6]
    group = Costs.create([0, 0], flop=1.0, read=[1.0, np.nan], write=0.0, names=["x", "y"])
    with pytest.raises(UsageError, match="operator y does not say what it reads"):
        group.settled(np.zeros(1), np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"flop": -1.0}, "flop of operator 0 is -1"),
        ({"flop": 1.0, "read": np.inf}, "read of operator 0 is inf"),
        ({"flop": [1.0]}, "entries for 2 operators"),
        ({"flop": 1.0, "kinds": ["a"]}, "kinds has 1 entries for 2"),
    ],
)
def test_columns_that_cannot_be_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Costs.create([0, 1], **wrong)  # type: ignore[arg-type]


def test_a_graph_has_costs_of_its_own_nodes() -> None:
    with pytest.raises(UsageError, match=r"costs are those of nodes 0\.\.1"):
        Graph.create(["a", "b"], [], costs=Costs.create([2], flop=1.0))


def test_figures_of_devices() -> None:
    device = Device("d", peak={"bf16": 2.0, "": 1.0}, efficiency={"matmul": 0.5, "memory": 0.75})
    assert (device.peak_of("bf16"), device.peak_of("fp8")) == (2.0, 1.0)
    assert (device.efficiency_of("matmul"), device.efficiency_of("norm")) == (0.5, 1.0)
    assert pickle.loads(pickle.dumps(device)) == device
    assert len({device, Device("d", peak={"bf16": 2.0, "": 1.0}, efficiency=device.efficiency)}) == 1
    graph = Graph.create(["a"], [])
    for wrong in (Device("d", peak={"": 0.0}), Device("d", bandwidth=-1.0), Device("d", efficiency={"": 1.5})):
        with pytest.raises(DeviceError, match="device 'd'"):
            Problem.create(graph, [wrong], Shared(1.0))
