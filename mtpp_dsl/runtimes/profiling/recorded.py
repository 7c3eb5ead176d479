"""Read times of operators that somebody else recorded: in a table, or in a trace of torch's profiler or onnxruntime's.

Both profilers write the events of Chrome's trace viewer. A trace must be of whole passes over the model, and of nothing
else that calls the same operations.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.files import parse_json, read_bytes, read_text
from mtpp_dsl.core.base.units import TIME, UNITS
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.profile import Profile, Timing
from mtpp_dsl.runtimes.execution.clocks import spread

__all__ = ["profile_of_table", "profile_of_trace"]

_TIME = re.compile(r"time\s*(?:[(\[]\s*([^)\]]+?)\s*[)\]])?", re.IGNORECASE)
MAX_LINES = 1_000_000


def profile_of_table(path: Path, model: Model, device: str) -> Profile:
    """Return the times in a table with the columns ``operator`` and ``time (ms)``; of several of one, the median.

    Raises:
        UsageError: a column is missing, a line has no time, or names an operator that the model does not have.
    """
    rows = csv.reader(io.StringIO(read_text(path, wanted="CSV")))
    name, time, factor = _columns(next(rows, []), path)
    samples: dict[str, list[float]] = {}
    for row in rows:
        if not row:
            continue
        place = f"{path}:{rows.line_num}"
        if rows.line_num > MAX_LINES:
            raise UsageError(f"{path} has more than {MAX_LINES:,} lines, the most that are read")
        if len(row) <= max(name, time):
            raise UsageError(f"{place}: this line has {len(row)} cells; the first line has more")
        operator, text = row[name].strip(), row[time].strip()
        if operator not in model.index:
            raise UsageError(f"{place}: the model has no operator {operator!r}{did_you_mean(operator, model.index)}")
        samples.setdefault(operator, []).append(_seconds(text, factor, place))
    if not samples:
        raise UsageError(f"{path} has no times below its first line")
    return profile_of_samples(samples, model, device, "csv", {"table": path.name})


def _columns(head: list[str], path: Path) -> tuple[int, int, float]:
    """Return the columns of operators and times, and the seconds of the unit of the times."""
    operator = time = None
    factor = 1.0
    for i, cell in enumerate(head):
        word = cell.strip()
        given = _TIME.fullmatch(word)
        if word.lower() == "operator":
            operator = i
        elif given is not None:
            time, unit = i, given[1]
            if unit is None:
                raise UsageError(f"{path}:1: say the unit of the times: time (ms)")
            if unit not in UNITS or UNITS[unit][1] != TIME:
                raise UsageError(f"{path}:1: there is no unit of time {unit!r}{did_you_mean(unit, UNITS)}")
            factor = float(UNITS[unit][0])
    if operator is None or time is None:
        raise UsageError(f"{path}:1: a table of times begins with operator,time (ms)")
    return operator, time, factor


def _seconds(text: str, factor: float, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{place}: a time is a number; this is {text[:40]!r}") from None
    if not (isfinite(value) and value >= 0):
        raise UsageError(f"{place}: a time is zero or more; this is {text[:40]!r}")
    return value * factor


def profile_of_samples(
    samples: Mapping[str, Sequence[float]], model: Model, device: str, source: str, file: Mapping[str, str]
) -> Profile:
    """Return the profile of times (s) of a model's operators by their names: medians and quartiles, each its own key.

    *source* is what kind of *file* they come from; *file* is kept in place of facts of the machine.
    """
    signatures = {}
    for name, times in samples.items():
        times_spread = spread(times)
        op = model.operators[model.index[name]].op
        signatures[name] = Timing(times_spread.median, times_spread.low, times_spread.high, times_spread.runs, op)
    return Profile(
        device=device,
        signatures=signatures,
        operators={name: name for name in signatures},
        machine=dict(file),
        model={"name": model.source.name, "sha256": model.source.sha256},
        source=source,
    )


MAX_BYTES = 2**30
MICRO = 1e-6
FREE_KINDS = ("view", "fill")
"""Operators that a trace may lack: torch does not call them where nothing has to be done."""


def profile_of_trace(path: Path, model: Model, device: str) -> Profile:
    """Return the times of a model's operators in a trace; of several passes the medians.

    Raises:
        UsageError: the file is no trace, or does not have each operator as often as every other.
    """
    events = _events(path)
    nodes = [
        event for event in events if event.get("cat") == "Node" and str(event.get("name", "")).endswith("_kernel_time")
    ]
    samples = _of_onnx(nodes, model, path) if nodes else _of_torch(events, model, path)
    times = {name: [duration * MICRO for duration in durations] for name, durations in samples.items()}
    return profile_of_samples(times, model, device, "trace", {"trace": path.name})


def _events(path: Path) -> list[Mapping[str, Any]]:
    data = parse_json(read_bytes(path, MAX_BYTES), str(path))
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise UsageError(f"{path} is no trace: it has no list of events (traceEvents)")
    return [
        event for event in events if event.get("ph") == "X" and _number(event.get("dur")) and _number(event.get("ts"))
    ]


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18


def _of_onnx(nodes: Sequence[Mapping[str, Any]], model: Model, path: Path) -> dict[str, list[float]]:
    """Return the times of each operator; onnxruntime names nodes as the file does, or by their numbers."""
    by_node: dict[str, list[float]] = defaultdict(list)
    for event in nodes:
        by_node[str(event["name"]).removesuffix("_kernel_time")].append(float(event["dur"]))
    makers = {model.operators[tensor.producer].name: tensor for tensor in model.tensors if tensor.producer is not None}
    samples: dict[str, list[float]] = {}
    by_index = {str(event["args"].get("node_index")): event for event in nodes if isinstance(event.get("args"), dict)}
    for operator in model.operators:
        number = operator.id.partition(".")[0]
        names = (operator.id, operator.name, f"{operator.op}_{number}", str(makers.get(operator.name, "")))
        known = next((by_node[name] for name in names if name in by_node), None)
        if known is None and number in by_index:
            known = by_node[str(by_index[number]["name"]).removesuffix("_kernel_time")]
        if known is not None:
            samples[operator.name] = samples.get(operator.name, []) + known
    _refuse_missing(samples, model, path)
    return samples


def _of_torch(events: Sequence[Mapping[str, Any]], model: Model, path: Path) -> dict[str, list[float]]:
    """Return the times of each operator: the calls of one operation come in the order of the model, pass after pass."""
    kernels: dict[object, float] = defaultdict(float)
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and isinstance(event.get("args"), dict):
            kernels[event["args"].get("External id")] += float(event["dur"])
    calls = [event for event in events if event.get("cat") == "cpu_op"]
    if not calls:
        raise UsageError(f"{path} has no operators of torch (cpu_op) or of onnxruntime (Node): is it their trace?")
    wanted: dict[str, list[str]] = defaultdict(list)
    for operator in model.operators:
        wanted[_torch_name(operator.op)].append(operator.name)
    outer = _outermost([event for event in calls if event.get("name") in wanted], calls, kernels)
    samples: dict[str, list[float]] = {}
    passes: dict[int, str] = {}
    for name, operators in wanted.items():
        times = outer.get(name, [])
        if not times and all(
            model.operators[model.index[operator_name]].kind in FREE_KINDS for operator_name in operators
        ):
            continue
        if not times or len(times) % len(operators):
            raise UsageError(
                f"{path} has {len(times)} calls of {name}, and the model has {len(operators)}: a trace must be of "
                "whole passes over the model as it was imported"
            )
        passes.setdefault(len(times) // len(operators), name)
        for i, operator_name in enumerate(operators):
            samples[operator_name] = times[i :: len(operators)]
    if len(passes) > 1:
        counts = ", ".join(f"{count} of {name}" for count, name in passes.items())
        raise UsageError(f"{path} has unequal numbers of passes over the model: {counts}")
    return samples


def _torch_name(op: str) -> str:
    """Return what a trace calls an operation: ``aten::linear`` for ``aten.linear.default``."""
    parts = op.split(".")
    return "::".join(parts[:2]) if len(parts) > 1 else op


def _outermost(
    wanted: Iterable[Mapping[str, Any]], calls: Sequence[Mapping[str, Any]], kernels: Mapping[object, float]
) -> dict[str, list[float]]:
    """Return the durations of calls that stand in no other call that is wanted, by name, in their order.

    Where kernels ran on a device, a call takes what its kernels take, with those of the calls within it.
    """
    inside = sorted(calls, key=lambda event: (str(event.get("tid")), event["ts"], -event["dur"]))
    names = {id(event) for event in wanted}
    rows_of: dict[str, list[tuple[float, float]]] = defaultdict(list)
    ends: dict[object, float] = {}
    current: dict[object, list[float]] = {}
    for event in inside:
        thread, start = event.get("tid"), float(event["ts"])
        args = event.get("args")
        kernel = kernels.get(args.get("External id"), 0.0) if isinstance(args, dict) and kernels else 0.0
        if start < ends.get(thread, -1.0):
            if thread in current and kernels:
                current[thread][1] += kernel
            continue
        if id(event) in names:
            ends[thread] = start + float(event["dur"])
            row = [start, kernel if kernels else float(event["dur"])]
            current[thread] = row
            rows_of[str(event["name"])].append(row)  # type: ignore[arg-type]
    return {name: [row[1] for row in sorted(rows, key=lambda row: row[0])] for name, rows in rows_of.items()}


def _refuse_missing(samples: Mapping[str, Sequence[float]], model: Model, path: Path) -> None:
    missing = [
        operator.name
        for operator in model.operators
        if operator.name not in samples and operator.kind not in FREE_KINDS
    ]
    if missing:
        raise UsageError(f"{path} has no times of {len(missing)} operators of the model, such as {missing[0]}")
