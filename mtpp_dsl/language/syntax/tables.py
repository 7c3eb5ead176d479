"""Parsing by the tables that Lark makes of the grammar, in a loop of its own.

Lark's own loop takes some 25 us for each word of a spec, most of it for positions, trees and chains of rules with one
part. This one keeps offsets instead of lines, builds the syntax tree directly, and passes a chain of rules such as
number -> atom -> product -> sum in one step, once it has seen it.

It also takes every word whole: ``lets`` is no ``let``. Of the words that may come in a state some are keywords, the
others are names, or behind a number and on its line, units. A word that begins statements is a name where a name may
come, too, unless it begins a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from lark import Lark

END = "$END"
_NAME, _UNIT = "NAME", "UNIT"
_WORD = "[A-Za-z_][A-Za-z0-9_]*+"
_IGNORED = r"(?:[ \t\f\r\n]++|#[^\n]*+)*+"


class Token(NamedTuple):
    """A word of the text, the terminal that it is, and its offsets."""

    text: str
    kind: str
    start: int
    stop: int


class ValueBuilder(Protocol):
    """Makes the values of rules: by name, of the offsets of the rule's text and of the values of its parts."""

    def __getitem__(self, rule: str, /) -> Callable[[int, int, list[Any]], Any]: ...


class _Rule(NamedTuple):
    """A reduction: how many values it takes from the stack, and what it makes of them.

    Attributes:
        size: of the expansion.
        origin: the rule's name in the tables.
        name: what the builder calls it; "" where its one part is passed on, "*" for the first members of a repetition,
            "+" for further ones.
        parts: of the expansion, those that the builder gets: position (None for an absent optional part), and
            whether the part is a repetition, whose members are parts themselves.
    """

    size: int
    origin: str
    name: str
    parts: tuple[tuple[int | None, bool], ...]


class _Scanner(NamedTuple):
    """The words that may come in a state.

    Attributes:
        match: one pattern for all.
        kinds: the terminal of each group of the pattern; for words that of those that are no keywords.
        keywords: words, and the terminals that they are.
        words: the groups that keywords are in.
        doubtful: keywords that are names unless they begin a line.
    """

    match: Callable[[str, int, int], re.Match[str] | None]
    kinds: Mapping[int, str]
    keywords: Mapping[str, str]
    words: frozenset[int]
    doubtful: frozenset[str]


class _Scanners(dict[int, _Scanner]):
    """The scanner of each state, made when it is first used: most specs need few of them."""

    def __init__(self, lexers: Mapping[int, Any], beginnings: frozenset[str]) -> None:
        super().__init__()
        self.lexers, self.beginnings = lexers, beginnings
        self.made: dict[int, _Scanner] = {}  # by the lexer, which states share

    def __missing__(self, state: int) -> _Scanner:
        lexer = self.lexers[state]
        if id(lexer) not in self.made:
            self.made[id(lexer)] = _scanner(lexer, self.beginnings)
        self[state] = self.made[id(lexer)]
        return self[state]


