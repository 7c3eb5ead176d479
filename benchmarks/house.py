"""Is a checkout slower than another one? Twenty-one workloads, run in turns in both.

Each workload does a fixed amount of work, on a problem that is read before. A process of each checkout does it once
without counting, and then as often as asked, in turns with the other; which one begins changes each time. The table has
the median CPU time of either, and the median over the runs of the ratio of AFTER to BEFORE, of CPU and of wall-clock
time. CPU time counts the processes that a workload starts. Only public names of ``mtpp_dsl`` are used. Workloads of
published graphs are left out where these are not found in $MTPP_DATA, else in ../shared/data.

    python benchmarks/house.py BEFORE AFTER               two folders of checkouts, each with its .venv
    python benchmarks/house.py . . --runs 3 --only heft   names of workloads, or parts of names
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MTPP_DATA", ROOT.parent / "shared" / "data"))
MSR = "dnn-partitioning/throughput"
SLOWER = 1.05
"""A ratio of CPU times above this is marked."""

STAGES = "device d[{k}]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\nconstraint acyclic\n"
LAYERED = "graph from generator layered (nodes = {n}, width = {width}, p = {p}, spread = 0.8, seed = 7)\n"
PUBLISHED = 'graph from "{data}/' + MSR + '/{name}.json" (format = msr)\n'
LINKS = (
    "device a\ndevice b (speed = 1.5)\ndevice c (speed = 0.8)\n"
    "interconnect links (bandwidth = 1, latency = 0.1)\nminimize makespan\n"
)
BATCH = (
    'graph from generator rwnn (model = "er", p = 0.3, nodes = 8, modules = {modules}, channels = 2, seed = 7)\n'
    "device cpu (speed = 0.14)\ndevice t4 (speed = 0.8)\ndevice a100\n"
    "interconnect links (bandwidth = 12 GiB/s, latency = 10 us)\n"
    "maximize throughput (batch = 16)\nconstraint batch in [4, 8, 12, 16]\n"
)
REGAL = 'graph from generator regal (nodes = {n}, model = "ws", seed = 4)\n'
LATENCY = (
    'import "{data}/dnn-partitioning/latency/LayerGraphs/bert24_inference.json" (format = msr)\n'
    "minimize makespan\nconstraint contiguous\nconstraint memory\nconstraint colocate by color\n"
)
FAMILIES = (
    "graph {\n  node a[i in 0..9999] (work = (1 + mod(i, 7)) * 1 ms, output = (2 + mod(i, 5)) * 1 MiB)\n"
    "  edge a[i] -> a[i + 1] for i in 0..9998\n  edge a[i] -> a[i + 3] for i in 0..9996 if mod(i, 3) == 0\n}\n"
    "device d[8]\ninterconnect shared (bandwidth = 8 GiB/s)\nminimize bottleneck\nconstraint acyclic\n"
)


Work = Callable[[], Any]


def workloads() -> dict[str, Callable[[], Work]]:
    """Return by name what prepares a workload, which is not timed, and returns what is timed."""
    return {
        "start: mtpp methods": lambda: lambda: _command("methods"),
        "start: mtpp check": lambda: lambda: _command("check", str(ROOT / "examples" / "quickstart.mtpp")),
        "read: 10,000 nodes": lambda: lambda: _load(FAMILIES),
        "ideals: Inception v3": _solving(
            5, PUBLISHED + STAGES, "ideals", name="LayerGraphs/inceptionv3_inference", k=6
        ),
        "exact: model of 1,500 nodes": _building(LAYERED.format(n=1500, width=4, p=0.4) + STAGES.format(k=8)),
        "exact: 12 nodes, HiGHS": _solving(1, LAYERED + STAGES, "exact", n=12, width=3, p=0.4, k=3),
        "slicegraph: 2,000 nodes": _solving(
            1, LAYERED + STAGES, "slicegraph", {"orders": 4}, n=2000, width=8, p=0.3, k=8
        ),
        "brkga: 200 nodes": _solving(1, LAYERED + STAGES, "brkga", n=200, width=5, p=0.3, k=8),
        "anchor: 400 nodes": _solving(30, LAYERED + STAGES, "anchor", n=400, width=5, p=0.4, k=8),
        "count: BERT-12": _solving(2, PUBLISHED + STAGES, "count", name="OperatorGraphs/bert_l-12_inference", k=8),
        "configuration: 30 nodes": _solving(2, LAYERED + STAGES, "configuration", n=30, width=4, p=0.4, k=5),
        "simple: 100,000 nodes": _solving(2, LAYERED + STAGES, "simple", n=100000, width=8, p=0.2, k=8),
        "heft: 20,000 nodes": _solving(1, LAYERED + LINKS, "heft", n=20000, width=8, p=0.2),
        "annealing: an order": _solving(2, REGAL + STAGES, "annealing", {"patience": 1}, n=100, k=8),
        "annealing: schedules": _solving(1, LAYERED + LINKS, "annealing", {"patience": 1}, n=100, width=5, p=0.3),
        "annealing: a batch": _solving(1, BATCH, "annealing", {"patience": 1}, modules=4),
        "decomposition: GoogLeNet": _solving(
            1, 'import "{data}/moirai/GoogLeNet.json" (format = moirai)\nminimize makespan\n', "decomposition"
        ),
        "heft: a batch": _solving(2, BATCH, "heft", modules=40),
        "latency-search: BERT-24": _solving(10, LATENCY, "latency-search", {"patience": 2}),
        "auto: 30 nodes": _solving(5, REGAL + STAGES, "auto", n=30, k=4),
        "auto: a schedule of 14": _solving(5, LAYERED + LINKS, "auto", n=14, width=3, p=0.4),
    }


def _command(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "mtpp_dsl", *arguments], check=True, capture_output=True)


def _load(text: str) -> Any:
    import mtpp_dsl

    return mtpp_dsl.load(text)


def _solving(times: int, spec: str, method: str, options: dict[str, int] | None = None, **values: Any) -> Any:
    """Return what reads a problem, and returns what solves it so many times; options are for the method."""

    def prepare() -> Work:
        import mtpp_dsl
        from mtpp_dsl import registry

        problems = [_load(spec.format(data=DATA, **values)) for _ in range(times)]
        chosen = registry.load(registry.METHODS, method)(**options) if options else method
        threads = {"threads": 1} if method in ("auto", "exact", "decomposition") else {}

        def solve() -> None:
            for problem in problems:
                mtpp_dsl.solve(problem, chosen, time_limit=120, seed=3, **threads)

        return solve

    prepare.published = "{data}" in spec  # type: ignore[attr-defined]
    return prepare


def _building(text: str) -> Callable[[], Work]:
    """Return what reads a problem, and returns what builds the exact model of it."""

    def prepare() -> Work:
        from mtpp_dsl import registry

        problem = _load(text)
        formulation = registry.load(registry.FORMULATIONS, "exact")()
        return lambda: formulation.build(problem)

    return prepare


def serve() -> None:
    """Do the workloads whose names are read from standard input; answer with CPU and wall-clock seconds."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    known = workloads()
    for line in sys.stdin:
        try:
            work = known[line.strip()]()
            began, used = time.perf_counter(), _cpu()
            work()
        except Exception as error:
            print(json.dumps([f"{type(error).__name__}: {error}"[:300]]), file=answers, flush=True)
            continue
        print(json.dumps([_cpu() - used, time.perf_counter() - began]), file=answers, flush=True)


