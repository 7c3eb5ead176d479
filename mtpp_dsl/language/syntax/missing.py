"""Find what is missing or too much where a text does not parse: a comma, a bracket, a character of another language."""

from __future__ import annotations

import re

from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.text.source import Diagnostic, Fix, Source, Span
from mtpp_dsl.language.syntax.grammar import run
from mtpp_dsl.language.syntax.keywords import FUNCTION_NAMES
from mtpp_dsl.language.syntax.tables import END, Failure, Token

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MARKS = {"RPAR": ")", "RSQB": "]", "RBRACE": "}", "COLON": ":"}
_FURTHER = 2_000
"""Characters of a piece that are parsed again with a mark put in, behind it."""
_NUMBER_BEFORE = re.compile(r"(?<![\w.])([0-9][0-9_.eE]*)((?:\s|#[^\n]*\n)+)$")
_UNIT_HERE = re.compile(r"[A-Za-zµ%]+(?:/s)?")
_TOUCHING = re.compile(r"(?<![\w.])([0-9][0-9_.]*)(for|if|in|and|or|on|not|at|up|to|by)\s+$")
_UNIT_BEFORE = re.compile(r"[0-9]\s+([A-Za-z_]\w*)\s*$")
_OPTIONS_HERE = re.compile(r"\(\s*[A-Za-z_]\w*\s*=(?!=)")
_LOOP_BEFORE = re.compile(r"\b(?:for|if)\b[^\n]*\Z")
_SHARE_BEFORE = re.compile(r"(?<![\w.])([0-9][0-9_.]*\s?%)[ \t]*\Z")
_LINKING = frozenset(["for", "forall", "if", "then", "else", "in", "and", "or", "on", "not", "at"])
_JOINING = frozenset(["for", "and", "or"])
_BEFORE_LOOP = "options stand before 'for' and 'if': 'constraint c: … <= 3 (penalty = 2) for d in devices'"
_DOTS_BEFORE = re.compile(r"\.\.<?\s*$")
_QUOTED_BEFORE = re.compile(r'"[ \t]*\Z')
_WORD_BEFORE = re.compile(r"([A-Za-z_]\w*)[ \t]*\Z")

_CHARACTERS = {
    ";": "options are separated by ',', and nothing stands between statements",
    "^": "powers are written pow(x, 2)",
    "?": "write 'if c then a else b'",
    "'": 'a string stands in double quotes, as "conv" does',
    "&": "write 'and'",
    "$": "an amount of money has its unit behind it: 3 USD, 3 USD/h",
    "\u20ac": "an amount of money has its unit behind it: 3 EUR, 3 EUR/h",
    "|": "write 'or'",
    "%": "a remainder is written mod(i, 3), and a share has the sign right behind its number, as 10%",
    "!": "write 'not'",
    "\u2264": "write '<='",
    "\u2265": "write '>='",
    "\u2260": "write '!='",
    "\u00d7": "write '*'",
    "\u00b7": "write '*'",
    "\u2212": "write '-'",
    "\u2013": "write '-'",
    "\u2192": "write '->'",
    "\u2194": "write '<->'",
    "\u2026": "a range is written '0..3'",
    "\u2200": "write 'forall'",
    "\u03bc": "microseconds are written us",
    "\u201c": "a string stands in plain double quotes",
    "\u201d": "a string stands in plain double quotes",
    "\u00a0": "it looks like a space, but is another character: write a plain space",
}


_MEANT = {
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\u00d7": "*",
    "\u00b7": "*",
    "\u2212": "-",
    "\u2013": "-",
    "\u2192": "->",
    "\u2194": "<->",
    "\u2200": "forall",
    "\u201c": '"',
    "\u201d": '"',
    "\u00a0": " ",
}
"""What characters can only stand for."""


def unexpected_character(source: Source, offset: int) -> Diagnostic:
    """Return the message for a character that begins no word of the language."""
    char = source.text[offset]
    if char != '"':
        hint = _CHARACTERS.get(char)
        message = f"unexpected character {char!r}{f': {hint}' if hint else ''}"
        span = Span(source, offset, offset + 1)
        meant = _MEANT.get(char)
        return Diagnostic(message, span, code="MTPP-E005", fix=None if meant is None else Fix.replace(span, meant))
    stop = source.text.find("\n", offset)
    return Diagnostic(
        "a string is not closed on its line",
        Span(source, offset, len(source.text) if stop < 0 else stop),
        code="MTPP-E003",
    )


