"""What editors ask of a text, without a server."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mtpp_dsl.core.text.edits import edited
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.editor.server.features.formatting import format_lines, format_text
from mtpp_dsl.editor.server.features.problems import all_safe, fixes, problems
from mtpp_dsl.editor.server.features.symbols import Fold, TextSymbol, folds, symbols
from mtpp_dsl.editor.server.features.tokens import encoded, tokens
from mtpp_dsl.editor.server.reading import reading_of
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.parser import parse
from tests.tree import ROOT

SPEC = (ROOT / "examples" / "quickstart.mtpp").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.mtpp"))


def test_messages_are_under_the_uri_of_their_file(tmp_path: Path) -> None:
    """An error of an included file is told in that file, with the place of the include."""
    part = tmp_path / "part 1.mtpp"
    part.write_text("let a = 3 mss\n")
    reading = reading_of(f'include "part 1.mtpp"\n{SPEC}', path=tmp_path / "main.mtpp")
    found = problems(reading)
    assert found[reading.uri] == [one for one in found[reading.uri] if one.diagnostic.severity == "warning"]
    (wrong,) = found[part.as_uri()]
    assert wrong.diagnostic.code == "MTPP-E108" or "mss" in wrong.message
    assert [place.says for place in wrong.places] == ["included here"]


def test_unused_names_are_marked() -> None:
    """A name that nothing uses is shown faded; an error is not."""
    (unused,) = problems(reading_of(SPEC + "let idle = 3\n"))["untitled:1"]
    assert unused.unused
    assert unused.span.text == "idle"
    assert unused.message == "let 'idle' is never used: use it, or remove it"


def test_fixes_are_those_of_the_place() -> None:
    """A fix is offered where its message is, and all safe ones for the whole text."""
    text = SPEC.replace("acyclic", "acylic").replace("bottleneck", "botleneck")
    reading = reading_of(text)
    at = text.index("acylic")
    (offer,) = fixes(reading, at, at)
    assert offer.preferred
    assert edited(text, offer.edits) == text.replace("acylic", "acyclic")
    assert fixes(reading, 0, 3) == []
    safe = all_safe(reading)
    assert safe is not None
    assert edited(text, safe.edits) == SPEC
    assert all_safe(reading_of(SPEC)) is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_formatting_is_that_of_the_command(path: Path) -> None:
    """The changes lead to what ``mtpp fmt`` writes, and are of spaces alone."""
    text = path.read_text().replace(" = ", "   =\t").replace("\n  ", "\n")
    reading = reading_of(text, path=path)
    edits = format_text(reading)
    assert edited(text, edits) == format_spec(Source("", text)) != text
    assert all(not edit.span.text.strip() and not edit.text.strip() for edit in edits)
    lines = len(text.split("\n"))
    for first in range(0, lines, 5):
        part = edited(text, format_lines(reading, first, first + 3))
        assert parse(Source("", part)) == parse(Source("", text))
    assert edited(text, format_lines(reading, 0, lines)) == edited(text, edits)


def test_what_does_not_parse_is_not_formatted() -> None:
    """A broken text stays as it is."""
    assert format_text(reading_of(SPEC.replace("(", "((", 1))) == []


def outline(found: list[TextSymbol]) -> list[object]:
    return [(one.name, outline(list(one.children))) if one.children else one.name for one in found]


def test_symbols_are_nested() -> None:
    """Nodes are in their graph, statements in their scenario, and places are within those around them."""
    text = SPEC + "scenario night {\n  param k: int = 5\n}\nconstraint cap: forall d in devices: load(d) <= 9 ms\n"
    found = symbols(reading_of(text))
    names = outline(found)
    assert ("night", ["k"]) in names
    assert (found[0].name, found[0].detail) == ("mtpp", "1")
    assert "cap" in names
    graph = next(one for one in found if one.kind == "graph")
    assert graph.children

    def inside(one: TextSymbol) -> None:
        assert one.name
        assert one.span.start <= one.named.start <= one.named.stop <= one.span.stop
        for child in one.children:
            inside(child)

    for one in found:
        inside(one)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_words_are_coloured_once(path: Path) -> None:
    """Words are in the order of the text and do not overlap; every keyword and name of a node has one."""
    reading = reading_of(path.read_text(), path=path)
    found = tokens(reading)
    assert all(a.stop <= b.start for a, b in itertools.pairwise(found))
    kinds = {reading.text[token.start : token.stop]: token.type for token in found}
    assert kinds.get("minimize", kinds.get("maximize")) == "keyword"
    data = encoded(reading, found)
    assert len(data) == 5 * len(found)
    assert all(number >= 0 for number in data)


def test_broken_texts_are_coloured() -> None:
    """Where a statement does not parse, its words are still known."""
    reading = reading_of("graph {\n  node a (work = 3 ms\n}\ndevice a100[2]\nconstraint pin a on\n")
    kinds = [(reading.text[token.start : token.stop], token.type) for token in tokens(reading)]
    assert ("constraint", "keyword") in kinds
    assert ("pin", "keyword") in kinds
    assert ("a100", "class") in kinds


def test_folds() -> None:
    """Blocks, remarks and includes fold; the line of a closing bracket stays."""
    text = '# a\n# b\ninclude "x"\ninclude "y"\ngraph {\n  node a\n}\ndevice d (\n  memory = 3,\n  speed = 2\n)\n{{{\n'
    found = folds(reading_of(text))
    assert found == [Fold(0, 1, "comment"), Fold(2, 3, "imports"), Fold(4, 5), Fold(7, 9)]
