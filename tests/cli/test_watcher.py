"""What is shown while a method works."""

from __future__ import annotations

import io

from rich.console import Console

from mtpp_dsl.cli.progress import ProgressWriter, bar
from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal


def drawn(watcher: ProgressWriter, width: int) -> str:
    """Return the live line on a terminal of a width."""
    from rich.spinner import Spinner

    out = io.StringIO()
    watcher.spinner = Spinner("dots")
    Console(file=out, width=width, color_system=None).print(watcher.picture(width))
    return out.getvalue()


def test_live_line() -> None:
    """Time and limit, how near the bound is, plan, bound and gap, what is being done: on one line, cut at its end."""
    problem = Problem.create(regal(10), [Device("a"), Device("b")], Shared(1.0), constraints=[Acyclic()])
    watcher = ProgressWriter(problem, limit=60.0, quiet=False, verbose=False)
    assert "reading" in drawn(watcher, 100)
    progress = Progress(watcher)
    progress.report_plan(Plan.create(problem, [0] * 10), 200.0)
    assert "plan 200" in drawn(watcher, 100)
    progress.report_bound(Bound(150.0, "test", "trusted", "test"))
    progress.say("looking at all there is to be looked at, one thing after another")
    line = drawn(watcher, 100)
    assert "0 of 60 s" in line
    assert "████████████  " in line
    assert "plan 200  bound 150  gap 25 %" in line
    assert "looking at all" in line
    assert line.count("\n") == 1
    for width in range(36, 100):
        narrow = drawn(watcher, width)
        assert narrow.count("\n") == 1
        assert "plan 200  bound 150  gap 25 %" in narrow
        assert max(map(len, narrow.splitlines())) <= width


def test_bar() -> None:
    """A bar is as wide as asked, whatever its share; full only at one, as far as eighths tell."""
    assert bar(0.0, 4) == "    "
    assert bar(1.0, 4) == "████"
    assert {len(bar(share / 50, 7)) for share in range(-10, 61)} == {7}
