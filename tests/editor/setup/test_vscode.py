"""The extension of VS Code, driven in node with a stand-in for VS Code's module, speaks with ``mtpp lsp``."""

import json
import os
import sys

import pytest

from mtpp_dsl.editor.setup.settings import write_settings
from tests.editor.setup.tools import node
from tests.tree import ROOT

EVERYTHING = {
    "actions",
    "completion",
    "definition",
    "folds",
    "formatting",
    "highlight",
    "hints",
    "hover",
    "mtpp.restart",
    "mtpp.solve",
    "rangeFormatting",
    "references",
    "rename",
    "symbols",
    "tokens",
}


def test_a_session(tmp_path, monkeypatch):
    """A mistake is shown with its fix; when it is mended the message goes, and everything is answered."""
    pytest.importorskip("pygls")
    spec = tmp_path / "é 💡.mtpp"
    spec.write_text((ROOT / "examples" / "quickstart.mtpp").read_text(encoding="utf-8"), encoding="utf-8")
    write_settings("vscode", tmp_path, ["mtpp"])
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    monkeypatch.setenv("MTPP_COMMAND", json.dumps([sys.executable, "-m", "mtpp_dsl"]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    found = json.loads(node(ROOT / "tests" / "editor" / "setup" / "vscode" / "session.js", folder, spec))
    assert set(found["kinds"]) == EVERYTHING
    (wrong,) = [each for each in found["wrong"] if each["severity"] == 0]
    assert wrong["message"].startswith("there is no statement 'minimise'")
    assert found["fixes"][0]["title"] == "write 'minimize' in place of 'minimise'"
    ((uri, edits),) = found["fixes"][0]["edits"].items()
    assert uri == spec.as_uri()
    assert edits[0]["newText"] == "minimize"
    assert found["completion"] > 10
    assert "2 ms" in found["hover"][0]["value"]
    assert len(found["references"]) == 3
    assert len(found["rename"][uri]) == 3
    assert found["formatting"] == []
    assert "4 nodes" in [hint["label"] for hint in found["hints"]]
    assert found["tokens"] % 5 == 0
    assert found["said"] == []
