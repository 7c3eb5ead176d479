"""Every example in a docstring holds."""

from __future__ import annotations

import doctest
import importlib
import re

import pytest

from tests.tree import files

WITH_EXAMPLES = sorted(
    name for path, name in files().items() if re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
)


def test_there_are_examples() -> None:
    """The search finds modules at all."""
    assert "mtpp_dsl.core.errors" in WITH_EXAMPLES


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str) -> None:
    """The examples of a module, imported under its installed name, give what they show."""
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted
    assert not result.failed
