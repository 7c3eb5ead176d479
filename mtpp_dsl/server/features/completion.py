"""What may be written at a place, whatever is wrong with the text around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types

from mtpp_dsl import registry
from mtpp_dsl.base.units import COMPUTE, NONE, POWER, RATE, SIZE, TIME, UNITS, WORK
from mtpp_dsl.language import meanings
from mtpp_dsl.language.meanings import Meaning
from mtpp_dsl.language.meanings_of_options import meaning_of_option
from mtpp_dsl.language.rules import custom_rules
from mtpp_dsl.language.syntax_errors import RULES, STATEMENTS, TERMINALS
from mtpp_dsl.language.vocabulary import (
    BUILT_IN,
    BY,
    NUMBERS,
    PARAM_TYPES,
    choices_of,
    functions,
    options_of,
    signature_of,
)
from mtpp_dsl.problem.objective import OBJECTIVES
from mtpp_dsl.server.features import known, snippets
from mtpp_dsl.server.features.context import Context, context_at, rule_of
from mtpp_dsl.server.features.files import files
from mtpp_dsl.server.features.included import library_types
from mtpp_dsl.server.features.markdown import told
from mtpp_dsl.server.features.places import range_of
from mtpp_dsl.server.reading import Reading
from mtpp_dsl.text.source import Edit, Span

__all__ = ["TRIGGERS", "Candidate", "candidates", "complete"]

TRIGGERS = ("(", ",", "=", ".", '"', "/", " ", "{")
"""Characters behind which an editor asks."""

Kind = types.CompletionItemKind
_KINDS = {
    "param": Kind.Variable,
    "let": Kind.Constant,
    "def": Kind.Function,
    "variable": Kind.Variable,
    "node": Kind.Field,
    "device": Kind.Class,
    "phase": Kind.EnumMember,
    "port": Kind.Property,
    "instance": Kind.Module,
    "type": Kind.Struct,
}
_DECLARING = (
    "device",
    "node",
    "let",
    "def",
    "type",
    "switch",
    "scenario",
    "phase",
    "block",
    "param",
    "as",
    "for",
    "forall",
)
_OF_FORM = {
    "time": (TIME,),
    "size": (SIZE,),
    "bandwidth": (RATE,),
    "power": (POWER,),
    "FLOP": (WORK,),
    "FLOP/s": (COMPUTE,),
    "share": (NONE,),
}
_USUAL = ("ms", "us", "s", "GiB", "MiB", "GB", "MB", "GB/s", "GiB/s", "FLOP", "TFLOP/s", "W", "USD/h", "%")


@dataclass(frozen=True)
class Candidate:
    """Something that may be written.

    Attributes:
        label: what the list shows.
        kind: of the protocol.
        rank: the less, the further up.
        detail: a few words beside the label.
        meaning: what it means, for the help beside the list.
        snippet: what is written, with places to fill in; "" for the label.
        text: what is written where an editor has no snippets; "" for the label.
        edits: further changes, such as an include.
    """

    label: str
    kind: types.CompletionItemKind
    rank: int = 5
    detail: str = ""
    meaning: Meaning | None = None
    snippet: str = ""
    text: str = ""
    edits: tuple[Edit, ...] = ()


def complete(
    reading: Reading, line: int, column: int, *, with_snippets: bool = True, docs: str = "", typed: str = ""
) -> types.CompletionList:
    """Return what may be written at a place, whether or not the text parses.

    Args:
        reading: of the text.
        line: as the editor counts.
        column: as the editor counts.
        with_snippets: whether the editor has places to fill in.
        docs: where the pages of the documentation are, as an address; "" for those beside the package, if any.
        typed: the character of :data:`TRIGGERS` for which the editor asks; "" where the user does. Where that is a
            space, what fits the place best is offered, or nothing.
    """
    offset = reading.offset(line, column)
    context = context_at(reading.source, offset)
    if _stray(context, typed):
        return types.CompletionList(is_incomplete=False, items=[])
    start = context.start if context.string is None else offset - len(context.string.rpartition("/")[2])
    where = range_of(reading, Span(reading.source, start, offset))
    items = []
    seen: set[str] = set()
    for each in candidates(reading, context):
        if each.label in seen or (typed == " " and each.rank > 0):
            continue
        seen.add(each.label)
        snippet = with_snippets and bool(each.snippet)
        items.append(
            types.CompletionItem(
                label=each.label,
                kind=each.kind,
                detail=each.detail or None,
                documentation=_documentation(each.meaning, docs),
                sort_text=f"{each.rank}{each.label}",
                filter_text=each.label,
                insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
                text_edit=types.TextEdit(where, each.snippet if snippet else each.text or each.label),
                additional_text_edits=[types.TextEdit(range_of(reading, edit.span), edit.text) for edit in each.edits]
                or None,
            )
        )
    return types.CompletionList(is_incomplete=len(items) >= known.MAX_NAMES, items=items)


def _stray(context: Context, typed: str) -> bool:
    """Return whether a character that was typed begins nothing: a string that ends, a point in a number, a division."""
    outside = context.string is None
    return outside and (typed == '"' or (typed == "." and context.number) or (typed == "/" and not context.number))


def _documentation(meaning: Meaning | None, docs: str) -> types.MarkupContent | None:
    if meaning is None:
        return None
    return types.MarkupContent(types.MarkupKind.Markdown, told(meaning, docs))


def candidates(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield what may be written at a place, some of it perhaps twice."""
    if context.comment:
        return
    if context.string is not None:
        yield from files(reading, context)
        yield from _strings(reading, context)
        return
    if context.number:
        yield from _units(context)
        yield from _keywords(context)
        return
    if context.before == ".":
        for each in known.parts(reading, context):
            yield Candidate(each.name, _KINDS[each.kind], 0, each.detail)
        return
    yield from _beginnings(context)
    if context.marks and context.before in _DECLARING and not _is_value(context):
        return
    named = list(_named(reading, context))
    yield from named
    if not named or context.keyword in ("graph", "minimize", "maximize", "import"):
        yield from _keywords(context)
    if not named:
        yield from _in_brackets(reading, context)


