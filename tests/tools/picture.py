"""Draw docs/quickstart.svg, what a terminal shows of the first solve: ``python -m tests.tools.picture``."""

from __future__ import annotations

import io
import re
from contextlib import chdir
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

import mtpp_dsl
from mtpp_dsl.show.report.terminal import summary

__all__ = ["PICTURE", "words"]

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURE = ROOT / "docs" / "quickstart.svg"
SPEC = "examples/quickstart.mtpp"
COLUMNS = 98
SPACE = "&#160;"


def words(picture: str) -> str:
    """Return what the picture says."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return " ".join(" ".join(texts).replace(SPACE, " ").split())


def drawn() -> str:
    """Solve the first example and return the picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    with chdir(ROOT):
        problem = mtpp_dsl.load(SPEC)
    console.print(Text.assemble(("$ ", "dim"), f"mtpp solve {SPEC}"))
    for line in summary(problem, mtpp_dsl.solve(problem), COLUMNS):
        console.print(line, soft_wrap=True)
    return tidied(console.export_svg(title="", code_format=tidied_template(), unique_id="mtpp"))


def tidied_template() -> str:
    """Return Rich's template without fonts from elsewhere: the viewer's own will do."""
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return template.replace("Fira Code", "ui-monospace")


def tidied(picture: str) -> str:
    """Turn leading and trailing spaces of texts, which some viewers drop, into their places."""

    def trimmed(match: re.Match[str]) -> str:
        style, x, y, length, clip, text = match.groups()
        plain = text.replace(SPACE, " ")
        left = len(plain) - len(plain.lstrip(" "))
        if not plain.strip():
            return ""
        width = float(length) / len(plain)
        kept = plain.strip(" ")
        place = f'x="{float(x) + left * width:g}" y="{y}" textLength="{len(kept) * width:g}"'
        return f'<text class="{style}" {place} clip-path="{clip}">{kept.replace(" ", SPACE)}</text>'

    pattern = r'<text class="([^"]*)" x="([^"]*)" y="([^"]*)" textLength="([^"]*)" clip-path="([^"]*)">([^<]*)</text>'
    picture = re.sub(pattern, trimmed, picture)
    return "\n".join(line.rstrip() for line in picture.splitlines() if line.strip()) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
