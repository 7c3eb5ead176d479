"""Splits that somebody else wrote: whether they are sound, and how far from the best possible."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from mtpp_dsl.checks.verification import Violation, verify
from mtpp_dsl.core.base.amounts import Duration
from mtpp_dsl.core.constraints import Memory, StageMemory
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.contracts.targets import target_called
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Host
from mtpp_dsl.core.problem.problem import Problem, check_problem
from mtpp_dsl.core.problem.variants import free_of
from mtpp_dsl.solving.api import solve

DEFAULT_TIME = 20.0
"""Seconds in which the best plan is looked for."""
EQUAL = 1e-6
"""The solvers' tolerance: a plan no further from the optimum is one."""


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """What was found of a split.

    Attributes:
        problem: under the limits of the format's runtime.
        plan: the split.
        evaluation: of it.
        broken: the constraints that it breaks; () if it is sound.
        over: the numbers of the devices that run out of memory.
        best: what mtpp finds for the same problem; its plan is never worse than a sound split.
        notes: what the reader of the file said.
    """

    problem: Problem
    plan: Plan
    evaluation: Evaluation
    broken: tuple[Violation, ...]
    over: tuple[int, ...]
    best: Result
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether the split breaks no constraint, however slow it is."""
        return not self.broken

    @property
    def ratios(self) -> tuple[float | None, float | None]:
        """How many times the cost of the best possible plan the split's is, at least and at most; None: not known."""
        cost, best = self.evaluation.cost, self.best
        least = best.cost if best.cost is not None and best.cost > 0 else None
        bound = best.bound.cost if best.bound is not None and best.bound.cost > 0 else None
        return (None if least is None else cost / least), (None if bound is None else cost / bound)

    @property
    def ratio(self) -> float | None:
        """How many times the cost of the best possible plan the split's is; None where that is not proved."""
        least, most = self.ratios
        return None if least is None or most is None or most - least > EQUAL * most else least

    def __repr__(self) -> str:
        what = "sound" if self.sound else f"{len(self.broken)} constraints broken"
        return (
            f"Validation({what}, {'not known how good' if self.ratio is None else f'{self.ratio:.3g} times the best'})"
        )


def validate(
    source: str | os.PathLike[str],
    form: str,
    problem: Problem,
    *,
    time_limit: Duration | None = DEFAULT_TIME,
    method: str | Method = "auto",
    seed: int = 0,
    progress: Progress | Callable[[Progress], object] | None = None,
) -> Validation:
    """Read a split that somebody else wrote, check it, and find how far it is from the best possible.

    Args:
        source: a file or a folder as a path (:class:`pathlib.Path`), or the text itself.
        form: the name of a target: a form such as "layers", or a runtime such as "vllm".
        problem: whose devices the stages are on, in their order.
        time_limit: seconds in which the best plan is looked for; None for no limit.
        method: that looks for it.
        seed: of everything random in it.
        progress: to watch and to stop the search.

    Raises:
        mtpp_dsl.contracts.UnsoundSplit: a layer is lost, doubled or swapped, or there are too many or too few stages.
        UsageError: the file is not of that form, or the problem is about what the runtime cannot do.
        PluginError: there is no such target.
    """
    check_problem(problem, "validate")
    target = target_called(form)
    split = target.read(Path(source) if isinstance(source, os.PathLike) else source, problem)
    limited = target.restrict(free_of(problem))
    asked = replace(_with_memory(problem if limited == free_of(problem) else limited), target=None)
    plan = Plan.create(asked, split.assignment)
    evaluation = evaluate(asked, plan)
    broken = tuple(verify(asked, plan))
    memory = evaluation.memory.tolist()
    over = tuple(d for d, device in enumerate(asked.devices) if memory[d] > device.room * (1 + 1e-6))
    best = solve(asked, method, time_limit=time_limit, seed=seed, start=None if broken else plan, progress=progress)
    return Validation(asked, plan, evaluation, broken, over, best, split.notes)


def _with_memory(problem: Problem) -> Problem:
    """Return a problem whose devices keep to their memories, unless something else is said of these."""
    stated = any(isinstance(rule, (Memory, StageMemory)) for rule in problem.constraints)
    streams = isinstance(problem.interconnect, Host) and problem.interconnect.overflow
    if stated or streams or not any(device.memory is not None for device in problem.devices):
        return problem
    return problem.with_constraints([*problem.constraints, Memory()])
