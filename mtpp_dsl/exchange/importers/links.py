"""Tables of links, as comma-separated values, to ``link`` statements."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.units import RATE, TIME, UNITS, Dimension
from mtpp_dsl.core.errors import UsageError, did_you_mean

__all__ = ["Joined", "checked_number", "comment_text", "links_of_table", "statements"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[0-9]+(, ?[0-9]+)*\])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
MAX_TEXT = 200
"""Characters of a device's name, or of a number, that are taken."""


@dataclass(frozen=True)
class Joined:
    """A link from one device to another, with its options as the language writes them.

    Attributes:
        first: the device that sends, as a name of the language.
        second: the one that receives.
        options: such as ``bandwidth = 12 GB/s``.
        remark: what a comment behind the statement says; "" for none.
        both: the link is the same the other way.
    """

    first: str
    second: str
    options: str
    remark: str = ""
    both: bool = False


def device_name(text: str, place: str) -> str:
    """Return the name of a device as the language writes it: as it is, or else as a string.

    Raises:
        UsageError: it is empty, too long, or has characters that do not print.
    """
    text = text.strip()
    if not text or len(text) > MAX_TEXT or not text.isprintable():
        raise UsageError(f"{place}: {text[:40]!r} is no name of a device")
    if _NAME.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def checked_number(text: str, what: str, place: str, *, least: str) -> str:
    """Return a number as it is written, which the language reads the same.

    Raises:
        UsageError: it is no number, or not above zero where *least* is ``"above"``; ``"zero"`` allows zero.
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text) or len(text) > MAX_TEXT:
        raise UsageError(f"{place}: {text[:40]!r} is no {what}; a number without sign and unit is needed")
    if float(text) == float("inf"):
        raise UsageError(f"{place}: the {what} {text[:40]} is too large")
    if least == "above" and float(text) == 0:
        raise UsageError(f"{place}: the {what} must be more than zero; leave the link out for none")
    return text


def comment_text(text: str) -> str:
    """Return a text for a comment: in one line, without what does not print."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:MAX_TEXT]


def statements(links: Sequence[Joined]) -> str:
    """Return the statements, one a line and their options in one column; two equal directions become one ``<->``."""
    merged = list(_merged(links))
    first = max((len(link.first) for link in merged), default=0)
    arrow = max((3 if link.both else 2 for link in merged), default=0)
    second = max((len(link.second) for link in merged), default=0)
    lines = []
    for link in merged:
        ends = f"{link.first:<{first}} {'<->' if link.both else '->':<{arrow}} {link.second:<{second}}"
        lines.append(f"link {ends} ({link.options}){f'  # {link.remark}' if link.remark else ''}\n")
    return "".join(lines)


def _merged(links: Iterable[Joined]) -> Iterable[Joined]:
    """Return the links in their order, a pair of equal ones as one both ways where the first of them stands."""
    merged: dict[tuple[str, str], Joined] = {}
    for link in links:
        back = merged.get((link.second, link.first))
        if back is not None and not link.both and (back.options, back.remark) == (link.options, link.remark):
            merged[link.second, link.first] = replace(back, both=True)
        else:
            merged[link.first, link.second] = link
    return merged.values()


MAX_BYTES = 64 * 2**20
MAX_LINKS = 1_000_000
"""A table of more links is refused."""

COLUMNS = ("from", "to", "bandwidth", "latency")
NEEDED = ("from", "to")
_HEADER = re.compile(r"([A-Za-z_]+)\s*(?:[(\[]\s*([^)\]]*?)\s*[)\]])?")
_FORMS = (
    "a table of links begins with from,to,bandwidth (GB/s),latency (us), or has one row and one column for each device"
)


@dataclass(frozen=True)
class _Columns:
    """Where each column is, and the units of two of them, "" for plain numbers."""

    places: dict[str, int]
    units: dict[str, str]


def links_of_table(path: Path, unit: str | None = None, *, both_ways: bool = False) -> str:
    """Return the links of a table as statements of the language.

    A table names a link a row, in the columns ``from``, ``to``, ``bandwidth`` and ``latency``; or it is square, with
    the names of the devices in its first row and first column and bandwidths inside, from the row to the column. Empty
    cells are no links.

    Args:
        path: the file.
        unit: of the bandwidths, where the file does not say; None for plain numbers.
        both_ways: each row holds for both directions.

    Raises:
        UsageError: the table cannot be read, with the line; a link is there twice; or it has no link.
    """
    if unit is not None:
        _check_unit(unit, RATE, "--unit")
    rows = _rows(read_text(path, MAX_BYTES, wanted="CSV"), str(path))
    number, header = next(rows, (1, []))
    place = f"{path}:{number}"
    if header and not header[0].strip() and len(header) > 2:
        links = _of_matrix(header, rows, str(path), unit)
    else:
        links = _of_list(_columns(header, unit, place), rows, str(path), both_ways=both_ways)
    text = statements(list(_once(links, str(path))))
    if not text:
        raise UsageError(f"{path} has no links; {_FORMS}")
    return f"# Links of {comment_text(path.name)}.\n{text}"


