"""One headless Chromium for the tests of pages: every request is refused and recorded, and so is every error."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

__all__ = ["ARGUMENTS", "Opened", "axe_findings", "browser", "open_page", "opened", "started", "wait_for"]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FOUND = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Opened:
    """A page that is open.

    Attributes:
        page: of playwright.
        requests: what it asked for beside itself; nothing was let through.
        errors: exceptions of its scripts, and what the console calls an error.
    """

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def started() -> Iterator[Any]:
    """Yield a browser of playwright, without a network.

    Raises:
        FileNotFoundError: there is no Chromium on the path.
    """
    path = next((found for name in FOUND if (found := shutil.which(name))), None)
    if path is None:
        raise FileNotFoundError("there is no chromium on the path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield chromium
        finally:
            chromium.close()


@contextmanager
def opened(
    browser: Any, path: Path, width: int = 1400, height: int = 900, *, dark: bool = False, folder: Path | None = None
) -> Iterator[Opened]:
    """Yield a file as a page of its own context, with the network off.

    Args:
        folder: the page may ask for files in it; without one, for nothing at all.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        offline=True,
        service_workers="block",
        reduced_motion="reduce",
    )
    try:
        found = Opened(context.new_page())
        own = path.resolve().as_uri()

        def refuse(route: Any) -> None:
            url = route.request.url.partition("#")[0]
            if url == own or (folder is not None and url.startswith(folder.resolve().as_uri() + "/")):
                route.continue_()
            else:
                found.requests.append(route.request.url)
                route.abort()

        context.route("**/*", refuse)
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("console", lambda said: found.errors.append(said.text) if said.type == "error" else None)
        found.page.goto(own)
        yield found
    finally:
        context.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser that the tests of a module share; without one they are skipped.

    Not for longer: playwright leaves an event loop running in the thread, in which no other test can run its own.
    """
    pytest.importorskip("playwright", reason="playwright is not installed: pages are not opened")
    try:
        with started() as chromium:
            yield chromium
    except FileNotFoundError as error:
        pytest.skip(f"{error}: pages are not opened")


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Return what opens pages, as :func:`opened` does, until the test ends; what they request fails it."""
    contexts, pages = [], []

    def opening(path: Path, width: int = 1400, height: int = 900, *, dark: bool = False) -> Opened:
        contexts.append(opened(browser, path, width, height, dark=dark))
        pages.append(contexts[-1].__enter__())
        return pages[-1]

    yield opening
    for context in contexts:
        context.__exit__(None, None, None)
    assert [request for page in pages for request in page.requests] == []
    assert [error for page in pages for error in page.errors] == []


def wait_for(page: Any, expression: str, arg: Any = None, seconds: float = 30.0) -> None:
    """Wait until an expression is true on a page; ``page.wait_for_function`` needs ``eval``, which pages forbid.

    Raises:
        TimeoutError: it never was.
    """
    end = monotonic() + seconds
    while not page.evaluate(expression, arg):
        if monotonic() > end:
            raise TimeoutError(f"still false after {seconds:g} s: {expression}")
        page.wait_for_timeout(20)


def axe_findings(page: Any) -> list[str]:
    """Return what axe-core finds wrong with a page: its rule, and where."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{found['id']}: {found['help']} at {node['target']}: {node.get('failureSummary', '')}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
    ]
