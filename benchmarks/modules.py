"""Randomly wired networks of several modules: tables 4.1, 4.3 and 4.4 of ghannane2023, and one of 3,200 nodes.

Every run is a process of its own; its time is that of the whole process. The devices are those of the thesis, by the
relative speeds of its table 4.2; its measured times are not published: the generator draws others, which differ from
device to device (see its ``affinity``).

    python benchmarks/modules.py latency --to latency.csv            table 4.1: every method on 10 modules
    python benchmarks/modules.py speed --to speed.csv                table 4.3: one model against modules
    python benchmarks/modules.py throughput --to throughput.csv      table 4.4: batches of 128 in quarters
    python benchmarks/modules.py large --to large.csv                100 modules of 32 nodes
    python benchmarks/modules.py table latency.csv                   the table of what has been run
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from math import exp, log
from pathlib import Path
from time import perf_counter

NETWORKS = ("1-ch", "sd, 2-ch", "sd, 3-ch", "sd, 4-ch", "wd, 2-ch", "wd, 3-ch", "wd, 4-ch")
BASELINES = ("BD", "MET", "Greedy", "HEFT", "EA", "SA")
METHODS = {
    "BD": ["--method", "single-device"],
    "MET": ["--method", "met"],
    "Greedy": ["--method", "greedy"],
    "HEFT": ["--method", "heft"],
    "EA": ["--method", "ea"],
    "SA": ["--method", "annealing"],
    "MILP": ["--method", "{model}", "--solver", "highs"],
    "MILP as published": ["--method", "{model}-printed", "--solver", "highs"],
    "CP-SAT": ["--method", "{model}", "--solver", "cp-sat"],
    "SPLIT": ["--method", "milp-split"],
    "bound": ["--method", "split-bound"],
    "auto": ["--method", "auto"],
}
FIELDS = ("table", "network", "modules", "seed", "method", "value", "bound", "seconds", "ended", "by", "log")
PLATFORM = """
device cpu  (speed = 0.141, memory = 256 GiB)
device t4   (speed = 0.794, memory = 16 GiB)
device a100 (speed = 1.0,   memory = 40 GiB)
interconnect links
link cpu <-> t4   (bandwidth = 12 GiB/s, latency = 10 us)
link cpu <-> a100 (bandwidth = 24 GiB/s, latency = 10 us)
link t4  <-> a100 (bandwidth = 12 GiB/s, latency = 10 us)
constraint memory
"""


def spec(network: str, modules: int, nodes: int, batched: bool, seed: int) -> str:
    """Return a spec of one network: "1-ch", "sd, 3-ch" (strongly dependent) or "wd, 3-ch" (weakly)."""
    kind, _, channels = network.rpartition(", ")
    options = {
        "model": '"er"',
        "p": 0.2,
        "nodes": nodes,
        "modules": modules,
        "channels": int(channels.removesuffix("-ch")),
        "dependence": '"weak"' if kind == "wd" else '"strong"',
        "types": '"cpu, t4, a100"',
        "affinity": 0.5,
        "seed": seed,
    }
    graph = ", ".join(f"{name} = {value}" for name, value in options.items())
    goal = "minimize makespan"
    if batched:
        goal = "maximize throughput (batch = 128)\nconstraint batch in [32, 64, 96, 128]"
    return f"mtpp 1\ngraph from generator rwnn ({graph})\n{PLATFORM}{goal}\n"


def run(arguments: list[str], text: str, seconds: float, seed: int) -> dict[str, object]:
    """Run one method in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spec.mtpp")
        path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "mtpp_dsl", "solve", str(path), *arguments, "--json", "-", "-q"]
        began = perf_counter()
        limits = ["--time-limit", f"{seconds}s", "--seed", str(seed)]
        done = subprocess.run([*command, *limits], capture_output=True, text=True, check=False)
        took = perf_counter() - began
    if not done.stdout:
        lines = done.stderr.strip().splitlines()
        return {"seconds": round(took, 2), "ended": lines[-1] if lines else f"exit {done.returncode}"}
    answer = json.loads(done.stdout)
    bound = answer["bound"] or {}
    found = {"value": answer["objective"]["value"], "bound": bound.get("value"), "by": bound.get("method")}
    log = [[round(entry["time"], 2), entry["incumbent"]] for entry in answer["log"] if entry["incumbent"] is not None]
    return {**found, "seconds": round(took, 2), "ended": answer["termination"], "log": json.dumps(log)}


