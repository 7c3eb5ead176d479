"""Methods without a search: everything on one device, and a split that is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import BatchSizes, Bottleneck, Copies, Load, On, PinChunks, Replicate, Subgraphs
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import DECISIONS, EVERY, Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.shared_scopes import LOADS, NETWORK_LOADS, PATHS, REPEATED, SUBGRAPHS
from mtpp_dsl.solvers.runtime.incumbent import Incumbent

__all__ = ["Expert", "SingleDevice"]

CHECKED = (
    replace(
        LOADS,
        constraints=(*LOADS.constraints, Copies, Replicate),
        without=(Subgraphs, BatchSizes, PinChunks),
        decisions=(On, Load, Bottleneck),
    ),
    replace(
        NETWORK_LOADS,
        constraints=(*NETWORK_LOADS.constraints, Copies),
        without=(Subgraphs, BatchSizes, PinChunks),
        decisions=(On, Load, Bottleneck),
    ),
    replace(PATHS, constraints=(*PATHS.constraints, Replicate), without=(Subgraphs, BatchSizes, PinChunks)),
    REPEATED,
)
"""Problems whose plans can be checked and evaluated, but for the latency by subgraphs."""


def cannot_check(problem: Problem, name: str) -> str | None:
    """Return why method *name* cannot check and evaluate plans of *problem* in this version, or None."""
    plan = Plan.create(problem, np.zeros(problem.graph.n, np.int64))
    try:
        verify(problem, plan)
        evaluate(problem, plan)
    except Refused as error:
        return f"{name} can only give what can be checked: {error}"
    except UsageError:  # it has no schedule; one that has can be evaluated
        return None
    return None


class SingleDevice(Scoped, MethodBase):
    """Method ``single-device``: everything on the one device that may hold it and is fastest.

    For the throughput of a batch, where no device can run all inputs of every node as one batch, the inputs are parted
    among devices, in the same way for all nodes, so that the device that has most to do ends first.
    """

    name = "single-device"
    gives: Gives = "plan"
    baseline = True
    seeded = False
    summary = "everything on the fastest device that can hold it"
    scopes = CHECKED

    def beyond(self, problem: Problem) -> str | None:
        """Return why a plan could not be checked, or None."""
        return cannot_check(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the plan, or none, with what keeps everything off each device."""
        from mtpp_dsl.solvers.methods.on_one_device import single_device

        return single_device(problem, limits, progress)


class Expert(Scoped, MethodBase):
    """Method ``expert``: the given split as it stands, checked and evaluated; nothing is searched."""

    name = "expert"
    gives: Gives = "plan"
    baseline = True
    needs_start = True
    seeded = False
    summary = "the split given with --start, checked and evaluated as it is"
    scopes = (*CHECKED, replace(SUBGRAPHS, constraints=EVERY, without=(BatchSizes, PinChunks), decisions=DECISIONS))

    def beyond(self, problem: Problem) -> str | None:
        """Return why a split could not be checked, or None."""
        return cannot_check(problem, self.name)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the start of *limits*; without one, or with one that breaks a constraint, a note that says so."""
        incumbent = Incumbent(self.name, problem, limits, progress)
        if limits.start is None:
            incumbent.note("there is no split to evaluate: give one as the start")
        elif not incumbent.take(limits.start):
            incumbent.note(f"the split given is no plan: {incumbent.broken}")
        return incumbent.result()
