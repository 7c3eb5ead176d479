"""No input, however malformed, ends in anything but a located error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.errors import MtppError, SpecError
from mtpp_dsl.language.lowering.lower import load
from tests.own_time import within

SPEC = """
mtpp 1
param k: int = 2 in 1..8
graph {
  node a (work = 2 ms, params = 1 MiB, output = 1 MiB, kind = "conv")
  node b[i in 0..2] (work = (i + 1) * 1 ms, output = 1 MiB)
  edge a -> b[0] -> b[1] -> b[2]
  edge a -> b[i] for i in 1..2 if i != 1
}
let heavy = { v in nodes if work(v) >= 2 ms and kind(v) == "conv" or v in b }
device gpu[k] (memory = 1 GiB, speed = 1.5)
interconnect shared (bandwidth = 8 GiB/s, overflow = stream)
minimize bottleneck
constraint acyclic
constraint memory on gpu[0]
constraint pin a on gpu[0], gpu[1]
constraint few: forall d in devices if d in gpu: sum(on(v, d) for v in heavy) <= 2 + 1/2 * count(heavy)
constraint colocate b[i], b[i + 1] for i in 0..1
time b[i] , a on gpu at batch p = p * work(a) for i in 0..2 for p in [ 1, 4 ]
times from "nowhere.csv" (unit = ms)
constraint break symmetry by time
"""
TOKENS = (
    SPEC.replace("(", " ( ").replace(")", " ) ").replace("[", " [ ").replace("]", " ] ").replace(",", " , ").split()
)
SOUP = st.lists(
    st.sampled_from([*TOKENS, '"', "#", "((((", "9" * 400, "1e999", "\x00", "é", "..", "-" * 50]), max_size=60
)


def survives(text: str) -> None:
    """Read a text; only our own errors may come out, and each must have something to say."""
    said = "sound"
    try:
        load(text + "\n")
    except MtppError as error:
        said = str(error)
    assert said


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Arbitrary characters."""
    survives(text)


@given(SOUP)
def test_token_soup(words: list[str]) -> None:
    """The language's own words in any order."""
    survives(" ".join(words))


@settings(max_examples=200)
@given(st.data())
def test_mutations(data: st.DataObject) -> None:
    """A sound spec with words dropped, doubled, swapped or replaced: most of it still makes sense."""
    words = SPEC.split(" ")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        match data.draw(st.integers(0, 3)):
            case 0:
                del words[at]
            case 1:
                words.insert(at, words[at])
            case 2:
                other = data.draw(st.integers(0, len(words) - 1))
                words[at], words[other] = words[other], words[at]
            case _:
                words[at] = data.draw(st.sampled_from(TOKENS))
    survives(" ".join(words))


HUGE = [
    "let a = 0..999999999999\n",
    "let a = 10" + " * 10" * 500,
    "let a = 9" + "9" * 5000,
    "let a = " + "[" * 90 + "]" * 90,
    "let a = { v in 0..1000000 if count({ w in 0..1000000 if w < v }) > 3 }\n",
    "graph { node a[i in 0..999999] edge a[i] -> a[j] for i in 0..999999 for j in 0..999999 }",
    "device d[99999999]\ngraph { node a }",
    "\n".join(f"let x{i} = x{i + 1} + 1" for i in range(3000)) + "\nlet x3000 = 1",
    "constraint c: forall i in 0..1000000: forall j in 0..1000000: i <= j",
    "graph { node a }\n" * 2000,
]


@pytest.mark.parametrize("text", HUGE, ids=[text[:40] for text in HUGE])
def test_reading_ends(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Huge numbers, ranges, nests and chains of definitions end in an error, soon."""
    monkeypatch.setattr("mtpp_dsl.language.values.complaints.MAX_STEPS", 10_000)
    rest = "graph { node z }\n" if "graph" not in text else ""
    device = "device q\n" if "device" not in text else ""
    with pytest.raises(SpecError):
        load(f"{rest}{device}interconnect shared (bandwidth = 1)\nminimize bottleneck\n{text}\nconstraint x: a <= 1")


def test_files_that_are_no_specs(tmp_path: Path) -> None:
    """Bytes, an empty file and a spec named as its own workload are errors with a place or a name."""
    for content in (b"", b"\x00\x01\x02", b"\xef\xbb\xbf", b'mtpp 1\nimport "x.mtpp"\n', b'import "../"\n'):
        (tmp_path / "x.mtpp").write_bytes(content)
        with pytest.raises(MtppError):
            load(tmp_path / "x.mtpp")


def test_long_chains_have_their_place(tmp_path: Path) -> None:
    """What is nested too deeply is said where it is: a chain of includes, and one of conditions."""
    for i in range(130):
        (tmp_path / f"c{i}.mtpp").write_text(f'include "c{i + 1}.mtpp"\n')
    with pytest.raises(SpecError) as caught:
        load(tmp_path / "c0.mtpp")
    (found,) = caught.value.diagnostics
    assert "files include each other more than 100 deep" in found.message
    assert found.span is not None
    assert found.span.source.name.endswith("c100.mtpp")
    assert len(str(found).splitlines()) < 12
    chain = "if 1 < 2 then " * 3000 + "1 ms" + " else 1 ms" * 3000
    with pytest.raises(SpecError) as caught:
        load(f"mtpp 1\ngraph {{\n  node a (work = {chain})\n}}\n")
    assert str(caught.value).startswith("<text>:3:")


def test_links_that_lead_to_themselves(tmp_path: Path) -> None:
    """One beside a spec is no file that could have been meant, and has no near name but its own."""
    (tmp_path / "nope.mtpp").symlink_to("nope.mtpp")
    (tmp_path / "loop.json").symlink_to("loop.json")
    for text, said in (
        ('include "nop.mtpp"', "there is no file 'nop.mtpp'"),
        ('graph from "loop.json"', "loop.json: it is a link that leads to no file"),
    ):
        spec = tmp_path / "a.mtpp"
        spec.write_text(f"{text}\ndevice d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n")
        with pytest.raises(SpecError) as caught:
            load(spec)
        assert said in str(caught.value)
        assert "did you mean 'loop.json'" not in str(caught.value)


def test_a_name_of_too_many_parts_is_refused_at_once() -> None:
    """Looking up each of the paths that it begins with would take a square of them."""
    for text in ("graph {{ node a (work = {0}) }}", "graph {{ node a (work = 1) }}\nconstraint pin {0} on d"):
        spec = (
            text.format("a" + ".b" * 10_000) + "\ndevice d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
        )
        with within(2.0, "reading"), pytest.raises(SpecError, match="a name has 10,000 parts; at most 200 are read"):
            load(spec)
