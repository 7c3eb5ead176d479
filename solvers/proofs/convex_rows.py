"""Rows of sets that no path leaves and enters again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtpp_dsl.solvers.proofs.rows import Rows, Sum

__all__ = ["add_convex"]


def add_convex(rows: Rows, name: str, on: Sequence[Sum], arcs: Iterable[tuple[int, int]]) -> None:
    """Add that what is after one member of a set and before one along *arcs* is a member, too.

    Args:
        rows: to which variables and rows are added.
        name: of the set.
        on: of everything whether it is in the set.
        arcs: from what is before to what is after it.
    """
    arcs = list(arcs)
    ends = sorted({end for arc in arcs for end in arc})
    after, before = ({x: {rows.variable(f"{x} {what} {name}"): 1} for x in ends} for what in ("after", "before"))
    for x in ends:
        for side in (after, before):
            rows.add(f"{x} beside {name}", [(1, on[x]), (-1, side[x])], 0)
        rows.add(f"{x} between in {name}", [(1, after[x]), (1, before[x]), (-1, on[x])], 1)
    for x, y in arcs:
        rows.add(f"{y} after {x} in {name}", [(1, after[x]), (-1, after[y])], 0)
        rows.add(f"{x} before {y} in {name}", [(1, before[y]), (-1, before[x])], 0)
