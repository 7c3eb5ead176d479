"""Makespans by parts: cut nodes, modules, chains of anchors, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise, product
from math import inf
from pathlib import Path

import numpy as np
import pytest

from mtpp_dsl.checks.verification import check_result
from mtpp_dsl.core.constraints import Colocate, Constraint, ExclusiveLinks, Memory, Separate
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.result import Bound
from mtpp_dsl.core.problem.devices import Device, Links
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.moirai import MoiraiFormat
from mtpp_dsl.solvers.algorithms.cut_nodes import NONE, CutModule, modules
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.sample_problem import lower
from mtpp_dsl.solvers.methods.cp_sat import Scheduling
from mtpp_dsl.solvers.methods.modules import ChainRelaxation, Decomposition
from mtpp_dsl.solvers.methods.schedules import BranchAndBound
from mtpp_dsl.solvers.schedule.decomposition.anchors import chain_of
from mtpp_dsl.solvers.schedule.decomposition.arrange import Arrangement, arrange, on_one_device, urgency
from mtpp_dsl.solvers.schedule.decomposition.beside import beside
from mtpp_dsl.solvers.schedule.decomposition.beside_bound import BesideBound, least_larger
from mtpp_dsl.solvers.schedule.decomposition.module_answers import grouped, path_bounds
from mtpp_dsl.solvers.schedule.decomposition.solve_modules import Settling, shortest
from mtpp_dsl.solvers.schedule.modules.canonical import canonical
from mtpp_dsl.solvers.schedule.modules.piece import ModulePiece, piece_of
from tests.amount import part
from tests.makespans import attention, best_of, hubbed, makespan_problem

MAKESPAN = Objective("makespan")


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPool]:
    with ProcessPool(1) as shared:
        yield shared


def random_graph(random: np.random.Generator, n: int, share: float) -> Graph:
    relabel = random.permutation(n)
    pairs = [(int(relabel[u]), int(relabel[v])) for u, v in combinations(range(n), 2) if random.random() < share]
    return Graph.create([f"v{v}" for v in range(n)], pairs)


def reaches(graph: Graph) -> np.ndarray:
    """Return [n, n] whether there is a path from one node to another."""
    found = np.zeros((graph.n, graph.n), bool)
    for v in graph.topological_order[::-1]:
        for w in graph.successors(v):
            found[v] |= found[w]
            found[v, w] = True
    return found


def modular(
    seed: int,
    count: int,
    width: int,
    k: int,
    *,
    same: bool = False,
    uneven: bool = False,
    rules: tuple[Constraint, ...] = (),
) -> Problem:
    """Return a chain of modules of some branches of one or two tasks each, like an inception network.

    Times are whole numbers, or *uneven*: without a common unit.
    """
    random = np.random.default_rng(seed)
    names, edges, times, last = ["in"], [], [random.integers(1, 9, k)], 0
    shared = [random.integers(1, 9, (2 * width + 1, k)), random.integers(0, 9, (64, k, k))]
    carry = []
    for _ in range(count):
        made = shared[0] if same else random.integers(1, 9, (2 * width + 1, k))
        first, out, pairs = len(names), len(names) + 2 * width, []
        for branch in range(width):
            a, b = first + 2 * branch, first + 2 * branch + 1
            pairs += [(last, a), (a, b), (b, out)]
        names += [f"v{v}" for v in range(first, out + 1)]
        times += list(made)
        edges += pairs
        carry += list(shared[1][: len(pairs)] if same else random.integers(0, 9, (len(pairs), k, k)))
        last = out
    table = np.array(carry, float)
    table[:, range(k), range(k)] = 0
    order = sorted(range(len(edges)), key=lambda e: edges[e])
    columns = np.array(times, float)
    if uneven:
        columns *= 1 + random.random(columns.shape)
    graph = Graph.create(names, edges, times={f"d{d}": columns[:, d] for d in range(k)})
    zeros = np.zeros((k, k))
    return Problem.create(
        graph, [Device(f"d{d}") for d in range(k)], Links(zeros, zeros, table[order]), MAKESPAN, rules
    )


def pieces_of(problem: Problem, found: list[CutModule], exclusive: bool | None = None) -> list[ModulePiece]:
    whole = lower(problem)
    exclusive = whole.instance.exclusive if exclusive is None else exclusive
    return [piece_of(whole, module, exclusive=exclusive) for module in found]


def settled(problem: Problem, found: list[CutModule], pool: ProcessPool) -> Settling:
    settling = Settling(grouped(pieces_of(problem, found)), pool)
    settling.run(lambda: inf, lambda: False, lambda: None)
    return settling


@pytest.mark.parametrize("seed", range(part(60)))
def test_cut_nodes_are_what_they_are_by_definition(seed: int) -> None:
    """A cut node is before or after every other, and no edge bypasses it; nodes and edges are in one module each."""
    random = np.random.default_rng(seed)
    graph = random_graph(random, int(random.integers(1, 12)), random.choice([0.2, 0.5, 0.8]))
    below = reaches(graph)
    related = below | below.T | np.eye(graph.n, dtype=bool)
    edges = list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))
    cuts = {v for v in range(graph.n) if related[v].all() and not any(below[u, v] and below[v, w] for u, w in edges)}
    found = modules(graph)
    assert {module.exit for module in found if module.exit != NONE} == cuts
    inner = [v for module in found for v in module.nodes]
    assert sorted([*inner, *cuts]) == list(range(graph.n))
    assert sorted(e for module in found for e in module.edges) == list(range(graph.m))
    for module in found:
        assert {v for e in module.edges for v in edges[e]} <= set(module.members)


def test_no_cut_node_comes_between_nodes_that_are_held_together() -> None:
    """Nodes of one list are in one module, its ends included."""
    graph = Graph.create(list("abcdef"), [(v, v + 1) for v in range(5)])
    assert [module.exit for module in modules(graph)] == [0, 1, 2, 3, 4, 5]
    assert [module.exit for module in modules(graph, bound=[(1, 4), (4, 5)])] == [0, 1, 4, 5]


@pytest.mark.parametrize("seed", range(20))
def test_shortest_way_is_the_least_over_all_states(seed: int) -> None:
    """The way through tables is the least sum over all choices of states, and ``slack`` what the others take."""
    random = np.random.default_rng(seed)
    sizes = [1, *random.integers(1, 4, 3).tolist()]
    tables = [random.choice([0.0, 1.0, 2.0, 7.0, inf], pair) for pair in pairwise(sizes)]
    sums = {
        states: sum(table[states[j], states[j + 1]] for j, table in enumerate(tables))
        for states in product(*map(range, sizes))
    }
    way = shortest(tables)
    assert way.length == min(sums.values())
    assert sums[way.states] == way.length
    for j, table in enumerate(tables):
        through = way.slack(j) + table
        for pair in np.ndindex(table.shape):
            least = min(length for states, length in sums.items() if (states[j], states[j + 1]) == pair)
            assert through[pair] == least


@pytest.mark.parametrize("seed", range(part(30, 4)))
def test_canonical_forms_tell_equal_modules(seed: int) -> None:
    """Renumbering changes no form; changing one time does, and leaves the form of the graph as it was."""
    random = np.random.default_rng(seed)
    problem = makespan_problem(seed, 7, 3, plain=True)
    graph = problem.graph
    whole = CutModule(NONE, NONE, tuple(graph.topological_order.tolist()), tuple(range(graph.m)))
    (piece,) = pieces_of(problem, [whole])
    order = random.permutation(piece.size)
    place = np.argsort(order)
    renumbered = replace(
        piece,
        nodes=piece.nodes[order],
        time=piece.time[order],
        tails=place[piece.tails],
        heads=place[piece.heads],
        memory=piece.memory[order],
        together=piece.together[order],
        apart=tuple(tuple(place[list(group)].tolist()) for group in piece.apart),
    )
    assert canonical(renumbered).key == canonical(piece).key
    time = piece.time.copy()
    time[random.integers(piece.size), random.integers(piece.k)] = 12345.0
    other = replace(piece, time=time)
    assert canonical(other).key != canonical(piece).key
    assert canonical(other, weights=False).key == canonical(piece, weights=False).key


@pytest.mark.parametrize("seed", range(part(120)))
def test_schedules_by_lists_keep_everything_and_bounds_lie_below(seed: int) -> None:
    """What a list arranges breaks nothing, is no shorter than longest paths, and no longer than all one by one."""
    problem = makespan_problem(seed, 7, 3)
    for piece in pieces_of(problem, modules(problem.graph)):
        low, high = path_bounds(piece), on_one_device(piece).min(axis=0)
        assert (low <= high).all()
        for (i, a), (j, b) in product(enumerate(piece.entries), enumerate(piece.exits)):
            found = arrange(piece, a, b, -urgency(piece))
            if found is not None:
                assert found.length >= low[i, j]
                check_arrangement(piece, found, a, b)


def check_arrangement(piece: ModulePiece, found: Arrangement, first: int, last: int) -> None:
    takes = piece.time[np.arange(piece.size), found.device]
    end = found.start + takes
    assert np.isfinite(takes).all()
    assert found.length == end.max(initial=0.0)
    assert not piece.entry or (found.device[0] == first and end[0] == 0)
    assert not piece.exit or found.device[-1] == last
    moves = []
    for e, (u, v) in enumerate(zip(piece.tails, piece.heads, strict=True)):
        carry = piece.carry[e, found.device[u], found.device[v]]
        assert found.sent[e] >= end[u]
        assert found.start[v] >= found.sent[e] + carry
        moves.append((found.device[u], found.device[v], found.sent[e], found.sent[e] + carry))
    work = [(d, s, t) for d, s, t in zip(found.device, found.start, end, strict=True)]
    ports = [(f"out {d}", s, t) for d, _, s, t in moves] + [(f"in {f}", s, t) for _, f, s, t in moves]
    for (d, s, t), (f, u, v) in combinations(work + (ports if piece.exclusive else []), 2):
        assert d != f or s == t or u == v or t <= u or v <= s
    for group in piece.apart:
        assert len(set(found.device[list(group)].tolist())) == len(group)
    for u, v in combinations(range(piece.size), 2):
        assert piece.together[u] != piece.together[v] or found.device[u] == found.device[v]
    assert (np.bincount(found.device, piece.memory, piece.k) <= piece.limit).all()


@pytest.mark.parametrize("seed", range(part(40, 4)))
def test_decomposition_is_exact(seed: int, pool: ProcessPool) -> None:
    """Without memories that bind, the settled modules give the least makespan by trying everything; else a bound."""
    problem, best = makespan_problem(seed), best_of(seed)
    held = [c.nodes for kind in (Colocate, Separate) for c in problem.of(kind)]
    settling = settled(problem, modules(problem.graph, bound=held), pool)
    unit = lower(problem).scale.unit
    least = inf if best is None else best / unit
    assert settling.bound <= least * (1 + 1e-9)
    if not any(problem.of(Memory)):
        assert settling.bound == settling.value
        assert settling.bound >= least * (1 - 1e-6)


@pytest.mark.parametrize("seed", [*range(part(60)), *range(60, 60 + part(140))])
def test_chains_of_anchors_bound_from_below(seed: int, pool: ProcessPool) -> None:
    """What a chain of anchors leaves is a relaxation: its least makespan is at most that of the whole."""
    problem, best = makespan_problem(seed, 5 if seed < 60 else 4), best_of(seed, 5 if seed < 60 else 4)
    weight = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
    if best is None or not np.isfinite(weight).all():
        return
    chain = chain_of(problem.graph, weight, (1 + seed % 2,))
    found = modules(problem.graph, kept=chain.kept, edges=chain.edges)
    if chain.anchors:
        assert set(chain.anchors) <= {module.exit for module in found}
    assert settled(problem, found, pool).bound <= best / lower(problem).scale.unit * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_way_by_two_lengths_is_the_least_larger(seed: int) -> None:
    """No way, with any options of its steps, has a smaller larger sum than the one found."""
    random = np.random.default_rng(seed)
    sizes = [1, *random.integers(1, 4, 4).tolist()]
    ones, others = (
        [random.choice([0.0, 1.0, 2.0, 7.0, inf], (*pair, 1 + seed % 3)) for pair in pairwise(sizes)] for _ in range(2)
    )
    steps = [range(table.shape[2]) for table in ones]

    def larger(states: tuple[int, ...], options: tuple[int, ...]) -> float:
        at = [(states[j], states[j + 1], option) for j, option in enumerate(options)]
        return max(sum(table[here] for table, here in zip(tables, at, strict=True)) for tables in (ones, others))

    ways = product(product(*map(range, sizes)), product(*steps))
    assert max(least_larger(ones, others)) == min(larger(states, options) for states, options in ways)


def test_ways_by_two_lengths_stay_few_and_bounds() -> None:
    """Where there are more labels than are kept, what is found is no longer than the least, and not much shorter."""
    random = np.random.default_rng(1)
    ones = [random.random((1, 3, 1)), *(random.random((3, 3, 1)) for _ in range(60))]
    others = [1.5 - table for table in ones]
    one, other = least_larger(ones, others)
    total = sum(table.min() for table in ones)
    assert one + other <= 1.5 * 61 + 1e-9
    assert max(one, other) >= max(total, 0.97 * 0.75 * 61)


def beside_of(problem: Problem, largest: int) -> tuple[BesideBound, float]:
    """Return the bound by cuts along a chain before any question, and what a unit is worth."""
    weight = np.where(problem.allowed, problem.time, np.inf).min(axis=1)
    chain = chain_of(problem.graph, weight, (largest,))
    found = modules(problem.graph, kept=chain.kept, edges=chain.edges)
    whole, sides = lower(problem), beside(problem.graph, found, chain.kept)
    pieces = [piece_of(whole, module, exclusive=whole.instance.exclusive) for module in found]
    return BesideBound(whole, found, grouped(pieces), sides), whole.scale.unit


@pytest.mark.parametrize("seed", [*range(part(60)), *range(60, 60 + part(90))])
def test_cuts_along_a_chain_bound_from_below(seed: int) -> None:
    """Times of modules by cuts, and means with what lies beside the chain, are at most the least makespan."""
    n = 5 if seed < 60 else 4
    problem, best = makespan_problem(seed, n), best_of(seed, n)
    if best is None or not problem.allowed.any(axis=1).all():
        return
    bound, unit = beside_of(problem, seed % 3)
    bound.time_paths(lambda: False)
    bound.time_modules(inf if seed % 2 else best / unit * (1 + 1e-9), lambda: False)
    before = bound.bound
    bound.run(lambda: inf, lambda: False, lambda: None)
    assert before <= bound.bound <= best / unit * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(part(60, 20)))
def test_every_device_of_a_hub_bounds_from_below(seed: int) -> None:
    """The bound is that of the best device of the hub, and the plans of whole modules are plans."""
    problem = hubbed(seed)
    best = BranchAndBound().solve(problem, Limits(time=60), Progress()).cost
    assert best is not None
    bound, unit = beside_of(problem, 0)
    assert len(bound.cases) == problem.k
    bound.time_modules(inf, lambda: False)
    bound.run(lambda: inf, lambda: False, lambda: None)
    assert bound.bound <= best / unit * (1 + 1e-9)
    result = ChainRelaxation(largest=0, cuts_alone=True).solve(problem, Limits(), Progress())
    check_result(problem, result)
    assert result.bound is not None
    assert result.bound.proof == "checked"
    assert result.bound.cost == pytest.approx(bound.bound * unit, rel=1e-7)


def test_cuts_alone_end_where_the_chain_is_far_below_what_is_known() -> None:
    """No plans are made of a chain whose paths are less than half of the bound that is known."""
    problem = hubbed(1)
    whole = ChainRelaxation(largest=0, cuts_alone=True).solve(problem, Limits(), Progress())
    assert whole.plan is not None
    assert whole.bound is not None
    progress = Progress()
    progress.report_bound(Bound(3 * whole.bound.cost, "somebody", "checked", "mtpp", "for this test"))
    assert ChainRelaxation(largest=0, cuts_alone=True).solve(problem, Limits(), progress).plan is None


def test_cuts_see_what_lies_beside_a_chain() -> None:
    """Two nodes beside a chain, too far away to be run elsewhere, add to the bound."""
    edges = [(0, 1), (1, 2), (3, 1), (4, 2)]
    times = {"d0": [4.0, 4.0, 4.0, 3.0, 3.0], "d1": [8.0, 8.0, 8.0, 6.0, 6.0]}
    graph = Graph.create(list("abcde"), edges, output=50.0, times=times)
    pair = np.ones((2, 2))
    devices = [Device("d0"), Device("d1")]
    problem = Problem.create(graph, devices, Links(pair, 0 * pair), MAKESPAN, [ExclusiveLinks()])
    result = ChainRelaxation(largest=0).solve(problem, Limits(time=30, threads=2), Progress())
    assert result.cost == 18.0
    assert result.bound is not None
    assert 15.9 <= result.bound.cost <= 18.0
    assert "beside the chain included" in result.bound.detail
    assert result.bound.proof == "checked"


def test_cuts_know_that_a_branch_cannot_be_sent_away() -> None:
    """Four equal branches, of which each transfer takes as long as two: the module takes as long as one device does."""
    fork, join = 0, 5
    edges = [*((fork, v) for v in range(1, 5)), *((v, join) for v in range(1, 5))]
    times = {"d0": [1.0] * 6, "d1": [1.0] * 6}
    graph = Graph.create([f"v{v}" for v in range(6)], edges, output=3.0, times=times)
    pair = np.ones((2, 2))
    problem = Problem.create(graph, [Device("d0"), Device("d1")], Links(pair, 0 * pair), MAKESPAN, [ExclusiveLinks()])
    bound, unit = beside_of(problem, 9)
    assert bound.path(None).length * unit == pytest.approx(3.0)
    bound.time_modules(inf, lambda: False)
    assert bound.path(None).length * unit == pytest.approx(6.0)


@pytest.mark.parametrize("seed", range(part(24, 4)))
def test_methods_bound_below_the_optimum_and_verify(seed: int) -> None:
    """Both methods answer with verified plans and true bounds; ``decomposition`` with the optimum, memories aside."""
    problem, best = makespan_problem(seed), best_of(seed)
    method = (Decomposition, ChainRelaxation)[seed % 2]()
    result = method.solve(problem, Limits(time=30, threads=1), Progress())
    check_result(problem, result)
    assert (best is None) >= (result.infeasibility is not None)
    if best is None:
        assert result.plan is None
        return
    assert result.bound is None or result.bound.cost <= best * (1 + 1e-9)
    if isinstance(method, Decomposition) and not any(problem.of(Memory)):
        assert result.cost == pytest.approx(best, rel=1e-6)
        assert result.status == "optimal"


@pytest.mark.parametrize("rules", [(), (ExclusiveLinks(),)])
def test_decomposition_is_the_whole(rules: tuple[Constraint, ...]) -> None:
    """On modular graphs the shortest way through the modules costs what one model of the whole costs."""
    problem = modular(3, 3, 3, 3, rules=rules)
    parts = Decomposition().solve(problem, Limits(time=60, threads=2), Progress())
    whole = Scheduling("moirai").solve(problem, Limits(time=60, threads=2), Progress())
    assert parts.status == whole.status == "optimal"
    assert parts.cost == pytest.approx(whole.cost, rel=1e-9)
    check_result(problem, parts)


def test_times_without_a_common_unit_are_counted_by_the_longest_module() -> None:
    """Rounding to units of the whole leaves 1e-7 between plan and bound here, and 3e-6 where much could run slowly."""
    problem = modular(11, 12, 1, 2, uneven=True)
    parts = [(list(module.members), list(module.edges)) for module in modules(problem.graph)]
    whole, fine = lower(problem).scale, lower(problem, parts=parts).scale
    assert not whole.exact
    assert fine.unit <= whole.unit / 4
    result = Decomposition().solve(problem, Limits(time=60, threads=2, gap=1e-8), Progress())
    check_result(problem, result)
    assert result.bound is not None
    assert result.cost * (1 - 2e-8) <= result.bound.cost <= result.cost


@pytest.mark.parametrize("held", [Colocate(nodes=(2, 9)), Separate(nodes=(2, 9, 16))])
def test_constraints_across_modules_keep_these_together(held: Constraint) -> None:
    """Modules between which a constraint speaks are solved as one, and the answer keeps it and is the whole's."""
    problem = modular(5, 3, 3, 3, rules=(held,))
    result = Decomposition().solve(problem, Limits(time=60, threads=2), Progress())
    whole = Scheduling("moirai").solve(problem, Limits(time=60, threads=2), Progress())
    assert result.status == "optimal"
    assert result.cost == pytest.approx(whole.cost, rel=1e-9)


