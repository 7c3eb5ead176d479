"""Find a certificate ``leaves``: branch over the variables of the rows until no box has a solution."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Certificate
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.mip.highs import enter_run, leave_run
from mtpp_dsl.solvers.proofs.leaves import Leaf, refutes, rows_below
from mtpp_dsl.solvers.proofs.packed import packed
from mtpp_dsl.solvers.proofs.rows import Rows, Units
from mtpp_dsl.solvers.proving.branch_choice import BranchChoice
from mtpp_dsl.solvers.proving.row_programme import BoxBound, RowProgramme

__all__ = ["find_leaves", "leaf_again"]

DIGITS = (2, 3, 4, 5, 6, 8, 11, 17)
"""Multipliers are written with as few digits as prove enough."""
MAX_NUMBERS = 500_000
"""In all leaves."""
MAX_PACKED = 1_000_000
"""Characters of a tree."""
TIMES = 1 << 20
"""Variables that may be so large are times in units."""
LARGE = 10_000
"""Rows of more numbers go to interior points first."""
NEAR = 1e-6
"""Relative: a linear programme that costs no less than this below the target may be refuted in exact numbers."""


def find_leaves(
    problem: Problem, target: float, limits: Limits, *, whole: bool = False, ordered: bool | int = True
) -> Certificate | None:
    """Return a certificate that no plan is below *target*.

    None where no rows are known for such a problem, where they have a solution, or where the time or the size of a
    certificate is not enough. Whoever calls this has to have the certificate proved by its checker.

    Args:
        problem: what the plans are of.
        target: the cost that they are below.
        limits: of time.
        whole: whether one leaf has to be enough; large programmes are then solved by interior points alone.
        ordered: for batches, as :func:`mtpp_dsl.solvers.proofs.leaves.rows_below` has it; without such rows, those that
            say nothing of the order are taken.
    """
    if not target > 0:
        return None
    for how in (ordered, False) if problem.objective.batch is not None else (False,):
        with suppress(Refused):
            rows = rows_below(problem, target, ordered=how)
            break
    else:
        return None
    enter_run()  # HiGHS solves nothing where another number of threads was used before
    try:
        tree = LeafSearch(rows, limits).tree(whole=whole)
    finally:
        leave_run()
    return None if tree is None else _certificate(target, rows, tree, ordered=how)


def leaf_again(
    problem: Problem, target: float, larger: float, rows: Rows, multipliers: Floats, ordered: bool | int = True
) -> Certificate | None:
    """Return a certificate that no plan of a batch is below *target*, by multipliers of rows of a larger one.

    Rows of the same name say the same. Those about times are counted in other units; None where they refute nothing at
    this target.

    Args:
        problem: the throughput of a batch.
        target: what all inputs take.
        larger: another target.
        rows: of that, with the order of chunks.
        multipliers: of these rows.
        ordered: as these rows are.
    """
    fresh = rows_below(problem, target, ordered=ordered)
    ratio = float(Units(target).size / Units(larger).size)
    number = {row.name: i for i, row in enumerate(fresh.rows)}
    moved = np.zeros(len(fresh.rows))
    for i in np.flatnonzero(multipliers).tolist():
        row = rows.rows[i]
        if row.name in number:
            timed = any(rows.high[variable] >= TIMES for variable, _ in row.terms)
            moved[number[row.name]] = multipliers[i] * (ratio if timed else 1.0)
    if not refutes(fresh, Leaf(0, {}, {int(row): float(moved[row]) for row in np.flatnonzero(moved)})):
        return None
    leaf = _leaf(fresh, {}, moved)
    return None if leaf is None else _certificate(target, fresh, [leaf], ordered=ordered)


def _certificate(target: float, rows: Rows, tree: list[Any], *, ordered: bool | int) -> Certificate | None:
    text = packed(tree)
    if len(text) > MAX_PACKED:
        return None
    kind = {} if ordered is False else {"ordered": ordered}
    return Certificate("leaves", {"target": target, "rows": rows.digest, **kind, "tree": text})


def _leaf(rows: Rows, fixed: Mapping[int, int], multipliers: Floats) -> list[float] | None:
    """Return rows and multipliers, of as few digits as it takes, that refute a box."""
    used = np.flatnonzero(multipliers)
    for digits in DIGITS:
        given = {int(row): float(f"{multipliers[row]:.{digits - 1}e}") for row in used}
        if refutes(rows, Leaf(0, fixed, given)):
            return [part for row, value in given.items() for part in (row, value)]
    return None


class LeafSearch:
    """Walks through boxes in depth; each is refuted by the multipliers of its linear programme, or parted in two.

    Attributes:
        programme: of the rows.
        nodes: boxes looked at.
    """

    def __init__(self, rows: Rows, limits: Limits) -> None:
        self.programme, self.nodes = RowProgramme(rows), 0
        self._rows, self._limits = rows, limits
        self._choice = BranchChoice(rows, self.bound)

    def tree(self, *, whole: bool = False) -> list[Any] | None:
        """Return the tree of a certificate; None where a box has a solution, or it takes too long or too much.

        Args:
            whole: whether one leaf has to be enough.
        """
        if self._rows.size > LARGE:
            leaf = self._root(loose=whole)
            if leaf is not None or whole:
                return None if leaf is None else [leaf]
        tree: list[Any] = []
        numbers = 0
        boxes: list[dict[int, int]] = [{}]
        while boxes:
            fixed = boxes.pop()
            self.nodes += 1
            bound = self.bound(fixed)
            if bound is None:
                return None
            leaf = self._leaf(fixed, bound)
            if leaf is not None:
                numbers += len(leaf)
                tree.append(leaf)
            elif whole:
                return None
            else:
                variable = self._choice.variable(fixed, bound)
                if variable is None:
                    return None
                tree.append(variable)
                boxes += ({**fixed, variable: value} for value in (1, 0))
            if numbers > MAX_NUMBERS:
                return None
        return tree

    def _root(self, *, loose: bool) -> list[float] | None:
        """Return the leaf of all boxes together, if interior points refute them."""
        left = self._limits.remaining
        bound = self.programme.root(left, loose=loose) if left > 0 else None
        return None if bound is None else self._leaf({}, bound)

    def bound(self, fixed: Mapping[int, int], most: int | None = None) -> BoxBound | None:
        """Return what is known of a box, after no more than *most* steps of the simplex method; None without time."""
        left = self._limits.remaining
        return self.programme.bound(fixed, left, most) if left > 0 else None

    def _leaf(self, fixed: Mapping[int, int], bound: BoxBound) -> list[float] | None:
        """Return rows and multipliers that refute a box, if the bound says that there are any."""
        if bound.multipliers is None or bound.cost < 1.0 - NEAR:
            return None
        return _leaf(self._rows, fixed, bound.multipliers)
