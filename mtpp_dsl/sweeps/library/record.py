"""The best that is known of a problem, as a row of ``best.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import isfinite, isinf, isnan
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, relative_gap

PROOFS = ("trusted", "checked", "certificate")
"""How well a bound is founded, the weakest first: on a solver's word, on our own code, on a certificate that other code
has proved again."""
_INTS = ("nodes", "edges", "devices", "found_seed", "bound_seed")
_FLOATS = ("value", "bound", "found_seconds", "bound_seconds")


@dataclass(frozen=True)
class BestKnown:
    """The best that is known of a problem.

    Attributes:
        name: of the problem.
        group: of problems that it is one of.
        nodes, edges, devices: its size.
        objective, sense, unit: what is optimised: the first objective.
        value: of the best plan; None without one.
        later: values of further objectives of that plan, in their order, with semicolons between them.
        bound: what no plan can beat, of the first objective; None without one.
        found_by, found_version, found_seed, found_seconds, found_date: the method that found the plan (with its
            solver), the version of mtpp, the seed, the seconds that it ran, the day.
        plan_sha256: of the plan, as it is stored; "" without a plan.
        bound_by, bound_version, bound_seed, bound_seconds, bound_date: the same of the bound.
        proof: one of :data:`PROOFS`; "" without a bound.
        certificate_sha256: of the bound's certificate, as it is stored; "" without one.
        spec_sha256: of the spec, with all that it reads.
        graph_sha256: of the graph that the spec makes: see :func:`mtpp_dsl.sweeps.library.judging.graph_sha256`.
    """

    name: str
    group: str = ""
    nodes: int = 0
    edges: int = 0
    devices: int = 0
    objective: str = ""
    sense: str = "minimize"
    unit: str = ""
    value: float | None = None
    bound: float | None = None
    later: str = ""
    found_by: str = ""
    found_version: str = ""
    found_seed: int | None = None
    found_seconds: float | None = None
    found_date: str = ""
    plan_sha256: str = ""
    bound_by: str = ""
    proof: str = ""
    bound_version: str = ""
    bound_seed: int | None = None
    bound_seconds: float | None = None
    bound_date: str = ""
    certificate_sha256: str = ""
    spec_sha256: str = ""
    graph_sha256: str = ""

    @property
    def gap(self) -> float | None:
        """How far value and bound are apart, as a share; None unless both are known."""
        if self.value is None or self.bound is None:
            return None
        if self.sense == "minimize":
            return relative_gap(self.value, self.bound)
        if self.unit.startswith("1"):  # a throughput is one over a cost, and the gap is that of the costs
            return relative_gap(self.bound, self.value)
        return relative_gap(-self.value, -self.bound)

    @property
    def status(self) -> str:
        """``optimal``, ``open`` (a gap), ``infeasible``, ``plan``, ``bound`` (only that is known), or ``unsolved``."""
        if self.bound is not None and isinf(self.bound):
            return "infeasible"
        if self.gap is not None:
            return "optimal" if self.gap <= OPTIMAL_GAP else "open"
        return "plan" if self.value is not None else "bound" if self.bound is not None else "unsolved"

    def beats(self, value: float, other: float | None) -> bool:
        """Return whether one value of the objective is better than another, by more than rounding."""
        if other is None:
            return True
        return self._ahead(value, other) > 1e-9 * max(abs(value), abs(other))

    def raises(self, bound: float, other: float | None) -> bool:
        """Return whether one bound says more than another, by more than rounding."""
        if other is None or isinf(bound):
            return bound != other
        return self._ahead(other, bound) > 1e-9 * max(abs(bound), abs(other))

    def crossed(self, value: float, bound: float, size: float = 0.0, share: float = 2 * OPTIMAL_GAP) -> bool:
        """Return whether a bound says that no plan has *value*, by more than solvers' tolerances.

        Args:
            value: of a plan.
            bound: that is claimed.
            size: the largest term of the value, where it is a sum of terms that cancel each other out.
            share: of these, by which a solver's bound may be too high.
        """
        return isinf(bound) or self._ahead(value, bound) > share * max(abs(value), abs(bound), size)

    def _ahead(self, one: float, other: float) -> float:
        """Return by how much *one* is better than *other*."""
        return one - other if self.sense == "maximize" else other - one

    def to_row(self) -> dict[str, str]:
        """Return the row of the table: texts by column, with status and gap."""
        row = {column.name: _shown(getattr(self, column.name)) for column in fields(self)}
        return {"name": row.pop("name"), "group": row.pop("group"), "status": self.status, "gap": _gap(self.gap)} | row


def read_records(path: Path) -> dict[str, BestKnown]:
    """Return the records of a table by name; none where the file is not there.

    Raises:
        UsageError: it is no such table; the message names the line.
    """
    if not path.exists():
        return {}
    reader = csv.DictReader(io.StringIO(read_text(path, wanted="CSV")))
    if tuple(reader.fieldnames or ()) != _COLUMNS:
        raise UsageError(f"{path} is no table of records: its columns must be {', '.join(_COLUMNS)}")
    records: dict[str, BestKnown] = {}
    for row in reader:
        place = f"{path}:{reader.line_num}"
        record = _record(row, place)
        if record.name in records:
            raise UsageError(f"{place}: {record.name!r} has two rows")
        records[record.name] = record
    return records


def records_text(records: Iterable[BestKnown]) -> str:
    """Return the table of records as CSV, sorted by name."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(record.to_row() for record in sorted(records, key=lambda record: record.name))
    return out.getvalue()


def _record(row: dict[str, Any], place: str) -> BestKnown:
    """Return the record of a row.

    Raises:
        UsageError: a figure is invalid, or the row contradicts itself.
    """
    values: dict[str, Any] = {}
    for column in fields(BestKnown):
        text = row.get(column.name)
        if text is None or None in row:
            raise UsageError(f"{place}: a row has {len(_COLUMNS)} cells")
        try:
            values[column.name] = _parsed(column.name, text)
        except ValueError:
            raise UsageError(f"{place}: {column.name} is {text!r:.60}; expected numbers") from None
    record = BestKnown(**values)
    if record.sense not in ("minimize", "maximize") or record.proof not in ("", *PROOFS):
        raise UsageError(f"{place}: sense is minimize or maximize, and proof one of {', '.join(PROOFS)}")
    if row["status"] != record.status or row["gap"] != _gap(record.gap):
        raise UsageError(f"{place}: value and bound give status {record.status} and gap {_gap(record.gap) or 'none'}")
    return record


def _parsed(name: str, text: str) -> object:
    if name in _INTS:
        return int(text) if text else (None if name.endswith("seed") else 0)
    if name in _FLOATS:
        number = float(text) if text else None
        if number is not None and (isnan(number) if name == "bound" else not isfinite(number)):
            raise ValueError(text)
        return number
    if name == "later" and not all(isfinite(float(part)) for part in text.split(";") if text):
        raise ValueError(text)
    return text


def _gap(gap: float | None) -> str:
    return "" if gap is None else f"{gap:.3g}"


def _shown(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


_COLUMNS = tuple(BestKnown("").to_row())
