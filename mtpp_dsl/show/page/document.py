"""The whole page: frame, navigation, sections, style and script, with the policy that forbids all requests."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from mtpp_dsl.show.page import (
    answer,
    explained,
    graph,
    loads,
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
from mtpp_dsl.show.page.view import Section, View
from mtpp_dsl.show.report.palette import PARTS, PATTERNS, STAGES, Theme, variables

__all__ = ["SCRIPTS", "SECTIONS", "STYLES", "frame", "page"]

SECTIONS: tuple[Callable[[View], Section | None], ...] = (
    answer.section,
    explained.clash_section,
    objectives.section,
    loads.section,
    graph.section,
    stages.section,
    loads.memory_section,
    schedule.section,
    explained.section,
    network.section,
    nodes.section,
    spec.section,
    what_if.section,
    progress.section,
    origin.certificate_section,
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
    return frame(title, [section for make in SECTIONS if (section := make(view)) is not None])


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
    links = [tag("li", tag("a", section.nav or section.title, href=f"#{section.id}")) for section in sections]
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
        tag("main", [_section(section, first=section is sections[0]) for section in sections]),
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
    text = "\n".join(files("mtpp_dsl.show.page").joinpath(file).read_text(encoding="utf-8") for file in names)
    assert "</" not in text
    return Markup(text)


def _digest(text: str) -> str:
    """Return the hash by which a policy allows a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# The colours of a page, on light and on dark, as variables of CSS, and the patterns that are drawn over them.


def colours() -> Markup:
    """Return the rules that give each theme its colours: the system's unless the reader chose; paper is light."""
    light, dark = _block("light"), _block("dark")
    rules = [f".part-{name}{{fill:var(--part-{name})}}" for name in PARTS]
    rules += [f".stage-{i}{{fill:var(--stage-{i})}}" for i in range(len(STAGES))]
    return Markup(
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n" + "\n".join(rules) + "\n"
    )


def _block(theme: Theme) -> str:
    return "".join(f"{name}:{value};" for name, value in variables(theme).items())


def patterns() -> Markup:
    """Return the patterns that pictures of the page refer to as ``url(#dots)`` and its like."""
    tiles = [
        tag(
            "pattern",
            tag("path", d=path, class_="pattern"),
            id=name,
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for name, (_, path) in PATTERNS.items()
        if path
    ]
    return tag("svg", tag("defs", tiles), width=0, height=0, class_="defs", aria_hidden="true", focusable="false")