def test_equal_modules_are_solved_once(pool: ProcessPool) -> None:
    """Eight equal modules are one class, and take no more solves than it has pairs of devices."""
    problem = modular(7, 8, 4, 3, same=True)
    settling = settled(problem, modules(problem.graph), pool)
    assert len(settling.classes.pieces) == 2  # the first node, and the modules
    assert len(settling.classes.members) == 9
    assert settling.bound == settling.value
    other = modular(7, 8, 4, 3)
    assert settling.solves <= 9 < settled(other, modules(other.graph), pool).solves


def test_similar_modules_lend_schedules_and_bounds() -> None:
    """A module whose every time is twice that of another, or more, takes twice as long, or more; and the same order."""
    problem = modular(2, 2, 3, 2)
    piece = pieces_of(problem, modules(problem.graph)[1:2])[0]
    slower = replace(piece, time=piece.time * 2, carry=piece.carry * 3)
    classes = grouped([piece, slower])
    assert classes.alike(0) == [1]
    assert classes.transferred_bound(100.0, 0, 1) == 200.0
    found = arrange(piece, 0, 1, -urgency(piece))
    assert found is not None
    arrangement = classes.translated(found, 0, 1, 0, 1)
    assert arrangement is not None
    check_arrangement(slower, arrangement, 0, 1)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_that_are_lent_hold(seed: int, pool: ProcessPool) -> None:
    """What the least makespan of one graph says of the same graph with other times is never above its own least."""
    random = np.random.default_rng(seed)
    problem = makespan_problem(seed, 6, 3, plain=True)
    graph = problem.graph
    whole = CutModule(NONE, NONE, tuple(graph.topological_order.tolist()), tuple(range(graph.m)))
    (piece,) = pieces_of(problem, [whole])
    piece = replace(piece, exclusive=bool(random.random() < 0.5))
    noise = [np.ceil(table * random.uniform(0.9, 1.1, table.shape)) for table in (piece.time, piece.carry)]
    classes = grouped([piece, replace(piece, time=noise[0], carry=noise[1])])
    if len(classes.pieces) == 2 and classes.alike(0):
        least = []
        for one in classes.pieces:
            settling = Settling(grouped([one]), pool)
            settling.run(lambda: inf, lambda: False, lambda: None)
            least.append(settling.bound)
        if np.isfinite(least).all():
            assert classes.transferred_bound(least[0], 0, 1) <= least[1] + 1e-6


