"""Minimise over boxes by HiGHS: linear programmes, whose bounds are added up again, and integer programmes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import sparse
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.highs import enter_run, leave_run
from mtpp_dsl.solvers.backends.mip.matrix import pass_model, run_apart
from mtpp_dsl.solvers.runtime.lazy_highs import highspy, silent_highs

ROUNDING = 1e-11
"""Relative to the sum of all terms: what a bound is lowered by."""

BOUND_ALONE = {
    "mip_allow_restart": False,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}
"""Options of HiGHS where only a bound is wanted: a third of the time, for programmes of a hundred columns."""


@dataclass(frozen=True, eq=False)
class BoxProgramme:
    """``min cost x`` under ``rows x >= least`` and ``low <= x <= high``, where all of *low* and *high* are finite.

    Attributes:
        cost, low, high: [columns].
        integer: [columns] whether each has to be a whole number.
        row, column, value: [entries] of the rows.
        least: [rows].
    """

    cost: Floats
    low: Floats
    high: Floats
    integer: Bools
    row: Ints
    column: Ints
    value: Floats
    least: Floats

    def matrix(self) -> Any:
        """Return the rows as a sparse matrix."""
        shape = (len(self.least), len(self.cost))
        return sparse.csr_array((self.value, (self.row, self.column)), shape=shape)

    def bound_of(self, duals: Floats, matrix: Any) -> float:
        """Return what no solution's cost is below, by any prices of the rows that are not negative.

        For y >= 0 and x in the box, ``cost x >= y least + (cost - y rows) x``, and each term of that is least at one
        end of its column. The sum is lowered by what it may be off by its rounding.
        """
        y = np.maximum(duals, 0.0)
        reduced = self.cost - matrix.T @ y
        ends = np.minimum(reduced * self.low, reduced * self.high)
        off = abs(matrix).T @ y + np.abs(self.cost)
        size = float(np.abs(y * self.least).sum() + (off * np.maximum(np.abs(self.low), np.abs(self.high))).sum())
        return float((y * self.least).sum() + ends.sum()) - ROUNDING * size


@dataclass(frozen=True, eq=False)
class BoxAnswer:
    """What is known of a programme.

    Attributes:
        bound: no solution's cost is below it; ``inf`` where HiGHS says that there is none.
        values: [columns] of the best solution found, or None.
        complete: whether nothing is left to search.
    """

    bound: float
    values: Floats | None
    complete: bool


def minimise_relaxed(programme: BoxProgramme, seconds: float) -> BoxAnswer:
    """Solve without asking for whole numbers; the bound is added up again, and rests on no word of HiGHS.

    Where no optimum was found in time, the bound is ``-inf``; where nothing has to be whole, HiGHS may say that there
    is no solution. For programmes that take moments: nothing interrupts it.
    """
    matrix = programme.matrix()
    highs = _loaded(programme, matrix, seconds, whole=False)
    enter_run()
    try:
        highs.run()
    finally:
        leave_run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible and not programme.integer.any():
        return BoxAnswer(inf, None, complete=True)
    if status != highspy.HighsModelStatus.kOptimal:
        return BoxAnswer(-inf, None, complete=False)
    solution = highs.getSolution()
    bound = programme.bound_of(np.array(solution.row_dual, np.float64), matrix)
    return BoxAnswer(bound, np.array(solution.col_value, np.float64), complete=True)


def minimise_whole(
    programme: BoxProgramme,
    seconds: float,
    stopped: Callable[[], bool],
    *,
    gap: float,
    seed: int = 0,
    nodes: int | None = None,
) -> BoxAnswer:
    """Solve the integer programme up to a relative *gap*, or as far as there is time; its bound is HiGHS's.

    With *nodes*, branch and bound ends after so many, on one thread, and without searches for solutions, which take
    most of the time of programmes of which only a bound is wanted.
    """
    if not programme.integer.any():  # HiGHS has no dual bound of a linear programme
        return minimise_relaxed(programme, seconds)
    highs = _loaded(programme, programme.matrix(), seconds, whole=True)
    highs.setOptionValue("random_seed", seed % 2**31)
    highs.setOptionValue("mip_rel_gap", gap)
    highs.setOptionValue("mip_abs_gap", 0.0)
    if nodes is not None:
        for option, value in {"threads": 1, "mip_max_nodes": nodes, **BOUND_ALONE}.items():
            highs.setOptionValue(option, value)
    if not run_apart(highs, seconds + 5.0, stopped):
        return BoxAnswer(-inf, None, complete=False)
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return BoxAnswer(inf, None, complete=True)
    has_solution = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = np.array(highs.getSolution().col_value, np.float64) if has_solution else None
    bound = float(info.mip_dual_bound)
    complete = status == highspy.HighsModelStatus.kOptimal
    return BoxAnswer(bound if isfinite(bound) else -inf, values, complete)


def _loaded(programme: BoxProgramme, matrix: Any, seconds: float, *, whole: bool) -> Any:
    highs = silent_highs()
    highs.setOptionValue("time_limit", max(seconds, 0.01))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(programme.cost), len(programme.least)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = programme.cost, programme.low, programme.high
    lp.row_lower_, lp.row_upper_ = programme.least, np.full(len(programme.least), inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data
    if whole:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[one] for one in programme.integer.astype(int).tolist()]
    pass_model(highs, lp)
    return highs
