"""The files of a cut ONNX model: one for each part, weights beside it where they are many, and a manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.text.visible import escaped, visible
from mtpp_dsl.runtimes.execution.onnx_parts import OnnxPart, cut
from mtpp_dsl.runtimes.execution.onnx_weights import MOST_INLINE, WeightFile, read_model

FORMAT, VERSION = "mtpp-onnx-split", 1
Content: TypeAlias = str | bytes | Callable[[BinaryIO], None]


def onnx_files(
    path: Path,
    parts: Sequence[Mapping[int, str]],
    devices: Sequence[str],
    stamp: Mapping[str, Any] | None = None,
    most_inline: int = MOST_INLINE,
    more: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Content]:
    """Return the files of a model that is cut into parts, ``manifest.json`` first.

    Args:
        path: of the model. Weights that it keeps in other files must be in its folder.
        parts: for each part the numbers of its nodes in the file, with the names of their operators.
        devices: of the parts.
        stamp: what the manifest says of where the split came from.
        most_inline: bytes of weights that a part keeps within its own file.
        more: what the manifest says of each part beside.

    Raises:
        UsageError: the file cannot be read or cut; see :func:`mtpp_dsl.runtimes.execution.onnx_parts.cut`.
    """
    model = read_model(path)
    contents: dict[str, Content] = {}
    rows = []
    for s, (part, names, device) in enumerate(zip(cut(model, parts, path.name), parts, devices, strict=True)):
        name = f"part{s}.onnx"
        for key, value in {"mtpp.device": visible(device), "mtpp.part": f"{s} of {len(devices)}"}.items():
            entry = part.proto.metadata_props.add()
            entry.key, entry.value = key, value
        weights = WeightFile(part.proto, path.parent, f"{name}.data", most_inline)
        data = part.proto.SerializeToString(deterministic=True)
        contents[name] = data
        if weights.needed:
            contents[weights.name] = weights.write
        row = _row(part, name, weights.name if weights.needed else None, device, names, data)
        rows.append({**row, **(more[s] if more is not None else {})})
    head = {"format": FORMAT, "version": VERSION, **(stamp or {})}
    results = [output.name for output in model.graph.output]
    text = escaped(json.dumps({**head, "outputs": results, "parts": rows}, indent=1, ensure_ascii=False))
    return {"manifest.json": f"{text}\n", **contents}


def _row(
    part: OnnxPart, file: str, weights: str | None, device: str, names: Mapping[int, str], data: bytes
) -> dict[str, Any]:
    """Return what the manifest says of a part."""
    return {
        "file": file,
        "sha256": hashlib.sha256(data).hexdigest(),
        "weights": weights,
        "device": device,
        "inputs": [
            {"name": tensor, "from": None if source < 0 else source}
            for tensor, source in zip(part.inputs, part.sources, strict=True)
        ],
        "outputs": list(part.outputs),
        "operators": [name for i in part.nodes if i in names for name in names[i].split(" ")],
        "nodes": list(part.nodes),
    }


def write_files(files: Mapping[str, Content], folder: Path) -> None:
    """Write files into a folder that is there."""
    for name, content in files.items():
        path = folder / name
        if callable(content):
            with path.open("wb") as file:
                content(file)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def check_files(folder: Path) -> None:
    """Have the checker of the package onnx check each part in a folder, in full.

    Raises:
        UsageError: it complains about one.
    """
    onnx = need("onnx", "onnx")
    check = partial(onnx.checker.check_model, full_check=True)
    for path in sorted(folder.glob("part*.onnx")):
        try:
            check(str(path))
        except Exception as error:  # of C++, in its own words
            raise UsageError(f"{path.name} is refused by the checker of onnx: {str(error).strip()[:500]}") from None
