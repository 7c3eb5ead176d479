"""``mtpp check --fix``: making the changes that messages propose, as long as they leave the spec better."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from mtpp_dsl.core.base.files import read_bytes
from mtpp_dsl.core.base.writing import write_bytes
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.edits import apart, edited, edited_bytes
from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix, Source
from mtpp_dsl.exchange.library.entries import FOLDER
from mtpp_dsl.language.lowering.analysis import Analysis

MAX_ROUNDS = 10
"""Each round makes what the one before has brought to light."""
MAX_TRIED = 50
"""Fixes tried one by one in a round, where all of them together do not leave the spec better."""

Texts = dict[str | os.PathLike[str], str]


class MadeFix(NamedTuple):
    """A change that was made: its fix, and the message that it answers."""

    fix: Fix
    diagnostic: Diagnostic


def mend(read: Callable[[Texts], Analysis]) -> tuple[Analysis, list[MadeFix]]:
    """Make the safe fixes of a spec and of what it includes, write the files, and return what is left, and the changes.

    A change is made only if the spec, read again, has fewer syntax errors, or as many and no more other errors, or
    fewer warnings in the same way; and if it no longer has the message that the change answers. Everything else in the
    files stays as it is, byte for byte.

    Args:
        read: reads the spec with these texts in place of files.

    Raises:
        UsageError: a file cannot be written, or has changed meanwhile; none is written then.
    """
    texts: Texts = {}
    edits: list[list[Edit]] = []
    made: list[MadeFix] = []
    analysis = read(texts)
    for _ in range(MAX_ROUNDS):
        step = _step(read, analysis, texts)
        if step is None:
            break
        analysis, chosen, texts = step
        made += chosen
        edits.append([edit for change in chosen for edit in change.fix.edits])
    _write(edits)
    return analysis, made


def _step(
    read: Callable[[Texts], Analysis], before: Analysis, texts: Texts
) -> tuple[Analysis, list[MadeFix], Texts] | None:
    """Return the spec with as many fixes made as can be made together; None if there are none that help."""
    safe = {
        diagnostic.fix: diagnostic
        for diagnostic in before.diagnostics
        if diagnostic.fix is not None and _may_be_made(diagnostic.fix)
    }
    chosen = [MadeFix(fix, safe[fix]) for fix in apart(safe)]
    attempts = [chosen] if len(chosen) > 1 else []
    for attempt in [*attempts, *([change] for change in chosen[:MAX_TRIED])]:
        changed = _changed(texts, [edit for change in attempt for edit in change.fix.edits])
        after = read(changed)
        if _better(before, after, attempt):
            return after, attempt, changed
    return None


def _may_be_made(fix: Fix) -> bool:
    """Return whether a fix is safe, and changes nothing but files of the user's: those of the library are not."""
    paths = [edit.span.source.path for edit in fix.edits]
    return fix.safe and all(path is not None and not path.resolve().is_relative_to(FOLDER) for path in paths)


def _changed(texts: Texts, edits: Iterable[Edit]) -> Texts:
    by_source: dict[Source, list[Edit]] = {}
    for edit in edits:
        by_source.setdefault(edit.span.source, []).append(edit)
    new = dict(texts)
    for source, own in by_source.items():
        assert source.path is not None
        new[os.path.realpath(source.path)] = edited(source.text, own)
    return new


def _better(before: Analysis, after: Analysis, made: list[MadeFix]) -> bool:
    """Return whether the changes have mended what they answer, and no kind of message before it has become more."""
    old, new = _messages(before), _messages(after)
    answered = all(
        new.count(message) < old.count(message) for message in {_message(change.diagnostic) for change in made}
    )
    return answered and not _left(after, made) and _score(after) <= _score(before)


def _left(after: Analysis, made: list[MadeFix]) -> bool:
    """Return whether there is a syntax error in a line that was changed: then the change was not what was meant."""
    changed = set()
    for fix, _ in made:
        for edit in fix.edits:
            source = edit.span.source
            changed.add((source.name, source.position(edit.span.start)[0]))
    syntax = [error.span for error in after.errors if error.code.startswith("MTPP-E0") and error.span is not None]
    return any((span.source.name, span.source.position(span.start)[0]) in changed for span in syntax)


def _message(diagnostic: Diagnostic) -> tuple[str, str]:
    return diagnostic.code, diagnostic.message


def _messages(analysis: Analysis) -> list[tuple[str, str]]:
    return [_message(diagnostic) for diagnostic in analysis.diagnostics]


def _score(analysis: Analysis) -> tuple[int, int, int]:
    """Return how many syntax errors there are, other errors, and warnings."""
    syntax = sum(error.code.startswith("MTPP-E0") for error in analysis.errors)
    return syntax, len(analysis.errors) - syntax, len(analysis.warnings)


def _write(rounds: list[list[Edit]]) -> None:
    """Write the files anew, with the edits of one round after the other."""
    new: dict[Path, bytes] = {}
    for edits in rounds:
        by_source: dict[Source, list[Edit]] = {}
        for edit in edits:
            by_source.setdefault(edit.span.source, []).append(edit)
        for source, own in by_source.items():
            assert source.path is not None
            path = Path(os.path.realpath(source.path))
            data = new[path] if path in new else read_bytes(path)
            if _text(data) != source.text:
                raise UsageError(f"{source.name} has changed while it was being fixed; nothing was written")
            new[path] = edited_bytes(data, own)
    for path, data in new.items():
        write_bytes(path, data)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
