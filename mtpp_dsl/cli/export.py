"""``mtpp export``."""

from __future__ import annotations

import sys
from pathlib import Path

from mtpp_dsl.cli.screen import UNWRITTEN, say
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.solving.drivers.export import export, write_files

__all__ = ["export_plan"]


def export_plan(
    answer: Path, to: str, output: Path | None, spec: Path | None, model: str | None, *, quiet: bool = False
) -> int:
    """Write the files of a target, or the first of them to stdout; return the exit code."""
    files = export(answer, to, spec=spec, model=model)
    if output is not None:
        try:
            written = write_files(files, output)
        except OSError as error:
            say(f"error: cannot write {output}: {error.strerror or error}", stderr=True)
            return UNWRITTEN
        if not quiet:
            say("\n".join(f"wrote {path}" for path in written))
        return 0
    name, content = next(iter(files.items()))
    if not isinstance(content, str) or len(files) > 2:
        raise UsageError(f"{to} makes {len(files)} files, of which not all are text: say where to with -o DIR")
    sys.stdout.write(content)
    if len(files) > 1 and not quiet:
        say(f"{', '.join([*files][1:])} is written beside {name} with -o", stderr=True)
    return 0
