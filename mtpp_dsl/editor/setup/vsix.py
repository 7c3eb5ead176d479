"""Extensions of VS Code as one file, which ``code --install-extension`` takes: made here, without node or a network."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

__all__ = ["package"]

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
