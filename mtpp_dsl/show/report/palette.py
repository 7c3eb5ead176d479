"""The colours of pages and pictures: of stages, of the parts of a load, of lines; each with a pattern for grey print.

Colours alone never tell two things apart. Every stage has a colour and a pattern, and the pairs differ in grey as well:
stages that follow each other are light and dark in turn, and every second one has the next pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Theme: TypeAlias = Literal["light", "dark"]
Pattern: TypeAlias = Literal["plain", "rising", "dots", "crosses", "falling", "bars"]

PATTERNS: dict[Pattern, tuple[str, str]] = {
    "plain": ("", ""),
    "rising": ("///", "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4"),
    "dots": ("...", "M2,2 h0.01 M6,6 h0.01"),
    "crosses": ("xxx", "M0,8 l8,-8 M0,0 l8,8"),
    "falling": ("\\\\\\", "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4"),
    "bars": ("---", "M0,2 h8 M0,6 h8"),
}
"""What a pattern is for matplotlib, as a hatch, and for SVG: path data in a tile of 8 by 8 units, to be stroked with
round ends; "" where nothing is drawn."""


@dataclass(frozen=True)
class Tint:
    """A fill that can be told from its neighbours by everybody, in colour and in grey.

    Attributes:
        light, dark: the colours on a light page and on a dark one, as ``#rrggbb``.
        ink, ink_dark: the colours of text on them, with a contrast of 4.5 at least.
        pattern: what is drawn over the colour.
    """

    light: str
    dark: str
    ink: str = "#111111"
    ink_dark: str = "#111111"
    pattern: Pattern = "plain"

    @property
    def hatch(self) -> str:
        """The pattern in matplotlib's letters."""
        return PATTERNS[self.pattern][0]

    def fill(self, theme: Theme = "light") -> str:
        """Return the colour on a page of that theme."""
        return self.light if theme == "light" else self.dark

    def text(self, theme: Theme = "light") -> str:
        """Return the colour of text on :meth:`fill`."""
        return self.ink if theme == "light" else self.ink_dark


_WHITE = "#ffffff"
STAGES: tuple[Tint, ...] = (
    Tint("#6d9fd6", "#6d9fd6"),
    Tint("#eedd88", "#7d6a12", ink_dark=_WHITE),
    Tint("#ee8866", "#ee8866", pattern="rising"),
    Tint("#99ddff", "#15607f", ink_dark=_WHITE, pattern="rising"),
    Tint("#44a98c", "#44a98c", pattern="dots"),
    Tint("#ffc0cb", "#9c4a63", ink_dark=_WHITE, pattern="dots"),
    Tint("#9f8fc9", "#9f8fc9", pattern="crosses"),
    Tint("#c9d64a", "#5f6b0d", ink_dark=_WHITE, pattern="crosses"),
    Tint("#b08a72", "#b08a72", pattern="falling"),
    Tint("#dddddd", "#5a6068", ink_dark=_WHITE, pattern="falling"),
    Tint("#d77fa1", "#d77fa1", pattern="bars"),
    Tint("#a8d5ba", "#2f5f49", ink_dark=_WHITE, pattern="bars"),
)
"""The tints of stages, in the order of the plan; they begin anew after the last."""

PARTS: dict[str, Tint] = {
    "work": Tint("#6d9fd6", "#6d9fd6"),
    "forward": Tint("#a8d5ba", "#2f5f49", ink_dark=_WHITE),
    "backward": Tint("#c9d64a", "#5f6b0d", ink_dark=_WHITE, pattern="dots"),
    "input": Tint("#eedd88", "#7d6a12", ink_dark=_WHITE, pattern="rising"),
    "output": Tint("#ee8866", "#ee8866", pattern="falling"),
    "overflow": Tint("#d77fa1", "#d77fa1", pattern="crosses"),
    "deviation": Tint("#dddddd", "#5a6068", ink_dark=_WHITE, pattern="dots"),
    "sync": Tint("#99ddff", "#15607f", ink_dark=_WHITE, pattern="bars"),
    "memory": Tint("#9f8fc9", "#9f8fc9"),
}
"""The tints of what a load consists of, of the passes of training, and of memory."""

BESIDE: dict[str, Tint] = {
    "read": Tint("#a0a0a0", "#6c7178", ink_dark=_WHITE, pattern="rising"),
    "write": Tint("#646464", "#a3a7ab", ink=_WHITE, pattern="falling"),
    "exchange": Tint("#2d2d2d", "#d6d8da", ink=_WHITE, pattern="bars"),
    "reserve": Tint("#ececec", "#2b3038", ink_dark=_WHITE, pattern="dots"),
}
"""The tints of what devices do beside their stages, in charts of time: greys, which no stage has."""
PALE = 0.4
"""What is left of a colour in a paler one."""

LINES: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14171c"),
    "text": ("#111111", "#f0f0f0"),
    "muted": ("#5a6068", "#a9b0b9"),
    "grid": ("#d9dce0", "#333a44"),
    "bottleneck": ("#b3261e", "#ff8a80"),
    "bound": ("#1b5e9c", "#8ec5ff"),
    "limit": ("#6b4a00", "#e8c468"),
    "critical": ("#b3261e", "#ff8a80"),
}
"""The colours of text and lines on a light page and on a dark one; text and lines have a contrast of 4.5 at least."""


def paler(tint: Tint) -> Tint:
    """Return a tint for what belongs to another one and comes after it: a backward pass of its forward pass."""
    light, dark = (_mixed(fill, paper) for fill, paper in zip((tint.light, tint.dark), LINES["paper"], strict=True))
    return Tint(light, dark, *LINES["text"], tint.pattern)


def _mixed(colour: str, paper: str) -> str:
    """Return a colour of which 40 % are left on a paper."""
    parts = ((int(colour[i : i + 2], 16), int(paper[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(PALE * own + (1 - PALE) * under):02x}" for own, under in parts)


def stage_tint(stage: int) -> Tint:
    """Return the tint of a stage by its place in the plan's order, from 0."""
    return STAGES[stage % len(STAGES)]


def variables(theme: Theme) -> dict[str, str]:
    """Return the colours as CSS variables by name: ``--stage-0``, ``--stage-0-ink``, ``--part-work``, ``--line-bound``.

    >>> variables("light")["--stage-0"], variables("dark")["--line-paper"]
    ('#6d9fd6', '#14171c')
    """
    colours = {}
    tints = {f"stage-{i}": tint for i, tint in enumerate(STAGES)} | {
        f"{what}-{name}": tint for what, tints in (("part", PARTS), ("beside", BESIDE)) for name, tint in tints.items()
    }
    for name, tint in tints.items():
        colours[f"--{name}"], colours[f"--{name}-ink"] = tint.fill(theme), tint.text(theme)
    place = 0 if theme == "light" else 1
    return colours | {f"--line-{name}": pair[place] for name, pair in LINES.items()}
