"""Several methods taken together, as if one had run them all: the best plan and the best bound that they found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.measures import answered, contests
from mtpp_dsl.sweeps.tables.runs import Runs, hint

__all__ = ["with_together"]

CLOSE = 1e-6
"""A plan this close to a bound, relatively, is optimal; the same share as ``mtpp solve`` has by default."""
_OWN = ("key", "label", "method", "status", "value", "bound", "gap", "seconds", "cpu", "total", "memory")


def with_together(runs: Runs, together: Mapping[str, Sequence[str]]) -> Runs:
    """Return *runs* with further ones, whose labels are the names in *together*.

    Each has the best value and the best bound of the methods named there, of one problem and seed, the sum of their
    times and the largest of their memories.

    Raises:
        UsageError: a name is the label of a method, or a method has no runs.
    """
    if not together:
        return runs
    labels = runs.field("label")
    columns: dict[str, list[Any]] = {name: list(column) for name, column in runs.columns.items()}
    for name, parts in together.items():
        if name in labels:
            raise UsageError(f"{name!r} is the label of a method: methods taken together need another name")
        for part in parts:
            if part not in labels:
                raise UsageError(f"no method is called {part!r}{hint(part, sorted(set(labels)))}")
        places = [i for i, label in enumerate(labels) if label in parts]
        of_parts = runs.take(places)
        for meeting in contests(of_parts):
            for column, value in _joined(of_parts, meeting.runs, name).items():
                columns[column].append(value)
    return Runs(columns)


def _joined(runs: Runs, meeting: Sequence[int], name: str) -> dict[str, Any]:
    """Return the row of one problem and seed."""
    first = meeting[0]
    row = {column: values[first] for column, values in runs.columns.items()}
    maximize = bool(runs.maximize[first])
    value = _best(answered(runs, "value")[meeting], largest=maximize)
    bound = _best(answered(runs, "bound")[meeting], largest=not maximize)
    status = [runs.field("status")[i] for i in meeting]
    gap = None
    if value is not None and bound is not None:
        gap = max(0.0, (bound - value if maximize else value - bound) / abs(value)) if value else 0.0
    if "infeasible" in status:
        found = "infeasible"
    elif value is not None:
        found = "optimal" if "optimal" in status or (gap is not None and gap <= CLOSE) else "feasible"
    else:
        found = "bound" if bound is not None else max(set(status), key=status.count)
    sums = {column: float(np.nansum(runs.numbers(column)[meeting])) for column in ("seconds", "cpu", "total")}
    keys = " ".join(str(runs.columns["key"][i]) for i in meeting) if "key" in runs.columns else ""
    own = {"key": keys, "label": name, "method": name, "status": found, "value": value, "bound": bound, "gap": gap}
    own |= sums | {"memory": _best(runs.numbers("memory")[meeting], largest=True)}
    seeds = {runs.field("seed")[i] for i in meeting}
    return row | {column: own[column] for column in _OWN if column in row} | {"seed": max(seeds, default=0)}


def _best(values: Any, *, largest: bool) -> float | None:
    known = values[~np.isnan(values)]
    return None if not known.size else float(known.max() if largest else known.min())
