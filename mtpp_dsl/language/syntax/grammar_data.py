"""The grammar as data: its terminals, its rules, and the tables of its parser.

They are in ``mtpp.tables.json`` beside the grammar, so that no call has to read the grammar, which takes Lark half a
second. ``python -m tests.tools.grammar_tables`` writes the file anew; where it is not of this grammar, Lark reads the
grammar.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from lark import Lark

STARTS = ("start", "statement", "item", "block_item", "expression")
PACKAGE, FILE = "mtpp_dsl.grammars", "mtpp.tables.json"


class Terminal(NamedTuple):
    """A kind of word.

    Attributes:
        name: in the grammar.
        pattern: a regular expression.
        text: the word, if there is only one; else None.
        width: characters of the longest word.
    """

    name: str
    pattern: str
    text: str | None
    width: int


class Rule(NamedTuple):
    """A reduction: how many values it takes from the stack, and what it makes of them.

    Attributes:
        size: of the expansion.
        origin: the rule's name in the tables.
        name: what the builder calls it; "" where its one part is passed on, "*" for the first members of a repetition,
            "+" for further ones.
        parts: of the expansion, those that the builder gets: position (None for an absent optional part), and
            whether the part is a repetition, whose members are parts themselves.
        symbols: of the expansion, as the grammar has them.
    """

    size: int
    origin: str
    name: str
    parts: tuple[tuple[int | None, bool], ...]
    symbols: tuple[str, ...]


class GrammarData(NamedTuple):
    """What a parser needs of a grammar.

    Attributes:
        digest: of the texts that it was made from.
        terminals: in Lark's order.
        rules: all of them.
        starts, ends: the states where each start rule begins and ends.
        actions: of each state, by what comes: the next state, or -1 - r for rule number r.
        lexers: the terminals that may come, of each kind of state, in the order in which they are tried.
        lexer: of each state, the number of its terminals in *lexers*.
        every: all terminals, in that order.
    """

    digest: str
    terminals: list[Terminal]
    rules: list[Rule]
    starts: dict[str, int]
    ends: dict[str, int]
    actions: list[dict[str, int]]
    lexers: list[list[str]]
    lexer: list[int]
    every: list[str]


@cache
def grammar_data() -> GrammarData:
    """Return the grammar of the language."""
    stored = files(PACKAGE) / FILE
    if stored.is_file():
        data = json.loads(stored.read_text(encoding="utf-8"))
        if data["digest"] == digest():
            data["terminals"] = [Terminal(*row) for row in data["terminals"]]
            data["rules"] = [Rule(*row) for row in data["rules"]]
            name_of = data.pop("symbols").__getitem__
            data["actions"] = [
                dict(zip(map(name_of, row[::2]), row[1::2], strict=True)) for row in data["actions"]
            ]  # in the file, numbers of names and actions in turns
            return GrammarData(**data)
    from lark import Lark

    return of_lark(
        Lark.open_from_package(PACKAGE, "mtpp.lark", parser="lalr", start=list(STARTS), maybe_placeholders=True)
    )


def digest() -> str:
    """Return a digest of the grammar's texts."""
    texts = [(files(PACKAGE) / name).read_text(encoding="utf-8") for name in ("mtpp.lark", "lexical.lark")]
    return sha256("\0".join(texts).encode()).hexdigest()


def of_lark(lark: Lark) -> GrammarData:
    """Return the data of a grammar that Lark has read, with ``parser="lalr"`` and ``maybe_placeholders``."""
    frontend = cast("Any", lark.parser)
    table, lexer = frontend.parser._parse_table, frontend.lexer
    states = states_in_order(table)
    place = {state: i for i, state in enumerate(states)}
    rules = {rule: _rule(rule) for rule in lark.rules}
    ordered = sorted(rules.values(), key=str)
    number = {rule: ordered.index(data) for rule, data in rules.items()}
    lexers = list({id(lexer.lexers[state]): _names(lexer.lexers[state]) for state in states}.items())
    kind = {identity: i for i, (identity, _) in enumerate(lexers)}
    return GrammarData(
        digest=digest(),
        terminals=[_terminal(terminal) for terminal in lark.terminals],
        rules=ordered,
        starts={name: place[table.start_states[name]] for name in STARTS},
        ends={name: place[table.end_states[name]] for name in STARTS},
        actions=[
            {
                str(name): place[to] if action.name == "Shift" else -1 - number[to]
                for name, (action, to) in sorted(table.states[state].items())
            }
            for state in states
        ],
        lexers=[names for _, names in lexers],
        lexer=[kind[id(lexer.lexers[state])] for state in states],
        every=_names(lexer.root_lexer),
    )


def states_in_order(table: Any) -> list[Any]:
    """Return the states of Lark's table as they are met from the first ones: Lark's order changes with the run."""
    states = dict.fromkeys(table.start_states[name] for name in STARTS)
    waiting = list(states)
    for state in waiting:
        for _, (action, to) in sorted(table.states[state].items()):
            if action.name == "Shift" and to not in states:
                states[to] = None
                waiting.append(to)
    return list(states)


def _names(basic: Any) -> list[str]:
    """Return the terminals that one of Lark's lexers takes, but for those that it ignores."""
    return [str(terminal.name) for terminal in basic.terminals if terminal.name not in basic.ignore_types]


def _terminal(terminal: Any) -> Terminal:
    pattern = terminal.pattern
    text = str(pattern.value) if pattern.type == "str" else None
    return Terminal(str(terminal.name), pattern.to_regexp(), text, int(pattern.max_width))


def _rule(rule: Any) -> Rule:
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
    return Rule(len(expansion), origin, name, tuple(parts), tuple(str(symbol.name) for symbol in expansion))
