"""Random programs that call a Builder: what they build is what the text that they write says."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtpp_dsl
from mtpp_dsl import Builder
from mtpp_dsl.core.errors import MtppError, SpecError, UsageError
from mtpp_dsl.language.algebra import (
    Expression,
    bottleneck,
    constant,
    latency,
    load,
    memory,
    on,
    output,
    price,
    used,
    work,
)
from tests.equal import differences

NAMES = ("a", "b c", 'say "x"', "attn[0]", "attn[1]", "a.b/c-d")
DEVICES = ("gpu[0]", "gpu[1]", "cpu")
TIMES = st.one_of(
    st.sampled_from(["2 ms", "0.1 s", "1e-7 s", "k * 1 ms", "1 ms + 2 us"]), st.integers(1, 9).map("{} us".format)
)
SIZES = st.one_of(st.sampled_from(["1 MiB", "3.5 kB", "k * 1 MB", "0 B"]), st.integers(1, 9).map("{} GB".format))


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    """Draw a sum of terms over decisions, all without a unit, or all times."""
    node, device = st.sampled_from(NAMES), st.sampled_from(DEVICES)
    factor = st.one_of(st.integers(-3, 3), st.floats(0.001, 100), st.fractions(1, 9))
    plain = [lambda: on(draw(node), draw(device)), lambda: used(draw(device))]
    times: list[Callable[[], Expression]] = [
        lambda: load(draw(device)),
        lambda: bottleneck,
        lambda: latency,
        lambda: work(draw(node)) * on(draw(node), draw(device)),
        lambda: constant(draw(TIMES)) * used(draw(device)),
    ]
    kinds = draw(st.sampled_from([plain, times]))
    total: Any = 0
    for _ in range(draw(st.integers(1, 4))):
        term = kinds[draw(st.integers(0, len(kinds) - 1))]()
        sign = draw(st.sampled_from([1, -1]))
        total = total + sign * draw(factor) * term if draw(st.booleans()) else total - term / draw(st.integers(1, 7))
    if draw(st.booleans()):
        total = total * constant("k")
    found: Expression = total
    return found


@st.composite
def programs(draw: st.DrawFn) -> Builder:
    """Draw a builder with a graph of nodes of all kinds of names, devices, rules, rows and objectives."""
    builder = Builder()
    builder.param("k", draw(st.integers(1, 5)), type="int")
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, unique=True))
    for name in names:
        options: dict[str, Any] = {"work": draw(TIMES)}
        for what in ("params", "output", "memory"):
            if draw(st.booleans()):
                options[what] = draw(SIZES)
        if draw(st.booleans()):
            options |= {"kind": draw(st.sampled_from(["conv", 'x "y"'])), "label": "ä", "color": 3}
        builder.node(name, **options)
    for u, v in pairwise(names):
        if draw(st.booleans()):
            builder.edge(u, v, size=draw(SIZES)) if draw(st.booleans()) else builder.edge(u, v)
    memory_of = draw(st.sampled_from(["9 GB", "(1 + i) * 8 GiB"]))
    builder.device("gpu", over={"i": range(2)}, memory=memory_of, speed=draw(st.sampled_from([1, 2.5])))
    builder.device("cpu", memory="64 GB", price=3, unsupported=["lstm"], group=None)
    builder.interconnect("shared", bandwidth=draw(st.sampled_from(["8 GiB/s", "k * 1 GB/s"])))
    for rule in draw(st.lists(st.sampled_from(range(6)), unique=True)):
        if rule == 0:
            builder.acyclic(parts=draw(st.sampled_from([None, "forward"])))
        elif rule == 1:
            builder.fits_memory(draw(st.sampled_from([None, "gpu", "cpu", ["gpu[0]", "cpu"]])))
        elif rule == 2:
            builder.pin(names[0], draw(st.sampled_from(["gpu", "cpu", ["gpu[1]", "cpu"]])))
        elif rule == 3:
            builder.separate(*names[:2])
        elif rule == 4:
            builder.time(
                names[-1], draw(st.sampled_from(["gpu", "cpu"])), draw(st.one_of(TIMES, st.just(float("inf"))))
            )
        else:
            builder.add(output(names[0]) * on(names[0], "cpu") <= memory("cpu") / 2)
    for i in range(draw(st.integers(0, 2))):
        row = draw(expressions())
        right = draw(st.one_of(expressions(), TIMES, st.integers(-5, 5)))
        compared = (row <= right, row >= right, row == right)[draw(st.integers(0, 2))]
        builder.add(draw(st.sampled_from([compared, [compared, row <= 0], {"x": compared, "y z": row >= 0}])), f"r{i}")
    draw(st.sampled_from([
        lambda: builder.minimize("bottleneck"),
        lambda: builder.maximize("throughput"),
        lambda: builder.minimize(draw(expressions()), label="own", within="2%").minimize("latency"),
        lambda: builder.minimize(price("cpu") * used("cpu") + 1).minimize("bottleneck"),
    ]))()  # fmt: skip
    return builder


@given(programs())
def test_text_says_what_is_built(builder: Builder) -> None:
    """What a program builds is what its text says, what the spec of that says, and what a copy builds."""
    wrong: SpecError | None = None
    try:
        built = builder.build()
    except SpecError as error:
        wrong = error
    if wrong is not None:
        with pytest.raises(SpecError) as read:
            mtpp_dsl.load(builder.text())
        assert [d.message for d in read.value.diagnostics][:1] == [d.message for d in wrong.diagnostics][:1]
        assert all("from " in str(diagnostic) for diagnostic in wrong.diagnostics if diagnostic.span is not None)
        return
    assert not [*differences(built, mtpp_dsl.load(builder.text()))]
    assert not [*differences(built, mtpp_dsl.load(built.to_spec()))]
    assert not [*differences(built, copy.deepcopy(builder).build())]
    assert pickle.loads(pickle.dumps(builder)).text() == builder.text()


def whole() -> Builder:
    """Return a builder that uses what the language has: params, functions, blocks, times, scenarios, objectives."""
    builder = Builder()
    heads = builder.param("heads", 4, type="int", within=range(1, 9))
    builder.let("heavy", "{ v in nodes if work(v) >= 5 ms }")
    share = builder.define("share", ["v"], "work(v) / 2")
    with builder.block("layer", "i", "width") as layer:
        layer.node("attn", work="width * 1 ms + i * 1 us", output="1 MiB").node("mlp", work="5 ms", output="1 MiB")
        layer.edge("attn", "mlp").input("into", "attn").output("out", "mlp")
    builder.use("layer", over={"i": range(3)}, width=heads).node("head", work="2 ms")
    for i in range(2):
        builder.edge(f"layer[{i}].out", f"layer[{i + 1}].into")
    builder.edge("layer[2].out", "head")
    builder.device("gpu", over={"i": range(2)}, memory="(1 + i) * 1 GiB", price="(1 + i) * 1 USD", power="250 W")
    builder.interconnect("shared", bandwidth="8 GiB/s").time("head", "gpu[1]", "1.5 ms")
    builder.check("heads > 1", "more heads")
    builder.add(share("head") * on("head", "gpu[0]") <= "1 ms", "small", penalty="2 USD / 1 s")
    builder.minimize(sum(price(d) * used(d) for d in ("gpu[0]", "gpu[1]")), label="cost", within="1%")
    with builder.scenario("night") as night:
        night.minimize("bottleneck")
    return builder.minimize("bottleneck").constraint("pin heavy on gpu")


def test_whole_language() -> None:
    """Every statement has a method, and all of them together are a problem."""
    builder = whole()
    problem = builder.build()
    assert problem.graph.names == (*(f"layer[{i}].{part}" for i in range(3) for part in ("attn", "mlp")), "head")
    assert problem.graph.work[:3].tolist() == [0.004, 0.005, 0.004001]
    assert builder.build(heads=8).graph.work[0] == 0.008
    assert [objective.shown for objective in problem.objectives] == ["cost", "bottleneck"]
    assert [device.price for device in problem.devices] == [1.0, 2.0]
    assert problem.time[6].tolist() == [0.002, 0.0015]
    assert not [*differences(problem, mtpp_dsl.load(builder.text()))]
    assert not [*differences(problem, mtpp_dsl.load(problem.to_spec()))]
    with pytest.raises(SpecError, match=r"more heads(.|\n)*from check\("):
        builder.build(heads=1)


def test_scenarios() -> None:
    """Statements of a scenario count where it is chosen."""
    builder = Builder().node("a", work=1).device("d", count=2).interconnect("shared", bandwidth=1)
    with builder.minimize("bottleneck").scenario("many") as many:
        many.device("d", count=5)
    assert (builder.build().k, builder.build(scenario="many").k) == (2, 5)
    assert mtpp_dsl.read(builder.text()).problem(scenario="many").k == 5


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs, tables of times, included specs and old plans are named by their paths."""
    monkeypatch.chdir(tmp_path)
    graph = Builder().node("a", work=3, output=1).node("b", work=2).edge("a", "b")
    around = graph.device("d", count=2).interconnect("shared", bandwidth=1).minimize("bottleneck")
    Path("times.csv").write_text("node,device,time\na,d[0],7\n")
    Path("rules.mtpp").write_text("constraint acyclic\n")
    around.times(Path("times.csv")).include(Path("rules.mtpp"))
    problem = around.build()
    assert problem.time.tolist() == [[7.0, 3.0], [2.0, 2.0]]
    assert problem.acyclic
    made = Builder().generator("chain", nodes=5).device("d").interconnect("shared", bandwidth=1).minimize("bottleneck")
    assert made.build().graph.n == 5
    assert not [*differences(made.build(), mtpp_dsl.load(made.text()))]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda: Builder().node("a", count=3, work=[1]).node("a b", count=2),
            r"node\('a b', count=2\) at .*: 'a b' is no name",
        ),
        (lambda: Builder().node("a", work=object()), r"node\('a', work=<object.*work cannot be <object"),
        (lambda: Builder().colocate(), r"give nodes, or by"),
        (lambda: Builder().pin([], "d"), r"pin\(\[\], 'd'\).*there is nothing to speak of"),
        (lambda: Builder().define("f", ["v w"], 1), "'v w' is no name"),
        (lambda: Builder().use("no name"), "is no name"),
        (lambda: Builder().device("d", memory="3 GiB)"), "memory is '3 GiB\\)', which is no expression"),
        (lambda: Builder().minimize("bottleneck", label="two words"), "'two words' is no name"),
    ],
)
def test_wrong_calls(wrong: Callable[[], object], message: str) -> None:
    """A call that cannot be meant is an error that shows it, with the line it is in."""
    with pytest.raises(UsageError, match=message):
        wrong()


def test_errors_name_the_line() -> None:
    """An error of a statement names the call, the file and the line that said it; nested calls are the user's."""
    with pytest.raises(
        MtppError, match=r"from edges\(\[\('a', 'b'\)\]\) at tests/language/test_builder_programs\.py:\d+"
    ):
        Builder().node("a").edges([("a", "b")]).device("d").interconnect("shared", bandwidth=1).build()
