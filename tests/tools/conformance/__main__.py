"""Record anew what the specs of the conformance set mean: ``python -m tests.tools.conformance [CHAPTER …]``.

It prints the cases that are new, gone, or mean something else than recorded, and what the set covers. A meaning that
has changed breaks the promise of docs/language.md unless the change is one that it allows: read what is printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from tests.tools.conformance.cases import FOLDER, chapters, every_case, meanings, recorded, text_of
from tests.tools.conformance.coverage import coverage
from tests.tools.conformance.surface import SURFACES

MOST = 240
"""Characters of a part of a meaning that are shown."""


def main(names: list[str]) -> None:
    """Record chapters, by default all, and print what has changed."""
    for chapter in names or chapters():
        old, new = recorded(chapter), meanings(chapter)
        for name in {**old, **new}:
            for line in differences(old.get(name), new.get(name)):
                print(f"{chapter}: {name}: {line}")
        (FOLDER / f"{chapter}.jsonl").write_text(text_of(new), encoding="utf-8")
    for file, text in SURFACES.items():
        before = (FOLDER / file).read_text(encoding="utf-8").splitlines() if (FOLDER / file).is_file() else []
        for line in unified_diff(before, text().splitlines(), file, file, n=0, lineterm=""):
            print(line)
        (FOLDER / file).write_text(text(), encoding="utf-8")
    everything = [meaning for chapter in chapters() for meaning in recorded(chapter).values()]
    for line in coverage(every_case(), everything):
        print(line)


def differences(old: dict[str, Any] | None, new: dict[str, Any] | None) -> Iterator[str]:
    """Yield what differs between two meanings of a case, a line for each part."""
    if old is None or new is None:
        yield f"new: {_short(new)}" if old is None else "gone"
        return
    before, after = ({**meaning.pop("problem", {}), **meaning} for meaning in (dict(old), dict(new)))
    for part in {**before, **after}:
        if before.get(part) != after.get(part):
            yield f"{part} was {_short(before.get(part))}, is {_short(after.get(part))}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST else text[:MOST] + "…"


if __name__ == "__main__":
    main(sys.argv[1:])
