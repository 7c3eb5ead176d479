"""The list of words: each has a meaning, each meaning a page, and the values of options are those that are read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mtpp_dsl.core.problem.objective import OBJECTIVES
from mtpp_dsl.language.lowering.lower import analyse
from mtpp_dsl.language.lowering.lower_devices import INTERCONNECTS
from mtpp_dsl.language.syntax import keywords
from mtpp_dsl.language.syntax.keywords import FUNCTION_NAMES
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS
from mtpp_dsl.language.words import meanings
from mtpp_dsl.language.words.meanings import meaning_of_option
from mtpp_dsl.language.words.vocabulary import (
    BUILT_IN,
    BY,
    PARAM_TYPES,
    choices_of,
    functions,
    options_of,
    owners,
    signature_of,
)
from tests.tree import ROOT


def test_parser_knows_every_function() -> None:
    """The names that messages of the parser know are those of the functions that there are."""
    assert {*FUNCTIONS, *AGGREGATES} == FUNCTION_NAMES


def pairs() -> Iterator[tuple[str, str]]:
    for owner in owners():
        yield from ((owner, option) for option in options_of(owner))


def test_every_word_has_a_meaning() -> None:
    assert set(meanings.FUNCTIONS) == set(functions())
    assert set(meanings.OBJECTIVES) == set(OBJECTIVES)
    assert set(meanings.INTERCONNECTS) == set(INTERCONNECTS)
    assert set(meanings.PARAM_TYPES) == set(PARAM_TYPES)
    assert set(BUILT_IN) <= {*meanings.WORDS, *meanings.OBJECTIVES}
    assert [pair for pair in pairs() if meaning_of_option(*pair) is None] == []
    assert signature_of("load") == "load(device, [phase])"


def test_every_meaning_names_a_heading_that_is_there() -> None:
    tables = [keywords.STATEMENTS, keywords.ITEMS, keywords.RULES, meanings.FUNCTIONS, meanings.OBJECTIVES]
    tables += [meanings.INTERCONNECTS, meanings.PARAM_TYPES, meanings.WORDS]
    every = [meaning for table in tables for meaning in table.values()]
    every += [meaning for pair in pairs() if (meaning := meaning_of_option(*pair)) is not None]
    for page in {meaning.page for meaning in every}:
        file, _, heading = page.partition("#")
        text = (ROOT / "docs" / file).read_text(encoding="utf-8")
        lines = [line.lstrip("#").strip().lower() for line in text.splitlines() if line.startswith("#")]
        slugs = [re.sub(r"[^a-z0-9 -]", "", line).replace(" ", "-") for line in lines]
        assert not heading or heading in slugs, page


def spec(owner: str, option: str) -> str:
    """Return a spec in which an option has the value ``zzz``."""
    kind, _, name = owner.partition(" ")
    said = f"{option} = zzz"
    node, device = (f", {said}" if kind == each else "" for each in ("node", "device"))
    joined = name if kind == "interconnect" else "tree" if kind == "switch" else "shared"
    on = (["bandwidth = 1 GB/s"] if joined in ("shared", "host") else []) + ([said] if kind == "interconnect" else [])
    goal = name if kind == "objective" else "bottleneck"
    needed = {"transfer": "batch = 4, "}.get(option, "") + ("microbatches = 4, " if option == "schedule" else "")
    rule = {"replicate": "replicate d up to 2", "copies": "copies up to 2", "break": "break symmetry by tasks"}
    before = "schedule = gpipe, microbatches = 4, " if option == "recompute" else ""
    further = {
        "constraint": f"constraint {rule.get(name, name)} ({before}{said})",
        "switch": f"switch s ({said})",
        "type": f"type t ({said})\ndevice e (type = t)",
    }.get(kind, "")
    return (
        f"graph {{ node a (work = 1 ms{node}) node b edge a -> b }}\n"
        f"device d[2] (memory = 1 GiB{device})\ninterconnect {joined} ({', '.join(on)})\n"
        f"{'maximize' if goal == 'throughput' else 'minimize'} {goal} "
        f"({needed}{said if kind == 'objective' else 'within = 0'})\n{further}\n"
    )


@pytest.mark.parametrize(
    ("owner", "option"),
    [pair for pair in pairs() if choices_of(*pair) and pair[0].partition(" ")[0] not in ("file", "times")],
)
def test_the_words_of_options_are_those_that_are_read(owner: str, option: str) -> None:
    found = [each.message for each in analyse(spec(owner, option)).errors]
    listed = next((message for message in found if message.startswith(f"{option} is one of ")), "")
    assert listed, found
    words = re.sub(r";.*", "", listed.removeprefix(f"{option} is one of ")).split(", ")
    assert words == [word.strip('"') for word in choices_of(owner, option)]


def test_no_other_option_is_a_word_of_a_list() -> None:
    for owner, option in pairs():
        kind = owner.partition(" ")[0]
        if not choices_of(owner, option) and kind not in ("file", "times", "edge", "link", "phase", "constraint:"):
            found = [each.message for each in analyse(spec(owner, option)).errors]
            assert not any(message.startswith(f"{option} is one of ") for message in found), (owner, option, found)


@pytest.mark.parametrize(("rule", "statement"), [("colocate", "colocate by zzz"), ("break", "break symmetry by zzz")])
def test_the_words_behind_by_are_those_that_are_read(rule: str, statement: str) -> None:
    found = [
        each.message for each in analyse(spec("node", "color").replace("zzz", "1") + f"constraint {statement}\n").errors
    ]
    assert any(f" by {', '.join(BY[rule])}, not 'zzz'" in message for message in found), found
