"""``mtpp editor``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.editor.setup.settings import EDITORS, write_settings

__all__ = ["write_editor"]


def write_editor(name: str, folder: Path, command: str | None) -> int:
    """Write the files for an editor; say which, and what is to do then. Return the exit code."""
    if name not in EDITORS:
        raise UsageError(f"unknown editor {name!r}: there are {', '.join(EDITORS)}{did_you_mean(name, EDITORS)}")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: -o names a folder")
    try:
        written, then = write_settings(name, folder, [command] if command else _own_command())
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror or error}") from None
    for path in written:
        say(str(path))
    say(f"Next: {then}", stderr=True)
    return 0


def _own_command() -> list[str]:
    """Return what starts this mtpp from anywhere: its path; or this Python with ``-m`` where it has none."""
    beside = Path(sys.executable).parent
    found = shutil.which("mtpp", path=str(beside)) or shutil.which("mtpp")
    return [found] if found else [sys.executable, "-m", "mtpp_dsl"]
