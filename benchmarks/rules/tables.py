"""The tables of ``benchmarks/planners.py``, and putting them into the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rules.comparison import Tally

__all__ = ["instance_line", "instance_table", "put_into", "rule_table"]

HEAD = (
    "| instance | nodes | bottleneck (ms) | bound (ms) | best | overlapped (ms) | best | in order (ms) | command (s) "
    "| again (ms) |"
)
RULES_HEAD = (
    "| planner | mean | worst | best | overlapped, mean | in order, mean | in order | plans | out of memory | no plan "
    "| as stored |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def instance_table(lines: Sequence[str]) -> str:
    """Return the head of the table of instances and its lines."""
    return "\n".join([HEAD, "|" + " --- |" * 10, *lines])


def instance_line(name: str, found: Mapping[str, Any]) -> str:
    """Return the line of one instance."""
    end = f"| {found['cpu']:.2f} | {found['again']:.0f} |"
    if found["cost"] is None:
        return f"| {name} | {found['nodes']} | infeasible | - | - | infeasible | - | infeasible {end}"
    (turn, who), (beside, other) = found["best cost"], found["best overlapped"]
    return (
        f"| {name} | {found['nodes']} | {found['cost'] * 1e3:.4g} | {found['bound'] * 1e3:.4g} | {turn:.3f} ({who}) "
        f"| {found['overlapped'] * 1e3:.4g} | {beside:.3f} ({other}) "
        f"| {found['in order'] * 1e3:.4g} {end}"
    )


def rule_table(found: Mapping[str, tuple[Tally, bool]], many: int) -> str:
    """Return the table of planners: rules written again, then stored plans of others, each by its mean ratio."""
    lines = [RULES_HEAD, f"| **mtpp**, proved | 1.000 | 1.00 | 1.00 | 1.000 | 1.000 | {many} | {many} | 0 | 0 | |"]
    for ours in (True, False):
        rows = sorted((tally.mean(), name, tally) for name, (tally, mine) in found.items() if mine == ours)
        lines += [_rule_line(name if ours else f"{name}, stored", tally) for _, name, tally in rows]
    return "\n".join(lines)


def _rule_line(name: str, tally: Tally) -> str:
    beside = Tally(ratios=tally.beside).mean()
    same = f"{tally.same[0]} of {tally.same[1]}" if tally.same[1] else ""
    if not tally.ratios:
        return f"| {name} | - | - | - | - | - | 0 | 0 | {tally.exceeded} | {tally.missing} | {same} |"
    fixed = f"{Tally(ratios=tally.in_order).mean():.3f}" if tally.in_order else "-"
    worst, best = max(tally.ratios.values()), min(tally.ratios.values())
    return (
        f"| {name} | {tally.mean():.3f} | {worst:.2f} | {best:.2f} | {beside:.3f} | {fixed} "
        f"| {len(tally.in_order)} | {len(tally.ratios)} "
        f"| {tally.exceeded} | {tally.missing} | {same} |"
    )


def put_into(page: Path, tables: Mapping[str, str]) -> None:
    """Write tables into a page, each between its marks ``<!-- name -->`` and ``<!-- end -->``."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("\n<!-- end -->")
        assert mark, name
        assert end, name
        text = f"{before}{mark}{table}{end}{after}"
    page.write_text(text, encoding="utf-8")
