"""Do as :mod:`mtpp_dsl.solvers.schedule.list.packing` where nothing binds a class to another: less to compile."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, PlacementRules

__all__ = ["FREELY", "is_free", "somewhere"]


def settle(rules: PlacementRules, hold: Hold, c: int, d: int) -> bool:
    """Make *d* the home of class *c* if it may be."""
    if rules.may[c, d]:
        hold.home[c] = d
    return bool(rules.may[c, d])


def fix(hold: Hold, c: int) -> None:
    """Settle class *c* where it is."""
    hold.fixed[c] = True


FREELY = (settle, fix)


def is_free(rules: PlacementRules) -> bool:
    """Return whether every class can go wherever its nodes can run, wherever all others are."""
    return len(rules.near) == 0 and bool((rules.need.sum() <= rules.limit).all())


def somewhere(rules: PlacementRules) -> Hold | None:
    """Return every class on the fastest of its devices, or None if one has none."""
    hold = Hold.empty(*rules.work.shape)
    hold.home[:] = np.where(rules.may, rules.work, np.inf).argmin(axis=1)
    return hold if rules.may.any(axis=1).all() else None