def test_what_takes_no_time_borrows_no_bound() -> None:
    """A task without a time can be while another runs on its device, and one with a time cannot."""
    times: list[list[float]] = [[1, 1]]
    edges: list[tuple[int, int]] = []
    for between in (1.0, 0.0):  # long || before -> between -> behind, then the cut node
        cut = len(times) - 1
        times += [[10, inf], [inf, 5], [between, inf], [inf, 5], [1, 1]]
        edges += [(cut, cut + 1), (cut, cut + 2), (cut + 2, cut + 3), (cut + 3, cut + 4)]
        edges += [(cut + 1, cut + 5), (cut + 4, cut + 5)]
    table = np.array(times, float)
    graph = Graph.create([f"v{v}" for v in range(len(table))], edges, times={"a": table[:, 0], "b": table[:, 1]})
    free = Links(np.full((2, 2), inf), np.zeros((2, 2)))
    problem = Problem.create(graph, [Device("a"), Device("b")], free, Objective("makespan"))
    pieces = pieces_of(problem, [module for module in modules(graph) if module.nodes])
    first, second = (number for number, piece in enumerate(pieces) if piece.size == 6)
    classes = grouped([pieces[first], pieces[second]])
    assert classes.alike(0) == [1]
    unit = lower(problem).scale.unit
    assert classes.transferred_bound(17.0 / unit, 0, 1) * unit <= 11.0


