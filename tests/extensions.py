"""Formulations derived from the built-in ones, with a row of their own: so many nodes on a device at most."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from tests.oracle import plans

__all__ = ["best_of_all", "capped", "counts", "everything"]


def capped(base: type, most: int, devices: tuple[int, ...] | None = None, **attributes: object) -> Any:
    """Return a formulation derived from *base*: on each device, or some, at most *most* nodes, or chunks of them."""

    def build(self: Any, problem: Problem) -> Any:
        model = base.build(self, problem)  # type: ignore[attr-defined]
        n, chunks = problem.graph.n, problem.objective.batch and problem.batching.count
        model.cap = pyo.ConstraintList()
        for d in range(problem.k) if devices is None else devices:
            if model.component("x") is None and model.component("y") is None:
                continue
            each = [(v, d, c) for v in range(n) for c in range(chunks)] if chunks else [(v, d) for v in range(n)]
            total = sum(model.on(*index) for index in each)
            if not isinstance(total, int):
                model.cap.add(total <= most)
        return model

    def keeps(problem: Problem, plan: Plan) -> bool:
        return all(counts(problem, plan)[d] <= most for d in (range(problem.k) if devices is None else devices))

    body = {"name": "capped", "build": build, "keeps": staticmethod(keeps), **attributes}
    return type(f"Capped{base.__name__}", (base,), body)()


def counts(problem: Problem, plan: Plan) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return [devices] how many nodes, or chunks of nodes, a plan has on each."""
    where = plan.assignment
    if plan.batches is not None:
        where = plan.batches.device[:, :: problem.batching.chunk].ravel()
    return np.bincount(where, minlength=problem.k)


@cache
def everything(problem: Problem) -> list[tuple[float, list[int], Plan]]:
    """Return every plan of a small problem with its cost, cheapest first, and how many nodes are on each device."""
    found = [(cost_of(problem, plan), counts(problem, plan).tolist(), plan) for plan in plans(problem)]
    return sorted(found, key=lambda entry: entry[0])


def best_of_all(problem: Problem, most: int, devices: tuple[int, ...] | None = None) -> float | None:
    """Return the least cost of a plan that keeps the cap, by trying everything; None if there is none."""
    chosen = range(problem.k) if devices is None else devices
    return next((cost for cost, on, _ in everything(problem) if max(on[d] for d in chosen) <= most), None)
