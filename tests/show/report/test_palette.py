"""Colours can be told apart in colour, in grey and with every colour blindness, and text on them can be read."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.show.report.palette import BESIDE, LINES, PARTS, PATTERNS, STAGES, Theme, paler, variables

BLIND = {
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""What is left of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0)."""
THEMES: list[Theme] = ["light", "dark"]


def linear(colour: str) -> Floats:
    """Return linear RGB of ``#rrggbb``."""
    part = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """Return the relative luminance (WCAG 2.1)."""
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2.1)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lightness(colour: str) -> float:
    """Return L* of a colour: what it is in grey, from 0 to 100."""
    return float(116 * np.cbrt(luminance(colour)) - 16)


def lab(rgb: Floats) -> Floats:
    """Return CIE L*a*b* of linear RGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
def test_text_on_tints_can_be_read(theme: Theme) -> None:
    """Text on every tint has a contrast of 4.5, and every tint is seen on its page."""
    paper = LINES["paper"][THEMES.index(theme)]
    for tint in (*STAGES, *map(paler, STAGES), *PARTS.values(), *BESIDE.values()):
        assert contrast(tint.fill(theme), tint.text(theme)) >= 4.5
        assert contrast(tint.fill(theme), paper) >= 1.1
    for name in set(LINES) - {"paper", "grid"}:
        assert contrast(LINES[name][THEMES.index(theme)], paper) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_stages_can_be_told_apart(theme: Theme) -> None:
    """Two stages have another pattern or another grey; neighbours differ in grey and to the colour-blind."""
    fills = [tint.fill(theme) for tint in STAGES]
    for one, other in combinations(STAGES, 2):
        assert one.pattern != other.pattern or abs(lightness(one.fill(theme)) - lightness(other.fill(theme))) >= 14
    for a, b in pairwise([*fills, fills[0]]):
        assert abs(lightness(a) - lightness(b)) >= 14
        for matrix in BLIND.values():
            seen = [lab(np.array(matrix) @ linear(colour)) for colour in (a, b)]
            assert np.linalg.norm(seen[0] - seen[1]) >= 14


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_beside_a_stage_has_no_colour_of_one(theme: Theme) -> None:
    """Backward passes, transfers and reserves can be told from stages, and a backward pass from its forward pass."""
    stages = [tint.fill(theme) for tint in STAGES]
    for stage in STAGES:
        assert paler(stage).fill(theme) not in stages
        assert abs(lightness(paler(stage).fill(theme)) - lightness(stage.fill(theme))) >= 5
    for tint in BESIDE.values():
        assert min(np.linalg.norm(lab(linear(tint.fill(theme))) - lab(linear(stage))) for stage in stages) >= 5


def test_parts_of_a_load_have_patterns_of_their_own() -> None:
    """Parts that are stacked on each other differ in their patterns."""
    for stacked in (("work", "input", "output", "overflow", "deviation"), ("forward", "backward", "sync", "overflow")):
        assert len({PARTS[name].pattern for name in stacked}) == len(stacked)


def test_variables_are_colours() -> None:
    """Both themes have the same variables, each a colour."""
    light, dark = (variables(theme) for theme in THEMES)
    assert light.keys() == dark.keys()
    assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in (*light.values(), *dark.values()))
    assert {tint.pattern for tint in (*STAGES, *PARTS.values())} <= PATTERNS.keys()
