"""Another name for a thing, in all open and included texts; the spec means the same afterwards."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lsprotocol import types

from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.edits import edited
from mtpp_dsl.core.text.source import Edit, Source, shortened
from mtpp_dsl.editor.server.features.definition import occurrence_at, word_at
from mtpp_dsl.editor.server.features.places import range_of
from mtpp_dsl.editor.server.features.references import everywhere
from mtpp_dsl.editor.server.index import Occurrence
from mtpp_dsl.editor.server.reading import TextReading, read_document
from mtpp_dsl.exchange.library.entries import FOLDER
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS
from mtpp_dsl.language.words.vocabulary import words

MAX_STEPS, MAX_READ = 40_000, 100_000
"""A spec that takes more steps of reading, or characters, is not read again to see that it means the same."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTABLE = ("node", "device", "switch")
_LONGEST = 1_000


class RenameRefused(Exception):
    """A thing that cannot be renamed, or not so; the message says why."""


def prepare_rename(reading: TextReading, line: int, column: int) -> tuple[types.Range, str]:
    """Return the range of the name at a line and column, and the name.

    Raises:
        RenameRefused: there is none that may be changed.
    """
    occurrence = _renamed(reading, line, column)
    return range_of(reading, occurrence.span), occurrence.name


def rename(
    reading: TextReading, line: int, column: int, new: str, *, others: Iterable[TextReading] = ()
) -> dict[str, list[types.TextEdit]]:
    """Return the changes, by the URI of their text, that give the thing at a line and column another name.

    Args:
        reading: of the text.
        line: as the editor counts.
        column: as the editor counts.
        new: the name.
        others: readings of other open texts, which are changed where they include a file that declares it.

    Raises:
        RenameRefused: it has no name of the spec's own; the new name is none, or is another thing's; or the spec would
            mean something else.
    """
    occurrence = _renamed(reading, line, column)
    if new == occurrence.name:
        return {}
    others = [other for other in others if other is not reading]
    places = list(everywhere(reading, occurrence, others))
    _check(occurrence, new, [place for _, place in places], [reading, *others])
    kept = [(of, place) for of, place in places if not place.loose]
    reason = ""
    for chosen in [places, kept] if len(kept) < len(places) else [places]:
        edits = [Edit(place.span, new) for _, place in chosen]
        affected = {id(of): of for of, _ in chosen}.values()
        reasons = (_differs(of, edits, occurrence.name, new) for of in affected)
        reason = next((place for place in reasons if place), "")
        if not reason:
            return _by_uri(chosen, new)
    raise RenameRefused(f"{occurrence.name!r} cannot be called {new!r}: {reason}")


def _renamed(reading: TextReading, line: int, column: int) -> Occurrence:
    offset = reading.offset(line, column)
    occurrence = occurrence_at(reading, offset)
    if occurrence is None:
        word = word_at(reading, offset)
        if word is None:
            raise RenameRefused("there is no name here")
        known = "is a word of the language" if word.text in words() else "is declared nowhere"
        raise RenameRefused(f"{shortened(word.text, 100)!r} {known}")
    name = shortened(occurrence.name, 100)
    if occurrence.kind == "file":
        raise RenameRefused("this is the name of a file")
    if occurrence.kind in ("function", "option"):
        known = "is a word of the language" if occurrence.name in words() else "is declared nowhere"
        raise RenameRefused(f"{name!r} {known}")
    places = reading.index.same(occurrence)
    declared = [place for place in places if place.role == "definition"]
    if not declared or not occurrence.kind:
        known = reading.scope.kind_called(occurrence.name)
        problem = f"{name!r} is {known} of a data file or a generator" if known else f"{name!r} is declared nowhere"
        raise RenameRefused(
            f"{name!r} is a word of the language" if occurrence.name in words() and not known else problem
        )
    for place in declared:
        path = place.span.source.path
        if path is not None and Path(path).resolve().is_relative_to(FOLDER):
            raise RenameRefused(f"{name!r} is declared in the library of the package")
    return occurrence


def _check(occurrence: Occurrence, new: str, places: Sequence[Occurrence], readings: Sequence[TextReading]) -> None:
    """Refuse a name that is invalid or reserved, or is another thing's where this one is known."""
    shown = shortened(new, 100)
    quoted = occurrence.kind in _QUOTABLE and all(place.quoted for place in places)
    if not quoted and not _NAME.fullmatch(new):
        raise RenameRefused(
            f"{shown!r} is no name: a name has letters, digits and '_', and does not begin with a digit"
        )
    if len(new) > _LONGEST or not new or set(new) & set('"\n\r\\'):
        raise RenameRefused(f"{shown!r} is no name of one line without quotation marks and '\\'")
    if new in RESERVED and not quoted:
        raise RenameRefused(f"{shown!r} is a word of the language")
    if new in FUNCTIONS or new in AGGREGATES:
        raise RenameRefused(f"{shown!r} is a function of the language")
    local = occurrence.home.startswith(("loop", "def "))
    around = {id(place.within) for place in places}
    kind = "a word of the language" if new in words() else "a name already"
    for reading in readings:
        for place in (*reading.index.definitions.get(new, ()), *reading.index.references.get(new, ())):
            if place.kind in ("function", "option", "file"):
                continue
            apart = place.home.startswith(("loop", "def ")) if local else False
            if not apart or id(place.within) in around:
                raise RenameRefused(f"{shown!r} is {kind}, at {place.span.place}")
        called = reading.scope.kind_called(new)
        if called:
            raise RenameRefused(f"{shown!r} is {called} already")


