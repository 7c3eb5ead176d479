"""Say what the thing at a place is: its value, what it stands for, or what a word means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from fractions import Fraction

from lsprotocol import types

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.exact_numbers import Exact, exact_number
from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.editor.server.features.context import Context, context_at
from mtpp_dsl.editor.server.features.definition import file_named, occurrence_at, word_at
from mtpp_dsl.editor.server.features.hover_names import hover_of_name, hover_of_rows
from mtpp_dsl.editor.server.features.markdown import block, code, meaning_as_markdown, plain
from mtpp_dsl.editor.server.features.places import range_of
from mtpp_dsl.editor.server.features.values import in_base, short, value_of
from mtpp_dsl.editor.server.index import walk
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.generators.generate import signature
from mtpp_dsl.language.syntax import keywords, tree
from mtpp_dsl.language.syntax.keywords import BEGINS_ITEM, STATEMENTS, Meaning
from mtpp_dsl.language.values.values import Affine
from mtpp_dsl.language.words import meanings
from mtpp_dsl.language.words.meanings import meaning_of_option
from mtpp_dsl.language.words.vocabulary import choices_of, functions, options_of, signature_of

_NUMBER = re.compile(
    r"(?<![\w.\"])[0-9][0-9_]*(?:\.(?!\.)[0-9_]*)?(?:[eE][+-]?[0-9]+)?[ \t]*([A-Za-zµ]+(?:/[A-Za-z]+)?|%)?"
)
_NEAR = 300


def hover(reading: TextReading, line: int, column: int, *, docs: str = "") -> types.Hover | None:
    """Return what is to be said of the thing at a line and column, as Markdown; None where there is nothing to say.

    Args:
        reading: of the text.
        line: as the editor counts.
        column: as the editor counts.
        docs: where the pages of the documentation are, as an address; "" for those beside the package, if any.
    """
    offset = reading.offset(line, column)
    text_and_span = _number(reading, offset) or _named(reading, offset) or _word(reading, offset, docs)
    if text_and_span is None:
        return None
    text, span = text_and_span
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), range_of(reading, span))


def _number(reading: TextReading, offset: int) -> tuple[str, Span] | None:
    """Return what a number with a unit is in base units."""
    start = max(reading.text.rfind("\n", 0, offset) + 1, offset - _NEAR)
    end = reading.text.find("\n", offset)
    line = reading.text[start : min(len(reading.text) if end < 0 else end, offset + _NEAR)]
    for match in _NUMBER.finditer(line):
        if match[1] in UNITS and start + match.start() <= offset <= start + match.end():
            span = Span(reading.source, start + match.start(), start + match.end())
            if (
                context_at(reading.source, span.stop).comment
                or context_at(reading.source, span.stop).string is not None
            ):
                return None
            factor, dimension = UNITS[match[1]]
            number = tree.Number(
                span=span,
                value=_exact(match[0][: match.start(1) - match.start()]),
                unit=tree.Word(span=span, text=match[1]),
            )
            value = value_of(reading, number)
            base = in_base(value) if value is not None else ""
            sentence = (
                f"1 {match[1]} is {_factor(factor)} {dimension.unit}".rstrip()
                if factor != 1
                else f"{match[1]}: {dimension}"
            )
            return "\n\n".join(
                [block(match[0]), *([f"{code(base)}: {dimension}"] if base else []), plain(sentence)]
            ), span
    return None


def _factor(factor: Exact) -> str:
    return f"{factor:,}" if isinstance(factor, int) else str(factor)


def _exact(text: str) -> int | Fraction:
    exact = exact_number(text.replace("_", "").strip())
    return Fraction(exact) if isinstance(exact, float) else exact


def _named(reading: TextReading, offset: int) -> tuple[str, Span] | None:
    """Return what a name of the spec stands for."""
    occurrence = occurrence_at(reading, offset)
    if occurrence is None:
        return None
    if occurrence.kind == "file":
        path = file_named(reading, occurrence)
        return None if path is None else (f"the file {code(str(path))}", occurrence.span)
    if occurrence.kind in ("option", "function"):
        return None
    text = hover_of_name(reading, occurrence)
    if text and occurrence.kind == "constraint":
        rows = hover_of_rows(reading, occurrence.within)
        text += f"\n\n{rows}" if rows else ""
    return (text, occurrence.span) if text else None


def _word(reading: TextReading, offset: int, docs: str) -> tuple[str, Span] | None:
    """Return what a word of the language means where it stands."""
    span = word_at(reading, offset)
    if span is None:
        return None
    context = context_at(reading.source, span.start)
    text = _meant(reading, context, span, docs)
    return (text, span) if text else None


def _meant(reading: TextReading, context: Context, span: Span, docs: str) -> str:
    word, owner = span.text, context.owner
    after = reading.text[span.stop : span.stop + 50].lstrip()
    assigned = after.startswith("=") and not after.startswith("==")
    if context.frame.kind == "options" and not context.option and (assigned or word in options_of(owner)):
        return "\n\n".join(filter(None, [_option(context, word, docs), _option_value(reading, span)]))
    if context.option and word in [choice.strip('"') for choice in choices_of(owner, context.option)]:
        meaning = meaning_of_option(owner, context.option)
        return (
            "" if meaning is None else f"{code(word)} of {code(context.option)}\n\n{meaning_as_markdown(meaning, docs)}"
        )
    if context.option and word in options_of(owner) and not after.startswith("("):
        return _option(context, word, docs)
    before = [mark.text for mark in context.marks]
    if before == ["constraint"] and not after.startswith(":"):
        rows = _rows_at(reading, span)
        return "\n\n".join(filter(None, [_of(keywords.RULES, word, docs), rows]))
    among_items = context.container.kind in ("graph", "block") and context.frame is context.container
    if among_items and word in BEGINS_ITEM and (not before or before[-1] not in ("->", ",")):
        return _of(keywords.ITEMS, word, docs)
    if word in STATEMENTS and (not before or context.fresh) and not after.startswith((",", ")", "->")):
        help_text = _of(keywords.STATEMENTS, word, docs)
        return "\n\n".join(filter(None, [help_text, _rows_at(reading, span), _graph(reading, word)]))
    if before == ["interconnect"]:
        return _of(meanings.INTERCONNECTS, word, docs)
    if before == ["graph", "from", "generator"]:
        return _generator(word)
    if before[:1] == ["target"]:
        return _target(word)
    if before[:1] == ["param"] and before[-1:] == [":"]:
        return _of(meanings.PARAM_TYPES, word, docs)
    if before[-1:] == ["="] and context.option == "format":
        page = meaning_as_markdown(Meaning("", "", "language.md#files"), docs)
        return f"the format {code(word)} of files\n\n{page.strip()}"
    if word in functions() and after.startswith("("):
        value = _call_value(reading, span)
        return "\n\n".join(
            filter(None, [block(signature_of(word)), meaning_as_markdown(meanings.FUNCTIONS[word], docs), value])
        )
    for table in (meanings.OBJECTIVES, meanings.WORDS):
        if word in table:
            return meaning_as_markdown(table[word], docs)
    return ""


def _of(table: object, word: str, docs: str) -> str:
    meaning = table.get(word) if hasattr(table, "get") else None
    return "" if meaning is None else meaning_as_markdown(meaning, docs)


def _option(context: Context, word: str, docs: str) -> str:
    """Return what an option means; of a generator, its parameter."""
    if context.owner.startswith("generator "):
        return _parameter(context.owner.removeprefix("generator "), word)
    meaning = meaning_of_option(context.owner, word)
    if meaning is None:
        return ""
    choices = choices_of(context.owner, word)
    listed = f"\n\nOne of {', '.join(map(code, choices))}." if 0 < len(choices) < 12 else ""
    return f"option {code(word)}\n\n{meaning_as_markdown(meaning, docs)}{listed}"


def _option_value(reading: TextReading, span: Span) -> str:
    """Return what the value of an option comes to, where it has no free variables and is not written so."""
    for part in _around(reading, span):
        if (
            isinstance(part, tree.Option)
            and part.name.span == span
            and not isinstance(part.value, (tree.Number, tree.Text))
        ):
            value = value_of(reading, part.value)
            return "" if value is None or isinstance(value, Affine) else f"here {code(short(value, reading.scope))}"
    return ""


def _generator(name: str) -> str:
    """Return what a generator makes, and its parameters with their defaults."""
    if name not in registry.available(registry.GENERATORS):
        return ""
    try:
        function = registry.load(registry.GENERATORS, name)
        parameters = signature(name)
    except PluginError:
        return ""
    first = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
    listed = [f"- {code(f'{parameter.name} = {_default(parameter.default)}')}" for parameter in parameters]
    return "\n\n".join([f"generator {code(name)}", plain(first), "\n".join(listed)])


def _parameter(generator: str, name: str) -> str:
    """Return what a parameter of a generator means, from its documentation."""
    try:
        parameter = next((candidate for candidate in signature(generator) if candidate.name == name), None)
        text = inspect.getdoc(registry.load(registry.GENERATORS, generator)) or ""
    except PluginError:
        return ""
    if parameter is None:
        return ""
    match = re.search(rf"^    {re.escape(name)}: (.*(?:\n {{8}}.*)*)", text, re.MULTILINE)
    sentence = plain(re.sub(r"\s+", " ", match[1].replace("``", ""))) if match is not None else ""
    kind = {"int": "a whole number", "float": "a number", "str": "a string", "bool": "true or false"}[
        parameter.type.__name__
    ]
    head = (
        f"parameter {code(name)} of generator {code(generator)}: {kind}, by default {code(_default(parameter.default))}"
    )
    return "\n\n".join(filter(None, [head, sentence]))


def _default(value: object) -> str:
    if value is None:
        return "chosen by the generator"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _target(word: str) -> str:
    name = word if word in registry.available(registry.TARGETS) else word.replace("_", "-")
    if name not in registry.available(registry.TARGETS):
        return ""
    try:
        summary = getattr(registry.load(registry.TARGETS, name), "summary", "")
    except PluginError:
        return ""
    return f"runtime {code(name)}: {plain(str(summary))}"


def _graph(reading: TextReading, word: str) -> str:
    """Return how large the graph is, beneath the word that begins it."""
    problem = reading.problem
    if problem is None or word not in ("graph", "import"):
        return ""
    graph = problem.graph
    return f"{graph.n:,} nodes and {graph.m:,} edges"


def _around(reading: TextReading, span: Span) -> Iterator[tree.Tree]:
    """Yield the statements, items and parts of expressions of the text that a place is in."""
    for statement in reading.statements:
        if not statement.span.start <= span.start < statement.span.stop:
            continue
        inner: tuple[tree.Tree, ...] = ()
        if isinstance(statement, (tree.GraphBlock, tree.BlockStatement)):
            inner = statement.items
        elif isinstance(statement, tree.ScenarioStatement):
            inner = statement.statements
        nearest = next(
            (candidate for candidate in inner if candidate.span.start <= span.start < candidate.span.stop), statement
        )
        yield from walk(nearest)


def _rows_at(reading: TextReading, span: Span) -> str:
    """Return what the constraint around a word asks of the problem."""
    kinds = (tree.ConstraintStatement, tree.LabelledConstraint)
    statement = next((part for part in _around(reading, span) if isinstance(part, kinds)), None)
    return "" if statement is None else hover_of_rows(reading, statement)


def _call_value(reading: TextReading, span: Span) -> str:
    """Return the value of a call whose arguments have no free variables."""
    for part in _around(reading, span):
        if isinstance(part, tree.Call) and part.function.span == span:
            value = value_of(reading, part)
            return "" if value is None or isinstance(value, Affine) else f"here {code(short(value, reading.scope))}"
    return ""
