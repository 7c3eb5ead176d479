"""Times of nodes on single devices: statements, formulas and files, for every objective."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core.errors import Refused, SpecError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.lowering.lower import load
from tests.oracle import optimum

INF = float("inf")
HEAD = """
graph {
  node a (work = 2 ms, output = 1 MiB, kind = "conv")
  node b[3] (work = 3 ms, output = 1 MiB)
  edge a -> b[0] -> b[1] -> b[2]
}
device fast (speed = 2)
device slow[2]
interconnect shared (bandwidth = 8 GiB/s)
"""


def read(*statements: str, head: str = HEAD, goal: str = "minimize bottleneck") -> Problem:
    """Read a spec of the graph and the devices above."""
    return load("\n".join([head, goal, *statements]))


def test_missing_times_come_from_work_and_speed() -> None:
    """A time holds for its pair, as it is said; the speed divides only the work."""
    problem = read(
        "time a on fast = 5 ms", "time b[i] on slow = (i + 1) * 1 ms for i in 0..1", "time b[2] on slow = inf"
    )
    assert (problem.time * 1e3).round(9).tolist() == [[5, 2, 2], [1.5, 1, 1], [1.5, 2, 2], [1.5, INF, INF]]
    assert problem.warnings == ()
    assert problem.time_unit == "s"


@pytest.mark.parametrize(
    "goal", ["minimize bottleneck", "maximize throughput", "minimize makespan", "maximize throughput (batch = 2)"]
)
def test_every_objective_takes_them(goal: str) -> None:
    """They are the times of single inputs for every objective; those of batches go over them."""
    links = "interconnect links (bandwidth = 8 GiB/s)" if "bottleneck" not in goal and goal[-4:] != "hput" else ""
    problem = read(
        "time a on fast = 5 ms", links, goal=goal, head=HEAD.replace(HEAD.splitlines()[-1], "") if links else HEAD
    )
    assert problem.time[0].tolist() == [0.005, 0.002, 0.002]
    if problem.objective.batch is not None:
        assert problem.batching.time[0, 0].tolist() == [0, 0.005, 0.01]
        tabled = load(
            HEAD.replace("shared (bandwidth", "links (bandwidth") + goal + "\n"
            "time a on fast = 5 ms\ntime a on fast at batch p = 7 ms for p in 1..2"
        )
        assert tabled.batching.time[0, 0].tolist() == [0, 0.007, 0.007]


def test_graphs_of_times_alone() -> None:
    """Nodes without work, all of whose times are given: the unit of those counts."""
    text = "graph { node a node b edge a -> b }\ndevice d[2]\ninterconnect shared (bandwidth = 1 GiB/s)\n"
    problem = load(text + "minimize bottleneck\ntime nodes on devices = 3 ms\nconstraint c: load(d[0]) <= 5 ms")
    assert problem.time.tolist() == [[0.003, 0.003]] * 2
    assert problem.warnings == ()
    plain = load(text.replace(" GiB/s", "") + "minimize bottleneck\ntime nodes on devices = 3")
    assert plain.time_unit == ""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "time a on fast = 3",
            "the time of a node is a number without a unit, but other times of the problem are a time",
        ),
        ("time a on fast = 3 MiB", "a node takes a time or a number without a unit; this is a size"),
        ("time a on fast = 0 ms - 1 ms", "a time must not be negative"),
        ("time a on fats = 1 ms", "nothing is called 'fats'; did you mean 'fast'?"),
        ("time fast on a = 1 ms", "a node is wanted here, not a device"),
        ("time a on fast at batch 0 = 1 ms", "a batch has one input or more; this has 0"),
    ],
)
def test_what_is_wrong_is_said(statement: str, said: str) -> None:
    """A time that cannot be is an error in its place."""
    with pytest.raises(SpecError) as caught:
        read(statement)
    assert said in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].span is not None


def test_times_to_no_effect_are_told() -> None:
    """A time of a kind that the device does not support, and a time of a batch where there is none."""
    head = HEAD.replace("(speed = 2)", '(unsupported = ["conv"])')
    (warning,) = read("time a on fast = 1 ms", head=head).warnings
    assert "the time of a on fast has no effect: fast does not support the kind 'conv'" in warning
    (warning,) = read("time a on fast at batch 2 = 1 ms").warnings
    assert "give times without 'at batch'" in warning


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 2), st.one_of(st.just("inf"), st.decimals(0, 9, places=3).map(str))
        ),
        unique_by=lambda row: row[:2],
        max_size=8,
    )
)
def test_a_file_says_the_same(rows: list[tuple[int, int, str]]) -> None:
    """Times from a file without a column of batches are those of statements."""
    names, devices = ["a", "b[0]", "b[1]", "b[2]"], ["fast", "slow[0]", "slow[1]"]
    said = [f"time {names[v]} on {devices[d]} = {t}{'' if t == 'inf' else ' ms'}" for v, d, t in rows]
    lines = ["device,time (ms),node", *(f"{devices[d]},{t},{names[v]}" for v, d, t in rows)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "times.csv"
        path.write_text("\n".join(lines) + "\n")
        by_file = read(f'times from "{path}"')
    assert np.array_equal(read(*said).time, by_file.time)


def test_methods_for_equal_devices_refuse() -> None:
    """Where times differ by device, a method that needs equal devices says so, and exact finds the optimum."""
    text = "graph { node a (work = 2) node b (work = 2) node c (work = 2) edge a -> b -> c }\ndevice d[2]\n"
    text += "interconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint acyclic\n"
    equal, unequal = load(text), load(text + "time b on d[1] = 7")
    assert mtpp_dsl.solve(equal, method="branching").cost == 4
    with pytest.raises(Refused, match="needs devices that are all equal"):
        mtpp_dsl.solve(unequal, method="branching")
    assert mtpp_dsl.solve(unequal, method="exact").cost == optimum(unequal) == 4


def test_clusters_keep_times(tmp_path: Path) -> None:
    """What makes a problem smaller adds up the times of its nodes on each device."""
    path = tmp_path / "chain.mtpp"
    path.write_text(
        "graph { node a[i in 0..5] (work = 1, output = 2 * i) edge a[i] -> a[i + 1] for i in 0..4 }\n"
        "device d[2]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint acyclic\n"
        "time a[i] on d[1] = 3 * mod(i + 1, 2) for i in 0..5\n"
    )
    problem = load(path)
    best = optimum(problem)
    for method in ("exact", "ideals", "auto"):
        assert mtpp_dsl.solve(problem, method=method).cost == pytest.approx(best)