def _differs(reading: TextReading, edits: Sequence[Edit], old: str, new: str) -> str:
    """Return why a spec would not mean the same with the edits made; "" where it would, or where reading takes long."""
    scope = reading.scope
    long = scope.steps.taken > MAX_STEPS or sum(len(source.text) for source in reading.sources) > MAX_READ
    if long:
        return ""
    by_path: dict[object, tuple[Source, list[Edit]]] = {}
    for edit in edits:
        source = edit.span.source
        key = os.path.realpath(source.path) if source.path is not None else id(source)
        known = by_path.setdefault(key, (source, []))[1]
        if not any(edit.span.start == other.span.start for other in known):
            known.append(edit)
    texts: Mapping[str | os.PathLike[str], str] = {
        str(key): edited(source.text, changes) for key, (source, changes) in by_path.items() if source.path is not None
    }
    unchanged = {
        os.path.realpath(known_source.path): known_source.text
        for known_source in reading.sources
        if known_source.path is not None
    }
    own = reading.source
    key = os.path.realpath(own.path) if own.path is not None else id(own)
    text = edited(own.text, by_path[key][1]) if key in by_path else own.text
    after = read_document(
        text, own.name, own.path, (), {**unchanged, **{str(k): v for k, v in texts.items()}}
    ).analyse()
    before = reading.analysis if reading.analysis is not None and reading.current else reading.spec.analyse()
    if before.problem is None:
        more = len(after.errors) > len(before.errors)
        return f"there would be an error: {after.errors[0].message}" if more else ""
    if after.problem is None:
        return (
            f"there would be an error: {shortened(after.errors[0].message, 300)}"
            if after.errors
            else "it would not read"
        )
    where = same(before.problem, after.problem, old, new)
    return f"the spec would mean something else ({where}); a text may name it" if where else ""


def _by_uri(chosen: Iterable[tuple[TextReading, Occurrence]], new: str) -> dict[str, list[types.TextEdit]]:
    """Return the changes by the URI of their text, each once."""
    changes: dict[str, dict[tuple[int, int], types.TextEdit]] = {}
    for of, edit in chosen:
        uri = of.uri_of(edit.span.source)
        if uri is None:
            raise RenameRefused("it is named in a text that is in no file")
        where = range_of(of, edit.span)
        changes.setdefault(uri, {}).setdefault((where.start.line, where.start.character), types.TextEdit(where, new))
    return {uri: list(edits.values()) for uri, edits in changes.items()}


# Whether two problems are the same but for one name.

_APART = ("origin", "warnings", "law")
"""Fields that say where a problem comes from."""


def same(one: Problem, two: Problem, old: str, new: str) -> str:
    """Return the name of a part in which two problems differ, where the name *old* became *new*; "" where they do not.

    Both names are taken for one wherever they stand as words: in names of nodes, of devices and of rows.
    """
    word = re.compile(rf"(?<![A-Za-z0-9_])(?:{re.escape(old)}|{re.escape(new)})(?![A-Za-z0-9_])")
    return _difference(one, two, word, "the problem")


def _difference(one: Any, two: Any, word: re.Pattern[str], what: str) -> str:
    if one is two:
        return ""
    if isinstance(one, str) and isinstance(two, str):
        return "" if one == two or word.sub("\0", one) == word.sub("\0", two) else what
    if type(one) is not type(two):
        return what
    if isinstance(one, np.ndarray):
        return "" if np.array_equal(one, two, equal_nan=one.dtype.kind == "f") else what
    if is_dataclass(one):
        for item in fields(one):
            if item.name not in _APART and not item.name.startswith("_"):
                part = _difference(
                    getattr(one, item.name),
                    getattr(two, item.name),
                    word,
                    item.name.replace("_", " "),
                )
                if part:
                    return part
        return ""
    if isinstance(one, Mapping):
        left = {_plain(key, word): value for key, value in one.items()}
        right = {_plain(key, word): value for key, value in two.items()}
        if left.keys() != right.keys():
            return what
        return next((part for key in left if (part := _difference(left[key], right[key], word, what))), "")
    if isinstance(one, (tuple, list)):
        if len(one) != len(two):
            return what
        return next((part for a, b in zip(one, two, strict=True) if (part := _difference(a, b, word, what))), "")
    if isinstance(one, (frozenset, set)):
        return "" if {_plain(item, word) for item in one} == {_plain(item, word) for item in two} else what
    return "" if one == two or one != one else what


def _plain(key: Any, word: re.Pattern[str]) -> Any:
    return word.sub("\0", key) if isinstance(key, str) else key
