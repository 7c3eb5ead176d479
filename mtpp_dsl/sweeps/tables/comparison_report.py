"""Write what ``mtpp bench diff`` says of two databases: lines for people, JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mtpp_dsl.core.base.units import counted, format_gap, format_quantity
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.tables.comparison import (
    Certain,
    ComparisonRules,
    DatabaseComparison,
    QuantityDifference,
    difference,
)
from mtpp_dsl.sweeps.tables.contradictions import run_shown

_HEAD = ("", "pairs", "worse", "better", "same", "change", "p", "")
_LEFT = {0, 5, 7}
"""Columns that are aligned to the left."""


def lines(comparison: DatabaseComparison, rules: ComparisonRules, most: int | None = 20) -> Iterator[str]:
    """Yield what a comparison says, line by line.

    Args:
        comparison: of two databases, A and B.
        rules: that it was made by.
        most: so many differences of single runs are listed; None is all.
    """
    yield from _paired(comparison)
    if comparison.labels:
        yield ""
        yield from _table(comparison.labels, [finding.label for finding in comparison.labels])
        yield from _explained(rules)
    for verdict in ("worse", "better"):
        findings = [finding for finding in comparison.problems if finding.verdict == verdict]
        if findings:
            yield f"\n{verdict.capitalize()} on single problems, tested over their seeds:"
            yield from _table(findings, [f"{finding.label}: {finding.problem}" for finding in findings])
    for worse in (True, False):
        certain = [change for change in comparison.certain if change.worse == worse]
        if certain:
            yield f"\n{'Worse' if worse else 'Better'} for certain (failed, or one seed and no limit reached):"
            yield from _some([f"  {_certain(change, rules)}" for change in certain], most)
    if comparison.contradictions:
        yield "\nContradictions (one of each two answers is wrong: please report this):"
        yield from _some([f"  {contradiction.shown}" for contradiction in comparison.contradictions], most)
    yield ""
    yield _verdict(comparison)


def _paired(comparison: DatabaseComparison) -> Iterator[str]:
    pairing = comparison.pairing
    names = len(pairing.pairs) + len(pairing.changed) - pairing.by_key
    by_name = f", {names} of them by the names of problem and method" if names else ""
    yield f"{counted(len(pairing.pairs) + len(pairing.changed), 'run')} in both{by_name}"
    for rows, where in ((pairing.only_before, "A"), (pairing.only_after, "B")):
        if rows:
            yield f"{counted(len(rows), 'run')} only in {where}, such as {run_shown(rows[0])}"
    if pairing.changed:
        first = run_shown(pairing.changed[0].before)
        yield f"{counted(len(pairing.changed), 'run')} not compared, such as {first}: spec or objective differ"
    if comparison.other_machine:
        yield f"times of {counted(comparison.other_machine, 'run')} not compared: their machines differ"


def _explained(rules: ComparisonRules) -> Iterator[str]:
    yield f"p: chance of this without a change (Wilcoxon signed rank, Holm); level {format_gap(rules.level)}"
    times = f"{'processor ' if rules.cpu else ''}times within {format_gap(rules.time_tolerance)}"
    times = f", {times} or {format_quantity(rules.time_floor, 's')}" if "time" in rules.of else ""
    yield f"same: values and bounds within {format_gap(rules.tolerance)}{times}"


def _table(findings: Sequence[QuantityDifference], names: Sequence[str]) -> Iterator[str]:
    """Yield a row a finding, below a line with its name, which may be long."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for finding in findings:
        chance = finding.chance if finding.worse >= finding.better else finding.chance_better
        counts = (f"{number}" for number in (finding.pairs, finding.worse, finding.better, finding.same))
        rows.append((f"  {finding.quantity}", *counts, _change(finding.change), _chance(chance), finding.verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    for row, name, before in zip(rows, ("", *names), ("", "", *names), strict=False):
        if name != before:
            yield name
        cells = zip(row, widths, strict=True)
        yield "  ".join(cell.ljust(w) if i in _LEFT else cell.rjust(w) for i, (cell, w) in enumerate(cells)).rstrip()


def _change(change: float) -> str:
    if not change:
        return "-"
    if math.isinf(change):
        return "lost" if change > 0 else "new"
    return f"{format_gap(abs(change))} {'worse' if change > 0 else 'better'}"


def _chance(chance: float) -> str:
    return "<0.001" if chance < 0.001 else f"{chance:.3f}"


def _certain(certain: Certain, rules: ComparisonRules) -> str:
    before, after = certain.pair.before, certain.pair.after
    if certain.quantity == "failure":
        row = after if certain.worse else before
        error = f": {row.error.strip().splitlines()[0]}" if row.error.strip() else ""
        return f"{run_shown(before)}: {before.status} in A, {after.status} in B{error}"
    old, new = (_figure(row, certain.quantity) for row in (before, after))
    change = difference(certain.pair, certain.quantity, rules) or 0.0
    return f"{run_shown(before)}: {certain.quantity} {old} in A, {new} in B ({_change(change)})"


def _figure(row: RunRow, quantity: str) -> str:
    value = row.value if quantity == "value" else row.bound
    return row.status if value is None else format_quantity(value, row.unit)


def _some(texts: Sequence[str], most: int | None) -> Iterator[str]:
    yield from texts[:most]
    if most is not None and len(texts) > most:
        yield f"  and {len(texts) - most:,} more: --all lists them"


def _verdict(comparison: DatabaseComparison) -> str:
    worse = counted(comparison.regressions, "regression") if comparison.regressions else "no regression"
    wrong = len(comparison.contradictions)
    return f"{counted(wrong, 'contradiction')}, {worse}" if wrong else worse


def to_json(comparison: DatabaseComparison, rules: ComparisonRules) -> dict[str, Any]:
    """Return a comparison as JSON; infinite changes, where a plan or bound is lost or new, are null."""
    pairing = comparison.pairing
    return {
        "rules": vars(rules),
        "pairs": len(pairing.pairs),
        "only_in_a": [row.key for row in pairing.only_before],
        "only_in_b": [row.key for row in pairing.only_after],
        "not_compared": [[pair.before.key, pair.after.key] for pair in pairing.changed],
        "times_not_compared": comparison.other_machine,
        "methods": [*_findings(comparison.labels)],
        "problems": [*_findings(comparison.problems)],
        "certain": [
            {
                "of": change.quantity,
                "verdict": "worse" if change.worse else "better",
                "keys": [change.pair.before.key, change.pair.after.key],
                "run": run_shown(change.pair.before),
                "status": [change.pair.before.status, change.pair.after.status],
                "value": [change.pair.before.value, change.pair.after.value],
                "bound": [change.pair.before.bound, change.pair.after.bound],
            }
            for change in comparison.certain
        ],
        "contradictions": [
            {"plan": contradiction.plan.key, "proof": contradiction.proof.key, "says": contradiction.shown}
            for contradiction in comparison.contradictions
        ],
        "regressions": comparison.regressions,
    }


def _findings(findings: Iterable[QuantityDifference]) -> Iterator[dict[str, Any]]:
    for finding in findings:
        yield {
            "method": finding.label,
            "problem": finding.problem or None,
            "of": finding.quantity,
            "pairs": finding.pairs,
            "worse": finding.worse,
            "better": finding.better,
            "change": finding.change if math.isfinite(finding.change) else None,
            "p_worse": finding.chance,
            "p_better": finding.chance_better,
            "verdict": finding.verdict or None,
        }
