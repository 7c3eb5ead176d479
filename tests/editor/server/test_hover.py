"""Hovers: values, members, figures, meanings of words; in Markdown that names cannot break out of."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from mtpp_dsl.editor.server.features.hover import hover
from mtpp_dsl.editor.server.features.markdown import block, code, plain
from mtpp_dsl.editor.server.reading import TextReading, reading_of
from tests.editor.server.test_names import at
from tests.hostile_names import HOSTILE, hostile_spec

SPEC = """mtpp 1
include "devices/nvidia.mtpp"
# how many layers there are
param k: int = 3
let total = sum(work(v) for v in nodes)
let big = { v in nodes if work(v) >= 2 ms }
def twice(x) = 2 * x
graph {
  node embed (work = 2 ms, params = 96 MiB, kind = "matmul")
  node attn[i in 0..<k] (work = twice(2 ms), output = 1 MiB)
  edge embed -> attn
}
device fast[2] (type = l40s)
device slow (speed = 0.5, memory = 8 GiB, price = 1 USD/h)
interconnect shared (bandwidth = 8 GiB/s, overflow = stream)
minimize bottleneck
constraint acyclic (parts = forward)
constraint few: sum(on(v, d) for v in attn) <= 2 for d in devices
constraint pin embed on fast
constraint separate attn[0], attn[1]
"""


def said(place: str, text: str = SPEC) -> str:
    reading = reading_of(text)
    return told(reading, *at(reading, place))


def told(reading: TextReading, line: int, column: int) -> str:
    found = hover(reading, line, column)
    if found is None:
        return ""
    assert isinstance(found.contents, types.MarkupContent)
    assert found.contents.kind == types.MarkupKind.Markdown
    assert found.range is not None
    assert found.range.start.line <= line <= found.range.end.line
    return found.contents.value


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ("param |k", ["param `k`", "param k: int = 3", "how many layers there are", "= `3`"]),
        ("let to|tal", ["= `14 ms`, that is `0.014 s`", "let total = sum"]),
        ("let b|ig", ["a set of 4 members", "`{embed, attn[0]"]),
        ("twi|ce(2", ["function `twice`", "def twice(x) = 2 * x"]),
        ("2 * |x", ["argument of the function `twice`"]),
        (
            "node em|bed",
            ["work `2 ms`", "params `96 MiB`", "kind `matmul`", "`4 ms` on `slow`", "is read by `attn[0]`"],
        ),
        ("node at|tn", ["3 nodes: `attn[0]`, `attn[1]`, `attn[2]`", "together work `12 ms`"]),
        ("separate |attn[0]", ["node `attn[0]`", "reads `embed`"]),
        ("attn[|i in", ["variable `i`", "in `0..<k`, 3 values"]),
        ("device fa|st", ["2 devices", "memory `", "From devices/nvidia.mtpp of the library", "TFLOP/s"]),
        ("device sl|ow", ["speed `0.5`", "price `1 USD/h`", "memory `8 GiB`"]),
        ("type = |l40s", ["type of device `l40s`", "peak", "of the library"]),
        ("params = |96 MiB", ["`100,663,296 B`: a size", "1 MiB is 1,048,576 B"]),
        ("8 G|iB/s", ["`8,589,934,592 B/s`: a bandwidth"]),
        ("(|parts = forward", ["option `parts`", "One of `both`, `forward`", "language.md#constraints"]),
        ("(wo|rk = twice", ["option `work`", "here `4 ms`"]),
        ("= for|ward", ["`forward` of `parts`"]),
        ("over|flow =", ["option `overflow`", "by default `none`", "One of `none`, `stream`"]),
        ("interconnect sh|ared", ["All devices share one channel"]),
        ("constraint acy|clic", ["can be ordered", "acyclic"]),
        ("constraint f|ew", ["3 rows", "`few[fast[0]]`: `on(attn[0], fast[0]) + on(attn[1], fast[0])"]),
        ("|constraint pin", ["Says what every plan", "pin: 1 node (`embed`)"]),
        ("|pin embed", ["Each of these nodes", "pin: 1 node (`embed`), 2 devices (`fast[0]`, `fast[1]`)"]),
        ("|minimize", ["Says what is to be small"]),
        ("minimize bottle|neck", ["The largest load of a device"]),
        ("|graph {", ["4 nodes and 3 edges"]),
        ("|node embed", ["Declares a node"]),
        ("|sum(work", ["sum(value for … in …)", "here `14 ms`"]),
        ("wor|k(v)", ["work(node)"]),
        ("<= 2 |for", ["Repeats what is before it"]),
        ("k: i|nt", ["A whole number"]),
        ('"devices/|nvidia', ["the file `", "nvidia.mtpp`"]),
    ],
)
def test_what_is_said(place: str, parts: list[str]) -> None:
    found = said(place)
    for part in parts:
        assert part in found, found


@pytest.mark.parametrize("kind", ["shared", "host"])
def test_a_bandwidth_that_is_required(kind: str) -> None:
    """The channel of all devices has no default bandwidth; pairs of devices without a link have none."""
    text = SPEC.replace("interconnect shared", f"interconnect {kind}")
    told = said("(band|width", text)
    assert "It is required." in told
    assert "by default" not in told
    told = said(
        "(band|width", text.replace(f"{kind} (bandwidth = 8 GiB/s, overflow = stream)", "links (bandwidth = 1 GB/s)")
    )
    assert "by default `none`" in told


def test_sizes_in_the_units_that_they_are_written_in() -> None:
    """A spec that mixes MB and GiB has its sizes in hovers as they are written."""
    text = SPEC.replace("params = 96 MiB", "params = 1 MB, output = 96 MiB")
    told = said("node em|bed", text)
    assert "params `1 MB`" in told
    assert "output `96 MiB`" in told
    told = said("device sl|ow", text.replace("memory = 8 GiB", "memory = 16 GB"))
    assert "memory `16 GB`" in told
    assert "memory `8 GiB`" in said("device sl|ow", text)


@pytest.mark.parametrize("place", ["# how |many", 'kind = "mat|mul', "attn[0]|, attn"])
def test_where_nothing_is_said(place: str) -> None:
    found = said(place)
    assert "work" not in found or "attn" in found


def test_a_generator_and_its_parameters_are_told() -> None:
    spec = 'graph from generator regal (nodes = 60, model = "ws")\ntarget vllm\n'
    assert '`reading = "literal"`' in said("generator re|gal", spec)
    assert 'by default `"er"`' in said("mo|del =", spec)
    assert "base graph" in said("mo|del =", spec)
    assert "vLLM" in said("target vl|lm", spec)


def test_words_are_told_in_a_text_that_does_not_parse() -> None:
    spec = "device d (memory = , spe|ed = \n"
    reading = reading_of(spec.replace("|", ""))
    assert "option `speed`" in told(reading, 0, spec.index("|"))
    spec = SPEC + "constraint pin on on |embed\n"
    reading = reading_of(spec.replace("|", ""))
    assert "node `embed`" in told(reading, *reading.lines().position(spec.index("|")))


def test_pages_have_the_address_that_the_client_gives() -> None:
    reading = reading_of(SPEC)
    found = hover(reading, *at(reading, "|minimize"), docs="https://docs.example/mtpp/")
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    assert "(https://docs.example/mtpp/language.html#objectives)" in found.contents.value


@pytest.mark.parametrize("name", HOSTILE)
def test_text_of_a_spec_cannot_leave_its_code_or_be_obeyed(name: str) -> None:
    shown = code(name)
    fence = len(shown) - len(shown.lstrip("`"))
    assert "`" * fence not in shown[fence:-fence]
    assert "\n" not in shown
    lines = block(f"let x = 1\n```\n{name}").split("\n")
    assert lines[-1] == "````"
    assert lines[-1] not in lines[:-1]
    for text in (shown, plain(name)):
        assert not set(text) & set("\u202e\u2028\u2029\x00\x1b\ud800"), text
    assert "<" not in plain(name).replace("\\<", "")


def test_hovers_of_a_hostile_spec(tmp_path: Path) -> None:
    text = hostile_spec()
    reading = reading_of(text, path=tmp_path / "hostile.mtpp")
    assert reading.problem is not None, reading.diagnostics[:3]
    for each in reading.index.occurrences:
        found = told(reading, *reading.lines().position(each.span.start))
        assert not set(found) & set("\u202e\u2028\x1b\x00"), found
        outside = "".join(found.split("`")[::2])
        assert "<script" not in outside


def test_figures_that_are_not_known_are_not_made_up() -> None:
    """In a file that is no whole spec the figures of a type are not read; the declaration is shown in their place."""
    text = "type big (memory = 16 GiB, speed = 2)\ndevice gpu[3] (type = big)\n"
    found = said("device g|pu", text)
    assert "3 devices" in found
    assert "device gpu[3] (type = big)" in found
    assert "no limits" not in found
