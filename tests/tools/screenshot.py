"""``python -m tests.tools.screenshot``: draw the picture of a report that the front page and docs/report.md show."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mtpp_dsl
from tests.browser import opened, started

__all__ = ["PICTURE", "draw", "main"]

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURE = ROOT / "docs" / "report.png"
SPEC = "examples/network.mtpp"
WIDTH, HEIGHT = 1280, 1420
MOST_BYTES = 300_000


def draw(path: Path, spec: str = SPEC, width: int = WIDTH, height: int = HEIGHT, *, dark: bool = False) -> None:
    """Write the upper part of the report of a spec as a PNG.

    Args:
        path: where to.
        spec: from the root of the repository.
        width: of the window.
        height: of the window, which is all that is drawn.
        dark: on a dark page.
    """
    result = mtpp_dsl.solve(mtpp_dsl.load(spec), time_limit=20)
    with TemporaryDirectory() as folder, started() as browser:
        page = Path(folder) / "report.html"
        page.write_text(result.to_html(), encoding="utf-8")
        with opened(browser, page, width, height, dark=dark) as shown:
            shown.page.screenshot(path=path)


def main() -> int:
    """Draw the picture anew; return the exit code."""
    draw(PICTURE)
    size = PICTURE.stat().st_size
    print(f"wrote {PICTURE.relative_to(ROOT)}, {size:,} bytes")
    return int(size > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