def _is_value(context: Context) -> bool:
    """Return whether a word that also declares stands as another name, such as the option ``type``."""
    return context.before not in ("for", "forall", "as") and len(context.marks) > 1


# statements and items


def _beginnings(context: Context) -> Iterator[Candidate]:
    """Yield the words that begin statements or items, where one may begin."""
    kind, expected = context.container.kind, context.expected
    inside = context.frame is not context.container
    if kind in ("graph", "block"):
        ends = context.fresh if expected is None else "$END" in expected
        if not inside and (not context.marks or ends):
            ports = ("input", "output") if kind == "block" else ()
            for word in ("node", "edge", "use", *ports, "assert"):
                yield Candidate(word, Kind.Keyword, 1, "item", meanings.ITEMS[word], snippets.ITEMS[word])
        if not (context.fresh and context.column == 0):
            return
    begins = not context.marks or context.fresh
    if begins and (context.column == 0 or (not inside and (expected is None or "DEVICE" in expected))):
        for word in STATEMENTS:
            yield Candidate(
                word, Kind.Keyword, 1, "statement", meanings.STATEMENTS[word], snippets.STATEMENTS.get(word, "")
            )


def _keywords(context: Context) -> Iterator[Candidate]:
    """Yield the words that the grammar allows, other than beginnings of statements."""
    for terminal in sorted(context.expected or ()):
        word = terminal.lower()
        if terminal in TERMINALS or not word.isidentifier() or (word in STATEMENTS and not context.marks):
            continue
        if context.marks and word in STATEMENTS and not (word == "links" or context.keyword == "import"):
            continue
        if word in RULES and context.before == "constraint":
            continue
        if word in ("on", "not", "if") and "NUMBER" in (context.expected or ()):
            continue  # an expression may begin: its words are listed with the names
        yield Candidate(word, Kind.Keyword, 4, "keyword", meanings.WORDS.get(word))


# names of certain sorts


