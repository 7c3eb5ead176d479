"""A section of a page."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.show.page.markup import Markup

__all__ = ["Section"]


@dataclass(frozen=True)
class Section:
    """A section of a page, with its heading and its entry in the navigation.

    Attributes:
        id: what links lead to.
        title: the heading.
        body: what stands under it; headings in it begin with ``h3``.
        nav: what the navigation calls it; "" for the title.
        folded: whether only its heading is seen until a reader, or a link into it, opens it.
    """

    id: str
    title: str
    body: Markup
    nav: str = ""
    folded: bool = False
