"""Makespans and latencies of large graphs: when the first plan is there, how good it is early, the gap, and memory.

Every call is ``mtpp solve`` in a process of its own. ``first`` is when the first plan is reported, and ``early`` what
the plan at a tenth of the limit, or a second after reading where that is later, is to the final one: goals are that
there is one, and a factor of 1.3. ``memory`` is the largest proportional set size of the call and all its processes
together, looked at ten times a second. Seconds count from the start of the call, as the limit does.

    python benchmarks/large_makespans.py                               all rows, 20 s each
    python benchmarks/large_makespans.py --nodes 1000 --limit 10
    python benchmarks/large_makespans.py --graphs gpt --nodes 99200 --devices 16 --nets links --limit 60
    python benchmarks/large_makespans.py --busy                        beside a process that keeps one core busy
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GRAPHS = {
    "chain": ("graph from generator chain (nodes = {n}, spread = 0.8)", 1.0),
    "layered": ("graph from generator layered (nodes = {n}, width = 10, p = 0.3, output = 2, spread = 0.8)", 1.0),
    "wide": ("graph from generator layered (nodes = {n}, width = 40, p = 0.1, output = 2, spread = 0.8)", 1.0),
    "gpt": ("graph from generator gpt (layers = {layers}, hidden = 768, heads = 12, sequence = 1024)", 14e12),
}
"""Text of each graph, and the speed of its devices, without which their times would have no unit."""
OPERATORS = 155
"""Of a layer of ``gpt`` with twelve heads."""
UNIT = {"chain": ("1", "0.5"), "layered": ("1", "0.5"), "wide": ("1", "0.5"), "gpt": ("16 GB/s", "10 us")}
"""Bandwidth and latency of a link."""
SPEEDS = (1.0, 0.66, 1.16, 0.58)
"""Of devices in turn: four GPUs after zhang2023, the first as 1."""
NETS = {
    "links": "interconnect links (bandwidth = {bandwidth})",
    "exclusive": "interconnect links (bandwidth = {bandwidth})\nconstraint exclusive links",
    "latency": "interconnect links (bandwidth = {bandwidth}, latency = {latency})",
    "servers": "interconnect links (bandwidth = {bandwidth} / 8, latency = {latency})\n"
    "link d[i] <-> d[j] (bandwidth = {bandwidth}) for i in 0..<{k}, j in 0..<{k} "
    "if i < j and floor(i / 4) == floor(j / 4)",
    "shared": "interconnect shared (bandwidth = {bandwidth})\nconstraint contiguous",
    "host": "interconnect host (bandwidth = {bandwidth})\nconstraint contiguous",
}
SAMPLE = 0.1
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Row:
    """One problem and its limit."""

    graph: str
    nodes: int
    devices: int
    net: str
    limit: float

    @property
    def spec(self) -> str:
        """Return the text of the problem."""
        text, speed = GRAPHS[self.graph]
        bandwidth, latency = UNIT[self.graph]
        graph = text.format(n=self.nodes, layers=max(1, round(self.nodes / OPERATORS)))
        speeds = [f"{speed * SPEEDS[i % len(SPEEDS)]:g}{' FLOP/s' if speed > 1 else ''}" for i in range(self.devices)]
        device = f"device d[i in 0..<{self.devices}] (speed = [{', '.join(speeds)}][i])"
        net = NETS[self.net].format(bandwidth=bandwidth, latency=latency, k=self.devices)
        return f"mtpp 1\n{graph}\n{device}\n{net}\nminimize makespan\n"


@dataclass(frozen=True)
class Outcome:
    """What a call answered, the seconds that it took, and the most memory that it had, in bytes."""

    answer: dict[str, object]
    seconds: float
    memory: int
    errors: str


def descendants(root: int) -> list[int]:
    """Return the numbers of a process and of all that it has started."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    family, todo = [], [root]
    while todo:
        process = todo.pop()
        family.append(process)
        todo += children.get(process, [])
    return family


def proportional(process: int) -> int:
    """Return the bytes of a process, of pages that several share its part; 0 once it has ended."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)


def call(row: Row, method: str, extra: Sequence[str]) -> Outcome:
    """Solve the problem of *row* in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        spec, answer = Path(folder) / "spec.mtpp", Path(folder) / "answer.json"
        spec.write_text(row.spec)
        command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "-q", "--method", method]
        command += ["--time-limit", f"{row.limit}s", "--json", str(answer), *extra]
        began, most = time.monotonic(), 0
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                most = max(most, sum(map(proportional, descendants(process.pid))))
                time.sleep(SAMPLE)
            errors = process.stderr.read() if process.stderr is not None else ""
        seconds = time.monotonic() - began
        return Outcome(json.loads(answer.read_text()) if answer.is_file() else {}, seconds, most, errors)


def shown(value: float | None, form: str) -> str:
    """Return a number, or a dash where there is none."""
    return "-" if value is None else format(value, form)


def line(row: Row, outcome: Outcome) -> str:
    """Return what the table says of a call."""
    answer = outcome.answer
    log: list[dict[str, float]] = answer.get("log", [])  # type: ignore[assignment]
    spent: dict[str, float] = answer.get("time", {})  # type: ignore[assignment]
    read = spent.get("read", 0.0)  # times of the log begin after it
    plans = [(read + entry["time"], entry["incumbent"]) for entry in log if entry["incumbent"] is not None]
    final = min((cost for _, cost in plans), default=None)
    until = max(0.1 * row.limit, read + 1.0)
    early = min((cost for at, cost in plans if at <= until), default=None)
    first = plans[0][0] if plans else None
    gap: float | None = answer.get("gap")  # type: ignore[assignment]
    cells = [
        f"{row.graph:8}",
        f"{row.nodes:6}",
        f"{row.devices:2}",
        f"{row.net:9}",
        f"{row.limit:3g}",
        f"{shown(spent.get('read'), '.1f'):>5}",
        f"{shown(first, '.1f'):>5}",
        f"{shown(None if early is None or not final else early / final, '.2f'):>5}",
        f"{shown(None if gap is None else 100 * gap, '.1f'):>5}",
        f"{outcome.memory / 1e9:5.2f}",
        f"{outcome.seconds:5.1f}",
    ]
    trouble = "" if answer else " " + (outcome.errors.strip().splitlines() or ["?"])[-1][:100]
    return f"| {' | '.join(cells)} |{trouble}"


@contextmanager
def company(wanted: bool):  # type: ignore[no-untyped-def]
    """Keep one core busy meanwhile, if that is *wanted*."""
    if not wanted:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def main() -> None:
    """Print a line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=["layered", "gpt"])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000, 20000, 100000])
    parser.add_argument("--devices", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--nets", nargs="+", choices=list(NETS), default=list(NETS))
    parser.add_argument("--limit", type=float, nargs="+", default=[20.0], metavar="SECONDS")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--busy", action="store_true", help="beside a process that keeps one core busy")
    chosen = parser.parse_args()
    extra = [] if chosen.threads is None else ["--threads", str(chosen.threads)]
    print("| graph    |  nodes |  k | on        |  s  |  read | first | early | gap % |  GB  | took  |")
    print("| -------- | -----: | -: | --------- | --: | ----: | ----: | ----: | ----: | ---: | ----: |")
    rows = [
        Row(graph, nodes, devices, net, limit)
        for graph in chosen.graphs
        for nodes in chosen.nodes
        for devices in chosen.devices
        for net in chosen.nets
        for limit in chosen.limit
    ]
    with company(chosen.busy):
        for row in rows:
            print(line(row, call(row, chosen.method, extra)), flush=True)


if __name__ == "__main__":
    main()
