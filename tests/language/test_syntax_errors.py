"""Malformed text: the table of messages is the test."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.codes.table import CODES
from mtpp_dsl.core.text.source import Diagnostic, Source
from mtpp_dsl.language.syntax.keywords import RULES
from mtpp_dsl.language.syntax.parser import MAX_DEPTH, parse
from mtpp_dsl.language.syntax.syntax_errors import EXAMPLES

SNIPPETS = [(message, snippet) for message, snippets in EXAMPLES.items() for snippet in snippets]


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        parse(Source("x.mtpp", text))
    return caught.value.diagnostics


@pytest.mark.parametrize(("message", "snippet"), SNIPPETS, ids=[snippet for _, snippet in SNIPPETS])
def test_table(message: str, snippet: str) -> None:
    """Every snippet of the table gives its message, once, at a place inside the text."""
    found = errors(snippet)
    assert [d.message.split("; did you mean")[0] for d in found] == [message]
    span = found[0].span
    assert span is not None
    assert 0 <= span.start < span.stop <= len(snippet)
    assert found[0].code in CODES


@pytest.mark.parametrize("rule", RULES)
def test_rules_misspelt(rule: str) -> None:
    """A constraint with two letters swapped is not known, and the right one is suggested."""
    wrong = rule[:-3] + rule[-2] + rule[-3] + rule[-1]
    assert errors(f"constraint {wrong}")[0].message == f"there is no constraint {wrong!r}; did you mean {rule!r}?"


def test_a_string_alone() -> None:
    """A text of nothing but a string is an error like any other."""
    assert errors('"t.csv" ')[0].message == "a statement begins with a keyword"


def test_statement_misspelt() -> None:
    """A statement that begins with a near miss of a keyword is told so."""
    assert "did you mean 'device'?" in errors("devise stage[3]")[0].message


def test_several_errors_in_one_run() -> None:
    """Every statement, and every item of a graph, reports its own first error."""
    text = """
graph {
  node a (work = 3 ms)
  node b (work 3)
  edge a => b
}
minimise bottleneck
constraint acylic
device d (memory = 3
"""
    assert [d.span.source.position(d.span.start)[0] for d in errors(text) if d.span] == [4, 5, 7, 8, 9]


FIVE = """param k int = 3
let x = [1 2]
graph {
  node a (work = 3 ms)
  node b (work 3 ms)
}
device gpu[2] if
minimize sum(load(d) for d)
"""


def test_five_errors_in_five_kinds_of_statements() -> None:
    """Each is reported, in its place."""
    assert [d.span.source.position(d.span.start)[0] for d in errors(FIVE) if d.span] == [1, 2, 5, 7, 8]


NESTED = """graph {
  node a
  device d
  foo
  use layer x
  edge a -> b }
block layer(i) {
  input = a
  node q (work 3) node r
  output out
}
scenario night {
  param k 3
  let x =
  minimize bottleneck
}
asert k > 2
constraint c: load(d) <= 3
"""


def test_errors_in_blocks() -> None:
    """Every item of a graph or a block and every statement of a scenario reports its own first error, and no other."""
    lines = [d.span.source.position(d.span.start)[0] for d in errors(NESTED) if d.span]
    assert lines == [3, 4, 5, 8, 9, 10, 13, 14, 17]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("let k = 3\nasert k > 2", "there is no statement 'asert'; did you mean 'assert'?"),
        ("device d\nvar x = 3", "there is no statement 'var'; did you mean 'let'?"),
        ("let a = 7 mod 3", "a remainder is written mod(i, 3)"),
        ("let a = k div 3", "a whole quotient is written floor(i / 3)"),
        ("node a (work = 3 ms)", "'node' stands in a graph: graph { node a }"),
        ("input x = a", "'input' stands in a block: block layer { input in = a }"),
        ("for i in 0..3 { node a }", "a loop stands behind a statement"),
        ("if k > 2 { device d }", "a condition stands behind a statement"),
        ("graph { node a (work = 4 ms params = 3 MiB) }", "a comma is missing before 'params'"),
        ("graph { node a (work = (1 + 2) ms) }", "a unit stands behind a number alone; write (...) * 1 ms"),
        ("minimize sum(", "'(' is not closed"),
        ("let x = 0...3", "a range has two ends, as in '0..3', or '0..<3' without its last end"),
        ("let x = a[..3]", "a range has two ends, as in '0..3', or '0..<3' without its last end"),
        ("let x = a ? b : c", "unexpected character '?': write 'if c then a else b'"),
        ("let x = a % 3", "unexpected character '%': a remainder is written mod(i, 3), and a share has the sign"),
        ("constraint c: x <= 3 penalty = 3", "options stand in '(' and ')': write '(penalty = …)'"),
        ("let x = {a: }", "a value is missing after ':'"),
        ("def f(x) =", "a value is missing after '='"),
        ("let x = a[]", "a value is missing after '['"),
    ],
)
def test_messages(text: str, message: str) -> None:
    """What is meant is said."""
    (found,) = errors(text)
    assert found.message.startswith(message)


def test_full_message() -> None:
    """A message has file, line, columns, the source line with a caret, what was expected, and a hint."""
    assert str(errors("minimize bottleneck\nconstraint acylic  # no cycles\n")[0]).splitlines()[:3] == [
        "x.mtpp:2:12-17: error[MTPP-E012]: there is no constraint 'acylic'; did you mean 'acyclic'?",
        "    2 | constraint acylic  # no cycles",
        "      |            ^^^^^^",
    ]


def test_deep_nesting_is_refused() -> None:
    """Brackets nested beyond the limit are an error with a place, not a crash."""
    text = f"let a = {'(' * (MAX_DEPTH + 1)}1{')' * (MAX_DEPTH + 1)}"
    assert errors(text)[0].message == f"brackets are nested more than {MAX_DEPTH} deep"
    parse(Source("x", f"let a = {'(' * MAX_DEPTH}1{')' * MAX_DEPTH}"))


def test_long_flat_expressions_parse() -> None:
    """Long sums, and long runs of signs and nots, need no deep stack."""
    parse(Source("x", f"let a = {' + '.join(['1'] * 20000)}"))
    parse(Source("x", f"let a = {'-' * 20000} 1"))
    parse(Source("x", f"let a = {'not ' * 5000} true"))
