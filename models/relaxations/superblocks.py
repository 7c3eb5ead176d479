"""Bound the bottleneck by three superblocks: what comes before one block of a plan, the block, and what comes after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import (
    Acyclic,
    BreakSymmetry,
    Colocate,
    Contiguous,
    Forbid,
    Linear,
    Memory,
    Pin,
    Separate,
)
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import DECISIONS, Scope, Scoped
from mtpp_dsl.core.contracts.traits import CutoffFormulation, FormulationBase
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, Net, hypergraph
from mtpp_dsl.models.blocks.assignment import On, prefixes
from mtpp_dsl.models.blocks.bottleneck import Loads, bottleneck
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.graph import graph_data
from mtpp_dsl.models.blocks.order import prefix_order
from mtpp_dsl.models.blocks.split_nets import SplitNets
from mtpp_dsl.models.blocks.tensor_cut import tensor_cut
from mtpp_dsl.models.blocks.windows import steps_of, windows
from mtpp_dsl.models.blocks.work import work
from mtpp_dsl.models.facts.scaling import TARGET, Scale, floor_of, scale_of
from mtpp_dsl.models.facts.within import BlockFacts, facts_below

BEFORE, MIDDLE, AFTER = range(3)

NARROWING = (Acyclic, BreakSymmetry, Colocate, Contiguous, Forbid, Linear, Memory, Pin, Separate)
"""Constraints that only take plans away: a bound without them is a bound with them."""

SCOPE = Scope(
    objectives=("bottleneck",),
    interconnects=("shared",),
    constraints=NARROWING,
    families=(CustomConstraint,),
    decisions=DECISIONS,
    needs=(Acyclic,),
    streams=True,
    workspace=True,
    unequal=True,
)
"""Blocks are numbered in the order of the quotient graph, which has one if it is acyclic."""


@dataclass(frozen=True)
class ThreeShares:
    """How many of the k blocks stand before and after the middle one; None: not counted."""

    before: int | None
    after: int | None


class BoundOnly(Scoped, FormulationBase):
    """The half of the contract that a relaxation has no use for."""

    floor = "archer2024, Lemma 3.3"
    scopes = (SCOPE,)

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Do nothing: the models are small."""

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Raise UsageError: a relaxation has no plan."""
        raise UsageError(f"{model.name!r} is a relaxation: it gives a bound for {problem!r}, no plan")


def three_superblocks(
    problem: Problem, name: str, shares: ThreeShares, cost: float | None = None, weights: Floats | None = None
) -> Any:
    """Return the model; ``cost_scale`` times its objective is a lower bound.

    Formula: Figure 3 for three blocks, with ``sum_v work(v) x[v,middle] >= L`` (14), ``T >= block_middle`` and, where
    *shares* counts them, ``before T >= block_before`` and ``after T >= block_after``.
    Source -> target: acyclic plans on a shared interconnect -> three superblocks.
    Relaxation. Every class of nodes that are together takes its time on the fastest device that may run it, and memory,
    overflow and every constraint but ``acyclic`` and ``colocate`` are dropped: each makes plans cheaper or more. Of any
    plan, some block holds L of this work; it is the middle. A superblock costs no more than its blocks together: a
    tensor that crosses its border is paid by one of them. With *weights* in place of the work L is of these: a share
    of the k-th part of their sum, or the largest.
    Where the *cost* of a plan is known, what that says of windows, distances and nets holds of the best plan too.
    Reference: archer2024, 3.2 and 3.3; for the weights, notes on bounds, 1; for what is known, 4.

    Args:
        problem: what is asked.
        name: of the model.
        shares: of the superblocks.
        cost: of a plan, if known.
        weights: [n] of the nodes, not negative; their work, where it is least, unless given.
    """
    view, scale, nets, facts = _read(problem, cost)
    fastest = view.least_work
    model = pyo.ConcreteModel(name=name)
    model.cost_scale, model.cost_margin = scale.unit, scale.margin
    graph_data(model, view.n, 3, view.edges(problem.graph.tails, problem.graph.heads), nets)
    on = prefixes(model)
    if facts is not None:
        _place(model, facts, shares)
    prefix_order(model)
    counts = {BEFORE: shares.before, MIDDLE: 1, AFTER: shares.after}
    counted = [part for part, count in counts.items() if count]
    several = [part for part in counted if part != MIDDLE]
    everywhere = None not in counts.values()
    split = None if facts is None else SplitNets.of(facts, several, everywhere=everywhere)
    cut = tensor_cut(model, on, counted, split=split)
    compute = work(model, on, np.repeat(fastest[:, None] / scale.unit, 3, axis=1))
    bottleneck(
        model,
        lambda d: compute(d) + cut(d),
        scale.floor / scale.unit,
        shares=[counts[part] or 0 for part in (BEFORE, MIDDLE, AFTER)],
    )
    _stream(model, problem, view.params, on, scale.unit, lambda d: compute(d) + cut(d))
    _heavy(model, fastest if weights is None else view.total(weights), problem.k, on)
    for part, empty in ((BEFORE, shares.before == 0), (AFTER, shares.after == 0)):
        if empty:
            for v in model.V:
                model.y[v, 1 if part == BEFORE else 2].fix(0 if part == BEFORE else 1)
    return model


@lru_cache(maxsize=1)
def _read(problem: Problem, cost: float | None) -> tuple[Hypergraph, Scale, Sequence[Net], BlockFacts | None]:
    """Return what the models of a family have in common."""
    view = hypergraph(problem)
    everything = float(view.least_work.sum())  # all nodes in the middle, which no other constraint forbids here
    scale = scale_of(problem, view.least_work, ceiling=1.1 * everything if everything else np.inf)
    nets = view.nets(scale.tensor_costs(problem), scale.most)
    return view, scale, nets, facts_below(problem, view, nets, scale.unit, cost)


def _place(model: Any, facts: BlockFacts, shares: ThreeShares) -> None:
    """Add what is known of where nodes are.

    Formula: where v is after u by a block or more ``y[u,1] >= y[v,2]``; and, where *shares* tell which block the middle
    is, what windows fix.
    """
    if shares.before is not None:
        windows(model, facts, (0, shares.before, shares.before + 1, facts.asked.k))
    model.later = pyo.Set(initialize=[(u, v) for u, v, step in steps_of(facts) if step > 0], dimen=2)
    constrain(model, "later_block", model.later, rule=lambda m, u, v: m.y[u, 1] >= m.y[v, 2])


def _stream(model: Any, problem: Problem, params: Floats, on: On, unit: float, load: Loads) -> None:
    """Add that parameters beyond the memories of a part's blocks are streamed.

    Formula: ``share T >= load(d) + (sum_v params(v) on(v,d) - share limit) / B``, limit the largest of all devices.
    Source -> target: ``overflow = stream`` -> a row per part. Relaxation: blocks may lend each other memory.
    Reference: archer2024, eq. 2.
    """
    limit = float(problem.overflow_limit.max())
    if not np.isfinite(limit) or params.sum() <= limit:
        return
    per_size = 1.0 / (problem.channel.bandwidth * unit)
    model.params = pyo.Param(model.V, initialize=dict(enumerate((params * per_size).tolist())))
    kept = limit * per_size
    constrain(
        model,
        "streamed",
        model.counted,
        rule=lambda m, d: m.share[d] * (m.T + kept) >= load(d) + sum(m.params[v] * on(v, d) for v in m.V),
    )


def _heavy(model: Any, weights: Floats, k: int, on: On) -> None:
    """Add that the middle has its share of the weights, of which some block has as much (archer2024, eq. 14)."""
    least = floor_of(weights, k)
    if not least:
        return
    model.weight = pyo.Param(model.V, initialize=dict(enumerate((weights * (TARGET / least)).tolist())))
    constrain(model, "heavy", rule=lambda m: sum(m.weight[v] * on(v, MIDDLE) for v in m.V) >= TARGET * (1 - 1e-9))


class Guess(Scoped, CutoffFormulation):
    """The bounds of all k guesses; a plan's heavy block stands somewhere, so the least is a bound."""

    name = "guess"
    exact = False
    role: Role = "relaxation"
    summary = "the least of k bounds, one for each position of the heaviest block (archer2024, 3.3)"
    floor = "archer2024, Lemma 3.3"
    scopes = (SCOPE,)

    def members(self, problem: Problem) -> Sequence[GuessAt]:
        """Return the guesses 1..k."""
        return [GuessAt(j, problem.k, self.cost) for j in range(1, problem.k + 1)]