def wrong_bracket(token: Token, opened: Span | None) -> str:
    """Return what is wrong about a bracket that closes nothing, or another one than is open; "" if nothing is."""
    if token.text not in (")", "]", "}"):
        return ""
    if opened is None:
        return f"this {token.text!r} closes nothing"
    wanted = _CLOSING[opened.text]
    return "" if wanted == token.text else f"{opened.text!r} is closed by {wanted!r}, not by {token.text!r}"


def misplaced(source: Source, failure: Failure, token: Token, opened: Span | None, word: str) -> str:
    """Return what is said in another way than the language says it, such as options without brackets; or "".

    Args:
        source: the text.
        failure: of the parser.
        token: where it failed, the whole word.
        opened: the innermost bracket that is open there.
        word: the first of the statement.
    """
    at_number = _at_number(source, token)
    if at_number:
        return at_number
    if token.text == "[" and _QUOTED_BEFORE.search(source.text, max(0, token.start - 100), token.start):
        plain = "'device d[4]'" if word.startswith("device") else "'node v[i in 0..3]', and any text as its label"
        return f"a name in quotes has no members: a family has a plain name, as in {plain}"
    before = _WORD_BEFORE.search(source.text, max(0, token.start - 100), token.start)
    takes_options = opened is None and word not in ("def", "block", "time", "let", "assert")
    if "LPAR" in failure.expected and takes_options and _is_option(source, token):
        return f"options stand in '(' and ')': write '({token.text} = …)'"
    taken_for_unit = _UNIT_BEFORE.search(source.text, max(0, token.start - 100), token.start)
    if token.text == "=" and taken_for_unit is not None and takes_options:
        return f"options stand in '(' and ')': write '({taken_for_unit[1]} = …)'"
    dots = _DOTS_BEFORE.search(source.text, max(0, token.start - 10), token.start)
    if dots is not None and token.text in (".", "=", "]", ")", ",") and "NUMBER" in failure.expected:
        return "a range has two ends, as in '0..3', or '0..<3' without its last end"
    if token.text in ("..", "..<") and "NUMBER" in failure.expected:
        return "a range has two ends, as in '0..3', or '0..<3' without its last end"
    foreign = _foreign(source, failure, token)
    if foreign:
        return foreign
    if token.kind == END or before is None:
        return ""
    if token.text == "(" and before[1] == "forall":
        return "'forall' is written 'forall d in devices:'"
    if word in ("constraint pin", "constraint forbid") and token.text in ("to", "at", "into", "onto"):
        return f"'pin' and 'forbid' are written 'pin a on d': write 'on' in place of {token.text!r}"
    behind_label = source.text[: before.start()].rstrip().endswith(":")
    if before[1] == "for" and (behind_label or token.text in ("all", "each", "every", "any")):
        return "'forall' is written 'forall d in devices:'"
    function = before[1] != "on" and before[1] in FUNCTION_NAMES
    if function and "LPAR" in failure.expected and token.text.isidentifier():
        return f"a function's arguments stand in '(' and ')': write '{before[1]}({token.text}…)'"
    return ""


def _foreign(source: Source, failure: Failure, token: Token) -> str:
    """Return what a mark or a word of other languages is called, or where the language puts it; or ""."""
    text, at = source.text, token.start
    behind = text[max(0, at - 200) : at]
    if token.text == "/" and (text.startswith("//", at) or behind.endswith("/")):
        return "a comment begins with '#'"
    if token.text == "=" and text.startswith(("=>", "=<"), at) and "COMPARISON" in failure.expected:
        sign = text[at : at + 2]
        return f"write '{sign[::-1]}' in place of {sign!r}"
    if token.text == "(" and END in failure.expected and _OPTIONS_HERE.match(text, at) and _LOOP_BEFORE.search(behind):
        return _BEFORE_LOOP
    if token.text == "forall" and END in failure.expected:
        return "'forall' stands before the row, as in 'forall d in devices:'; behind it, write 'for d in devices'"
    if token.text in ("within", "penalty") and END in failure.expected:
        return f"options stand in '(' and ')': write '({token.text} = …)'"
    share = _SHARE_BEFORE.search(behind)
    if share is not None and token.text.isidentifier() and END in failure.expected and token.text not in _LINKING:
        return f"a '*' is missing: write '{share[1]} * {token.text}'"
    return ""


