"""Collect what the picture of a graph says of its columns, modules and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtpp_dsl.core.base.units import counted, format_share
from mtpp_dsl.show.page.layout.forest import Forest
from mtpp_dsl.show.page.view import View


@dataclass(frozen=True, eq=False)
class ItemFacts:
    """A forest of items with what is known of each.

    Attributes:
        view: of the page.
        forest: of its graph.
    """

    view: View
    forest: Forest

    @cached_property
    def time(self) -> list[float]:
        """[items] what each takes on its device; ``nan`` where it is not given."""
        places = [
            dict(zip(stage.nodes.tolist(), stage.times.tolist(), strict=True)) for stage in self.forest.placed.stages
        ]
        own = [
            places[self.forest.column[item]][node] if node >= 0 else 0.0 for item, node in enumerate(self.forest.node)
        ]
        return self._summed(own)

    @cached_property
    def memory(self) -> list[float]:
        """[items] what the nodes of each take of a memory."""
        memory = self.view.problem.graph.memory
        return self._summed([float(memory[node]) if node >= 0 else 0.0 for node in self.forest.node])

    @cached_property
    def carried(self) -> list[float]:
        """[edges drawn] the size of what each edge carries: on links its own, else the tensor."""
        graph, edges = self.view.problem.graph, self.forest.placed.edges
        own = self.view.problem.interconnect.keyword in ("links", "tree")
        sizes = graph.sizes[edges] if own else graph.output[graph.tails[edges]]
        return [float(size) for size in sizes]

    @cached_property
    def length(self) -> list[float]:
        """[columns] what a bar of full width stands for: the time of the nodes of the column that has most."""
        most = max((self.time[column] for column in range(self.forest.columns)), default=0.0)
        return [most if np.isfinite(most) else 0.0] * self.forest.columns

    def load(self, column: int) -> float | None:
        """Return the load of a column, or of a schedule how long its devices are busy; None without a plan."""
        evaluation, stage = self.view.evaluation, self.forest.placed.stages[column]
        if evaluation is None or not stage.devices:
            return None
        part = evaluation.work if evaluation.makespan is not None else evaluation.load
        return float(max(part[d] for d in stage.devices))

    def headline(self, column: int) -> str:
        """Return what stands under the name of a column: its load and which share of the bottleneck that is."""
        load, evaluation = self.load(column), self.view.evaluation
        if load is None or evaluation is None:
            return "no plan" if self.view.plan is None else ""
        whole = evaluation.makespan if evaluation.makespan is not None else evaluation.bottleneck
        share = f" ({format_share(load / whole)})" if whole > 0 else ""
        return f"{'busy' if evaluation.makespan is not None else 'load'} {self.view.time(load)}{share}"

    def count(self, column: int) -> str:
        """Return how many nodes a column has, and what its devices share."""
        stage, plan = self.forest.placed.stages[column], self.view.plan
        parts = [counted(len(stage.nodes), "node")]
        if plan is not None and len(stage.devices) > 1:
            shards = plan.shards.get(stage.devices[0], 1)
            copies = len(stage.devices) // shards
            parts += [f"{number} {what}" for number, what in ((shards, "shards"), (copies, "replicas")) if number > 1]
        return ", ".join(parts)

    def said(self, item: int, *, folded: bool) -> str:
        """Return an item in words, for a screen reader."""
        where = f"on {self.forest.name[self.forest.column[item]]}" if self.view.plan is not None else ""
        takes = self.view.time(self.time[item]) if np.isfinite(self.time[item]) else ""
        parts = [self.forest.name[item]]
        if self.forest.node[item] < 0:
            parts.append(f"module of {counted(self.forest.size[item], 'node')}{', folded' if folded else ''}")
        return ", ".join([*parts, f"{takes} {where}".strip()]).removesuffix(", ")

    def _summed(self, own: Sequence[float]) -> list[float]:
        """Return [items] what nodes have, and columns and modules in sum."""
        sums = list(own)
        for item in reversed(range(self.forest.n)):
            if self.forest.parent[item] >= 0:
                sums[self.forest.parent[item]] += sums[item]
        return sums
