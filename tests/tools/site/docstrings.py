"""Makes Markdown of docstrings, which are written for sphinx, when griffe has read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|meth|func|mod|attr|data):`(~?)([^`]+)`")
TABLE = re.compile(r"^ *=+( +=+)+ *$")


class SphinxMarkup(griffe.Extension):
    """Turns roles into links, and sessions and tables into blocks."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of a class, function or value."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Rewrite the docstrings of a package and of the modules in it, of which griffe does not tell as objects."""
        modules = [pkg]
        for module in modules:
            self.on_object(obj=module)
            modules += [inner for inner in module.modules.values() if not inner.is_alias]


def markdown(text: str) -> str:
    """Return a docstring as Markdown.

    Args:
        text: with roles such as :class:`Problem`, sessions that begin with ``>>>``, tables between lines of ``=``, and
            literal blocks after ``::``.
    """
    return "\n".join(_lines(ROLE.sub(_linked, text).splitlines()))


def _linked(match: re.Match[str]) -> str:
    """Return a role as a link to what the site has of it, or as code if it has nothing."""
    name = match[2].rpartition(".")[2] if match[1] else match[2]
    return f'<autoref identifier="{match[2]}" optional><code>{name}</code></autoref>'


def _lines(lines: list[str]) -> Iterator[str]:
    """Yield lines, with fences around sessions and tables."""
    inside = last = ""
    for line in [*lines, ""]:  # the last one ends a block
        starts = "pycon" if line.lstrip().startswith(">>>") else "text" if TABLE.match(line) else ""
        if starts and not inside:
            inside = starts
            yield f"{_indent(line)}```{starts}"
        elif inside and not line.strip():
            yield f"{_indent(last)}```"
            inside = ""
        last = line
        yield re.sub(r"::$", ":", line) if not inside else line


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
