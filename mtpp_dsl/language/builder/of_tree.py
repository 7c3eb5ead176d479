"""Trees of switches, and the options of splits, as a spec says them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.words.written import option_list, quantity, quoted

__all__ = ["hung", "split_options", "switches"]


def split_options(joined: Links | Tree) -> dict[str, Any]:
    """Return what is said of splits and is not as it is by default."""
    options: dict[str, Any] = {}
    if joined.overlap != "none":
        options["overlap"] = joined.overlap
    if joined.send != "once":
        options["send"] = joined.send
    if isinstance(joined, Links) and joined.duplex != "full":
        options["duplex"] = joined.duplex
    return options


def hung(problem: Problem, tree: Tree, row: int) -> dict[str, Any]:
    """Return the options that say where a device hangs; *row* is its number."""
    found = _uplink(problem, tree, row)
    if tree.parents[row] >= 0:
        found = {"switch": tree.switches[int(tree.parents[row])], **found}
    return found


def switches(problem: Problem) -> Iterator[str]:
    """Yield a statement for every switch of a tree, in their order."""
    tree = problem.interconnect
    if not isinstance(tree, Tree):
        return
    for s, name in enumerate(tree.switches):
        options = _uplink(problem, tree, problem.k + s)
        above = int(tree.parents[problem.k + s])
        if above >= 0:
            options["under"] = tree.switches[above]
        yield f"switch {quoted(name)}{option_list(options, texts=('under',), words=('duplex',))}"


def _uplink(problem: Problem, tree: Tree, row: int) -> dict[str, Any]:
    """Return the options of an uplink; a device or switch that is under nothing has none."""
    sized = bool(problem.graph.output.any() or problem.graph.sizes.any())
    rate = "B/s" if (problem.graph.size_unit == "B" if sized else problem.time_unit) else ""
    options: dict[str, Any] = {}
    if np.isfinite(tree.uplink[row]):
        options["uplink"] = quantity(float(tree.uplink[row]), rate)
    if tree.latency[row]:
        options["latency"] = quantity(float(tree.latency[row]), problem.time_unit)
    above = [problem.k + int(s) for s in tree.parents[row : row + 1] if s >= 0]
    while above and not tree.half[above[-1]] and tree.parents[above[-1]] >= 0:
        above.append(problem.k + int(tree.parents[above[-1]]))
    inherited = bool(above and tree.half[above[-1]])
    if tree.parents[row] >= 0 and tree.half[row] != inherited:
        options["duplex"] = "half" if tree.half[row] else "full"
    return options
