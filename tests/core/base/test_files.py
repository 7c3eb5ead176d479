"""Files that are no files, are too large, or are no text: refused at once, wherever a file is read."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtpp_dsl.cli.fmt import format_files
from mtpp_dsl.cli.run import run
from mtpp_dsl.cli.solve import read_plan
from mtpp_dsl.cli.verify import verify_plan
from mtpp_dsl.core.base.files import MAX_FILE_BYTES, parse_json, read_bytes, read_json, read_text
from mtpp_dsl.core.errors import MtppError, UsageError
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.solvers.reductions.fusion_rules import read_rules

REST = "device d\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
SPEC = "graph { node a (work = 1) }\n" + REST


def _spec(folder: Path, text: str) -> Path:
    path = folder / "spec.mtpp"
    path.write_text(text)
    return path


READERS: dict[str, Callable[[Path, Path], object]] = {
    "the spec": lambda _, bad: load(bad),
    "include": lambda folder, bad: load(_spec(folder, f'include "{bad}"\n{SPEC}')),
    "import": lambda folder, bad: load(_spec(folder, f'import "{bad}" (format = moirai)\nminimize makespan\n')),
    "import without format": lambda folder, bad: load(_spec(folder, f'import "{bad}"\nminimize makespan\n')),
    "graph from": lambda folder, bad: load(_spec(folder, f'graph from "{bad}" (format = msr)\n{REST}')),
    "param: path": lambda folder, bad: load(
        _spec(folder, f"param f: path\ngraph from f (format = msr)\n{REST}"), {"f": str(bad)}
    ),
    "times from": lambda folder, bad: load(_spec(folder, f'{SPEC}times from "{bad}"\n')),
    "--start": lambda folder, bad: read_plan(load(_spec(folder, SPEC)), bad),
    "verify": lambda folder, bad: verify_plan(_spec(folder, SPEC), bad, [], [], None),
    "--coarsen": lambda _, bad: read_rules(str(bad)),
    "fmt": lambda _, bad: format_files([bad], check=True),
}
"""Everything that reads a file, given a folder to write into and the file."""


@pytest.fixture(autouse=True)
def _no_hanging() -> Iterator[None]:
    """End the process rather than wait for ever for a pipe that nobody writes to."""
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_at_once(reader: str, tmp_path: Path) -> None:
    """A pipe, an endless device and a folder are refused by what they are, without waiting."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    endless = tmp_path / "endless.json"
    endless.symlink_to("/dev/zero")
    folder = tmp_path / "folder.json"
    folder.mkdir()
    for bad, kind in ((pipe, "a pipe"), (endless, "a device"), (folder, "a folder")):
        with pytest.raises(MtppError, match=f"it is {kind}, and only regular files are read") as refused:
            READERS[reader](tmp_path, bad)
        assert not re.search(r"cannot read (\S+): cannot read \1", str(refused.value))  # said once


@pytest.mark.parametrize("reader", READERS)
def test_a_huge_file_is_refused(reader: str, tmp_path: Path) -> None:
    """A file beyond the limit is refused, with the limit, before it is read to its end."""
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(2**40)  # sparse: it takes no room on the disk
    with pytest.raises(MtppError, match=r"is larger than \d+ MiB, the most that is read of such a file"):
        READERS[reader](tmp_path, huge)


@pytest.mark.parametrize("reader", READERS)
def test_a_bad_byte_has_a_place(reader: str, tmp_path: Path) -> None:
    """A byte that is not UTF-8 is reported with its line and its column, which counts characters."""
    bad = tmp_path / "bad.json"
    bad.write_bytes("graph {\r\n  nöde ".encode() + b"\xff\n")
    with pytest.raises(MtppError, match=r"bad\.json:2:8: the byte 0xff is not UTF-8"):
        READERS[reader](tmp_path, bad)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"SQLite format 3\0\xff", "a SQLite database"),
        (b"PK\x03\x04\xff", "a zip archive"),
        (b"\0\1\xff", "a binary file"),
        ("mtpp 1".encode("utf-16"), "text in UTF-16"),
    ],
)
@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("solve FILE", "the text of a spec"),
        ("check FILE", "the text of a spec"),
        ("fmt FILE", "the text of a spec"),
        ("explain FILE", "the text of a spec"),
        ("diff FILE FILE", "JSON"),
        ("report FILE", "JSON"),
        ("solve SPEC --start FILE", "JSON"),
        ("verify SPEC FILE", "JSON"),
        ("bench run FILE", "TOML"),
        ("bench page FILE", "a description of a page, in TOML that begins with mtpp-page = 1,"),
        ("train FILE -o x", "the text of a spec"),
    ],
)
def test_files_that_are_no_text(
    content: bytes, kind: str, command: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that is given a file of another sort says what it is and what is wanted, without Python's words."""
    file, spec = tmp_path / "file", tmp_path / "spec.mtpp"
    file.write_bytes(content)
    spec.write_text(
        "mtpp 1\ngraph { node a (work = 1 ms) }\ndevice gpu\n"
        "interconnect shared (bandwidth = 1 GiB/s)\nminimize bottleneck\n"
    )
    assert run(command.replace("FILE", str(file)).replace("SPEC", str(spec)).split()) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{kind}, where {wanted} is expected" in said
    assert "codec" not in said


def test_files_that_grow_when_read(tmp_path: Path) -> None:
    """What says that it is empty is not believed: no more than the limit is read."""
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(UsageError, match="is larger than 0 KiB"):
        read_bytes(path, 4)
    if Path("/proc/self/maps").exists():
        with pytest.raises(UsageError, match="is larger than"):
            read_bytes("/proc/self/maps", 100)


def test_text(tmp_path: Path) -> None:
    """A byte order mark is dropped and line ends become newlines; columns do not count the mark."""
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc")
    assert read_text(path) == "a\nb\nc"
    path.write_bytes(b"\xef\xbb\xbfa\xff")
    with pytest.raises(UsageError, match=":1:2: the byte 0xff"):
        read_text(path)
    with pytest.raises(UsageError, match="cannot read"):
        read_text("a\0b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 10**6, "nested too deeply"),
        (b"[" + b"{}," * 4_000_001 + b"0]", "4,000,001 JSON objects; at most 4,000,000 are read"),
        (b"[" + b"0," * 16_000_001 + b"0]", "16,000,002 JSON values; at most 16,000,000 are read"),
        (b'{"a": 1, "a": 2}', "gives 'a' twice"),
        (b"1" * 5000, "not JSON"),
        (b'{"a": ', "w.json:1:7: not JSON"),
    ],
)
def test_json_beyond_a_limit(text: bytes, message: str) -> None:
    """JSON that would not fit into memory, or that cannot be read, is refused with the reason."""
    with pytest.raises(UsageError, match=message):
        parse_json(text, "w.json")


def test_json_within_the_limits(tmp_path: Path) -> None:
    """What is JSON is read."""
    path = tmp_path / "w.json"
    path.write_text('{"a": [1, 2.5, null, {"b": "ä"}]}', encoding="utf-8")
    assert read_json(path) == {"a": [1, 2.5, None, {"b": "ä"}]}
    assert path.stat().st_size < MAX_FILE_BYTES


def test_what_is_wrong_is_said_once() -> None:
    """The refusal of a device is not the reason of another refusal."""
    with pytest.raises(UsageError) as refused:
        read_bytes("/dev/zero", 10)
    assert str(refused.value).count("cannot read") == 1
