"""Certificates ``leaves``: found for what is true, never for more, and refused once anything in them is changed."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from math import nextafter
from random import Random
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Contiguous, Separate, Used
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.leaves import Leaf, LeavesProof, leaves_of, refutes, rows_below
from mtpp_dsl.solvers.proofs.packed import packed, unpacked
from mtpp_dsl.solvers.proofs.rows import Rows
from mtpp_dsl.solvers.proving.leaf_search import find_leaves
from tests.amount import part
from tests.batch_problems import random_batches
from tests.makespans import makespan_problem
from tests.oracle import optimum
from tests.row_problems import small_problem
from tests.split_problems import split_problem
from tests.tight_memories import tight_problem
from tests.weighted_problems import random_problem as weighted_problem

LESS = 1 - 5e-10
BELOW = 7.0
"""A target below the optimum of the example."""
MORE = (1 + 1e-9, 1 + 1e-6, 1.1)


def found(problem: Problem, target: float) -> dict[str, Any] | None:
    """Return the data of a certificate that no plan is below the target, None if none is found."""
    certificate = find_leaves(problem, target, Limits(time=20.0))
    return None if certificate is None else dict(certificate.data)


def proved(problem: Problem, data: dict[str, Any]) -> float:
    """Return what a certificate proves; 0 if it is refused."""
    try:
        return LeavesProof().prove(problem, data, Limits(time=20.0))
    except Refused:
        return 0.0


def example() -> Problem:
    """Return a problem whose certificate has some leaves."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (2, 5), (4, 5)]
    graph = Graph.create("abcdef", edges, work=[3, 2, 4, 1, 5, 2], output=[1, 2, 0.5, 1, 0.3, 0])
    return Problem.create(graph, [Device(f"d{d}") for d in range(3)], Shared(1.0), constraints=[Contiguous()])


SOURCES: dict[str, Callable[[int], Problem]] = {
    "split": lambda seed: split_problem(seed, most=4),
    "unequal": lambda seed: tight_problem(seed, most=4, kinds=("shared", "host")),
    "rows": lambda seed: small_problem(seed, "bottleneck"),
    "costs": weighted_problem,
    "makespan": lambda seed: makespan_problem(seed, 4, 2),
    "batches": lambda seed: random_batches(seed, devices=2),
}


@pytest.mark.parametrize("source", SOURCES)
def test_it_proves_optima_and_no_more(source: str) -> None:
    """What is found proves the optimum but for rounding, as a rule; and nothing is found for more than it."""
    proofs: list[bool] = []
    for seed in range(part(60, 12)):
        problem = recognised(SOURCES[source](seed)).problem
        best = None if problem.objective.sense == "maximize" else optimum(problem)
        if best is None or best <= 0 or refuses(problem, best):
            continue
        data = found(problem, best * LESS)
        proofs.append(data is not None)
        if data is not None:
            assert best * (1 - 1e-9) <= proved(problem, data) <= best * (1 + 1e-12)
        assert not any(found(problem, best * more) for more in MORE)
    assert 2 * sum(proofs) >= len(proofs)


@pytest.mark.parametrize("constant", [-1.0, 0.0, 2.5])
def test_a_constant_counts(constant: float) -> None:
    """Both devices are needed, and cost 5 together and the constant."""
    graph = Graph.create("ab", [(0, 1)], work=2.0)
    devices = [Device("x"), Device("y")]
    price = Objective.linear([(Used(0), 3.0), (Used(1), 2.0)], "minimize", constant=constant, label="price")
    problem = Problem.create(graph, devices, Shared(1.0), price, [Separate(nodes=(0, 1))])
    best = 5.0 + constant
    assert optimum(problem) == best
    assert found(problem, best * LESS) is not None
    assert not any(found(problem, best * more) for more in MORE)


def refuses(problem: Problem, target: float) -> bool:
    """Return whether no rows are known for a problem."""
    try:
        rows_below(problem, target)
    except Refused:
        return True
    return False


def forged(rng: Random, tree: list[Any], rows: int, variables: int) -> list[Any]:
    """Return a tree in which one thing is another: a row, a multiplier, a sign, a branch, a box, a leaf."""
    tree = [list(item) if isinstance(item, list) else item for item in tree]
    at = rng.choice(range(len(tree)))
    item = tree[at]
    change = rng.choice(["drop", "twice", "swap", "inside", "inside", "inside"])
    if change == "drop":
        del tree[at]
    elif change == "twice":
        tree.insert(at, item)
    elif change == "swap":
        other = rng.randrange(len(tree))
        tree[at], tree[other] = tree[other], tree[at]
    elif not isinstance(item, list):
        tree[at] = rng.choice([rng.randrange(variables), -1, variables, True, None, "0", 0.0])
    elif item:
        place = rng.randrange(len(item))
        value = item[place]
        item[place] = rng.choice(
            [-value, value + 1, value * 2, value / 2, 0, rng.randrange(rows), rows, nextafter(value, 9e9), None, 1e300]
        )
    return tree


