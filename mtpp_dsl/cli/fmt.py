"""``mtpp fmt``."""

from __future__ import annotations

from pathlib import Path

from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.lowering.reader import read_source
from mtpp_dsl.language.syntax.layout import format_spec
from mtpp_dsl.language.syntax.upgrade import is_present, upgraded, version_of


def format_files(paths: list[Path], check: bool, upgrade: bool = False, *, quiet: bool = False) -> int:
    """Format files in place, or with *check* only say which would change, unless *quiet*; return the exit code.

    With *upgrade* those of earlier versions of the language are also rewritten as the present version wants them.
    """
    wrong: list[Diagnostic] = []
    changed: list[Path] = []
    for path in paths:
        source = read_source(path, str(path))
        if upgrade and not quiet and is_present(source):
            say(f"{path} is of version {version_of(source)} of the language, the present one", stderr=True)
        try:
            text = format_spec(Source(source.name, upgraded(source)) if upgrade else source)
        except SpecError as error:
            wrong += error.diagnostics
            continue
        if text != source.text:
            changed.append(path)
            if not check:
                write_text(path, text)
    for path in () if quiet else changed:
        say(f"{'would format' if check else 'formatted'} {path}", stderr=True)
    if wrong:
        raise SpecError(wrong)
    return 1 if check and changed else 0
