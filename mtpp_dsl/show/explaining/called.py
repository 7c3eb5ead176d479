"""Names in sentences: folded into families, and none of thousands of characters."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.show.report.names import fold_names

__all__ = ["called", "called_all"]

MOST = 60
"""Characters of a name that are told."""


def called(name: str) -> str:
    """Return a name, a long one without its middle, one of no characters in quotes.

    >>> called("attn[3]"), called(""), called("x" * 5000)[:3]
    ('attn[3]', "''", 'xxx')
    >>> len(called("x" * 5000))
    60
    """
    if not name.strip():
        return repr(name)
    half = (MOST - 1) // 2
    return name if len(name) <= MOST else f"{name[: MOST - 1 - half]}…{name[-half:]}"


def called_all(names: Sequence[str], most: int | None = 6) -> str:
    """Return names in a few words, each once: families folded, long lists and long names without their middle.

    >>> called_all(["attn[0]", "attn[1]", "y" * 100])[:12]
    'attn[0..1], '
    """
    return fold_names([*dict.fromkeys(called(name) for name in names)], most)
