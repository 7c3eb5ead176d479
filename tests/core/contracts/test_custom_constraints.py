"""Constraints of plug-ins: verified whoever found the plan, kept by models, refused where they would be lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, BreakSymmetry, Pin
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import refusal, why_not
from mtpp_dsl.core.contracts.scopes import Scope, Scoped
from mtpp_dsl.core.contracts.traits import MethodBase, method_traits
from mtpp_dsl.core.errors import ConstraintError, PluginError, Refused
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.solvers.methods.mip.mip_method import MipMethod
from mtpp_dsl.solvers.reductions.clusters import quotient
from mtpp_dsl.solving.api import find_method, method_names, solve
from mtpp_dsl.solving.plugins.samples import small, verifiable
from mtpp_dsl.solving.testing import check_constraint
from tests.customs import Few, OfType, Quiet, Remainders, Spread, Unruled
from tests.latency_cases import latency_problem
from tests.makespans import makespan_problem

KEEPING = ("exact", "fig3", "moirai", "batched", "latency")
VERIFIED = [name for name, problem in small().items() if verifiable(problem)]


def under(problem: Problem, *custom: CustomConstraint) -> Problem:
    """Return *problem* with constraints of plug-ins beside its own."""
    return problem.with_constraints([*problem.constraints, *custom])


def best_of(problem: Problem) -> float | None:
    """Return the least cost of a plan, by trying everything; None if there is none."""
    return min((cost_of(problem, plan) for plan in plans(problem)), default=None)


def keepers(problem: Problem) -> list[str]:
    """Return the formulations that give plans and accept *problem*."""
    return [name for name in KEEPING if refusal(find_method(name), problem) is None]


def answers(problem: Problem, method: str, best: float | None, start: Plan | None = None) -> Result:
    """Solve, and hold the answer against the optimum."""
    result = solve(problem, method, time_limit=60, threads=1, start=start)
    if best is None:
        assert result.status == "infeasible"
        return result
    assert result.plan is not None
    assert not verify(problem, result.plan)
    assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert result.status == "optimal"
    return result


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", [name for i, name in enumerate(VERIFIED) if i % 3 == 0])
@pytest.mark.parametrize("custom", [Remainders(at_most=1), Remainders(at_most=2), Unruled(at_most=1)], ids=str)
def test_models_find_the_optimum_under_it(name: str, custom: CustomConstraint) -> None:
    """Rows with binaries of their own, over nodes that a model has merged or not: the optimum is that of all plans."""
    problem = under(small()[name], custom)
    best, found = best_of(problem), keepers(problem)
    for method in found:
        answers(problem, method, best)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["diamond", "chain", "host", "training", "makespan", "latency", "anything goes"])
def test_cut_is_exact(name: str) -> None:
    """``cut(u, d)`` is 1 or 0 whatever pushes it, also for tensors that cost nothing and devices that pay nothing."""
    for most in (0, 1):
        problem = under(small()[name], Few(at_most=most))
        for method in keepers(problem):
            answers(problem, method, best_of(problem))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", ["diamond", "host", "overflow", "training", "makespan", "batch throughput"])
def test_load_is_exact_where_rows_push_it_up(name: str) -> None:
    """``load(d) >= 3`` is no reason to call a load higher than it is."""
    free = small()[name]
    most = max(float(evaluate(free, plan).load.min()) for plan in plans(free)) if free.objective.batch is None else 2.0
    for least in (0.5 * most, most):
        problem = under(free, Spread(least=least))
        for method in keepers(problem):
            answers(problem, method, best_of(problem))


@pytest.mark.parametrize("seed", range(2000, 2016))
def test_random_problems(seed: int) -> None:
    """On some devices and some nodes, with a start or without: the optimum of all plans."""
    random = np.random.default_rng(seed)
    problem = makespan_problem(seed, 4, 3) if seed % 2 else latency_problem(seed, 4)
    n, k = problem.graph.n, problem.k
    nodes = None if random.random() < 0.5 else tuple(sorted(random.choice(n, max(1, n - 1), replace=False).tolist()))
    devices = None if random.random() < 0.5 else (int(random.integers(k)),)
    custom = (Remainders if random.random() < 0.5 else Unruled)(nodes=nodes, devices=devices, at_most=1)
    problem = under(problem, custom)
    given = next(plans(problem), None) if random.random() < 0.5 else None
    for method in keepers(problem):
        answers(problem, method, best_of(problem), given)


def test_fixed_placements_are_verified_by_its_own_check() -> None:
    """A plan is checked whoever found it; so is one of a batch, and one given as JSON."""
    problem = under(small()["diamond"], Remainders(at_most=1, origin="x.mtpp:3"))
    broken = verify(problem, Plan.create(problem, [0] * problem.graph.n))
    assert "remainders (x.mtpp:3): " in str(broken[0])
    batch = under(small()["batch throughput"], Remainders(at_most=1))
    free = next(plans(small()["batch throughput"]))
    assert any(str(found).startswith("remainders: ") for found in verify(batch, free))


METHODS = sorted(method_names())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_it_or_refuses(method: str) -> None:
    """No method gives a plan that may break it; bounds that are dropped from it stay bounds."""
    chosen = find_method(method)
    for name in VERIFIED[::2]:
        problem = under(small()[name], Unruled(at_most=1))
        if method_traits(chosen).needs_start or refusal(chosen, problem) is not None:
            continue
        assert "plan" not in chosen.gives or method in (*KEEPING, "auto"), f"{method} accepts {name}"
        if "plan" not in chosen.gives:
            result = solve(problem, chosen, time_limit=20)
            best = best_of(problem)
            assert result.plan is None
            assert result.bound is None or best is None or result.bound.cost <= best * (1 + 1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("types", ["AB", "BA"])
@pytest.mark.parametrize("objective", ["bottleneck", "makespan"])
@pytest.mark.parametrize("nodes", [(0,), (1, 2), (0, 2)])
def test_devices_of_different_types_are_not_swapped(types: str, objective: str, nodes: tuple[int, ...]) -> None:
    """A constraint may read the type of a device, on which no time depends: devices that differ in it are not equal."""
    graph = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=[3.0, 2.0, 1.0], output=1.0)
    devices = [Device(name, type=kind) for name, kind in zip("xy", types, strict=True)]
    fast = np.where(np.eye(2, dtype=np.bool_), 0.0, 10.0)
    channel = Shared(10.0) if objective == "bottleneck" else Links(fast, np.zeros((2, 2)))
    rules = [OfType(nodes=nodes), BreakSymmetry(by="tasks")] if objective == "makespan" else [OfType(nodes=nodes)]
    problem = Problem.create(graph, devices, channel, Objective(objective), rules)
    for method in ("exact" if objective == "bottleneck" else "moirai", "auto"):
        result = solve(problem, method, time_limit=60)
        assert result.status == "optimal"
        assert result.cost == pytest.approx(best_of(problem.with_constraints(rules[:1])), rel=1e-6)


def test_a_method_may_list_a_constraint_of_a_plug_in() -> None:
    """A scope that names a plug-in's constraint accepts it, and no other."""

    class Keeps(Scoped, MethodBase):
        name, gives, summary = "keeps", "plan", "keeps one"
        scopes = (Scope(objectives=("bottleneck",), interconnects=("shared",), constraints=(Remainders,)),)

        def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
            raise NotImplementedError

    problem = small()["diamond"].with_constraints([])
    assert refusal(Keeps(), problem.with_constraints([Remainders()])) is None
    assert "does not support constraint unruled" in str(refusal(Keeps(), problem.with_constraints([Unruled()])))


