"""problem -> spec -> problem: what to_spec writes reads back as an equal problem, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Bottleneck,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Decision,
    ExclusiveLinks,
    Finish,
    Forbid,
    InOrder,
    Linear,
    Load,
    Makespan,
    Memory,
    On,
    Pin,
    PinChunks,
    Replicate,
    Separate,
    Start,
)
from mtpp_dsl.core.errors import MtppError, SpecError, UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BUILTIN, CONSTRAINTS, GENERATORS
from mtpp_dsl.exchange.generators.generate import generate
from mtpp_dsl.solving.plugins.samples import small
from tests.amount import part
from tests.batch_problems import random_batches
from tests.customs import Few, OfType, Remainders
from tests.equal import differences
from tests.latency_cases import latency_problem
from tests.makespans import makespan_problem, tied_problem
from tests.strategies import link_problems, memory_problems, plain_problems
from tests.tools.fuzzer.families import FAMILIES, make
from tests.tree import ROOT

SPECS = sorted((ROOT / "examples").rglob("*.mtpp"))
AROUND = """
device acc[2]
device cpu (type = "cpu")
interconnect shared (bandwidth = 1)
minimize bottleneck
"""
UNSAID = ("batches",)
"""Samples of problems that are there to be refused, and that no spec says."""


def assert_said(problem: Problem) -> None:
    """Assert that the spec of a problem says it, and so does the spec of what was read."""
    text = problem.to_spec()
    again = mtpp_dsl.load(text)
    assert again.to_spec() == text
    assert not [*differences(problem, again)], text
    assert not [*differences(again, mtpp_dsl.load(again.to_spec()))], text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_examples(spec: Path) -> None:
    """Every example of the repository is said."""
    assert_said(mtpp_dsl.load(spec))


@pytest.mark.parametrize("name", [name for name in small() if name not in UNSAID])
def test_samples(name: str) -> None:
    """Every problem that plug-ins are tested with is said."""
    assert_said(small()[name])


SMALLER: dict[str, dict[str, object]] = {
    "gpt": {"layers": 2},
    "evoformer": {"blocks": 1},
    "swin": {"depths": "1, 1, 1, 1"},
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", BUILTIN[GENERATORS])
def test_generators(name: str) -> None:
    """Every generator's graph is said, of a small one of those whose usual size is large."""
    graph = generate(name, **SMALLER.get(name, {}))
    speed = 1e12 if graph.work_unit == "FLOP" else 1.0
    devices = [Device(f"d[{d}]", speed=speed) for d in range(2)]
    assert_said(Problem.create(graph, devices, Links(np.ones((2, 2)), np.zeros((2, 2))), Objective("makespan")))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_specs(family: str, tmp_path: Path) -> None:
    """The random specs of the fuzzer are said."""
    read = 0
    for seed in range(part(60)):
        instance = make(family, seed)
        try:
            problem = mtpp_dsl.load(instance.written(tmp_path), **instance.defines)
        except SpecError:
            continue
        read += 1
        assert_said(problem)
    assert read > part(30)


@pytest.mark.parametrize(
    "made", [makespan_problem, tied_problem, latency_problem, random_batches], ids=lambda made: made.__name__
)
def test_random_problems(made: Callable[[int], Problem]) -> None:
    """Random problems that are made in Python, with tables of times, missing links and batches, are said."""
    for seed in range(part(40)):
        try:
            problem = made(seed)
        except MtppError:
            continue
        assert_said(problem.with_constraints([c for c in problem.constraints if not isinstance(c, PinChunks)]))


@pytest.mark.parametrize(
    "text",
    [
        "maximize worst: bottleneck * 1",
        "minimize 1 * latency",
        "maximize 1 * latency",
        "minimize 2 * used(cpu) - 1 - used(cpu) * 2",
        "minimize 0 * latency",
    ],
)
def test_sums_of_one_word(text: str) -> None:
    """A weighted sum that is one word, such as a bottleneck to be maximised, is not said as the objective so called.

    One of no decision at all, as they have cancelled, is said as well.
    """
    assert_said(mtpp_dsl.load(AROUND.replace("minimize bottleneck", text) + "graph { node a (work = 1) }"))


@given(st.one_of(plain_problems(), memory_problems(), link_problems()))
def test_drawn_problems(problem: Problem) -> None:
    """Problems with weights of all kinds are said."""
    assert_said(problem)


