"""The linear programme of a checker's rows, in HiGHS: what it costs at least in a box, and the multipliers for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.proofs.rows import Row, Rows
from mtpp_dsl.solvers.runtime.lazy_highs import highspy, silent_highs

__all__ = ["BoxBound", "RowProgramme"]


@dataclass(frozen=True)
class BoxBound:
    """What is known of a box.

    Attributes:
        cost: share of the target that the rows of costs need at least; ``inf`` where the others have no solution.
        multipliers: [rows] that show it, but for rounding; None without any.
        values: [variables] of a solution; None without one.
    """

    cost: float
    multipliers: Floats | None
    values: Floats | None


class RowProgramme:
    """Minimises the share of the target that the rows of costs need, in one box after another.

    Variables are counted in their upper bounds.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows, self.solved = rows, 0
        self._width = [float(max(high, 1)) for high in rows.high]
        self._scale = np.array([self._scale_of(row) for row in rows.rows])
        self._fixed: dict[int, int] = {}
        self._highs = highs = silent_highs()
        for option, value in (("presolve", "off"), ("solver", "simplex"), ("simplex_strategy", 1), ("threads", 1)):
            highs.setOptionValue(option, value)
        highs.passModel(self._programme())

    def _programme(self) -> object:
        rows, count = self.rows, len(self.rows.names)
        programme = highspy.HighsLp()
        programme.num_col_, programme.num_row_ = count + 1, len(rows.rows)
        programme.col_cost_ = np.append(np.zeros(count), 1.0)
        width = np.array(self._width)
        programme.col_lower_ = np.append(np.array(rows.low, float) / width, 0.0)
        programme.col_upper_ = np.append(np.array(rows.high, float) / width, inf)
        programme.row_lower_ = np.full(len(rows.rows), -inf)
        limits, starts, index, value = [], [0], [], []
        for row, scale in zip(rows.rows, self._scale.tolist(), strict=True):
            limits.append((row.most - row.costs) / scale)
            index += [variable for variable, _ in row.terms] + [count] * (row.costs > 0)
            value += [often / scale * self._width[variable] for variable, often in row.terms]
            value += [-row.costs / scale] * (row.costs > 0)
            starts.append(len(index))
        programme.row_upper_ = np.array(limits)
        matrix = programme.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_, matrix.index_, matrix.value_ = np.array(starts), np.array(index), np.array(value)
        return programme

    def bound(self, fixed: Mapping[int, int], seconds: float, most: int | None = None) -> BoxBound | None:
        """Return what is known of the box in which variables are *fixed*; None if that took too long."""
        self._move(fixed)
        highs, status = self._highs, highspy.HighsModelStatus
        highs.setOptionValue("time_limit", highs.getRunTime() + seconds)
        highs.setOptionValue("simplex_iteration_limit", 2**30 if most is None else most)
        highs.run()
        self.solved += 1
        ended = highs.getModelStatus()
        if ended == status.kInfeasible:
            _, there, ray = highs.getDualRay()
            return BoxBound(inf, self._multipliers(-np.array(ray)) if there else None, None)
        if ended == status.kOptimal or (most is not None and ended == status.kIterationLimit):
            return self._solution()
        return None

    def root(self, seconds: float, *, loose: bool = False) -> BoxBound | None:
        """Return what is known of all boxes together, by interior points; None if that took too long.

        In large programmes this takes a tenth of what the simplex method does. The solution is no vertex.

        Args:
            seconds: until it has to end.
            loose: whether variables other than 0 and 1 may be twice as large: those that are no more than the target
                then have values where the rows need more than all of it, and there are multipliers.
        """
        self._move({})
        self._loosen(1 + loose)
        highs, status = self._highs, highspy.HighsModelStatus
        changed = {"solver": "ipm", "run_crossover": "off", "presolve": "on"}
        before = {option: highs.getOptionValue(option)[1] for option in changed}
        for option, value in changed.items():
            highs.setOptionValue(option, value)
        highs.setOptionValue("time_limit", highs.getRunTime() + seconds)
        highs.run()
        self.solved += 1
        for option, value in before.items():
            highs.setOptionValue(option, value)
        found = None
        if highs.getModelStatus() == status.kInfeasible:
            found = BoxBound(inf, None, None)
        elif highs.getModelStatus() == status.kOptimal:
            found = self._solution()
        self._loosen(1)
        return found

    def _loosen(self, often: int) -> None:
        """Let variables other than 0 and 1 be so many times their upper bounds."""
        for variable, high in enumerate(self.rows.high):
            if high > 1:
                self._highs.changeColBounds(variable, self.rows.low[variable] / high, float(often))

    def _solution(self) -> BoxBound:
        """Return what HiGHS has found."""
        solution = self._highs.getSolution()
        duals = self._multipliers(-np.array(solution.row_dual))
        return BoxBound(self._highs.getInfo().objective_function_value, duals, np.array(solution.col_value)[:-1])

    def _move(self, fixed: Mapping[int, int]) -> None:
        for variable in self._fixed.keys() - fixed.keys():
            self._highs.changeColBounds(variable, self.rows.low[variable], self.rows.high[variable])
        for variable, value in fixed.items():
            if self._fixed.get(variable) != value:
                self._highs.changeColBounds(variable, value, value)
        self._fixed = dict(fixed)

    def _scale_of(self, row: Row) -> float:
        """Return by what a row is divided: HiGHS drops numbers below 1e-9."""
        return float(row.costs or max([1.0, *(abs(often) * self._width[variable] for variable, often in row.terms)]))

    def _multipliers(self, duals: Floats) -> Floats:
        multipliers: Floats = np.maximum(duals, 0.0) / self._scale
        return multipliers
