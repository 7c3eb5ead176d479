"""Method ideals: its plans are plans, its bounds bounds, and with both it is right about the optimum."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from mtpp_dsl.checks.verification import check_result, verify
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Contiguous, Forbid, Linear, Memory, Pin, Start
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.devices import Device, Host, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.exchange.formats.msr import Msr
from mtpp_dsl.exchange.generators.basic import layered
from mtpp_dsl.solvers.algorithms.ideals.changing_nets import ChangingNets
from mtpp_dsl.solvers.algorithms.ideals.lattice import GROW, MEASURE, chain, lattice_of
from mtpp_dsl.solvers.algorithms.ideals.supernodes import ordered_supernodes
from mtpp_dsl.solvers.algorithms.ideals.sweep import SWEEP
from mtpp_dsl.solvers.methods.partition import Ideals
from tests.amount import part
from tests.oracle import optimum
from tests.strategies import memory_problems, plain_problems

NEAR = 1e-9


def solve(problem: Problem, method: Ideals | None = None, **limits: object) -> Result:
    """Solve, and check what can be checked without knowing the optimum."""
    method = method or Ideals()
    assert method.accepts(problem) is None
    result = method.solve(problem, Limits(**limits), Progress())  # type: ignore[arg-type]
    check_result(problem, result)
    return result


def check(problem: Problem) -> str:
    """Hold a result against trying everything; return its status."""
    result, best = solve(problem), optimum(problem)
    if best is None:
        assert result.plan is None
        assert result.status in ("infeasible", "unknown", "bound")
        return result.status
    assert result.infeasibility is None
    for bound in [entry.bound for entry in result.log] + [None if result.bound is None else result.bound.cost]:
        assert bound is None or bound <= best * (1 + NEAR)
    if result.plan is not None:
        assert result.cost is not None
        assert result.cost >= best * (1 - NEAR)
    if result.status == "optimal":
        assert result.cost == pytest.approx(best, rel=2e-6)
    return result.status


def random_problem(seed: int, *, training: bool = False) -> Problem:
    """Return a small problem with any mixture of what ideals honours."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 7))
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < random.choice([0.2, 0.5])]
    backward = np.sort(random.random(n) < 0.5) if training else np.zeros(n, bool)
    relabel = random.permutation(n)
    edges = [(int(relabel[u]), int(relabel[v])) for u, v in edges]
    place = np.empty(n, bool)
    place[relabel] = backward
    work = random.choice([0.0, 1.0, 5.0], n) * (random.random(n) if random.random() < 0.5 else 1.0)
    host = bool(random.random() < 0.7)
    cpus = int(random.integers(0, 3)) if host else 0
    k = int(random.integers(1, 4)) if n < 6 else 2
    k, cpus = (k, cpus) if (k + cpus) ** n < 5_000 else (1, 1) if cpus else (2, 0)
    times = {"cpu": work * random.choice([1.0, 2.0, 5.0], n) + random.choice([0.0, 0.3], n)}
    if cpus and random.random() < 0.5:
        times["accelerator"] = np.where(random.random(n) < 0.2, np.inf, work)
    graph = Graph.create(
        [f"v{i}" for i in range(n)],
        edges,
        work=work,
        output=random.choice([0.0, 0.5, 1.0, 7.0], n) * (random.random(n) if random.random() < 0.5 else 1.0),
        params=random.integers(0, 5, n).astype(float),
        backward=place,
        times=times,
    )
    memory = float(graph.memory.sum()) / max(1, k) * float(random.choice([0.9, 1.2, 3.0]))
    devices = [Device(f"a{i}", memory=memory) for i in range(k)]
    devices += [Device(f"c{i}", type="cpu", pays_io=False) for i in range(cpus)]
    constraints: list[Constraint] = [Acyclic(parts="forward" if random.random() < 0.5 else "both")]
    if random.random() < 0.5:
        constraints.append(Memory())
    if random.random() < 0.3:
        constraints.append(Contiguous())
    pairs = [random.choice(n, 2, replace=False).tolist() for _ in range(int(random.integers(0, 3))) if n > 1]
    constraints += [Colocate(nodes=tuple(sorted(pair))) for pair in pairs]
    if random.random() < 0.2:
        constraints.append(Pin(nodes=(int(random.integers(n)),), devices=(int(random.integers(len(devices))),)))
    if random.random() < 0.1:
        constraints.append(Forbid(nodes=(int(random.integers(n)),), devices=(0,)))
    overflow = bool(random.random() < 0.2)
    link = (Host if host else Shared)(float(random.choice([0.5, 1.0, 3.0])), overflow=overflow)
    return Problem.create(graph, devices, link, constraints=constraints)