def _rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, with their line."""
    reader = csv.reader(StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise UsageError(f"{name}:{reader.line_num}: {error}") from None


def _columns(header: Sequence[str], unit: str | None, place: str) -> _Columns:
    """Return the columns that the first row names.

    Raises:
        UsageError: one is missing or there twice, or a unit is none, or contradicts *unit*.
    """
    places: dict[str, int] = {}
    units = {"bandwidth": unit or "", "latency": ""}
    for i, cell in enumerate(header):
        match = _HEADER.fullmatch(cell.strip())
        name = match[1].lower() if match else cell.strip()
        if name not in COLUMNS:
            raise UsageError(f"{place}: unknown column {name[:40]!r}{did_you_mean(name, COLUMNS)}; {_FORMS}")
        if name in places:
            raise UsageError(f"{place}: the column {name} is there twice")
        places[name] = i
        if match is not None and match[2] is not None:
            _check_unit(match[2], {"bandwidth": RATE, "latency": TIME}.get(name), place)
            if name == "bandwidth" and unit is not None and unit != match[2]:
                raise UsageError(f"{place}: the bandwidths are in {match[2]}, and --unit says {unit}")
            units[name] = match[2]
    missing = [name for name in NEEDED if name not in places]
    if missing or not {"bandwidth", "latency"} & set(places):
        raise UsageError(f"{place}: there is no column {missing[0] if missing else 'bandwidth'}; {_FORMS}")
    if "latency" in places and "bandwidth" in places and bool(units["latency"]) != bool(units["bandwidth"]):
        bare = "latency" if units["bandwidth"] else "bandwidth"
        such = "latency (us)" if bare == "latency" else "bandwidth (GB/s)"
        raise UsageError(f"{place}: the {bare} has no unit and the other column has one: write {such}")
    return _Columns(places, units)


def _check_unit(unit: str, dimension: Dimension | None, place: str) -> None:
    if dimension is None or UNITS.get(unit, (0, None))[1] != dimension:
        such = "GB/s" if dimension == RATE else "us"
        what = "a bandwidth" if dimension == RATE else "a time" if dimension == TIME else "a name, which has none"
        raise UsageError(f"{place}: {unit[:40]!r} is no unit of {what}" + (f", such as {such}" if dimension else ""))


def _of_list(
    columns: _Columns, rows: Iterator[tuple[int, list[str]]], name: str, *, both_ways: bool
) -> Iterator[Joined]:
    """Yield the links of a table with a link a row."""
    for number, row in rows:
        place = f"{name}:{number}"
        if len(row) <= max(columns.places.values()):
            raise UsageError(f"{place}: the row has {len(row)} of the {len(columns.places)} columns")
        first, second = (device_name(row[columns.places[end]], place) for end in NEEDED)
        options = []
        for option, least in (("bandwidth", "above"), ("latency", "zero")):
            cell = row[columns.places[option]].strip() if option in columns.places else ""
            if cell:
                value = checked_number(cell, option, place, least=least)
                options.append(f"{option} = {value} {columns.units[option]}".rstrip())
        if options:
            yield from _each_way(Joined(first, second, ", ".join(options)), place, both_ways=both_ways)


def _each_way(link: Joined, place: str, *, both_ways: bool) -> Iterator[Joined]:
    if link.first == link.second:
        raise UsageError(f"{place}: a link joins two different devices; this is {link.first} twice")
    yield link
    if both_ways:
        yield Joined(link.second, link.first, link.options)


def _of_matrix(
    header: Sequence[str], rows: Iterator[tuple[int, list[str]]], name: str, unit: str | None
) -> Iterator[Joined]:
    """Yield the links of a square table; what is on its diagonal counts for nothing."""
    names = [device_name(cell, f"{name}:1") for cell in header[1:]]
    for number, row in rows:
        place = f"{name}:{number}"
        if len(row) != len(header):
            raise UsageError(f"{place}: the row has {len(row)} cells, and the first row {len(header)}")
        first = device_name(row[0], place)
        if first not in names:
            raise UsageError(f"{place}: the first row has no {first}{did_you_mean(first, names)}")
        for second, cell in zip(names, row[1:], strict=True):
            if second != first and cell.strip():
                value = checked_number(cell, "bandwidth", place, least="above")
                yield Joined(first, second, f"bandwidth = {value} {unit or ''}".rstrip())


def _once(links: Iterator[Joined], name: str) -> Iterator[Joined]:
    """Yield the links.

    Raises:
        UsageError: one is there twice, or there are more than :data:`MAX_LINKS`.
    """
    seen: set[tuple[str, str]] = set()
    for link in links:
        ends = link.first, link.second
        if ends in seen:
            raise UsageError(f"{name}: the link from {link.first} to {link.second} is there twice")
        seen.add(ends)
        if len(seen) > MAX_LINKS:
            raise UsageError(f"{name} has more than {MAX_LINKS:,} links, the most that are read")
        yield link
