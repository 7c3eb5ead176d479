"""Files of measured times: comma-separated values with the columns node, device, time and, of batches, batch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from mtpp_dsl.core.base.exact import Exact, exact_number
from mtpp_dsl.core.base.units import NONE, TIME, UNITS, unit_hint
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.language.values.cells import NUMBER, Cell, cells_of, lines_of
from mtpp_dsl.language.values.findings import Findings
from mtpp_dsl.language.values.scope import Complaint
from mtpp_dsl.language.values.values import Quantity

__all__ = ["MAX_ERRORS", "Measurement", "read_measurements"]

MAX_ERRORS = 20
"""Wrong lines reported of one file."""

MAX_HEADER = 10_000
MAX_LINES = 300_000
"""A file of more measurements is refused."""

COLUMNS = ("node", "device", "batch", "time")
NEEDED = ("node", "device", "time")
_HEADER_UNIT = re.compile(r"time\s*[(\[]\s*([^)\]]*?)\s*[)\]]")


@dataclass(frozen=True)
class Measurement:
    """One line: what a node takes on a device; ``time`` is inf where the device cannot run it.

    ``batch`` is None in a file without such a column: the time is that of one input.
    """

    node: str
    device: str
    batch: int | None
    time: Quantity
    node_span: Span
    device_span: Span
    span: Span


def read_measurements(source: Source, unit: str | None, place: Span, findings: Findings) -> Iterator[Measurement]:
    """Yield the measurements of a file; complaints about single lines go to *findings*.

    Args:
        source: the text. Its first line names the columns, in any order; others than those four are passed over.
            Without ``batch`` the times are those of single inputs.
            The unit of the times may stand behind the name of theirs: ``time (ms)``.
        unit: of the times, where the file does not say; None for plain numbers.
        place: where the spec names the file.
        findings: takes complaints, at most :data:`MAX_ERRORS`.

    Raises:
        Complaint: a column is missing, or units contradict each other.
    """
    lines = lines_of(source)
    first = next(lines, None)
    if first is None:
        raise Complaint(
            f"{source.name} is empty; a file of times begins with {','.join(COLUMNS)}", place, code="MTPP-E709"
        )
    _refuse_others(source, first, place)
    columns, own = _header(cells_of(source, first))
    if own is not None and unit is not None and own != unit:
        raise Complaint(
            f"{source.name} says that its times are in {own}, and unit says {unit}", place, code="MTPP-E709"
        )
    measured = own or unit
    factor, dimension = (1, NONE) if measured is None else UNITS[measured]
    found = 0
    for number, line in enumerate(lines):
        if number == MAX_LINES:
            raise Complaint(
                f"{source.name} has more than {MAX_LINES:,} measurements, the most that are read",
                place,
                code="MTPP-E901",
            )
        try:
            yield _measurement(source, line, columns, factor, dimension == TIME)
        except Complaint as complaint:
            findings.add(complaint.diagnostic)
            found += 1
            if found == MAX_ERRORS:
                return


def _refuse_others(source: Source, first: Span, place: Span) -> None:
    """Complain about a text that is no file of times, without a word of what it is.

    Raises:
        Complaint: its first line has fewer than two of the columns.
    """
    names = {cell.strip(' \t"').lower().partition(" ")[0] for cell in first.text[:MAX_HEADER].split(",")}
    if len(names & set(COLUMNS)) < 2:
        raise Complaint(
            f"{source.name} is no file of times: its first line does not name the columns",
            place,
            [f"a file of times begins with {','.join(COLUMNS)}; time (ms) gives a unit"],
            code="MTPP-E709",
        )


def _header(cells: list[Cell]) -> tuple[dict[str, int], str | None]:
    """Return the position of each column, and the unit of the times where the header has one."""
    columns: dict[str, int] = {}
    unit = None
    for i, cell in enumerate(cells):
        name = cell.text.lower()
        given = _HEADER_UNIT.fullmatch(cell.text)
        if given is not None:
            name, unit = "time", given[1]
            if unit not in UNITS or UNITS[unit][1] != TIME:
                raise Complaint(
                    f"there is no unit of time {unit!r}{unit_hint(unit, [TIME])}", cell.span, code="MTPP-E201"
                )
        if name in columns:
            raise Complaint(f"there are two columns {name!r}", cell.span, code="MTPP-E102")
        columns[name] = i
    names = [cell.text for cell in cells]
    missing = [name for name in NEEDED if name not in columns]
    if "batch" not in columns and did_you_mean("batch", names):
        missing.append("batch")  # a slip: without the column the times would be those of single inputs
    if missing:
        hint = did_you_mean(missing[0], names).replace("did you mean", "is it")
        raise Complaint(
            f"there is no column {missing[0]!r}{hint}",
            cells[0].span.to(cells[-1].span),
            [f"a file of times begins with {','.join(COLUMNS)}; time (ms) gives a unit"],
            code="MTPP-E709",
        )
    return columns, unit


def _measurement(source: Source, line: Span, columns: dict[str, int], factor: Exact, in_seconds: bool) -> Measurement:
    cells = cells_of(source, line)
    if len(cells) <= max(columns.get(name, 0) for name in COLUMNS):
        raise Complaint(
            f"this line has {len(cells)} cells; the first line has {max(columns.values()) + 1}", line, code="MTPP-E709"
        )
    node, device, time = (cells[columns[name]] for name in NEEDED)
    batch = cells[columns["batch"]] if "batch" in columns else None
    if batch is not None and not _is_batch(batch.text):
        raise Complaint(
            f"a batch has one input or more, a whole number; this is {batch.text!r}", batch.span, code="MTPP-E211"
        )
    if NUMBER.fullmatch(time.text) is None:
        raise Complaint(
            f"a time is a number, or inf where the device cannot run it; this is {time.text!r}",
            time.span,
            code="MTPP-E709",
        )
    value = inf if time.text == "inf" else exact_number(time.text) * factor
    if value < 0:
        raise Complaint(f"a time must not be negative; this is {time.text}", time.span, code="MTPP-E214")
    if value > 10**308 and time.text != "inf":
        raise Complaint("the number is too large", time.span, code="MTPP-E215")
    return Measurement(
        node=node.text,
        device=device.text,
        batch=None if batch is None else int(batch.text),
        time=Quantity(value, TIME if in_seconds else NONE),
        node_span=node.span,
        device_span=device.span,
        span=line,
    )


def _is_batch(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1
