"""``%%mtpp`` and ``%mtpp``: their options, what they leave in variables, and mistakes without tracebacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mtpp_dsl
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.show.notebook.magics import CellError, completed, run_cell, run_line

SPEC = """
param k: int = 2
graph from generator chain (nodes = 6)
device d[k]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""


def test_cells_are_solved() -> None:
    """The result is returned, and kept in a variable; the plan of a variable is a start."""
    variables: dict[str, Any] = {}
    found = run_cell(variables, "--method ideals --time-limit 20s -o result", SPEC)
    assert isinstance(found, Result)
    assert found.status == "optimal"
    assert variables["result"] is found
    assert run_cell(variables, "-q --method local-search --start result -D k=2 -o other --seed 3", SPEC) is None
    assert variables["other"].value <= found.value + 1e-9
    assert variables["other"].seed == 3


def test_answers_name_lines_of_the_cell() -> None:
    """What clashes is said by its line as the notebook counts it, in the answer and in what explains it."""
    spec = SPEC.replace("device d[k]", "device d[k] (memory = 1)") + "constraint memory\n"
    number = f"%%mtpp\n{spec}".splitlines().index("constraint memory") + 1
    found = run_cell({}, "", spec)
    assert found is not None
    assert f"memory (line {number} of the cell)" in (found._repr_html_() or "")
    assert f"line {number} of the cell: memory" in str(mtpp_dsl.explain(found.problem, found))


def test_lines_are_about_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is solved, or checked; relative names are found."""
    spec = tmp_path / "chain.mtpp"
    spec.write_text(SPEC)
    variables: dict[str, Any] = {}
    assert run_line(variables, f"check {spec} -D k=3") is None
    assert "6 nodes, 5 edges; 3 devices" in capsys.readouterr().out
    assert run_line(variables, f"solve {spec} --method ideals -q -o r") is None
    assert variables["r"].problem.origin.path == str(spec)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--methd ideals", "%%mtpp: there is no option --methd; did you mean '--method'"),
        ("--zzz=3", "%%mtpp: there is no option --zzz; %mtpp --help lists them"),
        ("ideals", "unrecognized arguments: ideals; %mtpp --help lists the options"),
        ("--time-limit soon", "not a duration"),
        ("--seed x", "invalid int value"),
        ("-D k", "write -D name=value"),
        ("-D k=two", "param"),
        ("-o a-b", "a variable's name"),
        ("-o class", "is no word of Python"),
        ("-q", "say where the result goes"),
        ("--start nobody", "no variable of that name"),
        ("--check -o r", "a check has no result"),
        ("--method idels", "did you mean"),
        ("--method heft", "cannot solve this"),
        ("--scenario none", "scenario"),
        ("'", "No closing quotation"),
    ],
)
def test_wrong_options_are_refused(line: str, said: str) -> None:
    """No option is ignored."""
    with pytest.raises(MtppError, match=said):
        run_cell({}, line, SPEC)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Help is printed, and nothing is solved; that of the line tells of the cell, as IPython runs no empty cell."""
    assert run_cell({}, "--help", "") is None
    assert "--time-limit TIME" in capsys.readouterr().out
    assert run_line({}, "--help") is None
    said = capsys.readouterr().out
    assert "--time-limit TIME" in said
    assert "\n%%mtpp as the first line of a cell" in said


def test_completion() -> None:
    """Options, methods and solvers are completed."""
    assert completed("%%mtpp --so", "--so") == ["--solver", "--solver-option"]
    assert "highs" in completed("%%mtpp --solver ", "")
    assert completed("%mtpp ", "") == ["check", "solve"]


@pytest.fixture
def shell() -> Iterator[Any]:
    """Yield IPython's shell with the extension."""
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    made = interactive.InteractiveShell.instance()
    made.run_line_magic("load_ext", "mtpp_dsl")
    yield made
    made.run_line_magic("unload_ext", "mtpp_dsl")
    interactive.InteractiveShell.clear_instance()


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of the simplest way to ask for completions
def test_in_ipython(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Variables stand in options; mistakes are shown with their places and carets, and without a traceback."""
    shell.user_ns["devices"] = 3
    done = shell.run_cell(f"%%mtpp --method ideals -D k={{devices}} -o found\n{SPEC}")
    assert done.result.problem.k == 3
    assert shell.user_ns["found"] is done.result
    capsys.readouterr()
    cell = f"%%mtpp\n{SPEC.replace('minimize', 'minimise')}"
    number = next(n for n, line in enumerate(cell.splitlines(), 1) if "minimise" in line)
    wrong = shell.run_cell(cell)
    assert isinstance(wrong.error_in_exec, CellError)
    shown = "".join(capsys.readouterr())
    assert "did you mean 'minimize'" in shown
    assert f"line {number} of the cell, columns 1-8: error" in shown
    assert "^^^^^^^^" in shown
    assert "Traceback" not in shown
    assert "magics.py" not in shown
    assert "--time-limit" in shell.complete("--ti", "%%mtpp --ti")[1]
