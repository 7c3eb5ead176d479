"""ONNX models for tests: the light models of the package onnx with weights that matter, and small ones by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def light(name: str, folder: Path, *, seed: int = 0) -> Path:
    """Write a light model with random weights in place of equal ones, and return its path.

    It ends before a last softmax, which would be 0 or 1 everywhere. Files of ir_version 3 list weights as inputs.
    """
    import onnx

    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"light_{name}.onnx"
    model = onnx.load(path)
    generator = np.random.default_rng(seed)
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in known:
            shape = onnx.numpy_helper.to_array(known[node.input[0]]).tolist()
            model.graph.initializer.append(onnx.numpy_helper.from_array(_random(shape, generator), node.output[0]))
            model.graph.input.append(onnx.helper.make_tensor_value_info(node.output[0], 1, shape))
        else:
            kept.append(node)
    result = model.graph.output[0]
    last = next(node for node in kept if result.name in node.output)
    if last.op_type == "Softmax":
        kept.remove(last)
        result.name = last.input[0]
        result.type.tensor_type.ClearField("shape")
    del model.graph.node[:]
    model.graph.node.extend(kept)
    read = {name for node in kept for name in node.input}
    for field in (model.graph.initializer, model.graph.input):
        left = [value for value in field if value.name in read]
        del field[:]
        field.extend(left)
    target = folder / f"{name}.onnx"
    onnx.save(model, target)
    return target


def _random(shape: list[int], generator: np.random.Generator) -> Any:
    if len(shape) == 1:
        return (generator.random(shape) + 0.5).astype(np.float32)
    spread = (2 / max(1, int(np.prod(shape[1:])))) ** 0.5
    return (generator.standard_normal(shape) * spread).astype(np.float32)
