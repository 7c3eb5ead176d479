"""Certificates ``leaves``: boxes that cover all choices, and in each a sum of rows that nothing in it keeps to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.batch_rows import batch_rows
from mtpp_dsl.solvers.proofs.chunk_order import MAX_NUMBERS
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH
from mtpp_dsl.solvers.proofs.packed import unpacked
from mtpp_dsl.solvers.proofs.proof_reading import number
from mtpp_dsl.solvers.proofs.rows import Rows
from mtpp_dsl.solvers.proofs.schedule_rows import schedule_rows
from mtpp_dsl.solvers.proofs.split_rows import split_rows

__all__ = ["ROUNDING", "Leaf", "LeavesProof", "how_ordered", "leaves_of", "refutes", "rows_below"]

ROUNDING = 1e-12
"""Relative: the cost of a plan may be rounded by so much."""
LARGEST = 1e100
"""Multipliers are no more than this."""


class LeavesProof:
    """``{"target": T, "rows": hash, "tree": packed}``: no plan below T keeps to the rows.

    The tree is a list in the order of a walk from the root, 0 before 1 (as :mod:`mtpp_dsl.solvers.proofs.packed` writes
    it). The number of a variable stands for a node that parts its box in those where the variable is 0 and 1; a list
    ``[row, multiplier, row, multiplier, ...]`` for a leaf. In the box of a leaf the sum of the rows, each so many
    times, has no solution: its least value is more than the sum of the limits. All of this is counted in whole numbers.
    The rows are derived from the problem again (:mod:`mtpp_dsl.solvers.proofs.split_rows`,
    :mod:`mtpp_dsl.solvers.proofs.schedule_rows`, :mod:`mtpp_dsl.solvers.proofs.batch_rows`); the hash only tells
    whether they are those that the certificate is about. With ``"ordered": true`` those of a batch say when its chunks
    start and end (:mod:`mtpp_dsl.solvers.proofs.chunk_order`); with a number, fewer of them do.

    Sources: that multipliers of any precision give a safe bound where variables have bounds is neumaier2004's, the
    proof of a tree leaf by leaf cheung2017's.
    """

    name = "leaves"
    summary = "boxes that cover all choices, and a sum of rows that refutes each (neumaier2004, cheung2017)"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        target = number(data, "target")
        if target == 0:
            raise Refused("a bound of 0 has no boxes: costs that are never negative need none, and others have no rows")
        rows = rows_below(problem, target, ordered=how_ordered(data))
        if data.get("rows") != rows.digest:
            raise Refused("the certificate is about other rows than those of this problem")
        for leaf in leaves_of(rows, unpacked(data.get("tree"))):
            if limits.remaining <= 0:
                raise UsageError(NOT_ENOUGH)
            if not refutes(rows, leaf):
                raise Refused(f"leaf {leaf.number} of the certificate leaves room for a plan below {target!r}")
        return target * (1 - ROUNDING)


def rows_below(problem: Problem, target: float, *, ordered: bool | int = False) -> Rows:
    """Return rows that every plan below the target keeps to.

    Args:
        problem: what the plans are of.
        target: the cost that they are below.
        ordered: for batches, whether rows say in which order chunks run; a number as :func:`how_ordered` has it.

    Raises:
        Refused: no such rows are known for such a problem.
    """
    if problem.objective.batch is not None:
        return batch_rows(problem, target, ordered=ordered)
    if problem.objective.quantity == "makespan" and isinstance(problem.interconnect, Links):
        return schedule_rows(problem, target)
    return split_rows(problem, target)


def how_ordered(data: Mapping[str, Any]) -> bool | int:
    """Return whether rows say in which order chunks run; a number: of numbers that rows between two nodes may have.

    Raises:
        Refused: it is neither.
    """
    given = data.get("ordered", False)
    if not isinstance(given, int) or not 0 <= given <= MAX_NUMBERS:
        raise Refused(f"the certificate's rows are ordered or not, or in part, not {given!r:.40}")
    return given


@dataclass(frozen=True)
class Leaf:
    """A box, and what is claimed to show that it holds no solution.

    Attributes:
        number: of the leaf, from zero.
        fixed: variables that have one value in its box.
        multipliers: of rows, by their numbers.
    """

    number: int
    fixed: Mapping[int, int]
    multipliers: Mapping[int, float]


def leaves_of(rows: Rows, tree: object) -> Iterator[Leaf]:
    """Yield the leaves of the tree of a certificate; their boxes together are that of the root.

    Raises:
        Refused: it is no tree, or not over these rows.
    """
    if not isinstance(tree, list):
        raise Refused("the certificate has no tree")
    boxes: list[dict[int, int]] = [{}]
    count = 0
    for item in tree:
        if not boxes:
            raise Refused("the tree of the certificate goes on behind its last leaf")
        fixed = boxes.pop()
        if isinstance(item, list):
            yield Leaf(count, fixed, _multipliers(rows, item))
            count += 1
        else:
            variable = _number_of(item, len(rows.names), "variable")
            if variable in fixed or (rows.low[variable], rows.high[variable]) != (0, 1):
                raise Refused(f"the certificate branches on variable {variable}, which is not 0 or 1 in that box")
            boxes += ({**fixed, variable: value} for value in (1, 0))
    if boxes:
        raise Refused("the tree of the certificate ends before all its boxes are leaves")


def _multipliers(rows: Rows, item: Sequence[object]) -> dict[int, float]:
    if len(item) % 2:
        raise Refused("a leaf of the certificate has a row without a multiplier")
    multipliers: dict[int, float] = {}
    for given, value in zip(item[::2], item[1::2], strict=True):
        row = _number_of(given, len(rows.rows), "row")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST:
            raise Refused(f"the certificate's multiplier of row {row} is {value!r:.40}, not a number of zero or more")
        if row in multipliers:
            raise Refused(f"a leaf of the certificate names row {row} twice")
        multipliers[row] = float(value)
    return multipliers


def _number_of(given: object, count: int, what: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < count:
        raise Refused(f"the certificate names {what} {given!r:.40}, of which there are {count}")
    return given


def refutes(rows: Rows, leaf: Leaf) -> bool:
    """Return whether the rows, added up with the multipliers, have no solution in the box; in whole numbers."""
    ratios = {row: value.as_integer_ratio() for row, value in leaf.multipliers.items()}
    scale = max((below for _, below in ratios.values()), default=1)  # of powers of two, and so a multiple of all
    total: dict[int, int] = {}
    most = 0
    for row, (above, below) in ratios.items():
        often = above * (scale // below)
        most += often * rows.rows[row].most
        for variable, count in rows.rows[row].terms:
            total[variable] = total.get(variable, 0) + often * count
    least = 0
    for variable, count in total.items():
        value = leaf.fixed.get(variable)
        if value is None:
            value = rows.low[variable] if count > 0 else rows.high[variable]
        least += count * value
    return least > most
