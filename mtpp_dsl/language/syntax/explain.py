"""Say what is wrong with a text that does not parse: from the table of messages, else what was found and expected."""

from __future__ import annotations

from functools import cache
from itertools import islice

from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.source import Diagnostic, Source, Span
from mtpp_dsl.language.syntax.grammar import run
from mtpp_dsl.language.syntax.keywords import BEGINS_ITEM, FUNCTION_NAMES, RULES, STATEMENTS
from mtpp_dsl.language.syntax.lexing import lexemes, words
from mtpp_dsl.language.syntax.missing import misplaced, missing_mark, unexpected_character, wrong_bracket
from mtpp_dsl.language.syntax.rules import comma, custom_rules, syntax_message, unknown_rule, unknown_statement
from mtpp_dsl.language.syntax.syntax_errors import EXAMPLES, TERMINALS
from mtpp_dsl.language.syntax.tables import END, Failure, Token

_INSIDE = {"item": "graph { ", "block_item": "block b { "}


BETWEEN = {"mod": "a remainder is written mod(i, 3)", "div": "a whole quotient is written floor(i / 3)"}
"""What other languages write between two numbers, and how it is written here."""


def explain(source: Source, failure: Failure, start: str, begin: int, stop: int) -> Diagnostic:
    """Return a message for a syntax error in the statement, item or expression at *begin* to *stop*.

    Args:
        source: the text.
        failure: of the parser.
        start: the rule it was parsed by: "statement", "item" or "expression".
        begin: offset of the piece.
        stop: offset of its end.
    """
    if failure.token is None:
        return unexpected_character(source, failure.at)
    token = _whole(source, failure.token)
    at = stop if token.kind == END else token.start
    unknown = _unknown_rule(source, begin, at)
    if unknown is not None:
        return unknown
    expected = _expected(failure)
    notes = (f"expected {expected}",) if expected else ()
    opened = _unclosed(source, begin, at)
    if at == stop and opened is not None:
        return syntax_message(f"{opened.text!r} is not closed", opened, notes)
    span = _last_mark(source, begin, stop) if at == stop else Span(source, at, token.stop)
    bracket = wrong_bracket(token, opened)
    if bracket:
        return syntax_message(bracket, span)
    first = next(iter(words(source.text, begin, stop)), None)
    if source.text.startswith("//", at):
        return syntax_message("a comment begins with '#'", span)
    if start == "statement" and (first is None or first.offset >= at or token.start <= begin):
        return unknown_statement(span)
    word = _first_word(source, begin, stop)
    written = misplaced(source, failure, token, opened, word)
    if written:
        return syntax_message(written, span)
    between = next((BETWEEN[one] for one in (token.text, _word_before(source, begin, at)) if one in BETWEEN), "")
    if between:
        return syntax_message(between, span)
    hint = _hint(failure, token)
    exact, near = _from_table(failure, token, start, word)
    alone = _begins_line_of_its_own(source, failure, token, start, opened)
    if alone and source.text[token.start - 1] == "\n":
        return unknown_statement(span)
    missing = "" if exact else missing_mark(source, failure, token, start, (begin, stop), opened, hint)
    if missing:
        return syntax_message(missing, span, fix=comma(source, span, missing, opened))
    if not exact and alone:
        return unknown_statement(span)
    if not exact and not near and {"NAME", "NUMBER", "LPAR"} <= failure.expected:
        last = _word_before(source, begin, span.stop if at == stop else at)
        if last:
            return syntax_message(f"a value is missing after {last!r}", span)
    return syntax_message((exact or near or _unexpected(token)) + hint, span, notes)


def _word_before(source: Source, begin: int, stop: int) -> str:
    """Return the word or mark before a place, without spaces and comments."""
    before = [word.text for word in lexemes(source.text, begin, stop) if word.kind != "COMMENT"]
    return before[-1] if before else ""


def _whole(source: Source, token: Token) -> Token:
    """Return a word as it is written where a keyword is only its beginning, such as 'param' of 'params'."""
    word = next(lexemes(source.text, token.start), None)
    if word is None or word.kind != "NAME" or token.kind == END:
        return token
    return token._replace(text=word.text, stop=word.stop)


def _begins_line_of_its_own(source: Source, failure: Failure, token: Token, start: str, opened: Span | None) -> bool:
    """Return whether a word begins a line, where a statement could begin, and none does."""
    before = source.text[max(0, token.start - 200) : token.start]
    begins_line = not before.rpartition("\n")[2].strip() and "\n" in before
    if start != "statement" or opened is not None or not begins_line or END not in failure.expected:
        return False
    return token.text.isidentifier()


