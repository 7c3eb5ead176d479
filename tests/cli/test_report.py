"""``mtpp report``, ``mtpp solve --html`` and ``--what-if``: files, refusals, and one page for both ways."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "quickstart.mtpp"
IMPOSSIBLE = """
graph { node a (work = 2 ms, params = 3 GB) node b (work = 1 ms, params = 3 GB) edge a -> b }
device gpu[2] (memory = 4 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint memory
constraint colocate a, b
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of one's own with a spec."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, tmp_path / "spec.mtpp")
    return tmp_path


def solved(*more: str) -> int:
    return run(["solve", "spec.mtpp", "--quiet", "--json", "answer.json", *more])


def test_page_of_solve_and_of_report_are_one(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The page of an answer is the same at once and later, beside the answer, where -o says, or on stdout."""
    assert solved("--html", "plan.html") == 0
    page = Path("plan.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert capfd.readouterr().out == ""
    assert run(["report", "answer.json"]) == 0
    assert capfd.readouterr().out == "wrote answer.html\n"
    assert Path("answer.html").read_text(encoding="utf-8") == page
    assert run(["report", "answer.json", "-o", "-", "-q"]) == 0
    assert capfd.readouterr().out == page
    assert not list(here.glob("-*"))


def test_report_refuses_what_has_changed(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An answer to another text is not shown as one to this; --spec says where the spec is now."""
    assert solved() == 0
    Path("moved.mtpp").write_bytes(Path("spec.mtpp").read_bytes())
    Path("spec.mtpp").write_text("# changed\n" + EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    assert run(["report", "answer.json"]) == 2
    assert "solve it again" in capfd.readouterr().err
    assert not Path("answer.html").exists()
    assert run(["report", "answer.json", "--spec", "moved.mtpp", "-q"]) == 0
    assert "moved.mtpp" in Path("answer.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["solve", "spec.mtpp", "--what-if", "1s"], "say where to write that, --html FILE"),
        (["solve", "spec.mtpp", "--html", "p.html", "--what-if", "none"], "say how long"),
        (["solve", "spec.mtpp", "--html", "p.html", "--what-if", "soon"], "is not a duration"),
        (["solve", "spec.mtpp", "--html", "missing/p.html"], "missing"),
        (["solve", "spec.mtpp", "--html", "p.html", "--sweep", "k=2,3"], "--html is for one problem"),
        (["solve", "spec.mtpp", "--html", "p.html", "--pareto", "bottleneck,latency", "--what-if", "1s"], "--what-if"),
        (["report", "missing.json"], "missing.json"),
        (["report", "spec.mtpp"], "spec.mtpp"),
        (["report", "answer.json", "--point", "1"], "no front"),
    ],
)
def test_calls_that_make_no_page(here: Path, call: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    """What cannot be done is refused with the reason, before anything is solved or written."""
    Path("answer.json").write_text(json.dumps({"plan": None, "spec": {}}), encoding="utf-8")
    assert run(call) == 2
    assert said in capfd.readouterr().err
    assert not list(here.glob("*.html"))


def test_what_if_is_solved_and_shown(here: Path) -> None:
    """The page has each changed problem with its plan and its bound, and what constraints cost beside their lines."""
    assert solved("--html", "plan.html", "--what-if", "20s") == 0
    page = Path("plan.html").read_text(encoding="utf-8")
    for shown in ("one more device like", "twice the bandwidth", "a quarter more memory", ">14\xa0% lower<"):
        assert shown in page
    assert 'href="#explained-constraints"' in page


def test_page_of_an_infeasible_answer(here: Path) -> None:
    """An answer without a plan has a page as well, and with time the lines that clash."""
    Path("spec.mtpp").write_text(IMPOSSIBLE, encoding="utf-8")
    assert solved("--html", "plan.html") == 3
    assert "Why no plan exists" in Path("plan.html").read_text(encoding="utf-8")
    assert run(["report", "answer.json", "-q", "--what-if", "10s"]) == 0
    page = Path("answer.html").read_text(encoding="utf-8")
    assert "dropping either of them resolves the conflict" in page
    assert "spec.mtpp:7" in page


def test_fronts_have_pages(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A front is a page of points, and each point a page of its own."""
    call = ["solve", "spec.mtpp", "-q", "--pareto", "bottleneck,latency", "--points", "3", "--json", "front.json"]
    assert run([*call, "--html", "front.html"]) == 0
    page = Path("front.html").read_text(encoding="utf-8")
    assert "bottleneck against latency" in page
    assert run(["report", "front.json", "-q", "-o", "again.html"]) == 0
    assert Path("again.html").read_text(encoding="utf-8") == page
    assert run(["report", "front.json", "-q", "--point", "1"]) == 0
    assert "Loads of the devices" in Path("front-1.html").read_text(encoding="utf-8")
    assert run(["report", "front.json", "-q", "--plot", "front.svg", "--plot", "front:again.svg"]) == 0
    assert Path("front.svg").read_bytes() == Path("again.svg").read_bytes()
    assert run([*call, "--plot", "solved.svg"]) == 0
    assert Path("solved.svg").read_bytes() == Path("front.svg").read_bytes()
    assert run(["report", "front.json", "--plot", "graph:x.svg"]) == 2
    assert "choose it by --point" in capfd.readouterr().err
    assert run(["report", "front.json", "--what-if", "1s"]) == 2
    assert "choose it by --point" in capfd.readouterr().err
    front = json.loads(Path("front.json").read_text(encoding="utf-8"))
    point = front["front"][0]
    other = {**point, "spec": {**point["spec"], "scenario": "other"}}
    for wrong, said in (
        ({"schema": 2, "front": [point]}, "is no front of mtpp"),
        ({**front, "complete": "yes"}, "is no front of mtpp"),
        ({**front, "front": [point, point]}, "point 2: it is out of order, or no better than point 1"),
        ({**front, "front": [point, other]}, "point 2: it is an answer to another spec than the first"),
    ):
        Path("wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        assert run(["report", "wrong.json"]) == 2
        assert said in " ".join(capfd.readouterr().err.split())
