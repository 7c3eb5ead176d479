"""Why there is no plan: the constraints that clash, and, where somebody asked, a set of which none can be left out."""

from __future__ import annotations

from mtpp_dsl.core.base.units import times
from mtpp_dsl.show.page.explained import lines
from mtpp_dsl.show.page.markup import Markup, name, tag
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.view import View

__all__ = ["section"]

TITLE, NAV = "Why no plan exists", "Why none exists"


def section(view: View) -> Section | None:
    """Return why no plan exists; None of a problem that may have one."""
    found = view.answer["infeasible"]
    if found is None:
        return None
    words = view.told.get("infeasible")
    if words:
        return Section("clash", TITLE, lines(view, words), nav=NAV)
    how = (
        "Leave any one of these out, and there is a plan:"
        if found["minimal"]
        else "These cannot all hold. It was not tried whether fewer of them clash:"
    )
    parts: list[Markup | None] = [tag("p", found["reason"])]
    if found["clash"]:
        parts += [
            tag("p", how),
            tag("ul", [tag("li", tag("code", name(each, 2000))) for each in times(found["clash"])]),
        ]
    if not found["minimal"] and not view.asked:
        parts.append(
            tag("p", "Which of them are needed for that, with their lines and amounts, is on a page made with time:")
        )
        parts.append(tag("pre", tag("code", "mtpp report ANSWER.json --what-if 30s"), class_="command", tabindex=0))
    return Section("clash", TITLE, tag("", parts), nav=NAV)
