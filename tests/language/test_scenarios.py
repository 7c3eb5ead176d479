"""Scenarios, conditional includes, assertions, and params that need each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.lower import load

BASE = """
param k: int = 2 in 1..8
param limit = k * 10 ms
graph {
  node a[i in 0..<4] (work = 3 ms, output = 1 MiB)
  edge a[i] -> a[i + 1] for i in 0..<3
}
device gpu[k]
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
constraint acyclic
"""
NIGHT = """
param k: int = 4
minimize makespan
device gpu[k] (speed = 2)
interconnect shared (bandwidth = 1 GiB/s)
constraint contiguous
time a[0] on gpu[0] = 9 ms
"""


def same(one: Problem, two: Problem) -> bool:
    """Return whether two problems ask the same, wherever it is written."""
    return (
        np.array_equal(one.time, two.time)
        and one.devices == two.devices
        and one.interconnect == two.interconnect
        and one.objective.name == two.objective.name
        and [str(c).partition(" (")[0] for c in one.constraints] == [str(c).partition(" (")[0] for c in two.constraints]
        and dict(one.origin.params) == dict(two.origin.params)
    )


def errors(text: str, **options: object) -> list[Diagnostic]:
    """Return what is wrong with a spec."""
    with pytest.raises(SpecError) as caught:
        mtpp_dsl.load(text, **options)  # type: ignore[arg-type]
    return caught.value.diagnostics


def test_a_scenario_is_an_including_file(tmp_path: Path) -> None:
    """A chosen scenario overrides as a file does that includes the rest; another one says nothing."""
    (tmp_path / "base.mtpp").write_text(BASE)
    (tmp_path / "night.mtpp").write_text(f'include "base.mtpp"\n{NIGHT}')
    both = f"{BASE}\nscenario night {{ {NIGHT} }}\nscenario day {{ param k = 3 }}"
    assert same(load(both, scenario="night"), load(tmp_path / "night.mtpp"))
    assert same(load(both), load(BASE))
    assert same(load(both, {"k": 5}, scenario="night"), load(tmp_path / "night.mtpp", {"k": 5}))
    assert load(both, scenario="day").k == 3
    spec = mtpp_dsl.read(both)
    assert spec.scenarios == ("night", "day")
    assert spec.problem(scenario="night").origin.scenario == "night"


def test_scenarios_that_there_are_not() -> None:
    """An unknown scenario is suggested another one; two of one name are an error."""
    (found,) = errors(f"{BASE} scenario night {{ param k = 3 }}", scenario="nigth")
    assert found.message == "there is no scenario 'nigth'; did you mean 'night'?"
    (found,) = errors(BASE, scenario="night")
    assert found.notes == ("the spec has no scenario",)
    found = errors(f"{BASE} scenario x {{ }} scenario x {{ param k = 3 }}")[0]
    assert "scenario 'x' is already given" in found.message
    (found,) = errors(f"{BASE} scenario x {{ constraint pin b on gpu }}", scenario="x")
    assert found.span is not None
    assert found.span.text == "b"


def test_a_scenario_in_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer names its scenario, and is verified with it."""
    spec, answer = tmp_path / "s.mtpp", tmp_path / "answer.json"
    spec.write_text(f"{BASE}\nscenario wide {{ param k = 4 }}\nscenario tall {{ param k = 4 }}")
    assert run(["solve", str(spec), "--scenario", "wide", "--json", str(answer), "-q"]) == 0
    assert json.loads(answer.read_text())["spec"]["scenario"] == "wide"
    assert json.loads(answer.read_text())["spec"]["params"]["k"] == 4
    assert run(["verify", str(spec), str(answer)]) == 0
    changed = json.loads(answer.read_text())
    assert run(["verify", str(spec), str(answer), "--scenario", "tall"]) == 7
    changed["spec"]["scenario"] = "other"
    answer.write_text(json.dumps(changed))
    assert run(["verify", str(spec), str(answer)]) == 2
    capsys.readouterr()
    assert run(["check", str(spec), "--scenario", "wide"]) == 0
    assert "wide" in capsys.readouterr().out


def test_files_are_included_under_conditions(tmp_path: Path) -> None:
    """A file counts where its condition is true; one that is included in any case counts once."""
    (tmp_path / "extra.mtpp").write_text("constraint contiguous\nlet unused = 3")
    spec = tmp_path / "s.mtpp"
    spec.write_text(f'{BASE}\nparam more = false\ninclude "extra.mtpp" if more and k > 1')
    assert [c.keyword for c in load(spec).constraints] == ["acyclic"]
    assert [c.keyword for c in load(spec, {"more": True}).constraints] == ["acyclic", "contiguous"]
    spec.write_text(spec.read_text() + '\ninclude "extra.mtpp"')
    assert [c.keyword for c in load(spec, {"more": True}).constraints] == ["acyclic", "contiguous"]
    spec.write_text(f'{BASE}\ninclude "extra.mtpp" if kk > 1')
    assert [d.message for d in errors(str(spec))] == ["nothing is called 'kk'; did you mean 'k'?"]


