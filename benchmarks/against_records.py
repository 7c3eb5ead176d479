"""``python -m benchmarks.against_records``: hold ``auto`` against the best that is known of mtpplib's problems.

Each problem is solved once; then those are listed whose plan or bound is worse than the record by more than a share.
So a regression of ``auto`` on a published file is seen, also where the sample of ``benchmarks.regret`` lacks that file.
Most records are of runs of 60 s: some of what is listed is what a shorter limit costs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log
from pathlib import Path
from typing import TypeAlias

from benchmarks.regret.recording import Watcher
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.sweeps.library.collection import Library, find_library
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.session import SessionRequest
from mtpp_dsl.sweeps.run.loop import run_sweep
from mtpp_dsl.sweeps.store.selection import chosen
from mtpp_dsl.sweeps.store.store import Store

Answer: TypeAlias = tuple[float | None, float | None]
"""Value and bound."""


@dataclass(frozen=True)
class Ratios:
    """How far an answer is behind the record of its problem: at most 1 is as good.

    A ratio is infinite where the answer has none of what the record has, and None where the record has none.

    Attributes:
        name: of the problem.
        plan: cost of the plan over that of the record.
        bound: the record's bound over that of the answer, as costs.
    """

    name: str
    plan: float | None
    bound: float | None

    @property
    def worst(self) -> float:
        """The larger of both."""
        return max(one for one in (self.plan, self.bound, 0.0) if one is not None)


def ratios(answers: Mapping[str, Answer], records: Mapping[str, BestKnown]) -> list[Ratios]:
    """Return the ratios of answers, by name, to records, the worst first."""
    found = []
    for name, (value, bound) in answers.items():
        record = records[name]
        turned = record.sense == "maximize"
        plan = _behind(record.value, value, turned=turned)
        found.append(Ratios(name, plan, _behind(record.bound, bound, turned=not turned)))
    return sorted(found, key=lambda one: -one.worst)


def _behind(known: float | None, ours: float | None, *, turned: bool) -> float | None:
    """Return *ours* over *known*, or, *turned*, the inverse; infinite without ours, None where *known* has no share."""
    if known is None or not 0 < abs(known) < inf:
        return None
    if ours is None or not ours / known > 0:
        return inf
    return known / ours if turned else ours / known


def text_of(found: list[Ratios], worse: float) -> str:
    """Return the ratios above *worse*, a line each, and the geometric means of all."""
    lines = [f"{one.name:44} plan {_shown(one.plan)}  bound {_shown(one.bound)}" for one in found if one.worst > worse]
    for what in ("plan", "bound"):
        known = [ratio for one in found if (ratio := getattr(one, what)) is not None]
        finite = [ratio for ratio in known if ratio < inf]
        mean = exp(sum(map(log, finite)) / len(finite)) if finite else inf
        behind = sum(ratio > worse for ratio in known)
        lines.append(f"{what}: {len(known)} of {len(found)}, geometric mean {mean:.4f}, {behind} above {worse:g}")
    return "\n".join(lines)


def _shown(ratio: float | None) -> str:
    return "  none" if ratio is None else f"{ratio:6.3f}"


def main() -> None:
    """Run ``auto`` on the problems asked for, where the database does not have it yet, and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", action="append", default=[], help="as of mtpp bench (group=published)")
    parser.add_argument("--time-limit", default="20s", help="of each problem (20s)")
    parser.add_argument("--threads", type=int, default=2, help="of each run (2)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (1)")
    parser.add_argument("--worse", type=float, default=1.01, help="list what is behind by more than this factor (1.01)")
    parser.add_argument("--db", type=Path, default=Path("against_records.sqlite"), help="where results are kept")
    asked = parser.parse_args()
    library = Library.open(find_library("mtpplib"))
    settings = {"seeds": 0, "time_limit": asked.time_limit, "threads": asked.threads}
    session = SessionRequest.of(["auto"], ["highs"], settings)
    runs = chosen(library.asked(session.methods, session.settings), asked.only or ["group=published"])
    with Store.open(asked.db) as store:
        run_sweep(runs, store, LOCAL, asked.jobs, watcher=Watcher(until_proved=False))
        keys = {run.key for run in runs}
        answers = {row.problem: (row.value, row.bound) for row in store.rows(logs=False) if row.key in keys}
    print(text_of(ratios(answers, library.records.read()), asked.worse))


if __name__ == "__main__":
    main()
