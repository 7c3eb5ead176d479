"""Lists of many numbers as short text: JSON, compressed by zlib, in base64."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence

from mtpp_dsl.core.errors import Refused

__all__ = ["packed", "unpacked"]

MAX_UNPACKED = 32 * 2**20
"""Bytes of JSON."""


def packed(values: Sequence[object]) -> str:
    """Return a list as text."""
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode(), 9)).decode()


def unpacked(text: object) -> object:
    """Return the JSON value that is packed in a text.

    Raises:
        Refused: there is none, or it is too long.

    >>> unpacked(packed([7, [0, 0.5, 3, 1e-9]]))
    [7, [0, 0.5, 3, 1e-09]]
    """
    try:
        if not isinstance(text, str):
            raise ValueError("no text")
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(b64decode(text, validate=True), MAX_UNPACKED)
        if unpacker.unconsumed_tail or not unpacker.eof or unpacker.unused_data:
            raise ValueError("no end")
        value: object = json.loads(data)
    except (ValueError, zlib.error, RecursionError):
        raise Refused("what the certificate has packed cannot be unpacked") from None
    return value
