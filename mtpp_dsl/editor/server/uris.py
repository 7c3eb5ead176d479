"""URIs of files, as editors write them, and paths."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import url2pathname

__all__ = ["path_of", "uri_of"]


def path_of(uri: str) -> Path | None:
    """Return the path of a ``file:`` URI; None of any other, such as ``untitled:Untitled-1``.

    >>> path_of("file:///a%20b/%C3%A9.mtpp").as_posix()
    '/a b/é.mtpp'
    """
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or "\0" in (name := os.fsdecode(unquote_to_bytes(parts.path))) or not name:
            return None
        if os.name == "nt":
            name = url2pathname(parts.path)
        return Path(f"//{parts.netloc}{name}" if parts.netloc not in ("", "localhost") else name)
    except ValueError:
        return None


def uri_of(path: Path) -> str:
    """Return the URI of a file, whatever its name.

    >>> uri_of(Path("/a b/é.mtpp"))
    'file:///a%20b/%C3%A9.mtpp'
    """
    return Path(os.path.normpath(path.absolute())).as_uri()
