"""The conformance set: every spec means what is recorded, and the set covers the whole language."""

from __future__ import annotations

import pytest

from tests.tools.conformance.cases import FOLDER, chapters, every_case, meanings, recorded
from tests.tools.conformance.coverage import unused_codes, unused_rules, unused_words
from tests.tools.conformance.surface import SURFACES

LEAST = 500
"""Specs of the set; there may be more, never fewer."""


@pytest.mark.parametrize("chapter", chapters())
def test_every_spec_means_what_is_recorded(chapter: str) -> None:
    """What ``mtpp 1`` means does not change. New cases are recorded by ``python -m tests.tools.conformance``."""
    assert meanings(chapter) == recorded(chapter)


def test_the_set_covers_the_language() -> None:
    """Every rule of the grammar, every word and every code occurs; a new one needs a case."""
    cases = every_case()
    assert len(cases) >= LEAST
    assert unused_rules(cases) == []
    assert unused_words(cases) == set()
    assert unused_codes(meaning for chapter in chapters() for meaning in recorded(chapter).values()) == set()


@pytest.mark.parametrize("file", SURFACES)
def test_what_programs_build_on_stays(file: str) -> None:
    """Public names of Python and fields of answers that are recorded are there as they were; there may be more.

    What docs/versions.md allows, such as a further optional argument, is recorded by
    ``python -m tests.tools.conformance``.
    """
    gone = set((FOLDER / file).read_text(encoding="utf-8").splitlines()) - set(SURFACES[file]().splitlines())
    assert not gone
