"""Completion: what is offered at a place, mostly in statements that do not parse yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lsprotocol import types

from mtpp_dsl.core.text.edits import edited
from mtpp_dsl.core.text.source import Edit, Source, Span
from mtpp_dsl.editor.server.features import snippets
from mtpp_dsl.editor.server.features.completion import complete
from mtpp_dsl.editor.server.reading import reading_of
from mtpp_dsl.language.syntax.parser import parse
from mtpp_dsl.language.words.vocabulary import options_of

BASE = """mtpp 1
param k: int = 3
param data: path = "x.csv"
let big = { v in nodes if work(v) > 1 ms }
def twice(x) = 2 * x
block layer(i) {
  node n (work = 1 ms)
  node m
  edge n -> m
  input x = n
  output y = m
}
graph {
  node a (work = 1 ms, kind = "conv")
  node attn[4]
  use layer as dec[i in 0..3]
}
device gpu[2] (memory = 3 GiB)
device cpu
type mine (memory = 1 GB)
switch rack
"""


def offered(text: str, *, base: str = BASE) -> list[types.CompletionItem]:
    """Return what is offered at the sign ``|`` of a text behind a sound one, the best first."""
    whole = base + text
    reading = reading_of(whole.replace("|", "", 1))
    line, column = reading.lines().position(whole.index("|"))
    return sorted(complete(reading, line, column).items, key=lambda item: item.sort_text or "")


def labels(text: str, *, base: str = BASE) -> list[str]:
    return [item.label for item in offered(text, base=base)]


@pytest.mark.parametrize(
    ("text", "first", "never"),
    [
        ("con|", ["assert", "constraint", "device", "target"], ["node", "gpu", "sum"]),
        ("graph {\n  no|", ["node", "edge", "use"], ["device", "input"]),
        ("graph {\n  node z\n  |\n}", ["node", "edge", "use"], ["device"]),
        ("graph { node z | }", ["edge", "node"], []),
        ("block b(p) {\n  |", ["node", "input", "output"], []),
        ("scenario x {\n  par|", ["param", "constraint", "device"], ["node"]),
        ("device q (memory = \ncon|", ["constraint", "device"], []),
        ("graph {\n  node b (wor|", ["work", "time", "params"], ["bandwidth", "sum"]),
        ("device d[2] (memory = 3 GiB, |, speed = 2)", ["type", "reserve"], ["memory", "speed", "work"]),
        ("device d (\n  memory = 3 GiB,\n  |\n)", ["type", "reserve"], ["memory"]),
        ("graph {\n  edge a -> attn (|", ["size"], ["work"]),
        ("interconnect |", ["shared", "host", "links", "tree"], ["sum"]),
        ("interconnect shared (|", ["bandwidth", "overflow", "between"], ["latency"]),
        ("interconnect links (overlap = |", ["none", "full"], ["sum", "k"]),
        ("constraint memory (schedule = |", ["gpipe", '"1f1b"'], ["sum"]),
        ("constraint |", ["acyclic", "pin", "memory", "colocate"], ["gpu", "sum"]),
        ("constraint pin |", ["a", "attn", "dec", "big", "nodes"], ["gpu", "sum", "devices"]),
        ("constraint pin a, |", ["a", "attn"], ["gpu"]),
        ("constraint pin a on |", ["gpu", "cpu", "devices"], ["a", "sum"]),
        ("constraint pin a |", ["on"], ["gpu"]),
        ("constraint subgraphs |", ["at"], ["on"]),
        ("constraint colocate by |", ["color", "kind", "label"], ["a"]),
        ("constraint break symmetry by |", ["tasks", "batches", "time"], []),
        ("constraint acyclic (|", ["parts", "groups"], []),
        ("constraint c: load(d) <= 3 ms (|", ["penalty"], ["sum"]),
        ("constraint c: sum(on(v, |", ["gpu", "cpu", "twice"], ["acyclic", "attn", "a", "k", "sum", "nodes"]),
        ("constraint c: sum(on(|", ["a", "attn", "dec"], ["gpu", "k", "data", "sum", "for"]),
        ("constraint c: load(|", ["gpu", "cpu"], ["a", "k", "sum", "big"]),
        ("constraint c: load(gpu[0], |", [], ["a", "gpu", "sum"]),
        ("constraint c: load(gpu[0]) <= |", ["k", "load", "bottleneck", "twice"], ["a", "gpu", "nodes", "data"]),
        ("constraint c: forall d in devices: |", ["load", "d", "forall"], ["a", "gpu"]),
        ("let x = time(a, |", ["gpu"], ["a", "sum"]),
        ("let x = memory(|", ["gpu", "a"], ["k", "sum"]),
        ("let x = work(if k == 3 then |", ["a"], ["gpu", "k"]),
        ("let x = efficiency(gpu[0], |", ['"conv"', "kind"], ["a", "gpu", "k"]),
        ("let x = peak(gpu[0], |", ['"bf16"'], ["a", "gpu"]),
        ("let x = gpu[|", ["k"], ["a", "gpu", "load"]),
        ("let x = { v in |", ["nodes", "devices", "edges", "attn", "successors"], ["sum", "k", "work"]),
        ("device q (memory = |", ["1 GiB", "k", "twice"], ["a", "gpu", "nodes", "data", "load", "1 ms"]),
        ("device q (price = |", ["1 USD", "1 USD/h"], ["1 ms"]),
        ("device q (memory = 2 * |", ["k"], ["a", "gpu", "1 GiB"]),
        ("device q (unsupported = |", ['"conv"'], ["a", "k", "sum"]),
        ("device q (peak = {|", ["bf16"], ["a", "gpu"]),
        ("device q (peak = {bf16: |", ["1 TFLOP/s"], ["a", "bf16"]),
        ("device q (efficiency = {|", ['"conv"'], ["a", "gpu"]),
        ("interconnect shared (bandwidth = |", ["1 GB/s", "k"], ["a", "gpu", "1 GB"]),
        ("graph {\n  node c (kind = |", ['"conv"'], ["a", "gpu", "k"]),
        ("graph {\n  node c (time = {cpu: |", ["1 ms"], ["cpu", "a"]),
        ("constraint memory (microbatches = |", ["k"], ["a", "gpu", "1 ms"]),
        ("graph from generator gpt (fused = |", ["true", "false"], ["k", "gpu", "sum"]),
        ("param z: bool = |", ["true", "false"], ["k", "gpu", "sum"]),
        ("param z: time = |", ["1 ms", "k"], ["true", "gpu"]),
        ("graph {\n  edge a |", ["->"], ["sum"]),
        ("graph {\n  edge a -|", ["->"], ["<->", "a", "sum"]),
        ("link gpu[0] <|", ["<->"], ["sum"]),
        ("constraint c: load(gpu[0]) -|", ["k"], ["->"]),
        ("constraint c: load(d) |", ["for", "if"], ["sum"]),
        ("constraint c: load(d) <= 1 ms for d in |", ["devices", "gpu"], []),
        ("constraint pin dec[0].|", ["n", "m", "x", "y"], ["a", "sum"]),
        ("minimize |", ["bottleneck", "makespan"], ["acyclic"]),
        ("maximize thr|", ["throughput"], []),
        ("maximize throughput (batch = 4, |", ["chunk", "transfer", "within"], ["batch"]),
        ("param z: |", ["int", "size", "table"], ["k"]),
        ("let t = sum(w for w in nodes if wo|", ["w", "k", "work"], []),
        ("def f(x, y) = |", ["x", "y", "k", "twice"], []),
        ("graph from generator |", ["gpt", "regal"], ["sum"]),
        ("graph from generator gpt (la|", ["layers", "hidden"], ["sum"]),
        ("graph from |", ["data", "generator"], ["sum"]),
        ("graph from generator |", ["gpt"], []),
        ("graph {\n  use |", ["layer"], ["a"]),
        ("graph {\n  use layer (|", ["i"], ["sum"]),
        ("graph {\n  node c (time = {|", ["cpu", "gpu", "mine"], []),
        ("device x (switch = |", ["rack"], ["sum"]),
        ("device x (type = m|", ["mine"], []),
        ("target vl|", ["vllm", "llama_cpp"], ["sum"]),
        ("target llama_cpp (|", ["grain"], ["sum", "speed"]),
        ("target llama_cpp (grain = |", ["layer", "tensor"], ["sum"]),
        ("time a on |", ["gpu", "cpu"], ["a"]),
        ("time |", ["a", "attn"], ["gpu"]),
        ("link gpu[0] -> |", ["gpu", "cpu"], ["a"]),
        ("block b(p) {\n  node q\n  edge q -> |", ["q", "p"], ["a", "gpu", "sum"]),
    ],
)
def test_what_is_offered(text: str, first: list[str], never: list[str]) -> None:
    found = labels(text)
    assert not set(first) - set(found), found
    assert not set(never) & set(found), found


@pytest.mark.parametrize(
    "text",
    ["# con|", "let |", "device |", "graph {\n  node |", "constraint c: load(d) <= 1 ms for |", "def |", "param |"],
)
def test_where_a_new_name_or_a_remark_is_written_nothing_is_offered(text: str) -> None:
    assert labels(text) == []


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("graph {\n  node b (work = 3 |", {"ms", "us", "s", "FLOP"}),
        ("device d (memory = 3|", {"GiB", "MiB", "GB", "MB"}),
        ("interconnect shared (bandwidth = 12.5 |", {"GB/s", "GiB/s"}),
        ("device d (price = 1 |", {"USD/h"}),
        ("device d (peak = {bf16: 312 T|", {"TFLOP/s"}),
        ("time a on gpu = 3 |", {"ms", "us", "s"}),
    ],
)
def test_units_follow_numbers_those_first_that_fit(text: str, best: set[str]) -> None:
    found = offered(text)
    assert best <= {item.label for item in found if (item.sort_text or "").startswith("0")}, found
    assert all(item.kind == types.CompletionItemKind.Unit for item in found if item.label in best)


def test_a_number_is_no_unit_where_a_name_ends_in_one() -> None:
    assert "ms" not in labels("constraint pin attn2|")
    assert "ms" not in labels("let x = attn[1].|")


def test_a_type_of_the_library_brings_its_include() -> None:
    whole = f"{BASE}device d (type = l40s)\n"
    found = next(item for item in offered("device d (type = l40|)") if item.label == "l40s")
    assert found.additional_text_edits is not None
    (edit,) = found.additional_text_edits
    source = Source("spec", whole)
    at = len("mtpp 1")
    assert (edit.range.start.line, edit.range.start.character) == (0, at)
    after = edited(whole, [Edit(Span(source, at, at), edit.new_text)])
    assert after.startswith('mtpp 1\ninclude "devices/nvidia.mtpp"\nparam')
    assert not [each for each in reading_of(after).diagnostics if "l40s" in each.message]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "rules.mtpp").write_text("constraint acyclic\n")
    (tmp_path / "net.json").write_text("{}")
    (tmp_path / "spec.mtpp").write_text("")
    for name in ("times.csv", "weights.onnx", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.mtpp").write_text("")

    def found(text: str) -> list[str]:
        reading = reading_of(text.replace("|", ""), path=tmp_path / "spec.mtpp")
        items = complete(reading, *reading.lines().position(text.index("|"))).items
        items = sorted(items, key=lambda item: item.sort_text or "")
        return [item.label for item in items]

    assert {"rules.mtpp", "sub/", "devices/", "links/"} <= set(found('include "|"'))
    assert "net.json" not in found('include "|"')
    assert "spec.mtpp" not in found('include "|"')  # the text itself
    assert found('include "sub/|"') == ["more.mtpp"]
    assert "nvidia.mtpp" in found('include "devices/|')
    assert found('graph from "|"') == found('import "|"') == ["net.json", "times.csv", "weights.onnx", "sub/"]
    assert found('import plan "|"') == ["net.json", "sub/"]
    assert found('times from "|"') == ["net.json", "times.csv", "sub/"]
    assert "net.json" in found('param p: path = "|"')
    assert found('let x = "|"') == []
    assert found('include "../../../nowhere/|"') == []


def test_kinds_and_names_in_strings() -> None:
    assert labels('device d (unsupported = "|') == ["conv"]
    assert "attn" in labels('constraint pin "|')


def test_every_snippet_is_a_statement_of_the_language() -> None:
    """Snippets parse with their places filled in as an editor first shows them."""

    def filled(snippet: str) -> str:
        snippet = re.sub(r"\$\{\d+\|([^,|]*)[^|]*\|\}", r"\1", snippet)
        return re.sub(r"\$\{\d+:([^}]*)\}|\$\d", lambda match: match[1] or "", snippet)

    for snippet in snippets.STATEMENTS.values():
        parse(Source("snippet", filled(snippet)))
    for snippet in snippets.ITEMS.values():
        parse(Source("snippet", f"block b {{ {filled(snippet)} }}"))
    for rule in snippets.RULES.values():
        parse(Source("snippet", f"constraint {filled(rule)}"))


def test_options_are_written_with_their_sign_and_told() -> None:
    items = {item.label: item for item in offered("interconnect links (|")}
    assert set(items) == set(options_of("interconnect links"))
    overlap = items["overlap"]
    assert overlap.insert_text_format == types.InsertTextFormat.Snippet
    assert isinstance(overlap.text_edit, types.TextEdit)
    assert overlap.text_edit.new_text == "overlap = ${1|none,full|}"
    assert isinstance(overlap.documentation, types.MarkupContent)
    assert "beside the work" in overlap.documentation.value


def test_an_arrow_takes_the_place_of_its_first_sign() -> None:
    """No sign is doubled: what is replaced begins with the one that is there."""
    for text, replaced in (("graph { edge a -", "-"), ("link gpu[0] <", "<"), ("link gpu[0] <-", "<-")):
        reading = reading_of(BASE + text)
        (line, column) = reading.lines().position(len(BASE + text))
        for item in complete(reading, line, column, typed="-").items:
            assert isinstance(item.text_edit, types.TextEdit)
            assert item.text_edit.new_text == item.label
            assert item.text_edit.range.end.character - item.text_edit.range.start.character == len(replaced)
        assert complete(reading, line, column).items


def test_an_editor_without_snippets_gets_plain_text() -> None:
    reading = reading_of("device d (")
    items = complete(reading, 0, 10, with_snippets=False).items
    assert items
    assert all(item.insert_text_format == types.InsertTextFormat.PlainText for item in items)
    assert all(isinstance(item.text_edit, types.TextEdit) and "$" not in item.text_edit.new_text for item in items)


def test_places_are_counted_in_utf_16() -> None:
    reading = reading_of('graph { node "𝛼𝛽" node ab }\ndevice d\nconstraint separate "𝛼𝛽", a')
    items = {item.label: item for item in complete(reading, 2, 29).items}
    edit = items["ab"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert (edit.range.start.character, edit.range.end.character) == (28, 29)


@pytest.mark.parametrize(
    ("text", "typed", "some"),
    [
        ("graph {\n  node b (work = 3 |", " ", True),
        ("constraint pin a on |", " ", True),
        ("constraint |", " ", True),
        ("device d (memory = 3 GiB) |", " ", False),
        ("let x = |", " ", False),
        ("let x = k / |", "/", False),
        ('include "devices/|', "/", True),
        ('let x = "a"|', '"', False),
        ('include "|', '"', True),
        ("let x = 2.|", ".", False),
        ("constraint pin dec[0].|", ".", True),
        ("graph {\n  edge a -|", "-", True),
        ("let x = k -|", "-", False),
        ("device d (memory = |", " ", True),
        ("constraint c: on(a, |", " ", True),
    ],
)
def test_what_is_typed_brings_a_list_only_where_it_begins_something(text: str, typed: str, some: bool) -> None:
    whole = BASE + text
    reading = reading_of(whole.replace("|", "", 1))
    place = reading.lines().position(whole.index("|"))
    assert bool(complete(reading, *place, typed=typed).items) == some