def test_memory_between_modules_leaves_a_bound() -> None:
    """Where no device holds everything, the modules by themselves still bound, and a plan keeps the limits."""
    problem = modular(4, 3, 2, 2)
    graph = problem.graph
    heavy = Graph.create(
        graph.names,
        list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)),
        memory=1.0,
        times=graph.times,
    )
    devices = [Device(f"d{d}", memory=9.0) for d in range(2)]
    problem = Problem.create(heavy, devices, problem.interconnect, MAKESPAN, [Memory()])
    result = Decomposition().solve(problem, Limits(time=20, threads=2), Progress())
    whole = Scheduling("moirai").solve(problem, Limits(time=60, threads=2), Progress())
    check_result(problem, result)
    assert result.bound is not None
    assert result.bound.cost <= whole.cost * (1 + 1e-9)


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_chain_of_anchors_serves_where_no_node_cuts(exclusive: bool) -> None:
    """Bound and plan of a transformer-like graph are close, and the bound is below what the whole model proves."""
    problem = attention(1, 3, 3, 2, exclusive=exclusive)
    assert max(len(module.nodes) for module in modules(problem.graph)) > 20
    result = ChainRelaxation(largest=12).solve(problem, Limits(time=30, threads=2), Progress())
    check_result(problem, result)
    assert result.bound is not None
    assert "left out" in result.bound.detail
    assert result.gap is not None
    assert result.gap < 0.2


