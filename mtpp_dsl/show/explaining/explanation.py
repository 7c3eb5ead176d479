"""An explanation: the parts that were asked for, as JSON and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Protocol

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.text.visible import visible

__all__ = ["EXPLAIN_VERSION", "Explanation", "ExplanationPart", "explain_schema"]

EXPLAIN_VERSION = 1
KEYS = ("infeasible", "bottleneck", "critical", "constraints", "next", "node", "what_if")
"""The parts of an explanation in the order in which they are told, by their names in JSON."""


class ExplanationPart(Protocol):
    """One part of an explanation."""

    def to_json(self) -> Any:
        """Return it as JSON: times in the unit of the problem's times, sizes in that of its sizes."""

    def words(self) -> list[str]:
        """Return it in words, a line an entry; an entry that begins with spaces is indented by so many."""


@dataclass(frozen=True, repr=False)
class Explanation(Short):
    """What was found out about an answer.

    Attributes:
        status: of the answer: optimal, feasible, bound, infeasible or unknown.
        objective: its name, sense, value, bound and gap, and the units of its value, of times and of sizes.
        parts: those that were asked for and that this answer has, by their names in JSON.
        notes: what was left out, and why.
        interrupted: whether somebody asked to stop: then parts that take time may be missing or not whole.
    """

    status: str
    objective: Mapping[str, Any]
    parts: Mapping[str, ExplanationPart] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON, as :func:`explain_schema` has it; a part that is not there is null."""
        return {
            "explain": EXPLAIN_VERSION,
            "status": self.status,
            "objective": dict(self.objective),
            **{key: self.parts[key].to_json() if key in self.parts else None for key in KEYS},
            "notes": list(self.notes),
            "interrupted": self.interrupted,
        }

    def __str__(self) -> str:
        """Return the words as a text that may be printed."""
        return visible("\n".join(self.words()))

    def words(self) -> list[str]:
        """Return the explanation in words: the parts, with an empty entry between them."""
        found: list[str] = []
        for key in KEYS:
            said = self.parts[key].words() if key in self.parts else []
            found += ["", *said] if found and said else said
        noted = [f"note: {note}" for note in self.notes]
        return [*found, "", *noted] if found and noted else [*found, *noted]


def explain_schema() -> dict[str, Any]:
    """Return the JSON schema of explanations."""
    loaded: dict[str, Any] = json.loads(files("mtpp_dsl.show.explaining").joinpath("explain.json").read_text())
    return loaded