NUMBERS = st.one_of(
    st.floats(1e-299, 1e299), st.floats(1e-9, 1e9), st.sampled_from([0.1, 1 / 3, 2**-40, 1e-7, 2.0**53 + 2])
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4), st.sampled_from(["s", "FLOP", ""]))
def test_numbers_to_the_last_bit(rows: list[tuple[float, float, float]], unit: str) -> None:
    """Any float that a problem has is said exactly, with the unit that makes it short."""
    work, params, output = (list(column) for column in zip(*rows, strict=True))
    graph = Graph.create(
        [f"v{i}" for i in range(len(rows))],
        [],
        work=work,
        params=params,
        output=output,
        work_unit=unit,
        size_unit="B" if unit else "",
    )
    speed = {"FLOP": rows[0][0]}.get(unit, 1.0)
    device = Device("d", memory=rows[0][1], speed=speed)
    try:
        problem = Problem.create(graph, [device], Shared(rows[0][2]), constraints=[Memory()])
    except MtppError:  # numbers that are too large, or too small
        return
    assert_said(problem)


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(min_size=1, max_size=9))
def test_texts_of_any_kind(name: str, kind: str, label: str, device: str) -> None:
    """Names, kinds and labels are any text: they are said as they are."""
    try:
        graph = Graph.create([name, name + "'"], [(0, 1)], kinds=[kind, ""], labels=["", label])
        machine = Device(device, unsupported=frozenset({kind}) if kind else frozenset(), group=label or None)
        problem = Problem.create(graph, [machine, Device("x")], Host(1.0), constraints=[Pin(nodes=(0,), devices=(1,))])
    except (MtppError, UnicodeError):
        return
    if device != "x":
        assert_said(problem)


def test_names_that_are_words_of_the_language() -> None:
    """Nodes and devices may be called as words of the language, where strings name them."""
    text = """graph { node "in" (work = 2, output = 1) node "nodes" (work = 1) edge "in" -> "nodes" }
device "on"
device "devices"
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint one: sum(on(v, d) for v in nodes) <= 1 for d in devices
constraint pin "in" on "on"
"""
    problem = mtpp_dsl.load(text)
    assert list(problem.graph.names) == ["in", "nodes"]
    assert [device.name for device in problem.devices] == ["on", "devices"]
    assert list(differences(problem, mtpp_dsl.load(problem.to_spec()))) == []
    with pytest.raises(SpecError, match="'on' is a word of the language"):
        mtpp_dsl.load(text.replace('device "on"', "device on"))


def test_every_constraint() -> None:
    """Each constraint that a spec can say is said, with every value of its options."""
    base = small()["chain"]
    rules = [
        Acyclic(parts="forward"),
        Contiguous(devices=(0,), parts="forward"),
        Contiguous(),
        Colocate(nodes=(0, 1)),
        Separate(nodes=(1, 2)),
        Pin(nodes=(0, 2), devices=(0, 1)),
        Forbid(nodes=(1,), devices=(1,)),
        BreakSymmetry(by="tasks", scope="within"),
        BreakSymmetry(by="time"),
        Replicate(most=2, devices=(0, 1), sync="none"),
    ]
    assert_said(Problem.create(base.graph, base.devices, base.interconnect, base.objective, rules))
    links = Links(np.ones((2, 2)), np.zeros((2, 2)), routing="direct")
    assert_said(Problem.create(base.graph, base.devices, links, Objective("makespan"), [ExclusiveLinks()]))
    batch = Objective("throughput", batch=4, chunk=2, transfer="per_input")  # type: ignore[arg-type]
    sizes = [BatchSizes(sizes=(2, 4), devices=(0,)), BatchSizes(sizes=(2, 4))]
    assert_said(Problem.create(base.graph, base.devices, links, batch, sizes))


def test_sets_are_said_in_one_order() -> None:
    """Two problems whose sets are named in another order say the same; stages are no set."""
    base = small()["chain"]
    one, two = (base.with_constraints([Pin(nodes=v, devices=d)]) for v, d in (((2, 0), (1, 0)), ((0, 2), (0, 1))))
    assert one.to_spec() == two.to_spec() == mtpp_dsl.load(one.to_spec()).to_spec()
    one, two = (base.with_constraints([Contiguous(devices=d), Colocate(nodes=d)]) for d in ((0, 1), (1, 0)))
    assert one.to_spec() == two.to_spec()
    one, two = (base.with_constraints([InOrder(devices=d)]) for d in ((0, 1), (1, 0)))
    assert one.to_spec() != two.to_spec()


def test_constraints_of_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in's constraint is said by its keyword, its members and the options that are not the default."""
    kinds = (Remainders, OfType, Few)
    points = [EntryPoint(kind.keyword, f"tests.customs:{kind.__name__}", CONSTRAINTS) for kind in kinds]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == CONSTRAINTS else [])
    registry.available.cache_clear()
    base = small()["chain"]
    rules = [Remainders(nodes=(0, 1), devices=(1,), at_most=2), Remainders(), OfType(nodes=(2,)), Few(at_most=1)]
    assert_said(Problem.create(base.graph, base.devices, base.interconnect, base.objective, rules))
    registry.available.cache_clear()


