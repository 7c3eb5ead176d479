"""The files that an editor needs for specs: colours, and settings that start ``mtpp lsp``."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from mtpp_dsl.core.base.writing import write_bytes

__all__ = ["EDITORS", "write_settings"]

_PLACE = re.compile(r"\{\{(\w+)([| ]?)\}\}")
_WORDS = "words.json"
_GRAMMAR = "mtpp.tmLanguage.json"


class Editor(NamedTuple):
    """An editor that files are written for.

    Attributes:
        files: below ``files/`` of this package.
        quoted: returns a word as a text of the editor's own language.
        joined: returns words as an alternative in a regular expression of that language.
        command: returns a command as a list of that language.
        then: what the user does with the files, in words, with ``{folder}``.
    """

    files: Sequence[str]
    quoted: Callable[[str], str] = json.dumps
    joined: Callable[[Sequence[str]], str] = "|".join
    command: Callable[[Sequence[str]], str] = json.dumps
    then: str = ""


EDITORS = {
    "vscode": Editor(
        ["package.json", "language-configuration.json", "extension.js", "connection.js", "convert.js", "README.md"],
        then="code --install-extension {folder}/mtpp-{version}.vsix",
    ),
    "textmate": Editor([], then="{folder}/mtpp.tmLanguage.json goes where your editor keeps its TextMate grammars"),
    "neovim": Editor(
        ["ftdetect/mtpp.vim", "ftplugin/mtpp.lua", "syntax/mtpp.vim"],
        quoted=str,
        joined=lambda words: r"\|".join(word.replace("/", r"\/") for word in words),
        command=lambda command: f"{{ {', '.join(map(_lua, command))} }}",
        then="Neovim finds them in ~/.local/share/nvim/site/pack/mtpp/start/mtpp, or by: set runtimepath+={folder}",
    ),
    "emacs": Editor(
        ["mtpp-mode.el"],
        command=lambda command: " ".join(map(json.dumps, command)),
        then="in your init file: (load \"{folder}/mtpp-mode\") (add-hook 'mtpp-mode-hook #'eglot-ensure)",
    ),
}
"""The editors by name."""


def write_settings(name: str, folder: Path, command: Sequence[str]) -> tuple[list[Path], str]:
    """Write the files for an editor into a folder, over those of before; return their paths, and what is to do then.

    Args:
        name: one of :data:`EDITORS`.
        folder: made where it is not there.
        command: what starts mtpp, without ``lsp``.

    Raises:
        OSError: a file cannot be written.
    """
    editor = EDITORS[name]
    contents = {file: _filled(_text(f"{name}/{file}"), editor, command) for file in editor.files}
    if name in ("vscode", "textmate"):
        contents[_GRAMMAR] = _made(_GRAMMAR)
    written = {folder / file: text.encode() for file, text in contents.items()}
    if name == "vscode":
        within = folder / f"mtpp-{_version()}"
        written = {within / file: text.encode() for file, text in contents.items()}
        written[within.with_name(f"{within.name}.vsix")] = package(contents)
    for path, data in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    return list(written), editor.then.format(folder=folder.absolute(), version=_version())


def _text(name: str) -> str:
    return files("mtpp_dsl.editor.setup").joinpath("files", *name.split("/")).read_text(encoding="utf-8")


def _made(name: str) -> str:
    """Return a file that ``python -m tests.tools.highlighting`` has made of the language."""
    return files("mtpp_dsl.language.words").joinpath(name).read_text(encoding="utf-8")


def _version() -> str:
    return version("mtpp-dsl")


def _filled(text: str, editor: Editor, command: Sequence[str]) -> str:
    """Return a template with the words of the language, the command and the version in their places."""
    words: Mapping[str, list[str]] = json.loads(_made(_WORDS))
    words = {**words, "joining": sorted({*words["between"], *words["control"], *words["operators"]} - {"links"})}

    def value(place: re.Match[str]) -> str:
        name, form = place[1], place[2]
        if name == "version":
            return _version()
        if name == "command":
            return editor.command(command)
        return editor.joined(words[name]) if form == "|" else " ".join(map(editor.quoted, words[name]))

    return _PLACE.sub(value, text)


def _lua(word: str) -> str:
    """Return a text of Lua, which knows fewer escapes than JSON."""
    return '"' + "".join(f"\\{ord(c)}" if c in '"\\\n\r\0' else c for c in word) + '"'


# Extensions of VS Code as one file, which ``code --install-extension`` takes: made here, without node or a network.

_TYPES = {".json": "application/json", ".js": "application/javascript", ".md": "text/markdown"}
_MANIFEST = "extension.vsixmanifest"
_WHEN = (1980, 1, 1, 0, 0, 0)
"""The time that files in it have, so that the same contents are the same file."""


def package(contents: Mapping[str, str]) -> bytes:
    """Return the file of an extension of these files, ``package.json`` among them."""
    about = json.loads(contents["package.json"])
    parts = {
        _MANIFEST: _xml(_manifest(about)),
        "[Content_Types].xml": _xml(_content_types()),
        **{f"extension/{name}": text.encode() for name, text in contents.items()},
    }
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(ZipInfo(name, _WHEN), data, ZIP_DEFLATED)
    return file.getvalue()


def _manifest(about: Mapping[str, Any]) -> Element:
    """Return what VS Code wants to know of an extension before it opens it."""
    root = Element("PackageManifest", Version="2.0.0", xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011")
    metadata = SubElement(root, "Metadata")
    names = {"Id": about["name"], "Version": about["version"], "Publisher": about["publisher"]}
    SubElement(metadata, "Identity", Language="en-US", **names)
    SubElement(metadata, "DisplayName").text = about["displayName"]
    SubElement(metadata, "Description").text = about["description"]
    SubElement(metadata, "Categories").text = ",".join(about["categories"])
    SubElement(metadata, "GalleryFlags").text = "Public"
    properties = SubElement(metadata, "Properties")
    engine = {"Id": "Microsoft.VisualStudio.Code.Engine", "Value": about["engines"]["vscode"]}
    SubElement(properties, "Property", engine)
    installation = SubElement(root, "Installation")
    SubElement(installation, "InstallationTarget", Id="Microsoft.VisualStudio.Code")
    SubElement(root, "Dependencies")
    assets = SubElement(root, "Assets")
    for kind, path in (("Code.Manifest", "package.json"), ("Content.Details", "README.md")):
        asset = {
            "Type": f"Microsoft.VisualStudio.{_services(kind)}",
            "Path": f"extension/{path}",
            "Addressable": "true",
        }
        SubElement(assets, "Asset", asset)
    return root


def _services(kind: str) -> str:
    return f"Services.{kind}" if kind.startswith("Content") else kind


def _content_types() -> Element:
    """Return the types of the files in it, by their endings."""
    root = Element("Types", xmlns="http://schemas.openxmlformats.org/package/2006/content-types")
    for ending, kind in {**_TYPES, ".vsixmanifest": "text/xml"}.items():
        SubElement(root, "Default", Extension=ending, ContentType=kind)
    return root


def _xml(root: Element) -> bytes:
    indent(root)
    data: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return data
