"""The configuration bound of pipelines: its search against enumeration, its bounds against the optimum."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mtpp_dsl.core import registry
from mtpp_dsl.core.constraints import Acyclic, Memory
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Bools, Graph, Ints
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.generators.basic import regal
from mtpp_dsl.solvers.bounds.configuration.heavier import Heavier, heavy_convex
from mtpp_dsl.solvers.bounds.configuration.ordered_pricing_loop import PricingAttempt
from mtpp_dsl.solvers.bounds.configuration.ordered_sets import ConvexPool, Ordered, PositionRange, Units
from mtpp_dsl.solvers.bounds.configuration.pipeline_targets import is_pipeline
from mtpp_dsl.solvers.bounds.partition.bound_instance import bound_instance
from mtpp_dsl.solvers.methods.bounds import Configuration
from tests.oracle import optimum

FEW = st.integers(0, 3).map(float)  # ties are where proofs go wrong
WEIGHTS = st.one_of(FEW, FEW, st.floats(0, 10, width=32), st.sampled_from([0.0, 1e6]))


@st.composite
def pipelines(draw: st.DrawFn, most: int = 6) -> Problem:
    """Draw equal devices in an order, with hard memory, streams or neither, zero costs, huge tensors, no edges."""
    n, k = draw(st.integers(1, most)), draw(st.integers(2, 4))
    column = st.lists(draw(st.sampled_from([FEW, WEIGHTS])), min_size=n, max_size=n)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    graph = Graph.create(
        [f"v{v}" for v in range(n)],
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        work=draw(column),
        output=draw(column),
        params=draw(column),
    )
    rule = draw(st.sampled_from(["none", "memory", "streams"]))
    room = None if rule == "none" else float(graph.memory.sum()) * draw(st.sampled_from([0.4, 0.5, 0.7]))
    devices = [Device(f"d{d}", memory=room) for d in range(k)]
    rules = [Acyclic(), Memory()] if rule == "memory" else [Acyclic()]
    return Problem.create(graph, devices, Shared(1.0, overflow=rule == "streams"), constraints=rules)


def never() -> bool:
    return False


def silent(message: str) -> None:
    del message


def solved(problem: Problem, seconds: float = 10.0, known: float | None = None) -> Result:
    progress = Progress()
    if known is not None:
        progress.report_cost(known)
    return Configuration().solve(problem, Limits(time=seconds), progress)


def possible(ordered: Ordered, units: Units, place: PositionRange, held: Bools) -> bool:
    """Whether a set is below the target, convex, and may stand at a place: by the definition."""
    load = int(units.work[held].sum()) + max(int(units.extra[held].sum()) - units.free, 0)
    for e, cost in enumerate(units.cost.tolist()):
        inside = held[ordered.pins[ordered.starts[e] : ordered.starts[e + 1]]]
        load += cost if inside.any() and not inside.all() else 0
    before = ordered.reach[:, held].any(axis=1) & ~held
    after = ordered.reach[held].any(axis=0) & ~held
    if load > units.capacity or (before & after).any() or units.memory[held].sum() > units.room:
        return False
    if place.end == 1 or place.start == place.k:
        return not (before if place.end == 1 else after).any()
    share = units.capacity + 1
    early, late = (place.end - 1) * share, (place.k - place.start) * share
    return bool(units.work[before].sum() <= early and units.work[after].sum() <= late)


def heaviest(ordered: Ordered, units: Units, place: PositionRange, weights: Ints) -> int:
    n, best = ordered.instance.n, 0
    for size in range(1, n + 1):
        for chosen in combinations(range(n), size):
            held = np.zeros(n, np.bool_)
            held[list(chosen)] = True
            weight = int(weights[held].sum())
            if weight > best and possible(ordered, units, place, held):
                best = weight
    return best


@settings(max_examples=60, deadline=None)
@given(pipelines(), st.data())
def test_the_search_finds_the_heaviest_set(problem: Problem, data: st.DataObject) -> None:
    """At every place the exact search ends with the heaviest set there is, and the heuristic finds none heavier."""
    instance = bound_instance(problem)
    assume(np.isfinite(instance.time).all() and instance.time.sum() > 0)
    total = float(instance.time.sum())
    target = data.draw(st.sampled_from([0.3, 0.5, 0.9])) * total + data.draw(FEW)
    ordered, k = Ordered(instance), problem.k
    units = Units(ordered, target)
    weights = (
        np.array(data.draw(st.lists(st.integers(0, 3), min_size=instance.n, max_size=instance.n)), np.int64) * 1000
    )
    start = data.draw(st.integers(1, k))
    place = PositionRange(start, data.draw(st.integers(start, k)), k)
    best = heaviest(ordered, units, place, weights)
    for than, finds in ((best, False), (best - 1, True)):
        if than >= 0:
            search = Heavier(ordered, units, place, silent)
            search.begin(weights, than)
            complete, sets = search.run(10**6, 10.0, never)
            assert complete
            assert search.most == best
            assert bool(sets) is finds
            assert all(possible(ordered, units, place, held) for held in sets)
    grown, _ = heavy_convex(
        ordered, units, place, weights, np.zeros((4, instance.n), np.bool_), repeats=3, seed=1, say=silent
    )
    assert all(possible(ordered, units, place, held) for held in grown)


@settings(max_examples=40, deadline=None)
@given(pipelines())
def test_the_pool_knows_where_sets_may_stand(problem: Problem) -> None:
    """Sets stand where the definition lets them."""
    instance = bound_instance(problem)
    assume(np.isfinite(instance.time).all() and instance.time.sum() > 0)
    ordered, k = Ordered(instance), problem.k
    units, pool = Units(ordered, float(instance.time.sum()) * 0.6), ConvexPool(ordered)
    places = [PositionRange(i, i, k) for i in range(1, k + 1)] + [PositionRange(1, k, k)]
    for number in range(1, min(2**instance.n, 20)):
        pool.add(np.array([number >> v & 1 for v in range(instance.n)], np.bool_))
    stands = pool.standing(units, places, 0)
    for held, row in zip(pool.table, stands.tolist(), strict=True):
        assert row == [possible(ordered, units, place, held) for place in places]


@settings(max_examples=60, deadline=None)
@given(pipelines(most=5), st.booleans())
def test_bounds_are_not_above_the_optimum(problem: Problem, told: bool) -> None:
    """No bound is above the optimum, also where a search aims at it; the certificate is proved again by other code."""
    best = optimum(problem)
    assume(best is not None)
    result = solved(problem, known=best if told else None)
    assert best is not None
    assert result.bound is not None
    assert result.bound.cost <= best * (1 + 1e-9)
    certificate = result.bound.certificate
    if certificate is not None and certificate.kind == "chain":
        proved = registry.load(registry.PROOFS, "chain")().prove(problem, certificate.data, Limits(time=60.0))
        assert proved >= result.bound.cost * (1 - 1e-9)


@settings(max_examples=60, deadline=None)
@given(pipelines(most=5), st.sampled_from([1.0 + 1e-7, 1.01, 1.5]), st.integers(1, 4))
def test_no_target_above_the_optimum_is_proved(problem: Problem, factor: float, many: int) -> None:
    """An attempt at a false target ends without a proof, with places of their own and with all as one."""
    best, instance = optimum(problem), bound_instance(problem)
    assume(best is not None and best > 0)
    assert best is not None
    ordered, k = Ordered(instance), problem.k
    cuts = np.unique(np.linspace(1, k + 1, many + 1).astype(int)).tolist()
    places = [PositionRange(a, b - 1, k) for a, b in pairwise(cuts)]
    attempt = PricingAttempt(ordered, ConvexPool(ordered), places, best * factor, stopped=never, say=silent, seed=0)
    assert attempt.run(10.0) == "out of reach"
    assert attempt.proof is None


def test_whole_numbers_prove_the_optimum_itself() -> None:
    """Where loads are small whole numbers nothing is rounded, and the optimum is reached, not approached."""
    graph = Graph.create(["a", "b", "c", "d"], [(0, 1), (1, 2), (2, 3)], work=[3, 3, 3, 3], output=2.0)
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
    assert is_pipeline(problem, bound_instance(problem))
    result = solved(problem, known=8.0)
    assert result.bound is not None
    assert result.bound.cost == 8.0
    assert result.bound.proof == "checked"
    assert result.termination == "gap"


@pytest.mark.parametrize("most", [3e4, 3e6, 3e12])
def test_streams_far_above_the_target_prove_nothing_false(most: float) -> None:
    """Memories that take a million bottlenecks to fill, or more: what is free is never counted as less than it is."""
    graph = Graph.create(list("abc"), [], work=[2, 0, 2], params=[most, most / 3, most])
    devices = [Device(f"d{d}", memory=most) for d in range(4)]
    problem = Problem.create(graph, devices, Shared(0.01, overflow=True), constraints=[Acyclic()])
    bound = solved(problem).bound
    assert bound is not None
    assert optimum(problem) == bound.cost == 2.0


def test_places_see_what_convex_sets_alone_do_not() -> None:
    """Between two heavy ends a light middle is no first block: with places the bound is higher than without."""
    graph = Graph.create(list("abc"), [(0, 1), (1, 2)], work=[1, 1, 1], output=[1, 1, 0])
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
    ordered = Ordered(bound_instance(problem))
    thetas = []
    for places in ([PositionRange(1, 2, 2)], [PositionRange(1, 1, 2), PositionRange(2, 2, 2)]):
        attempt = PricingAttempt(ordered, ConvexPool(ordered), places, 3.0, stopped=never, say=silent, seed=0)
        attempt.run(5.0)
        thetas.append(attempt.theta)
    assert optimum(problem) == 3.0
    assert thetas[1] >= thetas[0] - 1e-9
    assert thetas[1] > 1


def test_weights_that_sets_known_do_not_refute_are_settled() -> None:
    """Where the programme values one place at nothing, as on this star, the search ends long before its time."""
    graph = Graph.create(list("abcd"), [(2, 0), (2, 1), (2, 3)], work=[1, 1, 1 / 3, 1], output=[0, 1, 0, 1])
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Shared(1.0), constraints=[Acyclic()])
    best = optimum(problem)
    assert best == 2.0
    result = solved(problem)
    assert result.termination == "complete"
    assert result.bound is not None
    assert best * (1 - 1e-3) <= result.bound.cost <= best * (1 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("k", "share"), [(2, 0.93), (8, 0.9)])
def test_bounds_of_random_graphs_are_near(k: int, share: float) -> None:
    """On a look-alike of REGAL with 40 nodes the bound is near the best plan in seconds, by compiled code."""
    graph = regal(nodes=40, model="ws", reading="own-memory", seed=1)
    problem = Problem.create(graph, [Device(f"d{d}") for d in range(k)], Shared(1.0), constraints=[Acyclic()])
    search = registry.load(registry.METHODS, "slicegraph")().solve(problem, Limits(time=5.0), Progress())
    result = Configuration().solve(problem, Limits(time=60.0, start=search.plan, gap=1 - share), Progress())
    assert result.bound is not None
    assert search.cost is not None
    assert share * search.cost <= result.bound.cost <= search.cost * (1 + 1e-9)


def test_an_interrupt_keeps_what_is_proved() -> None:
    """Stopped at once, the method returns the best bound so far."""
    problem = Problem.create(
        regal(nodes=30, model="er", seed=2), [Device(f"d{d}") for d in range(4)], Shared(1.0), constraints=[Acyclic()]
    )
    progress = Progress()
    progress.stop()
    result = Configuration().solve(problem, Limits(time=30.0), progress)
    assert result.termination == "interrupted"
    assert result.bound is not None
