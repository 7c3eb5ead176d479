"""Mistakes that people make, one a line: each is one message, at its place, with its cause and what to do about it."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from mtpp_dsl.core.text.codes.table import CODES
from mtpp_dsl.core.text.source import MAX_EXCERPT, Diagnostic
from mtpp_dsl.language.lowering.lower import analyse

GRAPH = """graph {
  node embed (work = 3 ms, params = 1 MiB, output = 1 MiB)
  node attn[i in 0..3] (work = 2 ms, output = 1 MiB)
  edge embed -> attn[0]
  edge attn[i] -> attn[i + 1] for i in 0..2
}
"""
DEVICES = "device gpu[2] (memory = 1 GiB)\n"
JOINED = "interconnect shared (bandwidth = 8 GiB/s)\n"
WANTED = "minimize bottleneck\n"
REST = "constraint memory\n"


class Mistake(NamedTuple):
    """What is written wrongly; the code and the text at the place of the message, and words that it has.

    Attributes:
        text: a statement, or an item of the graph.
        code: without "MTPP-".
        at: the characters that the carets are under.
        says: in the message, its notes or its fix.
        fixed: what stands in the place of *at* after the fix; None where there is none.
    """

    text: str
    code: str
    at: str
    says: str
    fixed: str | None = None


STATEMENTS = [
    # words that run together or are misspelt
    Mistake("lets = 3", "E001", "lets", "did you mean 'let'?", "let"),
    Mistake("devices (memory = 1 GiB)", "E001", "devices", "did you mean 'device'?", "device"),
    Mistake("constraints: load(gpu[0]) <= 1 ms", "E001", "constraints", "did you mean 'constraint'?", "constraint"),
    Mistake(
        "minimizebottleneck", "E001", "minimizebottleneck", "did you mean 'minimize bottleneck'?", "minimize bottleneck"
    ),
    Mistake("constraint subgraphs atmost2 on gpu[0]", "E002", "atmost2", "'subgraphs at most 2 on d'"),
    Mistake('param k: int = 3\nasert k > 2, "k"', "E001", "asert", "did you mean 'assert'?", "assert"),
    Mistake("let b = 3\nnodes (work = b)", "E001", "nodes", "there is no statement 'nodes'"),
    Mistake("constraint acylic", "E012", "acylic", "did you mean 'acyclic'?", "acyclic"),
    Mistake("constraint place embed on gpu[0]", "E012", "place", "did you mean 'pin'?", "pin"),
    # units
    Mistake("let x = 5\nms", "E006", "ms", "a unit stands on the line of its number"),
    Mistake("constraint c: load(gpu[0]) <= 3 mb", "E201", "mb", "did you mean 'MB' or 'MiB'?"),
    Mistake("let r = 8 gb/s", "E201", "gb/s", "did you mean 'GB/s'?", "GB/s"),
    Mistake("let r = 2 GFLOPs", "E201", "GFLOPs", "'GFLOP', an amount of work, or 'GFLOP/s', a speed"),
    Mistake("let x = 1/2 ms", "E202", "2 ms", "write"),
    Mistake("let x = 3 ms + 4 MiB", "E209", "3 ms + 4 MiB", "cannot add a time and a size"),
    Mistake("let x = 3 USD + 2 EUR", "E209", "3 USD + 2 EUR", "cannot add"),
    Mistake("constraint c: load(gpu[0]) <= 3", "E213", "load(gpu[0]) <= 3", "a time and a number without a unit"),
    Mistake("device tpu (memory = 3 ms)", "E213", "3 ms", "must be a size"),
    Mistake("device tpu (memory = -1 GiB)", "E214", "-1 GiB", "must not be negative"),
    # names
    Mistake("constraint pin embd on gpu[0]", "E101", "embd", "did you mean 'embed'?", "embed"),
    Mistake("constraint pin attn[7] on gpu[0]", "E101", "attn[7]", "there are attn[0] to attn[3]"),
    Mistake("constraint pin embed on gpus", "E101", "gpus", "did you mean 'gpu'?", "gpu"),
    Mistake("let x = y", "E101", "y", "nothing is called 'y'"),
    Mistake("device gpu[2]", "E102", "gpu", "already declared"),
    Mistake("let x = 1\nlet x = 2", "E102", "x", "already defined"),
    Mistake("param k = 1\nparam k = 2", "E102", "k", "already given"),
    Mistake("constraint c: load(gpu[0]) <= 1 s constraint c: load(gpu[1]) <= 1 s", "E102", "c", "already used"),
    Mistake("let on = 4", "E103", "on", "choose another name"),
    Mistake("let edges = 3", "E103", "edges", "choose another name"),
    Mistake("let embed = 3", "W101", "embed", "hides a node"),
    Mistake("let gpu = 3", "W101", "gpu", "hides a family of devices"),
    Mistake("def floor(x) = x", "W104", "floor", "hides the function of the language"),
    Mistake("let unused = 3", "W102", "unused", "never used: use it, or remove it"),
    Mistake("param unused = 3", "W102", "unused", "never used: use it, or remove it"),
    Mistake("let x = y\nlet y = x", "E107", "x", "'let x' is defined by itself: x -> y -> x"),
    # declarations and options
    Mistake("device tpu[0..3]", "E307", "0..3", "write tpu[4]", "4"),
    Mistake("device tpu (memory 3)", "E007", "3", "'name = value'"),
    Mistake("device tpu {memory = 3}", "E007", "{", "options stand in '(' and ')'"),
    Mistake("device tpu (memroy = 3 GiB)", "E105", "memroy", "did you mean 'memory'?", "memory"),
    Mistake("device tpu (speed = 2, speed = 3)", "E106", "speed", "given twice"),
    Mistake("device tpu memory = 3", "E007", "memory", "write '(memory = …)'"),
    Mistake("device tpu (memory = 1 GiB speed = 2)", "E004", "speed", "a comma is missing before 'speed'"),
    Mistake("device tpu (memory = 1 GiB", "E003", "(", "'(' is not closed"),
    Mistake("device tpu, cpu", "E008", ",", "declares one name"),
    Mistake('device "注意力"[3]', "E002", "[", "a family has a plain name, as in 'device d[4]'"),
    Mistake('graph { node "注意力"[i in 0..5] (work = 1) }', "E002", "[", "as in 'node v[i in 0..3]', and any text"),
    Mistake('constraint pin "注意力"[0] on gpu[0]', "E002", "[", "a name in quotes has no members"),
    Mistake("device tpu[2.5]", "E211", "2.5", "a whole number"),
    Mistake("let = 3", "E008", "=", "needs a name"),
    Mistake("let y 3", "E002", "3", "'let name = value'"),
    Mistake("param k =", "E010", "=", "needs a value after '='"),
    Mistake("param k: intt = 3", "E109", "intt", "did you mean 'int'?", "int"),
    Mistake("param k: int", "E704", "k", "give it with -D k=4"),
    Mistake("param k: int = 1.5", "E705", "1.5", "is of type int"),
    Mistake("param k: int = 3 in 4..9", "E706", "3", "must be in 4..9"),
    Mistake('param t: table from "none.csv"', "E701", '"none.csv"', "there is no file"),
    # expressions
    Mistake("let s = { v in nodes if }", "E010", "}", "a condition is missing after 'if'"),
    Mistake("let s = [1, 2", "E003", "[", "'[' is not closed"),
    Mistake("let s = (1, 2)", "E002", ",", "'[1, 2]'"),
    Mistake("let s = [1, 2 for i in 0..1]", "E002", "for", "unexpected 'for'"),
    Mistake("let s = max(1 2)", "E004", "2", "a comma is missing before '2'"),
    Mistake("let x = 2 ^ 3", "E005", "^", "powers are written pow(x, 2)"),
    Mistake("let x = 'a'", "E005", "'", "double quotes"),
    Mistake('let x = "abc', "E003", '"abc', "not closed on its line"),
    Mistake("let x = foo(3)", "E206", "foo", "there is no function 'foo'", "floor"),
    Mistake("let x = work(embed, 3)", "E206", "work(embed, 3)", "work(node) got 2 arguments"),
    Mistake("let x = 1 / 0", "E216", "1 / 0", "division by zero"),
    Mistake("let w = [1, 2]\nlet x = w[2]", "E204", "2", "0 to 1"),
    Mistake("constraint forbid {} on gpu[0]", "W204", "{}", "there is no node in this set"),
    # constraints
    Mistake("constraint: load(gpu[0]) <= 3 ms", "E002", ":", "a rule or a label"),
    Mistake("constraint c: load(gpu[0]) = 3 ms", "E011", "=", "compare with '=='", "=="),
    Mistake("constraint c: load(gpu[0]) < 3 ms", "E502", "load(gpu[0]) < 3 ms", "write '<='"),
    Mistake("constraint c: load(gpu[0]) ≤ 3 ms", "E005", "≤", "write '<='", "<="),
    Mistake("constraint c: load(gpu[0])", "E501", "load(gpu[0])", "is an inequality"),
    Mistake("constraint c: load(gpu[0]) <= 3 ms for d", "E002", "d", "'for i in 0..3'"),
    Mistake("constraint c: forall d: load(d) <= 3 ms", "E002", ":", "'forall d in devices:'"),
    Mistake(
        "constraint c: max(load(d) for d in devices) >= 3 ms",
        "E212",
        "max(load(d) for d in devices)",
        "'at least one satisfies it' is not linear",
    ),
    Mistake(
        "constraint c: on(embed, gpu[0]) * load(gpu[0]) <= 1",
        "E212",
        "on(embed, gpu[0]) * load(gpu[0])",
        "the product of two decisions is not linear",
    ),
    Mistake("constraint c: start(embed) <= 3 ms", "E503", "start(embed) <= 3 ms", "a plan has no schedule"),
    Mistake("constraint c: 4 <= 3", "W203", "4 <= 3", "no plan satisfies 'c'"),
    Mistake("constraint c: forall i in 3..0: load(gpu[i]) <= 1 s", "W201", "3..0", "runs backwards"),
    Mistake("constraint pin embed gpu[0]", "E004", "gpu", "a comma is missing before 'gpu'"),
    Mistake("constraint pin embed to gpu[0]", "E002", "to", "write 'on' in place of 'to'", "on"),
    Mistake("constraint separate embed", "E504", "constraint separate embed", "at least 2 nodes"),
    Mistake("constraint colocate by colour", "E110", "colour", "did you mean 'color'?", "color"),
    Mistake("constraint colocate by color", "E505", "color", "no node has a color"),
    Mistake("constraint replicate gpu", "E002", "u", "'replicate d up to 2'"),
    Mistake("constraint exclusive", "E002", "e", "'exclusive links'"),
    Mistake("constraint break symmetry by task", "E110", "task", "did you mean 'tasks'?", "tasks"),
    Mistake("constraint batch in [1, 2]", "E623", "constraint batch in [1, 2]", "maximize throughput (batch = …)"),
    # interconnects, times and objectives
    Mistake("interconnect nvlink (bandwidth = 8 GiB/s)", "E110", "nvlink", "links, where each pair of devices"),
    Mistake("interconnect shared (bandwidth = )", "E010", ")", "needs a value after '='"),
    Mistake("interconnect shared bandwidth = 3", "E007", "bandwidth", "write '(bandwidth = …)'"),
    Mistake("interconnect shared", "E401", "interconnect shared", "needs a bandwidth"),
    Mistake("interconnect shared (bandwidth = 8 GiB/s) link gpu[0] - gpu[1]", "E002", "-", "'link a <-> b'"),
    Mistake("time embed on gpu = 5 ms at batch 4", "E002", "at", "'time a on d at batch 4 = 5 ms'"),
    Mistake("time embed on gpu", "E002", "u", "'time a on d = 5 ms'"),
    Mistake('times "a.csv"', "E002", '"a.csv"', "'times from \"profile.csv\"'"),
    Mistake("minimize botleneck", "E621", "botleneck", "did you mean 'bottleneck'?", "bottleneck"),
    Mistake("maximize bottleneck", "E622", "maximize bottleneck", "should minimize bottleneck"),
    Mistake("minimize work(embed)", "E602", "work(embed)", "no decision"),
    Mistake("maximize work(embed)", "E602", "work(embed)", "mtpp solve SPEC --largest"),
    Mistake("maximize 3 in 1..5", "E210", "3 in 1..5", "mtpp solve SPEC --largest"),
    Mistake("device x (overflow = stream)", "E105", "overflow", "an option of interconnect shared"),
    Mistake("maximize max(load(d) for d in devices)", "E212", "max(load(d) for d in devices)", "limited from above"),
    Mistake("minimize", "E002", "e", "'minimize bottleneck'"),
    # files
    Mistake("include nothing", "E002", "nothing", "a path stands in double quotes"),
    Mistake('include "nothing.mtpp"', "E701", '"nothing.mtpp"', "there is no file"),
    Mistake("mtpp 2", "E022", "2", "language version 1"),
    Mistake("let xx = 3; let yy = xx", "E005", ";", "nothing stands between statements"),
]
ITEMS = [
    Mistake("node a (wrk = 3 ms)", "E105", "wrk", "did you mean 'work'?", "work"),
    Mistake("node a (work 3 ms)", "E007", "3", "'name = value'"),
    Mistake("edge attn[i] -> mlp[i for i in 0..3", "E004", "for", "']' is missing before 'for'"),
    Mistake("node a (work = 4 ms params = 3 MiB)", "E004", "params", "a comma is missing before 'params'"),
    Mistake("node a (work = 3 MiB)", "E213", "3 MiB", "work must be a time"),
    Mistake("node a (work = 3)", "E213", "3", "all times of a problem carry units"),
    Mistake("node embed (work = 1 ms)", "E102", "embed", "already declared"),
    Mistake("node a, b", "E008", ",", "a family, such as gpu[4]"),
    Mistake("node nodes (work = 1 ms)", "E103", "nodes", "choose another name"),
    Mistake("nod a (work = 3 ms)", "E009", "nod", "did you mean 'node'?", "node"),
    Mistake("embed -> attn[1]", "E009", "embed", "only 'node', 'edge', 'use' and 'assert' stand in a graph"),
    Mistake("edge embed - attn[0]", "E002", "-", "'edge a -> b'"),
    Mistake("edge embed -> (size = 1 MiB)", "E002", "(", "needs a node after '->'"),
    Mistake("edge embed -> atn[0]", "E101", "atn[0]", "did you mean 'attn[0]'?", "attn[0]"),
    Mistake("edge embed -> attn[9]", "E101", "attn[9]", "there are attn[0] to attn[3]"),
    Mistake("edge embed -> embed", "E302", "embed -> embed", "from a node to itself"),
    Mistake("edge attn[3] -> embed", "E303", "edge attn[i] -> attn[i + 1] for i in 0..2", "a cycle: embed -> attn[0]"),
    Mistake("edge attn[0] <-> attn[1]", "E002", "<->", "an edge points one way"),
    Mistake("edge attn[j] -> attn[0]", "E101", "j", "nothing is called 'j'"),
    Mistake("node more[0..2] (work = 1 ms) edge more[0] -> more[1]", "E307", "0..2", "write more[3]", "3"),
    Mistake("use layer[i in 0..3]", "E101", "layer", "there is no block 'layer'"),
]


def written(mistake: Mistake, *, item: bool) -> str:
    """Return a spec that is sound but for the mistake."""
    if item:
        return GRAPH.replace("  edge", f"  {mistake.text}\n  edge", 1) + DEVICES + JOINED + WANTED + REST
    joined = "" if mistake.text.startswith("interconnect") else JOINED
    wanted = "" if mistake.text.startswith(("minimize ", "maximize ")) or mistake.text == "minimize" else WANTED
    return f"{GRAPH}{DEVICES}{joined}{wanted}{REST}{mistake.text}\n"


def check(mistake: Mistake, text: str) -> None:
    """Hold that there is the one message that belongs to the mistake."""
    found = analyse(text)
    told = [str(diagnostic) for diagnostic in found.diagnostics]
    first = [each for each in found.diagnostics if each.code == f"MTPP-{mistake.code}"]
    assert first, told
    message = first[0]
    assert message.span is not None
    assert message.span.text == mistake.at, told
    everything = [message.message, *message.notes, message.fix.title if message.fix else ""]
    assert any(mistake.says in said for said in everything), told
    assert mistake.fixed is None or (message.fix is not None and message.fix.edits[0].text == mistake.fixed), told
    errors = [each for each in found.diagnostics if each.severity == "error"]
    assert errors in ([message], []) or mistake.code[0] == "W", told
    assert (found.problem is None) == bool(errors)
    assert message.code in CODES


@pytest.mark.parametrize("mistake", STATEMENTS, ids=lambda mistake: mistake.text.replace("\n", " "))
def test_statements(mistake: Mistake) -> None:
    """In a statement of its own."""
    check(mistake, written(mistake, item=False))


@pytest.mark.parametrize("mistake", ITEMS, ids=lambda mistake: mistake.text)
def test_items(mistake: Mistake) -> None:
    """In the graph."""
    check(mistake, written(mistake, item=True))


def test_second_places() -> None:
    """What is declared twice, or does not go together, is shown in both places."""

    def places(mistake: str, *, item: bool = False) -> list[str]:
        found: list[Diagnostic] = []
        text = written(Mistake(mistake, "", "", ""), item=item)
        found += [each for each in analyse(text).diagnostics if each.severity == "error"]
        (message,) = found
        return [place.span.text for place in message.places]

    assert places("node embed (work = 1 ms)", item=True) == ["embed"]
    assert places("node a (work = 3)", item=True) == ["3 ms"]
    assert places("edge attn[3] -> embed", item=True) == ["edge attn[3] -> embed", "edge embed -> attn[0]"]
    assert places("device gpu[2]") == ["gpu"]
    assert places("let x = 1\nlet x = 2") == ["x"]
    assert places("param k = 1\nparam k = 2") == ["k"]
    assert places("device tpu (speed = 2, speed = 3)") == ["speed"]
    assert places("constraint c: load(gpu[0]) <= 3") == ["load(gpu[0])", "3"]
    assert places("let x = 3 ms + 4 MiB") == ["3 ms"]
    assert places("graph { node a (work = 1 ms) }") == [GRAPH.strip()]


@pytest.mark.parametrize("text", ["let x = {}", "constraint pin {} on gpu[0]", "let x = 3 {}", "edge embed -> {}"])
def test_long_names_are_shortened(text: str) -> None:
    """A name of 10^6 characters gives a message of few lines, each of them short."""
    said = "\n\n".join(str(each) for each in analyse(GRAPH + DEVICES + text.format("a" * 10**6) + "\n").diagnostics)
    assert len(said) < 3_000
    assert max(map(len, said.splitlines())) < 3 * MAX_EXCERPT
    assert re.search(r"a…a|…", said)
