"""Keep what tests said of mutants on disk, as long as the changed file stays as it is."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from tests.tools.mutants.changes import Mutant
from tests.tree import ROOT

__all__ = ["Verdicts"]


class Verdicts:
    """Verdicts in a file, one a line; the last one about a mutant counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._verdicts: dict[str, str] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, verdict = json.loads(line)
                self._verdicts[key] = verdict

    def of(self, mutant: Mutant) -> str | None:
        """Return the verdict on the same fault in the same text of the file, or None."""
        return self._verdicts.get(_key(mutant))

    def keep(self, mutant: Mutant, verdict: str) -> None:
        """Write a verdict down."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([_key(mutant), verdict]) + "\n")


def _key(mutant: Mutant) -> str:
    return f"{_digest(mutant.path)} {mutant.path} {mutant.line} {mutant.name}"


@cache
def _digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]
