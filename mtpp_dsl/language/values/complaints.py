"""Collect what is wrong with a spec, and what is to be said of it, while it is read; and end what takes too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mtpp_dsl.core.base.spec_limits import MAX_STEPS
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.edits import suggested
from mtpp_dsl.core.text.source import Diagnostic, Fix, Place, Span

T = TypeVar("T")

MAX_WRONG = 100
"""Errors reported in one run; no more are looked for."""

MAX_NOTES = 8
"""Further lines of a message about the body of a function, which name the calls on the way to it."""


class Complaint(Exception):
    """One error found while a spec is checked; collected, never shown as such.

    Args:
        message: what is wrong, with the offending value and the remedy.
        span: where; None for what has no place in a text.
        notes: further lines.
        code: of :mod:`mtpp_dsl.core.text.codes`.
        second: another place, and what is there, such as ``(first.span, "first declared here")``.
        places: further ones.
        fix: a change that mends it; where none is given and the message ends in a did-you-mean about the word at
            *span*, that word is replaced.
    """

    def __init__(
        self,
        message: str,
        span: Span | None,
        notes: SequenceType[str] = (),
        *,
        code: str = "",
        second: tuple[Span, str] | None = None,
        places: SequenceType[Place] = (),
        fix: Fix | None = None,
    ) -> None:
        super().__init__(message)
        places = tuple(places) if second is None else (Place(*second), *places)
        fix = fix or suggested(message, span)
        self.diagnostic = Diagnostic(message, span, notes=tuple(notes), code=code, places=places, fix=fix)

    def noting(self, note: str) -> Complaint:
        """Return this complaint with a further note, of which there are at most :data:`MAX_NOTES`."""
        if len(self.diagnostic.notes) < MAX_NOTES:
            self.diagnostic = replace(self.diagnostic, notes=(*self.diagnostic.notes, note))
        return self


def reserved(name: str, span: Span, *notes: str) -> Complaint:
    """Return the complaint that a word of the language is taken for a name."""
    return Complaint(f"{name!r} is a word of the language; choose another name", span, notes, code="MTPP-E103")


class Unsettled(Complaint):
    """What cannot be checked as something that it depends on is wrong; that was said, so this is not."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} could not be read", None)


class ReadingStopped(Exception):
    """What is being read is no longer asked for: see :meth:`Steps.stop`."""


class Findings:
    """The errors found so far.

    Attributes:
        wrong: in the order in which they were found.
        failed: how many attempts have failed, with those that only followed from an earlier error.
    """

    def __init__(self) -> None:
        self.wrong: list[Diagnostic] = []
        self.failed = 0

    def attempt(self, function: Callable[..., T], *arguments: object) -> T | None:
        """Call *function*; a complaint is noted and gives None.

        A complaint that follows from an earlier error (:class:`Unsettled`) is not
        noted.

        Raises:
            SpecError: there are as many errors as one run reports.
        """
        try:
            return function(*arguments)
        except Unsettled:
            self.failed += 1
        except Complaint as complaint:
            self.add(complaint.diagnostic)
        return None

    def add(self, diagnostic: Diagnostic) -> None:
        """Note an error.

        Raises:
            SpecError: there are as many errors as one run reports.
        """
        self.failed += 1
        self.wrong.append(diagnostic)
        if len(self.wrong) >= MAX_WRONG:
            raise SpecError(self.wrong)

    def stop_if_wrong(self) -> None:
        """Raise all that was found wrong, if there is anything.

        Raises:
            SpecError: there is.
        """
        if self.wrong:
            raise SpecError(self.wrong)


@dataclass
class Steps:
    """How much has been done to read a spec, so that reading ends.

    Attributes:
        most: steps that may be taken, :data:`mtpp_dsl.core.base.spec_limits.MAX_STEPS` unless told otherwise; less than
            none once reading is to stop.
        taken: how many have been taken.
        refused: whether it was said that there are none left.
        compared: how many words have been compared with names that are unknown.
    """

    most: int = field(default_factory=lambda: MAX_STEPS)
    taken: int = 0
    refused: bool = False
    compared: int = 0

    def spend(self, steps: int, span: Span) -> None:
        """Count steps of reading.

        Raises:
            Complaint: there were too many.
            Unsettled: that was told before.
            ReadingStopped: no further messages are wanted.
        """
        self.taken += steps
        if self.taken > self.most:
            if self.most < 0:
                raise ReadingStopped
            if self.refused:
                raise Unsettled("steps")
            self.refused = True
            raise Complaint(
                f"reading the spec takes more than {MAX_STEPS:,} steps (loops, sums, sets, nodes and edges together); "
                "that is the most",
                span,
                code="MTPP-E901",
            )

    def stop(self) -> None:
        """Have what is being read in another thread stop at its next step, with :class:`ReadingStopped`."""
        self.most = -1


@dataclass
class Remarks:
    """What is noted about a spec beside its errors.

    Attributes:
        warnings: what the spec says to no effect, or may not mean.
        unsettled: what an earlier error has left unknown: "nodes", "edges", "weights" (of these), "devices",
            "options" (of devices), "time unit", or the name of a param or let.
        plain: what to say of params given from outside without a unit, where units do not agree.
        counted: how many nodes each member of a statement, and each set that a loop goes through, is, by its place.
    """

    warnings: list[Diagnostic] = field(default_factory=list)
    unsettled: set[str] = field(default_factory=set)
    plain: list[str] = field(default_factory=list)
    counted: dict[Span, Counter[int]] = field(default_factory=dict)
    _warned: set[tuple[int, int, str]] = field(default_factory=set)

    def warn(self, message: str, span: Span, code: str = "") -> None:
        """Note a warning, once per place and code."""
        key = (id(span.source), span.start, code)
        if key not in self._warned and len(self._warned) < MAX_WRONG:
            self._warned.add(key)
            self.warnings.append(Diagnostic(message, span, "warning", code=code))

    def count(self, nodes: int, span: Span) -> None:
        """Note that what is at a place names so many nodes; of one that is read again, each time."""
        self.counted.setdefault(span, Counter())[nodes] += 1

    def need(self, *names: str) -> None:
        """Stop if an earlier error has left one of these unknown (see ``unsettled``).

        Raises:
            Unsettled: it has.
        """
        for name in names:
            if name in self.unsettled:
                raise Unsettled(name)
