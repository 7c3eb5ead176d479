"""Notebooks in a kernel: the example, HiGHS beside ortools, and a search that is interrupted."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.tree import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

EXAMPLE = ROOT / "examples" / "notebook.ipynb"
pytestmark = pytest.mark.filterwarnings("ignore")  # of the packages of notebooks


def outputs(cell: Any, kind: str) -> str:
    """Return what a cell shows of a kind: a MIME type, or the text of errors."""
    if kind == "error":
        return "\n".join(line for out in cell.outputs if out.output_type == "error" for line in out.traceback)
    return "".join(out.data.get(kind, "") for out in cell.outputs if "data" in out)


def test_example(tmp_path: Path) -> None:
    """The notebook in examples runs from top to bottom, shows its results, and is kept without outputs."""
    notebook = nbformat.read(EXAMPLE, 4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "This plan is optimal" in outputs(code[1], "text/html")
    assert "<svg" in outputs(code[1], "text/html")
    assert "Result(optimal" in outputs(code[1], "text/plain")
    assert "gpu[0]" in outputs(code[2], "text/plain")
    assert "<svg" in outputs(code[3], "image/svg+xml")
    assert "did you mean 'work'" in outputs(code[-1], "error")
    assert "^^^^" in outputs(code[-1], "error")


@pytest.mark.long
def test_kernels_that_are_interrupted(tmp_path: Path) -> None:
    """After an import of ortools HiGHS solves; an interrupt ends a search with the best so far, without an error."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(cwd=str(tmp_path))
    chain = "graph from generator chain (nodes = {})\ndevice d[{}]\ninterconnect shared (bandwidth = 1)\n"
    asked = f"{chain}minimize bottleneck\nconstraint acyclic\n"
    printed: list[str] = []

    def run(code: str) -> None:
        client.execute_interactive(
            code, timeout=60, output_hook=lambda message: printed.append(message["content"].get("text", ""))
        )

    try:
        run("%load_ext mtpp_dsl\nfrom ortools.sat.python import cp_model")
        run(f"%%mtpp --method exact -q -o first\n{asked.format(4, 2)}")
        client.execute(f"%%mtpp --method local-search --time-limit 60s -o r\n{asked.format(400, 7)}")
        began, shown, interrupted = monotonic(), [], False
        while monotonic() - began < 50:
            message = client.get_iopub_msg(timeout=50)
            shown.append(message["msg_type"])
            if message["msg_type"] == "display_data" and not interrupted:
                interrupted = True
                manager.interrupt_kernel()
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and interrupted:
                break
        run("print(first.status, r.status, r.termination)")
        assert interrupted, "no progress was shown"
        assert "optimal feasible interrupted" in "".join(printed)
        assert "error" not in shown
        assert "execute_result" in shown
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
