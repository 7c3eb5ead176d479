"""No command writes onto a file that it reads, nor two outputs onto one file: files are compared by what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run

FILES = {
    "part.mtpp": "device d[2]\n",
    "nodes.csv": "name,work (ms)\na,1\nb,2\n",
    "edges.csv": "source,target\na,b\n",
    "spec.mtpp": 'mtpp 1\ninclude "part.mtpp"\ngraph from "nodes.csv"\ninterconnect shared (bandwidth = 1 GB/s)\n',
    "links.csv": "from,to,bandwidth (GB/s),latency (us)\na,b,1,1\n",
    "sweep.toml": 'specs = ["spec.mtpp"]\nmethods = ["single-device"]\n',
}
ONE = ["solve", "spec.mtpp", "--method", "single-device", "-q"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Go to a folder with a spec, its data, an answer to it, and other names of the spec."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    with Path("spec.mtpp").open("a") as file:
        file.write("minimize bottleneck\n")
    Path("soft.mtpp").symlink_to("spec.mtpp")
    Path("hard.mtpp").hardlink_to("spec.mtpp")
    assert run([*ONE, "--json", "answer.json"]) == 0
    capsys.readouterr()
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "arguments",
    [
        [*ONE, "--json", "spec.mtpp"],
        [*ONE, "--json", "soft.mtpp"],
        [*ONE, "--json", "hard.mtpp"],
        [*ONE, "--json", "part.mtpp"],
        [*ONE, "--html", "edges.csv"],
        [*ONE, "--checkpoint", "nodes.csv"],
        [*ONE, "--trace", "spec.mtpp"],
        [*ONE, "--start", "answer.json", "--json", "answer.json"],
        [*ONE, "--sweep", "seed=1..2", "--json", "spec.mtpp"],
        ["report", "answer.json", "-o", "answer.json"],
        ["report", "answer.json", "-o", "part.mtpp"],
        ["explain", "spec.mtpp", "answer.json", "--json", "answer.json"],
        ["explain", "spec.mtpp", "--json", "spec.mtpp"],
        ["diff", "answer.json", "answer.json", "--json", "answer.json"],
        ["export", "answer.json", "--to", "dot", "-o", "spec.mtpp"],
        ["convert", "nodes.csv", "nodes.csv"],
        ["import", "links", "links.csv", "-o", "links.csv"],
    ],
    ids=" ".join,
)
def test_inputs_stay(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command is refused before its work, by a message that names the file; every file is as it was."""
    before = contents(folder)
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"cannot write {arguments[-1]}: this command reads that file" in err
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["--json", "s", "--html", "s"], "two outputs would be written to s; name"),
        (["--json", "s.json", "--checkpoint", "./s.json"], "two outputs would be written to s.json; name"),
        (["--json", "to/s", "--html", "s"], "two outputs would be written to s, which is to/s; name"),
        (["--json", "soft", "--plot", "gap:there.svg"], "two outputs would be written to there.svg, which is soft"),
    ],
    ids=str,
)
def test_no_two_outputs_are_one_file(
    outputs: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by one name nor by two, whether the file is there already or not."""
    Path("to").symlink_to(".")
    Path("there.svg").touch()
    Path("soft").symlink_to("there.svg")
    before = sorted(path.name for path in folder.iterdir())
    assert run([*ONE, *outputs]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_what_may_be_written_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """Two outputs may go to the null device, and a checkpoint to the plan that it goes on from."""
    assert run([*ONE, "--json", "/dev/null", "--html", "/dev/null"]) == 0
    assert run(["report", "answer.json", "-o", "page.html"]) == 0
    assert run([*ONE, "--json", "answer.json"]) == 0
    assert run([*ONE, "--start", "answer.json", "--checkpoint", "answer.json"]) == 0
    assert capsys.readouterr().err == ""
