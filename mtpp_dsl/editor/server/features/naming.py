"""Names of certain sorts, where a statement asks for one: rules, generators, types, nodes, devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mtpp_dsl.core import registry
from mtpp_dsl.core.problem.objective import OBJECTIVES
from mtpp_dsl.editor.server.features import known, snippets
from mtpp_dsl.editor.server.features.candidate import KINDS, Candidate, Kind
from mtpp_dsl.editor.server.features.context import Context, rule_of
from mtpp_dsl.editor.server.features.expected import expressions
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.language.syntax.rules import custom_rules
from mtpp_dsl.language.syntax.syntax_errors import RULES
from mtpp_dsl.language.words import meanings
from mtpp_dsl.language.words.vocabulary import BY, PARAM_TYPES

__all__ = ["named", "wanted"]


def named(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield the names where the statement asks for one of a certain sort."""
    declared = reading.index.declared
    words = [mark.text for mark in context.marks]
    match words:
        case ["param", _, ":"]:
            for word in PARAM_TYPES:
                yield Candidate(word, Kind.TypeParameter, 0, "type", meanings.PARAM_TYPES[word])
        case ["interconnect"]:
            for word, meaning in meanings.INTERCONNECTS.items():
                yield Candidate(word, Kind.EnumMember, 0, "interconnect", meaning)
        case ["graph", "from", "generator"]:
            for word in registry.available(registry.GENERATORS):
                yield Candidate(word, Kind.Function, 0, "generator", None, f"{word} ($1)")
        case ["graph", "from"] | ["import"] | ["times", "from"]:
            for name in sorted(declared.kinds.get("param", ())):
                if isinstance(reading.scope.params.get(name), (Path, str)):
                    yield Candidate(name, Kind.Variable, 1, "param")
            yield Candidate('"…"', Kind.File, 0, "a file", None, '"$1"', '"')
        case ["target"]:
            for word in registry.available(registry.TARGETS):
                said = word.replace("-", "_")
                yield Candidate(said, Kind.EnumMember, 0, "runtime", meanings.STATEMENTS["target"])
        case ["use"]:
            for word in sorted(declared.blocks):
                yield Candidate(word, Kind.Module, 0, "block")
        case ["constraint", "colocate" | "break" as rule, *_, "by"]:
            yield from (Candidate(word, Kind.EnumMember, 0) for word in BY[rule])
        case ["constraint"]:
            for word in (*RULES, *custom_rules()):
                snippet = snippets.RULES.get(word, "")
                yield Candidate(word, Kind.Keyword, 0, "constraint", meanings.RULES.get(word), snippet)
        case ["minimize" | "maximize", *rest] if not rest or rest[-1] == ":":
            for word in OBJECTIVES:
                rank = 0 if (word == "throughput") == (words[0] == "maximize") else 3
                yield Candidate(word, Kind.EnumMember, rank, "objective", meanings.OBJECTIVES[word])
            yield from (replace(each, rank=max(each.rank, 2)) for each in expressions(reading, context))
        case _:
            yield from _members(reading, context)


def _members(reading: TextReading, context: Context) -> Iterator[Candidate]:
    """Yield nodes or devices where a statement names some, with the sets and variables that may stand for them."""
    kind = wanted(context)
    if not kind:
        return
    for each in (*known.members(reading, context, kind), *known.variables(reading, context)):
        yield Candidate(each.name, KINDS[each.kind], 0, each.detail)
    for name in sorted(reading.index.declared.kinds.get("let", ())):
        yield Candidate(name, Kind.Constant, 2, "let")
    if context.keyword in ("constraint", "time"):
        yield Candidate(f"{kind}s", Kind.Keyword, 2, "", meanings.WORDS[f"{kind}s"])


def wanted(context: Context) -> str:
    """Return "node" or "device" where one is to be named, outside of brackets other than those of lists; else ""."""
    sign = context.frame.sign
    if context.frame.kind in ("options", "call", "subscript") or sign == "(":
        return ""
    words = [mark.text for mark in context.marks]
    before = context.before
    if not words or any(word in ("for", "if", "=") for word in words):
        return "node" if words[:1] in (["input"], ["output"]) and "=" in words else ""
    names = before in (",", "->", "<->", "[", "{", words[0], "on", rule_of(context.marks) or "on")
    if not names:
        return ""
    match words[0]:
        case "edge":
            return "node"
        case "link":
            return "device"
        case "time":
            return "device" if "on" in words else "node"
        case "constraint":
            rule = rule_of(context.marks)
            if "on" in words or rule in ("replicate", "shard"):
                return "device"
            return "node" if rule in ("colocate", "separate", "pin", "forbid") else ""
    return ""
