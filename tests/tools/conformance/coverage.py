"""Count what of the language the conformance set uses: rules of the grammar, words, units, codes of messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mtpp_dsl.core.text.codes.table import CODES
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax.build import TreeBuilder
from mtpp_dsl.language.syntax.grammar import MAX_WORDS
from mtpp_dsl.language.syntax.grammar_data import Rule, grammar_data
from mtpp_dsl.language.syntax.tables import Failure, Tables
from mtpp_dsl.language.words.vocabulary import words
from tests.tools.conformance.cases import Case

_WORD = re.compile(r"[A-Za-zµ_][A-Za-z0-9µ_]*(?:/[A-Za-z]+)?|%")
_NUMBERED = re.compile(r"[A-Za-z0-9_]+")


class _Traced(tuple[Any, ...]):
    """A reduction that notes when the parser takes it apart, which is when it is used."""

    rule: int
    used: set[int]

    def __iter__(self) -> Iterator[Any]:
        self.used.add(self.rule)
        return super().__iter__()


class TracedParser:
    """A parser of whole specs that notes which rules of the grammar it has used, by their numbers."""

    def __init__(self) -> None:
        data = grammar_data()
        self.rules: list[Rule] = data.rules
        self.used: set[int] = set()
        self.words: set[str] = set()
        self.tables = Tables(data)
        reductions = []
        for number, rule in enumerate(data.rules):
            reduction = _Traced(rule[:4])
            reduction.rule, reduction.used = number, self.used
            reductions.append(reduction)
        self.tables.actions = [
            {name: to if to >= 0 else reductions[-1 - to] for name, to in row.items()} for row in data.actions
        ]

    def parse(self, text: str) -> bool:
        """Parse a spec; return whether it could be parsed. What was used before an error does not count."""
        before = set(self.used)
        try:
            self.tables.run(text, "start", 0, len(text), TreeBuilder(Source("spec", text)), MAX_WORDS)
        except Failure:
            self.used.clear()
            self.used |= before
            return False
        return True


FORMATS = {"onnx", "pt2", "gguf"}
"""Formats of files that are not texts."""


def unused_rules(cases: Iterable[Case]) -> list[str]:
    """Return the rules of the grammar that no spec of the set uses."""
    parser = TracedParser()
    for case in cases:
        parser.parse(case.text)
    return [f"{rule.origin} -> {' '.join(rule.symbols)}" for i, rule in enumerate(parser.rules) if i not in parser.used]


def unused_words(cases: Iterable[Case]) -> set[str]:
    """Return the words of the language that no spec of the set has: keywords, options, functions, units."""
    used: set[str] = set()
    for case in cases:
        used |= set(_WORD.findall(case.text)) | set(_NUMBERED.findall(case.text))
    return words() - used - FORMATS


def unused_codes(meanings: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the codes of messages that no spec of the set gives."""
    return set(CODES) - {message[0] for meaning in meanings for message in meaning.get("messages", ())}


def coverage(cases: Sequence[Case], meanings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the set covers, a line for each kind of thing."""
    yield f"{len(cases)} specs"
    for what, every, unused in (
        ("rules of the grammar", len(grammar_data().rules), unused_rules(cases)),
        ("words", len(words() - FORMATS), unused_words(cases)),
        ("codes of messages", len(CODES), unused_codes(meanings)),
    ):
        yield f"{every - len(unused)} of {every} {what}" + (f"; not {', '.join(sorted(unused))}" if unused else "")
