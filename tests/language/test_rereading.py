"""Parsing anew after an edit gives what parsing the whole text does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.partial import Partial, parse_partial
from mtpp_dsl.language.syntax.rereading import ParsedBefore
from tests.tools.edit_specs import edit
from tests.tree import ROOT

PIECES = ("node n (work = 3 ms)", "graph {", "}", "scenario s {", "assert 1 > 0", "constraint pin a on")
TEXTS = [path.read_text() for path in sorted((ROOT / "examples").glob("*.mtpp"))]
TEXTS += [
    "graph {\n" + "".join(f"  node n{i} (work = {i} ms)\n" for i in range(60)) + "  edge n1 -> n2\n}\ndevice d[2]\n",
    "let a = 1 let b = 2\nscenario x {\nlet c = 3\nparam k = 4\n}\n"
    + "".join(f"let v{i} = {i} ms\n" for i in range(40)),
]


def spans(node: Any) -> Iterator[tuple[object, ...]]:
    """Yield all places of a tree."""
    if isinstance(node, tuple):
        for part in node:
            yield from spans(part)
    elif isinstance(node, tree.Tree):
        yield type(node), node.span.start, node.span.stop, node.span.source.text
        for value in vars(node).values():
            yield from spans(value)


def same(found: Partial, fresh: Partial) -> None:
    assert found.statements == fresh.statements
    assert list(spans(found.statements)) == list(spans(fresh.statements))
    assert [str(one) for one in found.diagnostics] == [str(one) for one in fresh.diagnostics]
    assert [(one.kind, one.name, one.span.start, one.span.stop) for one in found.broken] == [
        (one.kind, one.name, one.span.start, one.span.stop) for one in fresh.broken
    ]


@pytest.mark.parametrize("seed", range(2))
def test_an_edited_text_says_what_a_fresh_one_does(seed: int) -> None:
    """Statements, their places, messages and what is broken are those of the whole text, after every edit."""
    random_ = random.Random(seed)
    for original in random_.sample(TEXTS, 4):
        memory, text = ParsedBefore(), original
        for _ in range(15):
            source = Source("s", text)
            same(memory.parse(source), parse_partial(Source("s", text)))
            start, stop, new = edit(text, random_, original)
            if random_.random() < 0.2:
                new += random_.choice(PIECES) + "\n"
            mended = random_.random() < 0.3
            text = original if mended else text[:start] + new + text[stop:]


def test_what_has_not_changed_is_not_parsed_again() -> None:
    """A change of one item of a long graph, or of one statement, leaves the others' trees as they are."""
    text = TEXTS[-2] + "".join(f"let v{i} = {i} ms\n" for i in range(40))
    memory = ParsedBefore()
    before = memory.parse(Source("s", text)).statements
    text = text.replace("work = 30 ms", "work = 3 us")
    after = memory.parse(Source("s", text)).statements
    assert isinstance(before[0], tree.GraphBlock)
    assert isinstance(after[0], tree.GraphBlock)
    kept = sum(a is b for a, b in zip(before[0].items, after[0].items, strict=True))
    assert kept >= len(before[0].items) - 3
    assert all(a is b for a, b in zip(before[1:], after[1:], strict=True))
    last = memory.parse(Source("s", text.replace("let v20 =", "let w20 ="))).statements
    assert sum(a is b for a, b in zip(after[1:], last[1:], strict=True)) >= len(after) - 4
