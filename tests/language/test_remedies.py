"""What errors suggest: units and words that exist, marks that make the text parse, inequalities that say the same."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.base.units import COMPUTE, TIME, UNITS, unit_hint
from mtpp_dsl.core.constraints import Linear, Load, On
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.lower import load

HEAD = """
graph {
  node a (work = 2 ms)
  node b[i in 0..2] (work = 3 ms)
}
device gpu[2]
minimize bottleneck
"""
SPEC = HEAD + "interconnect shared (bandwidth = 8 GiB/s)\n"

MEANT = [
    ("GFLOPs", ["GFLOP", "GFLOP/s"]),
    ("TFLOPS", ["TFLOP", "TFLOP/s"]),
    ("GFLOPs/s", ["GFLOP/s"]),
    ("gb", ["GB", "GiB"]),
    ("Gb", ["Gbit", "GB"]),
    ("KB", ["kB", "KiB"]),
    ("GBs", ["GB", "GiB"]),
    ("gb/s", ["GB/s"]),
    ("GBps", ["GB/s"]),
    ("Mbps", ["Mbit/s"]),
    ("Mib", ["MiB"]),
    ("bytes", ["B"]),
    ("kibibytes", ["KiB"]),
    ("msec", ["ms"]),
    ("seconds", ["s"]),
    ("minutes", ["min"]),
    ("m", ["ms", "min"]),
    ("G", ["GB"]),
    ("percent", ["%"]),
    ("foo", []),
]


def errors(text: str, **params: object) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        load(text + "\n", params)
    return caught.value.diagnostics


def suggested(message: str) -> list[str]:
    return re.findall(r"'([^']*)'", message.partition("did you mean")[2])


@pytest.mark.parametrize(("word", "units"), MEANT, ids=[word for word, _ in MEANT])
def test_units_that_are_meant(word: str, units: list[str]) -> None:
    """A unit written in another way is named as the language writes it, in a spec too."""
    assert suggested(unit_hint(word)) == units
    assert suggested(errors(f"{SPEC}let x = 3 {word}")[0].message) == units


def test_an_amount_of_work_is_told_from_a_speed() -> None:
    """Both meanings of GFLOPs are named with what they are; where one is wanted, only that."""
    message = errors(SPEC + "let x = 2 GFLOPs")[0].message
    assert message == ("there is no unit 'GFLOPs'; did you mean 'GFLOP', an amount of work, or 'GFLOP/s', a speed?")
    assert suggested(unit_hint("GFLOPs", [COMPUTE])) == ["GFLOP/s"]
    assert suggested(unit_hint("mins", [TIME])) == ["min"]


@given(st.text("kMGTPibBtflopsFLOPS/ecmunhrd", min_size=1, max_size=12))
def test_only_units_are_suggested(word: str) -> None:
    """Whatever the word, what is suggested is a unit."""
    assert set(suggested(unit_hint(word))) <= set(UNITS)


def test_a_unit_alone_is_no_name() -> None:
    """GB/ms divides by a name: the error says where a unit stands."""
    (found,) = errors(SPEC + "let x = 3 GB/ms")
    assert found.message == "nothing is called 'ms'"
    assert "write a unit after a number" in found.notes[0]


WORDS = [
    (HEAD + "interconnect nvlink (bandwidth = 1 B/s)", "nvlink", []),
    (HEAD + "interconnect pcie (bandwidth = 1 B/s)", "pcie", []),
    (HEAD + "interconnect link (bandwidth = 1 B/s)", "link", ["links"]),
    (SPEC.replace("work = 2 ms", "cost = 2 ms"), "cost", ["work"]),
    (SPEC.replace("work = 2 ms", "weights = 2 B"), "weights", ["params"]),
    (SPEC.replace("gpu[2]", "gpu[2] (vram = 2 B)"), "vram", ["memory"]),
    (SPEC.replace("bandwidth", "speed"), "speed", ["bandwidth"]),
    (SPEC + "param x: integer = 3", "integer", ["int"]),
    (SPEC + "constraint apart a, b", "apart", ["separate"]),
    (SPEC + "let x = log(3)", "log", ["log2"]),
]


@pytest.mark.parametrize(("text", "word", "meant"), WORDS, ids=[word for _, word, _ in WORDS])
def test_words_of_others(text: str, word: str, meant: list[str]) -> None:
    """What others call by another word is named; hardware is no interconnect, and the three that there are are told."""
    (found,) = errors(text)
    assert repr(word) in found.message
    assert suggested(found.message) == meant
    if word in ("nvlink", "pcie"):
        assert "links, where each pair of devices has its own" in " ".join(found.notes)


MISSING = [
    ("graph { node a (work = 4 ms params = 3 MiB) }", "params"),
    ("graph { node a (work = 4 params = 3 MiB) }", "params"),
    ("graph { node a (work = 4 ms params 3) }", "params"),
    ('graph { node a (work = 4 ms kind = "x") }', "kind"),
    ('graph { node a (kind = "x" label = "y") }', "label"),
    ("graph { node a (work = (3) output = 3) }", "output"),
    ("graph { node a[i in 0..2 j in 0..2] }", "j"),
    ("device d (memory = 3 GiB speed = 2)", "speed"),
    ("device d (memory = 3 speed = 2)", "speed"),
    ("device d (memory = x speed = 2)", "speed"),
    ("let x = [1 2]", "2"),
    ("let x = {a b}", "b"),
    ("let x = max(1 2)", "2"),
    ("constraint c: on(a gpu[0]) <= 1", "gpu"),
    ("constraint pin a b[0] on gpu[0]", "b"),
    ("constraint pin a on gpu[0] gpu[1]", "gpu"),
    ("constraint separate a b", "b"),
]


@pytest.mark.parametrize(("text", "word"), MISSING, ids=[text for text, _ in MISSING])
def test_missing_commas(text: str, word: str) -> None:
    """A comma that is missing is said to be, before the word as it is written."""
    (found,) = errors(text)
    assert found.message == f"a comma is missing before {word!r}"


MARKS = [
    ("constraint c: sum(load(d) for d in devices <= 3 ms", "')' is missing before '<='"),
    ("constraint c: forall d in devices load(d) <= 3 ms", "':' is missing before 'load'"),
    ("constraint c: for d in devices: load(d) <= 3 ms", "'forall' is written 'forall d in devices:'"),
    ("device d[3)", "'[' is closed by ']', not by ')'"),
    ("let x = 3)", "this ')' closes nothing"),
    ("]", "this ']' closes nothing"),
    ("graph { node a work = 4 ms }", "options stand in '(' and ')': write '(work = …)'"),
    ("device d memory = 3", "options stand in '(' and ')': write '(memory = …)'"),
    ("constraint c: load gpu <= 1", "a function's arguments stand in '(' and ')': write 'load(gpu…)'"),
    ("constraint max(load(d)) <= 1", "write 'constraint limit: max(…) <= …'"),
    ("device d; device e", "unexpected character ';': options are separated by ','"),
    ("constraint c: load(d)^2 <= 1", "powers are written pow(x, 2)"),
    ("constraint c: load(d) ≤ 1", "write '<='"),
    ("constraint c: load(d) => 1", "write '>=' in place of '=>'"),
    ("constraint c: load(d) =< 1", "write '<=' in place of '=<'"),
    ("constraint c: load(d) <= 50% bottleneck", "a '*' is missing: write '50% * bottleneck'"),
    ("constraint c: load(d) <= 3 * bottleneck forall d in devices", "behind it, write 'for d in devices'"),
    ("constraint c: forall(d in devices)(load(d) <= 3)", "'forall' is written 'forall d in devices:'"),
    ("constraint c: load(d) <= 3 for d in gpu if price(d) > 1 (penalty = 2)", "options stand before 'for' and 'if'"),
    ("minimize sum(on(a, d) for d in devices) within 10%", "write '(within = …)'"),
    ("let x = 3 // three", "a comment begins with '#'"),
    ("let x = 3\n// three", "a comment begins with '#'"),
    ("// three\nlet x = 3", "a comment begins with '#'"),
    ("constraint pin a on d\nasert k > 2", "did you mean 'assert'?"),
]


@pytest.mark.parametrize(("text", "message"), MARKS, ids=[text for text, _ in MARKS])
def test_wrong_marks(text: str, message: str) -> None:
    """Brackets, colons and signs that are wrong or missing are named."""
    assert message in errors(text)[0].message


LINEAR: list[tuple[str, str, Callable[[list[float], dict[tuple[int, int], int]], bool]]] = [
    ("max(load(d) for d in devices) <= 8 ms", "", lambda x, _: max(x) <= 8),
    ("8 ms >= max(load(d) for d in devices)", "", lambda x, _: max(x) <= 8),
    ("max(load(gpu[0]), 5 ms) <= 8 ms", "", lambda x, _: x[0] <= 8),
    ("min(load(d) for d in devices) >= 3 ms", "forall d in devices: load(d) >= 3 ms", lambda x, _: min(x) >= 3),
    (
        'forall e in devices: load(e) <= min(load(d) for d in devices if type(d) != "x") + 3 ms',
        'forall e in devices: forall d in devices if type(d) != "x": load(e) <= load(d) + 3 ms',
        lambda x, _: max(x) <= min(x) + 3,
    ),
    (
        "max(load(d) for d in devices) - load(gpu[0]) <= 3 ms",
        "",
        lambda x, _: max(x) - x[0] <= 3,
    ),
    (
        "3 ms - min(load(d) - 1 ms for d in devices) <= 0",
        "forall d in devices: 3 ms - (load(d) - 1 ms) <= 0",
        lambda x, _: 4 - min(x) <= 0,
    ),
    (
        "abs(load(gpu[0]) - load(gpu[1])) <= 2 ms + 1 ms",
        "load(gpu[0]) - load(gpu[1]) <= 2 ms + 1 ms and load(gpu[0]) - load(gpu[1]) >= -(2 ms + 1 ms)",
        lambda x, _: abs(x[0] - x[1]) <= 3,
    ),
    ("load(gpu[0]) / load(gpu[1]) <= 2", "load(gpu[0]) <= 2 * load(gpu[1])", lambda x, _: x[0] <= 2 * x[1]),
    (
        "on(a, gpu[0]) * on(b[0], gpu[0]) == 0",
        "on(a, gpu[0]) + on(b[0], gpu[0]) <= 1",
        lambda _, on: not on[0, 0] * on[1, 0],
    ),
    (
        "on(a, gpu[0]) == 1 or on(b[1], gpu[1])",
        "on(a, gpu[0]) + on(b[1], gpu[1]) >= 1",
        lambda _, on: bool(on[0, 0] or on[2, 1]),
    ),
    ("not on(a, gpu[0])", "on(a, gpu[0]) == 0", lambda _, on: not on[0, 0]),
    ("on(a, gpu[0])", "on(a, gpu[0]) == 1", lambda _, on: bool(on[0, 0])),
]


@pytest.mark.parametrize(("wrong", "right", "holds"), LINEAR, ids=[wrong for wrong, _, _ in LINEAR])
def test_inequalities_that_say_the_same(
    wrong: str, right: str, holds: Callable[[list[float], dict[tuple[int, int], int]], bool]
) -> None:
    """What is not linear comes with inequalities that hold for the same plans, or is read as these; all are tried."""
    if right:
        (found,) = errors(f"{SPEC}constraint c: {wrong}")
        assert found.notes == (f"write: {right}",)
    rows = [row for row in load(f"{SPEC}constraint c: {right or wrong}\n").constraints if isinstance(row, Linear)]
    compare = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}
    for places in itertools.product(range(2), repeat=4):
        loads = [
            float(sum(work for work, place in zip((2, 3, 3, 3), places, strict=True) if place == d)) for d in (0, 1)
        ]
        on = {(v, d): int(places[v] == d) for v in range(4) for d in range(2)}
        kept = True
        for row in rows:
            total = 0.0
            for what, weight in row.terms:
                assert isinstance(what, (Load, On))
                value = loads[what.device] / 1e3 if isinstance(what, Load) else on[what.node, what.device]
                total += weight * value
            kept &= bool(compare[row.sense](round(total - row.rhs, 9), 0))
        assert kept == holds(loads, on), places


@pytest.mark.parametrize("text", ["max(load(d) for d in devices) >= 1 ms", "min(load(d) for d in devices) <= 1 ms"])
def test_what_no_inequality_says(text: str) -> None:
    """That one of several is large is not linear, and nothing else is offered for it."""
    (found,) = errors(f"{SPEC}constraint c: {text}")
    assert found.notes == ("'at least one satisfies it' is not linear; 'each satisfies it' is: forall d in …: …",)


def test_terms_that_stand_elsewhere() -> None:
    """A minimum in a let, and a condition of decisions, come with what may be written."""
    assert "forall d in devices: load(d)" in errors(SPEC + "let x = min(load(d) for d in devices)")[0].notes[0]
    counted = errors(SPEC + "constraint c: sum(1 for d in devices if on(a, d)) <= 2")
    assert "sum(on(v, d) for v in nodes)" in counted[0].notes[0]
