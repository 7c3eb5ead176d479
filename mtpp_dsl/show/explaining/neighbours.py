"""Plans that differ from one in a single step: a node moved, two swapped, a stage's border shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.constraints import Colocate
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import built_in
from mtpp_dsl.show.report.names import short_name, short_names

Kind = Literal["move", "swap", "shift", "exchange"]
MOST_SWAPS = 4_000
"""Pairs of nodes that are swapped at most."""


@dataclass(frozen=True, repr=False)
class PlanChange(Short):
    """One step from a plan.

    Attributes:
        kind: a node, with those that have to be where it is, moves; two such swap; the first or last nodes of a stage
            move to the stage beside it; two devices exchange all that they run.
        moves: the nodes that move from one device to another, by their numbers: (nodes, from, to).
    """

    kind: Kind
    moves: tuple[tuple[tuple[int, ...], int, int], ...]

    def words(self, problem: Problem) -> str:
        """Return it in words."""
        names, devices = problem.graph.names, [short_name(device.name) for device in problem.devices]
        if self.kind == "exchange":
            _, d, e = self.moves[0]
            return f"exchange what {devices[d]} and {devices[e]} run"
        steps = [
            f"{short_names([names[v] for v in nodes])} from {devices[d]} to {devices[e]}" for nodes, d, e in self.moves
        ]
        return f"{'swap' if self.kind == 'swap' else 'move'} {' and '.join(steps)}"

    def to_json(self, problem: Problem) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "kind": self.kind,
            "moves": [
                {
                    "nodes": [problem.graph.names[v] for v in nodes],
                    "from": problem.devices[d].name,
                    "to": problem.devices[e].name,
                }
                for nodes, d, e in self.moves
            ],
        }


def classes_of(problem: Problem) -> list[tuple[int, ...]]:
    """Return [n] the nodes that have to be where each node is, itself included, by ``constraint colocate``."""
    root = list(range(problem.graph.n))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for rule in problem.of(Colocate):
        for v in rule.nodes[1:]:
            root[find(v)] = find(rule.nodes[0])
    members: dict[int, list[int]] = {}
    for v in range(problem.graph.n):
        members.setdefault(find(v), []).append(v)
    return [tuple(members[find(v)]) for v in range(problem.graph.n)]


def changes(
    problem: Problem, plan: Plan, first: frozenset[int], alike: Sequence[Sequence[int]] = ()
) -> Iterator[PlanChange]:
    """Yield the steps from a plan, each once: shifts of borders, moves, exchanges, then swaps.

    Moves of nodes on the devices *first* come before others, and so do moves to where a neighbour is. A step that puts
    a node where it may not be is left out, and so are exchanges of devices that are *alike*, which change nothing.
    """
    leads = [d for d, lead in enumerate(plan.leads(problem.k).tolist()) if d == lead]
    allowed = problem.allowed
    classes = classes_of(problem)
    yield from _shifts(problem, plan, allowed)
    yield from _moves(problem, plan, leads, classes, first)
    yield from _exchanges(plan, leads, allowed, alike)
    yield from _swaps(problem, plan, classes, first)


def _moves(
    problem: Problem, plan: Plan, leads: list[int], classes: list[tuple[int, ...]], first: frozenset[int]
) -> Iterator[PlanChange]:
    graph, device = problem.graph, plan.assignment
    every = sorted(set(classes), key=lambda members: (int(device[members[0]]) not in first, members))
    for near in (True, False):
        for members in every:
            d = int(device[members[0]])
            around = {int(device[w]) for v in members for w in (*graph.predecessors(v), *graph.successors(v))}
            for e in leads:
                if e != d and (e in around) is near and problem.allowed[list(members), e].all():
                    yield PlanChange("move", ((members, d, e),))


def _swaps(problem: Problem, plan: Plan, classes: list[tuple[int, ...]], first: frozenset[int]) -> Iterator[PlanChange]:
    device, allowed = plan.assignment, problem.allowed
    every = sorted(set(classes))
    count = 0
    for one in [members for members in every if int(device[members[0]]) in first]:
        d = int(device[one[0]])
        for other in every:
            e = int(device[other[0]])
            if e == d or (e in first and other < one):
                continue
            if allowed[list(one), e].all() and allowed[list(other), d].all():
                count += 1
                yield PlanChange("swap", ((one, d, e), (other, e, d)))
            if count >= MOST_SWAPS:
                return


def _shifts(problem: Problem, plan: Plan, allowed: Bools) -> Iterator[PlanChange]:
    """Yield moves of two and more of the last nodes of a stage to one that reads from it, and of the first back."""
    device, graph = plan.assignment, problem.graph
    crossing = device[graph.tails] != device[graph.heads]
    pairs = sorted(
        {(int(d), int(e)) for d, e in zip(device[graph.tails[crossing]], device[graph.heads[crossing]], strict=True)}
    )
    place = np.argsort(graph.topological_order)
    for d, e in pairs:
        for here, there, sign in ((d, e, -1), (e, d, 1)):
            nodes = sorted(np.flatnonzero(device == here).tolist(), key=lambda v: sign * int(place[v]))
            for many in range(2, len(nodes) + 1):
                if not allowed[nodes[many - 1], there]:
                    break
                if allowed[nodes[:many], there].all():
                    yield PlanChange("shift", ((tuple(sorted(nodes[:many])), here, there),))


def _exchanges(plan: Plan, leads: list[int], allowed: Bools, alike: Sequence[Sequence[int]]) -> Iterator[PlanChange]:
    group = {d: i for i, members in enumerate(alike) for d in members}
    size = {d: len(plan.replicas.get(d, (d,))) for d in leads}
    nodes_on = {d: tuple(np.flatnonzero(plan.assignment == d).tolist()) for d in leads}
    for i, d in enumerate(leads):
        for e in leads[i + 1 :]:
            if d in group and group[d] == group.get(e) and size[d] == size[e]:
                continue
            moves = tuple((nodes_on[a], a, b) for a, b in ((d, e), (e, d)) if nodes_on[a])
            if moves and all(allowed[list(nodes), b].all() for nodes, _, b in moves):
                yield PlanChange("exchange", moves)


def applied(plan: Plan, change: PlanChange) -> Ints:
    """Return the assignment after a change."""
    device = np.array(plan.assignment)
    for nodes, _, e in change.moves:
        device[list(nodes)] = e
    return device


def replanned(problem: Problem, plan: Plan) -> Callable[[Ints], tuple[Plan, Evaluation]]:
    """Return what makes a plan, with what it costs, of an assignment that is near that of *plan*.

    Of a makespan on links nodes are scheduled anew by the list scheduler, so that the cost of a plan is one that its
    assignment reaches, and not always the least. Stages keep their replicas and shards where they keep nodes.

    Raises:
        Refused: there is no way to do so: batches, subgraphs, several routes.
    """
    if plan.routes:
        raise Refused("the plan has several routes, whose shares would have to be found anew")
    if problem.objective.batch is not None:
        raise Refused("of a batch it is not said what single changes cost")
    if problem.timed and not isinstance(problem.interconnect, Links):
        raise Refused("the plan runs subgraphs, whose order would have to be found anew")
    staged = bool(plan.replicas or plan.shards or any(problem.stage_memory))

    def plain(device: Ints) -> tuple[Plan, Evaluation]:
        made = replace(plan, assignment=device, order=None)
        return made, evaluate(problem, made)

    def by_stages(device: Ints) -> tuple[Plan, Evaluation]:
        used = set(device.tolist())
        made = Plan.create(
            problem,
            device,
            replicas={d: members for d, members in plan.replicas.items() if d in used},
            shards={d: t for d, t in plan.shards.items() if d in used},
        )
        return made, evaluate(problem, made)

    def timed(device: Ints) -> tuple[Plan, Evaluation]:
        made: Plan = built_in("mtpp_dsl.solvers.schedule.list.list_run:complete")(
            problem, replace(plan, assignment=device, schedule=None, order=None)
        )
        return made, evaluate(problem, made)

    return timed if problem.timed else by_stages if staged else plain
