"""Print at the end of a sweep how its runs ended, method by method, and where the results are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from mtpp_dsl.cli.bench.live import duration
from mtpp_dsl.cli.screen import say, screen_width, show
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.show.report.columns import wrapped
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.loop import Summary
from mtpp_dsl.sweeps.store.outcome import FAILED, STATUS_MEANINGS
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import Store
from mtpp_dsl.sweeps.tables.contradictions import Contradiction
from mtpp_dsl.sweeps.tables.rendering import table_lines
from mtpp_dsl.sweeps.tables.tables import Table, TableCell

MOST_FAILURES, MOST_LETTERS = 5, 200


def show_outcomes(store: Store, runs: Sequence[Run], summary: Summary, sweep: Path) -> None:
    """Print how many runs of each method have ended in which way, the first failures, and what to do next."""
    wanted = {run.key: run for run in runs}
    columns = store.columns(["key", "status", "seconds", "error"])
    places = {key: place for place, key in enumerate(columns["key"])}
    at = [places[key] for key in wanted if key in places]
    width = screen_width()
    rows = [(wanted[columns["key"][i]], columns["status"][i], columns["seconds"][i], columns["error"][i]) for i in at]
    if rows:
        show(table_lines(_table(rows), width))
    failed = [(run, status, error) for run, status, _, error in rows if status in FAILED]
    lines = _failures(failed)
    lines.append(_done(summary, len(wanted)))
    if any(status != "changed" for _, status, _ in failed):
        lines.append("--retry failed does those again that have failed")
    if any(status == "changed" for _, status, _ in failed):
        lines.append("the same command reads the sweep anew, and does what has changed")
    if rows:
        beside = "" if store.path == sweep.with_suffix(".sqlite") else f" --db {store.path}"
        lines.append(
            f"{store.path} has the results: mtpp bench table {store.path} shows them, and mtpp bench prove "
            f"{sweep}{beside} proves their bounds again"
        )
    show(part for line in lines for part in wrapped(Text(line), width, hanging=2))


def say_contradictions(wrong: Sequence[Contradiction]) -> None:
    """Tell of answers in the database of which one must be wrong: a bug of ours, or of a solver."""
    for contradiction in wrong[:MOST_FAILURES]:
        say(f"contradiction, please report it: {contradiction.shown}", stderr=True)
    if len(wrong) > MOST_FAILURES:
        say(f"… and {len(wrong) - MOST_FAILURES} more contradictions", stderr=True)


def failures_of(rows: Sequence[RunRow], width: int | None) -> Iterator[Text]:
    """Yield lines that say of rows without an answer why they have none: a line for each reason, of the first few."""
    failed = [(row, row.status, row.error) for row in rows if row.status in FAILED | {"refused"}]
    return (part for line in _failures(failed) for part in wrapped(Text(line), width, hanging=2))


def failures_among(store: Store, runs: Sequence[Run], width: int | None) -> Iterator[Text]:
    """Yield the same lines for those of *runs* that a database has."""
    wanted = {run.key: run for run in runs}
    columns = store.columns(["key", "status", "error"])
    failed = [
        (wanted[key], status, error)
        for key, status, error in zip(columns["key"], columns["status"], columns["error"], strict=True)
        if key in wanted and status in FAILED | {"refused"}
    ]
    return (part for line in _failures(failed) for part in wrapped(Text(line), width, hanging=2))


def _failures(failed: Sequence[tuple[Run | RunRow, str, str]]) -> list[str]:
    """Return a line for each of the first reasons, with how many runs have it and one of them."""
    alike: dict[tuple[str, str], list[Run | RunRow]] = {}
    for run, status, error in failed:
        alike.setdefault((status, _why(status, error)), []).append(run)
    lines = [_failure(runs, status, why) for (status, why), runs in [*alike.items()][:MOST_FAILURES]]
    more = sum(len(runs) for runs in [*alike.values()][MOST_FAILURES:])
    return [*lines, f"… and {counted(more, 'run')} more"] if more else lines


def _done(summary: Summary, total: int) -> str:
    """Return what was done, and what is left."""
    parts = [f"{counted(summary.recorded, 'run')} in {duration(summary.seconds)}"]
    if summary.skipped:
        parts.append(f"{summary.skipped:,} of {total:,} had a result before")
    if summary.elsewhere:
        parts.append(f"{summary.elsewhere:,} are being done by another process")
    left = summary.left - summary.elsewhere
    if left:
        parts.append(f"{left:,} are left: the same command goes on")
    return "; ".join(parts)


def _failure(runs: Sequence[Run | RunRow], status: str, why: str) -> str:
    run = runs[0]
    seed = f", seed {run.seed}" if run.seed else ""
    others = f"{counted(len(runs), 'run')}, such as " if len(runs) > 1 else ""
    return f"{status}: {others}{run.problem} by {run.label}{seed}: {why}"


def _why(status: str, error: str) -> str:
    """Return the first line of an error, cut between words where it is long; without one, what the status means."""
    why = error.strip().partition("\n")[0] or STATUS_MEANINGS[status]
    return why if len(why) <= MOST_LETTERS else f"{why[:MOST_LETTERS].rpartition(' ')[0] or why[:MOST_LETTERS]} …"


def _table(rows: Sequence[tuple[Run, str, float | None, str]]) -> Table:
    """Return the table of methods by statuses, with the mean time of the runs that have one."""
    counts = Counter((run.label, status) for run, status, *_ in rows)
    labels = dict.fromkeys(run.label for run, *_ in rows)
    there = [status for status in STATUS_MEANINGS if any(counts[label, status] for label in labels)]
    lines = []
    for label in labels:
        times = [seconds for run, _, seconds, _ in rows if run.label == label and seconds is not None]
        mean = duration(sum(times) / len(times)) if times else ""
        numbers = [str(counts[label, status] or "") for status in there]
        total = sum(counts[label, status] for status in there)
        lines.append(tuple(map(TableCell, (label, str(total), *numbers, mean))))
    return Table(("method", "runs", *there, "mean time"), tuple(lines), ())