def test_an_interrupt_loses_nothing() -> None:
    """Stopped while modules are solved, the best bound and plan so far are returned."""
    problem = modular(11, 12, 5, 3, rules=(ExclusiveLinks(),))
    progress = Progress(lambda known, _: known.stop() if known.bound is not None else None)
    result = Decomposition().solve(problem, Limits(threads=2), progress)
    assert result.termination == "interrupted"
    assert result.bound is not None
    check_result(problem, result)


def test_another_solver_is_refused() -> None:
    """Modules are solved by CP-SAT: asked for a MIP solver, the method says so."""
    with pytest.raises(Refused, match="cp-sat"):
        Decomposition().solve(modular(1, 1, 2, 2), Limits(solver="scip"), Progress())


@pytest.mark.long
@pytest.mark.parametrize(("name", "best"), [("example-1", 30.0), ("GoogLeNet", 1.24132)])
def test_published_graphs_are_proved(name: str, best: float, data: Path) -> None:
    """The optimum of the smaller published graphs is found and proved."""
    read = MoiraiFormat().read(data / "moirai" / f"{name}.json")
    assert read.interconnect is not None
    problem = Problem.create(read.graph, read.devices, read.interconnect, MAKESPAN, [Memory()])
    result = Decomposition().solve(problem, Limits(time=60), Progress())
    assert result.status == "optimal"
    assert result.cost == pytest.approx(best, rel=1e-9)
