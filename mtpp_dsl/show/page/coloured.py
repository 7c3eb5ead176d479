"""The lines of a spec, with their words in the colours that editors give them."""

from __future__ import annotations

from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from mtpp_dsl.language.words.pygments_lexer import MtppLexer
from mtpp_dsl.show.page.markup import Markup, escape, tag

__all__ = ["coloured_lines"]

CLASSES = ((Comment, "c"), (Keyword.Type, "u"), (Keyword, "k"), (String, "t"), (Number, "n"), (Name.Builtin, "k"))
"""The classes of the style by kinds of words; others have the colour of text."""
MAX_CHARS = 400_000
"""A longer text has no colours."""
MAX_SIGNS = 2_000
"""Signs of a line that are shown."""


def coloured_lines(text: str) -> list[Markup]:
    """Return each line of a text as markup; lines end at line feeds, as they do in messages."""
    text = text.replace("\r\n", "\n")
    if len(text) > MAX_CHARS:
        return [escape(_cut(line)) for line in text.split("\n")]
    lines: list[list[Markup]] = [[]]
    signs = 0
    for _, kind, words in MtppLexer().get_tokens_unprocessed(text):
        for i, part in enumerate(words.split("\n")):
            if i:
                lines.append([])
                signs = 0
            room = MAX_SIGNS - signs
            signs += len(part)
            if part and room > 0:
                lines[-1].append(_word(kind, part if len(part) <= room else f"{part[:room]}…"))
    return [tag("", line) for line in lines]


def _cut(line: str) -> str:
    return line if len(line) <= MAX_SIGNS else f"{line[:MAX_SIGNS]}…"


def _word(kind: _TokenType, text: str) -> Markup:
    found = next((name for of, name in CLASSES if kind in of), None)
    return escape(text) if found is None or text.isspace() else tag("span", text, class_=found)