def rows(options: argparse.Namespace) -> list[tuple[str, int, int, bool, list[str]]]:
    """Return (network, modules, nodes of each, batched, methods) of a table."""
    networks = [name for name in NETWORKS if options.only is None or name in options.only]
    everything = [*BASELINES, "MILP", "CP-SAT", "SPLIT", "bound", "auto"]
    match options.table:
        case "latency":
            return [(name, 10, 10, False, everything) for name in networks]
        case "throughput":
            return [(name, 10, 10, True, [*everything, "MILP as published"]) for name in networks]
        case "speed":
            kinds = [name for name in ("sd, 2-ch", "wd, 2-ch") if name in networks]
            return [
                (name, modules, 10, False, ["SPLIT", "MILP", "CP-SAT"]) for name in kinds for modules in (5, 10, 20)
            ]
        case _:
            large = [name for name in ("1-ch", "sd, 2-ch", "wd, 2-ch") if name in networks]
            return [(name, 100, 32, False, ["HEFT", "SPLIT", "auto"]) for name in large]


def sweep(options: argparse.Namespace) -> None:
    """Run what is asked for and not yet in the file."""
    path = Path(options.to)
    done = {(r["network"], r["modules"], r["seed"], r["method"]) for r in read(path)} if path.exists() else set()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for network, modules, nodes, batched, methods in rows(options):
            text = spec(network, modules, nodes, batched, options.seed)
            for method in methods if options.methods is None else options.methods:
                if (network, str(modules), str(options.seed), method) in done:
                    continue
                model = "batched" if batched else "moirai"
                arguments = [word.format(model=model) for word in METHODS[method]]
                found = run(arguments, text, options.seconds, options.seed)
                head = {"table": options.table, "network": network, "modules": modules, "seed": options.seed}
                writer.writerow({**head, "method": method, **found})
                file.flush()
                print(network, modules, method, found.get("value"), found.get("bound"), found["seconds"], flush=True)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file of results."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(options: argparse.Namespace) -> None:
    """Print a table in Markdown: values, the best baseline against SPLIT, and how tight the bound is."""
    found: dict[tuple[str, str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for row in read(Path(options.file)):
        found[row["network"], row["modules"], row["seed"]][row["method"]] = row
    methods = [name for name in METHODS if any(name in by_method for by_method in found.values())]
    print(f"| network | modules | {' | '.join(methods)} | best baseline / SPLIT | bound / best |")
    print(f"|{'---|' * (len(methods) + 4)}")
    gains, batched = [], False
    for (network, modules, _), by_method in found.items():
        batched = any(row["table"] == "throughput" for row in by_method.values())
        values = {name: float(row["value"]) for name, row in by_method.items() if row["value"]}
        bounds = [float(row["bound"]) for row in by_method.values() if row["bound"]]
        better = max if batched else min
        known = [values[name] for name in BASELINES if name in values]
        gain = tight = ""
        if known and "SPLIT" in values:
            ratio = better(known) / values["SPLIT"]
            gains.append(1 / ratio if batched else ratio)
            gain = f"{gains[-1]:.2f}"
        if bounds and values:
            tightest = min(bounds) if batched else max(bounds)
            tight = f"{better(values.values()) / tightest if batched else tightest / better(values.values()):.3f}"
        cells = [_cell(by_method.get(name), batched) for name in methods]
        print(f"| {network} | {modules} | {' | '.join(cells)} | {gain} | {tight} |")
    if gains:
        print(f"\nGeometric mean of the gain over the best baseline: {exp(sum(map(log, gains)) / len(gains)):.3f}")


def _cell(row: dict[str, str] | None, batched: bool) -> str:
    if row is None:
        return ""
    sign = "" if row["value"] else "<= " if batched else ">= "
    shown = row["value"] or row["bound"]
    if not shown:
        return "none"
    value = float(shown) if batched else 1000 * float(shown)
    return f"{sign}{value:.1f} ({float(row['seconds']):.0f} s)"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="table", required=True)
    for name, seconds in (("latency", 30.0), ("speed", 600.0), ("throughput", 60.0), ("large", 300.0)):
        command = commands.add_parser(name)
        command.add_argument("--to", required=True, help="file of results; what is in it is not run again")
        command.add_argument("--only", nargs="*", choices=NETWORKS)
        command.add_argument("--methods", nargs="*", choices=list(METHODS))
        command.add_argument("--seconds", type=float, default=seconds, help="time limit of every run")
        command.add_argument("--seed", type=int, default=0)
        command.set_defaults(go=sweep)
    command = commands.add_parser("table")
    command.add_argument("file")
    command.set_defaults(go=table)
    options = parser.parse_args()
    os.environ.setdefault("PYTHONHASHSEED", "0")
    options.go(options)


if __name__ == "__main__":
    main()
