"""``minimize`` and ``maximize`` statements to an objective."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, cast

from mtpp_dsl.language import tree
from mtpp_dsl.language.near_words import word_hint
from mtpp_dsl.language.options import Options
from mtpp_dsl.language.scope import Complaint, Scope
from mtpp_dsl.problem.objective import OBJECTIVES, Objective

__all__ = ["lower_objective"]

_PARTS = ("together", "separate")
_TRANSFERS = ("per_batch", "per_input")


def lower_objective(statement: tree.ObjectiveStatement, scope: Scope) -> Objective:
    """Return the objective that a statement names.

    Raises:
        Complaint: there is none of that name, the other sense, an option that makes no sense.
    """
    value = statement.value
    listed = [f"objectives are: {', '.join(OBJECTIVES)}"]
    if not isinstance(value, tree.Name) or value.subscripts or value.parts:
        raise Complaint("an objective is one word", value.span, listed)
    name = value.name
    if name not in OBJECTIVES:
        hint = word_hint(name, OBJECTIVES, "objective")
        raise Complaint(f"there is no objective {name!r}{hint}", value.span, listed)
    objective = Objective(cast("Any", name))
    if statement.sense != objective.sense:
        raise Complaint(f"a plan should {objective.sense} {name}, not {statement.sense} it", statement.span)
    options = Options(statement.options, OBJECTIVES[name], name, scope)
    parts = cast("Literal['together', 'separate']", options.word("parts", _PARTS) or "together")
    return _throughput(options, parts) if name == "throughput" else replace(objective, parts=parts)


def _throughput(options: Options, parts: Literal["together", "separate"]) -> Objective:
    batch, chunk = options.whole("batch"), options.whole("chunk")
    written = options.word("transfer", _TRANSFERS)
    transfer = cast("Literal['per_batch', 'per_input']", written or "per_batch")
    if batch is None:
        for word in ("chunk", "transfer"):
            if word in options:
                raise Complaint(f"{word} needs a batch: give its size, too (batch = …)", options.span(word))
        return Objective("throughput", parts=parts)
    if batch < 1:
        raise Complaint(f"a batch has one input or more; this has {batch}", options.span("batch"))
    if parts == "separate":
        raise Complaint(
            "parts = separate adds up two bottlenecks, and a batch has a makespan instead", options.span("parts")
        )
    if chunk is not None and chunk < 1:
        raise Complaint(f"a chunk has one input or more; this has {chunk}", options.span("chunk"))
    if chunk is not None and batch % chunk:
        raise Complaint(f"chunks of {chunk} inputs do not make a batch of {batch}", options.span("chunk"))
    return Objective("throughput", batch, chunk=chunk, transfer=transfer)
