"""Parts of an ONNX model as files of their own, with what each takes and gives."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import MAX_FILE_BYTES
from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.execution.onnx_files import FORMAT, onnx_files
from mtpp_dsl.runtimes.execution.onnx_plan import check_same, nodes_of
from mtpp_dsl.runtimes.execution.plan_parts import origin_of, stages_of
from mtpp_dsl.runtimes.targets.model_parts import manifest_of, restricted, rows_of, split_of

RUNTIME = "ONNX Runtime"
PIECE = 2**22


class OnnxSplit:
    """One ONNX file for each device, and a manifest that says which tensors go from one to the next."""

    name = "onnx-split"
    summary = "ONNX Runtime: a file for each part, and a manifest with what goes from one to the next"

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem with stages that do not wait for each other in a circle."""
        _refuse_other(problem)
        return restricted(problem, self.name, RUNTIME)

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return ``manifest.json``, the parts, and their weights where these are too many for one file."""
        _refuse_other(problem)
        stages = stages_of(problem, plan)
        model = origin_of(problem).model
        path = _file(problem, stamp)
        check_same(path, model)
        nodes = [nodes_of(model, stage) for stage in stages]
        devices = [problem.devices[stage.device].name for stage in stages]
        more = [{"reads": row["reads"], "graph_nodes": row["nodes"]} for row in rows_of(problem, stages)]
        return onnx_files(path, nodes, devices, stamp.to_json(), more=more)

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a manifest; its files, where there is a folder, must be those that it describes."""
        manifest, folder = manifest_of(source, FORMAT, "manifest.json")
        split = split_of(problem, manifest, "parts")
        if folder is not None:
            for s, row in enumerate(manifest["parts"]):
                _check_file(folder, row, s)
        return split


def _refuse_other(problem: Problem) -> None:
    """Refuse models that come from no ONNX file.

    Raises:
        UsageError: so it is.
    """
    kind = origin_of(problem).model.source.kind
    if kind != "onnx":
        raise UsageError(f"onnx-split cuts an ONNX file, and this model comes from {kind or 'elsewhere'}")


def _file(problem: Problem, stamp: Stamp) -> Path:
    """Return the ONNX file: the one that was named, or the one that the spec reads.

    Raises:
        UsageError: its place is not given.
    """
    if stamp.model is not None:
        return Path(stamp.model)
    origin = origin_of(problem)
    folder = Path(stamp.spec).parent
    read, name = folder / str(origin.path), str(origin.model.source.name)
    places = (read if read.suffix == ".onnx" else read.parent / name, folder / name)
    for place in places:
        if place.is_file():
            return place
    raise UsageError(f"{name} is not beside the spec: say where it is with --model")


def _check_file(folder: Path, row: Mapping[str, Any], s: int) -> None:
    """Refuse a part that is missing, outside the folder, or not the file that the manifest describes.

    Raises:
        UnsoundSplit: so it is.
    """
    name = row.get("file")
    if not isinstance(name, str) or Path(name).name != name:
        raise UnsoundSplit(f"part {s} names no file beside the manifest: {name!r}")
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise UnsoundSplit(f"part {s} is lost: there is no file {name}")
    digest = hashlib.sha256()
    if path.stat().st_size > 2**31 + MAX_FILE_BYTES:
        raise UnsoundSplit(f"{name} is larger than an ONNX file can be")
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    if digest.hexdigest() != row.get("sha256"):
        raise UnsoundSplit(f"{name} is not the file that the manifest describes: it has changed since")
