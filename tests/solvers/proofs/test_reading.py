"""What checkers of certificates read in a problem: arcs, rooms, and what is streamed."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Memory
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, colocation_class, least_workspace
from mtpp_dsl.solvers.proofs.windows import running_times

LINKS = Links(np.ones((2, 2)), np.zeros((2, 2)))


def row(*rules: Constraint, on: Interconnect, memory: float | None = 4.0, io: bool = True) -> Problem:
    """Return three nodes in a row on two devices, the second of which has all the memory that there is."""
    graph = Graph.create(
        "abc", [(0, 1), (1, 2)], work=1.0, output=2.0, params=[1, 2, 4], memory=[1, 2, 4], workspace=[0.5, 0, 0.25]
    )
    devices = [Device("p", memory=memory, pays_io=io), Device("q", memory=None if memory is None else 9.0)]
    objective = Objective("makespan") if isinstance(on, Links) else Objective("bottleneck")
    return Problem.create(graph, devices, on, objective, rules)


@pytest.mark.parametrize(
    ("rules", "arcs"),
    [
        ([Contiguous()], [(0, 1), (1, 2)]),
        ([Contiguous(), Colocate(nodes=(0, 2))], []),
        ([Acyclic(), Colocate(nodes=(0, 2))], [(0, 1), (1, 0)]),
        ([Acyclic(), Colocate(nodes=(0, 1))], [(0, 1)]),
        ([], []),
    ],
)
def test_arcs_along_which_devices_hold_convex_sets(rules: list[Constraint], arcs: list[tuple[int, int]]) -> None:
    """Groups of several nodes are convex as a whole where plans are acyclic, and else node by node."""
    reading = ProofReading(row(*rules, on=Shared(1.0)))
    assert all(reading.arcs(kind) == arcs for kind in reading.kinds)


def test_what_is_streamed() -> None:
    """What is more than the memory takes the bandwidth's time, on each device and on all together."""
    reading = ProofReading(row(on=Shared(2.0, overflow=True), memory=1.0))
    assert [kind.free for kind in reading.kinds] == [1.0, 9.0]
    assert [reading.streamed(kind, [0, 1, 2]) for kind in reading.kinds] == pytest.approx([3.0, 0.0])
    assert reading.always_streamed == 0.0
    graph = Graph.create("ab", [], params=[5.0, 6.0], memory=1.0)
    devices = [Device("p", memory=3.0), Device("q", memory=4.0)]
    assert ProofReading(Problem.create(graph, devices, Shared(2.0, overflow=True))).always_streamed == pytest.approx(2)
    unlimited = ProofReading(row(on=Shared(2.0, overflow=True), memory=None))
    assert [unlimited.streamed(kind, [0, 1, 2]) for kind in unlimited.kinds] == [0.0]


@pytest.mark.parametrize(
    ("on", "pays"), [(Shared(1.0), [True]), (Host(1.0), [False, True]), (Host(1.0, overflow=True), [False, True])]
)
def test_who_pays(on: Interconnect, pays: list[bool]) -> None:
    """On host, a device with io = free pays and streams nothing."""
    kinds = ProofReading(row(on=on, io=False)).kinds
    assert [kind.pays for kind in kinds] == pays
    assert all(kind.free == inf for kind, paying in zip(kinds, pays, strict=True) if not paying)


def test_rooms_of_a_makespan() -> None:
    """A node that is larger than a memory is not on that device, nor one colocated with it."""
    assert least_workspace(row(Memory(), on=LINKS), 0) == 0.0
    assert least_workspace(row(Memory(), Forbid(nodes=(1,), devices=(0,)), on=LINKS), 0) == 0.25
    for memory, rules, closed in (
        (0.75, [], [True, True, True]),
        (2.0, [], [False, False, True]),
        (2.0, [Forbid(nodes=(1,), devices=(0,))], [False, True, True]),
        (4.0, [], [False, False, False]),
        (4.0, [Colocate(nodes=(1, 2))], [False, True, True]),
    ):
        problem = row(Memory(), *rules, on=LINKS, memory=memory)
        times = running_times(problem, np.array(colocation_class(problem)))
        assert np.isinf(times[:, 0]).tolist() == closed
        assert np.isfinite(times[:, 1]).all()
    free = row(on=LINKS, memory=0.75)
    assert np.isfinite(running_times(free, np.array(colocation_class(free)))).all()
