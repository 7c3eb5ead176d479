"""``mtpp editor`` and ``mtpp lsp``."""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path

from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.editor.setup.settings import EDITORS, write_settings


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
    program = shutil.which("mtpp", path=str(beside)) or shutil.which("mtpp")
    return [program] if program else [sys.executable, "-m", "mtpp_dsl"]


def serve(*, stdio: bool, verbose: bool) -> int:
    """Serve an editor on stdin and stdout until it ends; return the exit code.

    Args:
        stdio: as editors ask for; there is no other way.
        verbose: whether what is done is logged to stderr, not errors alone.

    Raises:
        UsageError: pygls is not installed.
    """
    assert stdio
    need("pygls.lsp.server", "lsp")
    from mtpp_dsl import __version__
    from mtpp_dsl.editor.server.connection.app import log_to_stderr, start

    if sys.stdin.isatty():
        say("mtpp lsp speaks with an editor, which starts it: see mtpp editor --help; Ctrl-C ends it", stderr=True)
    log_to_stderr(logging.DEBUG if verbose else logging.ERROR)
    return start(__version__)
