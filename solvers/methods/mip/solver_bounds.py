"""Put bounds of MIP solvers in words, and find certificates for them, where other code can prove them again."""

from __future__ import annotations

from math import floor, frexp, ldexp

import numpy as np

from mtpp_dsl.core.constraints import Replicate
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.scopes import outside
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.result import Bound, Certificate
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.least_load import simple_bound
from mtpp_dsl.solvers.methods.mip.one_model import Proven
from mtpp_dsl.solvers.methods.shared_scopes import LOADS
from mtpp_dsl.solvers.proofs.chain import ChainCertificate


def bound_of(
    proven: Proven,
    method: str,
    solver: str,
    scale: float,
    argument: str = "",
    given: Bound | None = None,
    cost: float | None = None,
    floor: str = "archer2024, Lemma 3.3",
) -> Bound:
    """Return the bound that a solver's dual bound is, or the one its model starts from.

    Args:
        proven: the bound.
        method: whose model it is.
        solver: name and version.
        scale: the model's unit of cost.
        argument: why the model's bound is one of the problem; "" for an exact model.
        given: a bound that the model had as a row, on which this one then rests too.
        cost: of a plan, if the model is of the plans that cost no more.
        floor: what the model's own lower bound is.
    """
    if not proven.by_solver:
        detail = f"the model's own lower bound on its objective, before any search ({floor})"
        return Bound(proven.cost, method, "trusted", f"{floor}, a row of the model", detail)
    detail = (
        f"{argument}the solver's dual bound of model {method!r}, whose unit of cost is {scale:.6g}, less a "
        f"margin of {proven.margin:g} units for its tolerances; never an incumbent. It rests on the solver's word and "
        "on its tolerances (feasibility and integrality 1e-6, in the model's units)"
    )
    if proven.step:
        detail += f"; all costs are multiples of {proven.step:.9g}, and it is the next one"
    if cost is not None:
        detail += f"; the model leaves out plans that cost more than {cost:.9g}, the cost of one that is known"
    if given is not None:
        detail += f"; a row of the model says that no plan costs less than {given.cost:.9g}, by {given.method!r}"
    return Bound(proven.cost, method, "trusted", solver, detail)


WEIGHT_BITS = 29


def certificate_of(problem: Problem, cost: float, *, pipeline: bool, seconds: float) -> Certificate | None:
    """Return what proves that no plan is below *cost*, or None if nothing does that is found in time.

    A bound that is no more than that of Lemma 3.3 has its certificate. One of a relaxation by superblocks has that of a
    pipeline in which the weight of a node is its work, or the heaviest node has all weight, if *seconds* are enough to
    prove it: such a relaxation asks for a block with its share of the work, in convex sets, but may know more.

    Args:
        problem: what was asked.
        cost: the bound.
        pipeline: whether it is of a relaxation by superblocks.
        seconds: for the proof.
    """
    if not cost > 0 or not problem.allowed.any(axis=1).all() or outside("simple", [LOADS], problem) is not None:
        return None
    share, _, data = simple_bound(problem)
    if cost <= share and data and not any(problem.of(Replicate)):
        return Certificate("shares", data)
    if not pipeline or seconds <= 0:
        return None
    chain = {"target": cost, **_weights(problem)}
    try:
        proved = ChainCertificate().prove(problem, chain, Limits(time=seconds))
    except (Refused, UsageError):
        return None
    return Certificate("chain", chain) if proved >= cost else None


def _weights(problem: Problem) -> dict[str, object]:
    """Return weights of the nodes by their work, or of the heaviest alone if it is a share of its own."""
    work = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
    heaviest = int(work.argmax())
    k, names = problem.k, problem.graph.names
    if work[heaviest] * k >= work.sum():
        return {"weights": {names[heaviest]: 1}, "most": [0] * k}
    scale = ldexp(1.0, WEIGHT_BITS - frexp(float(work[heaviest]))[1])
    weights = {name: floor(float(w) * scale) for name, w in zip(names, work.tolist(), strict=True)}
    return {"weights": weights, "most": [-(-sum(weights.values()) // k) - 1] * k}
