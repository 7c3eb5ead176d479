"""Rows and linear objectives that there are already as statements of a spec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from math import copysign

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.objective import OBJECTIVES, Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.builder.of_graph import node_text
from mtpp_dsl.language.words.written import exact, number, option_list, quantity, quoted

_LABEL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[(.*)\])?", re.DOTALL)
_PLAIN = (c.On, c.Used)
"""Decisions without a unit; all others are times."""


def row_texts(problem: Problem, rows: Sequence[c.Linear]) -> Iterator[str]:
    """Yield the statements of rows: those of one label that follow each other are joined by ``and``.

    Raises:
        UsageError: a label that no spec can have, or a decision that it has no word for.
    """
    for (label, penalty, unit), group in groupby(
        rows, key=lambda row: (row.label, row.penalty, _unit(problem, row) if row.soft else "")
    ):
        body = " and ".join(_row(problem, row) for row in group)
        paid = "" if penalty is None else option_list({"penalty": _penalty(problem, penalty, unit)})
        yield f"constraint {_label(label)}: {_instance(label)}{body}{paid}"


def _unit(problem: Problem, row: c.Linear) -> str:
    """Return the unit that a row is written in: that of times where it speaks of one."""
    return problem.time_unit if any(not isinstance(decision, _PLAIN) for decision, _ in row.terms) else ""


def _penalty(problem: Problem, penalty: float, row: str) -> str:
    """Return what a unit of violation costs, in the unit of the first objective over that of the row."""
    unit = problem.objective.unit(problem.time_unit)
    if unit == row:
        return quantity(penalty, "")
    return f"{quantity(penalty, unit)} / (1 {row})" if row else quantity(penalty, unit)


def _label(label: str) -> str:
    match = _LABEL.fullmatch(label)
    if match is None:
        raise UsageError(f"{label!r} is no label that a spec can have: a name, or a name with […]")
    return match[1]


def _instance(label: str) -> str:
    """Return what makes rows of one of several instances of their label."""
    match = _LABEL.fullmatch(label)
    return "" if match is None or match[2] is None else f"forall _ in [{quoted(match[2])}]: "


def _row(problem: Problem, row: c.Linear) -> str:
    unit = _unit(problem, row)
    left = _sum(problem, row.terms, unit)
    return f"{left} {row.sense} {_signed(row.rhs, unit)}"


def _sum(problem: Problem, terms: Iterable[tuple[c.Decision, float]], unit: str) -> str:
    """Return a weighted sum of decisions, in *unit*."""
    text = ""
    for decision, factor in terms:
        sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
        text += sign + _term(problem, decision, abs(factor), unit)
    return text or _signed(0.0, unit)


def _term(problem: Problem, decision: c.Decision, factor: float, unit: str) -> str:
    """Return a factor, in *unit* over that of the decision, times the decision."""
    own = "" if isinstance(decision, _PLAIN) else problem.time_unit
    word = _word(problem, decision)
    if unit == own:
        return word if factor == 1 else f"{quantity(factor, '')} * {word}"
    if not own:
        return f"{quantity(factor, unit)} * {word}"
    return f"{quantity(factor, unit)} / 1 {own} * {word}"


def _share(given: float) -> str:
    """Return a share as a percentage, which no number without a unit is taken for."""
    known = exact(given)
    assert isinstance(known, Fraction)
    return f"{number(100 * known)}%"


def _signed(number: float, unit: str) -> str:
    return ("-" if copysign(1.0, number) < 0 and number else "") + quantity(abs(number), unit)


def _times(decision: c.Largest) -> bool:
    """Return whether the sums of a largest one are times."""
    inner = (x for terms, _ in decision.sums for x in c.decisions_in(terms))
    return any(not isinstance(x, (*_PLAIN, c.Largest)) for x in inner)


def _constant_sum(problem: Problem, terms: Iterable[tuple[c.Decision, float]], constant: float, unit: str) -> str:
    """Return a weighted sum of decisions and a constant, in *unit*."""
    terms = tuple(terms)
    if not terms:
        return _signed(constant, unit)
    text = _sum(problem, terms, unit)
    return text if not constant else f"{text} {'-' if constant < 0 else '+'} {quantity(abs(constant), unit)}"


def _word(problem: Problem, decision: c.Decision) -> str:
    """Return a decision as the language calls it."""

    def node(v: int) -> str:
        return node_text(problem.graph, v)

    def device(d: int) -> str:
        return quoted(problem.devices[d].name)

    match decision:
        case c.On(v, d):
            return f"on({node(v)}, {device(d)})"
        case c.Used(d):
            return f"used({device(d)})"
        case c.Load(d, phase):
            return f"load({device(d)})" if phase is None else f"load({device(d)}, {quoted(phase)})"
        case c.Bottleneck(phase) | c.Latency(phase) if phase is not None:
            return f"{type(decision).__name__.lower()}({quoted(phase)})"
        case c.Largest(sums):
            unit = problem.time_unit if _times(decision) else ""
            return f"max({', '.join(_constant_sum(problem, terms, constant, unit) for terms, constant in sums)})"
        case c.Start(v):
            return f"start({node(v)})"
        case c.Finish(v):
            return f"finish({node(v)})"
        case c.Bottleneck() | c.Makespan() | c.Latency():
            return type(decision).__name__.lower()
    raise UsageError(f"a spec has no word for {decision}")


def objective_text(problem: Problem, objective: Objective) -> str:
    """Return the ``minimize`` or ``maximize`` statement of an objective.

    Raises:
        UsageError: it is one that only rows made in Python have.
    """
    options: dict[str, object] = {}
    if objective.batch is not None:
        options["batch"] = objective.batch
    if objective.chunk is not None:
        options["chunk"] = objective.chunk
    if objective.parts != "together":
        options["parts"] = objective.parts
    if objective.batch is not None and objective.transfer.replace("-", "_") != "per_batch":
        options["transfer"] = objective.transfer.replace("-", "_")
    if objective.is_iteration:
        options = {"microbatches": objective.microbatches, "schedule": objective.schedule}
    unit = objective.unit(problem.time_unit)
    if objective.within:
        options["within"] = (
            _share(objective.within) if objective.within_is == "share" else quantity(objective.within, unit)
        )
    label = f"{objective.label}: " if objective.label else ""
    what = objective.name
    if objective.is_linear and objective.name != "latency":
        none = ((c.Used(0), 0.0),)  # where all terms have cancelled: an objective without a decision is refused
        what = _sum(problem, objective.terms or none, unit)
        if objective.constant:
            what += f"{' - ' if objective.constant < 0 else ' + '}{quantity(abs(objective.constant), unit)}"
        if what in OBJECTIVES and objective.kind == "linear":  # the word alone would be the objective of that name
            what = f"1 * {what}"
    return f"{objective.sense} {label}{what}{option_list(options, texts=('schedule',), words=('parts', 'transfer'))}"
