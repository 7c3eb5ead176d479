"""Times of operators from a table of one's own: comma-separated values with the columns operator and time."""

from __future__ import annotations

import csv
import io
import re
from math import isfinite
from pathlib import Path

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.units import TIME, UNITS
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.profile import Profile
from mtpp_dsl.runtimes.profiling.samples import profile_of_samples

__all__ = ["profile_of_table"]

_TIME = re.compile(r"time\s*(?:[(\[]\s*([^)\]]+?)\s*[)\]])?", re.IGNORECASE)
MAX_LINES = 1_000_000


def profile_of_table(path: Path, model: Model, device: str) -> Profile:
    """Return the times in a table with the columns ``operator`` and ``time (ms)``; of several of one, the median.

    Raises:
        UsageError: a column is missing, a line has no time, or names an operator that the model does not have.
    """
    rows = csv.reader(io.StringIO(read_text(path, wanted="CSV")))
    name, time, factor = _columns(next(rows, []), path)
    found: dict[str, list[float]] = {}
    for row in rows:
        if not row:
            continue
        place = f"{path}:{rows.line_num}"
        if rows.line_num > MAX_LINES:
            raise UsageError(f"{path} has more than {MAX_LINES:,} lines, the most that are read")
        if len(row) <= max(name, time):
            raise UsageError(f"{place}: this line has {len(row)} cells; the first line has more")
        operator, text = row[name].strip(), row[time].strip()
        if operator not in model.index:
            raise UsageError(f"{place}: the model has no operator {operator!r}{did_you_mean(operator, model.index)}")
        found.setdefault(operator, []).append(_seconds(text, factor, place))
    if not found:
        raise UsageError(f"{path} has no times below its first line")
    return profile_of_samples(found, model, device, "csv", {"table": path.name})


def _columns(head: list[str], path: Path) -> tuple[int, int, float]:
    """Return the columns of operators and times, and the seconds of the unit of the times."""
    operator = time = None
    factor = 1.0
    for i, cell in enumerate(head):
        word = cell.strip()
        given = _TIME.fullmatch(word)
        if word.lower() == "operator":
            operator = i
        elif given is not None:
            time, unit = i, given[1]
            if unit is None:
                raise UsageError(f"{path}:1: say the unit of the times: time (ms)")
            if unit not in UNITS or UNITS[unit][1] != TIME:
                raise UsageError(f"{path}:1: there is no unit of time {unit!r}{did_you_mean(unit, UNITS)}")
            factor = float(UNITS[unit][0])
    if operator is None or time is None:
        raise UsageError(f"{path}:1: a table of times begins with operator,time (ms)")
    return operator, time, factor


def _seconds(text: str, factor: float, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{place}: a time is a number; this is {text[:40]!r}") from None
    if not (isfinite(value) and value >= 0):
        raise UsageError(f"{place}: a time is zero or more; this is {text[:40]!r}")
    return value * factor
