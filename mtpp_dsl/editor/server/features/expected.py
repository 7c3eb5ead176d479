"""List what may stand between brackets, in expressions, behind numbers and in strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.units import COMPUTE, DOLLARS, POWER, RATE, SIZE, TIME, UNITS, WORK, Dimension
from mtpp_dsl.core.text.source import Edit, Span
from mtpp_dsl.editor.server.features import known
from mtpp_dsl.editor.server.features.candidate import KINDS, Candidate, Kind
from mtpp_dsl.editor.server.features.context import Context
from mtpp_dsl.editor.server.features.sorts import Sort, dimensions_of, fits, gives, sort_at
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import LibraryEntry, entries
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import Meaning
from mtpp_dsl.language.words import meanings
from mtpp_dsl.language.words.meanings import meaning_of_option
from mtpp_dsl.language.words.vocabulary import BUILT_IN, NUMBERS, choices_of, functions, options_of, signature_of

__all__ = ["expressions", "in_brackets", "strings", "units"]

_TOLD: dict[Dimension, tuple[str, ...]] = {
    TIME: ("ms", "us", "s"),
    SIZE: ("GiB", "MiB", "GB", "MB"),
    RATE: ("GB/s", "GiB/s"),
    WORK: ("GFLOP", "TFLOP"),
    COMPUTE: ("TFLOP/s",),
    POWER: ("W",),
    DOLLARS: ("USD",),
    DOLLARS / TIME: ("USD/h",),
}
"""Units with which amounts are offered before a number is there."""

_USUAL = ("ms", "us", "s", "GiB", "MiB", "GB", "MB", "GB/s", "GiB/s", "FLOP", "TFLOP/s", "W", "USD/h", "%")


def in_brackets(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield options, their values, or what an expression may hold."""
    frame, option = context.frame, context.option
    if frame.kind == "options" and not option:
        yield from _options(reading, context)
        phases = reading.index.declared.kinds.get("phase")
        if not (phases and context.keyword in ("minimize", "maximize") and context.before == "("):
            return
    if option:
        special = list(_values(reading, context, option))
        yield from special
        key = context.frame.sign == "{" and context.before in ("{", ",")
        if special and (key or option in ("switch", "under") or choices_of(context.owner, option)):
            return
    expected = context.expected
    if (expected is None or "NAME" in expected) and (context.marks or expected is not None):
        yield from expressions(reading, context)


