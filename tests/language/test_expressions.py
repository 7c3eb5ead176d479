"""What expressions mean: exact numbers, strings, sets, lists, maps, slices, conditions, functions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mtpp_dsl.core.constraints import On
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.lowering.lower import analyse
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.parser import parse_expression
from mtpp_dsl.language.values import evaluating
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.scope import Declarations, SpecScope
from mtpp_dsl.language.values.values import Affine
from tests.language.reference import wild

SPEC = """
param k: int = 3
let pair = [1 ms, 2 ms]
let names = {cpu: 3 ms, gpu: 1 ms, gpu[1]: 2 ms, "a b": 4 ms, 7: 5 ms}
let third = 1/3
def double(x) = 2 * x
def cost(v, d) = work(v) / speed(d)
def most(s) = max(work(v) for v in s)
graph {
  node a (work = 2 ms, output = 4 MiB, kind = "conv")
  node b[i in 0..2] (work = 3 ms, output = 2 MiB)
  node h[i in 0..1, j in 0..2] (work = (i + j) * 1 ms)
  node t (work = 1/3 * 1 ms)
  edge a -> b[0] -> h[0, 0]
  edge a -> b[1] (size = 8 MiB)
}
device gpu[2] (memory = 16 GiB, group = "left", price = 3 USD/h, power = 300 W)
device cpu (speed = 1/3, unsupported = "conv", price = 2 EUR)
interconnect links (bandwidth = 8 GiB/s)
minimize makespan
"""

TRUE = [
    # exact numbers
    "0.1 + 0.2 == 0.3",
    "10% * 3 s == 300 ms",
    "1 / 3 * 3 == 1",
    "1 ms + 1 us == 1.001 ms",
    "1 TB == 1000 GB and 1 TiB == 1024 GiB and 8 bit == 1 B",
    "0.1 MiB * 10 == 1 MiB",
    "third + third + third == 1",
    "3 * work(t) == 1 ms",
    "work(t) == 1/3 * 1 ms",
    "1 ms / 2 == 0.5 ms and 1 / (2 ms) == 500 / (1 s)",
    "1 kWh == 3.6 MJ and 2 W * 3 s == 6 J and 36 USD/h * 10 s == 0.1 USD",
    "1e-9 * 1e9 == 1",
    "2 * 0.5 in 0..3",
    "pow(10, 300) / pow(10, 299) == 10",
    "sum(1 / i for i in 1..10) == 7381 / 2520",
    "inf > 1e300 and -inf < 3 ms and min(inf, 3 ms) == 3 ms",
    "sqrt(9/4) == 1.5 and sqrt(2) < 1.4143 and log2(8) == 3 and pow(2/3, 2) == 4/9 and pow(2, -1) == 0.5",
    "floor(-1/2) == -1 and ceil(1/3) == 1 and round(5/2) == 2 and round(7/2) == 4 and abs(-3 ms) == 3 ms",
    "mod(7, 4) == 3 and mod(-1, 4) == 3",
    # sets, lists and ranges
    "{1, 2} == {2, 1} and {1, 1, 2} == {2, 1}",
    "{[1, 2], [3]} == {[3], 1..2}",
    "0..1 == [0, 1] and [0, 1] == 0..1 and 0..<2 == 0..1 and 2..<2 == []",
    "count(5..4) == 0",
    "{1, 2} + {2, 3} == {1, 2, 3} and {1, 2} - {2, 3} == {1} and {} + {1} == {1}",
    "[1, 2] + [2] == [1, 2, 2] and (0..1) + [5] == [0, 1, 5]",
    "{a} + b == {a, b[0], b[1], b[2]} and count(nodes - b) == 8",
    "a in nodes and not (a in b) and a not in {b[0]} and 0 in {0 ms} and 3 not in {}",
    "pair[0] == 1 ms and pair[0] + pair[1] == 3 ms and (0..9)[3] == 3 and [[1, 2], [3]][0, 1] == 2",
    "[5, 6, 7][1..2] == [6, 7] and [5, 6, 7][[2, 0]] == [7, 5]",
    "[i * i for i in 0..3] == [0, 1, 4, 9]",
    "[i + j for i in 0..1, j in 0..1] == [0, 1, 1, 2] and [i + j for i in 0..1 for j in 0..1 if i != j] == [1, 1]",
    '{mod(i, 2) for i in 0..9} == {0, 1} and { v in nodes if kind(v) == "conv" } == {a}',
    "all(i >= 0 for i in 0..3) and any(i > 2 for i in 0..3) and all([]) and not any([])",
    'product(1..5) == 120 and product([]) == 1 and length([1, 2]) == 2 and length("abc") == 3',
    # slices and partial subscripts
    "b[0..1] == {b[0], b[1]} and b[{2, 0}] == {b[0], b[2]} and b[0..<3] == b",
    "count(h) == 6 and h[0] == {h[0, 0], h[0, 1], h[0, 2]} and h[0] + h[1] == h",
    "h[0..1, 2] == {h[0, 2], h[1, 2]} and h[1, 0..1] == {h[1, 0], h[1, 1]}",
    "gpu[0..1] == gpu and gpu[k - 2] == gpu[1]",
    # strings
    '"a" + "b" == "ab" and "node " + name(b[1]) == "node b[1]"',
    '"k = " + string(k) == "k = 3" and string(3 ms) == "3 ms" and string(1/2) == "0.5" and string(a) == "a"',
    # maps
    'names["cpu"] == 3 ms and names[cpu] == 3 ms and names[gpu[0]] == 1 ms and names[gpu[1]] == 2 ms',
    'names["a b"] == 4 ms and names[7] == 5 ms and names["gpu[1]"] == 2 ms',
    'gpu[0] in names and a not in names and "cpu" in names and "tpu" not in names',
    "count(names) == 5 and length(names) == 5",
    "{v: work(v) for v in b}[b[1]] == 3 ms and {i: i * i for i in 0..3}[2] == 4",
    '{(k): 1}[3] == 1 and {k: 1}["k"] == 1 and {b[k - 2]: 1}[b[1]] == 1',
    'keys({x: 1, y: 2}) == ["x", "y"] and values({x: 1, y: 2}) == [1, 2]',
    '{x: 1, y: 2} == {y: 2, x: 1} and [m for m in {x: 1}] == ["x"]',
    'names[["cpu", "gpu"]] == [3 ms, 1 ms]',
    # conditions and functions
    "(if k > 2 then 1 else 2) == 1 and (if false then 1 ms else 2 ms) == 2 ms",
    "double(3) == 6 and double(1 ms) == 2 ms and double(double(2)) == 8 and cost(a, cpu) == 6 ms",
    "most(b) == 3 ms and [double(x) for x in 0..2] == [0, 2, 4]",
    # the graph
    "count(edges) == 3 and {e.source for e in edges} == {a, b[0]}",
    "{e.target for e in edges if e.source == a} == b[0..1]",
    "sum(size(e) for e in edges) == 14 MiB and [size(e) for e in edges if e.target == b[1]] == [8 MiB]",
    "successors(a) == b[0..1] and predecessors(b[1]) == {a}",
    "successors(t) == {} and predecessors(h[0, 0]) == {b[0]}",
    "time(a, gpu[0]) == 2 ms and time(a, cpu) == inf and time(t, cpu) == 1 ms and speed(cpu) * 3 == 1",
    "price(gpu[1]) * 2 h == 6 USD and price(cpu) == 2 EUR and power(gpu[0]) * 2 s == 0.6 kJ",
    'group(gpu[0]) == "left" and group(cpu) == "" and type(cpu) == "accelerator" and memory(gpu[0]) == 16 GiB',
]

FALSE = ["0.1 + 0.2 == 0.30000000001", "{1, 2} == {1, 2, 3}", "[0, 1] == [1, 0]", "1 in []", "{x: 1} == {x: 2}"]


@cache
def scope() -> SpecScope:
    """Return what the names of :data:`SPEC` mean."""
    found = analyse(SPEC)
    assert found.problem is not None, [str(message) for message in found.diagnostics]
    assert found.scope is not None
    return found.scope


def value(text: str) -> object:
    """Return what an expression means in :data:`SPEC`."""
    return evaluate(parse_expression(Source("expression", text)), scope())


@pytest.mark.parametrize("text", TRUE)
def test_true(text: str) -> None:
    """Each of these holds."""
    assert value(text) is True


@pytest.mark.parametrize("text", FALSE)
def test_false(text: str) -> None:
    """None of these holds."""
    assert value(text) is False


WRONG = [
    ("1/2 ms", "this divides by 2 ms, which gives a quantity in 1/s"),
    ("{1, 2} == [1, 2]", "cannot compare a set with a list; a set is compared with a set, {…}"),
    ("[1] < [2]", "cannot order a list by '<'; count(…) gives its length, and max(…) its largest member"),
    ("{1} + [2]", "a set and a list do not go together"),
    ("[1] - [1]", "a list has no difference"),
    ("{1} + 2", "cannot add a number without a unit to a set: write it in {…}"),
    ('"a" + 1', "cannot add a number without a unit to a string; write string(…) around it"),
    ("1 USD + 1 EUR", "cannot add an amount in USD and an amount in EUR"),
    ("1 USD < 1 EUR", "cannot compare an amount in USD with an amount in EUR"),
    ("pair[2]", "a list has no member 2: it has the members 0 to 1"),
    ("pair[-1]", "a list has no member -1"),
    ("[][0]", "a list has no member 0: it is empty"),
    ("pair[1/2]", "the members of a list are counted from 0 by whole numbers"),
    ("nodes[0]", "a set has no order, so it has no subscripts"),
    ("a[0]", "nothing is called 'a[0]'"),
    ("b[7]", "there is no node 'b[7]': there are b[0] to b[2]"),
    ("b[1..7]", "there is no node 'b[3]': there are b[0] to b[2]"),
    ("b[1 ms]", "a subscript must be a whole number; this is a time"),
    ('names["cup"]', "the map has no key 'cup'; did you mean 'cpu'?"),
    ("names[8]", "the map has no key 8"),
    ("names[a]", "the map has no key 'a'"),
    ("names.cpu", "a map has no part 'cpu'"),
    ("a.work", "a node has no part 'work'"),
    ("{x: 1, x: 2}", "the key 'x' is given twice"),
    ("if a then 1 else 2", "a condition must be true or false; this is a node"),
    ("if on(a, cpu) > 0 then 1 else 2", "an inequality over decisions stands only at the top"),
    ("double(1, 2)", "double(x) got 2 arguments"),
    ("duble(1)", "there is no function 'duble'; did you mean 'double'?"),
    ("double(i for i in 0..1)", "'double' takes no comprehension"),
    ("most(3)", "must run over a set, a list or a range"),
    ("size(a)", "an edge is wanted here, not a node; output(v) is the size of a node's tensor"),
    ("power(cpu)", "device 'cpu' has no power given"),
    ("price(gpu[0]) + price(cpu)", "cannot add a price per time, in USD and an amount in EUR"),
    ("inf - inf", "infinite numbers cancel out"),
    ("inf * 0", "infinite numbers cancel out"),
    ("inf * on(a, cpu)", "a decision is multiplied by inf"),
    ("time(a, cpu) * on(a, cpu)", "a decision is multiplied by inf"),
    ("1e300 * 1e300", "the number is too large"),
    ("1e-300 * 1e-300", "the number is too small"),
    ("pow(2, 1/2)", "pow needs a whole exponent"),
    ("sqrt(-1)", "sqrt(-1) is not defined"),
    ("log2(0)", "log2(0) is not defined"),
    ("any([1])", "any needs conditions"),
    ("all(on(a, cpu))", "all of decisions is not linear"),
    ("[x for x in 3]", "'x' must run over a set, a list or a range"),
    ("[1 for inf in 0..1]", "'inf' is a word of the language"),
    ("{on(a, cpu), 1}", "a set holds no expressions over decisions; write them in a list, […]"),
    ("on(a, cpu) in {1}", "'in' does not look for expressions over decisions"),
    ("length(3)", "a number without a unit has no length"),
    ("keys([1])", "keys needs a map, not a list"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text for text, _ in WRONG])
def test_wrong(text: str, message: str) -> None:
    """Each of these is refused, with what is wrong."""
    with pytest.raises(Complaint) as caught:
        value(text)
    assert message in caught.value.diagnostic.message
    assert caught.value.diagnostic.span is not None


def test_a_call_inside_a_function_says_where_it_was_called() -> None:
    """The message stands in the body; the calls on the way to it are notes."""
    with pytest.raises(Complaint) as caught:
        value("1 + cost(a, b[0])")
    found = caught.value.diagnostic
    assert found.span is not None
    assert found.span.text == "speed(d)"
    assert found.notes == ("in cost(a, b[0]), called at expression:1:5",)


@pytest.mark.parametrize(
    ("option", "unit"),
    [
        ("work = 2 GFLOPs", "GFLOP"),
        ("output = 3 gb", "GB' or 'GiB"),
        ("memory = 3 mb", "MB' or 'MiB"),
        ("work = 3 sec", "s"),
    ],
)
def test_units_are_suggested_by_what_is_wanted(option: str, unit: str) -> None:
    """An option knows which dimensions it takes: 2 GFLOPs of work are no speed."""
    messages = [message.message for message in analyse(f"graph {{ node a ({option}) }}\n").diagnostics]
    assert any(message.endswith(f"; did you mean '{unit}'?") for message in messages), messages


def test_moved_counts_nodes_that_leave_their_old_devices() -> None:
    """A new node is not moved; one whose device is gone is; the rest depends on the plan."""
    with pytest.raises(Complaint, match="moved needs an earlier plan"):
        value("moved(a)")
    old = replace(scope(), declared=Declarations(old_places={0: 2, 1: None}))
    found = [evaluate(parse_expression(Source("expression", f"moved({v})")), old) for v in ("a", "b[0]", "b[1]")]
    assert found == [Affine({On(0, 2): -1}, 1), Affine({}, 1), Affine({}, 0)]


@given(st.integers(0, 10**9))
def test_nonsense_is_refused_and_never_crashes(seed: int) -> None:
    """An expression has a value, or a complaint with a place."""
    text = wild(Random(seed))
    try:
        value(text)
    except (Complaint, SpecError) as error:
        for found in error.diagnostics if isinstance(error, SpecError) else [error.diagnostic]:
            assert found.span is not None, text
            assert str(found)


def test_every_form_of_expression_is_evaluated() -> None:
    """Each class of the syntax tree has its function."""
    assert set(tree.Expression.__subclasses__()) == set(evaluating._RULES)
