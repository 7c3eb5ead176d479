"""Find what stands around a place of a text that need not parse: the statement, the brackets, what may come next.

It is read from the words before the place, not from a syntax tree: while somebody types, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mtpp_dsl.core.problem.objective import OBJECTIVES
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.editor.server.features.marks import TextMark, marks_before
from mtpp_dsl.language.syntax.grammar import run
from mtpp_dsl.language.syntax.keywords import BEGINS_ITEM, ITEMS, RULES, STATEMENTS
from mtpp_dsl.language.syntax.lexing import lexemes
from mtpp_dsl.language.syntax.tables import Failure

_AHEAD = 5_000
"""Characters behind the place that are looked at for options that are given there."""

_CONTAINERS = ("graph", "block", "scenario")
_OPENING, _CLOSING = "([{", ")]}"
_NUMBER = re.compile(
    r"(?<![\w.\"])[0-9][0-9_]*(?:\.(?!\.)[0-9_]*)?(?:[eE][+-]?[0-9]+)?[ \t]*([A-Za-z\u00b5%][A-Za-z\u00b5/]*)?\Z"
)
_TAKE_OPTIONS = (
    "node",
    "edge",
    "use",
    "device",
    "type",
    "switch",
    "interconnect",
    "link",
    "phase",
    "times",
    "import",
    "graph",
    "target",
)


@dataclass
class Frame:
    """A bracket that is open, or the text itself.

    Attributes:
        sign: the bracket; "" for the text.
        kind: "text", "graph", "block" or "scenario" where statements or items stand, "options", "call", "subscript",
            "set" or "group".
        name: of the block, or of the function that is called.
        opener: number of the mark; -1 for the text.
        offset: of the mark.
        begun: number of the mark that begins the statement or item in it; -1 where none does.
    """

    sign: str
    kind: str
    name: str
    opener: int
    offset: int = 0
    begun: int = -1


@dataclass(frozen=True)
class Context:
    """What stands around a place.

    Attributes:
        prefix: the beginning of a word that stands before the place.
        start: where that begins.
        comment: whether the place is in a comment.
        string: what is before the place of a string that is open; None where none is.
        number: whether the prefix is behind a number, as a unit.
        marks: those of the innermost statement or item, up to the prefix.
        frames: brackets that are open, the text first.
        fresh: whether the prefix begins a line.
        column: in which the prefix begins, from 0.
        expected: the terminals of the grammar that may come; None where the statement is broken before the place.
        given: options that are already given between the brackets.
    """

    prefix: str
    start: int
    comment: bool
    string: str | None
    number: bool
    marks: tuple[TextMark, ...]
    frames: tuple[Frame, ...]
    fresh: bool
    column: int
    expected: frozenset[str] | None
    given: frozenset[str]

    @property
    def keyword(self) -> str:
        """The word that begins the statement or item; "" where none does."""
        return self.marks[0].text if self.marks else ""

    @property
    def before(self) -> str:
        """The mark before the prefix, in the statement; "" at its beginning."""
        return self.marks[-1].text if self.marks else ""

    @property
    def frame(self) -> Frame:
        """The innermost bracket that is open."""
        return self.frames[-1]

    @property
    def container(self) -> Frame:
        """The innermost graph, block or scenario that is open, or the text."""
        return next(frame for frame in reversed(self.frames) if frame.kind in ("text", *_CONTAINERS))

    @property
    def home(self) -> str:
        """Where names of nodes are known: "" or "block NAME"."""
        return f"block {self.container.name}" if self.container.kind == "block" else ""

    @property
    def owner(self) -> str:
        """What takes the options of the statement: see :func:`mtpp_dsl.language.words.vocabulary.owners`."""
        return _owner(self.marks)

    @property
    def option(self) -> str:
        """The option whose value is being written; "" where none is."""
        if "options" not in [frame.kind for frame in self.frames]:
            return ""
        last = max(number for number, frame in enumerate(self.frames) if frame.kind == "options")
        depth, after = len(self.frames) - 1 - last, ""
        for number in range(len(self.marks) - 1, 0, -1):
            text = self.marks[number].text
            if text in _CLOSING:
                depth += 1
            elif text in _OPENING:
                depth -= 1
                if depth < 0:
                    return ""
            elif depth == 0 and text == ",":
                return ""
            elif depth == 0 and text == "=" and after != "=":
                return self.marks[number - 1].text
            after = text
        return ""


def context_at(source: Source, offset: int) -> Context:
    """Return what stands around an offset of a text, whatever is wrong with the text."""
    text = source.text
    offset = max(0, min(offset, len(text)))
    marks, comment, string, cut = marks_before(text, offset)
    prefix = "" if comment or string is not None else cut
    start = offset - len(prefix) if string is None else offset - len(string)
    line = text.rfind("\n", 0, start) + 1
    unit = None if comment or string is not None else _NUMBER.search(text, max(line, offset - 80), offset)
    if unit is not None:
        prefix = unit[1] or ""
        start = offset - len(prefix)
        marks = [mark for mark in marks if mark.stop <= start]
    frames = _frames(marks)
    container = next(
        number for number in range(len(frames) - 1, -1, -1) if frames[number].kind in ("text", *_CONTAINERS)
    )
    begun = frames[container].begun
    inside = tuple(marks[begun:]) if begun >= 0 else ()
    expected = None
    if not comment:
        expected = _expected(
            text, frames[container].kind, inside[0].offset if inside else start, start - (string is not None)
        )
    return Context(
        prefix=prefix,
        start=start,
        comment=comment,
        string=string,
        number=unit is not None,
        marks=inside,
        frames=tuple(frames),
        fresh=not text[line:start].strip(),
        column=start - line,
        expected=expected,
        given=_given(text, marks, frames[-1], offset),
    )


def _frames(marks: Sequence[TextMark]) -> list[Frame]:
    """Return the brackets that are open behind marks; a statement in the first column closes all of them."""
    frames = [Frame("", "text", "", -1)]
    for number, mark in enumerate(marks):
        word = mark.text
        if mark.first and word in STATEMENTS and word not in BEGINS_ITEM:
            del frames[1:]
            frames[0].begun = number
            continue
        holder = next(at for at in range(len(frames) - 1, -1, -1) if frames[at].kind in ("text", *_CONTAINERS))
        if _begins(marks, number, frames, holder):
            del frames[holder + 1 :]
            frames[-1].begun = number
        elif word in _OPENING:
            frames.append(_opened(marks, number, frames[holder].begun, frames))
        elif word in _CLOSING and len(frames) > 1:
            pairs = [at for at, frame in enumerate(frames) if frame.sign == _OPENING[_CLOSING.index(word)]]
            if pairs:
                del frames[pairs[-1] :]
    return frames


def _begins(marks: Sequence[TextMark], number: int, frames: Sequence[Frame], holder: int) -> bool:
    """Return whether a mark begins a statement or an item in the innermost container."""
    word, kind = marks[number].text, frames[holder].kind
    inside = len(frames) - 1 - holder
    before = marks[number - 1].text if number else ""
    if kind in ("graph", "block"):
        if word not in ITEMS:
            return False
        named = before in (".", "->", "=", "node", "use", "as", ",", "(", "[", "in") or (
            inside and not marks[number].begins_line
        )
        return not named and (not inside or word in ("node", "edge", "use"))
    if word not in STATEMENTS or before in (".", "constraint", "->"):
        return False
    return (marks[number].begins_line and not inside) or frames[holder].begun < 0 or (before == "{" and not inside)


def _opened(marks: Sequence[TextMark], number: int, begun: int, frames: Sequence[Frame]) -> Frame:
    """Return the frame of a bracket."""
    sign, before = marks[number].text, marks[number - 1].text if number else ""
    statement = marks[begun:number] if begun >= 0 else ()
    keyword = statement[0].text if statement else ""
    top = frames[-1].kind in ("text", *_CONTAINERS)
    if sign == "{" and top and keyword in _CONTAINERS and "from" not in [mark.text for mark in statement]:
        return Frame(sign, keyword, statement[1].text if len(statement) > 1 else "", number, marks[number].offset)
    if sign == "[":
        return Frame(
            sign,
            "subscript" if before.isidentifier() or before in ("]", ")") else "group",
            before,
            number,
            marks[number].offset,
        )
    if sign == "{":
        return Frame(sign, "set", "", number, marks[number].offset)
    if top and _takes_options(statement, before):
        return Frame(sign, "options", "", number, marks[number].offset)
    called = before.isidentifier() and before not in ("in", "and", "or", "not", "if", "then", "else", "forall")
    return Frame(sign, "call" if called else "group", before if called else "", number, marks[number].offset)


def _takes_options(statement: Sequence[TextMark], before: str) -> bool:
    """Return whether a bracket behind a statement's words holds options."""
    if not statement or before in ("for", "if", "in", "=", "<=", ">=", "+", "-", "*", "/", ":"):
        return False
    keyword = statement[0].text
    if keyword in _TAKE_OPTIONS:
        return not any(mark.text in ("for", "if") for mark in statement)
    if keyword == "constraint" and len(statement) > 1:
        labelled = len(statement) > 2 and statement[2].text == ":"
        return (
            not labelled
            or before[0].isdigit()
            or before in ")]"
            or (before.isidentifier() and statement[-2].text[:1].isdigit())
        )
    if keyword in ("minimize", "maximize"):
        named = len(statement) == 2 or (len(statement) == 4 and statement[2].text == ":")
        return before in ")]" or before[0].isdigit() or (named and before in OBJECTIVES)
    return False