def test_random_inference_graphs_are_solved_to_the_optimum() -> None:
    """Mixtures of CPUs, memory, unsupported nodes, colocation, pins: always the optimum, or the proof of none."""
    statuses = Counter(check(random_problem(seed)) for seed in range(part(400, 12)))
    assert set(statuses) == {"optimal", "infeasible"}
    assert min(statuses.values()) > part(20, 12)


def test_random_training_graphs_get_plans_and_bounds_that_hold() -> None:
    """Mixtures with backward nodes: never a wrong bound; mostly the optimum."""
    statuses = Counter(check(random_problem(seed, training=True)) for seed in range(1000, 1000 + part(300, 12)))
    assert statuses["optimal"] > part(200, 12)


def test_compiled_loops_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled loops give the costs and bounds of the plain ones."""
    problems = [random_problem(seed, training=seed % 2 == 1) for seed in range(2000, 2040)]
    plain = [solve(problem) for problem in problems]
    for kernel in (GROW, MEASURE, SWEEP):
        compiled = kernel.compiled()
        monkeypatch.setattr(kernel, "plain", compiled)
        monkeypatch.setattr(kernel, "pick", lambda *_, compiled=compiled: compiled)
    for problem, one in zip(problems, plain, strict=True):
        other = solve(problem)
        assert (one.cost, one.status) == (other.cost, other.status)
        assert (one.bound and one.bound.cost) == (other.bound and other.bound.cost)


@given(plain_problems())
def test_plain_problems_are_solved_to_the_optimum(problem: Problem) -> None:
    """Equal devices, contracted first."""
    assert check(problem) == "optimal"


@settings(max_examples=40)
@given(memory_problems())
def test_problems_with_memory_are_solved_to_the_optimum(problem: Problem) -> None:
    """Unequal devices, limits, streamed parameters."""
    assert check(problem) in ("optimal", "infeasible")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(20))
def test_weights_of_many_magnitudes_do_not_spoil_the_bound(seed: int) -> None:
    """Tensors from 1e-6 to 1e12 beside work around one: the bound stays below the optimum, and close."""
    random = np.random.default_rng(seed)
    n = 6
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.4]
    output = 10.0 ** random.integers(-6, 13, n) * random.random(n)
    graph = Graph.create([f"v{i}" for i in range(n)], edges, work=random.random(n), output=output)
    devices = [Device("a"), Device("b"), Device("c", pays_io=False)]
    assert check(Problem.create(graph, devices, Host(1.0), constraints=[Acyclic()])) == "optimal"


def test_hardly_any_time_on_one_kind_of_device_makes_it_cheap_not_endless() -> None:
    """The quotient of two running times may be beyond every number."""
    times = {"cpu": [1e-320, 4.0, 2.0]}
    graph = Graph.create("abc", [(0, 1), (1, 2)], work=[1.0, 2.0, 3.0], output=0.5, times=times)
    devices = [Device("a"), Device("b"), Device("c", type="cpu", pays_io=False)]
    assert check(Problem.create(graph, devices, Host(1.0), constraints=[Acyclic()])) == "optimal"


def test_a_reserve_is_not_part_of_what_memory_may_be_missed_by() -> None:
    """Beyond the tolerance of the check, relative to memory without the reserve, nothing fits."""
    graph = Graph.create("ab", [], work=1.0, memory=[1000.0, 0.0])
    for missed, status in ((1e-7, "optimal"), (1e-5, "infeasible")):
        devices = [Device(f"d{i}", memory=1e6, reserve=1e6 - 1000 * (1 - missed)) for i in range(2)]
        constraints = [Acyclic(), Memory(), Colocate(nodes=(0, 1))]
        assert check(Problem.create(graph, devices, Shared(1.0), constraints=constraints)) == status


def random_nets(seed: int) -> tuple[ChangingNets, list[tuple[tuple[int, ...], float]]]:
    random = np.random.default_rng(seed)
    nets = ChangingNets(
        (random.choice(6, int(random.integers(2, 5)), replace=False).tolist(), float(random.integers(1, 9)))
        for _ in range(int(random.integers(1, 7)))
    )
    return nets, nets.items()


@pytest.mark.parametrize("seed", range(60))
def test_a_group_taken_out_leaves_what_everybody_pays(seed: int) -> None:
    """Whatever the device and wherever the group, what is left costs no more than what was there."""
    nets, before = random_nets(seed)
    nets.eliminate(0)
    after = nets.items()

    def cut(items: list[tuple[tuple[int, ...], float]], inside: set[int]) -> float:
        return sum(weight for pins, weight in items if inside & set(pins) and set(pins) - inside)

    for mask in range(32):
        inside = {v + 1 for v in range(5) if mask >> v & 1}
        assert cut(after, inside) <= min(cut(before, inside), cut(before, inside | {0}))
    assert all(0 not in pins for pins, _ in after)


def test_contiguous_alone_is_weaker() -> None:
    """Two convex sets with a cycle between them: a plan of acyclic blocks, and no bound that would cut them off."""
    graph = Graph.create(["a1", "a2", "b1", "b2"], [(0, 2), (3, 1)], work=[3, 3, 1, 1], output=[9, 0, 0, 0])
    devices = [Device("x", unsupported=frozenset()), Device("y")]
    together = [Colocate(nodes=(0, 1)), Colocate(nodes=(2, 3))]
    weaker = Problem.create(graph, devices, Shared(9.0), constraints=[Contiguous(), *together])
    result = solve(weaker)
    assert result.cost == 8.0
    assert optimum(weaker) == 7.0
    assert result.bound is None
    assert "acyclic" in result.notes[0]
    stronger = weaker.with_constraints([*weaker.constraints, Acyclic()])
    assert solve(stronger).status == "optimal"
    assert optimum(stronger) == 8.0


def backward_toy(constraint: Constraint) -> Problem:
    """Return a chain whose backward part runs a, b, a in terms of the forward classes."""
    graph = Graph.create(
        ["a", "b", "c", "A", "B", "C"],
        [(0, 1), (1, 2), (3, 4), (4, 5)],
        work=[2, 2, 2, 0.5, 0.5, 0.5],
        backward=[False] * 3 + [True] * 3,
    )
    pairs = [Colocate(nodes=(0, 3)), Colocate(nodes=(1, 5)), Colocate(nodes=(2, 4))]
    return Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[constraint, *pairs])


def test_backward_parts_are_held_to_their_constraint() -> None:
    """Of the forward part alone the best split is a plan; of both it may be none, and a bound still."""
    forward, both = backward_toy(Acyclic(parts="forward")), backward_toy(Acyclic())
    result = solve(forward)
    assert (result.status, result.cost) == ("optimal", 5.0)
    result = solve(both)
    assert result.bound is not None
    assert result.bound.cost <= optimum(both)
    assert result.plan is not None
    assert not verify(both, result.plan)


def test_groups_without_a_forward_node_are_free() -> None:
    """The published program ties them to their backward edges; the bound must not."""
    graph = Graph.create(
        ["a", "b", "G"], [(0, 1), (2, 0)], work=[1, 3, 3], output=[0, 0, 0], backward=[False, False, True]
    )
    problem = Problem.create(graph, [Device("x"), Device("y")], Shared(1.0), constraints=[Acyclic()])
    result = solve(problem)
    assert result.cost == optimum(problem) == 4.0
    assert result.bound is not None
    assert result.bound.cost <= 4.0


def chain_of(n: int, **weights: object) -> Graph:
    names = [f"v{i}" for i in range(n)]
    return Graph.create(names, [(i, i + 1) for i in range(n - 1)], **weights)  # type: ignore[arg-type]


def test_a_node_that_fits_nowhere_is_named() -> None:
    """Infeasible, with the node and the constraint."""
    graph = chain_of(3, work=1.0, params=[1.0, 9.0, 1.0])
    devices = [Device("x", memory=4.0), Device("y", memory=5.0)]
    result = solve(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()]))
    assert result.status == result.termination == "infeasible"
    assert result.infeasibility is not None
    assert result.infeasibility.reason == "v1 takes 9; the largest device for it, y, has 5"
    assert result.infeasibility.clash == ("memory",)


def test_colocation_that_closes_a_cycle_is_named() -> None:
    """v0 and v2 together leave v1 no other device; the three together have no room."""
    graph = chain_of(3, work=1.0, params=2.0)
    devices = [Device("x", memory=5.0), Device("y", memory=5.0)]
    constraints = [Acyclic(), Memory(), Colocate(nodes=(0, 2))]
    result = solve(Problem.create(graph, devices, Shared(1.0), constraints=constraints))
    assert result.infeasibility is not None
    assert "v0, v1 and v2 take 6 together" in result.infeasibility.reason
    assert "v0 -> v1 -> v2 -> v0" in result.infeasibility.reason


def test_too_little_memory_in_all_is_proved() -> None:
    """Every node fits somewhere; no chain of blocks does."""
    graph = chain_of(4, work=1.0, params=3.0)
    devices = [Device("x", memory=5.0), Device("y", memory=8.0)]
    result = solve(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic(), Memory()]))
    assert result.status == "infeasible"
    assert result.plan is None


def wide() -> Problem:
    graph = layered(60, 6, seed=1, output=0.5)
    return Problem.create(graph, [Device(f"d{i}") for i in range(4)], Shared(1.0), constraints=[Acyclic()])


def test_beyond_its_memory_it_returns_what_it_has() -> None:
    """A plan, a bound, and a note; not an error."""
    result = solve(wide(), Ideals(most_bytes=1e4))
    assert result.plan is not None
    assert result.bound is not None
    assert result.termination in ("limit", "gap")
    assert result.termination == "gap" or "MB" in result.notes[0]


def test_it_stops_when_asked_and_when_time_is_up() -> None:
    """Stopped before it began there is nothing; with no time, neither."""
    progress = Progress()
    progress.stop()
    assert Ideals().solve(wide(), Limits(), progress).termination == "interrupted"
    assert solve(wide(), time=0.0).termination == "time_limit"


def test_it_starts_from_a_plan() -> None:
    """A start that is optimal is proved so; one that is no plan is dropped with a note."""
    problem = wide()
    best = solve(problem)
    again = solve(problem, start=best.plan)
    assert again.cost == best.cost
    assert again.status == best.status == "optimal"
    toy = backward_toy(Acyclic())
    broken = solve(toy, start=type(best.plan).create(toy, [0, 1, 1, 1, 1, 1]))  # type: ignore[union-attr]
    assert "dropped" in broken.notes[0]


@pytest.mark.parametrize("gap", [0.0, 1e-9, 0.003, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(12))
def test_a_gap_is_enough(seed: int, gap: float) -> None:
    """The search ends as soon as plan and bound are so close, which they are, but for the rounding of the bound."""
    graph = layered(24, 4, seed=seed, output=2.0)
    devices = [Device(f"d{i}") for i in range(3)]
    result = solve(Problem.create(graph, devices, Shared(1.0), constraints=[Acyclic()]), gap=gap)
    assert result.gap is not None
    assert result.gap <= gap + 1e-10


PAIR = chain_of(2, work=1.0, output=1.0)
TWO = [Device("x"), Device("y")]


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Problem.create(PAIR, TWO, Shared(1.0), Objective("makespan")), "makespan"),
        (
            Problem.create(PAIR, [Device(f"d{i}") for i in range(17)], Links(np.ones((17, 17)), np.zeros((17, 17)))),
            "17 devices",
        ),
        (
            Problem.create(
                PAIR,
                TWO,
                Shared(1.0),
                constraints=[Linear(label="c", terms=((Start(0), 1.0),), sense="<=", rhs=2.0)],
            ),
            "start() in constraint c",
        ),
        (Problem.create(PAIR, [Device(f"d{i}", speed=1 + i) for i in range(12)], Shared(1.0)), "device types"),
    ],
)
def test_it_refuses_what_it_cannot_honour(problem: Problem, reason: str) -> None:
    """With the reason."""
    assert reason in (Ideals().accepts(problem) or "")


@pytest.mark.parametrize("seed", range(10))
def test_all_ideals_are_found(seed: int) -> None:
    """As many as there are sets closed downward, each once, smaller ones first; steps add what is ready."""
    random = np.random.default_rng(seed)
    n = 7
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if random.random() < 0.3]
    problem = Problem.create(Graph.create([f"v{i}" for i in range(n)], edges, work=1.0), TWO, Shared(1.0))
    classes = ordered_supernodes(problem, device_types(problem), "forward")
    lattice = lattice_of(classes, 1e9, lambda _: None, lambda: None)
    assert lattice is not None
    closed = [m for m in range(2**n) if all(m >> u & 1 or not m >> v & 1 for u, v in classes.before)]
    assert sorted(lattice.bits[:, 0].tolist()) == closed
    sizes = [int(bits).bit_count() for bits in lattice.bits[:, 0]]
    assert sizes == sorted(sizes)
    assert lattice_of(classes, 10.0, lambda _: None, lambda: None) is None
    assert chain(np.arange(n)).size == n + 1


PUBLISHED = {
    "LayerGraphs/bert24_inference": 17.789906,
    "LayerGraphs/bert24_training": 41.745812,
    "LayerGraphs/resnet50_inference": 33.774666,
    "LayerGraphs/resnet50_training": 78.631812,
    "LayerGraphs/inceptionv3_inference": 51.551864,
    "LayerGraphs/inceptionv3_training": 122.761616,
    "LayerGraphs/gnmt_inference": 32.910658,
    "OperatorGraphs/bert_l-3_inference": 27.918568,
    "OperatorGraphs/bert_l-12_inference": 147.477984,
    "OperatorGraphs/resnet50_inference": 124.348850,
}


def published(path: Path, parts: Acyclic) -> Problem:
    """Return a published workload under the constraints of the paper."""
    workload = Msr().read(path)
    graph = workload.graph
    assert workload.interconnect is not None
    colors = np.unique(graph.colors[graph.colors >= 0]).tolist()
    together = [Colocate(nodes=tuple(np.flatnonzero(graph.colors == color).tolist())) for color in colors]
    return Problem.create(graph, workload.devices, workload.interconnect, constraints=[parts, Memory(), *together])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_optima(data: Path, name: str) -> None:
    """The values of the dynamic programme of tarnawski2020, Table 1, proved; backward parts hold too."""
    path = data / "dnn-partitioning" / "throughput" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    result = solve(published(path, Acyclic()))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(PUBLISHED[name], rel=1e-6)


def test_published_operator_training_graph(data: Path) -> None:
    """Where classes have no forward node the published program restricts them; ours is as good or better."""
    path = data / "dnn-partitioning" / "throughput" / "OperatorGraphs" / "bert_l-3_training.json"
    result = solve(published(path, Acyclic(parts="forward")))
    assert result.status == "optimal"
    assert result.cost == pytest.approx(65.303149, rel=1e-6)


def test_a_wide_gap_ends(data: Path) -> None:
    """With a gap to stop at, the target reaches its end whatever the bound rounds to."""
    workload = Msr().read(data / "dnn-partitioning/throughput/OperatorGraphs/bert_l-3_inference.json")
    devices = [Device(f"d{i}") for i in range(4)]
    problem = Problem.create(workload.graph, devices, Shared(1.0), constraints=[Acyclic()])
    for gap in (0.01, 0.05, 0.2):
        result = solve(problem, gap=gap)
        assert result.gap is not None
        assert result.gap <= gap + 1e-12
