"""Loads of single phases, their largest, and the largest of several sums of decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.constraints import Bottleneck, Decision, Largest, Latency, Load
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import Hypergraph, Net
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.facts.linear_cost import named_decisions, unit_of
from mtpp_dsl.models.facts.scaling import floor_of

LEAST = 1e-9
"""Coefficients below this, in the model's unit, are dropped by solvers, so that models leave them out."""


def phase_values(
    model: Any, problem: Problem, view: Hypergraph, nets: Sequence[Net], on: On, unit: float
) -> Callable[[Decision], Any]:
    """Add the loads of the phases that somebody speaks of; return what gives the value of a decision about one.

    Formula: ``l[p,d] = sum_v time[p,v,d] on(v,d) + sum_u size[p,u] c[u,d]``; ``T[p] >= l[p,d]``, ``T[p] >= floor[p]``.
    With ``overflow = prefetch`` the work of p is in a variable that is no less than what d streams, the same in each p.
    Source -> target: ``load(d, p)``, ``bottleneck(p)``, ``latency(p)`` -> variables.
    Exact: a tensor is cut in all phases or in none, so that the c of ``tensor_cut`` are those of every phase. T[p] is
    exact while nothing pushes it up.

    Args:
        model: with ``V``, ``D`` and the block ``tensors``.
        problem: what is asked.
        view: its supernodes.
        nets: of the model: tensors that are cut together.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        unit: the model's unit of time.
    """
    loads = (Load, Bottleneck, Latency)
    spoken = {x.phase for x in named_decisions(problem) if isinstance(x, loads) and x.phase is not None}
    names = [name for name in problem.phases if name in spoken]
    part = model.phases = pyo.Block(concrete=True)
    part.P = pyo.Set(initialize=names)
    part.l = pyo.Var(part.P, model.D, domain=pyo.NonNegativeReals)
    part.loads = pyo.ConstraintList()
    part.T = pyo.Var(part.P, domain=pyo.NonNegativeReals)
    part.busy = pyo.VarList(domain=pyo.NonNegativeReals)
    streaming = set(model.overflow.D) if problem.prefetches and hasattr(model, "overflow") else set()
    for name in names:
        phase = problem.phase(name)
        own = Hypergraph(phase, view.of)
        time, tensor = own.time / unit, phase.tensor_time / unit
        sizes = [float(tensor[list(net.tensors)].sum()) for net in nets]
        part.T[name].setlb(floor_of(own.least_work, problem.k) * (1 - 1e-9) / unit)
        for d in model.D:
            work = sum(float(time[v, d]) * on(v, d) for v in np.flatnonzero(time[:, d] > LEAST).tolist())
            done = waits(part, work, model.overflow.s[d]) if d in streaming else work
            paid = sum(size * model.tensors.c[u, d] for u, size in enumerate(sizes) if size > LEAST)
            part.loads.add(part.l[name, d] == done + paid)
    constrain(part, "largest", part.P, model.D, rule=lambda b, p, d: b.T[p] >= b.l[p, d])

    def value(decision: Decision) -> Any:
        match decision:
            case Load(d, phase):
                return part.l[phase, d]
            case Bottleneck(phase):
                return part.T[phase]
            case Latency(phase):
                return sum(part.l[phase, d] for d in model.D)
        return part.z[decision]

    return value


def waits(part: Any, work: Any, streamed: Any) -> Any:
    """Add a variable that is no less than the work of a device and what it streams; return it."""
    longer = part.busy.add()
    part.loads.add(longer >= work)
    part.loads.add(longer >= streamed)
    return longer


def add_maxima(model: Any, problem: Problem, value: Callable[[Decision], Any], unit: float) -> None:
    """Add the largest of several sums, for every one that somebody speaks of.

    Formula: ``z >= constant + sum a x`` for every sum.
    Source -> target: ``max(...)`` -> a variable.
    Exact while z is only pushed down, which problems hold.

    Args:
        model: with the block ``phases``.
        problem: what is asked.
        value: of a decision in the model, times in the model's unit; of the maxima that stand in others, too.
        unit: the model's unit of time.
    """
    part = model.phases
    maxima = [x for x in named_decisions(problem) if isinstance(x, Largest)]
    part.z = dict.fromkeys(maxima)
    part.maxima = pyo.VarList(domain=pyo.Reals)
    part.sums = pyo.ConstraintList()
    for largest in maxima:
        part.z[largest] = part.maxima.add()
    for largest in maxima:
        own = unit_of(largest, unit)
        for terms, constant in largest.sums:
            total = sum(a * unit_of(x, unit) / own * value(x) for x, a in terms)
            part.sums.add(part.z[largest] >= constant / own + total)