class GuessAt(BoundOnly):
    """The guess that block j of k holds its share of the work.

    The j-1 blocks before it cost at most j-1 bottlenecks together, the k-j after it at most k-j.
    """

    exact = False
    role: Role = "relaxation"
    summary = "bound on the plans that have their heaviest block at one position"

    def __init__(self, j: int, k: int, cost: float | None = None) -> None:
        self.j = j
        self.k = k
        self.cost = cost
        self.name = f"guess-j{j}"

    def build(self, problem: Problem) -> Any:
        """Return the model; see :func:`mtpp_dsl.models.relaxations.superblocks.three_superblocks`."""
        return three_superblocks(problem, self.name, ThreeShares(before=self.j - 1, after=self.k - self.j), self.cost)


class Superblock(BoundOnly, CutoffFormulation):
    """The least cost of a block that holds its share of the work, wherever it stands.

    Args:
        cost: of a plan of the problem, if known.
        weights: [n] of the nodes, in place of their work: for any, some block has its share of them, so any give a
            bound (notes on bounds, 1).
    """

    name = "superblock"
    exact = False
    role: Role = "relaxation"
    summary = "bound from one block between two superblocks, by mixed-integer programming (archer2024, 3.2)"

    def __init__(self, cost: float | None = None, weights: Floats | None = None) -> None:
        super().__init__(cost)
        self.weights = weights

    def build(self, problem: Problem) -> Any:
        """Return the model; see :func:`mtpp_dsl.models.relaxations.superblocks.three_superblocks`."""
        return three_superblocks(problem, self.name, ThreeShares(before=None, after=None), self.cost, self.weights)
