"""Answers that come back: every field is held against the spec, or named as not checked."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.cli import verify as command
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.constraints import Replicate, Subgraphs
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.values.params import Recorded
from mtpp_dsl.solving.answers.claims import NOT_CHECKED, false_claims
from mtpp_dsl.solving.answers.json import dumps, result_to_json, schema
from mtpp_dsl.solving.answers.plans import false_devices, false_order, false_rows
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.solving.answers.shape import KEYWORDS, faults
from tests.amount import part
from tests.batch_problems import random_batches
from tests.strategies import mixed_graph

GRAPH = """param heavy: time = 4 ms
graph {
  node a (work = 2 ms, params = 3 MiB, output = 1 MiB, kind = "conv")
  node b (work = heavy, params = 1 MiB, output = 2 MiB)
  node c (work = 1 ms, params = 2 MiB, output = 1 MiB)
  node e (work = 3 ms, params = 1 MiB)
  edge a -> b -> e
  edge a -> c -> e
}
"""
TRAINING = """graph {
  node f (work = 2, params = 4, output = 1)
  node g (work = 3, params = 1, output = 1)
  node h (work = 2, part = backward, output = 1)
  node i (work = 4, part = backward)
  edge f -> g -> h -> i
}
"""
SHARED = "interconnect shared (bandwidth = 1 GiB/s)\n"
SHARED_PLAIN = "interconnect shared (bandwidth = 1)\nminimize bottleneck\n"
SPECS = {
    "shared": (GRAPH + "device d[2] (memory = 9 MiB)\n" + SHARED + "minimize bottleneck constraint acyclic", "auto"),
    "by boxes": (GRAPH + "device d[2]\n" + SHARED + "maximize throughput constraint contiguous", "exact"),
    "by ideals": (GRAPH + "device d[2]\n" + SHARED + "maximize throughput constraint acyclic", "ideals"),
    "computed again": (GRAPH + "device d[2]\n" + SHARED + "minimize bottleneck", "without certificate"),
    "streamed": (
        GRAPH + "device d[2] (memory = 3 MiB)\ndevice cpu (io = free, speed = 1/2)\n"
        "interconnect host (bandwidth = 1 GiB/s, overflow = stream) minimize bottleneck",
        "exact",
    ),
    "groups": (
        TRAINING + "device d[i in 0..3] (group = floor(i / 2))\n"
        "interconnect shared (bandwidth = 8, between = 4) minimize bottleneck\n"
        "constraint acyclic constraint replicate d up to 2",
        "ideals",
    ),
    "separate": (
        TRAINING + "device d[2]\ninterconnect shared (bandwidth = 2) minimize bottleneck (parts = separate)",
        "auto",
    ),
    "makespan": (
        GRAPH + 'device cpu (speed = 1/2)\ndevice gpu (unsupported = "conv")\n'
        "interconnect links (bandwidth = 1 GiB/s, latency = 0.1 ms) minimize makespan constraint exclusive links",
        "moirai",
    ),
    "latency": (
        GRAPH + "device d[2]\ndevice cpu (io = free, speed = 1/4)\ninterconnect host (bandwidth = 1 GiB/s)\n"
        "minimize makespan constraint contiguous",
        "latency-search",
    ),
    "batch": (
        GRAPH + "device cpu (speed = 1/2)\ndevice gpu (fixed = 50%)\n"
        "interconnect links (bandwidth = 1 GiB/s) maximize throughput (batch = 4, transfer = per_input)",
        "heft",
    ),
    "several": (
        GRAPH + "device d[2]\n" + SHARED + "minimize cost: sum(2 USD * used(x) for x in d) (within = 10%)\n"
        "maximize spread: sum(on(v, d[0]) for v in nodes) minimize bottleneck\n"
        "constraint soon: bottleneck <= 4 ms (penalty = 1 USD / 1 ms)\n"
        "constraint few: forall x in d: sum(on(v, x) for v in nodes) <= 3 (penalty = 0.25 USD)",
        "exact",
    ),
    "linear": (
        GRAPH + "device d[2]\n" + SHARED + "maximize gain: sum(on(v, d[0]) for v in {a, b}) - 2",
        "exact",
    ),
    "infeasible": (
        GRAPH + "device d[2] (memory = 2 MiB)\n" + SHARED + "minimize bottleneck constraint memory\n"
        "constraint pin c on d[0] constraint pin a on d[1]",
        "auto",
    ),
    "bound": (GRAPH + "device d[2]\n" + SHARED + "minimize bottleneck", "configuration"),
    "bound of a batch": (
        GRAPH + "device d[2]\ninterconnect links (latency = 1 ms) maximize throughput (batch = 4)",
        "critical-path",
    ),
}


@cache
def answer(name: str) -> tuple[Path, str]:
    """Return the spec of a case, and its answer as JSON."""
    text, method = SPECS[name]
    spec = Path(tempfile.mkdtemp()) / "spec.mtpp"
    spec.write_text(text + "\n")
    problem = mtpp_dsl.load(spec)
    result = mtpp_dsl.solve(problem, "simple" if method == "without certificate" else method, time_limit=20)
    data = result_to_json(problem, result)
    if method == "without certificate":
        data["bound"]["certificate"] = None
    return spec, json.dumps(data)


@cache
def loaded(spec: Path, params: tuple[tuple[str, object], ...]) -> Problem | MtppError:
    """Return the problem of a spec, read once; or the error in it."""
    try:
        return mtpp_dsl.load(spec, **{name: Recorded(value) for name, value in params})
    except MtppError as error:
        return error


def read(spec: Path, _: object, __: object, recorded: dict[str, Recorded], ___: object = None) -> Problem:
    problem = loaded(spec, tuple((name, param.value) for name, param in recorded.items()))
    if isinstance(problem, MtppError):
        raise problem
    return problem


Path_ = tuple[str | int, ...]


def with_bound(data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an answer whose bound says something else, with the same in its objectives."""
    bound = {**data["bound"], **fields}
    short = {name: value for name, value in bound.items() if name != "certificate"}
    return {**data, "bound": bound, "objectives": [{**data["objectives"][0], "bound": short}]}


