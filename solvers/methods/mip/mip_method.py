"""A formulation and a MIP solver make a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.base.lazy import MODELLING
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import GIVES, Backend, Formulation, FormulationFamily, Gives, Strengthened
from mtpp_dsl.core.contracts.traits import MethodBase, formulation_traits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP, Bound, Certificate, Infeasibility, Result, Termination
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, is_built_in, load
from mtpp_dsl.solvers.backends.mip.model_files import member_path, write_model
from mtpp_dsl.solvers.backends.mip.unsupported import check
from mtpp_dsl.solvers.methods.bounds import Simple
from mtpp_dsl.solvers.methods.mip.family import solve_family
from mtpp_dsl.solvers.methods.mip.known_plans import KnownPlan
from mtpp_dsl.solvers.methods.mip.mip_conflict import explain
from mtpp_dsl.solvers.methods.mip.mip_process import solve_apart, worthwhile
from mtpp_dsl.solvers.methods.mip.one_model import Proven, solve_one
from mtpp_dsl.solvers.methods.mip.plugin_rows import has_own_rows, scope, stronger, too_high
from mtpp_dsl.solvers.methods.mip.solver_bounds import bound_of, certificate_of

DEFAULT_SOLVER = Limits().solver
PROOF_SECONDS = 2.0
WORK_SHARE = 0.5
"""For the work that devices must share; it takes a moment, and what time there is only counts while it is compiled."""


class MipMethod(MethodBase):
    """Solve a formulation, or a family of relaxations, with a MIP solver.

    Plans of others count as plans of a formulation that is not built in only where its own rows allow them.

    Args:
        formulation: what to solve.
        backend: name of the solver; None takes it from the limits of each call.
        apart: whether to solve large models in a process of their own, which is ended when the time is up.
    """

    uses_solver = True
    writes_model = True

    def __init__(
        self, formulation: Formulation | FormulationFamily, backend: str | None = None, *, apart: bool = False
    ) -> None:
        self.apart = apart
        self.formulation = formulation
        self.backend = backend
        self.name = formulation.name
        self.summary = formulation.summary
        self.gives: Gives = GIVES[formulation.role]
        self.spreads = isinstance(formulation, FormulationFamily)
        self.baseline = formulation_traits(formulation).baseline
        self.own_rows = has_own_rows(formulation)
        self.scopes = formulation_traits(formulation).scopes

    def accepts(self, problem: Problem) -> str | None:
        """Return why the formulation cannot honour *problem*, or None."""
        return self.formulation.accepts(problem)

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return a plan and a bound; of a relaxation, a bound.

        Raises:
            Refused: the formulation or the solver cannot honour what is asked.
            SolverError: the solver is missing or failed.
        """
        reason = self.accepts(problem)
        if reason is not None:
            raise Refused(reason)
        name = self.backend or limits.solver
        if limits.solver not in (name, DEFAULT_SOLVER):
            raise Refused(f"method {self.name!r} was made with solver {name!r}, not {limits.solver!r}")
        backend: Backend = load(BACKENDS, name)()
        check(backend, limits)
        spread = self.spreads and limits.executor is not None
        if self.apart and not spread and worthwhile(self.formulation, problem, limits, progress):
            return solve_apart(MipMethod(self.formulation, self.backend), problem, limits, progress)
        run = _Run(self.formulation, backend, problem, limits, progress)
        impossible = quick(problem)
        if impossible is not None:
            run.write()
            return run.result("infeasible", infeasibility=impossible)
        run.take_start()
        run.strengthen()
        run.share_work()
        return run.family() if isinstance(run.formulation, FormulationFamily) else run.single()


