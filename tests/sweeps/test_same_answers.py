"""A run's answer does not depend on what its worker has solved before: it is that of a fresh process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.core.contracts.executors import Channel
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.language.lowering.lower import read
from mtpp_dsl.sweeps.file.problem_files import fingerprint
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from tests.sweeps.hostile import install

SPLIT = """mtpp 1
graph from generator layered (nodes = 9, width = 3, seed = 3)
device d[3]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""
SCHEDULE = """mtpp 1
graph from generator layered (nodes = 8, width = 3, seed = 3)
device d[2]
interconnect links (bandwidth = 1)
minimize makespan
"""
NUMBERS = count()


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Channel]:
    monkeypatch.syspath_prepend(str(install(tmp_path)))
    channel = LOCAL.start("mtpp_dsl.sweeps.run.worker")
    yield channel
    channel.tell(None)
    channel.end()


def solved(worker: Channel, spec: str, method: str, seed: int = 0, **others: Any) -> RunOutcome:
    """Return what the worker makes of a run."""
    sha, number = fingerprint(read(spec), {}).digest, next(NUMBERS)
    given = {"method": method, "label": method, "seed": seed, "time_limit": 120.0, **others}
    run = Run(key=str(number), sweep="s", problem="p", spec=spec, spec_sha256=sha, **given)
    worker.tell(("run", number, run.to_json(), None))
    kind, answered, outcome = worker.hear(300)
    assert (kind, answered) == ("outcome", number)
    assert isinstance(outcome, RunOutcome)
    return outcome


def essence(outcome: RunOutcome) -> tuple[Any, ...]:
    """Return what must not differ between two solves of the same run."""
    assert outcome.answer is not None, outcome.error
    return outcome.status, outcome.termination, outcome.value, outcome.bound, json.loads(outcome.answer)["plan"]


@pytest.mark.long
def test_answers_are_those_of_a_fresh_process(worker: Channel) -> None:
    """Solvers with other threads, caches and generators of random numbers in between change nothing."""
    runs: list[tuple[str, str, dict[str, Any]]] = [
        (SPLIT, "exact", {"threads": 1}),
        (SPLIT, "exact", {"threads": 2}),
        (SPLIT, "random", {"seed": 1}),
        (SPLIT, "hostile", {"options": {"way": "global_random"}, "seed": 7}),
        (SPLIT, "brkga", {"seed": 2}),
        (SPLIT, "annealing", {"seed": 3}),
        (SCHEDULE, "ea", {"seed": 3}),
        (SCHEDULE, "heft", {}),
    ]
    first = [essence(solved(worker, *run[:2], **run[2])) for run in runs]
    again = [essence(solved(worker, *run[:2], **run[2])) for run in reversed(runs)]
    assert again[::-1] == first
    for (spec, method, given), (_, _, value, bound, plan) in zip(runs, first, strict=True):
        if method == "hostile":
            continue
        result = mtpp_dsl.solve(mtpp_dsl.load(spec), method, time_limit=120, gap=1e-6, **given)
        assert result.plan is not None
        assert result.evaluation is not None
        assert (result.evaluation.cost, result.bound and result.bound.cost) == (value, bound), method
        assert plan["assignment"] == result.plan.to_json()["assignment"], method


def test_a_process_that_others_have_spoilt_is_replaced(worker: Channel) -> None:
    """One that has grown is, before the next run; and one that a run ends, which is then done in a new one."""
    grown = solved(worker, SPLIT, "hostile", options={"way": "keeps"}).memory
    after = solved(worker, SPLIT, "hostile", options={"way": "works_once"})
    assert grown is not None
    assert after.memory is not None
    assert grown > 320 << 20
    assert after.memory < 200 << 20
    again = solved(worker, SPLIT, "hostile", options={"way": "works_once"})
    assert (after.status, again.status) == ("feasible", "feasible")
