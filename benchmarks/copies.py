"""Copies on unequal devices: the language models of other planners, and the plans that these planners made.

    python benchmarks/copies.py SHARED [--share any] [--seconds 10] [--gap 0.001] [--only NAME] [--servers]

SHARED is a folder with ``data/planners`` (instances, and plans of other planners) and ``prototypes/peers/evaluate.py``
(the model under which all are compared). Prints, for each instance that has a plan: inputs a second of the best single
pipeline, of the plan and of the bound; the gap; seconds of processor time; and the best plan of any other planner.

With ``--servers`` the same models are on servers of 16, 32 and 64 GPUs instead, and the other planner is Parallax's
greedy rule (``benchmarks/rules/parallax.py``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from math import exp, log
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mtpp_dsl
from benchmarks.rules import parallax
from benchmarks.servers import servers
from mtpp_dsl.core.constraints import Acyclic, Copies, Memory
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem


def main() -> None:
    """Run all instances, and print a line for each and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--share", default="any")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--only", default="")
    parser.add_argument("--servers", action="store_true")
    options = parser.parse_args()
    peers = evaluator(options.shared)
    plans = {
        file.stem: json.loads(file.read_text())["plans"]
        for file in sorted((options.shared / "data/planners/plans").glob("*.json"))
    }
    ratios, seconds, gaps, behind = [], [], [], []
    for name, instance in servers(peers.INSTANCES) if options.servers else peers.INSTANCES.items():
        if instance["model"]["layers"] is None or options.only not in name:
            continue
        problem = problem_of(peers, instance, options.share)
        alone = problem.with_constraints([rule for rule in problem.constraints if not isinstance(rule, Copies)])
        single = mtpp_dsl.solve(alone, time_limit=options.seconds, gap=options.gap)
        if single.plan is None:
            print(f"{name:26} no plan: {single.status}")
            continue
        began = process_time()
        result = mtpp_dsl.solve(problem, "copies", time_limit=options.seconds, gap=options.gap)
        seconds.append(process_time() - began)
        assert result.value is not None
        assert result.bound_value is not None
        assert single.value is not None
        gaps.append(result.gap or 0.0)
        ratios.append(result.value / single.value)
        best, rate = ("parallax", greedy(peers, instance)) if options.servers else best_peer(peers, instance, plans)
        behind.append(rate / result.value)
        worse = "" if rate <= result.value * (1 + 1e-6) else "  BETTER THAN OURS"
        print(
            f"{name:26} {single.value:9.4f} {result.value:9.4f} {result.bound_value:9.4f} {gaps[-1]:8.3%} "
            f"{seconds[-1]:6.2f} s  {best} {rate:.4f} ({rate / result.value:.3f}){worse}",
            flush=True,
        )
    mean = exp(sum(map(log, ratios)) / len(ratios))
    print(f"{len(ratios)} instances: {mean:.4f} times the best pipeline (geometric mean), {max(ratios):.2f} at most")
    print(f"gap: {sum(gap <= options.gap for gap in gaps)} within {options.gap:.1%}, {max(gaps):.2%} at most")
    known = [ratio for ratio in behind if ratio]
    print(f"best of the others: {exp(sum(map(log, known)) / len(known)):.3f} of ours (geometric mean of {len(known)})")
    print(f"seconds: median {median(seconds):.2f}, {max(seconds):.2f} at most")


def evaluator(shared: Path) -> Any:
    """Return the module with the instances and the model of costs."""
    place = shared / "prototypes/peers/evaluate.py"
    spec = importlib.util.spec_from_file_location("evaluate", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problem_of(peers: Any, instance: dict[str, Any], share: str, most: int | None = None) -> Problem:
    """Return an instance as a problem: times of every node on every device, links between all pairs."""
    names = [f"d{d}" for d in range(len(instance["devices"]))]
    time = peers.times(instance)
    nodes = instance["model"]["nodes"]
    graph = Graph.create(
        [f"n{v}" for v in range(len(nodes))],
        [tuple(edge) for edge in instance["model"]["edges"]],
        work=0.0,
        output=peers.outputs(instance).astype(float),
        memory=peers.memory(instance).astype(float),
        device_times={name: time[:, d] for d, name in enumerate(names)},
    )
    devices = [Device(name, memory=float(d["usable"])) for name, d in zip(names, instance["devices"], strict=True)]
    bandwidth = np.array(instance["links"], float) * 1e9
    rules = [Acyclic(), Memory(), Copies(most=most or len(names), share=share)]  # type: ignore[arg-type]
    links = Links(bandwidth=bandwidth, latency=np.zeros_like(bandwidth))
    return Problem.create(graph, devices, links, Objective("throughput"), rules)


def best_peer(peers: Any, instance: dict[str, Any], plans: dict[str, dict[str, Any]]) -> tuple[str, float]:
    """Return which other planner's plan of an instance has the largest throughput, and that."""
    rates = {}
    for planner, made in plans.items():
        found = peers.evaluate(instance, made.get(instance["id"]))
        if found["ok"] and not found.get("cyclic"):
            rates[planner] = found["throughput"]
    best = max(rates, key=lambda planner: rates[planner], default="none")
    return best, rates.get(best, 0.0)


def greedy(peers: Any, instance: dict[str, Any]) -> float:
    """Return the throughput of the pipelines of Parallax's greedy rule; 0 where they are no plan."""
    made = parallax.pipelines(instance)
    return (
        peers.evaluate(instance, {"pipes": [{"assign": one} for one in made]}).get("throughput", 0.0) if made else 0.0
    )


if __name__ == "__main__":
    main()
