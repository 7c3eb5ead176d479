"""Throughput of a sweep of one-thread solves on one and on two workers of a Dask cluster on this machine.

``python -m benchmarks.clusters`` prints ratios of two workers to one: of the wall time of the sweep, to be read on a
quiet machine; of how many runs were under way at a time, on average; and of the processor time of the runs. The second
divided by the third is the ratio of throughput that two free cores give, and holds on a busy machine too.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.run.loop import run_sweep
from mtpp_dsl.sweeps.store.store import Store

SWEEP = """
mtpp-sweep = 1
name = "clusters"
methods = ["annealing"]
seeds = "0..{last}"
time_limit = "5min"

[[problems]]
name = "regal"
text = '''
mtpp 1
graph from generator regal (nodes = 40, seed = 1)
device d[4]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
'''
"""
RUNS = 16


def measure(workers: int, count: int, folder: Path) -> tuple[float, float, float]:
    """Return the wall seconds of the sweep, the sum of those of its runs, and the sum of their processor seconds."""
    path = folder / "sweep.toml"
    path.write_text(SWEEP.replace("{last}", str(count - 1)), encoding="utf-8")
    runs = expand(read_sweep(path))
    with opened(f"local-cluster:{workers}") as cluster, Store.open(folder / f"{workers}.sqlite") as store:
        assert cluster is not None
        began = monotonic()
        summary = run_sweep(runs, store, cluster, workers)
        wall = monotonic() - began
        rows = list(store.rows())
    if summary.by_status != {"feasible": count}:
        raise SystemExit(f"not every run has a plan: {summary.by_status}")
    return wall, sum(row.total or 0.0 for row in rows), sum(row.cpu or 0.0 for row in rows)


def main(count: int = RUNS) -> None:
    """Print the ratios."""
    with TemporaryDirectory() as folder:
        one, two = (measure(workers, count, Path(folder)) for workers in (1, 2))
    for workers, (wall, total, cpu) in ((1, one), (2, two)):
        print(
            f"{workers} worker{'s'[: workers - 1]}: {count} runs in {wall:.1f} s, {total / wall:.2f} under way on "
            f"average, {cpu / count:.2f} s of processor time each"
        )
    under_way = (two[1] / two[0]) / (one[1] / one[0])
    processor = two[2] / one[2]
    print(f"wall time: {one[0] / two[0]:.2f}; under way: {under_way:.2f}; processor time: {processor:.2f}")
    print(
        f"throughput of two workers to one: {one[0] / two[0]:.2f} as measured, {under_way / processor:.2f} by the rest"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
