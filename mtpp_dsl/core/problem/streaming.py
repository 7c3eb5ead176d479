"""Check ``overflow = prefetch``, parameters that are streamed while devices work, against the rest of a problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mtpp_dsl.core.constraints import (
    Bottleneck,
    Constraint,
    Latency,
    Linear,
    Load,
    Replicate,
    Robust,
    StageMemory,
    decisions_in,
)
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.devices import Interconnect
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective


def check_prefetch(
    graph: Graph, interconnect: Interconnect, objectives: Sequence[Objective], constraints: Sequence[Constraint]
) -> None:
    """Check that the longer of work and streaming is that of one device for each node, in one phase at a time.

    Raises:
        UsageError: otherwise; says what it does not go with.
    """
    if not getattr(interconnect, "prefetch", False):
        return
    if not getattr(interconnect, "overflow", False):
        raise UsageError("prefetch says how parameters are streamed, and overflow that they are: give both")
    reason = next(_unfit(graph, objectives, constraints), None)
    if reason is not None:
        raise UsageError(
            f"overflow = prefetch streams parameters while a device works, and {reason}; "
            "or leave it out and say 'constraint memory'"
        )


def _unfit(graph: Graph, objectives: Sequence[Objective], constraints: Sequence[Constraint]) -> Iterator[str]:
    """Yield for what it is not defined how long a device then takes."""
    for rule in constraints:
        if isinstance(rule, (Replicate, Robust, StageMemory)):
            yield f"constraint {rule} does not go with that"
    for objective in objectives:
        if objective.is_iteration or objective.parts == "separate":
            yield f"'{objective}' has two parts, of which it is not said which of them hides the streaming"
    if not graph.phases:
        return
    rows = [(f"constraint {rule}", rule.terms) for rule in constraints if isinstance(rule, Linear)]
    for words, terms in [*((f"'{objective}'", objective.terms) for objective in objectives), *rows]:
        together = (x for x in decisions_in(terms) if isinstance(x, (Bottleneck, Latency, Load)) and x.phase is None)
        if next(together, None) is not None:
            yield f"{words} is about all phases together, each of which hides it by its own work: name the phases"
    for objective in objectives:
        if not objective.is_linear:
            yield f"'{objective}' is about all phases together, each of which hides it by its own work: name the phases"
