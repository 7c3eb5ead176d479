"""Check what the constraint of a plug-in must keep to: its rows and its check mean the same, on small problems."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import TOLERANCE, cost_of, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation, Method
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.plugins.samples import small

__all__ = ["broken_laws"]

TRIED = (
    "diamond", "chain", "three devices", "host", "training", "anything goes", "together", "few", "makespan",
    "exclusive links", "latency", "latency on shared", "batch throughput", "batches of chunks",
)  # fmt: skip
"""The small problems to which the constraint is added: of every kind some."""
MAX_SWAPPED = 100
"""Plans of a problem in which devices are swapped."""


def broken_laws(constraint: CustomConstraint, solver: str) -> Iterator[str]:
    """Yield every law that *constraint* breaks, in words, with the small problem on which it does.

    Args:
        constraint: of the plug-in, which is added to problems that it has nothing against.
        solver: the MIP solver of the formulations.
    """
    yield from _as_data(constraint)
    solved = 0
    for name, free in ((name, small()[name]) for name in TRIED if name in small()):
        if constraint.refusal(free) is not None or not _fits(constraint, free):
            continue
        problem = free.with_constraints([*free.constraints, constraint])
        found = list(plans(problem))
        best = min((cost_of(problem, plan) for plan in found), default=None)
        for form in _formulations():
            if form.accepts(problem) is None:
                solved += 1
                told = _answered(form, solver, problem, best)
                if told:
                    yield f"{name}: {told}"
        if constraint.symmetric and _told_apart(free, constraint):
            yield f"{name}: it says that it is symmetric, and swapping two equal devices breaks it, or mends it"
    if not solved:
        yield "no formulation accepts any of the small problems with it"


def _as_data(constraint: CustomConstraint) -> Iterator[str]:
    """Yield why the constraint cannot be a part of a problem, which is hashed, compared and sent to other processes."""
    if not constraint.keyword.isidentifier():
        yield f"the keyword is {constraint.keyword!r}, which a spec cannot say"
    try:
        hash(constraint)
        if pickle.loads(pickle.dumps(constraint)) != constraint:
            yield "read back from a pickle, it is another one"
    except Exception as error:
        yield f"it cannot be hashed or pickled: {error!r}"


def _fits(constraint: CustomConstraint, problem: Problem) -> bool:
    """Return whether a problem has the nodes and devices that the constraint speaks of."""
    last = (max(constraint.nodes or (0,)), max(constraint.devices or (0,)))
    return last[0] < problem.graph.n and last[1] < problem.k


def _formulations() -> Iterator[Formulation]:
    """Yield the built-in formulations that give plans and are not there to be compared with."""
    for name in registry.BUILTIN[registry.FORMULATIONS]:
        form = registry.load(registry.FORMULATIONS, name)()
        if form.role == "exact" and not form.baseline:
            yield form


def _answered(form: Formulation, solver: str, problem: Problem, best: float | None) -> str:
    """Return what is wrong with the answer of a formulation, the least cost of a plan being *best*; "" if nothing."""
    method: Method = registry.built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(form, solver)
    try:
        result = method.solve(problem, Limits(time=60.0, threads=1), Progress())
    except MtppError as error:
        return f"{form.name} fails: {error}"
    if result.plan is not None and verify(problem, result.plan):
        return f"{form.name} returns a plan that breaks it"
    if best is None:
        return "" if result.infeasibility is not None else f"{form.name} does not find that there is no plan"
    if result.infeasibility is not None:
        return f"rows() excludes all plans in {form.name}, and violations() allows one of cost {best:.9g}"
    if result.bound is not None and result.bound.cost > best * (1 + TOLERANCE):
        bound = result.bound.cost
        return f"rows() is stricter than violations(): {form.name} proves {bound:.9g}, and a plan costs {best:.9g}"
    if result.plan is None or cost_of(problem, result.plan) > best * (1 + TOLERANCE):
        return f"rows() is weaker than violations(): {form.name} finds no plan of cost {best:.9g}"
    return ""


def _told_apart(problem: Problem, constraint: CustomConstraint) -> bool:
    """Return whether swapping two equal devices turns a plan that keeps the constraint into one that breaks it."""
    among = set(range(problem.k) if constraint.devices is None else constraint.devices)
    equal = [
        (d, e)
        for d, e in combinations(range(problem.k), 2)
        if replace(problem.devices[d], name="") == replace(problem.devices[e], name="")
        and np.array_equal(problem.time[:, d], problem.time[:, e])
        and (d in among) == (e in among)
    ]
    if problem.timed:
        return False
    for count, plan in enumerate(plans(problem)):
        for d, e in equal if count < MAX_SWAPPED else ():
            to = np.arange(problem.k)
            to[[d, e]] = e, d
            other = Plan.create(problem, to[plan.assignment])
            if bool(list(constraint.violations(problem, plan))) != bool(list(constraint.violations(problem, other))):
                return True
    return False