@pytest.mark.parametrize(
    ("statement", "without", "count"),
    [
        ("device spare[2] if k > 3", "", lambda p: p.k),
        ("device cpu (speed = 3) if k > 3", "", lambda p: p.k),
        ("interconnect shared (bandwidth = 1 GiB/s) if k > 3", "interconnect", lambda p: p.interconnect.bandwidth),
        ("minimize makespan if k > 3", "minimize", lambda p: p.objective.name),
        ("constraint contiguous if k > 3", "", lambda p: len(p.constraints)),
        ("constraint cap: load(d) <= limit for d in devices if k > 3", "", lambda p: len(p.constraints)),
        ("constraint cap: load(gpu[0]) <= limit if k > 3", "", lambda p: len(p.constraints)),
        ("constraint pin a[i] on gpu[i] for i in 0..<k if k > 3", "", lambda p: len(p.constraints)),
        ("constraint memory if k > 3", "", lambda p: len(p.constraints)),
        ("time a on gpu = 1 ms if k > 3", "", lambda p: p.time.sum()),
        ("graph { node z (work = 1 ms, output = 1 MiB) } if k > 3", "graph", lambda p: p.graph.n),
    ],
)
def test_flags_after_every_statement(statement: str, without: str, count: object) -> None:
    """'if' after a statement makes it count, or not, as if it were not there."""
    text = BASE.replace("gpu[k]", "gpu[k] (memory = 1 GiB)")
    if without == "graph":
        text = text.replace("}\ndevice", "} if k <= 3\ndevice")
    elif without:
        line = next(line for line in BASE.splitlines() if line.startswith(without))
        text = text.replace(line, f"{line} if k <= 3")
    plain = text.replace(" if k <= 3", "")
    assert callable(count)
    assert count(load(f"{text}\n{statement}")) == count(load(plain))
    assert count(load(f"{text}\n{statement}", {"k": 4})) != count(load(plain, {"k": 4}))


def test_loops_that_repeat_what_counts_once() -> None:
    """A loop after a statement of which one counts is refused."""
    (found,) = errors(BASE.replace("8 GiB/s)", "8 GiB/s) for i in 0..3"))
    assert found.message == "'for' would repeat the interconnect, of which one counts; write 'if'"


def test_rows_are_named_by_their_loops() -> None:
    """'for' behind a row names its instances as 'forall' in front of it does."""
    behind = load(f"{BASE} constraint cap: load(d) <= limit for d in devices, i in 0..1 if i > 0")
    before = load(f"{BASE} constraint cap: forall d in devices: forall i in 0..1 if i > 0: load(d) <= limit")
    rows = [[(c.label, c.terms, c.rhs) for c in p.constraints if c.keyword != "acyclic"] for p in (behind, before)]
    assert rows[0] == rows[1]
    assert [row[0] for row in rows[0]] == ["cap[gpu[0], 1]", "cap[gpu[1], 1]"]


def test_assertions() -> None:
    """A condition that does not hold is an error with its message, in the graph and in blocks as well."""
    text = f'{BASE} assert k <= 4, "a rack has 4 places, not " + "more" assert sum(work(v) for v in nodes) < 1 s'
    assert load(text).k == 2
    (found,) = errors(text, k=5)
    assert found.message == "a rack has 4 places, not more"
    assert found.span is not None
    assert found.span.text == "k <= 4"
    (found,) = errors(f"{BASE} assert k < 2")
    assert found.message == "this does not hold: k < 2"
    graph = 'block b(i) { node x assert i < 2, "too many" }\ngraph { use b[i in 0..3] }\n'
    rest = BASE[BASE.index("device") :]
    found = errors(f"param k = 2\n{graph}{rest}")[0]
    assert found.message == "too many"
    assert found.places[-1].says == "in b[2], which is used here"


def test_params_that_need_others() -> None:
    """Defaults use other params and lets, in any order; a cycle is refused with its chain."""
    text = "param total = half * 2\nlet half = k + 1\n" + BASE
    assert load(text).origin.params["total"] == 6
    assert load(text, {"k": 4}).origin.params["total"] == 10
    assert list(load(text).origin.params) == ["total", "k", "limit"]
    found = errors("param x = y + 1\nlet y = z\nparam z: int = x in 0..9\n" + BASE)
    assert [d.message for d in found] == ["param 'x' is defined by itself: x -> y -> z -> x"]


def test_empty_sets_say_nothing() -> None:
    """A statement about no nodes says nothing, with a warning, as a loop without a step does."""
    for statement in (
        "constraint forbid none on gpu",
        "constraint pin none on gpu[0]",
        "constraint forbid a on nowhere",
        "constraint colocate none",
        "constraint separate { v in nodes if v == a[0] }",
        "time none on gpu = 3 ms",
        "constraint memory on nowhere",
    ):
        lets = "let none = { v in nodes if work(v) > 1 s }\nlet nowhere = { d in devices if speed(d) > 3 }\n"
        problem = load(f"{BASE}{lets}{statement}")
        assert [c.keyword for c in problem.constraints] == ["acyclic"], statement
        assert any("so the statement says nothing" in warning for warning in problem.warnings), statement
    (found,) = errors(f"{BASE}constraint pin a on {{ d in devices if speed(d) > 3 }}")
    assert found.message == "there is no device in this set"
