"""The task graphs of zhang2023: makespans of every method, as ratios to the best bound known.

Workloads are looked for in $MTPP_DATA, else in ../shared/data beside the repository; those that are not there are left
out. Every run is a process of its own; its time is that of the whole process.

    python benchmarks/makespan.py run --to makespan.csv              every file, plain and exclusive, every method
    python benchmarks/makespan.py run --to makespan.csv --only GoogLeNet --methods auto heft --seconds 30
    python benchmarks/makespan.py table makespan.csv                 the table of what has been run
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
from pathlib import Path
from time import perf_counter

DATA = Path(os.environ.get("MTPP_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "moirai"
NAMES = ("example-1", "GoogLeNet", "inceptionv4", "transformer")
SECONDS = {"auto": {"example-1": 30, "GoogLeNet": 60, "inceptionv4": 120, "transformer": 180}}
METHODS = {  # label: what the command line is given, and seconds
    "single device": (["--method", "single-device"], 60),
    "met": (["--method", "met"], 60),
    "greedy": (["--method", "greedy"], 60),
    "heft": (["--method", "heft"], 60),
    "peft": (["--method", "peft"], 60),
    "cpop": (["--method", "cpop"], 60),
    "etf": (["--method", "etf"], 60),
    "m-sct": (["--method", "m-sct"], 60),
    "getf": (["--method", "getf"], 60),
    "ea": (["--method", "ea"], 60),
    "annealing": (["--method", "annealing"], 60),
    "lns": (["--method", "lns"], 60),
    "MILP": (["--method", "moirai", "--solver", "highs"], 60),
    "CP-SAT": (["--method", "moirai", "--solver", "cp-sat"], 60),
    "auto": (["--method", "auto"], 0),
}
FIELDS = ("graph", "links", "method", "value", "bound", "seconds", "ended", "by")


def spec(name: str, exclusive: bool) -> str:
    """Return a spec of one of the files."""
    rule = "constraint exclusive links\n" if exclusive else ""
    return f'mtpp 1\nimport "{DATA / name}.json" (format = moirai)\nminimize makespan\nconstraint memory\n{rule}'


def run(name: str, exclusive: bool, label: str, seconds: float | None, seed: int) -> dict[str, object]:
    """Run one method in a process of its own."""
    arguments, standard = METHODS[label]
    limit = seconds or SECONDS.get(label, {}).get(name) or standard
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "spec.mtpp")
        path.write_text(spec(name, exclusive), encoding="utf-8")
        command = [sys.executable, "-m", "mtpp_dsl", "solve", str(path), *arguments, "--json", "-", "-q"]
        began = perf_counter()
        done = subprocess.run(
            [*command, "--time-limit", f"{limit}s", "--seed", str(seed)], capture_output=True, text=True, check=False
        )
        took = perf_counter() - began
    row: dict[str, object] = {"graph": name, "links": "exclusive" if exclusive else "plain", "method": label}
    if not done.stdout:
        return {**row, "seconds": round(took, 2), "ended": done.stderr.strip().splitlines()[-1]}
    answer = json.loads(done.stdout)
    bound = answer["bound"] or {}
    found = {"value": answer["objective"]["value"], "bound": bound.get("value"), "by": bound.get("method")}
    return {**row, **found, "seconds": round(took, 2), "ended": answer["termination"]}


def sweep(options: argparse.Namespace) -> None:
    """Run what is asked for and not yet in the file."""
    path = Path(options.to)
    done = {(r["graph"], r["links"], r["method"]) for r in read(path)} if path.exists() else set()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for name in NAMES:
            if (options.only and name not in options.only) or not (DATA / f"{name}.json").exists():
                continue
            for exclusive in (False, True):
                for label in options.methods or METHODS:
                    if (name, "exclusive" if exclusive else "plain", label) in done:
                        continue
                    row = run(name, exclusive, label, options.seconds, options.seed)
                    writer.writerow(row)
                    file.flush()
                    print(", ".join(f"{row.get(field, '')}" for field in FIELDS), flush=True)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(options: argparse.Namespace) -> None:
    """Print value / bound of every method, and value and bound of auto."""
    rows = read(Path(options.file))
    bounds: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        if row["bound"]:
            key = row["graph"], row["links"]
            bounds[key] = max(bounds[key], float(row["bound"]))
    columns = list(dict.fromkeys((row["graph"], row["links"]) for row in rows))
    print("| value / bound | " + " | ".join(f"{graph}, {links}" for graph, links in columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    found = {(row["graph"], row["links"], row["method"]): row for row in rows}
    for label in dict.fromkeys(row["method"] for row in rows):
        cells = []
        for key in columns:
            row = found.get((*key, label), {})
            value = row.get("value")
            cells.append(f"{float(value) / bounds[key]:.3f}" if value else "none" if row else "")
        print(f"| {label} | " + " | ".join(cells) + " |")
    for what in ("value", "bound", "seconds"):
        cells = [found.get((*key, "auto"), {}).get(what, "") for key in columns]
        print(f"| auto, {what} | " + " | ".join(f"{float(cell):.5g}" if cell else "" for cell in cells) + " |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    sweeping = commands.add_parser("run")
    sweeping.add_argument("--to", default="makespan.csv")
    sweeping.add_argument("--only", nargs="*", choices=NAMES)
    sweeping.add_argument("--methods", nargs="*", choices=list(METHODS))
    sweeping.add_argument("--seconds", type=float, help="for every run; else what is asked of each")
    sweeping.add_argument("--seed", type=int, default=0)
    sweeping.set_defaults(call=sweep)
    printing = commands.add_parser("table")
    printing.add_argument("file")
    printing.set_defaults(call=table)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
