"""Files of every format that are damaged or made to harm: refused in words, at once, and nothing else is opened."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpp_dsl.cli.run import run
from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.exchange.formats.reading import read as read_graph_file
from tests.exchange.formats.hostile_files import BESIDE, BOMBS, SEEDS, edited, onnx_model, onnx_node

KNOWN = set(registry.available(registry.FORMATS))
NEEDS = {"onnx": "onnx"}
"""The packages that formats need."""
MOST_SECONDS = 10.0
MOST_BYTES = 2**30
OPENED: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if OPENED is not None and event == "open" and isinstance(arguments[0], str):
        OPENED.append(arguments[0])


sys.addaudithook(_note)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """Give the paths that are opened from now on."""
    global OPENED
    OPENED = []
    yield OPENED
    OPENED = None


def prepared(name: str, folder: Path) -> Path:
    """Return where a file of a format is to stand, with what stands beside it; skip formats that cannot be read."""
    if name not in KNOWN:
        pytest.skip(f"there is no format {name}")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"the extra {name} is not installed")
    for other, data in BESIDE.get(name, {}).items():
        (folder / other).write_bytes(data)
    return folder / SEEDS[name][0]


def refused(name: str, path: Path) -> str:
    """Return why a file is refused; "" where it is read. Nothing but an error of ours may come."""
    try:
        read_graph_file(path, name)
    except MtppError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", SEEDS)
def test_cut_off_files_are_refused(name: str, tmp_path: Path) -> None:
    """What is left of a file that breaks off is refused in a few words, wherever it breaks off."""
    path, data = prepared(name, tmp_path), SEEDS[name][1]()
    path.write_bytes(data)
    assert refused(name, path) == ""
    lengths = sorted({*range(0, len(data), max(1, len(data) // 150)), *range(min(40, len(data)))})
    for length in lengths:
        path.write_bytes(data[:length])
        reason = refused(name, path)
        assert len(reason) < 500
        if name != "csv" and not _is_whole(data, length):
            assert reason, f"{length} of {len(data)} bytes were read as a whole file"


def _is_whole(data: bytes, length: int) -> bool:
    """Return whether what is missing says nothing: blanks, or fields of a message whose rest stands for itself."""
    return not data[length:].strip() or data[:2] == b"\x08\x08"


@pytest.mark.parametrize("name", SEEDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=200)
@given(source=st.data())
def test_damaged_files_are_read_or_refused(name: str, source: st.DataObject, tmp_path: Path) -> None:
    """A file with some bytes changed is read, or refused by an error of ours with a message that fits on a screen."""
    path = prepared(name, tmp_path)
    path.write_bytes(source.draw(edited(SEEDS[name][1]())))
    begun = time.process_time()
    assert len(refused(name, path)) < 1_000
    assert time.process_time() - begun < MOST_SECONDS


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused(bomb: str, tmp_path: Path) -> None:
    """Files made to cost time or memory are refused with the limit, before either is spent."""
    name, called, make, message = BOMBS[bomb]
    prepared(name, tmp_path)
    path = tmp_path / called
    path.write_bytes(make())
    begun, held = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reason = refused(name, path)
    assert time.process_time() - begun < MOST_SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) * 1024 < MOST_BYTES
    assert reason
    assert len(reason) < 500
    assert message in reason


@pytest.mark.parametrize("name", SEEDS)
def test_nothing_else_is_opened(name: str, tmp_path: Path, opened: list[str]) -> None:
    """Reading a file opens it, what stands beside it by the format's own rules, and modules of Python."""
    path = prepared(name, tmp_path)
    path.write_bytes(SEEDS[name][1]())
    refused(name, path)
    opened.clear()
    refused(name, path)
    allowed = {str(path), *(str(tmp_path / other) for other in BESIDE.get(name, {}))}
    assert [other for other in opened if other not in allowed and not other.endswith((".py", ".pyc", ".so"))] == []


@pytest.mark.parametrize("name", SEEDS)
def test_control_characters_reach_no_terminal(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names with characters that terminals obey are refused, or shown as what they are."""
    path = prepared(name, tmp_path)
    data = SEEDS[name][1]()
    if name == "onnx":
        data = onnx_model(onnx_node("Re\x1blu", "x", "\x1b]0;y\x07"), output="\x1b]0;y\x07")
    else:
        data = data.replace(b"a", b"\x1b[31ma\x07", 400 if name in ("csv", "dot") else 3)
    path.write_bytes(data)
    spec = tmp_path / "spec.mtpp"
    spec.write_text(
        f'graph from "{path.name}" (format = {name})\ndevice d[2]\ninterconnect shared\nminimize bottleneck\n'
    )
    run(["check", str(spec)])
    shown = capfd.readouterr()
    assert not {"\x1b", "\x07"} & {*shown.out, *shown.err}
