"""A small library of problems, and answers to them, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mtpp_dsl
from mtpp_dsl.sweeps.library.collection import Library
from mtpp_dsl.sweeps.library.store import Finder

__all__ = ["FOUND", "answer", "small_library"]

SPEC = """mtpp 1

param k: int = 2
graph from generator chain (nodes = 8, seed = 3)
device d[k]
interconnect shared (bandwidth = 1)
minimize bottleneck
constraint acyclic
"""
PROBLEMS = """mtpp-sweep = 1
name = "small"
methods = ["ideals"]
time_limit = "20s"
[[problems]]
spec = "../chain.mtpp"
group = "chain"
name = "chain-{k}"
params = {k = [2, 3]}
"""
FOUND = Finder("ideals", "0.1.0", 0, 0.5, "2026-01-02")


def small_library(folder: Path) -> Library:
    """Make a library of two problems, and open it."""
    (folder / "problems").mkdir(exist_ok=True)
    (folder / "chain.mtpp").write_text(SPEC)
    (folder / "problems" / "small.toml").write_text(PROBLEMS)
    return Library.open(folder)


def answer(library: Library, name: str, method: str = "ideals", **options: Any) -> dict[str, Any]:
    """Return the JSON answer of a method to a problem."""
    found: dict[str, Any] = json.loads(mtpp_dsl.solve(library.problem(name), method, **options).to_json())
    return found