@dataclass
class Failure(Exception):
    """A text that does not parse.

    Attributes:
        at: offset of the word, or of the character that begins none.
        token: the word; None for a character.
        state: of the parser, by which messages are found.
        expected: the terminals that could come instead.
        pending: offset of the statement in which it failed.
        made: the values of what was parsed before, from the outermost rule inwards.
    """

    at: int
    token: Token | None
    state: int
    expected: frozenset[str]
    pending: int
    made: tuple[Any, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"no word that may stand at {self.at}"

    @property
    def before(self) -> tuple[Any, ...]:
        """The statements, or the parts of another repetition, that are complete before the one that failed."""
        return tuple(self.made[0]) if self.made and isinstance(self.made[0], list) else ()


class Tables:
    """The tables of a grammar.

    Args:
        lark: the grammar, with ``parser="lalr"``, the contextual lexer and ``maybe_placeholders``.
    """

    def __init__(self, lark: Lark) -> None:
        frontend = cast("Any", lark.parser)
        table, lexer = frontend.parser._parse_table, frontend.lexer
        self.starts: dict[str, int] = dict(table.start_states)
        self.ends: dict[str, int] = dict(table.end_states)
        rules: dict[Any, _Rule] = {}
        self.actions: dict[int, dict[str, Any]] = {}  # the next state, or a rule
        for state, row in table.states.items():
            self.actions[state] = {
                str(name): argument if action.name == "Shift" else rules.setdefault(argument, _rule(argument))
                for name, (action, argument) in row.items()
            }
        self.beginnings = frozenset(self.actions[self.starts["statement"]])
        self.scanners = _Scanners(lexer.lexers, self.beginnings)
        self.every = _scanner(lexer.root_lexer, frozenset(), units=False)  # takes every word, wherever it may stand
        self.chains: dict[tuple[int, int, str], int] = {}

    def run(self, text: str, start: str, begin: int, end: int, build: ValueBuilder, most: int) -> tuple[Any, int]:
        """Parse ``text[begin:end]`` as the rule *start*; return its value and the number of words.

        Raises:
            Failure: it does not parse.
            OverflowError: it has more than *most* words.
        """
        actions, scanners, chains, final = self.actions, self.scanners, self.chains, self.ends[start]
        state = self.starts[start]
        states = [state]
        values: list[Any] = []
        begins: list[int] = []
        at = last = begin
        for count in range(most + 1):
            # Scan: take the next word, by what may come in this state, and say which terminal it is.
            match_, kinds, keywords, words, doubtful = scanners[state]
            match = match_(text, at, end)
            if match is None:
                raise self._failure(text, at, end, states, values, begins)
            group: Any = match.lastindex
            kind, word = kinds[group], match[group]
            began, at = match.span(group)
            if group in words and word in keywords and not (word in doubtful and _within_line(text, began)):
                kind = keywords[word]
            while True:
                # Shift: the word is a part of what is being built, and a state to go on from.
                action = actions[state].get(kind)
                if action.__class__ is int:
                    state = action
                    states.append(state)
                    values.append(Token(word, kind, began, at))
                    begins.append(began)
                    last = at
                    break
                if action is None:
                    raise self._failed_at(Token(word, kind, began, at), states, values, begins)
                # Pass on: of a chain of rules of one part each, the value stays, and the state at its end is known.
                size, origin, name, parts = action
                if not name:
                    chain = (states[-2], state, kind)
                    if chain not in chains:
                        chains[chain] = self._end_of_chain(*chain)
                    states[-1] = state = chains[chain]
                    if state == final and kind == END:
                        return values[-1], count
                    continue
                # Reduce: the last values, as many as the rule has parts, become one.
                if size:
                    children = values[-size:]
                    first = begins[-size]
                    del states[-size:], values[-size:], begins[-size:]
                else:
                    children, first = [], last
                if name in ("*", "+"):  # a repetition: its members are added to the list of those before
                    value = children[0] if name == "+" else []
                    for part, repeated in parts[name == "+" :]:
                        if repeated:
                            value += children[cast("int", part)]
                        else:
                            value.append(children[cast("int", part)])
                else:
                    given: list[Any] = []
                    for part, repeated in parts:
                        if repeated:
                            given += children[cast("int", part)]
                        else:
                            given.append(None if part is None else children[part])
                    value = given[0] if name == "=" else build[name](first, last, given)
                # Go to the state that the rule leads to from the one before it, with the same word ahead.
                state = actions[states[-1]][origin]
                states.append(state)
                values.append(value)
                begins.append(first)
                if state == final and kind == END:
                    return values[-1], count
        raise OverflowError

    def _end_of_chain(self, below: int, state: int, kind: str) -> int:
        """Return the state after all rules of one part that *kind* closes, each passing its part on."""
        while True:
            action = self.actions[state].get(kind)
            if not isinstance(action, _Rule) or action.name:
                return state
            state = self.actions[below][action.origin]

    def _failure(
        self, text: str, at: int, end: int, states: list[int], values: list[Any], begins: list[int]
    ) -> Failure:
        """Return the failure where no word that may come here follows."""
        match = self.every.match(text, at, end)
        if match is not None:
            group = cast("int", match.lastindex)
            return self._failed_at(
                Token(match[group], self.every.kinds[group], *match.span(group)), states, values, begins
            )
        ignored = re.compile(_IGNORED).match(text, at, end)
        bad = ignored.end() if ignored is not None else at
        return Failure(bad, None, states[-1], self._expected(states), _pending(values, begins, bad), tuple(values))

    def _failed_at(self, token: Token, states: list[int], values: list[Any], begins: list[int]) -> Failure:
        if token.kind == _NAME:
            token = token._replace(kind=self.every.keywords.get(token.text, _NAME))
        pending = _pending(values, begins, token.start)
        return Failure(token.start, token, states[-1], self._expected(states), pending, tuple(values))

    def _expected(self, states: list[int]) -> frozenset[str]:
        """Return the terminals that could come next."""
        return frozenset(kind for kind in self.actions[states[-1]] if kind.isupper() and self._takes(states, kind))

    def _takes(self, states: list[int], kind: str) -> bool:
        """Return whether a word of *kind* could come next."""
        stack = list(states)
        while True:
            action = self.actions[stack[-1]].get(kind)
            if action is None:
                return False
            if not isinstance(action, _Rule):
                return True
            if action.size:
                del stack[-action.size :]
            following: int = self.actions[stack[-1]][action.origin]
            if kind == END and following in self.ends.values():
                return True
            stack.append(following)


def _pending(values: list[Any], begins: list[int], at: int) -> int:
    """Return where the statement begins that is not complete: after the list of those that are."""
    complete = 1 if values and isinstance(values[0], list) else 0
    return begins[complete] if len(begins) > complete else at


def _rule(rule: Any) -> _Rule:
    """Return a rule of Lark's with what it makes of its parts, as Lark's own trees have them."""
    options, expansion = rule.options, rule.expansion
    absent = options.empty_indices or (False,) * len(expansion)
    parts: list[tuple[int | None, bool]] = []
    position = 0
    for is_absent in absent:
        if is_absent:
            parts.append((None, False))
            continue
        symbol = expansion[position]
        if not (symbol.is_term and symbol.filter_out):
            parts.append((position, not symbol.is_term and symbol.name.startswith("_")))
        position += 1
    origin = str(rule.origin.name)
    if origin.startswith("_"):
        name = "+" if expansion and expansion[0].name == origin else "*"
    elif options.expand1 and not rule.alias and len(parts) == 1 and not parts[0][1]:
        name = "" if len(expansion) == 1 else "="
    else:
        name = str(rule.alias or origin)
    return _Rule(len(expansion), origin, name, tuple(parts))


def _scanner(basic: Any, beginnings: frozenset[str], units: bool = True) -> _Scanner:
    """Return the scanner of one of Lark's lexers, which passes over spaces and comments by itself.

    Args:
        basic: knows the terminals that may come.
        beginnings: the terminals that begin a statement.
        units: whether units may come.
    """
    terminals = {str(t.name): t for t in basic.terminals if t.name not in basic.ignore_types}
    keywords = {t.pattern.value: name for name, t in terminals.items() if _is_word(t)}
    unit = terminals.pop(_UNIT, None)
    marks = [(name, t) for name, t in terminals.items() if name != _NAME and not _is_word(t)]
    choices = [f"(?P<{_NAME}>{_WORD})", *(f"(?P<{name}>{t.pattern.to_regexp()})" for name, t in marks), "(?P<END>\\Z)"]
    pattern = f"{_IGNORED}(?:{'|'.join(choices)})"
    if unit is not None and units:  # at its number, or behind it on the line, where a keyword may stand, too
        written = unit.pattern.to_regexp()
        pattern = f"(?P<{_UNIT}>{written})|[ \\t\\f\\r]++(?P<SPACED>{written})|{pattern}"
    compiled = re.compile(pattern)
    groups = compiled.groupindex
    kinds = {group: {"END": END, "SPACED": _UNIT}.get(name, str(name)) for name, group in groups.items()}
    words = frozenset(group for name, group in groups.items() if name in (_NAME, "SPACED"))
    both = _NAME in terminals
    doubtful = frozenset(word for word, name in keywords.items() if both and name in beginnings)
    return _Scanner(compiled.match, kinds, keywords, words, doubtful)


def _is_word(terminal: Any) -> bool:
    """Return whether a terminal is one word."""
    return terminal.pattern.type == "str" and str(terminal.pattern.value).isidentifier()


def _within_line(text: str, at: int) -> bool:
    """Return whether something stands before an offset on its line."""
    return bool(text[text.rfind("\n", 0, at) + 1 : at].strip())
