"""What Markdown of the repository says, in the words of the site: fences, and links to what lies outside docs/."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from tests.tools import gallery

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
"""Pages at the top of the repository, and where the site has them."""
COPIED = {"mtpp_dsl/language/words/diagnostics.json": "files/diagnostics.json"}
"""Files that pages link to, and where the site has copies."""
FENCE = re.compile(r"^```([^\n`]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)\s#]*)(#[^)\s]*)?(?=\))")
EXAMPLES = {f"examples/{entry.file}": entry.anchor for entry in (*gallery.ENTRIES, *gallery.CASES)}


def for_site(text: str, page: str) -> str:
    """Return the Markdown of a page of the repository as the site's Markdown reads it.

    Args:
        text: as it stands in the file.
        page: where the page stands in the repository, such as "docs/methods/auto.md".

    Raises:
        LookupError: a link leads to a file that the site does not have.
    """
    parts: list[str] = []
    end = 0
    for match in FENCE.finditer(text):
        parts += [LINK.sub(lambda link: _link(link, page), text[end : match.start()]), _fence(match)]
        end = match.end()
    return "".join((*parts, LINK.sub(lambda link: _link(link, page), text[end:])))


def place(page: str) -> str:
    """Return where the site has a page of the repository, before it is made HTML.

    Raises:
        LookupError: it has none.
    """
    if page.startswith("docs/"):
        return page.removeprefix("docs/")
    if page in OUTSIDE or page in COPIED:
        return OUTSIDE.get(page) or COPIED[page]
    raise LookupError(f"the site has no page for {page}: link to one of docs/, or list it in {__name__}")


def _fence(match: re.Match[str]) -> str:
    """Return a fenced block whose words after the language are for the tests; the name of a file is its title."""
    language, *words = match[1].split()
    file = next((word for word in words if "." in word), None)
    title = f' title="{file}"' if file else ""
    return f"```{language}{title}\n{match[2]}```"


def _link(match: re.Match[str], page: str) -> str:
    """Return the target of a link, from the page's place on the site."""
    target, anchor = match[1], match[2] or ""
    if not target:
        return anchor
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    if path in EXAMPLES:
        path, anchor = "docs/gallery.md", f"#{EXAMPLES[path]}"
    elif path in ("examples", "docs"):
        path = "docs/gallery.md" if path == "examples" else "docs/index.md"
    return posixpath.relpath(place(path), posixpath.dirname(place(page)) or ".") + anchor
