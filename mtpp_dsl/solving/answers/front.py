"""Fronts of two objectives that were read as JSON: their shape, and what their points say of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.solving.answers.shape import check_shape

__all__ = ["answers_of", "dominated", "unlike"]


def answers_of(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    """Return the answers of a front, checked for their shape.

    Args:
        data: JSON.
        name: what messages call it.

    Raises:
        UsageError: it is no front, or an answer of it is none.
    """
    if set(data) != {"schema", "front", "complete"} or data["schema"] != 2 or not isinstance(data["complete"], bool):
        raise UsageError(f"{name} is no front of mtpp: it has schema (2), front (a list) and complete (true or false)")
    for number, answer in enumerate(data["front"], 1):
        check_shape(answer, f"point {number} of {name}")
    return list(data["front"])


def unlike(answers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which points are of other objectives, or of another spec, than the first."""
    for number, answer in enumerate(answers[1:], 2):
        names, first = (_names(one) for one in (answer, answers[0]))
        if names != first:
            yield f"point {number}: it is of {' and '.join(names)}, the first of {' and '.join(first)}"
        elif answer["spec"] != answers[0]["spec"]:
            yield f"point {number}: it is an answer to another spec than the first, or with other params"


def _names(answer: Mapping[str, Any]) -> list[str]:
    return [str(one["name"]) for one in answer["objectives"]]


def dominated(costs: Sequence[tuple[float, ...] | None]) -> Iterator[str]:
    """Yield which points are no better in both objectives than the one before them; None is one without a plan."""
    for number, (one, other) in enumerate(pairwise(costs), 2):
        if one is not None and other is not None and (other[0] <= one[0] or other[1] >= one[1]):
            yield f"point {number}: it is out of order, or no better than point {number - 1} in both objectives"
