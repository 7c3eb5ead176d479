"""The command line ``mtpp``."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run ``mtpp`` and exit with its code; at once, if a method was left behind that would go on for long."""
    import os
    import sys

    from mtpp_dsl.cli.run import run

    code = run(sys.argv[1:])
    supervision = sys.modules.get("mtpp_dsl.supervision")
    if supervision is not None and supervision.left_behind():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