def _options(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the options that are not given yet."""
    owner = context.owner
    names: tuple[str, ...] = options_of(owner)
    if owner.startswith("block "):
        block = reading.index.declared.blocks.get(owner.removeprefix("block "))
        names = () if block is None else tuple(param.text for param in block.params)
    for number, name in enumerate(names):
        if name in context.given:
            continue
        meaning = meaning_of_option(owner, name)
        choices = choices_of(owner, name)
        value = f"${{1|{','.join(choices)}|}}" if choices and len(choices) < 20 else "$1"
        detail = "" if meaning is None else meaning.form
        rank = 0 if number < 10 else 1
        yield Candidate(name, Kind.Property, rank, detail or "option", meaning, f"{name} = {value}", f"{name} = ")


def _values(reading: TextReading, context: Context, option: str) -> Iterator[Candidate]:
    """Yield the words that the value of an option may be."""
    owner = context.owner
    meaning = meaning_of_option(owner, option)
    key = context.frame.sign == "{" and context.before in ("{", ",")
    if key and option in ("time", "work", "output", "efficiency", "peak"):
        yield from _keys(reading, option)
    if context.before != "=":
        if option != "type":
            return
    else:
        for word in choices_of(owner, option):
            yield Candidate(word, Kind.EnumMember, 0, option, meaning)
    declared = reading.index.declared
    kind = owner.partition(" ")[0]
    if option == "type" and kind in ("device", "type"):
        yield from (Candidate(name, Kind.Struct, 0, "type") for name in sorted(declared.kinds.get("type", ())))
        yield from library_types(reading, context)
    elif option in ("switch", "under"):
        yield from (Candidate(name, Kind.Module, 0, "switch") for name in sorted(declared.kinds.get("switch", ())))


def _keys(reading: TextReading, option: str) -> Iterator[Candidate]:
    """Yield the keys that the map of an option may have: devices, phases, kinds of operators, types of numbers."""
    if option in ("efficiency", "peak"):
        words = [f'"{kind}"' for kind in _given(reading, "kind")] if option == "efficiency" else list(NUMBERS)
        what = "kind" if option == "efficiency" else "type of numbers"
        yield from (Candidate(word, Kind.Value, 0, what, None, f"{word}: $1", f"{word}: ") for word in words)
        return
    for sort in ("device", "type") if option == "time" else ("phase",):
        for name in sorted(reading.index.declared.kinds.get(sort, ())):
            yield Candidate(name, KINDS[sort], 0, sort, None, f"{name}: $1", f"{name}: ")


def expressions(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield what an expression may begin with: names of the spec, options of the item, functions.

    Where the sort of the expression is known, no name, function or word is among it that is of another one.
    """
    sort = sort_at(reading, context)
    yield from _literals(reading, context, sort)
    for known_name in known.names(reading, context):
        if known_name.kind in _REFERRED:
            if sort.names and known_name.kind not in sort and "set" not in sort:
                continue
        elif known_name.kind in ("param", "let") and not fits(known.value_of(reading, known_name), sort):
            continue
        exact = sort.names and known_name.kind in sort
        rank = 0 if exact else {"variable": 1, "param": 2, "let": 2, "def": 2}.get(known_name.kind, 3)
        snippet = f"{known_name.name}($1)" if known_name.kind == "def" else ""
        yield Candidate(known_name.name, KINDS[known_name.kind], rank, known_name.detail, None, snippet)
    if context.option and context.owner in ("node", "device", "type") and (not sort.names or "number" in sort):
        for name in options_of(context.owner):
            if name in context.given and name != context.option:
                meaning = meaning_of_option(context.owner, name)
                yield Candidate(name, Kind.Property, 2, "option of the same item", meaning)
    for name in functions():
        if gives(name, sort):
            snippet = f"{name}($1)"
            yield Candidate(name, Kind.Function, 4, signature_of(name), meanings.FUNCTIONS.get(name), snippet)
    for name in BUILT_IN:
        if _is_of(name, sort):
            rank = 0 if "set" in sort else 4
            yield Candidate(name, Kind.Keyword, rank, "", meanings.WORDS.get(name) or meanings.OBJECTIVES.get(name))
    for word in ("if", "not", "for", "forall"):
        expected = context.expected is not None and word.upper() in context.expected
        misplaced = (word == "not" and sort.names) or (word == "for" and context.before in ("(", ","))
        if expected and not misplaced:
            yield Candidate(word, Kind.Keyword, 5, "keyword", meanings.WORDS[word])


_REFERRED = ("node", "device", "phase")


def _is_of(word: str, sort: Sort) -> bool:
    """Return whether a word of the language is of a sort."""
    if not sort.names:
        return True
    if word in ("nodes", "devices", "edges", "phases"):
        return "set" in sort
    if word in ("true", "false"):
        return "bool" in sort
    return "number" in sort and sort.decided


def _literals(reading: TextReading, context: Context, sort: Sort) -> Iterator[Candidate]:
    """Yield what may be written out: amounts with their units, strings that the spec has elsewhere."""
    if {"kind", "dtype", "string"} & set(sort.names):
        option = "kind" if "kind" in sort else "dtype" if "dtype" in sort else context.option
        if option in ("dtype", "weight_type"):
            yield from (Candidate(f'"{word}"', Kind.EnumMember, 0, "type of numbers") for word in NUMBERS)
        else:
            yield from (Candidate(f'"{word}"', Kind.Value, 0, option) for word in _given(reading, option))
    graph = reading.scope.graph
    plain = graph is not None and graph.work.any() and not (graph.work_unit or graph.size_unit)
    if context.before not in ("=", ":") or plain:
        return
    for dimension in sort.dimensions:
        for unit in _TOLD.get(dimension, ()):
            yield Candidate(f"1 {unit}", Kind.Unit, 0, str(dimension), None, f"${{1:1}} {unit}")


def _given(reading: TextReading, option: str) -> list[str]:
    """Return the strings that a text gives options of this name, or the nodes of its graph have as kinds."""
    if option in ("device", "phase"):
        declared = reading.index.declared.kinds
        return sorted({*declared.get(option, ()), *(declared.get("type", ()) if option == "device" else ())})
    wanted = "kind" if option == "unsupported" else option
    given = set(re.findall(rf'\b{re.escape(wanted)}\s*=\s*"([^"\\\n]+)"', reading.text)) if wanted else set()
    graph = reading.scope.graph
    if wanted == "kind" and graph is not None and graph.n < 100_000:
        given |= {kind for kind in graph.kinds if kind}
    return sorted(given)[: known.MAX_NAMES]


def units(context: Context) -> Iterator[Candidate]:
    """Yield units, those first that fit the option whose value is written."""
    wanted = dimensions_of(context)
    for unit, (factor, dimension) in UNITS.items():
        if unit == "µs":
            continue
        fits = dimension in wanted
        if wanted and not fits and not context.prefix:
            continue
        rank = (0 if fits else 2) + (unit not in _USUAL)
        base = f"{factor} {dimension.unit}".strip() if factor != 1 else dimension.unit
        yield Candidate(unit, Kind.Unit, rank, f"{dimension}, {base}" if base != unit else str(dimension))


def strings(reading: TextReading, context: Context, wanted: str) -> Iterator[Candidate]:
    """Yield what a string may be: kinds of nodes, names that must be quoted, runtimes."""
    of_kinds = context.before == "==" and "kind" in [m.text for m in context.marks]
    sort = sort_at(reading, context)
    if of_kinds or "kind" in sort:
        yield from (Candidate(kind, Kind.Value, 0, "kind") for kind in _given(reading, "kind"))
    elif context.option in ("label", "group") or (context.keyword == "times" and context.option in ("device", "phase")):
        yield from (Candidate(word, Kind.Value, 0, context.option) for word in _given(reading, context.option))
    elif context.keyword == "target":
        yield from (Candidate(word, Kind.EnumMember, 0, "runtime") for word in registry.available(registry.TARGETS))
    elif context.option in ("dtype", "weight_type") or "dtype" in sort:
        yield from (Candidate(word, Kind.EnumMember, 0, "type of numbers") for word in NUMBERS)
    elif wanted or context.frame.kind == "call":
        named = (
            (wanted,)
            if wanted
            else tuple(kind_of_name for kind_of_name in ("node", "device") if not sort.names or kind_of_name in sort)
        )
        for kind in named:
            for kind_of_name in known.members(reading, context, kind):
                if '"' not in kind_of_name.name and "\\" not in kind_of_name.name:
                    yield Candidate(kind_of_name.name, KINDS[kind], 0, kind_of_name.detail)


# List what the library has, and the ``include`` that a text needs for it.


def library_types(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the types of devices of the library that are not included yet, each with the include that it needs."""
    declared = reading.index.declared.kinds.get("type", frozenset())
    for entry in entries().values():
        if entry.kind == "type" and entry.name not in declared and entry.name.startswith(context.prefix):
            meaning = Meaning(" ".join(entry.remarks), entry.text, "costs.md#the-library")
            edit = including(reading, entry)
            yield Candidate(entry.name, types.CompletionItemKind.Struct, 2, f"in {entry.file}", meaning, edits=(edit,))


def including(reading: TextReading, entry: LibraryEntry) -> Edit:
    """Return the change that includes the file of an entry: behind other includes, or else the version."""
    text = reading.text
    before = [
        statement
        for statement in reading.statements
        if isinstance(statement, (tree.IncludeStatement, tree.VersionStatement))
    ]
    if not before:
        return Edit(Span(reading.source, 0, 0), f'include "{entry.file}"\n')
    stop = text.find("\n", max(statement.span.stop for statement in before))
    at = len(text) if stop < 0 else stop
    return Edit(Span(reading.source, at, at), f'\ninclude "{entry.file}"')