def _last_mark(source: Source, begin: int, stop: int) -> Span:
    """Return the place of the last character before *stop* that is neither space nor comment."""
    last = max((word.stop for word in lexemes(source.text, begin, stop) if word.kind != "COMMENT"), default=begin)
    return Span(source, max(begin, last - 1), last)


def _unclosed(source: Source, begin: int, stop: int) -> Span | None:
    """Return the place of the innermost bracket that is open at *stop*."""
    opened: list[int] = []
    for word in words(source.text, begin, stop):
        if word.text in ("(", "[", "{"):
            opened.append(word.offset)
        elif word.text in (")", "]", "}") and opened:
            opened.pop()
    return Span(source, opened[-1], opened[-1] + 1) if opened else None


def _unknown_rule(source: Source, begin: int, at: int) -> Diagnostic | None:
    """Return the message for ``constraint acylic by x``, whose error is only seen behind the word that is wrong.

    A labelled constraint has ':' after the word, and one of a plug-in a word that some plug-in has.
    """
    first = list(islice(words(source.text, begin, at), 3))
    if len(first) < 2 or first[0].text != "constraint" or first[1].text in RULES or not first[1].text.isidentifier():
        return None
    word = first[1].text
    if (first[2:] and first[2].text == ":") or word in custom_rules():
        return None
    span = Span(source, first[1].offset, first[1].stop)
    if word in FUNCTION_NAMES:
        of = "(…)" if first[2:] and first[2].text == "(" else ""
        message = f"an inequality has a label before it: write 'constraint limit: {word}{of} <= …'"
        return Diagnostic(message, span, code="MTPP-E501")
    return unknown_rule(span)


def _unexpected(token: Token) -> str:
    return "the text ends too early" if token.kind == END else f"unexpected {token.text!r}"


def _expected(failure: Failure) -> str:
    names = sorted({TERMINALS.get(name, f"'{name.lower().strip('_')}'") for name in failure.expected})
    return ", ".join(names) if 0 < len(names) <= 12 else ""


def _hint(failure: Failure, token: Token) -> str:
    """Return a did-you-mean when a keyword was expected and a near miss was found."""
    if token.kind not in ("NAME", "UNIT"):
        return ""
    keywords = [name.lower() for name in failure.expected if name not in TERMINALS]
    return did_you_mean(token.text, [*keywords, *(STATEMENTS if END in failure.expected else ())])


def _first_word(source: Source, begin: int, stop: int) -> str:
    """Return the word that begins a statement or an item, and the rule of a constraint."""
    first = [word.text for word in islice(lexemes(source.text, begin, stop), 2)]
    if first[:1] == ["constraint"] and first[1:] and first[1] in RULES:
        return " ".join(first)
    return first[0] if first and first[0] in (*STATEMENTS, *BEGINS_ITEM) else ""


def _from_table(failure: Failure, token: Token, start: str, word: str) -> tuple[str, str]:
    """Return the message of the example that fails in the same way, and of one that fails much the same; "" for none.

    That is: in a statement with the same first *word*, in the same parser state, at the same kind
    of token. Where all examples that fail in a state have one message, it serves every other token; and where all
    that fail in a state at a kind of token have one, and are of several kinds of statements, it serves others.
    """
    by_token, by_state, by_kind = _examples(start)
    if start == "expression":
        return "", ""
    near = by_state.get((word, failure.state)) or by_kind.get((failure.state, token.kind), "")
    return by_token.get((word, failure.state, token.kind), ""), near


@cache
def _examples(
    start: str,
) -> tuple[dict[tuple[str, int, str], str], dict[tuple[str, int], str], dict[tuple[int, str], str]]:
    by_token: dict[tuple[str, int, str], str] = {}
    messages: dict[tuple[str, int], dict[str, str]] = {}
    for message, snippets in EXAMPLES.items():
        for snippet in snippets:
            prefix = _INSIDE.get(start, "")
            if not snippet.startswith(prefix):
                continue
            text = snippet.removeprefix(prefix).removesuffix(" }") if prefix else snippet
            source = Source("", text)
            try:
                run(source, start, 0, len(text))
            except Failure as failure:
                key = _first_word(source, 0, len(text)), failure.state
                kind = "" if failure.token is None else failure.token.kind
                by_token.setdefault((*key, kind), message)
                messages.setdefault(key, {}).setdefault(kind, message)
    by_kind: dict[tuple[int, str], set[str]] = {}
    statements: dict[tuple[int, str], set[str]] = {}
    for (word, state, kind), message in by_token.items():
        by_kind.setdefault((state, kind), set()).add(message)
        statements.setdefault((state, kind), set()).add(word)
    return (
        by_token,
        {
            key: min(entries.values())
            for key, entries in messages.items()
            if len(entries) > 1 == len({*entries.values()})
        },
        {key: min(entries) for key, entries in by_kind.items() if len(entries) == 1 < len(statements[key])},
    )
