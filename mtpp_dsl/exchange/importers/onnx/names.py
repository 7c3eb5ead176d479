"""The path of the module that a node of an ONNX file came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mtpp_dsl.exchange.importers.onnx.constants import Constant
from mtpp_dsl.exchange.importers.onnx.wire import SCOPES

__all__ = ["path_of"]

_PARAMETER = re.compile(r"(.+)\.(weight|bias|running_mean|running_var)(_[A-Za-z0-9_]+)?\Z")
_QUOTED = re.compile(r"'([^']*)'")


def path_of(node: Any, constants: Sequence[Constant]) -> str:
    """Return the path of a module, its parts separated by dots; "" where the file does not say it.

    It is in the metadata that torch's exporter writes, in names such as ``/model/layers.3/mlp/MatMul``, or in those of
    the weights, such as ``model.layers.3.mlp.weight``.
    """
    for entry in node.metadata_props:
        if entry.key.encode() == SCOPES:
            scopes = [scope for scope in _QUOTED.findall(entry.value)[:-1] if scope]
            if scopes:
                return _clean(scopes[-1])
    if "/" in node.name.strip("/"):
        return _clean(".".join(node.name.strip("/").split("/")[:-1]))
    for constant in constants:
        match = _PARAMETER.fullmatch(constant.name)
        if match:
            return _clean(match[1])
    return ""


def _clean(path: str) -> str:
    return ".".join(part for part in path[:300].split(".") if part)