@st.composite
def rows(draw: st.DrawFn) -> Problem:
    """Draw a problem with rows of all decisions, with factors of all kinds, on plain numbers or seconds."""
    timed, unit = draw(st.booleans()), draw(st.sampled_from(["s", ""]))
    graph = Graph.create(["a", "b c", "d[0]"], [(0, 1)], work=[1.0, 2.0, 3.0], work_unit=unit)
    devices = [Device("d"), Device("gpu[0]"), Device("gpu[1]")]
    node, device = st.integers(0, 2), st.integers(0, 2)
    kinds: list[st.SearchStrategy[Decision]] = [st.builds(On, node, device), st.builds(Load, device)]
    kinds += (
        [st.builds(Start, node), st.builds(Finish, node), st.just(Makespan())] if timed else [st.just(Bottleneck())]
    )
    factor = st.one_of(st.integers(-3, 3).map(float), st.floats(1e-200, 1e9), st.floats(-1e9, -1e-200)).filter(bool)
    labels = ("cap", "cap[d]", "cap[a, 3]", 'l[say "x"]', "row_1")
    found = []
    for label in draw(st.lists(st.sampled_from(labels), unique=True, max_size=4)):
        for _ in range(draw(st.integers(1, 2))):
            terms = draw(st.dictionaries(st.one_of(kinds), factor, min_size=1, max_size=4))
            sense = draw(st.sampled_from(("<=", "==", ">=")))
            found.append(
                Linear(
                    label=label,
                    terms=tuple(terms.items()),
                    sense=sense,
                    rhs=draw(st.one_of(st.floats(1e-200, 1e6), st.integers(-9, 9).map(float))),
                )
            )
    found = list(dict.fromkeys(found))
    if timed:
        links = Links(np.ones((3, 3)), np.zeros((3, 3)))
        return Problem.create(graph, devices, links, Objective("makespan"), found)
    return Problem.create(graph, devices, Shared(2.0), Objective("bottleneck"), found)


@given(rows())
def test_rows(problem: Problem) -> None:
    """Rows are said with their labels, and with all their factors in the units that they stand for."""
    assert_said(problem)


def test_objectives() -> None:
    """Linear objectives, several of them, what they may give up, prices, power and penalties are said."""
    text = (
        "graph { node a (work = 2 ms, output = 1 MiB)\nnode b (work = 3 ms)\nedge a -> b }\n"
        "device gpu[2] (price = 3 USD, power = 300 W)\ndevice cpu (price = 1 USD, power = 0.1 W)\n"
        "interconnect shared (bandwidth = 8 GiB/s)\n"
    )
    cost = "minimize cost: sum(price(d) * used(d) for d in devices) + 1 USD (within = 1%)\n"
    for objectives in (
        cost,
        f"{cost}minimize energy: sum(power(d) * load(d) for d in devices) (within = 0.1 J)\nminimize latency\n",
        "maximize spare: 3 * on(a, cpu) - used(cpu)\nminimize bottleneck (within = 1 ms)\n",
        "minimize 2 * bottleneck - load(cpu) / 3\n",
    ):
        soft = "constraint late: bottleneck <= 4 ms (penalty = {})\nconstraint few: used(cpu) <= 0 (penalty = {})\n"
        unit = "2 USD/s", "3 USD"
        paid = soft.format(*unit) if "cost" in objectives else ""
        assert_said(mtpp_dsl.load(text + objectives + paid))
    timed = text.replace("shared (bandwidth = 8 GiB/s)", "links (bandwidth = 8 GiB/s)")
    for objective in ("makespan", "late: finish(b) - start(a) + makespan / 7", "latency"):
        assert_said(mtpp_dsl.load(f"{timed}minimize {objective}\n"))


def test_measured_transfers() -> None:
    """Times of single transfers, also over links that would take other times, are said."""
    random = Random(3)
    for seed in range(30):
        graph = makespan_problem(seed).graph
        k = random.randint(2, 4)
        table = np.array([[[random.choice([0.0, 1.0, 2.5, float("inf")]) for _ in range(k)] for _ in range(k)]
                          for _ in range(graph.m)]).reshape(graph.m, k, k)  # fmt: skip
        if seed % 3 == 0:
            table[:, :, :] = 1.5
        table[:, range(k), range(k)] = 0.0
        links = Links(np.full((k, k), 2.0), np.full((k, k), 0.5), transfers=table)
        problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], links, Objective("makespan"))
        assert_said(problem)


def test_units_of_graphs_without_weights() -> None:
    """A graph of nothing but zeros keeps its units."""
    for work, size in (("s", "B"), ("", "B"), ("s", "")):
        graph = Graph.create(["a", "b"], [(0, 1)], work_unit=work, size_unit=size)
        assert_said(Problem.create(graph, [Device("d")], Shared(1.0)))


