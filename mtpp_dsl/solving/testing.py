"""The conformance suite: what every plug-in must keep to, ours and yours.

::

from mtpp_dsl.testing import check_formulation

    def test_acme():
        check_formulation(Acme())

Each function raises AssertionError with the law that is broken, on what problem, and by what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, get_args
from zlib import crc32

from mtpp_dsl.checks.verification import TOLERANCE, check_result, cost_of, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.contracts.executors import Executor
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import (
    Availability,
    Backend,
    Feature,
    Formulation,
    FormulationFamily,
    Generator,
    Gives,
    Installed,
    Method,
    Outcome,
    Role,
)
from mtpp_dsl.core.contracts.targets import Target
from mtpp_dsl.core.contracts.traits import formulation_traits, model_traits
from mtpp_dsl.core.errors import MtppError, PluginError, Refused, SolverError, UsageError, VerificationError
from mtpp_dsl.core.plans.result import Result, Termination
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.exchange.generators.generate import parameters
from mtpp_dsl.solving.plugins.claims import claimed
from mtpp_dsl.solving.plugins.laws import broken_constraint_laws, broken_executor_laws, broken_target_laws
from mtpp_dsl.solving.plugins.own_optimum import broken_rows, complaint, lost_by_below, own_optimum
from mtpp_dsl.solving.plugins.samples import (
    MORE_THAN_VERIFIED,
    large,
    large_schedule,
    optimum,
    sample,
    small,
    verifiable,
)

__all__ = [
    "check_backend",
    "check_constraint",
    "check_executor",
    "check_format",
    "check_formulation",
    "check_generator",
    "check_method",
    "check_target",
]

PROMPT = 10.0
"""Seconds that an interrupt or the end of a limit may take on a busy machine."""


AGAIN = 4
"""Of the small problems, every so many are solved twice: with one seed there is one answer, unless time ends it."""


def fresh_limits(**options: Any) -> Limits:
    """Return limits whose clock starts now."""
    return Limits(time=60.0, threads=1, **options)


def check_formulation(
    formulation: Formulation | FormulationFamily,
    solver: str = "highs",
    *,
    every: int = 1,
    every_claim: int = 1,
    seconds: float = 1.0,
) -> None:
    """Check a formulation by solving it with *solver*, each thing that it claims by a problem of its own.

    Its attributes agree; it accepts or refuses with a reason; what it answers is verified; a bound is
    never above the optimum; an exact one reaches and proves the optimum; a restriction claims no bound.
    Strengthened, it is the same formulation. Where it is not built in, the optimum is that of the plans that its own
    rows allow; an exact one that excludes a better plan has to say so, in ``adds``.

    Args:
        formulation: to check.
        solver: with which its models are solved.
        every: of so many problems that it accepts one is solved.
        every_claim: the same of those about one claim each, such as a backward part.
        seconds: the limit of runs that are to be ended by it.
    """
    family = isinstance(formulation, FormulationFamily)
    _law(family or isinstance(formulation, Formulation), f"{formulation!r} lacks a part of the contract Formulation")
    _law(formulation.role in get_args(Role), f"role is {formulation.role!r}, none of {get_args(Role)}")
    _law(formulation.exact == (formulation.role == "exact"), "exact must be True if and only if the role is exact")
    _law(not family or formulation.role == "relaxation", "a family's least bound is a relaxation")
    _attributes(formulation)
    mip = registry.built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")
    _law(isinstance(mip(formulation, solver), Method), "a formulation with a solver must be a Method")
    lost = lost_by_below(formulation, 1.0)
    _law(not lost, lost)

    @cache
    def best_of(name: str) -> tuple[float | None, bool]:
        wrong = complaint(formulation, solver, name)
        _law(not wrong, f"{name}: {wrong}")
        return own_optimum(formulation, solver, name)

    results = _check_solving(formulation, lambda: mip(formulation, solver), best_of, every, every_claim)
    for name, result in results.items():
        best, known = best_of(name)
        broken = result.plan is not None and broken_rows(formulation, solver, sample(name), result.plan)
        _law(not broken, f"{name}: the plan breaks rows of the formulation's own: extract() loses what they ask for")
        if best is None or not known:
            continue
        if formulation.role == "restriction":
            _law(result.bound is None, f"{name}: a restriction has no bound to give, and it gave {result.bound}")
        else:
            _law(result.bound is not None, f"{name}: solved, and there is no bound")
        if formulation.role == "exact":
            _law(result.status == "optimal", f"{name}: exact, and the status is {result.status!r}")
    _check_limits(mip(formulation, solver), seconds, adds=bool(formulation_traits(formulation).adds))


def check_method(method: Method, *, every: int = 1, every_claim: int = 1, seconds: float = 1.0) -> None:
    """Check a method on problems whose optima are known, each thing that it claims by a problem of its own.

    It accepts or refuses with a reason; its plans are plans and cost what it says; its bounds are never
    above the optimum; the same seed gives the same answer; it stops when asked and when its time is up.

    Args:
        method: to check.
        every: of so many problems that it accepts one is solved.
        every_claim: the same of those about one claim each, such as a backward part.
        seconds: the limit of runs that are to be ended by it.
    """
    _law(isinstance(method, Method), f"{method!r} lacks a part of the contract Method")
    _attributes(method)
    _law(method.gives in get_args(Gives), f"gives is {method.gives!r}, none of {get_args(Gives)}")
    state = method.available() if isinstance(method, Installed) else None
    if state is not None and not state.ok:
        _law(bool(state.install), "a program that is not there must say how to install it")
        return
    for name, result in _check_solving(method, lambda: method, every=every, every_claim=every_claim).items():
        _law(result.bound is None or "bound" in method.gives, f"{name}: gives {method.gives}, and there is a bound")
        _law(result.plan is None or "plan" in method.gives, f"{name}: gives {method.gives}, and there is a plan")
    _check_limits(method, seconds)


def check_backend(backend: Backend) -> None:
    """Check a MIP solver on models of known optima; of one that is not installed, that it says so.

    Values in the model are the incumbent's; a bound is never above the optimum; infeasible models are
    proven so; unknown options are errors; it stops when asked and when its time is up.
    """
    _law(isinstance(backend, Backend), f"{backend!r} lacks a part of the contract Backend")
    _law(backend.features <= set(get_args(Feature)), f"features {backend.features} beyond {get_args(Feature)}")
    _attributes(backend, summary=False)
    state = backend.available()
    _law(isinstance(state, Availability), "available() must return an Availability")
    formulation = registry.load(registry.FORMULATIONS, "exact")()
    if not state.ok:
        _law(bool(state.install), "a solver that is not there must say how to install it")
        return
    for name, problem in small().items():
        if formulation.accepts(problem) is None:
            model = formulation.build(problem)
            bounds: list[float | None] = []
            outcome = backend.solve(model, fresh_limits(), Progress(), lambda _, bound: bounds.append(bound))  # noqa: B023
            _check_outcome(name, outcome, bounds, formulation, model)
    _check_backend_limits(backend, formulation)


def check_format(reader: Any, samples: Iterable[Path]) -> None:
    """Check a file format on *samples*, files it must read, and on files that no format can.

    Reading twice gives the same graph; a file that is missing, empty or garbage is a UsageError that names it. Where it
    can write, reading what it wrote of a sample gives the same graph.
    """
    _attributes(reader, summary=False)
    suffixes = reader.suffixes
    _law(isinstance(suffixes, tuple) and all(s.startswith(".") for s in suffixes), f"suffixes {suffixes!r}: ('.json',)")
    paths = list(samples)
    _law(bool(paths), "no samples to read")
    for path in paths:
        one, other = reader.read(path), reader.read(path)
        _law(isinstance(one, Workload), f"{path}: read() returned a {type(one).__name__}, not a Workload")
        _law(_equal(one.graph, other.graph) and one.devices == other.devices, f"{path}: read twice, two workloads")
        _law((one.interconnect is None) <= (not one.devices), f"{path}: devices, and nothing that joins them")
        if hasattr(reader, "write"):
            _check_written(reader, one, path)
    with TemporaryDirectory() as folder:
        for name, content in (("missing", None), ("empty", b""), ("garbage", b"\x00\xff{[<")):
            path = Path(folder, name).with_suffix(suffixes[0])
            if content is not None:
                path.write_bytes(content)
            error = _error(partial(reader.read, path))
            _law(isinstance(error, UsageError), f"a {name} file: expected a UsageError, got {error!r}")
            _law(path.name in str(error), f"a {name} file: the message does not name it: {error}")


def _check_written(reader: Any, workload: Workload, sample: Path) -> None:
    """Check that what a format writes of a sample is read back as it was; it may refuse, with a UsageError."""
    with TemporaryDirectory() as folder:
        path = Path(folder, sample.name)
        error = _error(partial(reader.write, workload, path))
        if error is not None:
            _law(isinstance(error, UsageError), f"{sample}: write() expected a UsageError, got {error!r}")
            return
        _law(path.is_file(), f"{sample}: write() wrote no file of that name")
        _law(_equal(reader.read(path).graph, workload.graph), f"{sample}: written and read back, another graph")


def check_generator(name: str, generator: Generator) -> None:
    """Check a graph generator.

    Every parameter has a default and a plain type; the defaults make a graph, the same one each time.
    """
    _law(re.fullmatch(r"[a-z][a-z0-9_]*", name) is not None, f"{name!r} is no name that a spec can say")
    parameters(name, generator)
    one, other = generator(), generator()
    _law(isinstance(one, Graph), f"returned a {type(one).__name__}, not a Graph")
    _law(_equal(one, other), "two calls, two graphs: randomness must come from a seed")


def check_constraint(constraint: CustomConstraint, solver: str = "highs") -> None:
    """Check the constraint of a plug-in, by adding it to problems of which every plan can be tried.

    It can be hashed and pickled. Every formulation that takes its rows finds the optimum of the plans without
    violations, or that there is none: the rows are neither stricter nor weaker than the check. If it says that it is
    symmetric, swapping equal devices changes nothing.
    """
    _law(isinstance(constraint, CustomConstraint), f"{constraint!r} is no CustomConstraint")
    for broken in broken_constraint_laws(constraint, solver):
        _law(False, f"constraint {constraint.keyword}: {broken}")


def check_target(target: Target) -> None:
    """Check a target on small stacks of layers, of which every plan can be tried.

    It adds constraints and changes nothing else. What it writes says where it came from, and is read back as the plan
    that it was; files that are missing or garbage are a UsageError.
    """
    _law(isinstance(target, Target), f"{target!r} lacks a part of the contract Target")
    _attributes(target)
    for broken in broken_target_laws(target):
        _law(False, f"target {target.name}: {broken}")


def check_executor(executor: Executor) -> None:
    """Check an executor by starting processes with it, two of them at once; it is not closed.

    Messages arrive whole and in order; what a process prints is none; its end is told of, with a reason, after all that
    it had sent; ending one process leaves the others alone.
    """
    _law(isinstance(executor, Executor), f"{executor!r} lacks a part of the contract Executor")
    _attributes(executor)
    words = (executor.name, *executor.schemes)
    _law(all(re.fullmatch(r"[a-z][a-z0-9+.-]*", word) for word in words), f"schemes {words}: words before a colon")
    for broken in broken_executor_laws(executor):
        _law(False, f"executor {executor.name}: {broken}")


def _of_all(name: str) -> tuple[float | None, bool]:
    """Return the optimum of the small problem *name*, which is known."""
    return optimum(name), True


def _check_solving(
    asked: Any,
    method: Callable[[], Method],
    best_of: Callable[[str], tuple[float | None, bool]] = _of_all,
    every: int = 1,
    every_claim: int = 1,
) -> dict[str, Result]:
    """Solve the small problems that are accepted, check the answers, and return them by the names of the problems.

    Of *every* so many one is solved, and of *every_claim* so many of those of claims, from a place on that follows from
    the method's name, so that methods differ. *best_of* returns the optimum of a problem, and whether it is known.
    """
    results: dict[str, Result] = {}
    chosen: dict[str, Problem] = {}
    for problems, step in ((_accepted(asked), every), (claimed(asked.accepts), every_claim)):
        first = crc32(asked.name.encode()) % max(1, min(step, len(problems)))  # of few one is solved all the same
        chosen.update(islice(problems.items(), first, None, step))
    for name, problem in chosen.items():
        best, known = best_of(name)
        try:
            result = method().solve(problem, fresh_limits(), Progress())
        except PluginError as error:
            raise AssertionError(f"{name}: {error}") from error
        _check_answer(name, problem, result, best, known=known)
        if len(results) % AGAIN == 0 and result.termination != "time_limit":
            again = method().solve(problem, fresh_limits(), Progress())
            same = _answer(result) == _answer(again)
            _law(same or again.termination == "time_limit", f"{name}: two runs with one seed, two answers")
        results[name] = result
    _law(bool(results), "refuses every sample problem, so that nothing could be checked")
    return results


def _accepted(asked: Any) -> dict[str, Problem]:
    """Return the small problems that are accepted, and whose answers can be verified."""
    accepted = {}
    bounds_only = getattr(asked, "gives", "") == "bound" or getattr(asked, "role", "") == "relaxation"
    for name, problem in small().items():
        reason = asked.accepts(problem)
        _law(reason is None or (isinstance(reason, str) and bool(reason.strip())), f"{name}: accepts gave {reason!r}")
        if reason is None and verifiable(problem):
            accepted[name] = problem
        elif reason is None:
            _law(bounds_only and name in MORE_THAN_VERIFIED, f"{name}: accepted, and nothing can verify an answer")
    return accepted


def _check_answer(name: str, problem: Problem, result: Result, best: float | None, *, known: bool) -> None:
    _law(isinstance(result, Result), f"{name}: returned a {type(result).__name__}, not a Result")
    _law(result.termination in set(get_args(Termination)) - {"running"}, f"{name}: termination {result.termination!r}")
    broken = [] if result.plan is None else verify(problem, result.plan)
    _law(not broken, f"{name}: the plan is infeasible: {'; '.join(map(str, broken))}")
    try:
        check_result(problem, result)
    except VerificationError as error:
        raise AssertionError(f"{name}: {error}") from error
    if not known:
        return
    if best is None:
        _law(result.status in ("infeasible", "unknown", "bound"), f"{name}: no plan exists; status {result.status!r}")
        return
    _law(result.infeasibility is None, f"{name}: called infeasible, and a plan of cost {best} exists")
    _law(result.status in ("optimal", "feasible", "bound", "unknown"), f"{name}: status {result.status!r}")
    bounds = [entry.bound for entry in result.log] + ([result.bound.cost] if result.bound is not None else [])
    for bound in bounds:
        _law(
            bound is None or bound <= best * (1 + TOLERANCE),
            f"{name}: the bound {bound!r} is above the optimum {best!r}",
        )


def _check_limits(method: Method, seconds: float, *, adds: bool = False) -> None:
    """Check that a method stops when it was asked to before it began, and when its time is up.

    Where it *adds* to what is asked there need be no plan.
    """
    for problem in (large(), large_schedule()):
        for what, limits, progress in _endings(seconds) if method.accepts(problem) is None else ():
            began = _clock()
            result = method.solve(problem, limits, progress)
            took = _clock() - began
            _law(took <= PROMPT, f"{what}: came back after {took:.1f} s")
            _law(result.plan is None or not verify(problem, result.plan), f"{what}: the plan is infeasible")
            check_result(problem, result)
            _law(adds or result.status != "infeasible", f"{what}: called infeasible; all on one device is a plan")


def _clock() -> float:
    """Return seconds that no code was compiled in: no limit pays for that (see :mod:`mtpp_dsl.core.base.compiling`)."""
    return monotonic() - PREPARING.seconds


def _endings(seconds: float = 1.0) -> Iterator[tuple[str, Limits, Progress]]:
    """Yield two ways in which a search is ended: stopped before it began, and by its limit of so many *seconds*."""
    progress = Progress()
    progress.stop()
    yield "stopped before it began", fresh_limits(), progress
    yield f"given {seconds:g} s", Limits(time=seconds), Progress()


def _check_outcome(
    name: str, outcome: Outcome, bounds: list[float | None], formulation: Formulation, model: Any
) -> None:
    best, problem = optimum(name), sample(name)
    _law(isinstance(outcome, Outcome), f"{name}: returned a {type(outcome).__name__}, not an Outcome")
    if best is None:
        _law(outcome.objective is None, f"{name}: infeasible, and there is an incumbent {outcome.objective}")
        _law(outcome.termination == "infeasible", f"{name}: infeasible, and it says {outcome.termination!r}")
        return
    scale = model_traits(model).cost_scale
    slack = TOLERANCE * max(best, scale)  # a solver's own: the caller takes it off before a bound is shown
    _law(outcome.termination in ("gap", "complete"), f"{name}: solved, and it says {outcome.termination!r}")
    for bound in (outcome.bound, *bounds):
        _law(bound is None or bound * scale <= best + slack, f"{name}: the bound {bound} x {scale} is above {best!r}")
    plan = formulation.extract(problem, model)
    broken = verify(problem, plan)
    _law(not broken, f"{name}: the values in the model are no plan: {'; '.join(map(str, broken))}")
    cost = cost_of(problem, plan)
    _law(cost <= best + 100 * slack, f"{name}: the values cost {cost!r}, the optimum is {best!r}")
    objective = None if outcome.objective is None else outcome.objective * scale
    _law(
        objective is not None and abs(objective - cost) <= 100 * slack,
        f"{name}: the objective is {objective}, the values cost {cost}",
    )


def _check_backend_limits(backend: Backend, formulation: Formulation) -> None:
    def refusal(limits: Limits) -> Exception | None:
        return _error(lambda: backend.solve(formulation.build(small()["chain"]), limits, Progress(), _ignore))

    error = refusal(fresh_limits(solver_options={"no_such_option": 1}))
    _law(isinstance(error, MtppError), f"an unknown option must be an error of ours, not {error!r}")
    for feature, limits in (("threads", Limits(threads=2)), ("time_limit", Limits(time=60.0))):
        if feature not in backend.features:
            error = refusal(limits)
            _law(isinstance(error, Refused), f"without the feature {feature} it must refuse, not {error!r}")
    for what, limits, progress in _endings():
        model = formulation.build(large())
        began = _clock()
        try:
            outcome = backend.solve(model, limits, progress, _ignore)
        except SolverError as error:
            _law(bool(backend.available().note), f"{what}: {error}; available() notes no limit of size or licence")
            return
        took = _clock() - began
        _law(took <= PROMPT, f"{what}: came back after {took:.1f} s")
        _law(outcome.termination != "infeasible", f"{what}: called infeasible; everything on one device is a plan")


def _attributes(plugin: Any, *, summary: bool = True) -> None:
    name = getattr(plugin, "name", None)
    _law(isinstance(name, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is not None, f"name is {name!r}")
    if summary:
        text = getattr(plugin, "summary", None)
        _law(
            isinstance(text, str) and text == text.strip() != "" and "\n" not in text, f"summary is {text!r}: one line"
        )


def _answer(result: Result) -> tuple[object, ...]:
    plan = None if result.plan is None else tuple(result.plan.assignment.tolist())
    return plan, result.cost, None if result.bound is None else result.bound.cost, result.status


def _equal(one: Graph, other: Graph) -> bool:
    columns = ("tails", "heads", "work", "params", "output", "memory", "sizes", "colors", "backward")
    return (one.names, one.kinds, one.labels) == (other.names, other.kinds, other.labels) and all(
        getattr(one, column).tolist() == getattr(other, column).tolist() for column in columns
    )


def _error(action: Callable[[], object]) -> Exception | None:
    try:
        action()
    except Exception as error:
        return error
    return None


def _ignore(incumbent: float | None, bound: float | None) -> None:
    pass


def _law(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
