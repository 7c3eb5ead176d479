"""The graph and the schedule in a browser: folding, search, zoom and keys, and that scripts draw what Python draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.gantt import placed_bars, placed_tracks
from mtpp_dsl.show.page.schedule import LABEL
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.show.report.bars import chart_rows
from mtpp_dsl.show.reporting import page_of
from tests.browser import Opened, axe_findings, wait_for
from tests.tree import ROOT

Opening = Callable[..., Opened]
UNEQUAL = ROOT / "examples" / "unequal.mtpp"
DRAWN = """() => [...document.querySelectorAll("#graph-picture g :is(rect, path, text)")].map((each) => [
  each.tagName, (each.getAttribute("class") || "").replace(" near", ""),
  each.getAttribute("x"), each.getAttribute("y"), each.getAttribute("width"),
  each.getAttribute("d"), each.getAttribute("stroke-width"), each.firstChild && each.firstChild.textContent,
  each.closest("g").getAttribute("aria-label"), each.closest("g").getAttribute("aria-expanded")])"""


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of 96 nodes in nested modules on four devices, with tensors that skip stages."""
    n = 96
    names = [f"model.layers.{v // 8}.part{v % 8 // 3}.op{v % 3}" for v in range(n)]
    edges = {(v - 1, v) for v in range(1, n)} | {(v - 5, v) for v in range(5, n, 7)} | {(3, 60), (2, 90)}
    graph = Graph.create(names, sorted(edges), work=np.arange(n) * 1e-3, output=np.arange(n) * 1024.0, params=1e6,
                         work_unit="s", size_unit="B", kinds=["matmul"] * n)  # fmt: skip
    devices = [Device(f"gpu[{d}]") for d in range(4)]
    problem = Problem.create(graph, devices, Shared(1e9), Objective("bottleneck"))
    plan = Plan.create(problem, np.arange(n) // 24)
    path = tmp_path_factory.mktemp("graph") / "layers.html"
    result = Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="given").of(problem)
    path.write_text(page_of(problem, result), encoding="utf-8")
    return path


def labels(page: Any) -> list[str]:
    found: list[str] = page.evaluate("[...document.querySelectorAll('.box')].map((box) => box.ariaLabel)")
    return found


def test_script_draws_what_python_draws(layers: Path, open_page: Opening) -> None:
    """A module that is opened and folded again leaves every box, line and text as it was written."""
    page = open_page(layers).page
    written = page.evaluate(DRAWN)
    folded = page.locator(".box[aria-expanded=false]").first
    folded.focus()
    page.keyboard.press("Enter")
    assert len(page.evaluate(DRAWN)) > len(written)
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Enter")
    assert page.evaluate(DRAWN) == written


def test_keys_and_search(layers: Path, open_page: Opening) -> None:
    """Arrow keys go from box to box, the search opens what a node is in, and its figures are said."""
    page = open_page(layers).page
    page.locator(".box[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.ariaLabel")
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.ariaLabel")
    assert second != first
    assert page.locator(".box[tabindex='0']").count() == 1
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.ariaLabel") == first
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.ariaLabel").endswith("gpu[1]")
    wanted = "model.layers.7.part1.op2"
    assert not any(label.startswith(wanted) for label in labels(page))
    page.get_by_label("Find a node").fill("layers.7.part1.op2")
    assert "1 node" in page.locator("#graph-found").inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel").startswith(wanted)
    told = page.locator("#graph-details").inner_text()
    assert wanted in told
    assert "matmul" in told
    assert "59 ms" in told
    assert "gpu[2]" in told
    assert page.locator(".flow.near").count() > 0


@pytest.mark.long
def test_all_levels(layers: Path, open_page: Opening) -> None:
    """All levels open to all nodes and fold to nothing, at every width; axe-core finds nothing on the way."""
    page = open_page(layers, 360).page
    more, less = page.locator("#graph-more"), page.locator("#graph-less")
    for _ in range(4):
        more.click()
    assert page.locator(".box:not([aria-expanded])").count() == 96
    assert page.locator(".box[aria-expanded=false]").count() == 0
    assert axe_findings(page) == []
    for _ in range(5):
        less.click()
    assert page.locator(".box[aria-expanded=true]").count() == 0
    picture, fit = page.locator("#graph-picture"), page.get_by_role("button", name="Fit the width")
    own = float(picture.get_attribute("width") or 0)
    assert picture.bounding_box()["width"] == pytest.approx(0.45 * own, rel=1e-3)  # what is smaller cannot be read
    page.set_viewport_size({"width": 800, "height": 900})
    assert picture.bounding_box()["width"] <= 800 < own
    fit.click()
    assert picture.bounding_box()["width"] == pytest.approx(own)
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_schedule(tmp_path: Path, open_page: Opening) -> None:
    """The chart has the bars of the schedule, zooms by keys, buttons and the wheel, and says what a bar is."""
    problem = mtpp_dsl.load(UNEQUAL)
    result = mtpp_dsl.solve(problem, "heft")
    assert result.plan is not None
    path = tmp_path / "schedule.html"
    path.write_text(page_of(problem, result), encoding="utf-8")
    page = open_page(path).page
    wait_for(page, "document.getElementById('gantt').getAttribute('width') !== '1000'")
    timeline = Timeline(problem, result.plan)
    width = int(page.evaluate("document.getElementById('gantt').getAttribute('width')")) - LABEL - 10
    expected = placed_bars(placed_tracks(chart_rows(timeline, {})), 0.0, timeline.makespan, width)
    seen = page.evaluate("[...document.querySelectorAll('#gantt .act')].map((bar) => Number(bar.getAttribute('x')))")
    assert seen == pytest.approx([bar.x for bar in expected if bar.bar is not None], abs=0.06)
    page.locator("#gantt").focus()
    page.keyboard.press("c")
    details = page.locator("#gantt-details")
    assert "step 1 of" in details.inner_text()
    assert timeline.critical[0].activity.name in details.inner_text()
    page.keyboard.press("c")
    assert timeline.critical[1].activity.name in details.inner_text()
    page.keyboard.press("0")
    picture = page.locator("#gantt")
    for zoom in ("key", "button", "wheel"):
        before = ticks(page)
        picture.focus()
        picture.hover()
        if zoom == "key":
            page.keyboard.press("+")
        elif zoom == "button":
            page.get_by_role("button", name="Zoom in").click()
        else:
            page.mouse.wheel(0, -100)
        wait_for(page, "(before) => document.querySelector('#gantt .axis').textContent !== before", before)
    page.keyboard.press("0")
    wait_for(page, f"document.querySelectorAll('#gantt .act').length === {len(seen)}")
    assert axe_findings(page) == []


def ticks(page: Any) -> str:
    found: str = page.locator("#gantt .axis").evaluate("(axis) => axis.textContent")
    return found
