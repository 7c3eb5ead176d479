"""Find what has become worse, or better, from one database of results to another."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from mtpp_dsl.sweeps.store.outcome import ANSWERED, FAILED
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.tables.contradictions import Contradiction, contradictions
from mtpp_dsl.sweeps.tables.pairing import Pair, Pairing, pair_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "QUANTITIES",
    "Certain",
    "ComparisonRules",
    "DatabaseComparison",
    "Quantity",
    "QuantityDifference",
    "compare",
    "greater",
    "holm",
]

Quantity: TypeAlias = Literal["value", "bound", "time"]
QUANTITIES: tuple[Quantity, ...] = ("value", "bound", "time")
FEWEST = 5
"""With fewer differences no test reaches a level of 5 %: 4 numbers have the same sign in 1 of 16 cases."""
_CUT_SHORT = frozenset({"time_limit", "interrupted"})


@dataclass(frozen=True)
class ComparisonRules:
    """What counts as a difference.

    Attributes:
        level: the chance of a false report, among all labels and among all problems.
        tolerance: relative; values and bounds that differ by no more are the same.
        time_tolerance: relative; the same of times, which no two runs have in common.
        time_floor: in seconds; times that differ by no more are the same.
        cpu: compare processor time, in place of wall time.
        of: which quantities are compared.
    """

    level: float = 0.05
    tolerance: float = 1e-4
    time_tolerance: float = 0.1
    time_floor: float = 0.05
    cpu: bool = False
    of: tuple[Quantity, ...] = QUANTITIES


@dataclass(frozen=True)
class QuantityDifference:
    """The differences of one quantity, of a label over all problems, or of one problem over its seeds.

    Attributes:
        quantity: what was compared.
        label: of the method, with its solver behind a comma where it has one.
        problem: "" for all problems.
        pairs: how many were compared.
        worse, better: how many of them differ.
        change: relative, above 0 where it is worse: the middle of those that differ, infinite where most have lost it.
        chance: that so much comes up where nothing has become worse, corrected for the number of tests.
        chance_better: the same, where nothing has become better.
        verdict: "worse" or "better" where that chance is below the level, else "".
    """

    quantity: Quantity
    label: str
    problem: str
    pairs: int
    worse: int
    better: int
    change: float
    chance: float
    chance_better: float
    verdict: str

    @property
    def same(self) -> int:
        """How many pairs do not differ."""
        return self.pairs - self.worse - self.better


@dataclass(frozen=True)
class Certain:
    """A difference that no chance explains: the run failed, or it has one seed and ends by itself, always alike."""

    quantity: Quantity | Literal["failure"]
    pair: Pair
    worse: bool


@dataclass(frozen=True)
class DatabaseComparison:
    """All that is to be said of two databases.

    Attributes:
        pairing: what was compared.
        labels: findings over all problems, for each label and quantity.
        problems: significant ones of single problems over their seeds.
        certain: differences that need no test.
        contradictions: answers of which one must be wrong, within a database or across the two.
        other_machine: pairs whose times were not compared: they are of machines of two classes.
    """

    pairing: Pairing
    labels: Sequence[QuantityDifference]
    problems: Sequence[QuantityDifference]
    certain: Sequence[Certain]
    contradictions: Sequence[Contradiction]
    other_machine: int

    @property
    def regressions(self) -> int:
        """How many findings are worse, those that need no test with them."""
        tested = sum(finding.verdict == "worse" for finding in (*self.labels, *self.problems))
        return tested + sum(change.worse for change in self.certain)


def compare(
    before: Sequence[RunRow], after: Sequence[RunRow], rules: ComparisonRules | None = None
) -> DatabaseComparison:
    """Compare two sets of results, run by run.

    Each quantity of each label is tested over all pairs of runs, and each problem with enough seeds on its own, by
    Wilcoxon's signed-rank test of the relative differences; a plan or bound that is lost counts as the largest. Labels
    and problems are two families, each corrected by Holm.

    Args:
        before: rows of the first.
        after: rows of the second.
        rules: what counts as a difference.
    """
    rules = rules or ComparisonRules()
    pairing = pair_up(before, after)
    by_label = _grouped(pairing.pairs, lambda pair: _label(pair.before))
    by_case = _grouped(pairing.pairs, lambda pair: pair.case)
    alone = {label for label, pairs in by_label.items() if len({pair.case for pair in pairs}) == 1}
    cases = {case: pairs for case, pairs in by_case.items() if _label(pairs[0].before) not in alone}
    return DatabaseComparison(
        pairing,
        _findings(by_label, rules, lambda pair: (_label(pair.before), ""), 1),
        [
            finding
            for finding in _findings(cases, rules, lambda pair: (_label(pair.before), pair.shown), FEWEST)
            if finding.verdict
        ],
        [*_certain(by_case.values(), rules)],
        contradictions([*before, *after]),
        sum(_timed(pair) and pair.before.machine != pair.after.machine for pair in pairing.pairs if "time" in rules.of),
    )


def _label(row: RunRow) -> str:
    return f"{row.label}, {row.solver}" if row.solver else row.label


def _grouped(pairs: Iterable[Pair], by: Callable[[Pair], Hashable]) -> dict[Hashable, list[Pair]]:
    groups: dict[Hashable, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(by(pair), []).append(pair)
    return groups


def _findings(
    groups: Mapping[Hashable, Sequence[Pair]],
    rules: ComparisonRules,
    named: Callable[[Pair], tuple[str, str]],
    fewest: int,
) -> list[QuantityDifference]:
    """Return the findings of each group and quantity with at least *fewest* differences, or pairs where that is 1."""
    samples: dict[tuple[Hashable, Quantity], list[float]] = {}
    for group, pairs in groups.items():
        for quantity in rules.of:
            given = [difference(pair, quantity, rules) for pair in pairs]
            differences = [one for one in given if one is not None]
            if differences and (fewest == 1 or sum(one != 0 for one in differences) >= fewest):
                samples[group, quantity] = differences
    worse = holm({name: greater(differences) for name, differences in samples.items()})
    better = holm({name: greater([-one for one in differences]) for name, differences in samples.items()})
    findings = []
    for (group, quantity), differences in samples.items():
        chances = worse[group, quantity], better[group, quantity]
        verdict = "worse" if chances[0] <= rules.level else "better" if chances[1] <= rules.level else ""
        counts = sum(one > 0 for one in differences), sum(one < 0 for one in differences)
        differing = sorted(one for one in differences if one) or [0.0]
        change = differing[len(differing) // 2]
        findings.append(
            QuantityDifference(quantity, *named(groups[group][0]), len(differences), *counts, change, *chances, verdict)
        )
    return findings


def difference(pair: Pair, quantity: Quantity, rules: ComparisonRules) -> float | None:
    """Return by how much a quantity has become worse, relative to the larger of the two; None without a comparison.

    It is 0 within the tolerance, infinite where it is there no more, and minus infinity where it had not been there.
    """
    before, after = pair.before, pair.after
    if quantity == "time":
        return _time_difference(pair, rules) if _timed(pair) and before.machine == after.machine else None
    old, new = (_known(row, quantity) for row in (before, after))
    if old is None or new is None:
        return None if old is new else math.inf if new is None else -math.inf
    if "infeasible" in (before.status, after.status):
        return 0.0 if before.status == after.status else None  # a contradiction, which is reported elsewhere
    larger_is_worse = (before.sense == "maximize") == (quantity == "bound")
    change = _relative(old, new)
    return 0.0 if abs(change) <= rules.tolerance else change if larger_is_worse else -change


def _known(row: RunRow, quantity: Quantity) -> float | None:
    """Return a value or bound; 0 for what is proven to have no plan, which is all that there is to know of it."""
    return 0.0 if row.status == "infeasible" else row.value if quantity == "value" else row.bound


def _relative(old: float, new: float) -> float:
    larger = max(abs(old), abs(new))
    return (new - old) / larger if larger else 0.0


def _timed(pair: Pair) -> bool:
    return all(row.status in ANSWERED and row.seconds is not None for row in (pair.before, pair.after))


def _time_difference(pair: Pair, rules: ComparisonRules) -> float | None:
    old, new = (row.cpu if rules.cpu else row.seconds for row in (pair.before, pair.after))
    if old is None or new is None:
        return None
    change = _relative(old, new)
    return 0.0 if abs(new - old) <= rules.time_floor or abs(change) <= rules.time_tolerance else change


def _certain(cases: Iterable[Sequence[Pair]], rules: ComparisonRules) -> Iterable[Certain]:
    """Yield the differences that need no test."""
    for pairs in cases:
        for pair in pairs:
            failed = pair.before.status in FAILED, pair.after.status in FAILED
            if failed[0] != failed[1]:
                yield Certain("failure", pair, failed[1])
        first = pairs[0]
        if len(pairs) > 1 or any(row.termination in _CUT_SHORT or row.status in FAILED for row in vars(first).values()):
            continue
        for quantity in rules.of:
            change = None if quantity == "time" else difference(first, quantity, rules)
            if change:
                yield Certain(quantity, first, change > 0)


# Tell whether paired differences have a direction that chance does not explain.
#
# The test is Wilcoxon's signed-rank test (1945): it asks for no distribution of the differences, uses their sizes and
# their signs, and is exact here for up to 50 of them, with ties. Several tests at once are corrected by Holm (1979),
# so that the level is the chance of a single false report among all of them.

EXACT = 50
"""For more differences than this the normal distribution stands in, which is then right to three digits."""

Name = TypeVar("Name")


def greater(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the chance that differences as much above zero as these come up where there is no direction.

    It is the one-sided p-value of Wilcoxon's signed-rank test. Zeros are left out before ranking; equal sizes share
    their mean rank; infinite differences rank highest. Without any difference it is 1.

    >>> greater([1.0, 2.0, 3.0, 4.0, 5.0])
    0.03125
    >>> greater([0.0, 0.0])
    1.0
    """
    given = np.asarray(differences, dtype=float)
    given = given[given != 0]
    if not len(given):
        return 1.0
    from scipy.stats import norm, rankdata

    doubled = np.rint(2 * rankdata(np.abs(given))).astype(np.int64)  # mean ranks are whole or half
    reached = int(doubled[given > 0].sum())
    if len(given) <= EXACT:
        return _exact(doubled, reached)
    mean, deviation = doubled.sum() / 2, np.sqrt((doubled.astype(float) ** 2).sum() / 4)
    return float(norm.sf((reached - 1 - mean) / deviation))  # corrected for continuity: ranks go by whole steps


def _exact(doubled: NDArray[np.int64], reached: int) -> float:
    """Return the share of all ways to give these ranks signs whose positive ranks sum to *reached* or more."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] += ways[:-rank].copy()
        ways /= 2
    return float(min(1.0, ways[reached:].sum()))


def holm(chances: Mapping[Name, float]) -> dict[Name, float]:
    """Return the chances of several tests, corrected: at each level, one false report is as likely as the level says.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    corrected: dict[Name, float] = {}
    least = 0.0
    for i, (name, chance) in enumerate(sorted(chances.items(), key=lambda entry: entry[1])):
        least = max(least, min(1.0, chance * (len(chances) - i)))
        corrected[name] = least
    return corrected
