"""``mtpp bench diff A B``: what has become worse from one database of results to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mtpp_dsl.cli.parameters import Only, option
from mtpp_dsl.cli.screen import STDOUT

if TYPE_CHECKING:
    from mtpp_dsl.sweeps.store.rows import RunRow
    from mtpp_dsl.sweeps.tables.comparison import Quantity

REGRESSION = 1


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A database of results: the reference.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another: what is compared with it.")],
    only: Only = [],  # noqa: B006  typer copies defaults
    of: Annotated[str, typer.Option(metavar="WHAT", help="What to compare, with commas between.")] = "value,bound,time",
    level: Annotated[str, typer.Option(metavar="SHARE", help="Chance of a false report.")] = "5%",
    tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Values and bounds that differ by no more are the same.")
    ] = "0.01%",
    time_tolerance: Annotated[
        str, typer.Option(metavar="SHARE", help="Times that differ by no more are the same.")
    ] = "10%",
    time_floor: Annotated[
        str, typer.Option(metavar="TIME", help="Neither are smaller differences of time one.")
    ] = "50ms",
    cpu: Annotated[bool, typer.Option("--cpu", help="Compare processor time in place of wall time.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List every difference, not the first 20.")] = False,
    json: Annotated[Path | None, option("FILE|-", "Write it as JSON; - is stdout.")] = None,
) -> int:
    """Say what has become worse or better from database A to database B: values, bounds, times, failures.

    Runs are paired by their keys, then by problem, params, label, solver and seed. What seeds or clocks may explain is
    tested (Wilcoxon signed rank over the pairs, corrected for the number of tests by Holm). A run that fails, and one
    with a single seed that reaches no limit, needs no test. Plans that are better than a bound are reported, too.

    Exit codes: 0 nothing is worse · 1 something is · 2 the call is wrong, or a database cannot be read · 7 two answers
    contradict each other.
    """
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.amounts import seconds
    from mtpp_dsl.core.base.units import counted
    from mtpp_dsl.core.base.writing import check_writable, write_text
    from mtpp_dsl.core.errors import VerificationError
    from mtpp_dsl.solving.answers.json import dumps
    from mtpp_dsl.sweeps.store.selection import chosen
    from mtpp_dsl.sweeps.store.store import Store
    from mtpp_dsl.sweeps.tables.comparison import ComparisonRules, compare
    from mtpp_dsl.sweeps.tables.comparison_report import lines, to_json

    # Read the rules and both databases.
    if json is not None and json != STDOUT:
        check_writable(json)
    rules = ComparisonRules(
        _share("--level", level),
        _share("--tolerance", tolerance),
        _share("--time-tolerance", time_tolerance),
        seconds(time_floor, "--time-floor") or 0.0,
        cpu,
        _quantities(of),
    )
    sides: list[list[RunRow]] = []
    for path in (before, after):
        with Store.open(path, readonly=True) as store:
            sides.append(chosen([*store.rows(logs=False)], only))
    # Compare, then write what programs read and print what people do.
    comparison = compare(sides[0], sides[1], rules)
    if json is not None:
        text = dumps(to_json(comparison, rules), sys.stdout.encoding if json == STDOUT else "utf-8")
        if json == STDOUT:
            sys.stdout.write(text)
        else:
            write_text(json, text)
    if json != STDOUT:
        for name, path, rows in (("A", before, sides[0]), ("B", after, sides[1])):
            say(f"{name}: {path}: {counted(len(rows), 'row')}{_versions(rows)}")
        for line in lines(comparison, rules, None if every else 20):
            say(line)
    return VerificationError.exit_code if comparison.contradictions else REGRESSION if comparison.regressions else 0


def _quantities(text: str) -> tuple[Quantity, ...]:
    from mtpp_dsl.core.errors import UsageError, did_you_mean
    from mtpp_dsl.sweeps.tables.comparison import QUANTITIES

    wanted = [word.strip() for word in text.split(",")]
    for word in wanted:
        if word not in QUANTITIES:
            raise UsageError(f"--of {text}: write some of {', '.join(QUANTITIES)}{did_you_mean(word, QUANTITIES)}")
    return tuple(quantity for quantity in QUANTITIES if quantity in wanted)


def _share(flag: str, text: str) -> float:
    """Return a share of 1 as a number; errors name the option."""
    from mtpp_dsl.core.base.amounts import fraction
    from mtpp_dsl.core.errors import UsageError

    try:
        return fraction(text)
    except UsageError:
        raise UsageError(f"{flag} {text}: write a share between 0 and 100 %, such as 5% or 0.05") from None


def _versions(rows: list[RunRow]) -> str:
    """Return by which versions of mtpp rows were made, with a comma before."""
    versions = sorted({row.versions.get("mtpp-dsl", "") for row in rows} - {""})
    return f", mtpp {', '.join(versions)}" if versions else ""
