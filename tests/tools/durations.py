"""Record how long tests take, for the turns that they take (:mod:`tests.turns`).

    python -m tests.tools.durations                   all usual tests, with a process a core
    python -m tests.tools.durations tests/cli         some of them, beside what is recorded of the others

Those above a fifth of a second are written to ``tests/seconds.csv``. It has to be run on a machine that does nothing
else, when the suite has become much faster or slower.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Generator
from time import perf_counter
from typing import Any

import pytest

from tests.turns import FEWEST, RECORD, Recorded, recorded

OPTIONS = ("--numprocesses=auto", "--dist=loadfile", "--no-loadscope-reorder", "--assert=plain", "--amount=usual")
SETUPS: dict[tuple[str, str], float] = {}
"""Seconds that fixtures for whole files took to set up in this process, by the file and their names."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Take the time of fixtures for whole files."""
    began = perf_counter()
    try:
        return (yield)
    finally:
        if fixturedef.scope == "module":
            SETUPS[request.node.nodeid, fixturedef.argname] = perf_counter() - began


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Hand on which of these a test uses, and what they took, with its reports."""
    file = item.nodeid.partition("::")[0]
    took = {name: SETUPS.get((file, name), 0.0) for name in getattr(item, "fixturenames", ())}
    item.user_properties.append(("shares", {name: seconds for name, seconds in took.items() if seconds}))
    return (yield)


class Recorder:
    """Collects what reports say in the process that hands out the tests."""

    def __init__(self) -> None:
        self._own: dict[str, float] = defaultdict(float)
        self._shares: dict[str, dict[str, float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the phases of a test; what a fixture for the whole file took is not the first test's alone."""
        self._own[report.nodeid] += report.duration
        if report.when == "call":
            self._shares[report.nodeid] = dict(report.user_properties).get("shares", {})  # type: ignore[arg-type]

    def records(self) -> dict[str, Recorded]:
        """Return what each test takes with the fixture of its file that takes longest, which it may share."""
        first: set[tuple[str, str]] = set()
        records = {}
        for test, own in self._own.items():
            shares, file = self._shares.get(test, {}), test.partition("::")[0]
            for name, seconds in shares.items():
                if (file, name) not in first:
                    first.add((file, name))
                    own -= seconds
            longest = max(shares, key=lambda name: shares[name], default="")
            shared = longest if shares.get(longest, 0.0) >= FEWEST else ""
            records[test] = Recorded(own + shares.get(shared, 0.0), shared)
        return records


def main() -> int:
    """Run the tests, and write the file; return the status of pytest."""
    recorder = Recorder()
    status = pytest.main([*OPTIONS, "-p", __spec__.name, *sys.argv[1:]], plugins=[recorder])
    old = recorded() if len(sys.argv) > 1 else {}
    rows = [(test, f"{row.seconds:.1f}", row.shared) for test, row in {**old, **recorder.records()}.items()]
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("test", "seconds", "shared"))
        writer.writerows(sorted(row for row in rows if float(row[1]) >= FEWEST))
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
