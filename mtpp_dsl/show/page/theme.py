"""The colours of a page, on light and on dark, as variables of CSS, and the patterns that are drawn over them."""

from __future__ import annotations

from mtpp_dsl.show.page.markup import Markup, tag
from mtpp_dsl.show.report.palette import PARTS, PATTERNS, STAGES, Theme, variables

__all__ = ["colours", "patterns"]


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
