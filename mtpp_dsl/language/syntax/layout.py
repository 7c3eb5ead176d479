"""The formatter: one layout for every spec, no comment lost.

It works on tokens, so that what a text says cannot change: line breaks inside a statement are the
author's, spaces are not. Neighbouring lines of one kind are set as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.lexing import lexemes
from mtpp_dsl.language.syntax.parser import parse

_KEYWORDS = {
    *("in", "if", "then", "else", "for", "and", "or", "not", "forall", "by", "on", "at", "most", "up", "to", "from"),
    *("include", "import", "pin", "forbid", "separate", "colocate", "subgraphs", "repeat", "replicate", "shard"),
}
_WORDS = ("NAME", "UNIT")
_ROWS = ("node", "edge", "use", "type", "device", "switch", "link", "time")
_INDENT = "  "


@dataclass
class _Token:
    """A token and how it is set: what the first pass finds out, the second uses."""

    text: str
    kind: str
    offset: int
    breaks: int = 0  # newlines before it
    starts: bool = False  # begins a statement or an item, or ends a block
    glued: bool = False  # no space before it
    column: str = ""  # of the table row it begins
    bracket: str = ""  # what an opening bracket opens: a block (of a graph, a scenario, …), options or other
    word: str = ""  # the first word of its statement


@dataclass
class _Line:
    indent: int
    cells: list[tuple[str, str]] = field(default_factory=list)  # (column, text)
    comment: str = ""
    blank_before: bool = False
    row: str = ""  # the kind of table row it is, if it holds a whole node, edge, device or link

    @property
    def code(self) -> str:
        return " " * self.indent + " ".join(text for _, text in self.cells) if self.cells else ""


def format_spec(source: Source) -> str:
    """Return the text in the one layout.

    ``parse(format_spec(x)) == parse(x)``, and its own result stays as it is.

    Raises:
        SpecError: the text does not parse.
    """
    before = parse(source)
    lines = _set(_annotated(_tokens(source.text), _starts(before)))
    for rows in _runs(lines, lambda line: line.row):
        _align(rows)
    text = _joined(lines)
    if parse(Source(source.name, text)) != before:
        raise MtppError(f"formatting {source.name} would change its meaning; nothing was written")
    return text


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    before = 0
    for word in lexemes(text):
        breaks = text.count("\n", before, word.offset)
        tokens.append(_Token(word.text.rstrip(), "MARK" if word.text == "%" else word.kind, word.offset, breaks))
        before = word.stop
    return tokens


def _starts(parts: Iterable[tree.Tree]) -> dict[int, bool]:
    """Return where statements and items begin, and whether one has a block: ``time`` is not always a keyword."""
    starts: dict[int, bool] = {}
    for part in parts:
        inner: tuple[tree.Tree, ...] | None = None
        if isinstance(part, (tree.GraphBlock, tree.BlockStatement)):
            inner = part.items
        elif isinstance(part, tree.ScenarioStatement):
            inner = part.statements
        starts[part.span.start] = inner is not None
        starts.update(_starts(inner or ()))
    return starts


def _annotated(tokens: list[_Token], starts: dict[int, bool]) -> list[_Token]:
    """Fill in how every token is set; *starts*: see :func:`_starts`."""
    code = [token for token in tokens if token.kind != "COMMENT"]
    stack: list[str] = []
    word, has_block = "", False
    for i, token in enumerate(code):
        before = code[i - 1] if i else None
        if token.text in (")", "]", "}") and stack:
            token.starts = stack.pop() == "block"
        elif token.offset in starts:
            token.starts, word, has_block = True, token.text, starts[token.offset]
        token.word = word
        token.bracket = _bracket(token, [later.text for later in code[i + 1 : i + 3]], has_block, stack)
        has_block = has_block and token.bracket != "block"
        token.column = _column(token, word, stack)
        if i > 2 and code[i - 3].text == "constraint" and code[i - 1].text == ":":
            token.column = "body"
        token.glued = before is not None and _glued(
            token, before, code[i - 2] if i > 1 else None, code[i + 1] if i + 1 < len(code) else None
        )
        if token.bracket:
            stack.append(token.bracket)
    return tokens


def _bracket(token: _Token, following: list[str], has_block: bool, stack: list[str]) -> str:
    if token.text not in ("(", "[", "{"):
        return ""
    if token.text == "{" and has_block:
        return "block"
    empty = following[:1] == [")"] and token.word not in ("def", "block")
    options = token.text == "(" and set(stack) <= {"block"} and (empty or following[1:2] == ["="])
    return "options" if options else "other"


def _column(token: _Token, word: str, stack: list[str]) -> str:
    if word not in _ROWS or not set(stack) <= {"block"}:
        return ""
    if token.text in ("->", "<->"):
        return "arrow"
    if word == "time":
        return token.text if token.text in ("on", "at", "=") else ""
    return "options" if token.bracket == "options" else "for" if token.text == "for" else ""


def _glued(token: _Token, before: _Token, earlier: _Token | None, later: _Token | None) -> bool:
    """Return whether no space goes before *token*: ``f(x)``, ``a[i]``, ``-1``, ``1/2``, ``0..3``."""
    text = token.text
    if text == "/" or before.text == "/":
        ends = (before, later) if text == "/" else (earlier, token)
        return all(end is not None and end.kind == "NUMBER" for end in ends)
    if text in (")", "]", ",", ":", "..", "..<", ".", "%") or before.text in ("(", "[", "..", "..<", "."):
        return True
    if text == "}" or before.text == "{":
        return before.text == "{" and text == "}"
    if text == "(":
        return token.bracket == "other" and before.kind in _WORDS and (before.text == "on" or _is_name(before))
    if text == "[":
        labels = earlier is not None and earlier.starts and earlier.text == "constraint"
        return before.text in (")", "]", "}") or (_is_name(before) and not labels)
    return before.text == "-" and _begins_operand(earlier)


def _is_name(token: _Token) -> bool:
    return token.kind in _WORDS and token.text not in _KEYWORDS and not token.starts


def _begins_operand(before: _Token | None) -> bool:
    """Return whether a minus after *before* is a sign."""
    if before is None or before.text in (")", "]", "}", "%"):
        return False
    return before.kind == "MARK" or before.text in _KEYWORDS or before.starts


def _set(tokens: list[_Token]) -> list[_Line]:
    """Set the tokens in lines, without alignment."""
    lines: list[_Line] = []
    opened: list[int | None] = []  # the column after each open bracket; None for a block's
    opens_block = False
    for token in tokens:
        if token.text in (")", "]", "}") and token.kind == "MARK" and opened:
            opened.pop()
        fresh = token.starts or token.breaks > 0 or opens_block or not lines
        if token.kind == "COMMENT" and lines and not token.breaks:
            lines[-1].comment = token.text
            opens_block = opens_block or bool(opened and opened[-1] is None and lines[-1].code.endswith("{"))
            continue
        if fresh:
            indent = _indent(opened, token.starts or (token.kind == "COMMENT" and not any(opened)))
            lines.append(_Line(indent, blank_before=token.breaks > 1 and bool(lines)))
            if token.starts and token.word in _ROWS and token.text != "}":
                lines[-1].row = token.word
            elif not token.starts and token.kind != "COMMENT" and len(lines) > 1:
                lines[-2].row = ""
        if token.kind == "COMMENT":
            lines[-1].comment = token.text
            continue
        _put(lines[-1], token)
        if token.column == "body":
            lines[-1].row = "labelled"
        if token.bracket:
            opened.append(None if token.bracket == "block" else len(lines[-1].code))
        opens_block = token.bracket == "block"
    return lines


def _indent(opened: list[int | None], starts: bool) -> int:
    if opened and opened[-1] is not None:
        return opened[-1]
    depth = len(opened) * len(_INDENT)
    return depth if starts else depth + 2 * len(_INDENT)


def _put(line: _Line, token: _Token) -> None:
    if not line.cells or token.column:
        line.cells.append((token.column or "head", token.text))
        return
    column, old = line.cells[-1]
    line.cells[-1] = (column, old + ("" if token.glued else " ") + token.text)


def _runs(lines: list[_Line], key: object) -> Iterator[list[_Line]]:
    """Yield runs of two or more neighbouring lines with one true key and no blank line between."""
    run: list[_Line] = []
    for line in lines:
        value = key(line)  # type: ignore[operator]
        if run and (not value or value != key(run[-1]) or line.blank_before):  # type: ignore[operator]
            yield run
            run = []
        if value:
            run.append(line)
    if run:
        yield run


def _align(rows: list[_Line]) -> None:
    """Pad the cells of a run of rows so that equal columns stand under each other."""
    columns = max(len(row.cells) for row in rows)
    done = [0] * len(rows)
    width = [""] * len(rows)
    for _ in range(columns):
        names = [row.cells[done[i]][0] for i, row in enumerate(rows) if done[i] < len(row.cells)]
        name = min(names, key=("head", "arrow", "options", "on", "at", "=", "for", "body").index)
        now = [i for i, row in enumerate(rows) if done[i] < len(row.cells) and row.cells[done[i]][0] == name]
        start = max(len(width[i]) for i in now)
        for i in now:
            gap = " " * (start - len(width[i]) + 1) if name != "head" else ""
            width[i] += gap + rows[i].cells[done[i]][1]
            done[i] += 1
    for i, row in enumerate(rows):
        rest = "".join(" " + text for _, text in row.cells[done[i] :])
        row.cells = [("head", width[i] + rest)]


def _joined(lines: list[_Line]) -> str:
    """Return the text, with trailing comments of neighbouring lines under each other."""
    for run in _runs(lines, lambda line: bool(line.comment and line.cells)):
        width = max(len(line.code) for line in run)
        for line in run:
            line.comment = " " * (width - len(line.code) + 2) + line.comment
    parts: list[str] = []
    for line in lines:
        if line.blank_before:
            parts.append("")
        parts.append(line.code + line.comment if line.cells else " " * line.indent + line.comment)
    return "\n".join(parts).strip("\n") + "\n" if parts else ""
