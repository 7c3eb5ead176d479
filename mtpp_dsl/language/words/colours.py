"""The words of the language by what they are, from its grammar, and the patterns that highlighters find them by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.language.syntax.grammar_data import grammar_data
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS

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
    terminals = grammar_data().terminals
    literal = {
        terminal.name: terminal.text for terminal in terminals if terminal.text is not None and terminal.text.isalpha()
    }
    rules: dict[str, list[list[str]]] = {}
    for rule in grammar_data().rules:
        rules.setdefault(rule.origin, []).append(list(rule.symbols))
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
            terminal.name: terminal.pattern.replace("*+", "*")  # which not every editor has
            for terminal in terminals
            if terminal.name not in literal
        },
    )


def _first(rules: dict[str, list[list[str]]], rule: str) -> set[str]:
    """Return the terminals that a rule can begin with."""
    terminals: set[str] = set()
    for symbols in rules[rule]:
        terminals |= _first(rules, symbols[0]) if symbols[0] in rules else {symbols[0]}
    return terminals


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(words))


SCOPE = "source.mtpp"
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_.])", r"(?![A-Za-z0-9_])"
_GAP, _SPACE = r"[ \t]*", r"[ \t]+"
DECLARED = {
    "block": "entity.name.type",
    "def": "entity.name.function",
    "device": "entity.name.tag",
    "interconnect": "support.type",
    "let": "variable.other",
    "node": "entity.name.tag",
    "param": "variable.other",
    "phase": "entity.name.tag",
    "scenario": "entity.name.section",
    "switch": "entity.name.tag",
    "target": "support.type",
    "type": "entity.name.type",
    "use": "entity.name.type",
}
"""What the name behind a statement's word is."""


def textmate_grammar(words: Vocabulary) -> dict[str, Any]:
    """Return the TextMate grammar: a list of patterns, of which the first that matches counts.

    Words of the language are keywords only where the grammar expects them. So a pattern looks at what stands around a
    word: a statement's word has what it is about behind it, an option's name has '='. The regular expressions mean the
    same to Python and to Oniguruma, which editors use.
    """
    name = words.terminals["NAME"]
    number = _groupless(words.terminals["NUMBER"])
    patterns = [
        _whole(words.terminals["COMMENT"], "comment.line.number-sign"),
        {
            **_whole(_groupless(words.terminals["STRING"]), "string.quoted.double"),
            "captures": {"0": {"patterns": [_whole(r"\\.", "constant.character.escape")]}},
        },
        *_constraints(words, name),
        *_statements(words, name),
        _parts(f"({number}){_GAP}({_either(words.units)}){_AFTER}", "constant.numeric", "keyword.other.unit"),
        _whole(number, "constant.numeric"),
        _whole(f"{_BEFORE}{name}(?={_GAP}=(?!=))", "entity.other.attribute-name"),
        _whole(f"{_BEFORE}{_either(words.functions)}(?={_GAP}\\()", "support.function"),
        _whole(f"{_BEFORE}{name}(?=\\()", "entity.name.function"),
        _whole(_word(words.control), "keyword.control"),
        _whole(_word(words.operators), "keyword.operator.word"),
        *_between(words),
        _whole(_word(words.constants), "constant.language"),
        _whole(name, "variable.other.name"),
        _whole(r"<->|->|\.\.<|\.\.|<=|>=|==|!=|[-+*/<>=]", "keyword.operator"),
        _whole(r"[\[\](){},:.]", "punctuation"),
    ]
    return {"name": "mtpp", "scopeName": SCOPE, "fileTypes": ["mtpp"], "patterns": patterns}


def _constraints(words: Vocabulary, name: str) -> list[dict[str, Any]]:
    """Return the patterns of constraints and objectives with their labels, and of constraints by their names."""
    keyword, label, mark = "keyword.other.statement", "entity.name.label", "punctuation"
    return [
        _parts(f"{_BEFORE}(constraint|minimize|maximize){_SPACE}({name}){_GAP}(:)", keyword, label, mark),
        _parts(f"{_BEFORE}(constraint){_SPACE}({_either(words.rules)}){_AFTER}", keyword, "keyword.other.rule"),
        _parts(f"{_BEFORE}(constraint){_SPACE}({name})", keyword, "keyword.other.rule"),
    ]


def _statements(words: Vocabulary, name: str) -> list[dict[str, Any]]:
    """Return the patterns of words that begin statements, with the name that they declare."""
    keyword = "keyword.other.statement"
    other = f"(?!{_either({*words.between, *words.control, *words.operators} - {'links', 'batch'})}{_AFTER})"
    every = _either(words.statements)
    kinds = sorted({*DECLARED.values()})
    declaring = [
        _parts(
            f"{_BEFORE}({_either(word for word, kind in DECLARED.items() if kind == sort)}){_SPACE}{other}({name})",
            keyword,
            sort,
        )
        for sort in kinds
    ]
    generator = f"{_BEFORE}(graph){_SPACE}(from){_SPACE}(generator){_SPACE}({name})"
    typed = f"{_BEFORE}(param){_SPACE}({name}){_GAP}(:){_GAP}({name})"
    return [
        _parts(typed, keyword, DECLARED["param"], "punctuation", "support.type"),
        _parts(f"{_BEFORE}(import){_SPACE}(plan){_AFTER}", keyword, "keyword.other"),
        _parts(generator, keyword, "keyword.other", "keyword.other", "support.function"),
        *declaring,
        _whole(f'{_BEFORE}{every}(?={_SPACE}{other}[A-Za-z_"])', keyword),
        _parts(f"{_BEFORE}(graph){_SPACE}(from){_AFTER}", keyword, "keyword.other"),
        _parts(f"(?:^|(?<=\\{{)){_GAP}({every}){_AFTER}(?!{_GAP}(?:=(?!=)|[.,:)])|{_SPACE}[A-Za-z_])", keyword),
    ]


def _between(words: Vocabulary) -> list[dict[str, Any]]:
    """Return the patterns of words inside statements; of those that are good names, only where two stand together."""
    pairs = (
        r"at[ \t]+most",
        r"up[ \t]+to",
        r"symmetry[ \t]+by",
        r"(?<=exclusive )links",
        r"(?<=cache )uniform",
        r"at(?=[ \t]+batch)",
    )
    single = sorted(set(words.between) & {"as", "by", "from", "in", "on"})
    return [_whole(f"{_BEFORE}(?:{'|'.join(pairs)}){_AFTER}", "keyword.other"), _whole(_word(single), "keyword.other")]


def _whole(pattern: str, kind: str) -> dict[str, Any]:
    return {"match": pattern, "name": f"{kind}.mtpp"}


def _parts(pattern: str, *kinds: str) -> dict[str, Any]:
    """Return a pattern whose groups, numbered in their order, are of these kinds."""
    assert re.compile(pattern).groups == len(kinds), pattern
    captures = {str(number): {"name": f"{kind}.mtpp"} for number, kind in enumerate(kinds, start=1)}
    return {"match": pattern, "captures": captures}


def _groupless(pattern: str) -> str:
    """Return a regular expression of the grammar whose groups capture nothing."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)


def _either(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))})"


def _word(words: Iterable[str]) -> str:
    return f"{_BEFORE}{_either(words)}{_AFTER}"
