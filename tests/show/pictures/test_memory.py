"""Pictures of memory whose limits differ by much, and the same of the page."""

from __future__ import annotations

import re

import pytest

import mtpp_dsl
from mtpp_dsl.core.plans.result import Result

SPEC = """mtpp 1
graph {
  node a (work = 2 ms, params = 3 MiB)
  node b (work = 3 ms, params = 6 GiB)
  node c (work = 1 ms, params = 1 MiB)
}
device small (memory = 4 MiB)
device big (memory = 16 GiB)
device host
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
constraint memory
"""


def answer(spec: str) -> Result:
    """Return an answer of each node on the device at its place."""
    problem = mtpp_dsl.load(
        spec.replace(
            "constraint memory", "constraint pin a on small\nconstraint pin b on big\nconstraint pin c on host\n"
        )
    )
    return mtpp_dsl.solve(problem, "exact")


def test_limits_that_differ_by_much() -> None:
    """Each bar is a share of its own device's memory, with the amounts beside it: no bar is too small to be seen."""
    pytest.importorskip("matplotlib")
    axes = answer(SPEC).plot(kind="memory").axes[0]
    assert axes.get_xlabel() == "share of the device's memory (%)"
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([75.0, 37.5])
    assert [text.get_text() for text in axes.texts] == ["3 MiB of 4 MiB", "6 GiB of 16 GiB", "1 MiB, no limit"]
    assert [list(line.get_xdata()) for line in axes.lines] == [[100.0, 100.0]] * 2
    assert axes.get_xlim() == pytest.approx((0, 104))


def test_much_more_than_there_is() -> None:
    """A bar of a device that streams is cut at twice its memory; the amounts are those of the plan."""
    pytest.importorskip("matplotlib")
    axes = answer(SPEC.replace("params = 3 MiB", "params = 30 MiB")).plot(kind="memory").axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([200.0, 37.5])
    assert axes.texts[0].get_text() == "30 MiB of 4 MiB"


def test_limits_that_are_alike() -> None:
    """Limits of one size are compared in amounts, in the unit of the spec."""
    pytest.importorskip("matplotlib")
    alike = SPEC.replace("4 MiB", "8 GiB")
    for spec, unit, least in ((alike, "GiB", 1 / 1024), (alike.replace("GiB", "GB"), "GB", 2**20 / 1e9)):
        axes = answer(spec).plot(kind="memory").axes[0]
        assert axes.get_xlabel() == f"memory ({unit})"
        assert min(bar.get_width() for bar in axes.patches) == pytest.approx(least)
        assert not axes.texts


@pytest.mark.parametrize("limit", ["4 MiB", "8 GiB"])
def test_page(limit: str) -> None:
    """The page draws shares where limits differ by much, and says so."""
    page = answer(SPEC.replace("4 MiB", limit)).to_html()
    section = page[page.index('id="memory"') : page.index("</section>", page.index('id="memory"'))]
    widths = [
        float(w) for w in re.findall(r'<rect x="0\.000%" y="2" width="([\d.]+)%"[^>]*class="part-memory"', section)
    ]
    assert ("each bar is a share" in section) == (limit == "4 MiB")
    assert widths[:2] == pytest.approx([75.0, 37.5] if limit == "4 MiB" else [0.018, 37.5], abs=1e-2)
