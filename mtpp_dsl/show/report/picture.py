"""Files that pictures are written to."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from mtpp_dsl.core.errors import UsageError

__all__ = ["SUFFIXES", "check_picture"]

SUFFIXES = (".pdf", ".png", ".svg")


def check_picture(path: Path) -> None:
    """Complain, before the work is done, about a picture that cannot be drawn.

    Raises:
        UsageError: it is a folder, its format is not known, or matplotlib is missing.
    """
    if path.is_dir():
        raise UsageError(f"cannot draw {path}: it is a folder")
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"cannot draw {path}: a picture ends in {', '.join(SUFFIXES)}")
    if find_spec("matplotlib") is None:
        raise UsageError("pictures need matplotlib: pip install 'mtpp-dsl[plots]'")
