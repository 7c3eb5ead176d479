"""Pages in a browser, without a network: their structure, their width, what axe-core finds, and how they behave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.front import front_page
from mtpp_dsl.show.reporting import page_of
from tests.amount import stride
from tests.browser import Opened, axe_findings
from tests.hostile_names import HOSTILE
from tests.show.page.answers import ANSWERS

Opening = Callable[..., Opened]
WIDTHS = (360, 800, 1400)
SHOWN = ("quickstart", "hostile", "infeasible", "bound", "training", "batch", "copies", "network")


def expect(locator: Any) -> Any:
    """Return playwright's assertions, which wait; imported where they are used, as a browser may be missing."""
    from playwright.sync_api import expect as of

    return of(locator)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write the pages that these tests open."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in SHOWN[: None if stride(2) == 1 else 4]:
        found[name] = folder / f"{name.replace(' ', '-')}.html"
        found[name].write_text(page_of(*ANSWERS[name]()), encoding="utf-8")
    return found


def test_pages_are_accessible_and_fit(pages: dict[str, Path], open_page: Opening) -> None:
    """At three widths, light and dark, axe-core finds nothing, in sections that are folded neither; the body fits."""
    for name, path in list(pages.items())[:: stride(3)]:
        for width in WIDTHS if stride(2) == 1 else WIDTHS[: 1 + (name == "quickstart")]:
            for dark in (False, True) if width == WIDTHS[1] or stride(2) == 1 else (False,):
                page = open_page(path, width, dark=dark).page
                page.evaluate("document.querySelectorAll('details.whole').forEach((each) => { each.open = true; })")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
                assert axe_findings(page) == [], (name, width, dark)


def test_structure(pages: dict[str, Path], open_page: Opening) -> None:
    """Landmarks, headings, captions and the skip link are there, and every section can be seen."""
    page = open_page(pages["quickstart"], 360).page
    for role in ("banner", "navigation", "main"):
        assert page.get_by_role(role).count() == 1
    assert page.get_by_role("heading", level=1).inner_text() == "Minimize bottleneck"
    titles = [heading.inner_text() for heading in page.get_by_role("heading", level=2).all()]
    wanted = ["Loads of the devices", "The graph", "What each device runs", "Memory against limits", "Nodes by name",
              "The certificate of the bound", "How it was found"]  # fmt: skip
    assert [title for title in titles if title in wanted] == wanted
    links = [link.get_attribute("href") for link in page.locator("nav a").all()]
    assert links == [f"#{section.get_attribute('id')}" for section in page.locator("main > section").all()]
    for section in page.locator("main > section").all():
        assert section.is_visible()
        assert section.bounding_box()["width"] <= 360
    assert page.locator("table").count() == page.locator("table > caption").count() > 3
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id || location.hash") in ("answer", "#answer")


def test_links_open_sections_that_are_folded(pages: dict[str, Path], open_page: Opening) -> None:
    """What few readers need is folded until they ask for it: by its heading, or by a link to it, a second time too."""
    page = open_page(pages["quickstart"]).page
    fold, table = page.locator("#nodes > details"), page.locator("#nodes-table")
    for _ in range(2):
        assert not table.is_visible()
        page.locator("nav a[href='#nodes']").click()
        expect(table).to_be_visible()
        page.locator("#nodes-title").click()
        expect(fold).not_to_have_attribute("open", "")
    assert page.locator("#graph-picture").is_visible()


def test_pictures_show_all_devices_and_tables_all_columns(tmp_path: Path, open_page: Opening) -> None:
    """Graph and network of eight stages are whole in a window; on a phone no column of a table is out of sight."""
    path = tmp_path / "training.html"
    path.write_text(page_of(*ANSWERS["1f1b"]()), encoding="utf-8")
    hidden = "((each) => each.scrollWidth - each.clientWidth)(document.querySelector('{}'))"
    page = open_page(path).page
    page.locator("#network-title").click()
    for frame in ("#graph-frame", ".network-frame"):
        assert page.evaluate(hidden.format(frame)) <= 1, frame
    page = open_page(path, 400).page
    for frame in ("#stages .scroll", "#loads .scroll"):
        assert page.evaluate(hidden.format(frame)) <= 1, frame


def test_backward_passes_have_no_colour_of_a_stage(tmp_path: Path, open_page: Opening) -> None:
    """The bars of a pipeline tell forward from backward passes, and every stage from every other."""
    path = tmp_path / "training.html"
    path.write_text(page_of(*ANSWERS["1f1b"]()), encoding="utf-8")
    page = open_page(path).page
    colours = """(kind) => [...new Set([...document.querySelectorAll("#gantt ." + kind)].map(
        (bar) => bar.classList[2] + " " + getComputedStyle(bar).fill))]"""
    forward, backward = (page.evaluate(colours, kind) for kind in ("forward", "backward"))
    assert len(forward) == len(backward) == 8
    assert len({each.partition(" ")[2] for each in forward + backward}) == 16


def test_theme_can_be_chosen(pages: dict[str, Path], open_page: Opening) -> None:
    """The button changes the theme of the system to the other one, and back."""
    page = open_page(pages["quickstart"]).page
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Dark page").click()
    assert page.evaluate(colour) != light
    page.get_by_role("button", name="Light page").click()
    assert page.evaluate(colour) == light


def test_print_opens_what_is_folded(pages: dict[str, Path], open_page: Opening) -> None:
    """On paper there are no controls, everything is open, and the paper is white in the dark as well."""
    page = open_page(pages["quickstart"], dark=True).page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator("nav.sections").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 720, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0