@pytest.mark.parametrize("solver", ["cp-sat"])
@pytest.mark.parametrize("form", ["moirai", "batched"])
def test_engines_with_models_of_their_own_refuse(form: str, solver: str) -> None:
    """A model that takes no rows of Pyomo would lose the constraint."""
    problem = under(small()["makespan" if form == "moirai" else "batch throughput"], Remainders())
    with pytest.raises(Refused, match=r"does not support constraint remainders, which is a plug-in's; .*can"):
        solve(problem, form, solver=solver)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["diamond", "training", "host", "anything goes", "makespan", "latency", "together"])
def test_auto(name: str) -> None:
    """By default a problem with such a constraint is solved by the models that keep it."""
    problem = under(small()[name], Remainders(at_most=1), Few(at_most=3))
    answers(problem, "auto", best_of(problem))


def test_auto_of_a_batch() -> None:
    """The same of a batch, whose models have no cuts."""
    problem = under(small()["batch throughput"], Remainders(at_most=1))
    answers(problem, "auto", best_of(problem))
    with pytest.raises(Refused, match=r"batched has no cut\(u, d\), which the rows of constraint few_cuts ask for"):
        solve(under(problem, Few()), "batched")


def test_a_method_that_does_not_say_that_it_keeps_it_is_not_asked() -> None:
    """Somebody's method or formulation that accepts everything is refused, unless it gives bounds alone."""

    class Careless:
        name, gives, summary = "careless", "plan", "everything on the first device"

        def accepts(self, _: Problem) -> None:
            return None

        def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
            raise AssertionError("asked")

    problem = under(small()["diamond"], Remainders(origin="x.mtpp:3"))
    with pytest.raises(
        Refused, match=r"careless does not support constraint remainders \(x.mtpp:3\), which is a plug-"
    ):
        solve(problem, Careless())  # type: ignore[arg-type]
    own: Any = type("Own", (Exact,), {"scopes": (), "name": "own", "beyond": lambda *_: None})()
    assert "own does not support constraint remainders" in str(why_not(MipMethod(own, "highs"), problem))


