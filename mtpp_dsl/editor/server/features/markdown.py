"""Markdown for hovers and completions, in which names of specs mean themselves."""

from __future__ import annotations

import re
from pathlib import Path

from mtpp_dsl.core.text.source import shortened
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.language.syntax.keywords import Meaning

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$]|^\s*[+-]|:(?=//)|(?<=www)\.|^\s*\d+[.)])")
_TICKS = re.compile("`+")
_DOCS = Path(__file__).resolve().parents[4] / "docs"


def plain(text: str) -> str:
    r"""Return text of a spec, in which nothing is obeyed: no sign of Markdown or HTML, no control character.

    >>> print(plain("<b>*x*"))
    \<b\>\*x\*
    """
    return _SPECIAL.sub(_meant, visible(shortened(text)).replace("\n", " "))


def _meant(match: re.Match[str]) -> str:
    """Return a sign with a backslash before it."""
    return f"{match[0][:-1]}\\{match[0][-1]}"


def code(text: str) -> str:
    """Return text of a spec as code within a line.

    >>> code("a`b"), code("gpu[0]")
    ('``a`b``', '`gpu[0]`')
    """
    text = visible(shortened(text, 400)).replace("\n", "␊").replace("\t", " ") or " "
    fence = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def block(text: str) -> str:
    """Return lines of a spec as code."""
    text = visible(shortened(text))
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}mtpp\n{text}\n{fence}"


def meaning_as_markdown(meaning: Meaning, docs: str = "") -> str:
    """Return what a word means, with how it is written and where more of it is said.

    Args:
        meaning: of the word.
        docs: where the pages of the documentation are, as an address; "" for those beside the package, if any.
    """
    lines = [plain(meaning.says)]
    if meaning.form:
        lines.append(f"{code(meaning.form)}{f', by default {code(meaning.default)}' if meaning.default else ''}")
    lines.append(_link(meaning.page, docs))
    return "\n\n".join(lines)


def _link(page: str, docs: str) -> str:
    file, _, heading = page.partition("#")
    title = heading.replace("-", " ") or file.removesuffix(".md")
    if docs:
        where = f"{docs.rstrip('/')}/{file.removesuffix('.md')}.html{f'#{heading}' if heading else ''}"
        return f"[{title}]({where})"
    if (_DOCS / file).is_file():
        return f"[{title}]({(_DOCS / file).as_uri()}{f'#{heading}' if heading else ''})"
    return f"See {title} in docs/{file}"
