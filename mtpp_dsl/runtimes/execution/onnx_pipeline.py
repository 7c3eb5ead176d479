"""Run the parts of an ONNX model as one process each: while one works on an input, the next is worked on before it.

This module is also the program of these processes: see :func:`main`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Any

import numpy as np

from mtpp_dsl.core.errors import MtppError, SolverError, UsageError
from mtpp_dsl.runtimes.execution.clocks import CLOCKS
from mtpp_dsl.runtimes.execution.machine import processes_within
from mtpp_dsl.runtimes.execution.onnx_run import open_session
from mtpp_dsl.runtimes.execution.run_options import RunOptions

__all__ = ["run_onnx_pipeline"]

Message = tuple[int, dict[str, Any]]
"""The number of an input, and the tensors that are known of it."""


def run_onnx_pipeline(
    folder: Path, feeds: Sequence[Mapping[str, Any]], options: RunOptions
) -> tuple[list[list[Any]], list[list[float]]]:
    """Return the results for each input, and the times of each part without those of the warm-up.

    Raises:
        UsageError: onnxruntime refuses a part.
        SolverError: a process fails, or the time is over.
    """
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = manifest["parts"]
    times: list[list[float]] = [[] for _ in rows]
    with processes_within() as processes:
        for row in rows:
            processes.append(_started(folder, row, options))
        queues: list[Queue[Message | MtppError]] = [Queue() for _ in range(len(rows) + 1)]
        for s, (row, process) in enumerate(zip(rows, processes, strict=True)):
            arguments = (row, process, queues[s], queues[s + 1], times[s])
            Thread(target=_relay, args=arguments, daemon=True).start()
        total = (options.repeats + 1) * len(feeds)
        for i in range(total):
            queues[0].put((i, dict(feeds[i % len(feeds)])))
        last: dict[int, dict[str, Any]] = {}
        for _ in range(total):
            message = _next(queues[-1], options.time_limit)
            last[message[0] % len(feeds)] = message[1]
    results = [[last[i][name] for name in manifest["outputs"]] for i in range(len(feeds))]
    return results, [row[len(feeds) :] for row in times]


def _next(queue: Queue[Message | MtppError], time_limit: float | None) -> Message:
    from queue import Empty

    try:
        message = queue.get(timeout=time_limit)
    except Empty:
        raise SolverError(f"no result came within {time_limit:g} s; all processes were ended") from None
    if isinstance(message, MtppError):
        raise message
    return message


def _relay(
    row: Mapping[str, Any],
    process: subprocess.Popen[bytes],
    source: Queue[Message | MtppError],
    target: Queue[Message | MtppError],
    times: list[float],
) -> None:
    """Hand tensors to a process and on to the next, until something fails; what fails is handed on in their place."""
    assert process.stdin is not None
    assert process.stdout is not None
    while True:
        message = source.get()
        if isinstance(message, MtppError):
            target.put(message)
            return
        number, tensors = message
        answer: tuple[dict[str, Any], dict[str, Any]] | None = None
        with suppress(OSError, ValueError):  # the process has ended
            send(process.stdin, {entry["name"]: tensors[entry["name"]] for entry in row["inputs"]}, {})
        with suppress(OSError, ValueError):
            answer = receive(process.stdout)
        if answer is None or "seconds" not in answer[1]:
            target.put(_failure(row, None if answer is None else answer[1]))
            return
        times.append(answer[1]["seconds"])
        target.put((number, tensors | answer[0]))


def _failure(row: Mapping[str, Any], answer: Mapping[str, Any] | None) -> MtppError:
    if answer is not None and "refused" in answer:
        return UsageError(answer["refused"])
    reason = "it ended" if answer is None else answer.get("error", "it ended")
    return SolverError(f"the process of {row['file']} failed: {reason}")


def _started(folder: Path, row: Mapping[str, Any], options: RunOptions) -> subprocess.Popen[bytes]:
    """Return the process of a part."""
    task = {
        "file": str(folder / row["file"]),
        "outputs": row["outputs"],
        "threads": options.threads,
        "optimise": options.optimise,
        "clock": options.clock,
    }
    command = [sys.executable, "-m", "mtpp_dsl.runtimes.execution.onnx_pipeline", json.dumps(task)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def main() -> None:
    """Run the part that the arguments name for each message, until there is no further one."""
    task = json.loads(sys.argv[1])
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print does not belong between the messages
    now = CLOCKS[task["clock"]]
    try:
        session = open_session(Path(task["file"]), task["threads"], optimise=task["optimise"])
        while (message := receive(incoming)) is not None:
            began = now()
            made = session.run(task["outputs"], message[0])
            took = now() - began
            send(outgoing, dict(zip(task["outputs"], made, strict=True)), {"seconds": took})
    except MtppError as error:
        send(outgoing, {}, {"refused": str(error)})
    except Exception as error:  # of onnxruntime
        send(outgoing, {}, {"error": (str(error).strip() or type(error).__name__).splitlines()[0][:500]})


def send(file: IO[bytes], arrays: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Write a message: a line of JSON with names, types and shapes, and then the numbers."""
    rows = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    file.write(json.dumps({"arrays": rows, **more}).encode() + b"\n")
    file.writelines(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    file.flush()


def receive(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Read a message, and return its arrays and what else it says; None at the end."""
    line = file.readline()
    if not line:
        return None
    head = json.loads(line)
    arrays = {}
    for name, kind, shape in head.pop("arrays"):
        dtype = np.dtype(kind)
        data = file.read(dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
        arrays[name] = np.frombuffer(data, dtype).reshape(shape)
    return arrays, head


if __name__ == "__main__":
    main()
