"""The first call in a new environment beside the second: examples, single kernels, workloads with a time limit, starts.

Every call is ``mtpp`` in a process of its own. A first call finds no compiled code, as numba is given an empty folder;
the second finds what the first has left there. Counted are wall-clock seconds and the seconds of the processor of the
call and of all its processes; on a machine that is busy with other things only the latter mean something.

    python benchmarks/cold_start.py examples               every example: first call, second call, kernels compiled
    python benchmarks/cold_start.py examples --only towers serving
    python benchmarks/cold_start.py kernels                each kernel that the examples compile, by itself
    python benchmarks/cold_start.py limits --limits 5 20   time_limits.py's workloads: plan and bound, cold and warm
    python benchmarks/cold_start.py starts                 check and solve of the quickstart over the imports alone
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import time_limits

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = "import numpy, lark, rich, typer"
COMPILE = """
import pickle, sys, time
from importlib import import_module
from mtpp_dsl.core.base.compiling import Kernel
import numba
modules, name, signature = pickle.load(sys.stdin.buffer)
for value in (value for module in modules for value in vars(import_module(module)).values()):
    if isinstance(value, Kernel) and value.plain.__name__ == name:
        code = value.compiled()
        began = time.process_time()
        code.compile(signature)
        print(time.process_time() - began, len(value.plain.__code__.co_code))
        break
"""
"""Compiles one kernel for one signature; prints the seconds of the processor and the bytes of bytecode."""


class Spent(NamedTuple):
    """What one process and its children took, in seconds, and what it printed."""

    wall: float
    cpu: float
    output: bytes


def spent(command: Sequence[str], cache: str, given: bytes = b"") -> Spent:
    """Run a command with compiled code kept in *cache*; return what it took."""
    before, began = getrusage(RUSAGE_CHILDREN), monotonic()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, input=given, capture_output=True, check=False, cwd=ROOT, env=environment)
    wall, after = monotonic() - began, getrusage(RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)} failed: {done.stderr.decode()[-400:]}")
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout)


def mtpp(*arguments: str, cache: str) -> Spent:
    """Run the command line."""
    return spent([sys.executable, "-m", "mtpp_dsl", *arguments], cache)


def compiled(cache: str) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield possible modules, name and signature of everything compiled in a folder of numba's cache."""
    for index in sorted(Path(cache).rglob("*.nbi")):
        with index.open("rb") as file:
            pickle.load(file)
            _, overloads = pickle.loads(file.read())
        stem, name, *_ = index.name.split(".")
        folder = index.parent.name.rsplit("_", 1)[0]
        files = [path for top in ("solvers", "mtpp_dsl") for path in ROOT.glob(f"{top}/**/{folder}/{stem}.py")]
        modules = tuple(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files)
        for signature, *_ in overloads:
            yield (
                tuple(m if m.startswith("mtpp") else f"mtpp_dsl.{m}" for m in modules),
                name.rsplit("-", 1)[0],
                signature,
            )


def of_kernels(cache: str, seen: set[str]) -> None:
    """Print what it takes to compile each kernel of a cache, with its parts, unless it has been *seen*."""
    for modules, name, signature in compiled(cache):
        key = f"{modules} {name} {signature}"
        if key in seen:
            continue
        seen.add(key)
        with tempfile.TemporaryDirectory() as empty:
            done = spent([sys.executable, "-c", COMPILE], empty, pickle.dumps((modules, name, signature))).output
        if done:  # else it is a part of other kernels
            seconds, size = done.split()
            print(
                f"  {modules[0].removeprefix('mtpp_dsl.')}.{name}: {float(seconds):.2f} s, {int(size)} bytes",
                flush=True,
            )