def _at_number(source: Source, token: Token) -> str:
    """Return what is wrong about a unit that is not on the line of its number, or a keyword that touches one."""
    before = source.text[max(0, token.start - 200) : token.start]
    number = _NUMBER_BEFORE.search(before)
    unit = _UNIT_HERE.match(source.text, token.start)
    if number is not None and "\n" in number[2] and unit is not None and unit[0] in UNITS:
        return f"a unit stands on the line of its number: write '{number[1]} {unit[0]}'"
    touching = _TOUCHING.search(before)
    if touching is not None:
        return f"a space is missing between {touching[1]!r} and {touching[2]!r}"
    return ""


def _is_option(source: Source, token: Token) -> bool:
    """Return whether a name is followed by '=', as that of an option is."""
    following = source.text[token.stop : token.stop + 50].lstrip()
    return token.text.isidentifier() and following.startswith("=") and not following.startswith("==")


def missing_mark(
    source: Source,
    failure: Failure,
    token: Token,
    start: str,
    piece: tuple[int, int],
    opened: Span | None,
    hint: str,
) -> str:
    """Return that a comma, a colon or a closing bracket is missing, where the text parses on with it; else "".

    Args:
        source: the text.
        failure: of the parser.
        token: where it failed, the whole word.
        start: the rule that the piece was parsed by.
        piece: its offsets.
        opened: the innermost bracket that is open there.
        hint: the keyword that *token* may be meant to be, in words.
    """
    begin = piece[0]
    if token.kind == END or token.start - begin > 50 * _FURTHER:
        return ""
    is_option = _is_option(source, token)
    if token.text in ("=", "in"):  # the name before it was taken for a unit
        before = _WORD_BEFORE.search(source.text, max(begin, token.start - 100), token.start)
        if (
            before
            and opened is not None
            and _parses_on(source, start, piece, before.start(), ",", before[1] + " " + token.text)
        ):
            return f"a comma is missing before {before[1]!r}"
        return ""
    if token.text in UNITS and source.text[begin : token.start].rstrip(" \t").endswith(")"):
        return f"a unit stands behind a number alone; write (...) * 1 {token.text}"
    begins_value = token.text[0] in '"([{' or token.text[0].isalnum() or token.text[0] == "_"
    if token.text in _JOINING:  # [1, 2 for i in ...] wants a bracket, not a second value
        begins_value = False
    if token.text in ("(", "[", "{") and source.text[token.start - 1 : token.start].isalnum():
        begins_value = False
    quantified = opened is None and {"COMMA", "COLON"} <= failure.expected
    if quantified and _parses_on(source, start, piece, token.start, ":", token.text):
        return f"':' is missing before {token.text!r}"
    if "COMMA" in failure.expected and begins_value and (is_option or not hint):
        same_line = "\n" not in source.text[begin : token.start].rstrip(" \t")[-1:]
        if (opened is not None or same_line) and _parses_on(source, start, piece, token.start, ",", token.text):
            return f"a comma is missing before {token.text!r}"
    if hint:
        return ""
    closing = _CLOSING[opened.text] if opened is not None else ""
    for kind, mark in _MARKS.items():
        fits = kind in failure.expected and mark in (":", closing)
        if fits and _parses_on(source, start, piece, token.start, mark, ""):
            return f"{mark!r} is missing before {token.text!r}"
    return ""


def _parses_on(source: Source, start: str, piece: tuple[int, int], at: int, mark: str, word: str) -> bool:
    """Return whether the piece parses with *mark* put in at an offset: beyond *word* behind it, or as a whole."""
    begin, stop = piece
    end = min(stop, at + _FURTHER)
    text = source.text[begin:at] + mark + " " + source.text[at:end]
    try:
        run(Source("", text), start, 0, len(text))
    except Failure as failure:
        reached = failure.at if failure.token is None or failure.token.kind != END else len(text)
        return bool(word) and reached >= at - begin + len(mark) + 1 + len(word)
    except OverflowError:
        return False
    return True
