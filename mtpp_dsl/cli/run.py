"""Run a command: errors become messages and exit codes."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence

from mtpp_dsl.cli.screen import say
from mtpp_dsl.cli.signals import INTERRUPTED, begin
from mtpp_dsl.core.base.writing import guarding
from mtpp_dsl.core.errors import MtppError, SpecError, VerificationError
from mtpp_dsl.core.text.visible import visible


def run(arguments: Sequence[str]) -> int:
    """Run ``mtpp`` with *arguments* and return the exit code."""
    begin()
    import typer

    from mtpp_dsl.cli.app import app
    from mtpp_dsl.cli.screen import be_plain

    be_plain()

    try:
        with guarding():
            code = app(args=list(arguments), prog_name="mtpp", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SpecError as error:
        _print_error(str(error), prefix="")
        count = sum(1 for diagnostic in error.diagnostics if diagnostic.severity == "error")
        if count > 1:
            say(f"\n{count} errors", stderr=True)
        return error.exit_code
    except VerificationError as error:
        _print_error(f"{error}\nThis is a bug of mtpp, not of your spec. Evidence is kept in {_keep(error)}")
        return error.exit_code
    except MtppError as error:
        _print_error(str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted", stderr=True)
        return INTERRUPTED
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        _print_error(f"cannot use{where}: {error.strerror or error}")
        return 2
    except Exception as error:
        if _is_usage(error):
            error.message = visible(str(getattr(error, "message", error)))  # type: ignore[attr-defined]
            error.show()  # type: ignore[attr-defined]
            return 2
        raise


def _is_usage(error: Exception) -> bool:
    """Return whether typer complains about the call itself."""
    return hasattr(error, "show") and hasattr(error, "exit_code")


def _print_error(message: str, prefix: str = "error: ") -> None:
    say(f"{prefix}{message}", stderr=True)


def _keep(error: VerificationError) -> str:
    """Write what is known about a failed verification to a file, and return its path."""
    evidence = {"error": str(error), "arguments": sys.argv, "evidence": error.evidence}
    handle, path = tempfile.mkstemp(prefix="mtpp-evidence-", suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(evidence, file, indent=2, default=str)
    return path
