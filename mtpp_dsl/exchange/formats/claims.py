"""Read what JSON files say of themselves in their first field, so that no other format is tried on them."""

from __future__ import annotations

import re
from pathlib import Path

from mtpp_dsl.core.base.files import read_head

__all__ = ["says_format"]


def says_format(path: Path, word: str) -> bool:
    """Return whether a JSON file begins with the field ``"format": "word"``."""
    found = re.match(rb'(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"([^"]*)"', read_head(path))
    return found is not None and found[1] == word.encode()
