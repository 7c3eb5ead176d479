"""Pages with plain spaces, to be compared with words as somebody writes them."""

from __future__ import annotations


def plain(page: str) -> str:
    """Return a page with plain spaces between numbers and units."""
    return page.replace("\xa0", " ")
