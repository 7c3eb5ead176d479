"""Collect what is wrong with a spec, so that one run reports all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.values.scope import MAX_WRONG, Complaint, Unsettled

__all__ = ["Findings"]

T = TypeVar("T")


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

        A complaint that follows from an earlier error (:class:`~mtpp_dsl.language.values.scope.Unsettled`) is not
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
