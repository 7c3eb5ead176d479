"""The fix that a did-you-mean stands for."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from mtpp_dsl.core.text.source import Fix, Span

__all__ = ["is_slip", "suggested"]

_SUGGESTION = re.compile(r"; did you mean '([^']+)'\?$")


def suggested(message: str, span: Span | None) -> Fix | None:
    """Return the fix that writes what a message suggests in place of the word at *span*, if the message is about it.

    It is safe where the word can only be a slip of typing: see :func:`is_slip`.
    """
    match = _SUGGESTION.search(message)
    if match is None or span is None or repr(span.text) not in message:
        return None
    return Fix.replace(span, match[1], safe=is_slip(span.text, match[1]))


def is_slip(written: str, meant: str) -> bool:
    """Return whether a word differs from another by letters that are missing, too much or exchanged, and no others.

    Words that differ in a digit, in a letter that stands for another one, or in much are different names as a rule.

    >>> is_slip("embd", "embed"), is_slip("acylcic", "acyclic")
    (True, True)
    >>> is_slip("attn1", "attn2"), is_slip("embedA", "embedB"), is_slip("gpu", "cpu"), is_slip("foo", "floor")
    (False, False, False, False)
    """
    if len(written) < 3 or sorted(c for c in written if not c.isalpha()) != sorted(c for c in meant if not c.isalpha()):
        return False
    if sorted(written) == sorted(meant):
        return sum(a != b for a, b in zip(written, meant, strict=True)) == 2
    changes = [tag for tag, *_ in SequenceMatcher(None, written, meant, autojunk=False).get_opcodes() if tag != "equal"]
    least = 1 if len(meant) < 7 else 2
    return len(set(changes)) == 1 and changes[0] != "replace" and abs(len(written) - len(meant)) <= least
