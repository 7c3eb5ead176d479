"""What a sweep costs beside the solves: time a run, and memory over many runs of a trivial method.

Overhead is what passes between the moment a worker takes a run and the moment its outcome is there, less the solve
itself: both ways over the wire, reading the spec, writing the answer, the keeper's watching. The goal is a median under
50 ms. Writing to the database goes on beside it, and counts in the throughput. Memory is that of this process, and of
all workers (each a keeper and a process that solves); the goal is that it does not grow.

    python benchmarks/sweeps.py                       400 runs: overhead, throughput
    python benchmarks/sweeps.py --runs 10000          the same, and memory over 10,000 runs
    python benchmarks/sweeps.py --methods exact ideals --runs 1000    other methods: what their libraries keep
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, process_time

from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.core.executors.processes import descendants, memory
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.run.loop import run_sweep
from mtpp_dsl.sweeps.store.outcome import RunOutcome
from mtpp_dsl.sweeps.store.store import Store

SWEEP = """mtpp-sweep = 1
name = "trivial"
methods = [{methods}]
time_limit = "20s"
[[problems]]
text = '''mtpp 1
param s: int
graph from generator layered (nodes = 12, width = 3, seed = s)
device d[2]
interconnect {interconnect}
minimize {objective}
'''
params = {{s = "0..{last}"}}
name = "layered {{s}}"
"""
KINDS = {
    "makespan": {"interconnect": "links (bandwidth = 1)", "objective": "makespan"},
    "bottleneck": {"interconnect": "shared (bandwidth = 1)", "objective": "bottleneck\nconstraint acyclic"},
}


class Meter:
    """Times runs from the moment a worker has taken one to its outcome, and looks at the memory now and then."""

    def __init__(self, every: int) -> None:
        self.every, self.count = every, 0
        self.began_at: dict[str, float] = {}
        self.overheads: list[float] = []
        self.cpu: list[float] = []
        self.statuses: dict[str, int] = {}

    def began(self, run: Run) -> None:
        """Note the time."""
        self.began_at[run.key] = monotonic()

    def ended(self, run: Run, outcome: RunOutcome) -> None:
        """Note what the run took beside its solve."""
        taken = monotonic() - self.began_at.pop(run.key)
        self.overheads.append(taken - (outcome.seconds or 0.0))
        self.cpu.append(outcome.cpu or 0.0)
        self.statuses[outcome.status] = self.statuses.get(outcome.status, 0) + 1
        if self.count % self.every == 0:
            self.show()
        self.count += 1

    def show(self) -> None:
        """Print the memory of this process, and that of all others, largest first."""
        others = sorted((memory([pid]) for pid in descendants(os.getpid())), reverse=True)
        sizes = "  ".join(f"{size / 2**20:6.1f}" for size in others)
        print(f"{self.count:6} runs   here {memory([os.getpid()]) / 2**20:6.1f} MB   workers {sizes} MB", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sweep, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--methods", nargs="+", default=["single-device"])
    parser.add_argument("--kind", choices=KINDS, default="bottleneck")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trivial.toml")
        methods = ", ".join(f'"{name}"' for name in asked.methods)
        last = -(-asked.runs // len(asked.methods)) - 1
        path.write_text(SWEEP.format(methods=methods, last=last, **KINDS[asked.kind]), encoding="utf-8")
        began = monotonic()
        runs = expand(read_sweep(path))
        print(f"{len(runs)} runs expanded in {monotonic() - began:.1f} s")
        before = process_time()
        meter = Meter(max(len(runs) // 10, 1))
        with Store.open(Path(folder, "trivial.sqlite")) as store:
            summary = run_sweep(runs, store, LOCAL, asked.jobs, watcher=meter)
    overheads = sorted(meter.overheads[asked.jobs :])  # the first of each worker starts it
    here = process_time() - before
    print(f"statuses: {meter.statuses}")
    print(
        f"overhead a run: median {1e3 * statistics.median(overheads):.1f} ms, "
        f"nine of ten under {1e3 * overheads[9 * len(overheads) // 10]:.1f} ms, most {1e3 * overheads[-1]:.0f} ms"
    )
    print(
        f"{summary.recorded / summary.seconds:.0f} runs a second with {asked.jobs} at once; processor time a run: "
        f"{1e3 * here / len(runs):.1f} ms here, {1e3 * statistics.median(meter.cpu):.1f} ms where it is solved"
    )


if __name__ == "__main__":
    main()
