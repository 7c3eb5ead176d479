"""The command line ``mtpp``."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run ``mtpp`` and exit with its code."""
    import sys

    from mtpp_dsl.cli.run import run

    sys.exit(run(sys.argv[1:]))
