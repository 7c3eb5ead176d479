"""Say why a method has a turn in ``auto``."""

from __future__ import annotations

from collections.abc import Mapping

WHY: Mapping[str, str] = {
    "annealing": "it moves nodes from the best plan on",
    "batched": "one model of everything",
    "branching": "it searches everything by branch and bound",
    "chain-relaxation": "cut nodes leave no small modules",
    "chunk-order": "the strongest bound on a batch, as a rule",
    "configuration": "the strongest bound on a bottleneck, as a rule",
    "copies": "it finds routes and proves bounds",
    "decomposition": "cut nodes leave small modules",
    "diving": "few tensors are open along some order, and sets that cover all are known",
    "divided": "a bound with nodes that may be divided",
    "dpl": "no other search accepts the problem",
    "ea": "it evolves list schedules",
    "exact": "one model of everything",
    "heft": "a plan at once",
    "ideals": "it proves its plan where the graph has few ideals, as most networks have",
    "interval": "a bound in a moment",
    "latency": "one model of everything",
    "latency-search": "it finds plans by subgraphs and bounds them",
    "transplant": "modules that have one graph lend each other good orders",
    "lifted": "a bound by modules in a row, and plans of them where they repeat",
    "lns": "it solves one part of the best plan after another",
    "m-sct": "a large graph keeps much of the schedule that a search begins with",
    "milp-split": "few tensors join modules that can be solved",
    "moirai": "one model of everything",
    "orders": "the devices are few, or unequal with tight memories",
    "piecewise": "few tensors join pieces of a large graph",
    "placeto": "nothing parts the graph, and annealing gets further from its plans",
    "path-hull": "a bound along a path",
    "series-bound": "a bound by modules in a row",
    "slicegraph": "it slices good orders of the nodes",
    "split-bound": "a bound by modules that few tensors join",
}
"""By the name of the method; of one that is not here, what it is says why."""
