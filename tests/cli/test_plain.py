"""Output in encodings that lack most characters: plain ones in their place, never an error."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtpp_dsl.cli.progress import ProgressWriter
from mtpp_dsl.cli.run import run
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.language.lowering.lower import load
from tests.tree import ROOT

SPEC = """
graph { node "größe" (work = 1 ms, output = 1 MB) node "→ 節" (work = 2 ms, output = 1 MB)
edge "größe" -> "→ 節" }
device "d"[2]
interconnect LINKS
minimize OBJECTIVE
""".replace('"d"', "d")
BOTTLENECK = SPEC.replace("LINKS", "shared (bandwidth = 1 GB/s)").replace("OBJECTIVE", "bottleneck")
MAKESPAN = SPEC.replace("LINKS", "links (bandwidth = 1 GB/s)").replace("OBJECTIVE", "makespan")


class Streams:
    """Takes the place of stdout and stderr, in an encoding, and says what was written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
        self.encoding = encoding
        self.out, self.err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
        monkeypatch.setattr(sys, "stdout", self.out)
        monkeypatch.setattr(sys, "stderr", self.err)

    def read(self) -> tuple[str, str]:
        self.out.flush(), self.err.flush()
        return tuple(stream.buffer.getvalue().decode(self.encoding) for stream in (self.out, self.err))  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "cp1252", "cp932"])
def test_every_command(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command says what it says in any encoding, with the bars and the names."""
    one, two, answer = (str(tmp_path / name) for name in ("one.mtpp", "two.mtpp", "größe.json"))
    Path(one).write_text(BOTTLENECK, encoding="utf-8")
    Path(two).write_text(MAKESPAN, encoding="utf-8")
    streams = Streams(monkeypatch, encoding)
    assert run(["solve", one, "--method", "single-device", "--json", answer, "-v"]) == 0
    assert run(["solve", two, "--method", "heft"]) == 0
    assert run(["solve", two, "--method", "häft"]) == 2
    assert run(["verify", one, answer]) == 0
    assert run(["check", one]) == 0
    assert run(["fmt", "--check", one]) in (0, 1)
    assert run(["methods"]) == 0
    assert run(["solvers"]) == 0
    assert run(["--help"]) == 0
    assert run(["check", str(tmp_path / "→.mtpp")]) == 2
    out, err = streams.read()
    assert "critical path" in out
    if encoding == "ascii":
        assert "####" in out
        assert "gr\\xf6\\xdfe" in out
        assert "->.mtpp" in err
    assert ("größe" in out) == (encoding in ("latin-1", "cp437", "cp1252"))


def test_json_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON on stdout escapes what the encoding lacks, so that it reads back as the same names."""
    spec = tmp_path / "one.mtpp"
    spec.write_text(BOTTLENECK, encoding="utf-8")
    streams = Streams(monkeypatch, "ascii")
    assert run(["solve", str(spec), "--method", "single-device", "--json", "-"]) == 0
    assert set(json.loads(streams.read()[0])["plan"]["assignment"]) == {"größe", "→ 節"}


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A file whose name is no UTF-8 is solved, named in messages, and recorded."""
    spec, answer = os.fsencode(tmp_path) + b"/n\xff.mtpp", tmp_path / "a.json"
    try:
        Path(os.fsdecode(spec)).write_text(BOTTLENECK, encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes no such names")
    call = [sys.executable, "-m", "mtpp_dsl", "solve", spec, "--method", "single-device", "--json", str(answer)]
    done = subprocess.run(call, capture_output=True, check=False, env={**os.environ, "PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stderr
    assert "n\N{REPLACEMENT CHARACTER}.mtpp".encode() in done.stdout
    assert json.loads(answer.read_text(encoding="utf-8"))["spec"]["path"].endswith("n\udcff.mtpp")


@pytest.mark.skipif(not str(ROOT).isascii(), reason="in that locale Python finds no package below this folder")
def test_locale_without_utf8(tmp_path: Path) -> None:
    """In the C locale without UTF-8 mode, on a terminal or not, nothing ends in a traceback."""
    spec = tmp_path / "one.mtpp"
    spec.write_text(MAKESPAN, encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environment.pop("PYTHONIOENCODING", None)
    call = [sys.executable, "-X", "utf8=0", "-m", "mtpp_dsl", "solve", str(spec), "--method", "heft"]
    done = subprocess.run(call, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"###" in done.stdout
    assert b"Traceback" not in done.stderr


def test_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live line of a terminal without UTF-8 turns a spinner of plain characters."""
    streams = Streams(monkeypatch, "ascii")
    monkeypatch.setattr(streams.err, "isatty", lambda: True)
    assert run(["--version"]) == 0
    watcher = ProgressWriter(load(BOTTLENECK), limit=1.0, quiet=False, verbose=False)
    progress = Progress(watcher)
    with watcher.shown():
        progress.say("größe → 節")
        watcher.write("a line above …")
    assert "a line above ..." in streams.read()[1]