def _owner(marks: Sequence[TextMark]) -> str:
    """Return what takes the options of a statement, by its words."""
    words = [mark.text for mark in marks]
    keyword, second = words[0] if words else "", words[1] if len(words) > 1 else ""
    match keyword:
        case "interconnect":
            return f"interconnect {second}"
        case "use":
            return f"block {second}"
        case "target":
            name = second.strip('"')
            return f"target {name}"
        case "minimize" | "maximize":
            name = words[3] if words[2:3] == [":"] and len(words) > 3 else second
            alone = words[4:5] in ([], ["("]) if words[2:3] == [":"] else words[2:3] in ([], ["("])
            return f"objective {name}" if name in OBJECTIVES and alone else "objective"
        case "constraint":
            return "constraint:" if words[2:3] == [":"] else f"constraint {second}"
        case "import" | "graph":
            return f"generator {words[3]}" if words[1:3] == ["from", "generator"] and len(words) > 3 else "file"
    return keyword


def _expected(text: str, kind: str, begin: int, stop: int) -> frozenset[str] | None:
    """Return the terminals that the grammar allows at *stop*, in a statement or item that begins at *begin*."""
    rule = {"graph": "item", "block": "block_item"}.get(kind, "start")
    piece = text[begin:stop]
    if not piece.strip() and rule != "start":
        return None
    try:
        run(Source("", f"{piece}\x00"), rule, 0, len(piece) + 1)
    except Failure as failure:
        return failure.expected if failure.at >= len(piece.rstrip()) else None
    except (OverflowError, RecursionError):
        return None
    return None


def _given(text: str, marks: Sequence[TextMark], frame: Frame, offset: int) -> frozenset[str]:
    """Return the names of the options between the brackets that are open, before and behind an offset."""
    if frame.kind not in ("options", "call"):
        return frozenset()
    given = set()
    depth = 0
    for number in range(frame.opener + 1, len(marks)):
        word = marks[number].text
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 0 and word == "=" and number > frame.opener + 1:
            given.add(marks[number - 1].text)
    before = ""
    for mark in lexemes(text, offset, min(len(text), offset + _AHEAD)):
        word = mark.text
        if mark.kind == "COMMENT":
            continue
        fresh = "\n" in text[max(0, mark.offset - 1) : mark.offset]
        if depth < 0 or (fresh and word in STATEMENTS):
            break
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 0 and word == "=" and before.isidentifier():
            given.add(before)
        before = word
    return frozenset(given)


def rule_of(marks: Sequence[TextMark]) -> str:
    """Return the rule of a constraint; "" where it is labelled, or none is written yet."""
    word = marks[1].text if len(marks) > 1 and marks[0].text == "constraint" else ""
    return word if word in RULES and not (len(marks) > 2 and marks[2].text == ":") else ""
