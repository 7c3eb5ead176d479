"""Bounds of MIP solvers, with what they rest on in words."""

from __future__ import annotations

from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.solvers.methods.mip.one_model import Proven

__all__ = ["bound_of"]


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
