"""Solve small linear programmes with HiGHS alone: to import scipy's front of it takes longer than a hundred of them."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.solvers.runtime.lazy_highs import highspy, silent_highs

__all__ = ["most_worth"]


def most_worth(worth: Floats, rows: Floats, most: Floats) -> Floats:
    """Return [columns] nonnegative x with the largest ``worth @ x`` such that ``rows @ x <= most``, within tolerances.

    Args:
        worth: [columns].
        rows: [rows, columns], dense, nonnegative, and no column all zeros: so the programme is bounded.
        most: [rows], nonnegative: so x = 0 is a solution.
    """
    programme = highspy.HighsLp()
    programme.num_row_, programme.num_col_ = rows.shape
    programme.sense_ = highspy.ObjSense.kMaximize
    programme.col_cost_ = worth.astype(np.float64)
    programme.col_lower_ = np.zeros(rows.shape[1])
    programme.col_upper_ = np.full(rows.shape[1], highspy.kHighsInf)
    programme.row_lower_ = np.full(rows.shape[0], -highspy.kHighsInf)
    programme.row_upper_ = most.astype(np.float64)
    at, column = np.nonzero(rows)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    programme.a_matrix_.start_ = np.concatenate(([0], np.cumsum(np.bincount(at, minlength=len(rows))))).astype(np.int32)
    programme.a_matrix_.index_ = column.astype(np.int32)
    programme.a_matrix_.value_ = rows[at, column].astype(np.float64)
    highs = silent_highs()
    highs.passModel(programme)
    highs.run()
    return np.array(highs.getSolution().col_value, np.float64)