def test_more_is_added() -> None:
    """A builder of a problem takes further statements, and the problem itself stays as it is."""
    problem = mtpp_dsl.load(ROOT / "examples" / "quickstart.mtpp")
    builder = mtpp_dsl.Builder.of(problem).pin("embed", "stage[1]").add(mtpp_dsl.Builder.load("stage[0]") <= "13 ms")
    more = builder.build()
    assert len(more.constraints) == len(problem.constraints) + 2
    assert not [*differences(replace(more, constraints=problem.constraints), problem)]
    assert not [*differences(more, mtpp_dsl.load(builder.text()))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"constraints": [PinChunks(nodes=(0,), places=(0,))]}, "pin chunks.*cannot be said"),
        ({"constraints": [BatchSizes(sizes=(1,))]}, "batch sizes mean nothing to minimize bottleneck"),
        (
            {"constraints": [Linear(label="no label", terms=((On(0, 0), 1.0),), sense="<=", rhs=1.0)]},
            "'no label' is no label that a spec can have",
        ),
    ],
)
def test_unsaid(change: dict[str, object], message: str) -> None:
    """What no spec can say is an error that says what."""
    with pytest.raises(UsageError, match=message):
        replace(small()["chain"], **change).to_spec()  # type: ignore[arg-type]


@pytest.mark.long
def test_published_graphs(data: Path) -> None:
    """Graphs of published files, with times by type of device and in mixed units, are said."""
    read = 0
    for name, path in zip(count(), sorted(data.rglob("*.json")), strict=False):
        if name % 4:
            continue
        try:
            problem = mtpp_dsl.load(f'graph from "{path}"\n{AROUND}')
        except MtppError:
            continue
        read += 1
        assert_said(problem)
    assert read > 3


COSTS = """
phase prefill, decode (weight = 3)
graph {
  node a (flop = {prefill: 3 TFLOP, decode: 1 GFLOP}, params = 3 GB, output = 1 MB, dtype = bf16, weight_type = "int 4")
  node b (flop = 1 TFLOP, read = {prefill: 2 GB, decode: 1 MB}, dtype = fp32, kind = "matmul")
  node c (flop = 1 TFLOP, dtype = fp8, time = {gpu: 3 ms})
  node d (flop = 1 TFLOP, dtype = bf16, work = 2 ms)
  edge a -> b -> c -> d
}
device gpu[2] (peak = {bf16: 0.1 PFLOP/s, other: 7 TFLOP/s}, bandwidth = 1.1 TB/s,
               efficiency = {"a b": 70%, matmul: 0.3, memory: 0.8}, overhead = 3 us)
device one (peak = {bf16: 33 TFLOP/s, fp32: 1 TFLOP/s, fp8: 3 TFLOP/s}, bandwidth = 7 GB/s, efficiency = 0.9)
device cpu
time a, b, c on cpu = 0 ms
time a on gpu[1] in decode = 0 ms
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
"""


def test_costs() -> None:
    """Nodes of one operator say their costs, so that the law makes their times again; of others the times are said."""
    problem = mtpp_dsl.load(COSTS)
    assert_said(problem)
    again = mtpp_dsl.load(problem.to_spec())
    for one, two in zip(problem.graph.phases, again.graph.phases, strict=True):
        assert one.graph.costs == two.graph.costs
        assert {d: row.tolist() for d, row in one.graph.time_sources.items()} == {
            d: row.tolist() for d, row in two.graph.time_sources.items()
        }
    assert_said(mtpp_dsl.load("def roofline(v, d) = 1 ms + flop(v) / (3 TFLOP/s)\n" + COSTS))
    costs = Costs.create([0, 0, 1], flop=[1e12, 2e9, 3.0], read=1e6, write=0, dtypes=["bf16", "fp32", "fp8"])
    graph = Graph.create(["a", "b"], [(0, 1)], costs=costs, size_unit="B")
    rest = (
        COSTS[COSTS.index("device gpu") :].replace("time a, b, c on cpu", "time a, b on cpu").replace(" in decode", "")
    )
    assert_said(mtpp_dsl.read(rest).problem(graph=graph))


def test_a_penalty_for_each_second_beside_an_objective_without_a_unit() -> None:
    text = "minimize cost: sum(used(x) for x in devices) constraint soft: load(cpu) <= 2 us (penalty = 1 / (1 us))\n"
    around = AROUND.replace("minimize bottleneck", text).replace("bandwidth = 1", "bandwidth = 1 B/s")
    problem = mtpp_dsl.load(around + "graph { node a (work = 3 us) }")
    assert problem.soft_rows[0].penalty == 1e6
    assert_said(problem)