def test_forged_trees_are_refused_or_true() -> None:
    """Whatever is changed in the tree, it never proves a target that is not true."""
    problem, rng = example(), Random(0)
    best = optimum(problem)
    assert best is not None
    data = found(problem, best * LESS)
    assert data is not None
    tree = unpacked(data["tree"])
    assert isinstance(tree, list)
    for _ in range(part(300, 10)):
        target = best * rng.choice([LESS, *MORE, 2.0])
        rows = rows_below(problem, target)
        changed = forged(rng, tree, len(rows.rows), len(rows.names))
        claim = {"target": target, "rows": rows.digest, "tree": packed(changed)}
        assert proved(problem, claim) <= best


def test_a_certificate_is_about_one_problem() -> None:
    """The hash of the rows tells of another target, and of a problem with other numbers."""
    problem = example()
    data = found(problem, BELOW)
    assert data is not None
    graph = problem.graph
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    other = Graph.create(graph.names, edges, work=graph.work * 1.001, output=graph.output)
    for asked, changed in (
        (problem, {**data, "target": BELOW * 1.01}),
        (problem, {**data, "rows": "0" * 16}),
        (Problem.create(other, problem.devices, problem.interconnect, constraints=[Contiguous()]), data),
    ):
        with pytest.raises(Refused, match="other rows"):
            LeavesProof().prove(asked, changed, Limits())


@pytest.mark.parametrize(
    "tree", [None, "", "!", packed([]), packed([0]), packed([[0]]), packed([[], []]), packed([[0, 1]])]
)
def test_what_is_no_tree_is_refused(tree: object) -> None:
    """Text that cannot be unpacked, boxes without an end, leaves behind the last one."""
    rows = rows_below(example(), 5.0)
    with pytest.raises(Refused):
        LeavesProof().prove(example(), {"target": 5.0, "rows": rows.digest, "tree": tree}, Limits())


@pytest.mark.parametrize("more", [b"x", b"\0" * 100])
def test_nothing_is_packed_behind_the_end(more: bytes) -> None:
    """A list with bytes behind it, or of which the last ones are missing."""
    data = b64decode(packed([1, 2, 3]))
    for text in (data + more, data[: -len(more)]):
        with pytest.raises(Refused, match="cannot be unpacked"):
            unpacked(b64encode(text).decode())


def test_all_boxes_are_leaves() -> None:
    """A tree that branches twice on one variable, or on one that is fixed, covers nothing."""
    rows = rows_below(example(), 5.0)
    assert [leaf.fixed for leaf in leaves_of(rows, [3, [], 4, [], []])] == [{3: 0}, {3: 1, 4: 0}, {3: 1, 4: 1}]
    for tree in ([3, 3, [], [], []], [3, []], [3, [], [], []]):
        with pytest.raises(Refused):
            list(leaves_of(rows, tree))
    assert not any(refutes(rows, leaf) for leaf in leaves_of(rows, [3, [], []]))


def test_time_is_looked_at() -> None:
    """Neither the search nor the check goes on without time."""
    problem = example()
    assert find_leaves(problem, BELOW, Limits(time=0.0)) is None
    data = found(problem, BELOW)
    assert data is not None
    with pytest.raises(UsageError):
        LeavesProof().prove(problem, data, Limits(time=0.0))


def test_they_are_found_after_highs_has_used_several_threads() -> None:
    """HiGHS keeps the threads of its first run, and refuses runs with another number."""
    import highspy

    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 4), ("parallel", "on")):
        highs.setOptionValue(option, value)
    highs.addVar(0.0, 1.0)
    highs.changeColIntegrality(0, highspy.HighsVarType.kInteger)
    highs.run()
    problem = recognised(split_problem(0)).problem
    best = optimum(problem)
    assert best is not None
    assert found(problem, best * LESS) is not None


def test_a_target_of_zero_proves_nothing() -> None:
    """Costs with gains may be negative."""
    problem = mtpp_dsl.load(
        """mtpp 1
graph { node a (work = 1 s) }
device d[2]
interconnect shared (bandwidth = 1 GB/s)
minimize 2 * used(d[0]) - 3 * used(d[1])
"""
    )
    with pytest.raises(Refused, match="a bound of 0"):
        LeavesProof().prove(problem, {"target": 0.0, "rows": "", "tree": packed([])}, Limits())


def test_a_sum_that_has_a_solution_refutes_nothing() -> None:
    """The least value of the rows must be more than their limit, not as much."""
    rows = Rows()
    x, y = rows.variable("x"), rows.variable("y", 3)
    rows.add("at most", [(2, {x: 1}), (-1, {y: 1})], -1)
    for fixed, refuted in (({x: 0}, False), ({x: 1}, False), ({x: 0, y: 0}, True), ({x: 0, y: 1}, False)):
        assert refutes(rows, Leaf(0, fixed, {0: 0.5})) == refuted
