"""A new objective or interconnect is refused by every method, without a change to any of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.constraints import Constraint, Pin
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.scopes import EVERY, Scope
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BUILTIN, PROOFS, load
from mtpp_dsl.models.formulations.exact import Exact
from mtpp_dsl.models.formulations.moirai import Moirai
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse
from mtpp_dsl.solving.api import find_method, method_names
from mtpp_dsl.solving.plugins.samples import small

KNOWING_NOTHING = ("single-device", "expert")
"""Methods that return one plan, whatever is asked, or the one that they were given."""


class Traffic(Objective):
    """The largest of something that is no load."""

    @property
    def quantity(self) -> Any:
        return "traffic"


@dataclass(frozen=True)
class Multicast:
    """A channel on which reading costs nothing."""

    bandwidth: float
    overflow: bool = False
    between: float | None = None
    keyword: ClassVar[str] = "multicast"


@dataclass(frozen=True, kw_only=True)
class Cheaper(Constraint):
    """A constraint that allows plans that a problem without it does not have."""

    enlarges: ClassVar[bool] = True


def unheard_of(name: str, what: str) -> Problem:
    """Return a small problem with an objective, or an interconnect, that is new."""
    problem = small()[name]
    if what == "objective":
        return replace(problem, objective=Traffic("bottleneck"))
    interconnect: Any = Multicast(1.0)
    return replace(problem, interconnect=interconnect)


@pytest.mark.parametrize("what", ["objective", "interconnect"])
@pytest.mark.parametrize("method", [name for name in method_names() if name not in KNOWING_NOTHING])
def test_every_method_refuses_it(method: str, what: str) -> None:
    """What a method does not list it refuses, in a sentence that names it."""
    for name in ("diamond", "anything goes", "training"):
        reason = find_method(method).accepts(unheard_of(name, what))
        assert reason is not None, f"{method} accepts {name}"


@pytest.mark.parametrize("what", ["objective", "interconnect"])
def test_reductions_and_checkers_refuse_it(what: str) -> None:
    """No reduction is put on it, and no certificate proves a bound for it."""
    problem = unheard_of("diamond", what)
    assert Contract().accepts(problem) is not None
    assert Fuse().accepts(problem) is not None
    for kind in ("shares", "cuts", "configuration", "count"):
        assert kind in BUILTIN[PROOFS]
        with pytest.raises(Refused, match="certificates are about loads on shared and host interconnects"):
            load(PROOFS, kind)().prove(problem, {}, Limits())


@pytest.mark.parametrize("method", list(method_names()))
def test_every_method_refuses_a_constraint_that_enlarges(method: str) -> None:
    """A bound that leaves it out may be above the optimum, so that "every constraint" does not stand for it."""
    for name in ("diamond", "anything goes", "training", "latency", "makespan", "batch throughput", "links"):
        problem = small()[name]
        reason = find_method(method).accepts(problem.with_constraints([*problem.constraints, Cheaper()]))
        assert reason is not None, f"{method} accepts {name}"


def test_what_needs_no_scope_refuses_a_constraint_that_enlarges() -> None:
    """Reductions, proofs, and what shows by counting that there is no plan."""
    problem = small()["diamond"]
    larger = problem.with_constraints([*problem.constraints, Cheaper()])
    assert Contract().accepts(larger) is not None
    assert Fuse().accepts(larger) is not None
    for kind in BUILTIN[PROOFS]:
        with pytest.raises(Refused):
            load(PROOFS, kind)().prove(larger, {}, Limits())
    impossible = problem.with_constraints([Pin(nodes=(0,), devices=(0,)), Pin(nodes=(0,), devices=(1,))])
    assert quick(impossible) is not None
    assert quick(impossible.with_constraints([*impossible.constraints, Cheaper()])) is None


@pytest.mark.parametrize(("form", "name"), [(Exact, "diamond"), (Moirai, "makespan")])
def test_a_cost_of_a_new_kind_tells_nothing_of_loads_and_times(form: Any, name: str) -> None:
    """A start may cost less than any load; what follows for loads would leave no plan."""
    new = unheard_of(name, "objective")
    cheap, unknown = (form(cost).build(new) for cost in (1e-3, None))
    assert cheap.nvariables() == unknown.nvariables()
    assert cheap.cost_scale == unknown.cost_scale


def test_every_covers_what_takes_plans_away() -> None:
    """Neither a list of every kind nor a base class stands for a kind that allows more, unless it is named."""
    scope = Scope(objectives=("bottleneck",), interconnects=("shared",), constraints=EVERY)
    assert scope.keeps(Pin)
    assert not scope.keeps(Cheaper)
    assert replace(scope, constraints=(*EVERY, Cheaper)).keeps(Cheaper)
