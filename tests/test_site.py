"""The documentation is a site: every page is in its navigation, it builds without warnings, and asks nothing outside.

``python -m tests.tools.site`` builds it; :mod:`tests.test_docs` runs what the pages tell a reader to do.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.browser import axe_findings, opened
from tests.pages import DOCS, PAGES, ROOT
from tests.tools import gallery
from tests.tools.site.docstrings import markdown
from tests.tools.site.pages import OUTSIDE, for_site


def nav() -> list[str]:
    """Return the pages of the navigation, in its order."""
    yaml = pytest.importorskip("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    return list(leaves(settings["nav"]))


def leaves(item: Any) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    else:
        for part in item.values() if isinstance(item, dict) else item:
            yield from leaves(part)


def test_every_page_is_in_the_navigation() -> None:
    """Each page of docs/, and those of the top of the repository, once: a new page gets a line in mkdocs.yml."""
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    pages = nav()
    assert len(pages) == len(set(pages))
    assert set(pages) == written | {name for source, name in OUTSIDE.items() if source != "README.md"}


def test_gallery_is_up_to_date() -> None:
    """It has every spec of examples/ as it is, solved to the optimum: tests/test_docs.py solves them again."""
    text = gallery.PAGE.read_text(encoding="utf-8")
    shown = gallery.shown_on(text)
    assert gallery.page(shown) == text
    assert all(re.search(r"\boptimal\b", shown[entry.file]) for entry in gallery.ENTRIES)
    listed = {entry.file for entry in (*gallery.ENTRIES, *gallery.CASES)}
    assert listed == {str(path.relative_to(ROOT / "examples")) for path in (ROOT / "examples").rglob("*.mtpp")}


def test_pictures_of_the_gallery_are_up_to_date() -> None:
    """Each is of the spec as it is and of the answer that the page shows; all together are small."""
    shown = gallery.shown_on(gallery.PAGE.read_text(encoding="utf-8"))
    for entry in gallery.ENTRIES:
        drawn = entry.drawn.read_text(encoding="utf-8")
        assert drawn.rstrip().endswith(gallery.stamp(entry, shown[entry.file])), f"{entry.file}: draw it anew"
        assert "<image" not in drawn
    assert {path.name for path in gallery.PICTURES.iterdir()} == {entry.drawn.name for entry in gallery.ENTRIES}
    assert sum(path.stat().st_size for path in gallery.PICTURES.iterdir()) < gallery.MAX_BYTES


def test_markdown_of_the_site() -> None:
    """Words for the tests go, names of files become titles, and links find what the site has."""
    links = "[a](../CONTRIBUTING.md#tests) [b](../examples/batch.mtpp) [c](answers.md#x) [d](https://a.org/x.md)"
    adapted = for_site(f"```mtpp part\n[x](y)\n```\n{links}\n```sh run.sh\n```\n", "docs/methods.md")
    links = "[a](contributing.md#tests) [b](gallery.md#a-batch-cut-both-ways) [c](answers.md#x) [d](https://a.org/x.md)"
    assert adapted == f'```mtpp\n[x](y)\n```\n{links}\n```sh title="run.sh"\n```\n'
    assert for_site("[r](../sweeps.md)", "docs/methods/auto.md") == "[r](../sweeps.md)"
    assert for_site("[r](docs/sweeps.md)", "CONTRIBUTING.md") == "[r](sweeps.md)"
    with pytest.raises(LookupError, match=r"no page for setup\.py"):
        for_site("[r](../setup.py)", "docs/methods.md")


PUBLIC = [
    f"mtpp_dsl.{name}".removesuffix(".mtpp_dsl") for name in sorted(path.stem for path in (DOCS / "api").glob("*.md"))
]


def test_docstrings_become_markdown() -> None:
    """Roles become links to what the site has, sessions and tables blocks."""
    text = "Return it, see :class:`~mtpp_dsl.core.problem.problem.Problem`::\n\n    x = 1\n\n"
    text += ">>> 1 + 1\n2\n\n== ===\na  b\n== ==="
    link = '<autoref identifier="mtpp_dsl.core.problem.problem.Problem" optional><code>Problem</code></autoref>'
    blocks = "```pycon\n>>> 1 + 1\n2\n```\n\n```text\n== ===\na  b\n== ===\n```"
    assert markdown(text).rstrip() == f"Return it, see {link}:\n\n    x = 1\n\n{blocks}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    from tests.tools.site.build import build

    folder = tmp_path_factory.mktemp("site")
    build(folder)
    return folder


def test_it_builds_strictly(site: Path) -> None:
    """No link or anchor is wrong, nothing is left out, and no page asks for anything outside: build() raises if so."""
    for page in nav():
        html = (site / page).with_suffix(".html").read_text(encoding="utf-8")
        assert "<h1" in html
        assert not re.search(r"<p>```|<code>```", html), f"{page}: a fence is not read as one"


class Counts(HTMLParser):
    """Counts the items of lists, rows of tables, headings and blocks between the first and the last of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("li", "tr", "pre", "h1", "h2", "h3", "h4", "strong", "em"):
            self.found[tag] += 1


