"""Sets of devices that rows over ``used`` make worth a search."""

from __future__ import annotations

from itertools import combinations

import mtpp_dsl
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.device_sets import sets_by_rows

SPEC = """mtpp 1
graph {{
  node a[4] (work = 3 ms, output = 1 MB, params = 1 GB)
  edge a[i] -> a[i + 1] for i in 0..2
}}
device fast (speed = 2, memory = 8 GB, price = 4 USD)
device slow[3] (memory = 2 GB, price = 1 USD)
interconnect shared (bandwidth = 8 GB/s)
minimize bottleneck
constraint memory
{rows}
"""


def problem(*rows: str) -> Problem:
    """Return a problem under some rows."""
    return mtpp_dsl.load(SPEC.format(rows="\n".join(f"constraint r{i}: {row}" for i, row in enumerate(rows))))


BUDGET = "sum(price(d) * used(d) for d in devices) <= 5 USD"


def test_sets_of_a_hard_budget() -> None:
    """Of a budget that must hold, the largest sets are there, one of those that differ in equal devices."""
    sets = sets_by_rows(problem(BUDGET))
    assert {(one.devices, one.paid) for one in sets} == {((0, 1), 0.0), ((1, 2, 3), 0.0)}
    assert [round(one.least, 9) for one in sets] == [4e-3, 4e-3]


def test_sets_of_a_soft_budget() -> None:
    """Of one with a penalty larger sets are there, too, with what they cost; without such a row there are none."""
    sets = sets_by_rows(problem(f"{BUDGET} (penalty = 1 ms / (1 USD))"))
    assert {(one.devices, round(one.paid, 9)) for one in sets} == {
        ((0, 1), 0.0),
        ((1, 2, 3), 0.0),
        ((0, 1, 2), 1e-3),
        ((0, 1, 2, 3), 2e-3),
    }
    assert not sets_by_rows(problem("load(fast) <= 3 ms (penalty = 1)"))


def test_every_use_is_in_a_set_that_costs_no_more() -> None:
    """Whatever devices a plan uses, up to equal ones, a set has them all and costs no more, also of rows from below."""
    asked = problem(f"{BUDGET} (penalty = 1 ms / (1 USD))", "sum(used(d) for d in devices) >= 3 (penalty = 2 ms)")
    sets = sets_by_rows(asked)
    for size in range(1, asked.k + 1):
        for used in combinations(range(asked.k), size):
            paid = 1e-3 * max(0, sum((4, 1, 1, 1)[d] for d in used) - 5) + 2e-3 * max(0, 3 - size)
            slow = sum(d > 0 for d in used)
            assert any(
                (0 not in used or 0 in one.devices)
                and slow <= sum(d > 0 for d in one.devices)
                and one.paid <= paid + 1e-12
                for one in sets
            )
