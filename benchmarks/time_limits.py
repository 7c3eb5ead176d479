"""How well the time limit is kept: 12 workloads of all objectives, with compiled code on disk and without.

Every call is ``mtpp solve`` in a process of its own. What is counted is the whole process, less the start of the
interpreter: reading the spec, importing, solving, checking and writing the answer. The goal is an end within 0.5 s and
2 % of the limit. A machine that is busy with other things takes longer than its clock shows: the column "cpu" gives
the processor seconds of the call and of all its processes.

Workloads are looked for in $MTPP_DATA, else in ../shared/data beside the repository; those that are not there are left
out.

    python benchmarks/time_limits.py                              all: 12 workloads at 1, 2, 5 and 20 s, cold and warm
    python benchmarks/time_limits.py --limits 1 5 --cache cold --only bert12 transformer
    python benchmarks/time_limits.py --method exact --limits 5    one method in place of auto, where it accepts
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
GRAPHS = "dnn-partitioning/throughput/OperatorGraphs"
STAGES = "device stage[{k}]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n"
MODULES = """
graph from generator rwnn (model = "er", p = 0.2, nodes = 10, modules = {modules}, channels = 2, dependence = "strong",
                           seed = 7)
device cpu  (speed = 0.141, memory = 256 GiB)
device t4   (speed = 0.794, memory = 16 GiB)
device a100 (speed = 1.0, memory = 40 GiB)
interconnect links
link cpu <-> t4   (bandwidth = 12 GiB/s, latency = 10 us)
link cpu <-> a100 (bandwidth = 24 GiB/s, latency = 10 us)
link t4  <-> a100 (bandwidth = 12 GiB/s, latency = 10 us)
maximize throughput (batch = 128)
constraint memory
constraint batch in [32, 64, 96, 128]
"""


def operators(name: str, rest: str) -> str:
    """Return a spec of an operator graph on stages of one's own."""
    return f'graph from "{DATA / GRAPHS / name}.json" (format = msr)\n{rest}'


def whole(path: str, rest: str, form: str = "msr") -> str:
    """Return a spec of a graph and devices from one file."""
    return f'import "{DATA / path}.json" (format = {form})\n{rest}'


GROUPED = "device gpu[i in 0..7] (group = floor(i / 4))\ninterconnect shared (bandwidth = 1, between = 0.25)\n"
LATENCY = "minimize makespan\nconstraint subgraphs at most 1\nconstraint memory\nconstraint colocate by color\n"
OWN = "constraint even: forall d in devices: load(d) >= 1/4 * bottleneck\n"
WORKLOADS = {
    "bert3": operators("bert_l-3_inference", STAGES.format(k=4) + "constraint acyclic\n"),
    "bert12-host": whole(
        f"{GRAPHS}/bert_l-12_inference",
        "minimize bottleneck\nconstraint contiguous\nconstraint memory\nconstraint colocate by color\n",
    ),
    "bert12-training": whole(
        f"{GRAPHS}/bert_L-12_training",
        "minimize bottleneck\nconstraint contiguous\nconstraint memory\nconstraint colocate by color\n",
    ),
    "bert12-groups": operators("bert_l-12_inference", GROUPED + "minimize bottleneck\nconstraint acyclic\n"),
    "bert12-free": operators("bert_l-12_inference", STAGES.format(k=8)),
    "bert3-own-rows": operators("bert_l-3_inference", STAGES.format(k=4) + "constraint acyclic\n" + OWN),
    "transformer": whole("moirai/transformer", "minimize makespan\nconstraint memory\n", "moirai"),
    "googlenet": whole("moirai/GoogLeNet", "minimize makespan\nconstraint exclusive links\n", "moirai"),
    "inceptionv4": whole(
        "moirai/inceptionv4", "minimize makespan\nconstraint memory\nconstraint exclusive links\n", "moirai"
    ),
    "bert12-latency": whole("dnn-partitioning/latency/OperatorGraphs/bert_l-12_inference", LATENCY),
    "batch-10": MODULES.format(modules=10),
    "batch-100": MODULES.format(modules=100),
}


@dataclass(frozen=True)
class Call:
    """What one call took, in seconds, and what it answered."""

    wall: float
    cpu: float
    code: int
    answer: dict[str, object]
    errors: str


def call(spec: Path, limit: float, cache: Path | None, extra: Sequence[str]) -> Call:
    """Solve *spec* within *limit* seconds, with compiled code kept in *cache*, or where it is kept by default."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "-q"]
        command += ["--time-limit", f"{limit}s", "--json", str(answer), *extra]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})},
        )
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = json.loads(answer.read_text()) if answer.is_file() else {}
        return Call(wall, cpu, done.returncode, found, done.stderr)


def interpreter() -> float:
    """Return the seconds that an interpreter takes to start and end."""
    runs = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        runs.append(time.monotonic() - began)
    return statistics.median(runs)


def line(name: str, limit: float, state: str, done: Call, start: float) -> tuple[str, bool]:
    """Return what is printed of a call, and whether it kept the limit."""
    took = done.wall - start
    kept = took <= limit + 0.5 + 0.02 * limit
    found = done.answer
    value = (found.get("objective") or {}).get("value")  # type: ignore[attr-defined]
    bound = (found.get("bound") or {}).get("value")  # type: ignore[attr-defined]
    shown = [f"{'-' if v is None else format(v, '.5g'):>10}" for v in (value, bound)]
    row = f"{name:16} {state:5} {limit:5g} {took:7.2f} {took - limit:+7.2f} {done.cpu:7.2f} {' '.join(shown)}"
    status = f"{found.get('status', '-')}, {found.get('termination', '-')}"
    if done.code not in (0, 3):
        status += f" (exit {done.code}: {(done.errors.strip().splitlines() or ['?'])[-1][:100]})"
    return f"{row}  {status}{'' if kept else '  LATE'}", kept


def main() -> None:
    """Print a line per workload, limit and state of the cache."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 2.0, 5.0, 20.0], metavar="SECONDS")
    parser.add_argument("--cache", choices=("cold", "warm", "both"), default="both")
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--threads", type=int)
    chosen = parser.parse_args()
    extra = ["--method", chosen.method]
    if chosen.threads is not None:
        extra += ["--threads", str(chosen.threads)]
    start, late, calls = interpreter(), 0, 0
    print(f"interpreter: {start:.2f} s")
    print(f"{'workload':16} {'cache':5} {'limit':>5} {'took':>7} {'over':>7} {'cpu':>7} {'plan':>10} {'bound':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.only:
            spec = Path(folder) / f"{name}.mtpp"
            spec.write_text(f"mtpp 1\n{WORKLOADS[name]}")
            if str(DATA) in WORKLOADS[name] and not DATA.is_dir():
                print(f"{name:16} left out: no workloads at {DATA}")
                continue
            for state in ("cold", "warm") if chosen.cache == "both" else (chosen.cache,):
                for limit in chosen.limits:
                    with tempfile.TemporaryDirectory() as empty:
                        cache = Path(empty) if state == "cold" else None
                        shown, kept = line(name, limit, state, call(spec, limit, cache, extra), start)
                    print(shown, flush=True)
                    late, calls = late + (not kept), calls + 1
    print(f"{calls - late} of {calls} calls ended within 0.5 s and 2 % of their limit")


if __name__ == "__main__":
    main()
