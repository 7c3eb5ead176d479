"""Make the edits of fixes, in texts and in files byte for byte, and the fix that a did-you-mean stands for."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from mtpp_dsl.core.text.source import Edit, Fix, Span


def apart(fixes: Iterable[Fix]) -> list[Fix]:
    """Return the fixes that can be made together: each that touches none before it, and none twice."""
    chosen: list[Fix] = []
    taken: list[Edit] = []
    for fix in fixes:
        if not any(_touch(edit, other) for edit in fix.edits for other in taken):
            chosen.append(fix)
            taken += fix.edits
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    a, b = one.span, other.span
    return a.source is b.source and a.start <= b.stop and b.start <= a.stop


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits made, which do not overlap."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit.span.start):
        parts += (text[done : edit.span.start], edit.text)
        done = edit.span.stop
    return "".join([*parts, text[done:]])


def edited_bytes(data: bytes, edits: Sequence[Edit]) -> bytes:
    r"""Return the content of a file with edits made; its line ends and byte order mark stay as they are.

    Args:
        data: in UTF-8.
        edits: in the text as it was read: without a byte order mark, each line end a newline.

    >>> from mtpp_dsl.core.text.source import Source, Span
    >>> source = Source("x", "a\nb\n")
    >>> edited_bytes(b"a\r\nb\r\n", [Edit(Span(source, 2, 3), "c")])
    b'a\r\nc\r\n'
    """
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    text = data.removeprefix(mark).decode("utf-8")
    pairs = [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        start, stop = (offset + bisect_left(pairs, offset) for offset in (edit.span.start, edit.span.stop))
        text = text[:start] + edit.text + text[stop:]
    return mark + text.encode("utf-8")


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
