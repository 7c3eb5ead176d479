"""Compile a Pyomo model into a HiGHS model, and pass it over in one call.

Pyomo's own HiGHS interfaces build row by row, take no start, and lose the incumbent of an interrupt.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.core.staleflag import StaleFlagManager
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.errors import SolverError
from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.solvers.backends.mip.model_files import expand
from mtpp_dsl.solvers.runtime.lazy_highs import highspy, silent_highs

INF = float("inf")


class TriviallyInfeasible(Exception):
    """A row without variables cannot hold."""


class Bridge:
    """A compiled model.

    Attributes:
        highs: the ``highspy.Highs`` that holds it.
        columns: the Pyomo variable of every column.
        integer: [columns] which are integer.
        bounded: whether the objective cannot fall for ever, as far as the variables' bounds tell.
    """

    def __init__(self, model: Any) -> None:
        form = _compiled(model)
        self.columns: list[Any] = list(form.columns)
        self.integer: Bools = np.array([v.is_integer() for v in self.columns], dtype=bool)
        lp = _lp(form, self.columns, self.integer)
        cost, low, high = (np.asarray(a) for a in (lp.col_cost_, lp.col_lower_, lp.col_upper_))
        self.bounded = bool((((cost <= 0) | (low > -INF)) & ((cost >= 0) | (high < INF))).all())
        self.highs = silent_highs()
        if self.highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the model: a coefficient is infinite or beyond 1e15")

    def set_start(self) -> bool:
        """Give HiGHS the values of the integer variables as a start; return whether some are missing.

        HiGHS completes an incomplete start by a MIP of its own, which calls back as if it were the main search.
        """
        values = [(j, v.value) for j, v in enumerate(self.columns) if self.integer[j] and v.value is not None]
        if not values:
            return False
        index, value = zip(*values, strict=True)
        self.highs.setSolution(len(index), np.array(index, np.int32), np.array(value, np.float64))
        return len(values) < int(self.integer.sum())

    def load(self, values: Floats | None = None) -> None:
        """Write the solution, or *values*, into the model's variables, integers rounded."""
        values = self.highs.getSolution().col_value if values is None else values.tolist()
        StaleFlagManager.mark_all_as_stale(delayed=True)
        for variable, value, whole in zip(self.columns, values, self.integer, strict=True):
            variable.set_value(round(value) if whole else value, skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=False)


def _compiled(model: Any) -> Any:
    def compiled() -> Any:
        with _no_deprecations():
            return LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)

    try:
        try:
            form = compiled()
        except InfeasibleConstraintException:
            raise
        except Exception:  # some templates are made and then cannot be compiled: their rows can
            expand(model)
            form = compiled()
    except InfeasibleConstraintException as error:
        raise TriviallyInfeasible(str(error)) from error
    if len(form.objectives) != 1:
        raise SolverError(f"a model needs one active objective; {model.name!r} has {len(form.objectives)}")
    return form


def _lp(form: Any, columns: list[Any], integer: Bools) -> Any:
    """Return the ``HighsLp`` of a compiled standard form."""
    matrix = form.A
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(columns), matrix.shape[0]
    lp.col_cost_ = form.c.toarray().ravel()
    lp.offset_ = float(form.c_offset[0])
    minimise = form.objectives[0].sense == pyo.minimize
    lp.sense_ = highspy.ObjSense.kMinimize if minimise else highspy.ObjSense.kMaximize
    bounds = [v.bounds for v in columns]
    lp.col_lower_ = np.array([-INF if low is None else low for low, _ in bounds], np.float64)
    lp.col_upper_ = np.array([INF if high is None else high for _, high in bounds], np.float64)
    side = np.fromiter((row.bound_type for row in form.rows), np.int8, matrix.shape[0])
    rhs = np.asarray(form.rhs, np.float64)
    lp.row_lower_ = np.where(side <= 0, rhs, -INF)
    lp.row_upper_ = np.where(side >= 0, rhs, INF)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[whole] for whole in integer.astype(int).tolist()]
    return lp


@contextmanager
def _no_deprecations() -> Iterator[None]:
    """Silence what Pyomo 6.10 logs about its own use of a method that it deprecates."""
    log = logging.getLogger("pyomo.core.base.param")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
