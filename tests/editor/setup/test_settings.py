"""What ``mtpp editor`` writes: files that the editors' own programs accept and that colour specs."""

import json
import re
import zipfile
from xml.etree.ElementTree import fromstring

import pytest

from mtpp_dsl.cli.run import run as mtpp
from mtpp_dsl.editor.setup.settings import EDITORS
from tests.editor.setup.tools import PACKAGES, needed, node, run
from tests.tree import ROOT

SPEC = ROOT / "examples" / "quickstart.mtpp"
PLACE = re.compile(r"\{\{\w+[| ]?\}\}")
COMMAND = '/opt/a "b"\\c/mtpp'


def written(tmp_path, editor):
    assert mtpp(["editor", editor, "-o", str(tmp_path / "new" / editor), "--server", COMMAND]) == 0
    return tmp_path / "new" / editor


@pytest.mark.parametrize("editor", EDITORS)
def test_files_are_said_and_have_no_place_left(editor, tmp_path, capsys):
    folder = written(tmp_path, editor)
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    assert sorted(capsys.readouterr().out.split("\n")[:-1]) == sorted(map(str, found))
    for path in found:
        assert path.suffix == ".vsix" or not PLACE.search(path.read_text(encoding="utf-8"))


def test_vscode_is_one_file_too(tmp_path):
    folder = written(tmp_path, "vscode")
    (package,) = folder.glob("*.vsix")
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        about = json.loads(archive.read("extension/package.json"))
        manifest = fromstring(archive.read("extension.vsixmanifest"))
        endings = {each.get("Extension") for each in fromstring(archive.read("[Content_Types].xml"))}
    assert about["contributes"]["configuration"]["properties"]["mtpp.command"]["default"] == [COMMAND]
    inside = {f"extension/{path.name}" for path in (folder / package.stem).iterdir()}
    assert names == {"extension.vsixmanifest", "[Content_Types].xml", *inside}
    assert {f".{name.rpartition('.')[2]}" for name in names - {"[Content_Types].xml"}} <= endings
    assert {each.get("Path") for each in manifest.iter() if each.get("Path")} <= names
    named = [
        about["main"],
        *(about["contributes"][kind][0][key] for kind, key in (("languages", "configuration"), ("grammars", "path"))),
    ]
    assert all(f"extension/{name.removeprefix('./')}" in names for name in named)
    before = package.read_bytes()
    assert written(tmp_path, "vscode") == folder
    assert package.read_bytes() == before


def test_node_reads_the_scripts(tmp_path):
    for path in written(tmp_path, "vscode").rglob("*.js"):
        node("--check", path)


def test_vsce_packages_the_extension_without_a_network(tmp_path):
    (folder,) = (path for path in written(tmp_path, "vscode").iterdir() if path.is_dir())
    vsce = PACKAGES / "@vscode" / "vsce" / "vsce"
    options = ("--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", tmp_path / "x.vsix")
    offline = ROOT / "tests" / "editor" / "setup" / "no_network.js"
    node("--require", offline, vsce, "package", *options, packages=True, cwd=folder)
    (ours,) = folder.parent.glob("*.vsix")
    with zipfile.ZipFile(tmp_path / "x.vsix") as theirs, zipfile.ZipFile(ours) as own:
        assert {name.lower() for name in theirs.namelist()} == {name.lower() for name in own.namelist()}
        assert identity(theirs) == identity(own)


def identity(archive):
    manifest = fromstring(archive.read("extension.vsixmanifest"))
    return next(each.attrib for each in manifest.iter() if each.tag.endswith("Identity"))


def test_neovim_colours_a_spec(tmp_path):
    folder, found = written(tmp_path, "neovim"), tmp_path / "found"
    script = tmp_path / "kinds.lua"
    script.write_text(
        f"""
        vim.cmd("syntax on")
        local found = {{}}
        for line = 1, vim.fn.line("$") do
          for column = 1, #vim.fn.getline(line) do
            local name = vim.fn.synIDattr(vim.fn.synID(line, column, 1), "name")
            table.insert(found, name .. "\\t" .. vim.fn.getline(line):sub(column, column))
          end
          table.insert(found, "\\t ")
        end
        vim.fn.writefile(found, {json.dumps(str(found))})
        vim.cmd("qa!")
        """
    )
    command = ["--cmd", f"set runtimepath+={folder}", "--cmd", "filetype plugin on", SPEC, "-c", f"luafile {script}"]
    run(needed("nvim"), "--headless", "-u", "NONE", "-i", "NONE", *command)
    pieces = [line.split("\t") for line in found.read_text().splitlines()]
    assert {*words(pieces)} >= {
        ("mtppStatement", "node"),
        ("mtppDeclared", "embed"),
        ("mtppOption", "work"),
        ("mtppUnit", "ms"),
        ("mtppNumber", "2"),
        ("mtppRule", "acyclic"),
        ("mtppControl", "for"),
        ("mtppType", "int"),
        ("mtppString", '"embedding"'),
    }


def test_emacs_colours_a_spec(tmp_path):
    file = written(tmp_path, "emacs") / "mtpp-mode.el"
    found = tmp_path / "found"
    script = f"""
        (with-current-buffer (find-file-noselect {json.dumps(str(SPEC))})
          (font-lock-ensure)
          (let (found (at (point-min)))
            (while (< at (point-max))
              (let ((face (get-text-property at 'face)) (text (buffer-substring-no-properties at (1+ at))))
                (push (format "%s\\t%s" (or face "") (if (equal text "\\n") " " text)) found))
              (setq at (1+ at)))
            (write-region (mapconcat #'identity (nreverse found) "\\n") nil {json.dumps(str(found))})))"""
    options = ["--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", file]
    run(needed("emacs"), "-Q", "--batch", *options)
    run(needed("emacs"), "-Q", "--batch", "-l", file, "--eval", script)
    pieces = [line.split("\t") for line in found.read_text().splitlines()]
    assert {*words(pieces)} >= {
        ("font-lock-keyword-face", "node"),
        ("font-lock-variable-name-face", "embed"),
        ("font-lock-type-face", "ms"),
        ("font-lock-preprocessor-face", "acyclic"),
        ("font-lock-keyword-face", "for"),
        ("font-lock-string-face", '"embedding"'),
    }


def words(pieces):
    """Return runs of characters of one kind, each with its kind."""
    kind, text = "", ""
    for each, character in [*pieces, ("", " ")]:
        if each != kind or character == " ":
            yield kind, text
            kind, text = each, ""
        text += character.strip()


def test_an_unknown_editor_is_refused(tmp_path, capsys):
    assert mtpp(["editor", "emcas", "-o", str(tmp_path)]) == 2
    assert "did you mean 'emacs'?" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert mtpp(["editor", "textmate", "-o", str(tmp_path / "file" / "below")]) == 2
    assert "cannot write into" in capsys.readouterr().err
