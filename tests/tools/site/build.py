"""Builds the site, strictly: a warning of mkdocs is an error, and so is a page that asks for something outside."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tools import typing_tree
from tests.tools.site.pages import ROOT

SITE = ROOT / "build" / "site"
ASKS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object|track)\b[^>]*?\b(?:src|srcset|data|poster)=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preconnect|preload|prefetch|dns-prefetch|icon|modulepreload|manifest))"""
    r"""[^>]*\bhref=["']?(?:https?:)?//[^>]*>"""
    r"""|@import\s+[^;]*//[^;]*;|url\(["']?(?:https?:)?//[^)]*\)"""
)
"""What makes a browser ask elsewhere by itself; links that a reader may follow are not among it."""


class Faulty(Exception):
    """The site has a fault: mkdocs warned, or a page asks for something outside."""


def build(folder: Path) -> None:
    """Build the site into a folder; what mkdocs warns of stands on stderr.

    Raises:
        Faulty: a link leads nowhere, a page is left out, or one asks for something outside.
    """
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # of a version that is not allowed here
    from mkdocs.commands.build import build as run
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException

    typing_tree.main(ROOT / "build" / "modules")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
    config.plugins.on_startup(command="build", dirty=False)
    said = logging.StreamHandler()
    said.setLevel(logging.WARNING)
    logging.getLogger("mkdocs").addHandler(said)
    try:
        run(config)
    except MkDocsException as error:
        raise Faulty(str(error)) from error
    finally:
        logging.getLogger("mkdocs").removeHandler(said)
        config.plugins.on_shutdown()
    found = list(outside(folder))
    if found:
        raise Faulty("the site asks for what lies outside it:\n" + "\n".join(found))


def outside(folder: Path) -> Iterator[str]:
    """Yield each place of a built site, as FILE: TAG, that would have a browser ask elsewhere."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".html", ".css"):
            for match in ASKS.finditer(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(folder)}: {match[0]}"
