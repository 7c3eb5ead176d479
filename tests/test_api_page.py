"""The reference of the Python API is that of the docstrings, and has every public name."""

from __future__ import annotations

import importlib

import pytest

from tests.tools.api_page import MODULES, PAGE, names, page


def test_it_is_up_to_date() -> None:
    """``python -m tests.tools.api_page`` would change nothing."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_there(module: str) -> None:
    """Each with a heading of its own, under the first module that has it."""
    text = PAGE.read_text(encoding="utf-8")
    for name in names(module):
        title = f"{module}.{name}".removeprefix("mtpp_dsl.")
        assert f"\n### {title}\n" in text
    there = importlib.import_module(module)
    assert all(f".{name}\n" in text or f" {name}\n" in text for name in there.__all__)


def test_no_markup_of_docstrings_is_left() -> None:
    """Roles and double backquotes have become code; tables and sessions stand in blocks."""
    text = PAGE.read_text(encoding="utf-8")
    for left in (":class:", ":meth:", ":func:", ":mod:", " at 0x"):
        assert left not in text
    assert text.count("```") % 2 == 0
