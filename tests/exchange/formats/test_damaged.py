"""Damaged files of every format that is read here: each is read or refused, whatever was changed in it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.formats.reading import read
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.exchange.model.model_json import text_of
from tests.small_models import gpt, llama

ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**70),
    st.floats(),
    st.sampled_from(
        ["", "x" * 2000, "a\x1bb", "\ud800", "1e999", "9" * 5000, "batch**8", "layer", "((", "inf", "2 ms"]
    ),
    st.sampled_from([[], {}, [[]], {"a": {}}, [0] * 50, {"prefill": 1}]),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values within JSON data."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(found for key, value in inner for found in places(value, (*path, key)))]


def graph_text() -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder, "g.json")
        registry.load(registry.FORMATS, "graph")().write(Workload(gpt(1).graph(group_by="layer")), path)
        return path.read_text()


TEXTS = {"model": text_of(llama(1)), "graph": graph_text()}


@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
def test_json(name: str, data: st.DataObject) -> None:
    file = json.loads(TEXTS[name])
    found = [path for path in places(file) if path]
    for _ in range(data.draw(st.integers(1, 3))):
        *most, last = data.draw(st.sampled_from(found))
        at = file
        try:
            for key in most:
                at = at[key]
            at[last] = copy.deepcopy(data.draw(ODD))
        except (KeyError, IndexError, TypeError):
            continue
    read_or_refused("net.json", json.dumps(file), name)


DOT = (
    'digraph "n" { node [work="1 ms"] a:p [label="x\\"y", params="3 B"]; subgraph { a -> {b c} } b -> c [size="2 kB"] }'
)
NODES = 'name,work (ms),time on cpu,color,kind\na,1,inf,3,"x, y"\nb,2 s,4,,\n'


@pytest.mark.parametrize(("name", "text"), [("net.dot", DOT), ("net.nodes.csv", NODES)])
@given(data=st.data())
def test_text(name: str, text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        at, to = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        piece = data.draw(
            st.one_of(st.text(max_size=3), st.sampled_from([text[at:to] * 2, '"', "{", "}", "[", "->", "\n"]))
        )
        text = text[:at] + piece + text[min(to, at + 9) :]
    read_or_refused(name, text, None)


def read_or_refused(name: str, text: str, format_name: str | None) -> None:
    """Hold that a file is read or refused with a short message that names it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if "nodes" in name:
            path.with_name("net.edges.csv").write_text("source,target\na,b\n")
        said = ""
        try:
            assert read(path, format_name).graph.n
        except UsageError as error:
            said = str(error)
        assert not said or "net." in said
        assert len(said) < 1500