@pytest.mark.sampled(13)
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "README.md" and page.parent.name != "api"],
    ids=lambda page: page.name,
)
def test_pages_read_alike(site: Path, page: Path) -> None:
    """The site reads a page as GitHub and editors do: both find as many items, rows, headings and blocks."""
    elsewhere = MarkdownIt("commonmark").enable("table").render(page.read_text(encoding="utf-8"))
    name = OUTSIDE.get(page.name) or str(page.relative_to(DOCS))
    html = (site / name).with_suffix(".html").read_text(encoding="utf-8")
    article = html[html.index("<article") : html.index("</article>")]
    assert Counts(article).found == Counts(elsewhere).found


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_described(site: Path, module: str) -> None:
    """Each has a heading of its own on the page of its module, and no markup of sphinx is left."""
    html = (site / "api" / f"{module.rpartition('.')[2]}.html").read_text(encoding="utf-8")
    there = set(re.findall(r'\bid="([^"]+)"', html))
    homes = {"MipMethod": "mtpp_dsl.solvers.methods.mip.mip_method"}
    names = importlib.import_module(module).__all__
    assert not [name for name in names if f"{homes.get(name, module)}.{name}" not in there]
    assert not re.search(r":(class|meth|func|mod|attr|data):|<p>&gt;", html)


def test_requests_outside_are_found(tmp_path: Path) -> None:
    """What would have a browser ask elsewhere is found; a link that a reader may follow is not."""
    from tests.tools.site.build import outside

    (tmp_path / "a.html").write_text('<a href="https://a.org">a</a><link rel="canonical" href="https://b.org">')
    assert not list(outside(tmp_path))
    asked = ['<script src="https://c.org/x.js">', "<img alt='' src='//d.org/y.png'>"]
    asked += ['<link href="https://e.org/f" rel="stylesheet">', "<style>@import url(https://f.org/a.css);</style>"]
    for i, tag in enumerate(asked):
        (tmp_path / f"{i}.html").write_text(tag, encoding="utf-8")
    assert len({line.partition(":")[0] for line in outside(tmp_path)}) == len(asked)


def test_it_opens_from_files(site: Path, browser: Any) -> None:
    """A browser without a network shows pages, asks for nothing beside them, and finds words by the search."""
    with opened(browser, site / "methods" / "auto.html", 800, folder=site) as found:
        found.page.fill(".md-search__input", "recomputation")
        found.page.wait_for_selector(".md-search-result__item a[href*='stages.html']", timeout=20_000)
        assert "Stages" in found.page.locator(".md-search-result__list").inner_text()
    assert found.requests == []
    assert found.errors == []


@pytest.mark.long
def test_pictures_are_dark_on_the_dark_page(site: Path, browser: Any) -> None:
    """Pictures of plans, drawn on white, change light and dark on the dark page, and stay as they are on the light."""
    of = "[...document.querySelectorAll('article img')].map((each) => getComputedStyle(each).filter)"
    for dark in (True, False):
        with opened(browser, site / "gallery.html", 800, dark=dark, folder=site) as found:
            filters = set(found.page.evaluate(of))
            assert filters == ({"invert(1) hue-rotate(180deg)"} if dark else {"none"})


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "dark"), [("methods", True), ("tutorial", False)])
def test_pages_are_accessible(site: Path, browser: Any, name: str, dark: bool) -> None:
    """axe-core finds nothing wrong, and no page is wider than a narrow screen."""
    with opened(browser, site / f"{name}.html", 360, dark=dark, folder=site) as found:
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 360
        found.page.set_viewport_size({"width": 1400, "height": 900})
        found.page.wait_for_selector(".md-search[aria-label]", state="attached")
        assert axe_findings(found.page) == []