def examples(only: Sequence[str], kernels: bool) -> None:
    """Print a line per example, and with *kernels* what it compiles."""
    print(
        f"{'':17}{'first: wall':>12} {'cpu':>6} {'second: wall':>13} {'cpu':>6} {'more cpu':>9} {'ratio':>6}  compiled"
    )
    seen: set[str] = set()
    worst = 0.0
    for spec in sorted((ROOT / "examples").glob("*.mtpp")):
        if only and spec.stem not in only:
            continue
        with tempfile.TemporaryDirectory() as cache:
            first = mtpp("solve", str(spec), "-q", cache=cache)
            count = len(list(compiled(cache)))
            second = mtpp("solve", str(spec), "-q", cache=cache)
            more = first.cpu - second.cpu
            worst = max(worst, more)
            print(
                f"{spec.stem:16} {first.wall:12.1f} {first.cpu:6.1f} {second.wall:13.1f} {second.cpu:6.1f} {more:9.1f}"
                f" {first.cpu / second.cpu:6.1f}  {count}",
                flush=True,
            )
            if kernels:
                of_kernels(cache, seen)
    print(f"at most {worst:.1f} s of the processor more; the goal is 3 s")


def answer(spec: Path, limit: float, cache: str, extra: Sequence[str]) -> tuple[dict[str, Any], Spent]:
    """Return the answer to a call with a time limit, and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        done = mtpp("solve", str(spec), "-q", "--time-limit", f"{limit}s", "--json", str(file), *extra, cache=cache)
        return json.loads(file.read_text()) if file.is_file() else {}, done


def value(of: dict[str, Any], name: str) -> float | None:
    """Return the cost of the plan ("objective") or the bound of an answer."""
    return (of.get(name) or {}).get("value")


def limits(chosen: Sequence[float], only: Sequence[str], method: str) -> None:
    """Print plan and bound of each workload, with an empty folder of compiled code and with a full one."""
    names = "plan: cold", "warm", "bound: cold", "warm"
    print(f"{'workload':16} limit {' '.join(f'{name:>12}' for name in names)}  cpu: cold   warm")
    for name, text in time_limits.WORKLOADS.items():
        if (only and name not in only) or (str(time_limits.DATA) in text and not time_limits.DATA.is_dir()):
            continue
        for limit in chosen:
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
                spec = Path(folder) / f"{name}.mtpp"
                spec.write_text(f"mtpp 1\n{text}")
                first, cold = answer(spec, limit, cache, ("--method", method))
                answer(spec, 4 * limit, cache, ("--method", method))
                second, warm = answer(spec, limit, cache, ("--method", method))
            plans, bounds = ([value(of, what) for of in (first, second)] for what in ("objective", "bound"))
            cells = " ".join(f"{'-' if cost is None else format(cost, '.6g'):>12}" for cost in (*plans, *bounds))
            far = "" if all(plans) and max(plans) <= 1.05 * min(plans) else "  FAR"  # type: ignore[type-var, operator]
            lost = "  NO BOUND" if bounds[0] is None and bounds[1] is not None else ""
            print(f"{name:16} {limit:5g} {cells} {cold.cpu:10.1f} {warm.cpu:6.1f}{far}{lost}", flush=True)


def starts(runs: int = 7) -> None:
    """Print what whole calls take over what importing the libraries takes, as medians of runs in turns."""
    calls = {
        "libraries": [sys.executable, "-c", LIBRARIES],
        "check": [sys.executable, "-m", "mtpp_dsl", "check", "examples/quickstart.mtpp"],
        "solve": [sys.executable, "-m", "mtpp_dsl", "solve", "examples/quickstart.mtpp", "-q"],
    }
    with tempfile.TemporaryDirectory() as cache:
        rounds = [{name: spent(call, cache).cpu for name, call in calls.items()} for _ in range(runs + 1)][1:]
    base = statistics.median(one["libraries"] for one in rounds)
    for name in calls:
        cpu = statistics.median(one[name] for one in rounds)
        print(f"{name:10} {cpu:6.2f} s of the processor, {cpu / base:4.1f} times the libraries")


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("examples", "kernels", "limits", "starts"))
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--limits", type=float, nargs="+", default=[5.0, 20.0], metavar="SECONDS")
    parser.add_argument("--method", default="auto")
    chosen = parser.parse_args()
    if chosen.what == "starts":
        starts()
    elif chosen.what == "limits":
        limits(chosen.limits, chosen.only, chosen.method)
    else:
        examples(chosen.only, chosen.what == "kernels")


if __name__ == "__main__":
    main()