def test_a_derived_formulation_keeps_it() -> None:
    """What is derived from a built-in formulation adds its own rows to those of the constraint."""

    class Capped(Exact):
        name, symmetric, adds = "capped", True, "at most two nodes on a device"

        def build(self, problem: Problem) -> Any:
            model = super().build(problem)
            nodes = range(problem.graph.n)
            model.cap = pyo.Constraint(model.D, rule=lambda m, d: sum(m.on(v, d) for v in nodes) <= 2)
            return model

    problem = under(small()["three devices"], Remainders(at_most=2))
    result = solve(problem, MipMethod(Capped(), "highs"), time_limit=60, threads=1)
    best = min(cost_of(problem, p) for p in plans(problem) if np.bincount(p.assignment).max() <= 2)
    assert result.cost == pytest.approx(best)


def test_no_plan() -> None:
    """The constraint is named among those that clash, with its own place."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0)
    rules = [Remainders(at_most=1, origin="x.mtpp:7"), Pin(nodes=(0, 1), devices=(0,), origin="x.mtpp:8"), Acyclic()]
    problem = Problem.create(graph, [Device("d"), Device("e")], Shared(1.0), constraints=rules)
    for method in ("exact", "auto"):
        found = solve(problem, method, threads=1).infeasibility
        assert found is not None
        assert set(found.clash) == {"remainders (x.mtpp:7)", "pin (x.mtpp:8)"}
        assert found.minimal


def test_devices_are_told_apart_unless_it_says_otherwise() -> None:
    """Only of a constraint that says that it is symmetric can equal devices, on which it is or is not, be swapped."""
    graph = Graph.create(["a", "b"], [(0, 1)], work=1.0)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(3)], Shared(1.0))
    assert interchangeable(under(problem, Remainders())) == [(0, 1, 2)]
    assert interchangeable(under(problem, Remainders(devices=(0, 1)))) == [(0, 1), (2,)]
    assert interchangeable(under(problem, Unruled())) == [(0,), (1,), (2,)]


def test_one_without_rows() -> None:
    """It is verified, and no model takes it; nothing can solve the problem, and what is said is why."""
    problem = under(small()["diamond"], Quiet())
    with pytest.raises(Refused, match="constraint quiet can be verified, but has no rows for a model"):
        solve(problem, "exact")
    with pytest.raises(Refused, match="constraint quiet can be verified, but has no rows"):
        solve(problem)


def test_clusters_do_not_take_it() -> None:
    """No reduction puts it on nodes other than those it speaks of."""
    problem = under(small()["diamond"], Remainders())
    with pytest.raises(Refused, match="constraint remainders is a plug-in's"):
        quotient(problem, np.zeros(problem.graph.n, np.int64), np.array([0]), [], np.zeros(1))


def broken(**body: Any) -> CustomConstraint:
    """Return a constraint of a class with something wrong."""
    given = {"keyword": "broken", "violations": lambda *_: [], "rows": lambda *_: None, **body}
    kind: Any = dataclass(frozen=True, kw_only=True)(type("Broken", (CustomConstraint,), given))
    found: CustomConstraint = kind()
    return found


def quadratic(self: Any, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
    model.rows = pyo.Constraint(expr=on(0, 0) * on(1, 0) <= 0)


def objective(self: Any, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
    model.mine = pyo.Objective(expr=on(0, 0))


def undeclared(self: Any, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
    model.rows = pyo.Constraint(expr=load(0) <= 1)


def failing(*_: Any) -> None:
    raise ZeroDivisionError("no nodes")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"rows": quadratic}, "constraint broken adds .*, which is not linear"),
        ({"rows": objective}, "constraint broken adds an objective"),
        ({"rows": undeclared}, r"asks for load\(\): say so in its class, with uses = \('on', 'load'\)"),
        ({"rows": failing}, r"rows\(\) of constraint broken failed: ZeroDivisionError"),
        ({"uses": ("on", "start")}, "constraint broken uses 'start'; there are on, cut, load"),
        ({"violations": failing}, r"violations\(\) of constraint broken failed: ZeroDivisionError"),
        ({"violations": lambda *_: "wrong"}, r"violations\(\) of constraint broken returned 'wrong'"),
        ({"violations": lambda *_: None}, r"violations\(\) of constraint broken failed: TypeError"),
    ],
)
def test_a_constraint_that_breaks_its_contract(body: dict[str, Any], told: str) -> None:
    """What is wrong is said of the plug-in, by its keyword."""
    problem = under(small()["diamond"], broken(**body))
    with pytest.raises(PluginError, match=told):
        solve(problem, "exact", threads=1)


def test_rows_that_always_or_never_hold() -> None:
    """Rows that name no variable that is free are left out, or leave no plan."""

    def never(self: Any, problem: Problem, model: Any, on: Callable[..., Any], cut: Any, load: Any) -> None:
        model.rows = pyo.Constraint(expr=on(0, 0) - on(0, 0) >= 1)

    def always(self: Any, problem: Problem, model: Any, on: Callable[..., Any], cut: Any, load: Any) -> None:
        model.rows = pyo.Constraint(expr=on(0, 0) - on(0, 0) <= 1)

    free = small()["diamond"]
    assert solve(under(free, broken(rows=always)), "exact", threads=1).cost == pytest.approx(best_of(free))
    assert solve(under(free, broken(rows=never)), "exact", threads=1).status == "infeasible"


def test_rows_that_are_weaker_than_its_check() -> None:
    """A plan that the rows let pass, and the check does not, is never returned."""
    problem = under(small()["diamond"], broken(violations=lambda *_: ["never"]))
    result = solve(problem, "exact", threads=1)
    assert result.plan is None
    assert result.status == "bound"


def test_a_problem_in_which_it_means_nothing() -> None:
    """It may refuse a problem, which is then an error at its place."""
    graph = Graph.create(["a"], [])
    only = broken(refusal=lambda *_: "only for batches")
    with pytest.raises(ConstraintError, match="constraint broken: only for batches"):
        Problem.create(graph, [Device("d")], Shared(1.0), constraints=[only])


def test_no_plug_in_is_built_in() -> None:
    """The rules of the language are no plug-ins: the group is empty without any."""
    assert registry.BUILTIN[registry.CONSTRAINTS] == {}


@dataclass(frozen=True, kw_only=True)
class Strict(Remainders):
    """Rows that exclude plans which the check allows."""

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        super().rows(problem, model, on, cut, load)
        model.more = pyo.Constraint(expr=on(0, 0) <= 0)


@dataclass(frozen=True, kw_only=True)
class Weak(Remainders):
    """Rows that allow plans which the check excludes."""

    def rows(self, problem: Problem, model: Any, on: Any, cut: Any, load: Any) -> None:
        """Add nothing."""


@dataclass(frozen=True, kw_only=True)
class Partial(Remainders):
    """A constraint on the first device alone, which says that it is symmetric."""

    def chosen_devices(self, problem: Problem) -> range:
        return range(1)

    def violations(self, problem: Problem, plan: Plan) -> Any:
        return [message for message in super().violations(problem, plan) if message]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("custom", [Remainders(at_most=2), Unruled(), Few(), Spread(least=1.0)], ids=str)
def test_the_suite_of_laws(custom: CustomConstraint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public suite accepts what keeps the contract."""
    few = {name: small()[name] for name in ("diamond", "chain", "makespan", "latency", "batch throughput")}
    monkeypatch.setattr("mtpp_dsl.solving.plugins.laws.small", lambda: few)
    check_constraint(custom)


@pytest.mark.parametrize(
    ("custom", "told"),
    [
        (Strict(at_most=2), r"rows\(\) is stricter than violations\(\): exact proves"),
        (Weak(at_most=1), "exact does not find that there is no plan"),
        (Weak(at_most=1, nodes=(0, 1)), r"rows\(\) is weaker than violations\(\): exact finds no plan of cost"),
        (Quiet(), "no formulation accepts any of the small problems with it"),
        (Partial(at_most=1), "it says that it is symmetric, and swapping two equal devices breaks it"),
    ],
)
def test_the_suite_finds_what_is_wrong(custom: CustomConstraint, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each law that is broken is named."""
    few = {name: small()[name] for name in ("diamond", "chain", "host")}
    monkeypatch.setattr("mtpp_dsl.solving.plugins.laws.small", lambda: few)
    with pytest.raises(AssertionError, match=f"constraint {custom.keyword}: .*{told}"):
        check_constraint(custom)
