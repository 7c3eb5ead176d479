"""``mtpp lsp``."""

from __future__ import annotations

import logging
import sys

from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.lazy import need

__all__ = ["serve"]


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
