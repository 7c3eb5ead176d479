"""The words of the language by what they are: from its grammar, and from its tables of functions and units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lark.lexer import PatternStr

from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.language.syntax.grammar import grammar
from mtpp_dsl.language.syntax.reserved_words import RESERVED
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS

__all__ = ["Vocabulary", "vocabulary"]

CONTROL = frozenset(("if", "then", "else", "for", "forall"))
OPERATORS = frozenset(("and", "or", "not"))


@dataclass(frozen=True)
class Vocabulary:
    """Words and terminals, each sorted.

    Attributes:
        statements: words that begin a statement, or an item of a graph or a block.
        rules: words that name a constraint behind ``constraint``.
        between: other words of the grammar, which join the parts of a statement.
        control: words of loops and conditions.
        operators: operators that are words.
        constants: words that stand for a value in an expression.
        functions: what the language computes.
        units: as they are written behind a number.
        terminals: regular expressions of the grammar's other terminals, by name.
    """

    statements: tuple[str, ...]
    rules: tuple[str, ...]
    between: tuple[str, ...]
    control: tuple[str, ...]
    operators: tuple[str, ...]
    constants: tuple[str, ...]
    functions: tuple[str, ...]
    units: tuple[str, ...]
    terminals: dict[str, str]

    def words(self) -> dict[str, list[str]]:
        """Return the lists of words by the names of the fields."""
        return {name: list(value) for name, value in vars(self).items() if isinstance(value, tuple)}


def vocabulary() -> Vocabulary:
    """Return the words of the language, read from its grammar."""
    terminals = grammar().terminals
    literal = {
        terminal.name: terminal.pattern.value
        for terminal in terminals
        if isinstance(terminal.pattern, PatternStr) and terminal.pattern.value.isalpha()
    }
    rules: dict[str, list[list[str]]] = {}
    for rule in grammar().rules:
        rules.setdefault(str(rule.origin.name), []).append([str(symbol.name) for symbol in rule.expansion])
    statements = {literal[name] for rule in ("statement", "item", "block_item") for name in _first(rules, rule)}
    named = {literal[symbols[1]] for symbols in rules["constraint"] if symbols[1] in literal}
    joining = set(literal.values()) - statements - named - CONTROL - OPERATORS
    return Vocabulary(
        statements=_sorted(statements),
        rules=_sorted(named),
        between=_sorted(joining),
        control=_sorted(CONTROL),
        operators=_sorted(OPERATORS),
        constants=_sorted(RESERVED - set(literal.values())),
        functions=_sorted({*FUNCTIONS, *AGGREGATES}),
        units=tuple(sorted(UNITS, key=lambda unit: (-len(unit), unit))),
        terminals={
            str(terminal.name): terminal.pattern.to_regexp().replace("*+", "*")  # which not every editor has
            for terminal in terminals
            if terminal.name not in literal
        },
    )


def _first(rules: dict[str, list[list[str]]], rule: str) -> set[str]:
    """Return the terminals that a rule can begin with."""
    found: set[str] = set()
    for symbols in rules[rule]:
        found |= _first(rules, symbols[0]) if symbols[0] in rules else {symbols[0]}
    return found


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(words))
