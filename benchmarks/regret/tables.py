"""Make the tables of docs/regret.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from benchmarks.regret.ratios import TOLERANCE, Regret, Summary, summary
from benchmarks.regret.sample import HALVES, Drawn

SHOWN = 3
"""So many parts that are best most often are named."""


def summaries(of: Mapping[str, Sequence[Regret]], sample: Sequence[Drawn]) -> str:
    """Return the table of all recorded runs of ``auto``: a row a limit, half and state of the policy."""
    lines = [
        "| limit, s | half | run | problems | plan: mean | worst | behind | bound: mean | worst | behind | missing |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for limit in sorted({one.limit for regret in of.values() for one in regret}):
        for half in HALVES:
            names = {drawn.name for drawn in sample if drawn.half == half}
            for state, regret in of.items():
                own = [one for one in regret if one.limit == limit and one.problem in names]
                if own:
                    lines.append(f"| {limit:g} | {half} | {state} | {_summary_cells(own)} |")
    return "\n".join(lines)


def disturbed(of: Mapping[str, Sequence[Regret]]) -> str:
    """Return the table of runs of ``auto`` under other conditions, compared with its own warm and quiet runs."""
    lines = [
        "| run | problems | plan: mean | worst | behind | bound: mean | worst | behind | missing | behind in |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for state, regret in of.items():
        behind = [one.problem for one in regret if any(ratio and ratio > TOLERANCE for ratio in (one.plan, one.bound))]
        lines.append(f"| {state} | {_summary_cells(regret)} | {', '.join(behind)} |")
    return "\n".join(lines)


def _summary_cells(own: Sequence[Regret]) -> str:
    plan, bound = _both(own)
    cells = [str(len(own))]
    for side in (plan, bound):
        cells += [_figure(side.mean), _figure(side.worst), str(side.behind)]
    return " | ".join([*cells, str(len({*plan.missing, *bound.missing}))])


def by_group(regret: Sequence[Regret], sample: Sequence[Drawn], limit: float) -> str:
    """Return the table of one limit: a row a group, and one of all."""
    lines = [
        "| group | problems | plan: mean | worst | bound: mean | worst | missing | best plan by | best bound by |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    rows: dict[str, set[str]] = {}
    for drawn in sorted(sample, key=lambda one: one.group):
        rows.setdefault(drawn.group, set()).add(drawn.name)
    rows["**all**"] = {drawn.name for drawn in sample}
    for name, names in rows.items():
        own = [one for one in regret if one.limit == limit and one.problem in names]
        if own:
            lines.append(_group_row(name, own))
    return "\n".join(lines)


def _group_row(name: str, own: Sequence[Regret]) -> str:
    plan, bound = _both(own)
    missing = len({*plan.missing, *bound.missing})
    cells = [_figure(plan.mean), _figure(plan.worst), _figure(bound.mean), _figure(bound.worst), str(missing or "")]
    return f"| {name} | {len(own)} | {' | '.join(cells)} | {_winners(plan)} | {_winners(bound)} |"


def _both(own: Sequence[Regret]) -> tuple[Summary, Summary]:
    """Return the summaries of plans and of bounds."""
    plan = summary(own, lambda one: one.plan, lambda one: one.plans_by)
    return plan, summary(own, lambda one: one.bound, lambda one: one.bounds_by)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _winners(own: Summary) -> str:
    return ", ".join(f"`{label}` {count}" for label, count in own.winners.most_common(SHOWN))


def behind(regret: Sequence[Regret], halves: Mapping[str, str], limits: Sequence[float]) -> str:
    """Return the table of the problems on which auto is behind its best part by more than the tolerance."""
    lines = [
        "| problem | half | limit, s | plan | best by | bound | best by |",
        "| --- | --- | ---: | ---: | --- | ---: | --- |",
    ]
    for one in regret:
        ratios = [ratio for ratio in (one.plan, one.bound) if ratio is not None]
        if one.limit in limits and any(ratio > TOLERANCE for ratio in ratios):
            plan, bound = _behind(one.plan, one.plans_by), _behind(one.bound, one.bounds_by)
            lines.append(f"| {one.problem} | {halves[one.problem]} | {one.limit:g} | {plan} | {bound} |")
    return "\n".join(lines)


def _behind(ratio: float | None, by: Sequence[str]) -> str:
    """Return a ratio, and who is best where auto is behind, as two cells."""
    if ratio is None:
        return " | "
    shown = f"{ratio:.3f}" if isfinite(ratio) else "none"
    more = f" and {len(by) - SHOWN} more" if len(by) > SHOWN else ""
    return f"{shown} | {', '.join(f'`{label}`' for label in by[:SHOWN])}{more}" if ratio > TOLERANCE else f"{shown} | "
