"""Solve linear and integer programmes given as arrays by HiGHS: for algorithms that solve many small ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from threading import Event, Thread
from typing import Any

import numpy as np

from mtpp_dsl.core.base.interpreter import stop_at_exit
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.solvers.backends.mip.highs import enter_run, leave_run
from mtpp_dsl.solvers.runtime.lazy_highs import highs_version, highspy, silent_highs

INF = float("inf")


def by() -> str:
    """Return the solver's name and version."""
    return f"highs {highs_version()}"


class MatrixRows:
    """Rows under construction: ``low <= sum of value * column <= high``."""

    def __init__(self) -> None:
        self.starts: list[int] = [0]
        self.columns: list[int] = []
        self.values: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, columns: list[int], values: list[float], low: float = -INF, high: float = INF) -> None:
        """Add one row."""
        self.columns += columns
        self.values += values
        self.starts.append(len(self.columns))
        self.low.append(low)
        self.high.append(high)


@dataclass(frozen=True, eq=False)
class MatrixAnswer:
    """What HiGHS says of an integer programme.

    Attributes:
        infeasible: it has no solution.
        values: [columns] of the best solution found, or None.
        bound: no solution's objective is above it; ``inf`` if nothing is known.
    """

    infeasible: bool
    values: Floats | None
    bound: float


def maximise(
    objective: Floats,
    upper: Floats,
    integer: Bools,
    rows: MatrixRows,
    *,
    seconds: float,
    stopped: Callable[[], bool],
    enough: float = INF,
    seed: int = 0,
) -> MatrixAnswer:
    """Maximise over ``0 <= x <= upper`` under *rows*; stop at a solution of *enough*, at the time limit, or when told.

    HiGHS runs on a thread of its own, which is left running if it does not react to an interrupt within seconds.
    """
    highs = silent_highs()
    highs.setOptionValue("random_seed", seed % 2**31)
    highs.setOptionValue("time_limit", max(seconds, 0.01))
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", 0.4)
    if enough < INF:
        highs.setOptionValue("objective_target", -enough)
    lp = _rowwise(len(objective), rows)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = -objective, np.zeros(len(objective)), upper
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[whole] for whole in integer.astype(int).tolist()]
    pass_model(highs, lp)
    if not run_apart(highs, seconds + 5.0, stopped):
        return MatrixAnswer(infeasible=False, values=None, bound=float("inf"))
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return MatrixAnswer(infeasible=True, values=None, bound=float("-inf"))
    has_solution = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = np.array(highs.getSolution().col_value, np.float64) if has_solution else None
    bound = -info.mip_dual_bound
    return MatrixAnswer(
        infeasible=False, values=values, bound=bound if isfinite(bound) and abs(bound) < INF else float("inf")
    )


def minimise(
    objective: Floats,
    box: tuple[Floats, Floats],
    integer: Bools,
    rows: MatrixRows,
    *,
    nodes: int,
    gap: float,
    seconds: float,
    stopped: Callable[[], bool],
) -> MatrixAnswer:
    """Minimise over a *box* under *rows*, until a relative *gap*, or so many *nodes* of branch and bound.

    Only these two limits are meant to end it; what *seconds* or *stopped* cut off has a weaker bound, or none. The
    bound is one from below here, ``-inf`` if nothing is known.
    """
    highs = silent_highs()
    for option, value in {
        "threads": 1,
        "time_limit": max(seconds, 0.01),
        "mip_rel_gap": gap,
        "mip_max_nodes": nodes,
    }.items():
        highs.setOptionValue(option, value)
    lp = _rowwise(len(objective), rows)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = objective, *box
    whole = bool(integer.any())
    if whole:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[one] for one in integer.astype(int).tolist()]
    pass_model(highs, lp)
    if not run_apart(highs, seconds + 5.0, stopped):
        return MatrixAnswer(infeasible=False, values=None, bound=-INF)
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return MatrixAnswer(infeasible=True, values=None, bound=INF)
    has_solution = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = np.array(highs.getSolution().col_value, np.float64) if has_solution else None
    solved = status == highspy.HighsModelStatus.kOptimal
    bound = info.mip_dual_bound if whole else info.objective_function_value if solved else -INF
    return MatrixAnswer(infeasible=False, values=values, bound=float(bound) if isfinite(bound) else -INF)


