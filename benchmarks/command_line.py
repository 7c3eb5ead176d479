"""The command line as a user meets it: how long it takes to start, and a proof on BERT-3 (235 operators).

Whole processes, medians of several runs, beside the goals. Run it on an otherwise idle machine:

    python benchmarks/command_line.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MTPP_DATA", ROOT.parent / "shared" / "data"))
BERT3 = DATA / "dnn-partitioning/throughput/OperatorGraphs/bert_l-3_inference.json"
STAGES = """
param k: int = 4
graph from "{workload}" (format = msr)
device stage[k]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""

STARTS = (
    (0.2, "--help"),
    (0.4, "methods"),
    (0.6, "check", "examples/quickstart.mtpp"),
    (1.0, "solve", "examples/quickstart.mtpp"),
    (1.6, "solve", "examples/unequal.mtpp"),
)


def mtpp(*arguments: str) -> float:
    """Return the seconds that a call takes, from the shell's point of view."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "mtpp_dsl", *arguments], check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - began


def median(runs: int, *arguments: str) -> float:
    """Return the median of several calls after one that does not count."""
    mtpp(*arguments)
    return statistics.median(mtpp(*arguments) for _ in range(runs))


def main() -> None:
    """Print a line per goal."""
    print(f"{'what':44} {'measured':>24}   goal")
    for goal, *arguments in STARTS:
        shown = " ".join(["mtpp", *arguments])
        print(f"{shown:44} {median(7, *arguments):22.2f} s   {goal:g} s")
    if not BERT3.is_file():
        print(f"no workloads at {DATA}: set MTPP_DATA for the rest")
        return
    with tempfile.TemporaryDirectory() as folder:
        spec, answer = Path(folder) / "bert3.mtpp", Path(folder) / "answer.json"
        spec.write_text(STAGES.format(workload=BERT3))
        for k in (4, 8, 16):
            seconds = mtpp("solve", str(spec), "-D", f"k={k}", "-q", "--json", str(answer))
            found = json.loads(answer.read_text())
            value, gap = found["objective"]["value"], 100 * found["gap"]
            measured = f"{value:.4f}, gap {gap:.2g} %, {seconds:.1f} s"
            goal = "27.186, gap 5 %, 60 s" if k == 4 else "27.186"
            print(f"{f'auto on BERT-3 inference, k = {k}':44} {measured:>24}   {goal}")


if __name__ == "__main__":
    main()
