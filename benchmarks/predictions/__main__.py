"""Run splits in three runtimes on this machine, beside what mtpp predicts, and write docs/predictions.md."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from benchmarks.predictions import accelerate_map, llama_experts, page, torch_stages
from benchmarks.predictions.figures import Absent, RuntimeComparison, write
from mtpp_dsl.runtimes.execution.machine import ForeignLoad

COMPARED: dict[str, Callable[[], RuntimeComparison]] = {
    "torch-stages": torch_stages.compared,
    "accelerate": accelerate_map.compared,
    "llama-cpp": llama_experts.compared,
}


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predictions", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(COMPARED), metavar="RUNTIME", help=", ".join(COMPARED))
    parser.add_argument("--page", action="store_true", help="write the page of the figures that there are, run nothing")
    asked = parser.parse_args()
    if not asked.page:
        for runtime in asked.only or COMPARED:
            report(run(runtime, COMPARED[runtime]))
    page.OUTPUT.write_text(page.text(), encoding="utf-8")


def run(runtime: str, compared: Callable[[], RuntimeComparison]) -> RuntimeComparison:
    """Run the splits of a runtime, or skip it; write the figures, and return them."""
    load, began = ForeignLoad(), monotonic()
    try:
        found = compared()
    except Absent as reason:
        found = RuntimeComparison(runtime, skipped=str(reason))
    else:
        more = {"cores": str(os.cpu_count()), "time": f"{monotonic() - began:.0f} s, one run"}
        found = replace(found, facts={**found.facts, **more}, others=load.others())
    write(found)
    return found


def report(comparison: RuntimeComparison) -> None:
    """Print the figures of a runtime."""
    print(f"{comparison.runtime}: {comparison.skipped or _shown(comparison)}", flush=True)


def _shown(comparison: RuntimeComparison) -> str:
    rows: Sequence[str] = [
        f"  {one.split}: {one.places}: predicted {one.predicted * 1e3:.4g} ms, measured {one.median * 1e3:.4g} ms, "
        + ", ".join(f"{cause} x {factor:.2f}" for cause, factor in one.factors.items())
        for one in comparison.splits
    ]
    return "\n".join((comparison.what, *rows))


if __name__ == "__main__":
    main()
