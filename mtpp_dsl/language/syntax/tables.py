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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

from mtpp_dsl.language.syntax.grammar_data import GrammarData, Terminal

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

    def __init__(self, data: GrammarData, terminals: Mapping[str, Terminal], beginnings: frozenset[str]) -> None:
        super().__init__()
        self.data, self.terminals, self.beginnings = data, terminals, beginnings
        self.made: dict[int, _Scanner] = {}  # by the number of the lexer, which states share

    def __missing__(self, state: int) -> _Scanner:
        number = self.data.lexer[state]
        if number not in self.made:
            names = self.data.lexers[number]
            self.made[number] = _scanner([self.terminals[name] for name in names], self.beginnings)
        self[state] = self.made[number]
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
        data: the grammar.
    """

    def __init__(self, data: GrammarData) -> None:
        rules = data.rules
        self.starts, self.ends = data.starts, data.ends
        self.actions: list[dict[str, Any]] = [  # of each state: the next state, or size, origin, name, parts of a rule
            {name: to if to >= 0 else rules[-1 - to][:4] for name, to in row.items()} for row in data.actions
        ]
        self.beginnings = frozenset(self.actions[self.starts["statement"]])
        terminals = {terminal.name: terminal for terminal in data.terminals}
        self.scanners = _Scanners(data, terminals, self.beginnings)
        # takes every word, wherever it may stand
        self.every = _scanner([terminals[name] for name in data.every], frozenset(), units=False)
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
            if not isinstance(action, tuple):
                return state
            _, origin, name, _ = action
            if name:
                return state
            state = self.actions[below][origin]

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
            if not isinstance(action, tuple):
                return True
            size, origin, *_ = action
            if size:
                del stack[-size:]
            following: int = self.actions[stack[-1]][origin]
            if kind == END and following in self.ends.values():
                return True
            stack.append(following)


def _pending(values: list[Any], begins: list[int], at: int) -> int:
    """Return where the statement begins that is not complete: after the list of those that are."""
    complete = 1 if values and isinstance(values[0], list) else 0
    return begins[complete] if len(begins) > complete else at


def _scanner(given: Iterable[Terminal], beginnings: frozenset[str], units: bool = True) -> _Scanner:
    """Return a scanner, which passes over spaces and comments by itself.

    Args:
        given: the terminals that may come, in the order in which they are tried.
        beginnings: the terminals that begin a statement.
        units: whether units may come.
    """
    terminals = {t.name: t for t in given}
    keywords = {t.text: name for name, t in terminals.items() if t.text is not None and t.text.isidentifier()}
    unit = terminals.pop(_UNIT, None)
    marks = [t for name, t in terminals.items() if name != _NAME and t.text not in keywords]
    choices = [f"(?P<{_NAME}>{_WORD})", *(f"(?P<{t.name}>{t.pattern})" for t in marks), "(?P<END>\\Z)"]
    pattern = f"{_IGNORED}(?:{'|'.join(choices)})"
    if unit is not None and units:  # at its number, or behind it on the line, where a keyword may stand, too
        written = unit.pattern
        pattern = f"(?P<{_UNIT}>{written})|[ \\t\\f\\r]++(?P<SPACED>{written})|{pattern}"
    compiled = re.compile(pattern)
    groups = compiled.groupindex
    kinds = {group: {"END": END, "SPACED": _UNIT}.get(name, str(name)) for name, group in groups.items()}
    words = frozenset(group for name, group in groups.items() if name in (_NAME, "SPACED"))
    both = _NAME in terminals
    doubtful = frozenset(word for word, name in keywords.items() if both and name in beginnings)
    return _Scanner(compiled.match, kinds, keywords, words, doubtful)


def _within_line(text: str, at: int) -> bool:
    """Return whether something stands before an offset on its line."""
    return bool(text[text.rfind("\n", 0, at) + 1 : at].strip())
