"""The rows of ``leaves`` are those that certificates of earlier versions name by their digest.

Each problem here has a kind of row that no other has. If rows are made stronger on purpose, a digest changes: such
certificates are then refused, and have to be found again.
"""

from __future__ import annotations

import pytest

import mtpp_dsl
from mtpp_dsl.solvers.proofs.leaves import rows_below
from tests.solvers.proofs.test_refusals import BATCH, ROW, TIMED, spec

FIRST = "device p (memory = 9)"
LINES = ROW.replace("device q (memory = 9)", "device q (memory = 9)\ndevice r (memory = 9, speed = 2)")
TINY = 'node "d" (work = 1, output = 1e-30)\nedge "d" -> "b"\n'
WAITING = (
    'mtpp 1\ngraph {\nnode "a"\nnode "b"\nnode "c"\nedge "a" -> "b"\nedge "b" -> "c"\n}\ndevice p\ninterconnect links\n'
    'time "a" on "p" at batch 1 = 3\ntime "b" on "p" at batch 1 = 0\ntime "c" on "p" at batch 1 = 2\n'
    "maximize throughput (batch = 1)\n"
)

ROWS: dict[str, tuple[str, float, str]] = {
    "inputs in a memory": (
        spec(BATCH.replace(FIRST, "device p (memory = 0.75)") + "constraint memory\n"),
        9.0,
        "967105fe645ad097",
    ),
    "a node that runs nowhere": (spec(BATCH + 'constraint forbid "a" on "p", "q"\n'), 9.0, "cf6c8ec9f131f632"),
    "a window without room": (WAITING, 4.99999999999477, "21ddc3513b91fe08"),
    "nodes apart in time": (spec(TIMED + 'constraint separate "a", "c"\n'), 9.0, "3ade2eabdf3790f4"),
    "an order of devices in time": (spec(TIMED + "constraint acyclic\n"), 9.0, "c566162c36ee950e"),
    "a colocated edge in time": (spec(TIMED + 'constraint colocate "a", "b"\n'), 9.0, "1a31fbee30f47d76"),
    "no room in time": (
        spec(TIMED.replace(FIRST, "device p (memory = 2, reserve = 2)") + "constraint memory\n"),
        9,
        "558c135bbdf26a09",
    ),
    "no room": (
        spec(ROW.replace(FIRST, "device p (memory = 0)") + "constraint memory\n"),
        9.0,
        "2ecaeaedbd7fae47",
    ),
    "a tensor of no units": (spec(ROW, TINY), 9.0, "64de1bf256c0e663"),
    "half a bottleneck": (
        spec(ROW.replace("minimize bottleneck", "minimize 0.5 * bottleneck")),
        9.0,
        "e15df14716e12d87",
    ),
    "a device on some seat": (
        spec(LINES + "constraint acyclic\nconstraint cap: load(d) + 2 * used(d) <= 7 for d in devices\n"),
        9.0,
        "37679d61e976c9d7",
    ),
}
"""By what is special: a problem, a target, and the digest of its rows."""


def test_rows_of_ordered_chunks_are_those_that_certificates_name() -> None:
    rows = rows_below(mtpp_dsl.load(spec(BATCH)), 9.0, ordered=True)
    assert rows.digest == "c8925a3374762daf"


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_that_certificates_name(name: str) -> None:
    text, target, digest = ROWS[name]
    assert rows_below(mtpp_dsl.load(text), target).digest == digest
