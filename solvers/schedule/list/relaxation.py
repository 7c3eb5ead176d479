"""Linear programmes of schedulers, by HiGHS through scipy: within the time, and without holding up an interrupt."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mtpp_dsl.core.base.leaving import stop_at_exit
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.solvers.schedule.list.list_run import Lister

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["ProgrammeRows", "minimum"]

SHARE = 0.5
"""Of the time that is left, what a programme may take."""
GLANCE = 0.05
"""Seconds between two looks whether somebody asked to stop."""


TIME_UP = 1
"""Status of an answer of scipy that a limit cut short."""


class ProgrammeRows(NamedTuple):
    """Rows of a programme: entry i adds ``value[i]`` times column ``column[i]`` to row ``row[i]``; ``most`` [rows]."""

    row: Ints
    column: Ints
    value: Floats
    most: Floats

    def matrix(self, columns: int) -> csr_matrix:
        """Return the left sides as a sparse matrix."""
        from scipy.sparse import coo_matrix

        return coo_matrix((self.value, (self.row, self.column)), (len(self.most), columns)).tocsr()

    @classmethod
    def stacked(cls, *parts: ProgrammeRows) -> ProgrammeRows:
        """Return the rows of all *parts*, one after another."""
        starts = np.cumsum([0, *(len(part.most) for part in parts)])
        row, column, value, most = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        shift = np.repeat(starts[:-1], [len(part.row) for part in parts])
        return cls(row + shift, column, value, most)


def minimum(
    lister: Lister,
    cost: Floats,
    below: ProgrammeRows,
    upper: Floats,
    equal: ProgrammeRows | None = None,
    *,
    otherwise: str,
) -> Floats | None:
    """Return the values of columns between 0 and *upper* of least *cost*, or None, with a note, if HiGHS found none.

    Args:
        lister: whose limits and interrupts count.
        cost: [columns].
        below: rows whose left side is at most what they say.
        upper: [columns].
        equal: rows whose left side is what they say.
        otherwise: what the user is told that it means if there are none.
    """
    answers: list[Any] = []

    def run() -> None:
        from scipy.optimize import linprog

        left = SHARE * lister.limits.remaining
        answer = linprog(
            cost,
            A_ub=below.matrix(len(cost)),
            b_ub=below.most,
            A_eq=None if equal is None else equal.matrix(len(cost)),
            b_eq=None if equal is None else equal.most,
            bounds=np.stack([np.zeros(len(cost)), upper], axis=1),
            method="highs",
            options={} if left == np.inf else {"time_limit": left},
        )
        answers.append(answer)

    solving = Thread(target=run, daemon=True)  # one that is stopped may run on until its limit
    solving.start()
    stop_at_exit(solving, lambda: None)
    while solving.is_alive():
        solving.join(GLANCE)
        lister.pause()
    if answers and answers[0].status == 0:
        values: Floats = answers[0].x
        return values
    why = "in time" if answers and answers[0].status == TIME_UP else "by HiGHS"
    lister.note(f"the linear programme was not solved {why}: {otherwise}")
    return None
