"""The whole page: frame, navigation, sections, style and script, with the policy that forbids all requests."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from mtpp_dsl.show.page import (
    answer,
    certificate,
    clash,
    explained,
    graph,
    loads,
    memory,
    network,
    nodes,
    objectives,
    origin,
    progress,
    schedule,
    spec,
    stages,
    what_if,
)
from mtpp_dsl.show.page.markup import Markup, tag
from mtpp_dsl.show.page.section import Section
from mtpp_dsl.show.page.theme import colours, patterns
from mtpp_dsl.show.page.view import View

__all__ = ["SCRIPTS", "SECTIONS", "STYLES", "frame", "page"]

SECTIONS: tuple[Callable[[View], Section | None], ...] = (
    answer.section,
    clash.section,
    objectives.section,
    loads.section,
    graph.section,
    stages.section,
    memory.section,
    schedule.section,
    explained.section,
    network.section,
    nodes.section,
    spec.section,
    what_if.section,
    progress.section,
    certificate.section,
    origin.section,
)
"""What makes the sections of a page: what readers ask for first, then what is folded at first; one without anything to
say returns None."""
STYLES = ("style.css", "figures.css")
SCRIPTS = ("script.js", "figures.js", "graph.js", "schedule.js")
"""Files of this package that every page has within it."""


def page(view: View) -> str:
    """Return the page of an answer: all of it, in one text of HTML that needs nothing else."""
    title = view.problem.origin.path or "a problem"
    return frame(title, [found for make in SECTIONS if (found := make(view)) is not None])


def frame(title: str, sections: Sequence[Section]) -> str:
    """Return a whole document of some sections, of which the first is the head of the page."""
    style, script = Markup(f"{colours()}{_inlined(STYLES)}"), _inlined(SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"mtpp: {title}"),
        tag("style", style),
    )
    links = [tag("li", tag("a", each.nav or each.title, href=f"#{each.id}")) for each in sections]
    body = tag(
        "body",
        tag("a", "Skip to the answer", href=f"#{sections[0].id}", class_="skip") if sections else None,
        tag(
            "header",
            tag("p", tag("strong", "mtpp"), " ", tag("bdi", title), class_="brand"),
            tag("button", "Dark", type="button", id="theme", hidden=True),
            class_="top",
        ),
        patterns(),
        tag("nav", tag("ul", links), aria_label="Sections", class_="sections"),
        tag("main", [_section(each, first=each is sections[0]) for each in sections]),
        tag("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _section(section: Section, *, first: bool) -> Markup:
    heading = tag("h1" if first else "h2", section.title, id=f"{section.id}-title")
    within = tag("", heading, section.body)
    if section.folded:
        within = tag("details", tag("summary", heading), section.body, class_="whole")
    return tag("section", within, id=section.id, aria_labelledby=f"{section.id}-title", tabindex="-1")


@cache
def _inlined(names: tuple[str, ...]) -> Markup:
    """Return files of this package as one text; they are ours, and hold no end tag."""
    text = "\n".join(files("mtpp_dsl.show.page").joinpath(each).read_text(encoding="utf-8") for each in names)
    assert "</" not in text
    return Markup(text)


def _digest(text: str) -> str:
    """Return the hash by which a policy allows a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
