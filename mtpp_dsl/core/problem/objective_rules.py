"""Check what has to hold of the objectives of a problem, of their terms and of soft rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from mtpp_dsl.core.constraints import (
    Bottleneck,
    Constraint,
    Decision,
    ExclusiveLinks,
    Finish,
    Linear,
    Makespan,
    Penalties,
    Replicate,
    Start,
)
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.problem.devices import Interconnect, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.soundness import settled_parts
from mtpp_dsl.core.problem.staging import settled_iteration

if TYPE_CHECKING:
    from collections.abc import Iterable


def settled_objectives(
    given: Objective | Sequence[Objective] | None,
    graph: Graph,
    k: int,
    interconnect: Interconnect,
    constraints: Sequence[Constraint],
) -> tuple[tuple[Objective, ...], tuple[str, ...]]:
    """Return the objectives, the first first, and warnings.

    All of them are timed if one is: a bottleneck beside a makespan is then a linear objective. On links they are, too,
    if a row speaks of times, or times of transfers are given in place of bandwidths. What soft rows cost is added to
    the first.

    Raises:
        UsageError: objectives that do not go together, or two of one label; terms over nodes or devices that are not
            there; see :func:`settled_parts`, too.
        ConstraintError: a soft row that the objective does not go with, or a penalty that is negative.
    """
    given = Objective("bottleneck") if given is None else given
    several = [given] if isinstance(given, Objective) else list(given)
    if not several:
        raise UsageError("a problem needs an objective")
    notes: list[str] = []
    settled = []
    for number, one in enumerate(several):
        objective, warnings = settled_parts(settled_iteration(one, graph, constraints), graph, constraints)
        notes += warnings
        _check_terms(objective, graph.n, k)
        settled.append(objective if len(several) == 1 else replace(objective, penalised=number == 0))
    _check_together(settled)
    if settled[-1].within:
        notes.append(f"within changes nothing of '{settled[-1]}': no objective comes after it")
    _check_soft(settled[0], constraints)
    linear = any(objective.is_linear for objective in settled)
    timed = any(objective.timed for objective in settled)
    if timed or ((linear or len(settled) > 1) and _asks_times(interconnect, constraints)):
        settled = [_timed(objective) for objective in settled]
    rule = next((c for c in constraints if isinstance(c, Replicate)), None)
    if rule is not None and linear:
        raise ConstraintError("replicas have no meaning in an objective over decisions", rule.origin)
    return tuple(settled), tuple(dict.fromkeys(notes))


def _asks_times(interconnect: Interconnect, constraints: Sequence[Constraint]) -> bool:
    """Return whether plans on links are schedules although no objective asks for it."""
    if not isinstance(interconnect, Links):
        return False
    exclusive = any(isinstance(constraint, ExclusiveLinks) for constraint in constraints)
    rows = (one for one in constraints if isinstance(one, Linear))
    spoken = any(isinstance(decision, (Start, Finish, Makespan)) for row in rows for decision, _ in row.terms)
    return interconnect.transfers is not None or exclusive or spoken


def _timed(objective: Objective) -> Objective:
    """Return *objective* for plans with a schedule; a bottleneck becomes a linear objective."""
    if objective.timed:
        return objective
    if objective.is_linear:
        return replace(objective, timed=True)
    if objective.name == "throughput" or objective.parts == "separate":
        raise UsageError(
            f"'{objective}' is not defined for plans with a schedule, which another objective needs; write bottleneck"
        )
    return replace(objective, name="timed bottleneck", terms=((Bottleneck(), 1.0),), label=objective.called, timed=True)


def _check_terms(objective: Objective, n: int, k: int) -> None:
    """Check that the terms of an objective are numbers over nodes and devices that exist."""
    _check_decisions(f"objective {objective.called!r}", (decision for decision, _ in objective.terms), n, k)
    if not all(isfinite(a) for _, a in objective.terms) or not isfinite(objective.constant):
        raise UsageError(f"objective {objective.called!r} has a coefficient that is no finite number")
    if not (objective.within >= 0 and isfinite(objective.within)):
        raise UsageError(f"objective {objective.called!r}: within is {objective.within!r}; it must not be negative")
    if (
        objective.name == "throughput"
        and objective.within
        and (objective.within_is == "value" or objective.within >= 1)
    ):
        raise UsageError("within of a throughput is a share of it, below 1")
    if any(isinstance(decision, Penalties) for decision, _ in objective.terms):
        raise UsageError("what soft rows cost is added to the first objective, and cannot be a term of one")


def _check_decisions(what: str, decisions: Iterable[Decision], n: int, k: int) -> None:
    """Check that *decisions* speak of nodes and devices that exist.

    Raises:
        UsageError: one does not; the message begins with *what*.
    """
    for decision in decisions:
        for word, most in (("node", n), ("device", k)):
            number = getattr(decision, word, 0)
            if not 0 <= number < most:
                raise UsageError(f"{what}: there is no {word} {number} (there are {most})")


def _check_together(objectives: Sequence[Objective]) -> None:
    """Check that several objectives can be asked for together."""
    if len(objectives) == 1:
        return
    batched = next((objective for objective in objectives if objective.batch is not None), None)
    if batched is not None:
        raise UsageError(f"'{batched}' asks for plans of a batch, and goes with no other objective")
    names = [objective.called for objective in objectives]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two objectives are called {twice!r}; label them: minimize cost: …")


def _check_soft(objective: Objective, constraints: Sequence[Constraint]) -> None:
    """Check that soft rows go with the first objective, and with the other constraints."""
    soft = [c for c in constraints if isinstance(c, Linear) and c.soft]
    for row in soft:
        assert row.penalty is not None
        if not (row.penalty >= 0 and isfinite(row.penalty)):
            raise ConstraintError(
                f"constraint {row}: the penalty is {row.penalty:g}; it must be a number that is not negative",
                row.origin,
            )
        if any(isinstance(decision, Penalties) for decision, _ in row.terms):
            raise ConstraintError(f"constraint {row}: a soft row cannot speak of what soft rows cost", row.origin)
        if objective.name == "throughput":
            raise ConstraintError(
                f"constraint {row} has a penalty, which cannot be added to a throughput, as that is "
                "1 / bottleneck; minimize bottleneck in its place",
                row.origin,
            )
