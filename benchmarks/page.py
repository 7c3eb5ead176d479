"""Time the pages of plans: how long they take to write, how large they are, and what Chromium needs to open them.

For generated graphs of 2,000 and 20,000 nodes, with nested names and with none, over eight devices, and for a schedule
of 20,000 nodes, it prints the seconds of the processor that writing takes, the size, and, of the page in a headless
Chromium, the seconds that its main thread works until it stands, and those of opening all modules of a level.

Usage: .venv/bin/python benchmarks/page.py [part of a name]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

import mtpp_dsl
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.reporting import page_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser import started

DEVICES = 8


def graph_of(n: int, *, nested: bool) -> Graph:
    """Return a chain of *n* nodes with a second edge into each."""
    random = np.random.default_rng(0)
    names = [f"model.layer[{v // 40}].block[{v // 8 % 5}].op[{v % 8}]" if nested else f"{v}" for v in range(n)]
    back = random.integers(2, 30, n)
    edges = {(v - 1, v) for v in range(1, n)} | {(v - int(back[v]), v) for v in range(30, n)}
    sizes = {"params": random.random(n) * 1e6, "output": random.integers(1, 50, n) * 1024.0}
    return Graph.create(names, sorted(edges), work=random.random(n) / 1e3, work_unit="s", size_unit="B", **sizes)


def split(n: int, *, nested: bool) -> tuple[Problem, Plan]:
    """Return a pipeline."""
    devices = [Device(f"gpu[{d}]", memory=1e11) for d in range(DEVICES)]
    problem = Problem.create(graph_of(n, nested=nested), devices, Shared(1e9), Objective("bottleneck"))
    return problem, Plan.create(problem, np.arange(n) * DEVICES // n)


def schedule(n: int) -> tuple[Problem, Plan]:
    """Return a schedule in which all devices take turns, node after node, each as soon as its data are there."""
    graph = graph_of(n, nested=True)
    k = DEVICES
    bandwidth = np.where(np.eye(k, dtype=bool), np.inf, 1e9)
    problem = Problem.create(graph, [Device(f"gpu[{d}]") for d in range(k)], Links(bandwidth, np.zeros((k, k))),
                             Objective("makespan"))  # fmt: skip
    where = np.arange(n) // 3 % k
    start, end = np.zeros(n), np.zeros(n)
    sent, arrived = np.full(graph.m, np.nan), np.full(graph.m, np.nan)
    free = np.zeros(k)
    edges: list[list[int]] = [[] for _ in range(n)]
    for e, head in enumerate(graph.heads.tolist()):
        edges[head].append(e)
    for v in range(n):
        ready = free[where[v]]
        for e in edges[v]:
            u = int(graph.tails[e])
            if where[u] != where[v]:
                sent[e], arrived[e] = end[u], end[u] + graph.sizes[e] / 1e9
            ready = max(ready, end[u] if where[u] == where[v] else arrived[e])
        start[v], end[v] = ready, ready + problem.time[v, where[v]]
        free[where[v]] = end[v]
    plan = Plan.create(problem, where, schedule=Schedule.create(graph, start, end, sent, arrived))
    return problem, plan


def cases() -> Iterator[tuple[str, Problem, Plan]]:
    """Yield plans with their names."""
    for n in (2_000, 20_000):
        for nested in (True, False):
            yield f"{n} nodes{', nested' if nested else ''}", *split(n, nested=nested)
    yield "schedule of 20000", *schedule(20_000)


def spent(session: Any) -> float:
    """Return for how many seconds the main thread of a page has worked."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


def main() -> None:
    """Print a line for each page."""
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"mtpp {mtpp_dsl.__version__}")
    print(f"{'page':20} {'written in s':>12} {'MB':>6} {'opened in s':>11} {'a level in s':>12}")
    with started() as browser, TemporaryDirectory() as folder:
        for name, problem, plan in cases():
            if part not in name:
                continue
            result = Result("complete", plan=plan, evaluation=evaluate(problem, plan), method="given").of(problem)
            begun = process_time()
            text = page_of(problem, result)
            written = process_time() - begun
            path = Path(folder) / "page.html"
            path.write_text(text, encoding="utf-8")
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")
            page.goto(path.as_uri())
            page.wait_for_function("requestAnimationFrame(() => 1)")
            opened = spent(session)
            page.click("#graph-more")
            page.wait_for_function("requestAnimationFrame(() => 1)")
            level = spent(session) - opened
            page.close()
            print(f"{name:20} {written:12.2f} {len(text.encode()) / 1e6:6.2f} {opened:11.2f} {level:12.2f}", flush=True)


if __name__ == "__main__":
    main()
