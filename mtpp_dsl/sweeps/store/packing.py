"""Define how whole answers are kept in a database."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from mtpp_dsl.core.base.files import MAX_FILE_BYTES

__all__ = ["packed", "unpacked"]

SMALL = 4096
"""An answer of more bytes is kept compressed."""


def packed(answer: str) -> str | bytes:
    """Return an answer as it is kept: compressed where it is large."""
    data = answer.encode("utf-8", "replace")
    return zlib.compress(data) if len(data) > SMALL else data.decode()


def unpacked(kept: object, refuse: Callable[[str], Exception]) -> str:
    """Return an answer as it was; a small file that would unpack to a huge one is not unpacked."""
    if isinstance(kept, str):
        return kept
    if not isinstance(kept, bytes):
        raise refuse(f"an answer is {kept!r:.60}")
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(kept, MAX_FILE_BYTES)
        if not unpacking.eof:
            raise refuse("an answer is damaged, or larger than any that is read")
        return data.decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise refuse(f"an answer is damaged: {error}") from error
