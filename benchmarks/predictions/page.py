"""Write docs/predictions.md from its text and the recorded figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles

from benchmarks.predictions.figures import FOLDER, RUNTIMES, RuntimeComparison, SplitFigures, read

TEXT = Path(__file__).with_name("page.md")
QUIET = 0.25
"""Where other programs keep more cores busy, the page says that the machine was busy."""
BUSY = """**These figures are one run on a busy machine**: other programs kept its cores busy, as each table says. There
the times of single operators are medians of moments in which they were left alone; a stage or a pass takes longer, and
waits for other programs in between. The first factor of each table is then far above 1.

"""
OUTPUT = Path(__file__).parents[2] / "docs" / "predictions.md"


def text(folder: Path = FOLDER) -> str:
    """Return the page: its text, with tables in the places of their names in braces."""
    figures = {comparison.runtime: comparison for comparison in read(folder)}
    filled = TEXT.read_text(encoding="utf-8").replace("{summary}", summary(list(figures.values())))
    filled = filled.replace("{busy}\n\n", BUSY if any((one.others or 0) > QUIET for one in figures.values()) else "")
    for runtime in RUNTIMES:
        missing = RuntimeComparison(runtime, skipped="it has not been measured yet")
        filled = filled.replace(f"{{{runtime}}}", tables(figures.get(runtime, missing)))
    return filled


def summary(comparisons: Sequence[RuntimeComparison]) -> str:
    """Return a row for each runtime: how far off the predictions are, and what mtpp's plan saves."""
    rows = [
        "| runtime | measured / predicted: mtpp's plan | the default | predicted: mtpp / default | measured |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for one in comparisons:
        if one.skipped:
            rows.append(f"| {one.runtime} | skipped: {one.skipped} | | | |")
            continue
        ours, other = one.splits[:2]
        rows.append(
            f"| {one.runtime} | {ours.ratio:.2f} | {other.ratio:.2f} | {ours.predicted / other.predicted:.2f} "
            f"| {ours.median / other.median:.2f} |"
        )
    return "\n".join(rows)


def tables(comparison: RuntimeComparison) -> str:
    """Return what was measured in a runtime, in words and tables."""
    if comparison.skipped:
        return f"Skipped: {comparison.skipped}."
    facts = "; ".join(f"{name}: {value}" for name, value in comparison.facts.items())
    if comparison.others is not None:
        facts += f"; other programs kept {comparison.others:.1f} of them busy"
    blocks = [f"Measured: {comparison.what}. {facts}.", _times(comparison.splits), _factors(comparison.splits)]
    return "\n\n".join(block for block in blocks if block)


def _times(splits: Sequence[SplitFigures]) -> str:
    rows = [
        "| split | places | predicted | measured | half of the runs | runs | measured / predicted |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in splits:
        low, _, high = quantiles(one.measured, n=4, method="inclusive")
        rows.append(
            f"| {one.split} | {one.places} | {_ms(one.predicted)} | {_ms(one.median)} | {_ms(low)} to {_ms(high)} "
            f"| {len(one.measured)} | {one.ratio:.2f} |"
        )
    return "\n".join(rows)


def _factors(splits: Sequence[SplitFigures]) -> str:
    """Return a row for each cause, and for each part of a split."""
    causes = list(dict.fromkeys(cause for one in splits for cause in one.factors))
    names = [one.split for one in splits]
    if not causes:
        return ""
    rows = [f"| what the ratio is made of | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    rows += [f"| {cause} | {' | '.join(_factor(one.factors.get(cause)) for one in splits)} |" for cause in causes]
    for part in dict.fromkeys(part for one in splits for part in one.parts):
        shown = [_ratio(one.parts.get(part)) for one in splits]
        rows.append(f"| {part}: predicted, measured | {' | '.join(shown)} |")
    return "\n".join(rows)


def _factor(factor: float | None) -> str:
    return "" if factor is None else f"x {factor:.2f}"


def _ratio(part: tuple[float, float] | None) -> str:
    return "" if part is None else f"{_ms(part[0])}, {_ms(part[1])}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"
