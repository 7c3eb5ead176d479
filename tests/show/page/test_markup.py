"""Markup escapes whatever is text, so that no name of a spec becomes a part of a page."""

from __future__ import annotations

import json
import re

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.show.page.document import frame
from mtpp_dsl.show.page.markup import data_block, name, svg, tag
from mtpp_dsl.show.page.view import Section, View
from tests.hostile_names import HOSTILE, hostile_problem, hostile_spec

ANY = st.text(st.characters(codec=None), max_size=20) | st.sampled_from(HOSTILE)


@given(ANY, ANY)
def test_text_stays_text(text: str, attribute: str) -> None:
    """Whatever a text and an attribute hold, a strict parser finds one element with as much text in it."""
    whole = frame("t", [Section("a", "A", tag("p", text, svg(1, 1, title=attribute), title=attribute, class_="x"))])
    whole.encode()
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    found = parser.parse(whole).find(".//p[@class='x']")
    assert len(found.text or "") == len(text)
    assert len(found.get("title")) == len(attribute)
    assert [child.tag for child in found] == ["{http://www.w3.org/2000/svg}svg"]


@given(st.dictionaries(ANY, ANY | st.lists(ANY), max_size=4))
def test_blocks_of_data_are_read_back(data: dict) -> None:
    """A block of JSON ends where it ends, and has the data, with a sign for each character that hides or turns text."""
    block = data_block("data", data)
    assert block.count("<") == 2
    inner = block.removeprefix('<script type="application/json" id="data">').removesuffix("</script>")
    assert len(json.loads(inner)) <= len(data)
    if all(text.isascii() and text.isprintable() for each in data.items() for text in [each[0], *each[1]]):
        assert json.loads(inner) == data


def test_styles_and_handlers_are_refused() -> None:
    """The policy of pages forbids attributes that are scripts or styles: they would silently do nothing."""
    for attributes in ({"style": "x"}, {"onclick": "x"}):
        with pytest.raises(AssertionError, match="policy"):
            tag("p", **attributes)


def test_names_are_isolated_and_short() -> None:
    """A name of 10,000 characters does not fill the page, and one in another direction does not turn what follows."""
    assert len(name("x" * 10_000, 50).split(">")[1].split("<")[0]) == 50
    assert name("עברית").startswith("<bdi")


def test_hostile_problem_is_a_problem() -> None:
    """The names of tests are those of a problem that can be shown."""
    problem = hostile_problem()
    assert problem.graph.n == len(HOSTILE)
    assert View(problem, None, None, {}).time(1.0) == "1"


def test_hostile_spec_is_a_spec() -> None:
    """As many of these names as texts of the language may hold can be read."""
    assert mtpp_dsl.load(hostile_spec()).graph.names[0] == HOSTILE[0]


def test_numbers_stay_with_their_units() -> None:
    """In sentences there is a no-break space before a unit; names, and what is to be copied, stay as they are."""
    said = tag(
        "p", "24.5 ms and 3 nodes, 4 GiB/s, 5 %, 9 1/s, 2 minutes", name("x 4 ms"), [" 4 s"], tag("code", "3 ms")
    )
    assert said.count("\xa0") == 5
    assert {"24.5\xa0ms", "4\xa0GiB/s", "5\xa0%", "9\xa01/s", "4\xa0s"} <= set(
        re.findall(r"[0-9.]+\xa0[A-Za-z%1/]+", said)
    )
    assert '<bdi class="name">x 4 ms</bdi>' in said
    assert "<code>3 ms</code>" in said
