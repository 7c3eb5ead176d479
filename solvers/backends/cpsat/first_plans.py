"""First plans for methods that improve a plan."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Repeat
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.cpsat.batch_problem import behind_barriers

LISTS = ("heft", "greedy", "etf", "peft")
"""List schedulers: none takes long, and none is the best of every graph."""
LAST = "single-device"
"""What is asked where none of them finds a plan, or honours all constraints."""
SHARE, SECONDS = 0.1, 5.0


def known(problem: Problem, limits: Limits, progress: Progress) -> Plan | None:
    """Return the best plan known, and report it: one reported before, the user's, one of a list, or of one device.

    Returns None if there is none. List schedulers run only if there is no other plan, for a small share of the time.
    """
    given = [plan for plan in (progress.plan, limits.start) if plan is not None and not verify(problem, plan)]
    for plan in given:
        progress.report_plan(plan, evaluate(problem, plan).cost)
    budget = limits.within(min(SHARE * limits.remaining, SECONDS), start=None)
    fewer = problem
    if any(problem.of(Repeat)):  # what has one batch of a node on a device is a plan too
        fewer = problem.with_constraints([rule for rule in problem.constraints if not isinstance(rule, Repeat)])
    for name in (*LISTS, LAST) if not given else ():
        if name == LAST and given:
            break
        if progress.stopped or budget.remaining <= 0 or name not in registry.available(registry.METHODS):
            continue
        method: Method = registry.load(registry.METHODS, name)()
        if method.accepts(fewer) is None:
            listed = method.solve(fewer, budget, progress if fewer is problem else Progress()).plan
            if listed is not None and not verify(problem, listed):
                given.append(listed)
                progress.report_plan(listed, evaluate(problem, listed).cost)
    return min(given, key=lambda plan: evaluate(problem, plan).cost, default=None)


def behind(problem: Problem, limits: Limits, progress: Progress) -> Plan | None:
    """Return the best plan known of a batch in which every batch waits for all batches of the nodes that it reads.

    Only that plan is reported, since plans without the barrier are not feasible in the model that asks for it.
    """
    silent = Progress()
    silent.plan = progress.plan
    plan = None if progress.stopped else known(problem, limits, silent)
    if plan is None or plan.batches is None:
        return None
    place = np.argsort(problem.graph.topological_order).astype(np.float64)
    chunks = plan.batches.device[:, :: problem.batching.chunk]
    sequence = behind_barriers(problem, chunks, np.repeat(place[:, None], problem.k, axis=1))
    progress.report_plan(sequence, evaluate(problem, sequence).cost)
    return sequence