def _cpu() -> float:
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


class Checkout:
    """A process of a checkout that does workloads."""

    def __init__(self, folder: Path) -> None:
        python = folder / ".venv" / "bin" / "python"
        if not python.exists():
            raise SystemExit(f"{folder} has no .venv/bin/python: make install there")
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [python, Path(__file__).resolve(), "--serve", ".", "."],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
            env={**os.environ, **one, "MTPP_DATA": str(DATA), "PYTHONHASHSEED": "0"},
        )  # fmt: skip

    def seconds(self, name: str) -> tuple[float, float]:
        """Return the CPU and wall-clock seconds of a workload."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process for {name!r} has died")
        found = json.loads(line)
        if len(found) == 1:
            raise SystemExit(f"{name}: {found[0]}")
        return found[0], found[1]

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def compared(name: str, before: Checkout, after: Checkout, runs: int) -> tuple[list[float], list[float]]:
    """Return the CPU and wall-clock seconds of a workload: before and after, medians, and the medians of the ratios."""
    for checkout in (before, after):
        checkout.seconds(name)
    rows = []
    for run in range(runs):
        if run % 2:
            two = after.seconds(name)
            one = before.seconds(name)
        else:
            one = before.seconds(name)
            two = after.seconds(name)
        rows.append((one, two))

    def medians(kind: int) -> list[float]:
        ones, twos = [row[0][kind] for row in rows], [row[1][kind] for row in rows]
        ratio = statistics.median(b / a for a, b in zip(ones, twos, strict=True))
        return [statistics.median(ones), statistics.median(twos), ratio]

    return medians(0), medians(1)


def names(only: str) -> Iterator[str]:
    """Yield the names of the workloads that are asked for, and whose files are there."""
    for name, prepare in workloads().items():
        asked = any(part.strip() in name for part in only.split(","))
        if asked and (DATA.is_dir() or not getattr(prepare, "published", False)):
            yield name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="", help="parts of names of workloads, with commas between")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return
    before, after = Checkout(asked.before.absolute()), Checkout(asked.after.absolute())
    print(f"{'':28}{'CPU before':>12}{'after':>9}{'ratio':>8}{'wall ratio':>12}")
    ratios = []
    for name in names(asked.only):
        cpu, wall = compared(name, before, after, asked.runs)
        ratios.append(cpu[2])
        mark = "   slower" if cpu[2] > SLOWER else ""
        print(f"{name:28}{cpu[0]:10.2f} s{cpu[1]:7.2f} s{cpu[2]:8.3f}{wall[2]:12.3f}{mark}", flush=True)
    if ratios:
        print(f"{'geometric mean':28}{'':21}{statistics.geometric_mean(ratios):8.3f}")
    before.end()
    after.end()


if __name__ == "__main__":
    main()
