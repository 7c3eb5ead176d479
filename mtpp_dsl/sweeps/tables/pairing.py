"""Which row of one database belongs with which row of another, to be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from mtpp_dsl.sweeps.store.rows import RunRow

_LIMITS = ("time_limit", "memory_limit", "gap_limit", "threads", "coarsen")


@dataclass(frozen=True)
class Pair:
    """The same run twice: *before* in the first database, *after* in the second."""

    before: RunRow
    after: RunRow

    @property
    def case(self) -> tuple[Hashable, ...]:
        """What it has in common with the same run with other seeds."""
        return _name(self.before)[:-1]

    @property
    def shown(self) -> str:
        """The problem with its scenario, for people."""
        row = self.before
        return f"{row.problem} ({row.scenario})" if row.scenario else row.problem


@dataclass(frozen=True)
class Pairing:
    """What of two databases belongs together.

    Attributes:
        pairs: of rows.
        by_key: how many of them have the same key; the others have the same names and the same spec.
        only_before, only_after: rows without a partner.
        changed: pairs that would be, if their specs, or the units of their objectives, were the same.
    """

    pairs: Sequence[Pair]
    by_key: int
    only_before: Sequence[RunRow]
    only_after: Sequence[RunRow]
    changed: Sequence[Pair]


def pair_up(before: Sequence[RunRow], after: Sequence[RunRow]) -> Pairing:
    """Pair the rows of two databases: by key first, then by problem, params, label, solver and seed.

    Rows with the same names are told apart by their limits, and left alone where that does not suffice. Rows whose run
    never was, because its spec had changed, are left out.
    """
    left = [row for row in before if row.status != "changed"]
    right = [row for row in after if row.status != "changed"]
    pairs: list[Pair] = []
    by_key = 0
    for name in (_key, _whole_name, _name):
        matched = _match(left, right, name)
        used_left, used_right = {pair.before.key for pair in matched}, {pair.after.key for pair in matched}
        left = [row for row in left if row.key not in used_left]
        right = [row for row in right if row.key not in used_right]
        pairs += matched
        by_key = by_key if name is not _key else len(matched)
    return Pairing(
        [pair for pair in pairs if _comparable(pair)],
        by_key,
        left,
        right,
        [pair for pair in pairs if not _comparable(pair)],
    )


def _match(left: Sequence[RunRow], right: Sequence[RunRow], name: Callable[[RunRow], Hashable]) -> list[Pair]:
    """Return the pairs of rows that have the same name, and no other row has."""
    names = [*map(name, left)], [*map(name, right)]
    counts = Counter(names[0]), Counter(names[1])
    there = dict(zip(names[1], right, strict=True))
    return [
        Pair(row, there[called])
        for row, called in zip(left, names[0], strict=True)
        if counts[0][called] == counts[1][called] == 1
    ]


def _key(row: RunRow) -> Hashable:
    return row.key


def _whole_name(row: RunRow) -> Hashable:
    limits = tuple(getattr(row, name) for name in _LIMITS)
    return _name(row), json.dumps([row.options, row.solver_options], sort_keys=True, default=str), limits


def _name(row: RunRow) -> tuple[Hashable, ...]:
    params = json.dumps(row.params, sort_keys=True, default=str)
    return row.problem, row.scenario, params, row.label, row.solver, row.seed


def _comparable(pair: Pair) -> bool:
    """Return whether both rows are of the same problem, as far as they say."""
    before, after = pair.before, pair.after
    objectives = {(row.objective, row.sense, row.unit) for row in (before, after) if row.objective}
    return before.spec_sha256 == after.spec_sha256 and len(objectives) <= 1
