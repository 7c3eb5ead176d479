"""``mtpp check --json`` and ``--fix``: messages for programs, and changes that leave a spec better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.language.lowering.lower import analyse
from tests.tree import ROOT

SPEC = """# a spec
graph {
  node embed (work = 3 ms)   # keep
  node head (work = 3 ms)
  edge embed -> head
}
device gpu[4]
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
"""


def told(path: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int = 2) -> Any:
    """Return what is printed as JSON, and nothing else."""
    assert run(["check", str(path), "--json", *options]) == code
    out, err = capsys.readouterr()
    assert err == ""
    data = json.loads(out)
    jsonschema.validate(data, json.loads((ROOT / "mtpp_dsl" / "language" / "words" / "diagnostics.json").read_text()))
    return data


def test_a_sound_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No messages, exit code 0."""
    path = tmp_path / "a.mtpp"
    path.write_text(SPEC)
    assert told(path, capsys, code=0) == {
        "schema": 1,
        "spec": str(path),
        "sound": True,
        "errors": 0,
        "warnings": 0,
        "diagnostics": [],
        "fixed": [],
    }


def test_places_and_fixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines and columns count from 1, columns in code points; the end is behind the last character."""
    path = tmp_path / "a.mtpp"
    path.write_text(SPEC.replace("edge embed", 'node "\U0001f600" (work = 1 ms) edge embd'))
    data = told(path, capsys)
    (error,) = data["diagnostics"]
    where = {"start": {"line": 5, "column": 31}, "end": {"line": 5, "column": 35}}
    assert error["code"] == "MTPP-E101"
    assert error["severity"] == "error"
    assert (error["file"], error["range"]) == (str(path), where)
    assert error["included_from"] == []
    assert error["fix"] == {
        "title": "write 'embed' in place of 'embd'",
        "safe": True,
        "edits": [{"file": str(path), "range": where, "text": "embed"}],
    }


def test_second_places_and_includes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second place has a file and a range as well, and so has the include that brought a file."""
    path, other = tmp_path / "a.mtpp", tmp_path / "other.mtpp"
    path.write_text('include "other.mtpp"\n' + SPEC.partition("}\n")[2])
    other.write_text("graph {\n  node a (work = 1 ms)\n  node a (work = 2 ms)\n}\n")
    data = told(path, capsys)
    (error,) = data["diagnostics"]
    assert error["code"] == "MTPP-E102"
    assert error["places"][0]["message"] == "first declared here"
    assert error["places"][0]["range"]["start"] == {"line": 2, "column": 8}
    assert error["included_from"][0]["range"]["start"] == {"line": 1, "column": 9}


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Is a message without a place."""
    (error,) = told(tmp_path / "none.mtpp", capsys)["diagnostics"]
    assert (error["code"], error["file"], error["range"]) == ("MTPP-E701", None, None)


def test_fixes_keep_everything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Comments, spaces, line ends and byte order marks stay; what was changed is said; included files are changed."""
    path, other = tmp_path / "a.mtpp", tmp_path / "other.mtpp"
    wrong = SPEC.replace("edge embed", "edge embd").replace("bandwidth", "bandwidht")
    good = 'include "other.mtpp"\n' + SPEC
    path.write_bytes(b"\xef\xbb\xbf" + ('include "other.mtpp"\n' + wrong).replace("\n", "\r\n").encode())
    other.write_bytes(b"constraint  contiguous (part = both)   # as it is\n")
    assert run(["check", "--fix", str(path)]) == 0
    err = capsys.readouterr().err
    assert "a.mtpp:6:8: write 'embed' in place of 'embd'" in err
    assert err.count("fixed ") == 3
    assert path.read_bytes() == b"\xef\xbb\xbf" + good.replace("\n", "\r\n").encode()
    assert other.read_bytes() == b"constraint  contiguous (parts = both)   # as it is\n"


@pytest.mark.parametrize(
    "text",
    [
        SPEC.replace("edge embed", "edge embex"),  # may be another node
        SPEC.replace("device gpu[4]", "device gpu[4"),
        SPEC + "constraint pin embed on gpu[7]\n",
        SPEC + "let unused = 3\n",
    ],
)
def test_what_is_not_safe_stays(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fix that may not be what was meant is proposed, and not made."""
    path = tmp_path / "a.mtpp"
    path.write_text(text)
    run(["check", "--fix", str(path)])
    assert "fixed" not in capsys.readouterr().err
    assert path.read_text() == text


def test_fixes_with_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was changed is listed with its place in the text as it was."""
    path = tmp_path / "a.mtpp"
    path.write_text(SPEC.replace("edge embed", "edge embd"))
    data = told(path, capsys, "--fix", code=0)
    assert data["sound"]
    (fixed,) = data["fixed"]
    assert fixed["title"] == "write 'embed' in place of 'embd'"
    assert fixed["range"]["start"] == {"line": 5, "column": 8}
    assert analyse(path).problem is not None
