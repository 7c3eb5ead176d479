"""Characters that the first font of pictures lacks: drawn by fonts that are installed, or as their codes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator

import pytest

import mtpp_dsl

pytest.importorskip("matplotlib")

from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.show.pictures import canvas
from mtpp_dsl.show.pictures.canvas import short

SPEC = """mtpp 1
graph {
  node a (work = 2 ms, output = 1 MiB)
  node b (work = 3 ms)
  edge a -> b
}
device "ONE" (memory = 1 GiB)
device "TWO" (memory = 1 GiB)
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
constraint acyclic
constraint memory
"""
SECTOR, SEGMENT = "\u2314", "\u2313"
"""Signs that DejaVu Sans Mono has and DejaVu Sans has not: both come with matplotlib."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let a test say which fonts are tried; what is kept of them is forgotten before and after it."""
    canvas._installed.cache_clear()
    yield monkeypatch
    canvas._installed.cache_clear()


def result_of(one: str, two: str) -> Result:
    """Return the answer of a pipeline on two devices of these names."""
    return mtpp_dsl.solve(mtpp_dsl.load(SPEC.replace("ONE", one).replace("TWO", two)), "exact")


def saved(result: Result, kind: str, form: str) -> bytes:
    """Return the file of a picture; a warning, such as that of a font that is not found, is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        file = io.BytesIO()
        result.plot(kind=kind).savefig(file, format=form)
    return file.getvalue()


def test_names_without_a_font_stay_different(installed: pytest.MonkeyPatch) -> None:
    """A character that no font has is drawn as its code, and so is one that is not seen."""
    installed.setattr(canvas, "FALLBACKS", ("No Such Font",))
    figure = result_of("\u8bbe\u5907\u4e00", "\u8bbe\u5907\u4e8c").plot(kind="loads")
    figure.draw_without_rendering()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [r"\u8bbe\u5907\u4e00", r"\u8bbe\u5907\u4e8c"]
    assert short("a\u202eb\ud800", 40) == r"a\u202eb\ud800"
    assert short("\u8bbe\u5907\u670d\u52a1\u5668", 18) == r"\u8bbe…\u5668"
    assert short("  a \t b\n", 9) == "a b"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["pdf", "svg", "png"])
@pytest.mark.parametrize("kind", ["loads", "graph"])
def test_fonts_that_are_installed(installed: pytest.MonkeyPatch, kind: str, form: str) -> None:
    """The fonts that are there draw what the first one lacks, and the file is the same each time."""
    installed.setattr(canvas, "FALLBACKS", ("No Such Font", "DejaVu Sans Mono", "STIXGeneral"))
    result = result_of(SECTOR, SEGMENT)
    assert short(f"gpu {SECTOR}", 9) == f"gpu {SECTOR}"
    one, two = saved(result, kind, form), saved(result, kind, form)
    assert one == two
    if form == "pdf":
        assert b"DejaVuSansMono" in one  # the font is within the file
        assert b"DejaVuSansMono" not in saved(result_of("gpu", "cpu"), kind, form)
    if form == "svg":
        assert b"DejaVuSansMono" in one.replace(b"\n", b"")


def test_fonts_are_looked_for_only_if_needed(installed: pytest.MonkeyPatch) -> None:
    """Names that the first font has do not make us look for others."""
    installed.setattr(canvas, "get_font_names", lambda: pytest.fail("fonts were looked for"))
    saved(result_of("gpu é →", "cpu"), "loads", "png")


def test_chinese_by_a_real_font() -> None:
    """Where a font of Chinese signs is installed, names are drawn as they are."""
    if not any("CJK" in name or "WenQuanYi" in name for name in canvas._installed()):
        pytest.skip("no font of Chinese signs is installed")
    assert short("\u8bbe\u5907\u4e00", 18) == "\u8bbe\u5907\u4e00"
    result = result_of("\u8bbe\u5907\u4e00", "\u8bbe\u5907\u4e8c")
    assert saved(result, "loads", "pdf") == saved(result, "loads", "pdf")
    assert saved(result, "loads", "png") != saved(result_of("\u8bbe\u5907\u4e00", "\u8bbe\u5907\u4e09"), "loads", "png")