def priced(objective: Floats, box: tuple[Floats, Floats], rows: MatrixRows, *, iterations: int) -> Floats | None:
    """Return [rows] the duals of a minimum over a *box* under *rows*; None if so many iterations do not solve it."""
    highs = silent_highs()
    for option, value in {"threads": 1, "solver": "simplex", "simplex_iteration_limit": iterations}.items():
        highs.setOptionValue(option, value)
    lp = _rowwise(len(objective), rows)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = objective, *box
    pass_model(highs, lp)
    enter_run()
    try:
        highs.run()
    finally:
        leave_run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(highs.getSolution().row_dual, np.float64)


def run_apart(highs: Any, seconds: float, stopped: Callable[[], bool]) -> bool:
    """Run on another thread; return False if it did not stop and was left running."""
    interrupt = Event()

    def poll(event: Any) -> None:
        if interrupt.is_set():
            event.data_in.user_interrupt = True

    def run() -> None:
        try:
            highs.run()
        finally:
            leave_run()

    highs.cbMipInterrupt += poll
    highs.cbSimplexInterrupt += poll
    enter_run()
    thread = Thread(target=run, name="highs", daemon=True)
    thread.start()
    stop_at_exit(thread, interrupt.set)
    waited = 0.0
    while thread.is_alive():
        pause = 0.002 if waited < 0.1 else 0.02
        thread.join(pause)
        waited += pause
        if stopped() and not interrupt.is_set():
            interrupt.set()
            seconds = waited + 5.0
        if waited > seconds:
            interrupt.set()
            return False
    return True


class CoveringProgramme:
    """``min c x`` under ``A x >= b``, ``x >= 0``, to which columns are added; solved again from the last basis.

    Args:
        low: [rows] the b.
    """

    def __init__(self, low: Floats) -> None:
        self._highs = silent_highs()
        self._highs.setOptionValue("simplex_strategy", 4)  # primal: columns leave its basis feasible
        rows = MatrixRows()
        for bound in low.tolist():
            rows.add([], [], low=bound)
        lp = _rowwise(0, rows)
        pass_model(self._highs, lp)

    def add(self, cost: float, rows: Ints, values: Floats) -> None:
        """Add a column."""
        self._highs.addCol(cost, 0.0, INF, len(rows), np.asarray(rows, np.int32), np.asarray(values, np.float64))

    def cost(self, column: int, cost: float) -> None:
        """Change what a column costs."""
        self._highs.changeColCost(column, cost)

    def solve(self) -> tuple[float, Floats]:
        """Return the optimum and [rows] the dual values.

        Raises:
            SolverError: HiGHS did not solve it.
        """
        enter_run()
        try:
            self._highs.run()
        finally:
            leave_run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS left a covering programme at {self._highs.getModelStatus()}")
        duals = np.array(self._highs.getSolution().row_dual, np.float64)
        return float(self._highs.getInfo().objective_function_value), np.maximum(duals, 0.0)

    def values(self) -> Floats:
        """Return [columns] the values of the last solution."""
        return np.array(self._highs.getSolution().col_value, np.float64)


def _rowwise(columns: int, rows: MatrixRows) -> Any:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, len(rows.low)
    lp.row_lower_, lp.row_upper_ = np.array(rows.low, np.float64), np.array(rows.high, np.float64)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_ = np.array(rows.starts, np.int32)
    lp.a_matrix_.index_ = np.array(rows.columns, np.int32)
    lp.a_matrix_.value_ = np.array(rows.values, np.float64)
    return lp


def pass_model(highs: Any, lp: Any) -> None:
    """Hand a programme to HiGHS.

    Raises:
        SolverError: HiGHS refused it.
    """
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused a programme")
