"""What mkdocs calls while it builds the site: adds the pages from the top of the repository, and adapts all."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from tests.tools.site.pages import COPIED, DOCS, OUTSIDE, ROOT, for_site


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages and files that lie outside docs/, unless docs/ has one of that name."""
    for source, target in (OUTSIDE | COPIED).items():
        if files.get_file_from_path(target) is None:
            content = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, target, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Return the Markdown of a page as the site's Markdown reads it."""
    source = {target: name for name, target in OUTSIDE.items()}
    written = (DOCS / page.file.src_uri).is_file()
    return for_site(markdown, f"docs/{page.file.src_uri}" if written else source[page.file.src_uri])
