"""Tests of the largest value of a param that has a plan: against all plans of all values, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import jsonschema
import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.model_json import write
from mtpp_dsl.schemas import answer_schema
from mtpp_dsl.solving.answers.claims import false_claims
from mtpp_dsl.solving.drivers import largest as driver
from tests.small_models import llama

SPEC = """mtpp 1
param seq: int = 8
param layers: int = 4
graph {
  node layer[i in 0..<layers] (work = seq * 1 us, params = 4 MB, memory = params + seq * (i + 1) * 1 kB, output = 1 kB)
  edge layer[i] -> layer[i + 1] for i in 0..<layers - 1
}
device big (memory = 20 MB)
device tiny (memory = 12 MB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint memory
"""


def found_of(text: str, low: int, high: int, **params: object) -> Result:
    spec = mtpp_dsl.read(text)
    return mtpp_dsl.largest(lambda seq: spec.problem(seq=seq, **params), "seq", low, high, time_limit=60)


def fits(text: str, seq: int) -> bool:
    """Return whether any plan is one, by trying them all."""
    problem = mtpp_dsl.load(text, seq=seq)
    every = product(range(problem.k), repeat=problem.graph.n)
    return any(not mtpp_dsl.verify(problem, Plan.create(problem, homes)) for homes in every)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_largest_of_all(seed: int) -> None:
    random = Random(seed)
    grows = [random.choice([0, 1, 2, 5]) for _ in range(3)]
    limit = f"constraint limit: bottleneck <= {random.randint(3, 40)} us" if seed % 2 else ""
    nodes = "".join(
        f"node n{i} (work = {random.randint(0, 3)} us + seq * {grow} us / 10, params = {random.randint(0, 3)} MB, "
        f"memory = params + seq * {random.choice([0, grow])} * 100 kB, output = {random.choice([0, 1])} kB)\n"
        for i, grow in enumerate(grows)
    )
    text = f"""param seq: int = 1
    graph {{ {nodes} edge n0 -> n1 -> n2 }}
    device a (memory = {random.randint(4, 9)} MB)
    device b (memory = {random.randint(2, 9)} MB, speed = 2)
    interconnect shared (bandwidth = 1 GB/s)
    minimize bottleneck
    constraint memory
    {limit}
    """
    result = found_of(text, 1, 16)
    assert result.largest is not None
    values = [seq for seq in range(1, 17) if fits(text, seq)]
    assert result.largest.value == (values[-1] if values else None)
    assert values == list(range(1, len(values) + 1))
    assert result.largest.not_monotone == ""
    assert result.largest.proved == bool(values)
    if values:
        best = mtpp_dsl.solve(mtpp_dsl.load(text, seq=values[-1]), time_limit=30)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(best.cost)
    else:
        assert result.status == "infeasible"


def test_the_whole_range_fits_or_none_of_it() -> None:
    whole = found_of(SPEC, 1, 50)
    assert whole.largest is not None
    assert whole.largest.in_words() == "seq = 50 fits, the most that was asked for"
    assert whole.largest.proved
    none = found_of(SPEC, 10_000, 20_000)
    assert none.largest is not None
    assert none.largest.in_words() == "not even seq = 10,000 fits"
    assert (none.largest.value, none.largest.refuted, none.status) == (None, 10_000, "infeasible")


def test_a_param_that_changes_the_graph_proves_less() -> None:
    spec = mtpp_dsl.read(SPEC)
    result = mtpp_dsl.largest(lambda layers: spec.problem(layers=layers), "layers", 2, 12, time_limit=30)
    assert result.largest is not None
    assert (result.largest.value, result.largest.refuted) == (6, 7)
    assert "of larger values that says nothing: from 2 to" in result.largest.in_words()
    assert "the graph has other nodes or edges" in result.largest.not_monotone


def test_a_stopped_search_keeps_what_it_has() -> None:
    spec, progress = mtpp_dsl.read(SPEC), Progress()

    def told(value: int, what: str) -> None:
        if value != 1:
            progress.stop()

    result = mtpp_dsl.largest(lambda seq: spec.problem(seq=seq), "seq", 1, 10_000, progress=progress, told=told)
    assert result.largest is not None
    assert result.plan is not None
    assert (result.largest.value, result.largest.refuted, result.largest.proved) == (1, 10_000, False)
    assert "which is proved; 2 to 9,999 are undecided" in result.largest.in_words()


@pytest.mark.parametrize(
    ("needs", "fits", "words"),
    [
        (1.4, 4, "seq = 4 fits, and 5 does not, which is proved"),
        (1.4, 5, "seq = 5 fits, and 6 does not, which is proved"),
        (9.0, 5, "seq = 4 fits, and 6 does not, which is proved; 5 is undecided"),
    ],
)
def test_time_that_is_left_goes_to_open_values(
    needs: float, fits: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decide seq = 5 only with more seconds than the bisection has, by a clock that moves as this test says."""
    clock, read = [0.0], mtpp_dsl.read("param seq: int = 1 graph { node a (work = 1 s, params = seq * 1 B) } "
                                       "device d (memory = 9 B) interconnect shared (bandwidth = 1 B/s) "
                                       "minimize bottleneck constraint memory")  # fmt: skip
    plan, none = (mtpp_dsl.solve(read.problem(seq=seq)) for seq in (1, 10))

    def solve(problem: Problem, *_: object, time_limit: float, **options: object) -> Result:
        assert clock[0] + time_limit <= 8.0 + driver.LAST_SECONDS
        seq, best = problem.graph.params[0], options.get("start") is not None
        took = 0.1 if best else min(needs, time_limit) if seq == 5 else 0.8
        clock[0] += took
        if not best and seq == 5 and took < needs:
            return replace(plan, plan=None, bound=None, termination="time_limit")
        return plan if seq <= fits else none

    monkeypatch.setattr(driver, "monotonic", lambda: clock[0])
    monkeypatch.setattr(driver, "solve", solve)
    result = mtpp_dsl.largest(lambda seq: read.problem(seq=seq), "seq", 1, 10, time_limit=8)
    assert result.largest is not None
    assert result.largest.in_words().partition("; at the")[0] == words
    assert result.problem is not None
    assert result.problem.graph.params[0] == result.largest.value


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, answer = tmp_path / "spec.mtpp", tmp_path / "answer.json"
    spec.write_text(SPEC, encoding="utf-8")
    assert run(["solve", str(spec), "--largest", "seq=1..100000", "--json", str(answer)]) == 0
    shown = capsys.readouterr()
    assert "largest" in shown.out
    assert "fits, and" in shown.out
    assert "does not fit" in shown.err
    data = json.loads(answer.read_text())
    jsonschema.validate(data, answer_schema())
    value = data["largest"]["value"]
    assert data["spec"]["params"]["seq"] == value
    assert data["largest"]["refuted"] == value + 1
    assert not fits(SPEC, value + 1)
    assert run(["verify", str(spec), str(answer)]) == 0
    problem = mtpp_dsl.load(SPEC, seq=value)
    for change in ({"value": value - 1}, {"refuted": value}, {"proved": False}, {"refuted": 10**9}):
        wrong = {**data, "largest": {**data["largest"], **change}}
        assert any(line.startswith("largest.") for line in false_claims(problem, wrong, Plan.from_json(problem, data)))
    assert run(["solve", str(spec), "--largest", "seq=9000..10000", "--quiet"]) == 3


def test_warnings_are_those_of_the_value_that_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(llama(2), tmp_path / "m.json")
    spec = tmp_path / "spec.mtpp"
    spec.write_text(
        'param batch: int = 1 graph from "m.json" (batch = batch) device d[2] (memory = 1 GB) '
        "time v on d = 1 ms for v in nodes for d in devices interconnect shared (bandwidth = 1 GB/s) "
        "minimize bottleneck constraint memory",
        encoding="utf-8",
    )
    assert run(["solve", str(spec), "--largest", "batch=1..4", "--method", "single-device"]) == 0
    warned = capsys.readouterr().err
    assert warned.count("W409") == 1
    assert next(said for said in mtpp_dsl.load(spec, batch=4).warnings if "W409" in said) in warned


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--largest", "seq"], "write a param and its values, --largest seq=4096..262144"),
        (["--largest", "seq=9..4"], "has no value in it"),
        (["--largest", "sec=1..4"], "has no param 'sec'; did you mean 'seq'"),
        (["--largest", "seq=1..4", "-D", "seq=3"], "both say what seq is"),
        (["--largest", "seq=1..4", "--start", "a.json"], "--start does not go with --largest"),
        (["--largest", "seq=1..4", "--method", "simple"], "needs plans, and method 'simple' gives bounds alone"),
        (["--largest", "seq=1..4", "--sweep", "layers=2..3"], "--largest"),
    ],
)
def test_calls_that_make_no_sense(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "spec.mtpp"
    spec.write_text(SPEC, encoding="utf-8")
    assert run(["solve", str(spec), *arguments]) == 2
    assert message in capsys.readouterr().err
    with pytest.raises(UsageError, match="has no value in it"):
        found_of(SPEC, 4, 3)
