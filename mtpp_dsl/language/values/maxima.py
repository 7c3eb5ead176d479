"""The largest of several sums of decisions, ``max(…)``: where it may stand, and the rows that say the same."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.base.exact import from_float, settled
from mtpp_dsl.core.constraints import Largest
from mtpp_dsl.language.values.values import Affine

__all__ = ["only_pushed_down", "without_maxima"]

MAX_ROWS = 10_000
"""More rows in place of one are refused."""


def only_pushed_down(value: Affine, operator: str) -> bool:
    """Return whether every ``max(…)`` of *value* can only become small: it is minimised, or limited from above."""
    for decision, a in value.terms.items():
        if isinstance(decision, Largest) and a:
            if operator == "==" or (a > 0) != (operator == "<="):
                return False
            inner = (Affine({x: from_float(b) for x, b in terms}) for terms, _ in decision.sums)
            if not all(only_pushed_down(each, "<=") for each in inner):
                return False
    return True


def without_maxima(row: Affine) -> Iterator[Affine]:
    """Yield the rows, each without ``max(…)``, that together say that *row* is at most, or at least, zero.

    Raises:
        OverflowError: they are more than :data:`MAX_ROWS`.
    """
    rows, left = [row], True
    while left:
        left, fresh = False, []
        for each in rows:
            decision = next((x for x, a in each.terms.items() if isinstance(x, Largest) and a), None)
            if decision is None or not isinstance(decision, Largest):
                fresh.append(each)
                continue
            left = True
            factor = each.terms[decision]
            for terms, constant in decision.sums:
                total = {x: a for x, a in each.terms.items() if x != decision}
                for x, a in terms:
                    total[x] = settled(total.get(x, 0) + factor * from_float(a))
                fresh.append(Affine(total, settled(each.constant + factor * from_float(constant)), each.dimension))
        rows = fresh
        if len(rows) > MAX_ROWS:
            raise OverflowError(f"max(…) stands for more than {MAX_ROWS:,} inequalities")
    yield from rows
