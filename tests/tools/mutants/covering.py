"""Choose the tests that a mutant has to pass: those that run the lines that it changes, cheap ones first."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from coverage import CoverageData

from tests.tools.mutants.changes import Mutant
from tests.tree import ROOT

__all__ = ["Covering"]

OF_SCOPES = ("tests/test_docs.py::test_tables_", "tests/core/contracts/", "tests/solving/plugins/test_conformance.py")
"""Where scopes are tested, the cheapest first: they are read when their modules are imported, before a test begins."""
DEFAULT_SECONDS = 1.0


class Covering:
    """What a run of the suite recorded (:mod:`tests.tools.mutants.tracing`).

    Args:
        folder: where it was recorded.
        budget: seconds of processor time, about, that the tests of one mutant may take in all.
    """

    def __init__(self, folder: Path, budget: float) -> None:
        self._budget = budget
        self.seconds: dict[str, float] = {}
        self._tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for path in folder.glob("seconds-*.json"):
            self.seconds |= json.loads(path.read_text(encoding="utf-8"))
        for path in folder.glob("lines.*"):
            lines = CoverageData(str(path))
            lines.read()
            for name in lines.measured_files():
                for line, tests in lines.contexts_by_lineno(name).items():
                    self._tests[Path(name).relative_to(ROOT).as_posix()][line] |= set(tests) - {""}

    def tests(self, mutant: Mutant, last_line: int) -> list[str]:
        """Return the tests to run, in their order: cheap ones first, within the budget."""
        lines = self._tests[mutant.path]
        if not mutant.at_import:
            return self._affordable(set().union(*(lines.get(n, ()) for n in range(mutant.line, last_line + 1))))
        own = [[test for test in self.seconds if test.startswith(start)] for start in OF_SCOPES]
        return [
            *dict.fromkeys(test for tests in (*own, set().union(*lines.values())) for test in self._affordable(tests))
        ]

    def time_of(self, tests: Sequence[str]) -> float:
        """Return how long tests take, in seconds of processor time."""
        return sum(self._cost(test) for test in tests)

    def _affordable(self, tests: Iterable[str]) -> list[str]:
        """Return tests for half of the budget from all files in turn, and then the cheapest of the others."""
        by_cost = sorted(tests, key=lambda test: (self._cost(test), test))
        files: dict[str, list[str]] = defaultdict(list)
        for test in by_cost:
            files[test.partition("::")[0]].append(test)
        turns = zip_longest(*sorted(files.values(), key=lambda own: self._cost(own[0])))
        chosen: dict[str, None] = {}
        for candidates, budget in ((chain.from_iterable(turns), self._budget / 2), (by_cost, self._budget)):
            spent = self.time_of([*chosen])
            for test in candidates:
                if test is None or test in chosen or (chosen and spent + self._cost(test) > budget):
                    continue
                chosen[test] = None
                spent += self._cost(test)
        return [*chosen]

    def _cost(self, test: str) -> float:
        return self.seconds.get(test, DEFAULT_SECONDS)


def last_line(tree: ast.Module, line: int) -> int:
    """Return the last line of the innermost statement without statements in it that begins at or holds a line."""
    ends = [
        getattr(node, "end_lineno", line)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line) and not hasattr(node, "body")
    ]
    return min(ends, default=line)
