"""Turn labelled constraints into rows in whole numbers."""

from __future__ import annotations

from math import ceil, floor, frexp, isinf

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Bottleneck, Finish, Latency, Linear, Load, Makespan, On, Start, Used
from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.symmetry import Ranking
from mtpp_dsl.solvers.backends.cpsat.request import INF, DecisionRow, Term
from mtpp_dsl.solvers.backends.cpsat.whole_numbers import WholeScale

BITS = 48
"""Of the largest value that a row of whole numbers may reach; see ``LONGEST`` of the scale."""
TIMES = (Finish, Makespan, Start)


def of_times(row: Linear) -> bool:
    """Return whether *row* constrains start or finish times or the makespan."""
    return any(isinstance(decision, TIMES) for decision, _ in row.terms)


def delays(row: Linear) -> bool:
    """Return whether *row* may hold of some schedule, but not of the one in which everything starts early."""
    times = [a for decision, a in row.terms if isinstance(decision, TIMES)]
    signs = [a if row.sense == "<=" else -a for a in times]
    return bool(times) and (row.sense == "==" or min(signs) < 0)


def reach(row: Linear) -> float:
    """Return how far from time 0, or from each other, *row* may require things to happen; 0 without times.

    The result bounds the right-hand side and the terms of placement, divided by the least coefficient of a time.
    """
    times = [abs(a) for decision, a in row.terms if isinstance(decision, TIMES)]
    places = sum(abs(a) for decision, a in row.terms if isinstance(decision, On))
    return (abs(row.rhs) + places) / min(times) if times else 0.0


def lowered(
    row: Linear, scale: WholeScale, time: Floats, cutoff: int, *, strict: bool = False, summands: int | None = None
) -> DecisionRow:
    """Return *row* over the decisions of a model in units of *scale*, loosened by what rounding may take.

    A time in the model is up to two units earlier than in the schedule that it is rounded down from, and a load up to
    one unit a task. The independent check accepts a row that is missed by its tolerance; here it is loosened by half of
    that.

    Args:
        row: of the problem.
        scale: of the model's times.
        time: [n, k] the durations that loads are sums of.
        cutoff: no time of the model is larger.
        strict: True for plans: loosen the row only by what its coefficients need. False for bounds.
        summands: of how many rounded times a load of the model is a sum, where it is more than those of its tasks.
    """
    weights: dict[Term, float] = {}
    rounded = 0.0 if scale.exact else float(len(time) if summands is None else summands)
    early = {"start": 2.0, "end": 2.0, "makespan": 2.0, "bottleneck": rounded, "load": rounded}

    def add(term: Term, a: float) -> None:
        weights[term] = weights.get(term, 0.0) + a

    for decision, a in row.terms:
        match decision:
            case On(v, d):
                add(("on", v, d), a)
            case Load(d) if summands is not None:
                add(("load", 0, d), a * scale.unit)
            case Latency() if summands is not None:
                for d in range(time.shape[1]):
                    add(("load", 0, d), a * scale.unit)
            case Used(d):
                add(("used", 0, d), a)
            case Load(d):
                for v in np.flatnonzero(np.isfinite(time[:, d]) & (time[:, d] > 0)).tolist():
                    add(("on", v, d), a * float(time[v, d]))
            case Start(v):
                add(("start", v, 0), a * scale.unit)
            case Finish(v):
                add(("end", v, 0), a * scale.unit)
            case Makespan():
                add(("makespan", 0, 0), a * scale.unit)
            case Bottleneck():
                add(("bottleneck", 0, 0), a * scale.unit)
            case _:
                raise NotImplementedError(f"{type(decision).__name__} in constraint {row}")
    most = {term: 1 if term[0] in ("on", "used") else cutoff for term in weights}
    size = sum(abs(a) * most[term] for term, a in weights.items())
    factor, off = _factor(weights, most, size)
    rounding = off + TOLERANCE * abs(row.rhs) / (4 if strict else 2) + 1e-15 * len(weights) * size
    moved = {} if strict else {term: a * early.get(term[0], 0.0) for term, a in weights.items()}
    above = -sum(move for move in moved.values() if move < 0)
    below = sum(move for move in moved.values() if move > 0)
    return DecisionRow(
        tuple((term, round(a * factor)) for term, a in weights.items() if round(a * factor)),
        None if row.sense == "<=" else _limit(ceil((row.rhs - rounding - below) * factor)),
        None if row.sense == ">=" else _limit(floor((row.rhs + rounding + above) * factor)),
    )


def ranked(rank: Ranking, duration: Ints) -> DecisionRow:
    """Return the row that orders two identical devices: by their number of tasks, or by their work in whole numbers."""
    terms: list[tuple[Term, int]] = []
    for devices, sign in ((rank.more, 1), (rank.less, -1)):
        for d in devices:
            takes = duration[:, d] if rank.by == "time" else np.ones(len(duration), np.int64)
            terms += [(("on", v, d), sign * int(takes[v])) for v in np.flatnonzero(duration[:, d] < INF).tolist()]
    return DecisionRow(tuple(terms), 0, None)


def _factor(weights: dict[Term, float], most: dict[Term, int], size: float) -> tuple[float, float]:
    """Return the factor to multiply a row by, and how much rounding its coefficients may then change it.

    The factor is a power of two that makes the coefficients whole if there is one; else the factor that changes the row
    least: a large power of two, or one that makes one coefficient a power of two, and with it all its multiples.
    """
    highest = BITS - (frexp(size)[1] if size > 0 and not isinf(size) else 0)
    exact = max((_digits(a) for a in weights.values()), default=0)
    if exact <= highest:
        return 2.0**exact, 0.0
    factors = [2.0**highest, *(2.0 ** (highest + frexp(a)[1] - 1) / abs(a) for a in weights.values() if a)]
    changes = [sum(abs(a - round(a * f) / f) * most[term] for term, a in weights.items()) for f in factors]
    off = min(changes)
    return factors[changes.index(off)], off


def _digits(a: float) -> int:
    """Return the least e for which 2 to the power of e times *a* is a whole number."""
    return a.as_integer_ratio()[1].bit_length() - 1


def _limit(value: int) -> int:
    return max(-(2**61), min(2**61, value))
