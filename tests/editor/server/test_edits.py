"""Random edits of specs: no feature raises, none is late."""

from __future__ import annotations

import contextlib
import random

import pytest

from mtpp_dsl.editor.server.features import completion, definition, hover, inlay, references, rename
from mtpp_dsl.editor.server.reading import TextReading, read_document
from tests.editor.server.test_completion import BASE
from tests.editor.server.test_hover import SPEC
from tests.editor.server.test_names import SPEC as NAMES
from tests.own_time import within
from tests.tree import ROOT

PIECES = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    '"',
    "#",
    "\n",
    ",",
    "=",
    "->",
    "..",
    ".",
    ":",
    " ",
    "\u202e",
    "𝛼",
    "\x00",
    "\t",
]
PIECES += [
    "constraint ",
    "device ",
    "graph {",
    "node ",
    "edge ",
    "for i in ",
    "if ",
    "3 ",
    "ms",
    "GiB/s",
    "type = ",
    "use ",
]
PIECES += [
    "forall d in devices: ",
    "block b(i) {",
    "include ",
    "let x = ",
    "scenario s {",
    "sum(",
    "[i in 0..<k]",
    "as ",
    "on ",
]


def changed(text: str, random_: random.Random) -> tuple[str, int]:
    """Return a text with one more random edit, and where that was."""
    at = random_.randint(0, len(text))
    kind = random_.random()
    if kind < 0.45:
        piece = random_.choice(PIECES)
        return text[:at] + piece + text[at:], at + len(piece)
    if kind < 0.8:
        return text[:at] + text[at + random_.randint(1, 20) :], at
    start = random_.randint(0, len(text))
    piece = text[start : start + random_.randint(1, 60)]
    return text[:at] + piece + text[at:], at + len(piece)


def asked(reading: TextReading, line: int, column: int, limit: float) -> None:
    """Ask for everything at a place; each in its time."""

    def rename_it() -> None:
        with contextlib.suppress(rename.RenameRefused):
            rename.rename(reading, line, column, "zzz_9")

    features = {
        "completion": lambda: completion.complete(reading, line, column),
        "hover": lambda: hover.hover(reading, line, column),
        "definition": lambda: definition.definition(reading, line, column),
        "references": lambda: references.references(reading, line, column),
        "highlights": lambda: references.highlights(reading, line, column),
        "rename": rename_it,
        "hints": lambda: inlay.hints(reading, 0, 10_000),
    }
    for name, feature in features.items():
        with within(limit, name):
            feature()


SPECS = [BASE, SPEC, NAMES, (ROOT / "examples" / "towers.mtpp").read_text(encoding="utf-8")]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("seed", range(8))
def test_no_edit_makes_a_feature_fail(seed: int) -> None:
    """Eight edits on top of each other, then the next spec; half of the readings have the meaning of an older text."""
    random_ = random.Random(seed)
    older = None
    for text in random_.sample(SPECS, 2):
        for step in range(8):
            text, at = changed(text, random_)
            spec = read_document(text, "spec.mtpp", None)
            current = step % 2 == 0
            older = spec.analyse() if current or older is None else older
            reading = TextReading("untitled:1", spec, older, current, {})
            line, column = reading.lines().position(at)
            asked(reading, line, column, 1.0)
            asked(reading, random_.randint(0, 40), random_.randint(0, 60), 1.0)