@dataclass
class _Run:
    """One call of :meth:`MipMethod.solve`."""

    formulation: Any
    backend: Backend
    problem: Problem
    limits: Limits
    progress: Progress

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.given: Bound | None = None
        self.cost: float | None = None
        self.scale = 1.0
        gap = max(self.limits.gap - 3e-7, self.limits.gap / 2)  # what is taken off the bound must fit as well
        self.inner = self.limits.within(inf, gap=gap)
        own = has_own_rows(self.formulation)
        self.known = KnownPlan(self.formulation, self.backend, self.problem, self.limits, self.progress, own)

    def write(self) -> None:
        """Write the model, or those of a family, where it is not solved."""
        path, form = self.limits.write_model, self.formulation
        if path is None:
            return
        members = form.members(self.problem) if isinstance(form, FormulationFamily) else [form]
        for member in members:
            place = path if member is form else member_path(path, form.name, member.name)
            with MODELLING:
                write_model(member.build(self.problem), place)
            self.progress.report_model(place)

    def take_start(self) -> None:
        """Report the start, if it is a plan; else drop it, saying so."""
        self.known.take_reported()
        start = self.limits.start
        if start is None:
            return
        broken = verify(self.problem, start)
        if broken:
            self.notes.append(f"the start was dropped, it is no plan: {broken[0]}")
        start = None if broken else self.known.take(start, "the start")
        self.inner = replace(self.inner, start=start)
        if start is not None and "warm_start" not in self.backend.features:
            self.notes.append(f"solver {self.backend.name!r} takes no start; the plan is kept beside it")

    def strengthen(self) -> None:
        """Tell the formulation what a plan costs, if it can use that: of a plan reported, or of one found now."""
        if not isinstance(self.formulation, Strengthened):
            return
        plan = self.known.best or self.known.found()
        if plan is not None:
            self.cost = evaluate(self.problem, plan).cost
            self.formulation = stronger(self.formulation, self.cost)
            self.inner = replace(self.inner, start=plan)

    def share_work(self) -> None:
        """Report, of a batch, the work that devices must share: no solver gets as far before it branches for long."""
        if self.problem.objective.batch is None or self.formulation.role != "exact":
            return
        simple = Simple()
        if simple.accepts(self.problem) is None:
            share = self.limits.within(WORK_SHARE * self.limits.remaining, start=None)
            simple.solve(self.problem, share, self.progress)

    def single(self) -> Result:
        """Solve one formulation."""
        form = self.formulation

        def tell(incumbent: float | None, proven: Proven | None) -> None:
            if incumbent is not None and form.role != "relaxation":
                self.progress.report_cost(incumbent)
            if proven is not None and form.role != "restriction":
                self.progress.report_bound(self.bound(proven, self.backend.name))

        known = self.least()
        solved = solve_one(form, self.backend, self.problem, self.inner, self.progress, tell, known)
        self.scale = solved.scale
        self.written(solved.scale)
        phases = {"build": solved.build, "solve": solved.solve}
        if solved.plan is not None:
            self.take_plan(solved.plan)
        outcome = solved.outcome
        if outcome.termination == "infeasible" and form.role == "restriction":
            self.notes.append(f"{form.name} has no solution; the problem, of whose plans it has some, may have one")
            return self.result("complete", time=phases)
        if outcome.termination == "infeasible":
            return self.infeasible(phases)
        if solved.proven is None or not solved.proven.step:  # else the next cost that there can be is the bound
            self.coarse(solved.margin)
        bound = None
        if solved.proven is not None and form.role != "restriction":
            self.compare(solved.proven)
            bound = self.bound(solved.proven, outcome.by)
        return self.result(outcome.termination, bound=bound, time=phases)

    def least(self) -> float | None:
        """Return the bound that whoever calls has reported, for a row of an exact model that starts from a plan.

        Without a plan to start from it leaves the search without direction (measured: up to three times slower).
        """
        bound = self.progress.bound
        if self.formulation.role != "exact" or bound is None or self.known.best is None:
            return None
        self.given = bound
        return bound.cost

    def family(self) -> Result:
        """Solve every member of a family."""
        solved = solve_family(
            self.formulation,
            self.backend,
            self.problem,
            self.inner,
            self.progress,
            inf if self.cost is None else self.cost,
        )
        self.scale = solved.scale
        self.written(solved.scale)
        phases = {"build": solved.build, "solve": solved.solve}
        if solved.proven is None:
            return self.result(solved.termination, time=phases)
        if isinf(solved.proven.cost):
            return self.infeasible(phases)
        self.compare(solved.proven)
        bound = self.bound(solved.proven, solved.by, f"{solved.note}: ")
        return self.result(solved.termination, bound=bound, time=phases)

    def bound(self, proven: Proven, by: str, argument: str = "") -> Bound:
        """Return *proven* with its certificate; no more than a plan costs, which only tolerances could make it."""
        if self.cost is not None and proven.cost > self.cost:
            proven = replace(proven, cost=self.cost)
        floor = formulation_traits(self.formulation).floor
        bound = bound_of(proven, self.formulation.name, by, self.scale, argument, self.given, self.cost, floor)
        return replace(bound, detail=f"{bound.detail}; it is one {self.scope} alone") if self.scope else bound

    def compare(self, proven: Proven) -> None:
        """Raise PluginError where a formulation that is not built in proves more than a plan that counts costs."""
        plan = self.known.best
        if plan is not None:
            too_high(self.formulation, proven.cost, evaluate(self.problem, plan).cost)

    def certificate(self, cost: float) -> Certificate | None:
        """Return what proves the bound again, if it is found in a moment."""
        seconds = 0.0 if self.progress.stopped else min(self.limits.remaining, PROOF_SECONDS)
        pipeline = self.formulation.role == "relaxation"
        return certificate_of(self.problem, cost, pipeline=pipeline, seconds=seconds)

    def written(self, scale: float) -> None:
        """Note what the numbers of a written model mean, and where its file is if several were written."""
        if self.limits.write_model is None:
            return
        names = [path.name for path in self.progress.models]
        which = "the written model"
        if names[1:]:
            self.notes.append(f"models were written to {', '.join(names)}")
            which = "that of the least bound"
        self.notes.append(f"in {which} a cost of 1 stands for {scale:.12g}")

    def take_plan(self, plan: Plan) -> None:
        """Report *plan*, unless the solver's tolerances have let it break a constraint."""
        broken = verify(self.problem, plan)
        if broken and not is_built_in(self.formulation):
            extract = f"extract() of formulation {self.formulation.name!r}"
            self.notes.append(f"what {extract} returned was dropped, it is no plan: {broken[0]}")
            return
        if broken:
            self.notes.append(
                f"the solver's plan was dropped: by its tolerances it keeps every constraint, by the definitions it "
                f"does not ({broken[0]}); round the small numbers of that constraint"
            )
            return
        if self.known.excludes(plan):
            lost = "rows of it exclude that, so extract() loses what they ask for"
            self.notes.append(f"what extract() of formulation {self.formulation.name!r} returned was dropped: {lost}")
            return
        self.known.hold(plan)

    def coarse(self, margin: float) -> None:
        """Note that the numbers of the problem lie too far apart for a closed gap, if they do."""
        plan = self.progress.plan
        if plan is None or self.formulation.role != "exact":
            return
        evaluation = evaluate(self.problem, plan)
        if margin > max(max(self.limits.gap, OPTIMAL_GAP) * abs(evaluation.cost), 2 * OPTIMAL_GAP * evaluation.size):
            self.notes.append(
                f"times, tensors and streams lie so far apart that {margin:.2g} is taken off the solver's bound for "
                "its tolerances: the gap may stay open"
            )

    def infeasible(self, phases: Mapping[str, float]) -> Result:
        """Say why there is no plan."""
        if self.cost is not None or self.known.best is not None:
            if self.formulation.role == "relaxation":
                self.compare(Proven(inf, by_solver=True))
            self.notes.append("the solver called the model infeasible, and a plan is known: a numerical failure")
            return self.result("error", time=phases)
        if self.formulation.role != "exact":
            lacks = f"there is no plan {self.scope}" if self.scope else "the problem has none"
            reason = f"the relaxation {self.formulation.name!r} has no solution, so {lacks}"
            return self.result("infeasible", infeasibility=Infeasibility(reason), time=phases)
        return self.result("infeasible", infeasibility=self.clash(), time=phases)

    def clash(self) -> Infeasibility:
        """Return which constraints cannot hold together."""
        return explain(self.problem, self.formulation, self.backend, self.limits, self.progress, beside=self.scope)

    @property
    def scope(self) -> str:
        """Of which plans alone the answer speaks; "" if of all of the problem."""
        return scope(self.formulation, excluded=self.known.excluded)

    def result(
        self,
        termination: Termination,
        *,
        bound: Bound | None = None,
        infeasibility: Infeasibility | None = None,
        time: Mapping[str, float] | None = None,
    ) -> Result:
        """Return the result with the best plan reported."""
        if self.scope:
            self.notes.append(f"plan and bound are {self.scope}")
        if bound is not None:
            bound = replace(bound, certificate=self.certificate(bound.cost))
            self.progress.report_bound(bound)
        known_plan = self.known.plan if self.known.own_rows else self.progress.plan
        plan = None if infeasibility is not None else known_plan
        return self.progress.result(
            self.formulation.name,
            self.limits,
            termination,
            plan=plan,
            bound=bound,
            evaluation=None if plan is None else evaluate(self.problem, plan),
            solver=self.backend.name,
            time=time,
            infeasibility=infeasibility,
            notes=(*self.known.notes, *self.notes),
        )
