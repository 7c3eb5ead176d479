"""Measure the operators of an ONNX model on this machine, in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.execution.onnx_weights import read_model
from mtpp_dsl.runtimes.execution.timing import TimeSpread
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort, measure
from mtpp_dsl.runtimes.profiling.onnx_calls import OnnxCall, onnx_calls, onnx_runner
from mtpp_dsl.runtimes.profiling.session import MeasuringJob

__all__ = ["onnx_jobs"]


def onnx_jobs(
    path: Path, model: Model, symbols: Mapping[str, int], effort: MeasuringEffort, threads: int
) -> list[MeasuringJob]:
    """Return what measures each operator of the model in an ONNX file.

    Raises:
        UsageError: the file is not the one that was imported, or the shape of a tensor is not known.
    """
    from mtpp_dsl.runtimes.execution.onnx_plan import check_same

    check_same(path, model)
    whole = read_model(path)
    operators = [operator for operator in model.operators if operator.id.isdigit()]
    calls = onnx_calls(whole, [int(operator.id) for operator in operators], symbols)
    return [
        MeasuringJob(
            operator.name, call.op, f"{call.key} in onnxruntime", partial(_measure, call, whole, effort, threads)
        )
        for operator, call in zip(operators, calls, strict=True)
    ]


def _measure(call: OnnxCall, model: Any, effort: MeasuringEffort, threads: int) -> TimeSpread:
    """Return the time of a node: of many copies in one model, less what a run takes of itself."""
    pair = onnx_runner(call, model, threads)
    long, short = measure(pair.long, effort), measure(pair.short, effort)

    def one(many: float, few: float) -> float:
        return max(0.0, (many - few) / pair.copies)

    low, high = one(long.low, short.high), one(long.high, short.low)
    median = one(long.median, short.median)
    waited = long.processor / long.median if long.processor is not None and long.median else 1.0
    return TimeSpread(median, low, high, long.runs, median * waited)
