"""What the grammar reads: every form of statement and expression, whole words, units, options behind names."""

from __future__ import annotations

import logging
from fractions import Fraction
from typing import Any

import pytest
from lark import Lark, logger

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.parser import parse, parse_expression
from tests.tools import grammar_tables


def statement(text: str) -> Any:
    (found,) = parse(Source("x", text))
    return found


def item(text: str) -> Any:
    (found,) = statement(f"graph {{ {text} }}").items
    return found


def expression(text: str) -> Any:
    return parse_expression(Source("x", text))


def errors(text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse(Source("x", text))
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def test_only_names_before_brackets_are_decided_by_shifting(caplog: pytest.LogCaptureFixture) -> None:
    """The grammar is LALR(1) but for one place: a name before '(' begins a call, or has the options behind it."""
    with caplog.at_level(logging.DEBUG, logger.name):
        Lark.open_from_package(
            "mtpp_dsl.grammars", "mtpp.lark", parser="lalr", start="start", maybe_placeholders=True, debug=True
        )
    conflicts = {record.getMessage() for record in caplog.records if "onflict" in record.getMessage()}
    assert conflicts == {"Shift/Reduce conflict for terminal LPAR: (resolving as shift)"}
    rules = {record.getMessage() for record in caplog.records if record.getMessage().startswith(" * ")}
    assert rules == {" * <name : NAME>"}


@pytest.mark.parametrize(
    "text",
    [
        "lets = 3",
        "devices (memory = 1 GiB)",
        "constraints: 1 <= 2",
        "graph { nodes (work = 1) }",
        "minimizebottleneck",
        "constraint subgraphs atmost2",
        "constraint c: sum(x fori in 0..1) <= 1",
        "constraint c: sum(1 for i in 0..1if true) <= 1",
        "let x = 3let y = 4",
    ],
)
def test_words_are_whole(text: str) -> None:
    """A word that begins like a keyword is none."""
    assert errors(text)


WORDS = ["time", "target", "phase", "block", "def", "use", "input", "output", "scenario", "assert", "switch", "plan"]


@pytest.mark.parametrize("word", [*WORDS, "param", "node", "graph", "link", "as", "then", "else", "for", "by", "at"])
def test_keywords_are_names_elsewhere(word: str) -> None:
    """What begins a statement is a name where a name may stand."""
    assert item(f"node {word} (work = 1)").name.text == word
    assert [end.name for end in item(f"edge {word} -> {word}").ends] == [word, word]
    assert statement(f"device {word} ({word} = 3)").options[0].name.text == word
    assert statement(f"constraint {word}: {word} <= 3").body.left.name == word
    assert statement(f"let {word} = {word}[0]").value.name == word
    assert expression(f"a.{word}.{word}").parts[1].name == word
    assert len(parse(Source("x", f"constraint separate {word}, {word}\nlet a = {word}\nlet b = 3"))) == 3


def test_members_of_plug_ins_may_be_keywords() -> None:
    """Within a line a word behind a constraint of a plug-in is its member; at its beginning, it begins a statement."""
    with pytest.raises(SpecError, match="there is no constraint 'mine'"):
        parse(Source("x", "constraint mine time, block on d"))
    (found,) = errors("constraint mine\ntime a on d = 3")
    assert found.startswith("there is no constraint 'mine'")


def test_units_stand_on_the_line_of_their_number() -> None:
    """Behind a number and on its line, a word that is no keyword is a unit."""
    assert statement("let x = 5 ms").value.unit.text == "ms"
    assert statement("let x = 5ms").value.unit.text == "ms"
    assert statement("let x = 3 GB/s").value.unit.text == "GB/s"
    assert statement("let x = 3 USD/h").value.unit.text == "USD/h"
    assert statement("let x = 3 % # of it").value.unit.text == "%"
    assert statement("constraint c: x <= 3 if y").clauses.condition.name == "y"
    assert "did you mean 'assert'?" in errors("param k: int = 3\nasert k > 2")[0]
    assert errors("let x = 5\nms")
    assert errors("let x = 5 # five\nms")


def test_numbers_are_exact() -> None:
    """Numbers are what is written."""
    values = ["1_000", "0.1", "2.0", "1e3", "25e-4", "007"]
    assert [expression(text).value for text in values] == [1000, Fraction(1, 10), 2, 1000, Fraction(1, 400), 7]
    assert expression("1e308").value == 10**308
    for text in ("1e309", "1e-99999999999", "9" * 500, "0." + "1" * 500):
        with pytest.raises(SpecError, match="too large or too long"):
            expression(text)


def test_clauses_follow_every_statement() -> None:
    """One list of binders, and an 'if', or an 'if' alone, after every statement and item that is not a definition."""
    heads = [
        'include "a"',
        'import "a" (format = x)',
        'import plan "a"',
        "graph { }",
        'graph from "a"',
        "graph from generator g (n = 3)",
        "device d[3] (memory = 1)",
        "interconnect shared",
        "link a -> b (bandwidth = 1)",
        "time a on d = 3 ms",
        'times from "a"',
        "minimize bottleneck",
        "constraint c: forall d in devices: load(d) <= 3",
        *(f"constraint {rule}" for rule in ("acyclic", "contiguous on d", "memory", "colocate by color", "pin a on d")),
        *(f"constraint {rule}" for rule in ("separate a, b", "subgraphs at most 2 on d", "exclusive links")),
        *(f"constraint {rule}" for rule in ("batch in [1]", "replicate d up to 2", "break symmetry by tasks")),
    ]
    for head in heads:
        found = statement(f"{head} for i in 0..3, j in 0..<i for k in S if i != j")
        assert [binder.name.text for binder in found.clauses.binders] == ["i", "j", "k"], head
        assert found.clauses.condition is not None
        flag = statement(f"{head} if strict").clauses
        assert (flag.binders, flag.condition.name) == ((), "strict")
        assert statement(head).clauses is None
    for head in ("node a", "edge a -> b (size = 3)", "use layer as l (heads = 8)"):
        assert item(f"{head} for i in 0..3 if c").clauses.binders
        assert item(f"{head} if c").clauses.condition


OPTIONED = [
    "constraint pin a on gpu{}",
    "constraint contiguous on gpu{}",
    "constraint separate a, b{}",
    "constraint subgraphs at most k{}",
    "constraint subgraphs at most 2 on gpu{}",
    "constraint batch in sizes{}",
    "constraint c: a <= load(d) + -limit{}",
    "constraint c: a <= (limit){}",
    "constraint c: a <= limit[3]{}",
    "constraint c: a <= 1 <= limit{}",
    "constraint c: if x then 3 else limit{}",
    "minimize bottleneck{}",
    "minimize 2 * bottleneck{}",
    "minimize cost: sum(x for x in y){}",
]


@pytest.mark.parametrize("text", OPTIONED)
def test_options_behind_names(text: str) -> None:
    """Options are those of the statement, whatever stands before them, and on which line."""
    bare = statement(text.format(""))
    for options in (" (penalty = 3)", "\n  (penalty = 3)", "(penalty=3,)"):
        found = statement(text.format(options))
        assert [option.name.text for option in found.options] == ["penalty"]
        assert bare.options == ()
        for name in ("members", "devices", "amount", "body", "value"):
            assert getattr(found, name, None) == getattr(bare, name, None)
    assert statement(text.format(" (penalty = 3) if c")).clauses is not None


@pytest.mark.parametrize(
    "text",
    [
        "let x = f(a, b = 3)",
        "let x = g(b = 3)",
        "constraint c: gpu(a = 3) + 1 <= 2",
        "constraint pin a on (gpu (parts = both))",
        "constraint pin a (x = 3) on d",
        "constraint c: a <= f(1, b = 2)",
        "assert x(a = 1)",
        "time a on d = x (y = 1)",
    ],
)
def test_functions_take_no_options(text: str) -> None:
    """Named arguments that are no statement's options are refused."""
    assert errors(text) == ["options stand before 'for' and 'if', and functions take no 'name = value'"]


def test_expressions() -> None:
    """Every form of expression has its class."""
    half = expression("a..<b")
    assert (half.open, expression("a..b").open) == (True, False)
    choice = expression("if a then 1 else if b then 2 else 3")
    assert isinstance(choice.otherwise, tree.Conditional)
    assert isinstance(expression("[x * 2 for x in S, y in T if x]"), tree.ListWhere)
    assert isinstance(expression("{x * 2 for x in S}"), tree.SetWhere)
    where = expression("{v in nodes if c}")
    assert (where.item.name, where.clauses.binders[0].name.text) == ("v", "v")
    assert expression("{v for v in nodes if c}") == where
    mapped = expression('{cpu: 1 ms, gpu[0]: 2 ms, "x": 3, (k): 4, 5: 6}')
    assert isinstance(mapped.entries[3].key, tree.Select)
    assert mapped.entries[3].key.parts == ()
    assert isinstance(mapped.entries[0].key, tree.Name)
    assert isinstance(expression("{d: speed(d) for d in devices}"), tree.MapWhere)
    assert isinstance(expression("{if a then b else c, d}"), tree.SetOf)


def test_parts_of_names() -> None:
    """Subscripts and names behind dots."""
    name = expression("stack[1].layer[2, 0..<3].attn")
    assert (name.name, len(name.subscripts)) == ("stack", 1)
    assert [(part.name, len(part.subscripts)) for part in name.parts] == [("layer", 2), ("attn", 0)]
    twice = expression("t[0][1]")
    assert (len(twice.subscripts), [part.name for part in twice.parts]) == (1, [None])
    dotted = expression("t.cost[1][2]")
    assert [(part.name, len(part.subscripts)) for part in dotted.parts] == [("cost", 1), (None, 1)]
    assert expression("t .\n cost") == expression("t.cost")
    for base in ("f(x)", "(a + b)", "[1, 2]", "{a: 1}"):
        assert isinstance(expression(f"{base}[0].x"), tree.Select)


def test_definitions() -> None:
    """Functions, assertions, tables, plans, scenarios."""
    assert [word.text for word in statement("def f(x, y) = x + y").params] == ["x", "y"]
    assert statement("def f() = 3").params == ()
    assert statement('assert k > 2, "k: " + k').message is not None
    assert statement("assert k > 2").message is None
    assert statement('param t: table from "t.csv"').table.value == "t.csv"
    assert errors('param t: int from "t.csv"') == ["'from' reads a table: write 'param t: table from …'"]
    assert statement("import plan old").path.is_name
    assert isinstance(statement("import plan"), tree.ImportStatement)
    night = statement("scenario night { param k = 3 minimize bottleneck scenario x { } }")
    assert [type(inner).__name__ for inner in night.statements][:2] == ["ParamStatement", "ObjectiveStatement"]


def test_blocks() -> None:
    """Blocks have parameters, ports and items; uses have names, families, options."""
    block = statement("block layer(i) { input in = q, k node q edge q -> {k, v} output out = v assert i > 0 }")
    assert ([word.text for word in block.params], len(block.items)) == (["i"], 5)
    port = block.items[0]
    assert (port.way, port.name.text, [end.name for end in port.ends]) == ("input", "in", ["q", "k"])
    assert statement("block head { node a }").params == ()
    use = item("use layer as decoder[i in 0..<80] (heads = 8)")
    assert (use.block.text, use.name.text, use.options[0].name.text) == ("layer", "decoder", "heads")
    assert use.family.binders[0].domain.open
    assert item("use layer").name.text == "layer"
    assert item("edge layer[i].out -> layer[i + 1].in for i in 0..<79").ends[1].parts[0].name == "in"
    assert len(item('edge {a, b} -> [c, d] -> {q[i] for i in S} -> "x y"').ends) == 4


def test_times_and_objectives() -> None:
    """Times need no batch, objectives are expressions, labels may be words of rules."""
    assert statement("time a, b on d = if x then 1 ms else inf for i in S").batch is None
    assert statement("time a on d at batch 4 = 5 ms").batch.value == 4
    best = statement("minimize cost: sum(price(d) * used(d) for d in devices) (within = 1%) if c")
    assert (best.label.text, best.options[0].name.text, best.clauses.binders) == ("cost", "within", ())
    moved = statement("time a[i] -> b on gpu[0] -> gpu[1] = 3 ms for i in S")
    assert (moved.tail.name, moved.head.name, moved.first.name, moved.value.value) == ("a", "b", "gpu", 3)
    assert statement('device "gpu 1" (memory = 3)').name.text == "gpu 1"
    assert statement("minimize makespan").label is None
    assert statement("constraint memory: forall d in D, i in S if i > 0: load(d) <= i").label.text == "memory"


def test_the_tables_are_those_of_the_grammar() -> None:
    """No call has to read the grammar, as ``python -m tests.tools.grammar_tables`` has written the tables."""
    assert grammar_tables.PLACE.read_text(encoding="utf-8") == grammar_tables.contents()
