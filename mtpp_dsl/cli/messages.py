"""``mtpp check --json``: the messages about a spec, for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable

from mtpp_dsl.cli.mending import MadeFix
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.analysis import Analysis
from mtpp_dsl.language.words.diagnostics import diagnostics_to_json
from mtpp_dsl.solving.answers.json import dumps

__all__ = ["print_messages"]


def print_messages(name: str, read: Callable[[], tuple[Analysis, list[MadeFix]]]) -> int:
    """Print what *read* finds as JSON, a file that cannot be read as well; return the exit code."""
    diagnostics: tuple[Diagnostic, ...]
    try:
        found, made = read()
        diagnostics, sound = found.diagnostics, found.problem is not None
    except UsageError as error:
        diagnostics, made, sound = (Diagnostic(str(error), code="MTPP-E701"),), [], False
    fixed = [(change.fix.edits[0].span, change.fix.title) for change in made]
    sys.stdout.write(dumps(diagnostics_to_json(name, diagnostics, fixed), sys.stdout.encoding))
    return 0 if sound else SpecError.exit_code
