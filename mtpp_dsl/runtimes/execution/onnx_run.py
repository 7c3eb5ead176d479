"""Run an ONNX model, whole and in parts, by onnxruntime on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.runtimes.execution.clocks import CLOCKS, Clock

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}
SILENT = 3
Feed = Mapping[str, Any]


def open_session(path: Path, threads: int = 1, *, optimise: bool = False) -> Any:
    """Return a session for a file on this machine's CPU.

    Args:
        path: of the file.
        threads: that one operator may use.
        optimise: let onnxruntime fuse operators, which may change the last digits.

    Raises:
        UsageError: the package is absent, or refuses the file.
    """
    runtime = need("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    levels = runtime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise UsageError(f"onnxruntime refuses {path.name}: {_first(error)}") from None


def _first(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def random_inputs(
    session: Any, symbols: Mapping[str, int], count: int, seed: int, limits: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """Return *count* sets of random inputs: floats are normal, whole numbers below the limit of the input (2).

    Raises:
        UsageError: a size is a symbol without a value, or a type is not one that is made here.
    """
    generator = np.random.default_rng(seed)
    given = [value for value in session.get_inputs() if value.name not in _weights(session)]
    feeds = []
    for _ in range(count):
        feed: dict[str, Any] = {}
        for value in given:
            kind = TYPES.get(value.type)
            if kind is None:
                raise UsageError(f"input {value.name!r} is {value.type}; give it with --inputs FILE.npz")
            shape = [_size(size, value.name, symbols) for size in value.shape]
            if np.issubdtype(kind, np.floating):
                feed[value.name] = generator.standard_normal(shape).astype(kind)
            elif kind is np.bool_:
                feed[value.name] = np.ones(shape, np.bool_)
            else:
                feed[value.name] = generator.integers(0, (limits or {}).get(value.name, 2), shape).astype(kind)
        feeds.append(feed)
    return feeds


def _weights(session: Any) -> set[str]:
    return {value.name for value in session.get_overridable_initializers()}


def _size(size: Any, name: str, symbols: Mapping[str, int]) -> int:
    if isinstance(size, int):
        return size
    if isinstance(size, str) and size in symbols:
        return int(symbols[size])
    raise UsageError(f"input {name!r} has the unknown size {size!r}: give it with --inputs")


class OnnxChain:
    """The parts of a cut model, run one after the other in this process."""

    def __init__(self, folder: Path, threads: int = 1, *, optimise: bool = False) -> None:
        """Open the parts that ``manifest.json`` in *folder* names."""
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self.results: list[str] = manifest["outputs"]
        self.rows: list[dict[str, Any]] = manifest["parts"]
        self.sessions = [open_session(folder / row["file"], threads, optimise=optimise) for row in self.rows]

    def run(self, feed: Feed, clock: Clock = "wall") -> tuple[list[Any], list[float]]:
        """Return the results for some inputs, and the seconds that each part took."""
        now = CLOCKS[clock]
        tensors = dict(feed)
        times = []
        for row, session in zip(self.rows, self.sessions, strict=True):
            inputs = {entry["name"]: tensors[entry["name"]] for entry in row["inputs"]}
            began = now()
            made = _ran(session, row["outputs"], inputs, row["file"])
            times.append(now() - began)
            tensors.update(zip(row["outputs"], made, strict=True))
        return [tensors[name] for name in self.results], times


def _ran(session: Any, outputs: Sequence[str], inputs: Feed, name: str) -> list[Any]:
    try:
        made: list[Any] = session.run(list(outputs), dict(inputs))
    except Exception as error:
        raise SolverError(f"onnxruntime fails on {name}: {_first(error)}") from None
    return made
