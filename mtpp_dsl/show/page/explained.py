"""Write what an explanation says in words: what holds the plan where it is, what constraints cost, what comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mtpp_dsl.core.base.units import times
from mtpp_dsl.show.page.markup import Child, Markup, name, tag
from mtpp_dsl.show.page.spec_blocks import linked
from mtpp_dsl.show.page.view import Section, View

TITLES = {
    "bottleneck": "What holds the plan where it is",
    "critical": "The critical path",
    "constraints": "What constraints cost",
    "next": "The next best plans",
    "node": "Why a node is where it is",
}
"""The parts that are told in words; ``infeasible`` and ``what_if`` have sections of their own."""
MAX_LINES = 400


def section(view: View) -> Section | None:
    """Return the parts of the explanation; None where there is none."""
    parts: list[Markup] = []
    for key, title in TITLES.items():
        words = view.told.get(key)
        if words:
            parts += [tag("h3", title, id=f"explained-{key}"), lines(view, words)]
    notes = [] if view.explanation is None else view.explanation["notes"]
    if parts and notes:
        parts += [tag("h3", "Left out of the explanation"), tag("ul", [tag("li", note) for note in notes])]
    return Section("explained", "Why it is so", tag("", parts), nav="Why") if parts else None


def lines(view: View, words: Sequence[str]) -> Markup:
    """Return the first lines of what is told as a list; those that are indented are lists within it.

    Places in the spec are links to its lines.
    """
    items = [(len(word) - len(word.lstrip(" ")), word.strip()) for word in words[:MAX_LINES] if word.strip()]
    left = len(words) - MAX_LINES
    more = tag("p", f"mtpp explain shows {left:,} more lines.") if left > 0 else None
    return tag("", tag("ul", _items(items, linked(view.spec)), class_="words"), more)


def _items(lines_left: Sequence[tuple[int, str]], links: Callable[[str], Child]) -> list[Markup]:
    items: list[Markup] = []
    at = 0
    while at < len(lines_left):
        depth, text = lines_left[at]
        end = at + 1
        while end < len(lines_left) and lines_left[end][0] > depth:
            end += 1
        inner = lines_left[at + 1 : end]
        items.append(tag("li", links(text), tag("ul", _items(inner, links)) if inner else None))
        at = end
    return items


# What clashes in a problem without a plan.

TITLE, NAV = "Why no plan exists", "Why none exists"


def clash_section(view: View) -> Section | None:
    """Return why no plan exists; None of a problem that may have one."""
    infeasibility = view.answer["infeasible"]
    if infeasibility is None:
        return None
    words = view.told.get("infeasible")
    if words:
        return Section("clash", TITLE, lines(view, words), nav=NAV)
    how = (
        "Leave any one of these out, and there is a plan:"
        if infeasibility["minimal"]
        else "These cannot all hold. It was not tried whether fewer of them clash:"
    )
    parts: list[Markup | None] = [tag("p", infeasibility["reason"])]
    if infeasibility["clash"]:
        parts += [
            tag("p", how),
            tag("ul", [tag("li", tag("code", name(rule, 2000))) for rule in times(infeasibility["clash"])]),
        ]
    if not infeasibility["minimal"] and not view.asked:
        parts.append(
            tag("p", "Which of them are needed for that, with their lines and amounts, is on a page made with time:")
        )
        parts.append(tag("pre", tag("code", "mtpp report ANSWER.json --what-if 30s"), class_="command", tabindex=0))
    return Section("clash", TITLE, tag("", parts), nav=NAV)