def test_hostile_names_are_text(pages: dict[str, Path], open_page: Opening) -> None:
    """No name becomes an element, runs, or is asked for; the table has as many rows as there are nodes."""
    page = open_page(pages["hostile"], 360).page
    assert page.title().startswith("mtpp: ")
    assert "taken" not in page.title().partition("script")[0]
    assert page.locator("img").count() == 0
    assert page.locator("#nodes-table tbody tr").count() == len(HOSTILE)
    page.locator("#nodes-title").click()
    page.get_by_label("Search").fill("constructor")
    rows = page.locator("#nodes-table tbody tr")
    expect(rows).to_have_count(3)  # a name, a kind and a label


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Write the pages of plans of 2,000 and of 20,000 nodes."""
    folder = tmp_path_factory.mktemp("large")
    found = {}
    for n in (2_000, 20_000):
        names = [f"model.layer[{v // 40}].block[{v // 8 % 5}].op[{v % 8}]" for v in range(n)]
        rng = np.random.default_rng(0)
        back = rng.integers(2, 9, n)
        edges = {(v - 1, v) for v in range(1, n)} | {(v - int(back[v]), v) for v in range(9, n)}
        graph = Graph.create(names, sorted(edges), work=rng.random(n) / 1e3, params=rng.random(n) * 1e6,
                             output=1e5, work_unit="s", size_unit="B")  # fmt: skip
        devices = [Device(f"gpu[{d}]", memory=1e10) for d in range(8)]
        problem = Problem.create(graph, devices, Shared(1e9), Objective("bottleneck"), [Acyclic()])
        plan = Plan(np.arange(n) * 8 // n, order=tuple(range(8)))
        result = Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="given").of(problem)
        found[n] = folder / f"{n}.html"
        found[n].write_text(page_of(problem, result), encoding="utf-8")
    return found


@pytest.mark.long
def test_large_graphs_open(large: dict[int, Path], open_page: Opening) -> None:
    """2,000 nodes open in two seconds, and 20,000 folded do; search finds a node among them at once.

    The browser needs less than a third of a second of the processor for either; the time on the clock is less than
    half a second where others use the machine as well.
    """
    for n, path in large.items():
        page = open_page(path).page
        assert page.locator("#nodes-table tbody tr").count() == 100
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        assert 0 < metrics["ProcessTime"] < 1.0, n
        assert page.evaluate("performance.getEntriesByType('navigation')[0].domComplete") < 2_000, n
        page.locator("#nodes-title").click()
        page.get_by_label("Search").fill(f"layer[{n // 80}] op[3]")
        expect(page.locator("#nodes-table tbody tr")).to_have_count(5)
        page.get_by_role("button", name="memory").click()
        assert path.stat().st_size < 200 * n + 500_000


def test_front_in_a_browser(tmp_path: Path, open_page: Opening) -> None:
    """The page of a front is accessible, and fits."""
    _, result = ANSWERS["quickstart"]()
    answer = result.to_dict()
    answer["objectives"] = [answer["objectives"][0], {**answer["objectives"][0], "name": "price"}]
    path = tmp_path / "front.html"
    path.write_text(front_page({"schema": 2, "front": [answer, answer], "complete": True}), encoding="utf-8")
    for width in (360, 1400):
        page = open_page(path, width).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert axe_findings(page) == []


def test_what_belongs_together_is_printed_together(pages: dict[str, Path], open_page: Opening) -> None:
    """On paper a sentence stays with its picture, a table's head with its first rows, and it stands on every page."""
    page = open_page(pages["quickstart"]).page
    page.emulate_media(media="print")

    def style(selector: str, name: str) -> str:
        return str(page.evaluate(f"getComputedStyle(document.querySelector('{selector}'))['{name}']"))

    for selector in ("#network p", "#network-title", "#graph > p", "#nodes-table thead", "#nodes-table caption"):
        assert style(selector, "break-after") == "avoid", selector
    for selector in (".network-frame", ".gantt-frame", ".statement.marked"):
        assert style(selector, "break-inside") == "avoid", selector
    assert style("#nodes-table tbody tr", "break-before") == "avoid"
    assert style("#nodes-table thead", "display") == "table-header-group"
    assert style("#nodes-table thead button", "display") == "contents"  # a button is not drawn in a head that repeats


@pytest.mark.long
def test_links_lead_into_included_files(tmp_path: Path, open_page: Opening) -> None:
    """A place in the words of the explanation, and the line of a node, open the file that holds it."""
    (tmp_path / "parts.mtpp").write_text(
        "graph {\n  node a (work = 2, output = 1)\n  node b (work = 3)\n  edge a -> b\n}\nconstraint pin a on d[0]\n",
        encoding="utf-8",
    )
    spec = tmp_path / "spec.mtpp"
    spec.write_text(
        'include "parts.mtpp"\ndevice d[2]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n',
        encoding="utf-8",
    )
    problem = mtpp_dsl.load(spec)
    path = tmp_path / "page.html"
    path.write_text(page_of(problem, mtpp_dsl.solve(problem, "ideals"), what_if=2.0), encoding="utf-8")
    page = open_page(path).page
    fold = page.locator("#file-1")
    assert not fold.evaluate("fold => fold.open")
    page.locator("#explained a", has_text="parts.mtpp:6").click()
    expect(page.locator("#file-1-line-6")).to_be_visible()
    assert axe_findings(page) == []
    fold.evaluate("fold => { fold.open = false; }")
    page.locator(".box[aria-label^='b'], .box:has-text('b')").last.click()
    link = page.locator("#graph-details a", has_text="of parts.mtpp")
    assert link.inner_text() == "line 3 of parts.mtpp"
    link.click()
    expect(page.locator("#file-1-line-3")).to_be_visible()
