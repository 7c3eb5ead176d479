"""A family of relaxations: every member solved, the least bound kept (archer2024, 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Backend, Formulation, FormulationFamily, Outcome
from mtpp_dsl.core.plans.result import Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.backends.mip.model_files import member_path
from mtpp_dsl.solvers.methods.mip.one_model import Proven, SolvedModel, solve_one
from mtpp_dsl.solvers.methods.mip.spread_members import spread
from mtpp_dsl.solvers.runtime.portfolio.race import cores


@dataclass(frozen=True)
class FamilySolved:
    """What became of a family.

    Attributes:
        proven: the least of the members' bounds, ``inf`` if no member has a solution; None if some
            member has no bound.
        termination: "gap" if every member counted was solved, else why the first was not.
        by: the solver and its version.
        scale: the unit of the member whose bound is the least.
        build, solve: seconds, over all members.
        note: which member is the least, and how many were cut short.
    """

    proven: Proven | None
    termination: Termination
    by: str
    scale: float
    build: float
    solve: float
    note: str


class _Watch(Progress):
    """Stops a member when the whole is stopped, or when its bound can no longer be the least."""

    def __init__(self, whole: Progress) -> None:
        super().__init__()
        self.whole = whole
        self.passed = False

    def report_model(self, path: Path) -> None:
        self.whole.report_model(path)

    @property
    def stopped(self) -> bool:
        return self.passed or self.whole.stopped


def solve_family(
    family: FormulationFamily,
    backend: Backend,
    problem: Problem,
    limits: Limits,
    progress: Progress,
    enough: float = inf,
) -> FamilySolved:
    """Solve the members one after the other, each given an equal share of the time that is left.

    With an executor in the limits they are solved side by side in processes of it, and here what is left over.

    A member is left as soon as its bound passes the least of those before it: it cannot be the least. So it is when it
    is *enough*, the cost of a plan.
    A member cut short by its time counts with its dual bound.
    """
    members = list(family.members(problem))
    solved: list[tuple[Formulation, SolvedModel, bool]] = []
    least = enough
    ready = _elsewhere(members, backend, problem, limits, progress, enough)
    for number, member in enumerate(members):
        if number in ready:
            solved.append((member, *ready[number]))
            least = min(least, _cost(ready[number][0]))
            continue
        watch = _Watch(progress)
        share = limits.remaining / (len(members) - number)
        path = limits.write_model and member_path(limits.write_model, family.name, member.name)
        result = solve_one(
            member,
            backend,
            problem,
            limits.within(share, write_model=path),
            watch,
            _teller(watch, least),
        )
        solved.append((member, result, watch.passed))
        cost = _cost(result)
        least = min(least, cost)
        progress.say(f"{member.name}: {'no bound' if result.proven is None else f'bound {cost:.6g}'}")
    return _least(solved)


def _elsewhere(
    members: list[Formulation], backend: Backend, problem: Problem, limits: Limits, progress: Progress, enough: float
) -> dict[int, tuple[SolvedModel, bool]]:
    """Solve members in processes of the executor of the limits, if there is one; return what became of which."""
    count = min(len(members), cores(limits))
    if limits.executor is None or limits.write_model is not None or count < 2:
        return {}
    outcomes = dict(enumerate(spread(members, backend.name, problem, limits, progress, enough, count)))
    if progress.stopped or limits.remaining <= 0:
        ended: Termination = "interrupted" if progress.stopped else "time_limit"
        unsolved = SolvedModel(Outcome(ended, None, None, by=backend.name), None, None, 1.0, 0.0, 0.0, 0.0), False
        return {number: one or unsolved for number, one in outcomes.items()}
    return {number: one for number, one in outcomes.items() if one is not None}


def _teller(watch: _Watch, least: float) -> Callable[[float | None, Proven | None], None]:
    def tell(_: float | None, proven: Proven | None) -> None:
        watch.passed |= proven is not None and proven.cost >= least

    return tell


def _cost(solved: SolvedModel) -> float:
    """Return the bound of a member; ``-inf`` if it has none."""
    return -inf if solved.proven is None else solved.proven.cost


def _least(solved: list[tuple[Formulation, SolvedModel, bool]]) -> FamilySolved:
    worst, result, _ = min(solved, key=lambda entry: _cost(entry[1]))
    short = [
        entry.outcome.termination
        for _, entry, passed in solved
        if not passed and entry.outcome.termination not in ("gap", "complete", "infeasible")
    ]
    left = f", {len(short)} of {len(solved)} cut short" if short else ""
    return FamilySolved(
        proven=result.proven,
        termination=short[0] if short else "gap",
        by=result.outcome.by,
        scale=result.scale,
        build=sum(entry.build for _, entry, _ in solved),
        solve=sum(entry.solve for _, entry, _ in solved),
        note=f"the least is that of {worst.name}{left}",
    )
