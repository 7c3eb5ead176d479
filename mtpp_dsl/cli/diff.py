"""``mtpp diff``."""

from __future__ import annotations

import sys
from pathlib import Path

from mtpp_dsl.cli.explain import show_words
from mtpp_dsl.cli.screen import say
from mtpp_dsl.cli.streams import UNWRITTEN
from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.show.explaining.comparing import check_point, diff
from mtpp_dsl.solving.answers.again import points_of
from mtpp_dsl.solving.answers.json import dumps

__all__ = ["diff_answers"]

STDOUT = Path("-")


def diff_answers(a: Path, b: Path, spec: Path | None, include: list[Path], point: str | None, json: Path | None) -> int:
    """Compare two answers, print and write how they differ; return the exit code."""
    points = check_point(point)
    if point is not None and all(points_of(read_json(path)) is None for path in (a, b)):
        raise UsageError(f"--point {point}: neither {a} nor {b} is a front that has points")
    if json is not None and json != STDOUT:
        check_writable(json)
    found = diff(a, b, spec=spec, search=include, points=points)
    if json == STDOUT:
        sys.stdout.write(dumps(found.to_json(), sys.stdout.encoding or "ascii"))
        return 0
    show_words(found.words())
    if json is None:
        return 0
    try:
        write_text(json, dumps(found.to_json()))
    except OSError as error:
        say(f"error: cannot write {json}: {error.strerror or error}", stderr=True)
        return UNWRITTEN
    return 0