def _named(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield the names where the statement asks for one of a certain sort."""
    declared = reading.index.declared
    words = [mark.text for mark in context.marks]
    match words:
        case ["param", _, ":"]:
            for word in PARAM_TYPES:
                yield Candidate(word, Kind.TypeParameter, 0, "type", meanings.PARAM_TYPES[word])
        case ["interconnect"]:
            for word, meaning in meanings.INTERCONNECTS.items():
                yield Candidate(word, Kind.EnumMember, 0, "interconnect", meaning)
        case ["graph", "from", "generator"]:
            for word in registry.available(registry.GENERATORS):
                yield Candidate(word, Kind.Function, 0, "generator", None, f"{word} ($1)")
        case ["graph", "from"] | ["import"] | ["times", "from"]:
            for name in sorted(declared.kinds.get("param", ())):
                if isinstance(reading.scope.params.get(name), (Path, str)):
                    yield Candidate(name, Kind.Variable, 1, "param")
            yield Candidate('"…"', Kind.File, 0, "a file", None, '"$1"', '"')
        case ["target"]:
            for word in registry.available(registry.TARGETS):
                said = word.replace("-", "_")
                yield Candidate(said, Kind.EnumMember, 0, "runtime", meanings.STATEMENTS["target"])
        case ["use"]:
            for word in sorted(declared.blocks):
                yield Candidate(word, Kind.Module, 0, "block")
        case ["constraint", "colocate" | "break" as rule, *_, "by"]:
            yield from (Candidate(word, Kind.EnumMember, 0) for word in BY[rule])
        case ["constraint"]:
            for word in (*RULES, *custom_rules()):
                snippet = snippets.RULES.get(word, "")
                yield Candidate(word, Kind.Keyword, 0, "constraint", meanings.RULES.get(word), snippet)
        case ["minimize" | "maximize", *rest] if not rest or rest[-1] == ":":
            for word in OBJECTIVES:
                rank = 0 if (word == "throughput") == (words[0] == "maximize") else 3
                yield Candidate(word, Kind.EnumMember, rank, "objective", meanings.OBJECTIVES[word])
            yield from (replace(each, rank=max(each.rank, 2)) for each in _expression(reading, context))
        case _:
            yield from _members(reading, context)


def _members(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield nodes or devices where a statement names some, with the sets and variables that may stand for them."""
    kind = _wanted(context)
    if not kind:
        return
    for each in (*known.members(reading, context, kind), *known.variables(reading, context)):
        yield Candidate(each.name, _KINDS[each.kind], 0, each.detail)
    for name in sorted(reading.index.declared.kinds.get("let", ())):
        yield Candidate(name, Kind.Constant, 2, "let")
    if context.keyword in ("constraint", "time"):
        yield Candidate(f"{kind}s", Kind.Keyword, 2, "", meanings.WORDS[f"{kind}s"])


def _wanted(context: Context) -> str:
    """Return "node" or "device" where one is to be named, outside of brackets other than those of lists; else ""."""
    sign = context.frame.sign
    if context.frame.kind in ("options", "call", "subscript") or sign == "(":
        return ""
    words = [mark.text for mark in context.marks]
    before = context.before
    if not words or any(word in ("for", "if", "=") for word in words):
        return "node" if words[:1] in (["input"], ["output"]) and "=" in words else ""
    names = before in (",", "->", "<->", "[", "{", words[0], "on", rule_of(context.marks) or "on")
    if not names:
        return ""
    match words[0]:
        case "edge":
            return "node"
        case "link":
            return "device"
        case "time":
            return "device" if "on" in words else "node"
        case "constraint":
            rule = rule_of(context.marks)
            if "on" in words or rule in ("replicate", "shard"):
                return "device"
            return "node" if rule in ("colocate", "separate", "pin", "forbid") else ""
    return ""


# what stands between brackets


def _in_brackets(reading: Reading, context: Context) -> Iterator[Candidate]:
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
        if special and (option in ("switch", "under", "dtype", "weight_type") or choices_of(context.owner, option)):
            return
    expected = context.expected
    if (expected is None or "NAME" in expected) and (context.marks or expected is not None):
        yield from _expression(reading, context)


def _options(reading: Reading, context: Context) -> Iterator[Candidate]:
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


def _values(reading: Reading, context: Context, option: str) -> Iterator[Candidate]:
    """Yield the words that the value of an option may be."""
    owner = context.owner
    meaning = meaning_of_option(owner, option)
    if context.before != "=":
        if not (option == "type" or (owner == "node" and context.frame.sign == "{")):
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
    elif option in ("dtype", "weight_type") and kind in ("node", "file"):
        yield from (Candidate(word, Kind.EnumMember, 1, "type of numbers", None, "", f'"{word}"') for word in NUMBERS)
    elif kind == "node" and context.frame.sign == "{" and option in ("time", "work", "output"):
        sorts = ("device", "type") if option == "time" else ("phase",)
        for sort in sorts:
            for name in sorted(declared.kinds.get(sort, ())):
                yield Candidate(name, _KINDS[sort], 0, sort, None, f"{name}: $1", f"{name}: ")


def _expression(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield what an expression may begin with: names of the spec, options of the item, functions."""
    owner = context.owner
    for each in known.names(reading, context):
        rank = {"variable": 1, "param": 2, "let": 2, "def": 2}.get(each.kind, 3)
        snippet = f"{each.name}($1)" if each.kind == "def" else ""
        yield Candidate(each.name, _KINDS[each.kind], rank, each.detail, None, snippet)
    if context.option and owner in ("node", "device", "type"):
        for name in options_of(owner):
            if name in context.given and name != context.option:
                yield Candidate(name, Kind.Property, 2, "option of the same item", meaning_of_option(owner, name))
    for name in functions():
        snippet = f"{name}($1)"
        yield Candidate(name, Kind.Function, 4, signature_of(name), meanings.FUNCTIONS.get(name), snippet)
    for name in BUILT_IN:
        yield Candidate(name, Kind.Keyword, 4, "", meanings.WORDS.get(name) or meanings.OBJECTIVES.get(name))
    for word in ("if", "not", "for", "forall"):
        if context.expected is not None and word.upper() in context.expected:
            yield Candidate(word, Kind.Keyword, 5, "keyword", meanings.WORDS[word])


# units and strings


def _units(context: Context) -> Iterator[Candidate]:
    """Yield units, those first that fit the option whose value is written."""
    meaning = meaning_of_option(context.owner, context.option) if context.option else None
    form = "" if meaning is None else meaning.form
    if context.keyword == "time" and not context.option:
        form = "time"
    wanted = {
        dimension for word, found in _OF_FORM.items() if word in form.replace(",", "").split() for dimension in found
    }
    if "money" in form:
        wanted |= {dimension for unit, (_, dimension) in UNITS.items() if unit[:3] in ("USD", "EUR")}
    if context.option == "speed":
        wanted |= {COMPUTE}
    for unit, (factor, dimension) in UNITS.items():
        if unit == "µs":
            continue
        fits = dimension in wanted
        if wanted and not fits and not context.prefix:
            continue
        rank = (0 if fits else 2) + (unit not in _USUAL)
        base = f"{factor} {dimension.unit}".strip() if factor != 1 else dimension.unit
        yield Candidate(unit, Kind.Unit, rank, f"{dimension}, {base}" if base != unit else str(dimension))


def _strings(reading: Reading, context: Context) -> Iterator[Candidate]:
    """Yield what a string may be: kinds of nodes, names that must be quoted, runtimes."""
    graph = reading.scope.graph
    if context.option in ("kind", "unsupported") or (
        context.before == "==" and "kind" in [m.text for m in context.marks]
    ):
        kinds = sorted(set(graph.kinds)) if graph is not None and graph.n < 100_000 else []
        yield from (Candidate(kind, Kind.Value, 0, "kind") for kind in kinds[: known.MAX_NAMES] if kind)
    elif context.keyword == "target":
        yield from (Candidate(word, Kind.EnumMember, 0, "runtime") for word in registry.available(registry.TARGETS))
    elif context.option in ("dtype", "weight_type"):
        yield from (Candidate(word, Kind.EnumMember, 0, "type of numbers") for word in NUMBERS)
    elif (kind := _wanted(context)) or context.frame.kind == "call":
        for sort in (kind,) if kind else ("node", "device"):
            for each in known.members(reading, context, sort):
                if '"' not in each.name and "\\" not in each.name:
                    yield Candidate(each.name, _KINDS[sort], 0, each.detail)