def leaves(data: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield every value of a JSON document with the way to it, those that hold others as well."""
    if path:
        yield path, data
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, key))


REMOVED = object()
WORDS = (
    ("d[0]", "d[1]", "d[2]", "d[3]", "cpu", "gpu"),
    ("a", "b", "c", "e", "f", "g", "h", "i"),
    ("optimal", "feasible", "bound", "infeasible", "unknown"),
    ("gap", "complete", "time_limit", "infeasible"),
    ("makespan", "bottleneck", "throughput"),
    ("minimize", "maximize"),
    ("together", "separate"),
    ("s", "1/s", ""),
)
"""Words of an answer that stand for each other."""


def others(value: Any) -> Iterator[Any]:
    """Yield values of all sorts in the place of one."""
    yield REMOVED
    yield from (None, True, "other", 7, -1.5, [], {})
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (0, -value, value + 1, value * 2, value / 2, value * (1 + 1e-6), value * (1 - 1e-6), str(value))
        yield from (float("nan"), float("inf"), 10**400)
    elif isinstance(value, str):
        yield from (value + "x", "")
        yield from (word for words in WORDS if value in words for word in words)
    elif isinstance(value, list):
        yield from (value[::-1], value[1:], value[:-1], [*value, *value[:1]], [*value, *value[-1:]])
    elif isinstance(value, dict):
        yield {**value, "odd": 1}
        yield dict(zip(value, [*value.values()][1:] + [*value.values()][:1], strict=True))


def changed(data: Any, path: Path_, value: Any) -> Any:
    """Return a copy of a document with one value changed."""
    whole = copy.copy(data)
    if len(path) > 1:
        whole[path[0]] = changed(data[path[0]], path[1:], value)
    elif value is REMOVED:
        del whole[path[0]]
    else:
        whole[path[0]] = value
    return whole


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same; 0 and 0.0 are, 0 and false are not."""
    numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in (one, other)]
    return one == other if all(numbers) else json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def told(path: Path_, data: dict[str, Any], value: Any) -> bool:
    """Return whether a change may pass: of a field named as not checked, or one after which all is still so."""
    name = re.sub(r"^objectives\.[1-9]\.", "objectives.", ".".join(str(key) for key in path))
    number = isinstance(value, (int, float))
    if name == "gap":
        return number and abs(value - data["gap"]) <= 2e-12  # that is rounding
    if path[0] == "objectives" and path[-1] in ("gap", "best", "value") and len(data["objectives"]) > 1:
        old = data["objectives"][path[1]]  # of a turn before the last, whose plan is not there
        old = old["bound"] if path[2] == "bound" else old
        old = old[path[-1]]
        return number and abs(value - old) <= (2e-6 if path[-1] == "gap" else 2e-6 * max(1.0, abs(old)))
    if name == "objectives.0.gap":
        return number and abs(value - data["gap"]) <= 2e-12
    if name == "plan.order":  # another order in which data flow
        place, home = {d: i for i, d in enumerate(value)}, data["plan"]["assignment"]
        edges = (
            [("a", "b"), ("b", "e"), ("a", "c"), ("c", "e")] if "a" in home else [("f", "g"), ("g", "h"), ("h", "i")]
        )
        return sorted(value) == sorted(data["plan"]["order"]) and all(
            place[home[u]] <= place[home[v]] for u, v in edges
        )
    if name == "infeasible.clash":
        return set(value) == set(data["infeasible"]["clash"])  # a statement with 'for' is several constraints
    if name.startswith("infeasible"):
        return name in ("infeasible.reason", "infeasible.minimal")
    if any(name == field or name.startswith(field + ".") for field in NOT_CHECKED):
        return True
    if name.startswith("bound.certificate"):
        return True  # evidence, not a claim: without it the bound is only claimed, else the checker has accepted it
    if name in ("spec.files", "spec.scenario") and value is REMOVED:
        return True  # an answer of an earlier version: its files are named as not checked, and it had no scenarios
    if name == "bound.value" and data["plan"] is None:  # less is claimed than is proved
        sign = 1 if data["objective"]["sense"] == "minimize" else -1
        return (number and sign * (value - data["bound"]["value"]) <= 0) or (value is None and sign < 0)
    return False


