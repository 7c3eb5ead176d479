"""Call llama.cpp's own programs: llama-bench, its RPC server, and llama-fit-params."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from benchmarks.predictions.figures import Absent

BUILT = Path(__file__).parents[2] / "build" / "llama-cpp"
_DEVICE = re.compile(r"^\s+(\w+): .*\(\d+ MiB, (\d+) MiB free\)", re.MULTILINE)
TOKENS = 32


@dataclass(frozen=True)
class Accelerator:
    """What layers are offloaded to: a GPU, or a server on this machine in its place.

    Attributes:
        name: as a spec calls it: an address, or "CUDA0".
        free: bytes that llama.cpp believes are free there.
        options: that make llama.cpp see it.
        threads: of the host.
    """

    name: str
    free: int
    options: tuple[str, ...]
    threads: int


def program(name: str) -> str:
    """Return where a program of llama.cpp is: in the folder MTPP_LLAMA_BENCH, built here, or on the path.

    Raises:
        Absent: it is in none of these.
    """
    folder = Path(os.environ.get("MTPP_LLAMA_BENCH", BUILT))
    found = shutil.which(name, path=str(folder)) or shutil.which(name)
    if found is None:
        raise Absent(f"{name} is not built: python -m tests.tools.llama_cpp build/llama-cpp --bench")
    return found


def _output(command: Sequence[str]) -> str:
    """Return what a program prints.

    Raises:
        OSError: it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        raise OSError(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}{done.stdout[-500:]}")
    return done.stdout


@contextmanager
def accelerator() -> Iterator[Accelerator]:
    """Give the first GPU of this build; where there is none, a server with all cores, and a host with one thread."""
    listed = _DEVICE.search(_output([program("llama-bench"), "--list-devices"]))
    cores = os.cpu_count() or 1
    if listed:
        yield Accelerator(listed[1], int(listed[2]) * 2**20, (), cores)
        return
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [program("ggml-rpc-server"), "-H", "127.0.0.1", "-p", str(port), "-t", str(cores)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait(port)
            options = ("--rpc", f"127.0.0.1:{port}")
            seen = _DEVICE.search(_output([program("llama-bench"), *options, "--list-devices"]))
            if seen is None:
                raise Absent("llama-bench sees no RPC server: build it with -DGGML_RPC=ON")
            yield Accelerator(f"127.0.0.1:{port}", int(seen[2]) * 2**20, options, 1)
        finally:
            server.kill()


def _wait(port: int) -> None:
    until = monotonic() + 60
    while monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        sleep(0.1)
    raise OSError(f"the RPC server does not answer on port {port}")


def seconds(model: Path, line: str, there: Accelerator, repeats: int = 3) -> list[float]:
    """Return the seconds a token of some repetitions of generating TOKENS tokens; *line* has options of llama-server.

    llama-bench writes lists of overrides with ``;`` and of shares with ``/``.
    """
    words = [word for word in _placing(line) if word not in there.options]
    for i, word in enumerate(words):
        if i and words[i - 1] == "-ot":
            words[i] = word.replace(",", ";")
        elif i and words[i - 1] == "-ts":
            words[i] = word.replace(",", "/")
    command = [program("llama-bench"), *there.options, "-m", str(model), "-t", str(there.threads), *words]
    printed = _output([*command, "-p", "0", "-n", str(TOKENS), "-r", str(repeats), "-o", "json"])
    (row,) = json.loads(printed)
    return [nanoseconds / 1e9 / TOKENS for nanoseconds in row["samples_ns"]]


def _placing(line: str) -> list[str]:
    """Return the options of a launch line that say what is where."""
    words = shlex.split(line.strip().splitlines()[-1])
    kept = []
    for i, word in enumerate(words[:-1]):
        if word in ("-ngl", "-ts", "-ot", "--n-cpu-moe", "--device", "--rpc"):
            kept += [word, words[i + 1]]
    return kept


def fitted(model: Path, room: int, there: Accelerator) -> str:
    """Return the options that llama.cpp's ``--fit`` chooses with so many bytes for everything on the accelerator."""
    margin = (there.free - room) // 2**20
    command = [program("llama-fit-params"), *there.options, "-m", str(model), "-c", "512", "-fitt", str(margin)]
    return _output(command).strip().splitlines()[-1].replace("-ngl -1", "-ngl 99")  # either says: all layers
