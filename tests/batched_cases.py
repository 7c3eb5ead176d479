"""The reference instances of data/batched, through the builder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mtpp_dsl
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["built", "cases"]


def cases(data: Path) -> dict[str, dict[str, Any]]:
    """Return the cases by name, with ``opt_printed`` and ``opt_corrected``."""
    found = json.loads((data / "batched" / "cases.json").read_text())["cases"]
    return {case["name"]: case for case in found}


def built(case: dict[str, Any]) -> Problem:
    """Return a case as a problem: task i is ``t{i}``, device u is ``d{u}``; memory as (3.7) of ghannane2023."""
    builder = mtpp_dsl.Builder()
    for i, (om, im, wm) in enumerate(zip(case["om"], case["im"], case["wm"], strict=True)):
        builder.node(f"t{i}", params=wm, output=om, memory=wm + im + om)
    builder.edges([(f"t{i}", f"t{j}") for i, j in case["edges"]]).interconnect("links", routing="direct")
    for u, (room, sizes) in enumerate(zip(case["mem"], case["B"], strict=True)):
        builder.device(f"d{u}", memory=room).constraint(f"batch on d{u} in {sizes}")
        for i, rows in enumerate(case["t"]):
            builder.time(f"t{i}", f"d{u}", rows[u])
        for v, bandwidth in enumerate(case["beta"][u]):
            if bandwidth and u != v:
                builder.link(f"d{u}", f"d{v}", both_ways=False, bandwidth=bandwidth)
    return builder.constraint("memory").maximize("throughput", batch=case["L"]).build()
