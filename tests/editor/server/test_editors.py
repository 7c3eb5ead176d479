"""Editors with the settings that ``mtpp editor`` writes show what the server finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.editor.setup.settings import write_settings
from tests.editor.setup.tools import needed
from tests.tree import ROOT

COMMAND = [sys.executable, "-m", "mtpp_dsl"]
WRONG = (ROOT / "examples" / "quickstart.mtpp").read_text().replace("acyclic", "acylic")
"""With an error in line 24, from column 12 on."""

NEOVIM = """
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 20)
local found = vim.diagnostic.get(0)
vim.fn.writefile({vim.fn.json_encode(found)}, vim.env.FOUND)
vim.cmd("qall!")
"""

EMACS = """
(unless (require 'eglot nil t)
  (with-temp-file (getenv "FOUND") (insert "[\\"no eglot\\"]"))
  (kill-emacs 0))
(require 'flymake)
(load (expand-file-name "mtpp-mode.el" (getenv "SETTINGS")) nil t)
(find-file (getenv "SPEC"))
(let ((entry (cdr (assoc '(mtpp-mode) eglot-server-programs))))
  (eglot '(mtpp-mode) (cons 'transient default-directory) 'eglot-lsp-server (funcall entry nil) "mtpp"))
(flymake-mode 1)
(flymake-start)
(let ((end (+ (float-time) 60)))
  (while (and (null (flymake-diagnostics)) (< (float-time) end))
    (accept-process-output nil 0.05)))
(let ((found (mapcar (lambda (one) (vector (flymake-diagnostic-text one) (flymake-diagnostic-beg one)))
                     (flymake-diagnostics))))
  (with-temp-file (getenv "FOUND") (insert (json-encode found))))
(eglot-shutdown (eglot-current-server))
(kill-emacs 0)
"""


def run(folder: Path, *command: str, **environment: str) -> list[Any]:
    """Run an editor with a home of its own; return what it writes to the file FOUND."""
    found = folder / "found.json"
    homes = {name: str(folder / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    done = subprocess.run(
        command,
        env={**os.environ, **homes, "FOUND": str(found), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert found.exists(), done.stdout + done.stderr
    return list(json.loads(found.read_text()))


def test_neovim_shows_a_mistake(tmp_path: Path) -> None:
    """Neovim starts the server for a spec by itself, and has its message in its place."""
    nvim = needed("nvim")
    write_settings("neovim", tmp_path / "settings", COMMAND)
    (tmp_path / "spec.mtpp").write_text(WRONG)
    (tmp_path / "check.lua").write_text(NEOVIM)
    (found,) = run(
        tmp_path,
        *(nvim, "--headless", "--clean", "--cmd", f"set runtimepath^={tmp_path / 'settings'}"),
        *("--cmd", "filetype plugin on", "spec.mtpp", "-c", "luafile check.lua"),
    )
    assert (found["lnum"], found["col"], found["code"]) == (23, 11, "MTPP-E012")


def test_emacs_shows_a_mistake(tmp_path: Path) -> None:
    """Emacs' eglot starts the server for a spec, and has its message in its place."""
    emacs = needed("emacs")
    write_settings("emacs", tmp_path / "settings", COMMAND)
    spec = tmp_path / "spec.mtpp"
    spec.write_text(WRONG)
    (tmp_path / "check.el").write_text(EMACS)
    (tmp_path / "home").mkdir()
    found = run(
        tmp_path,
        *(emacs, "--batch", "--no-init-file", "-l", "check.el"),
        SETTINGS=str(tmp_path / "settings"),
        SPEC=str(spec),
    )
    if found == ["no eglot"]:
        pytest.skip("eglot is not installed")
    ((message, place),) = found
    assert "acylic" in str(message)
    assert place == WRONG.index("acylic") + 1
