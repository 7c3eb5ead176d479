"""Hold what one reading of a spec finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.places import Places
from mtpp_dsl.language.values.scope import SpecScope


@dataclass(frozen=True, eq=False)
class Analysis:
    """All that one reading of a spec finds, broken or not.

    It cannot be changed, so that a deep copy is itself. One that is pickled goes without its scope.

    Attributes:
        source: the text.
        statements: those of the text itself that parse, in their order; of a graph that does not, the nodes and edges
            that do.
        scope: what the names of the spec mean, as far as it could be read.
        diagnostics: errors and warnings, in the order of the text, those of included files after it.
        problem: what the spec says; None where there is an error.
        places: which statements say what of it.
    """

    source: Source
    statements: tuple[tree.Statement, ...]
    scope: SpecScope
    diagnostics: tuple[Diagnostic, ...]
    problem: Problem | None
    places: Places

    def __deepcopy__(self, memo: object) -> Analysis:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "scope": SpecScope()}

    def __repr__(self) -> str:
        counts = f"{len(self.errors)} errors, {len(self.warnings)} warnings"
        return f"Analysis({self.source.name!r}: {len(self.statements)} statements, {counts})"

    @classmethod
    def of(
        cls,
        source: Source,
        sources: Sequence[Source],
        statements: tuple[tree.Statement, ...],
        scope: SpecScope,
        diagnostics: Iterable[Diagnostic],
        problem: Problem | None,
        places: Places,
    ) -> Analysis:
        """Return an analysis with its messages sorted by the order of *sources*, and by where they are in them.

        Warnings of a line that has an error are left out: they may follow from it.
        """
        order = {item: number for number, item in enumerate(dict.fromkeys([source, *sources]))}

        diagnostics = list(diagnostics)
        wrong = {_line(item) for item in diagnostics if item.severity == "error"}
        diagnostics = [item for item in diagnostics if item.severity == "error" or _line(item) not in wrong]

        def place(diagnostic: Diagnostic) -> tuple[int, int]:
            span = diagnostic.span
            return (-1, 0) if span is None else (order.get(span.source, len(order)), span.start)

        return cls(source, statements, scope, tuple(sorted(diagnostics, key=place)), problem, places)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors among the diagnostics."""
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity == "error")

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings among the diagnostics."""
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity == "warning")


def _line(diagnostic: Diagnostic) -> tuple[Source, int] | None:
    """Return the line that a message is about."""
    span = diagnostic.span
    return None if span is None else (span.source, span.source.position(span.start)[0])
