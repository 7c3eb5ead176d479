"""One process of a pipeline of ONNX parts: takes tensors from standard input, and gives those of its part.

:mod:`mtpp_dsl.runtimes.execution.onnx_pipeline` starts it. It ends when its standard input is closed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

__all__ = ["main", "receive", "send"]


def main() -> None:
    """Run the part that the arguments name for each message, until there is no further one."""
    task = json.loads(sys.argv[1])
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print does not belong between the messages
    from mtpp_dsl.core.errors import MtppError
    from mtpp_dsl.runtimes.execution.onnx_run import open_session
    from mtpp_dsl.runtimes.execution.timing import CLOCKS

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
    found = {}
    for name, kind, shape in head.pop("arrays"):
        dtype = np.dtype(kind)
        data = file.read(dtype.itemsize * int(np.prod(shape, dtype=np.int64)))
        found[name] = np.frombuffer(data, dtype).reshape(shape)
    return found, head


if __name__ == "__main__":
    main()
