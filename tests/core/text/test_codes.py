"""The table of codes: each example causes its code, each code in use is in it, and the page is up to date."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mtpp_dsl.core.text.codes.code import Code
from mtpp_dsl.core.text.codes.table import AREAS, CODES
from mtpp_dsl.core.text.source import Diagnostic, Fix, Place, Source, Span
from tests.tools.errors_page import PAGE, messages, page
from tests.tree import files

USED = {
    code
    for path, name in files().items()
    if not name.startswith("mtpp_dsl.core.text.codes")
    for code in re.findall(r"MTPP-[EW]\d{3}", path.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_each_example_causes_its_code(code: Code) -> None:
    """And says where, as far as there is a place."""
    found = messages(code)
    assert code.code in {message.code for message in found}, [str(message) for message in found]
    assert all(message.severity == ("error" if code.code[5] == "E" else "warning") for message in found)


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_each_code_says_what_to_do(code: Code) -> None:
    """In whole sentences."""
    assert re.fullmatch(r"MTPP-[EW][0-79]\d\d", code.code)
    assert not code.title.endswith(".")
    assert code.meaning.endswith(".")
    assert code.remedy.endswith(".")


def test_all_codes_are_in_the_table() -> None:
    """Once, and none that nothing says."""
    assert len(CODES) == sum(map(len, AREAS.values()))
    assert set(CODES) == USED


@pytest.mark.parametrize("path", [path for path, name in files().items() if ".language." in name], ids=lambda p: p.stem)
def test_every_message_has_a_code(path: Path) -> None:
    """What is raised or noted about a spec says its code where it is made."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ("Complaint", "Diagnostic")]
    assert [call.lineno for call in made if "code" not in {keyword.arg for keyword in call.keywords}] == []


def test_the_page_is_up_to_date() -> None:
    """It is written by ``python -m tests.tools.errors_page``."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_a_message_shows_its_code_its_second_place_and_its_fix() -> None:
    """In this order: where and what, the second place, notes, the fix."""
    source = Source("x.mtpp", "node a\nnode a\n")
    first, second = Span(source, 5, 6), Span(source, 12, 13)
    fix = Fix.replace(second, "b")
    message = Diagnostic(
        "declared twice", second, notes=("a note",), code="MTPP-E102", places=(Place(first, "first here"),), fix=fix
    )
    assert str(message).splitlines() == [
        "x.mtpp:2:6: error[MTPP-E102]: declared twice",
        "    2 | node a",
        "      |      ^",
        "  x.mtpp:1:6: first here",
        "      1 | node a",
        "        |      ^",
        "  = a note",
        "  = help: write 'b' in place of 'a'",
    ]


def test_a_fix_that_the_message_says_is_not_said_twice() -> None:
    """A did-you-mean is enough."""
    source = Source("x.mtpp", "acylic")
    span = Span(source, 0, 6)
    message = Diagnostic("no 'acylic'; did you mean 'acyclic'?", span, fix=Fix.replace(span, "acyclic"))
    assert "help" not in str(message)


def test_places_of_one_line() -> None:
    """They are underlined below the excerpt."""
    source = Source("x.mtpp", "let x = 3 ms + 4 MiB")
    places = (Place(Span(source, 8, 12), "a time"), Place(Span(source, 15, 20), "a size"))
    assert str(Diagnostic("no sum", Span(source, 8, 20), places=places)).splitlines() == [
        "x.mtpp:1:9-20: error: no sum",
        "    1 | let x = 3 ms + 4 MiB",
        "      |         ^^^^^^^^^^^^",
        "      |         ---- a time",
        "      |                ----- a size",
    ]