@pytest.mark.parametrize("name", ["shared", "makespan", "infeasible", "bound"])
def test_answers_of_schema_1(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer of before there were several objectives is read and checked as it was; a wrong one is refused."""
    spec, text = answer(name)
    data = {key: value for key, value in json.loads(text).items() if key not in ("objectives", "penalties")}
    data["schema"] = 1
    del data["objective"]["kind"]
    if data["plan"] is not None:
        del data["plan"]["stages"]
    jsonschema.validate(data, schema(1))
    place = tmp_path / "a.json"
    place.write_text(json.dumps(data))
    assert run(["verify", str(spec), str(place)]) == 0
    place.write_text(json.dumps({**data, "status": "unknown"}))
    assert run(["verify", str(spec), str(place)]) == 7
    place.write_text(json.dumps({**data, "penalties": []}))
    assert run(["verify", str(spec), str(place)]) == 2
    assert "penalties" in capsys.readouterr().err


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", SPECS)
def test_every_change_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever value of an answer is changed, it is refused (7) or malformed (2), or named as not checked."""
    spec, text = answer(name)
    data = json.loads(text)
    monkeypatch.setattr(command, "read_problem", read)
    monkeypatch.setattr(command, "say", lambda *_: None)

    def check(document: Any) -> int:
        monkeypatch.setattr(command, "read_json", lambda _: document)
        try:
            return command.verify_plan(spec, tmp_path / "a.json", [], [], 20)
        except MtppError as error:
            return error.exit_code

    assert check(data) == 0
    passed = []
    for path, value in leaves(data):
        for new in others(value):
            if new is REMOVED and isinstance(path[-1], int):
                continue
            if new is not REMOVED and same(new, value):
                continue
            code = check(changed(data, path, new))
            assert code in (0, 2, 7)
            if code == 0 and not told(path, data, new):
                passed.append((path, new))
    assert not passed


def test_shape_is_the_schema() -> None:
    """What our reader of the schema takes is what jsonschema takes; the schema says nothing that ours ignores."""

    def words(rule: Any) -> Iterator[str]:
        for key, value in rule.items():
            yield key
            nested = value.values() if key == "properties" else value if key == "oneOf" else [value]
            for each in nested if key in ("properties", "oneOf", "items", "additionalProperties") else ():
                yield from words(each) if isinstance(each, dict) else ()

    assert set(words(schema())) <= KEYWORDS
    judge, rules = jsonschema.Draft202012Validator(schema()), schema()
    for name in ("bound of a batch", "infeasible", "batch"):
        data = json.loads(answer(name)[1])
        assert not list(faults(data, rules, ""))
        changes = [(path, new) for path, value in leaves(data) for new in others(value)]
        for path, new in changes[:: len(changes) // 300]:
            if isinstance(new, (int, float)) and not abs(new) < 1e300:
                continue  # JSON has no such numbers, and jsonschema no limit
            if new is REMOVED and isinstance(path[-1], int):
                continue
            document = changed(data, path, new)
            assert (not list(faults(document, rules, ""))) == judge.is_valid(document), (path, new)


FILES = {
    "spec.mtpp": 'include "lib/devices.mtpp"\nparam net: path = "net.json"\nparam k: int = 3\n'
    'graph from net (format = moirai)\ntimes from "times.csv"\nlet same = 1\n'
    "interconnect links (latency = 1)\nmaximize throughput (batch = 2)\n",
    "lib/devices.mtpp": "device d[k]\n",
    "net.json": '{"devices": 1, "device_memory": [9], "transfers": [],'
    ' "tasks": [{"id": 1, "times": [2], "memory": 1, "successors": []}]}',
    "times.csv": "node,device,batch,time\n1,d,1,3\n1,d,2,4\n",
}


def test_files_that_a_spec_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer holds hashes of all files and the params; it verifies wherever it is called, till one changes."""
    folder = tmp_path / "here"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    assert run(["solve", "here/spec.mtpp", "-D", "k=2", "--method", "heft", "--json", "a.json", "-q"]) == 0
    data = json.loads(Path("a.json").read_text())
    assert data["spec"]["params"] == {"net": "here/net.json", "k": 2}
    assert data["spec"]["sha256"] == sha256(FILES["spec.mtpp"].encode()).hexdigest()
    assert data["spec"]["files"] == {
        name: sha256(text.encode()).hexdigest() for name, text in FILES.items() if name != "spec.mtpp"
    }
    assert run(["verify", "here/spec.mtpp", "a.json"]) == 0
    assert run(["verify", "here/spec.mtpp", "a.json", "-D", "k=2", "-D", "net=here/net.json"]) == 0
    capsys.readouterr()
    assert run(["verify", "here/spec.mtpp", "a.json", "-D", "k=3"]) == 7
    assert "spec.params: k is 2 in the answer, and -D says 3" in capsys.readouterr().out
    assert run(["verify", "here/spec.mtpp", "a.json", "-D", "k=1"]) == 7  # though the plan names a device beyond
    assert "spec.params: k is 2 in the answer, and -D says 1" in capsys.readouterr().out
    monkeypatch.chdir(folder / "lib")
    assert run(["verify", "../spec.mtpp", "../../a.json"]) == 0
    monkeypatch.chdir(tmp_path)
    folder.rename("there")
    assert run(["verify", "there/spec.mtpp", "a.json"]) == 0
    capsys.readouterr()
    for name in FILES:
        path = tmp_path / "there" / name
        path.write_text(FILES[name] + "\n")
        assert run(["verify", "there/spec.mtpp", "a.json"]) == 7
        said = "answer was made for another text" if name == "spec.mtpp" else f"{name} has changed since"
        assert said in capsys.readouterr().out
        path.write_text(FILES[name])


def test_plans_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bare {node: device}, a plan without an answer around it, nodes called as fields are: all verify."""
    spec, plan = tmp_path / "s.mtpp", tmp_path / "p.json"
    spec.write_text("graph { node plan (work = 1) node schema (work = 2) }\ndevice d[2]\n" + SHARED_PLAIN)
    bare = {"plan": "d[0]", "schema": "d[1]"}
    for data, code in [
        (bare, 0),
        ({"assignment": bare}, 0),
        ({"plan": {"assignment": bare}}, 0),
        ({"plan": {"assignment": bare, "oder": None}}, 2),
        ({"plan": {"assignment": bare}, "status": "optimal"}, 2),
        ({"plan": "d[0]"}, 2),
        ({"plan": 3, "schema": "d[1]"}, 2),
        ([], 2),
        (None, 2),
    ]:
        plan.write_text(json.dumps(data))
        assert run(["verify", str(spec), str(plan)]) == code, data
    assert "oder is no field; did you mean 'order'?" in capsys.readouterr().err


def test_what_is_proved_and_what_is_claimed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reader is told which claims were proved again, and which rest on somebody's word."""
    for name, words in [
        (
            "linear",
            [
                "only claimed, not proved here",
                "optimal: only claimed",
                "not checked, as a spec does not determine it: method",
            ],
        ),
        ("by boxes", ["optimal: proved again here"]),
        ("by ideals", ["proved again here by going through all ideals", "optimal: proved again here"]),
        ("computed again", ["proved again here by computing it"]),
        ("bound", ["proved again here", "an answer without a plan"]),
        ("infeasible", ["no plan exists", "shown again here, by counting"]),
    ]:
        spec, text = answer(name)
        (tmp_path / "a.json").write_text(text)
        assert run(["verify", str(spec), str(tmp_path / "a.json")]) == 0
        out = capsys.readouterr().out
        assert all(word in out for word in words), (name, out)
    spec, text = answer("linear")  # a gain: costs are negative
    assert not check_bound(mtpp_dsl.load(spec), BoundClaim(0.5, -0.5, "exact", None), Limits()).proved
    spec, text = answer("computed again")
    data = json.loads(text)
    value = data["bound"]["value"] * 1.01
    (tmp_path / "a.json").write_text(json.dumps({**with_bound(data, value=value), "log": []}))
    assert run(["verify", str(spec), str(tmp_path / "a.json")]) == 7
    assert "computed again, it is" in capsys.readouterr().out


def test_gaps_as_small_as_rounding_are_the_same_of_values() -> None:
    """A bound a rounding below the cost leaves a gap of 0, though rates, each inverted, may leave a rounding."""
    for work in range(1, 60):
        problem = mtpp_dsl.load(
            f"graph {{ node a (work = {work}) }}\ndevice d (speed = 3)\ninterconnect shared (bandwidth = 1)\n"
            "maximize throughput\n"
        )
        result = mtpp_dsl.solve(problem, "ideals")
        assert result.cost is not None
        assert result.bound is not None
        near = replace(result, bound=replace(result.bound, cost=result.cost * (1 - 1e-12)), log=())
        data = json.loads(dumps(result_to_json(problem, near)))
        assert not [*false_claims(problem, data, near.plan)]


def test_a_bound_of_simple_from_a_phase_alone_is_a_claim() -> None:
    """``auto`` bounds phases one by one; of all of them ``simple`` computes nothing, and so refutes nothing."""
    problem = mtpp_dsl.load(
        "phase p, q\ngraph { node a (work = {p: 1, q: 2})\nnode b (work = {p: 2, q: 1})\nedge a -> b }\ndevice d[2]\n"
        "interconnect links (bandwidth = 1)\nminimize bottleneck(q)\nconstraint due: latency(p) <= 3\n"
    )
    assert not check_bound(problem, BoundClaim(1.5, 1.5, "simple", None), Limits()).proved


@pytest.mark.parametrize("seed", range(part(40, 4)))
def test_figures_are_counted_in_two_ways(seed: int) -> None:
    """The figures of devices that the evaluation gives are those that the verification counts, for any plan."""
    for problem in (random_batches(seed), *random_loads(seed)):
        plan = next(iter(plans(problem)), None)
        if plan is not None:
            result = replace(Result("complete", plan=plan), evaluation=evaluate(problem, plan))
            data = json.loads(dumps(result_to_json(problem, result)))
            assert not list(false_devices(problem, plan, data["devices"]))
            assert not list(false_rows(problem, plan, data["plan"]))
            assert not list(false_order(problem, plan, data["plan"]["order"]))


def random_loads(seed: int) -> Iterator[Problem]:
    """Yield loads with overflow, free devices, groups and replicas; a makespan on links, and one by subgraphs."""
    random = np.random.default_rng(seed)
    graph = mixed_graph(random, 3, share=0.6, outputs=[0.0, 1.0, 4.0], params=[0.0, 2.0, 5.0], training=bool(seed % 2))
    kinds = [("accelerator", True), ("accelerator", True), ("cpu", False)]
    devices = [Device(f"d{i}", kind, memory=3.0, pays_io=pays) for i, (kind, pays) in enumerate(kinds)]
    yield Problem.create(graph, devices, Host(2.0, overflow=True))
    four = [Device(f"d{i}", group=f"g{i // 2}") for i in range(4)]
    yield Problem.create(graph, four, Shared(2.0, between=0.5), constraints=[Replicate(most=4, sync="weights")])
    links = Links(np.full((3, 3), 2.0), np.full((3, 3), 0.5))
    yield Problem.create(graph, devices, links, Objective("makespan"))
    if not graph.backward.any():
        yield Problem.create(graph, devices, Host(2.0), Objective("makespan"), [Subgraphs(most=2)])


def test_shards_on_devices_in_no_groups_are_no_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan changed so that a device is split over more devices than it has costs nothing that could be counted."""
    spec, answer = tmp_path / "a.mtpp", tmp_path / "a.json"
    spec.write_text(SHARDED)
    assert run(["solve", str(spec), "--json", str(answer)]) == 0
    data = json.loads(answer.read_text())
    for stage in data["plan"]["stages"]:
        stage["shards"] = 4
    answer.write_text(json.dumps(data))
    assert run(["verify", str(spec), str(answer)]) == 7
    assert "which are no groups of 4" in capsys.readouterr().out


def test_a_throughput_without_end_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has no infinite numbers: its value is null and infinite; who leaves that out is found out."""
    spec, answer = tmp_path / "a.mtpp", tmp_path / "a.json"
    spec.write_text("graph { node a (work = 0) } device d interconnect shared (bandwidth = 1) maximize throughput\n")
    assert run(["solve", str(spec), "--json", str(answer)]) == 0
    data = json.loads(answer.read_text())
    assert (data["status"], data["objective"]["value"], data["objective"]["infinite"]) == ("optimal", None, True)
    jsonschema.Draft202012Validator(schema()).validate(data)
    for words in (["verify", str(spec)], ["report", "-o", str(tmp_path / "a.html")], ["diff", str(answer)]):
        assert run([*words, str(answer)]) == 0
    out = capsys.readouterr().out
    assert "throughput inf; every constraint holds" in out
    del data["objective"]["infinite"]
    answer.write_text(json.dumps(data))
    assert run(["verify", str(spec), str(answer)]) == 7
    assert "objective.value: the answer says None, the plan has inf" in capsys.readouterr().out


def test_the_largest_of_sums_may_be_negative() -> None:
    """No bound is proved because costs were no less than nothing where the largest of several sums is."""
    text = """phase p, q
    graph {{ node a (work = 1) }}
    device d
    interconnect shared (bandwidth = 1)
    minimize max(bottleneck(p) - {0}, bottleneck(q) - 3)
    """
    for less, proved in ((2, False), (0, True)):
        problem = mtpp_dsl.load(text.format(less))
        finding = check_bound(problem, BoundClaim(-0.5, -0.5, "another", None), Limits(time=5.0))
        assert finding.proved == proved


def test_a_gap_is_not_closed_without_a_bound() -> None:
    """A search that ends at a bound which it alone knows, when the time for bounds is over, has closed no gap."""
    text = "graph { node a (work = 5) } device d[2] interconnect links (bandwidth = 1) minimize makespan\n"
    problem = mtpp_dsl.load(text)
    for method in ("ea", "annealing"):
        for seconds in (0.0, 0.001, 0.02):
            result = mtpp_dsl.solve(problem, method, time_limit=seconds)
            assert result.termination != "gap" or result.bound is not None


SHARDED = """graph {
  node a (work = 1, output = 1, params = 1)
  node b (work = 2, output = 1, params = 1)
  edge a -> b
}
device d[2] (memory = 20)
interconnect host (bandwidth = 2)
minimize iteration (microbatches = 1, schedule = "1f1b")
constraint acyclic
constraint shard d by [1, 2, 4]
constraint memory (schedule = "1f1b", microbatches = 1)
"""
