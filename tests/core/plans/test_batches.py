"""Batches: what there can be, what a plan of them is, and what the verifier says of one that is none."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import validate

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.core.constraints import BatchSizes, Colocate, Constraint, Forbid, Memory, Pin, PinChunks, Separate
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.plans.batches import Batches, shipments, timed
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.activities import Timeline
from mtpp_dsl.solving.answers.json import schema
from mtpp_dsl.solving.plugins.samples import small

CHAIN = Graph.create("ab", [(0, 1)], output=[1.0, 1.0], params=[2.0, 3.0], times={"x": [1, 3], "y": [3, 1]})
LINKS = Links(np.ones((2, 2)), np.zeros((2, 2)))


def worked(*constraints: Constraint, memory: float | None = None, **options: object) -> Problem:
    """Return the worked example of the corrected precedence: notes on ghannane2023, (3.3)."""
    devices = [Device("p", "x", memory=memory), Device("q", "y", memory=memory)]
    objective = Objective("throughput", batch=4, **options)  # type: ignore[arg-type]
    return Problem.create(CHAIN, devices, LINKS, objective, [BatchSizes(sizes=(1, 2, 4)), *constraints])


def halves(problem: Problem) -> Plan:
    """Inputs 0 and 1 on p and 2 and 3 on q, of both nodes: nothing is sent."""
    return Plan.of_batches(timed(problem, np.array([[0, 0, 1, 1]] * 2), np.array([[0, 0], [1, 1]])))


def test_times_by_hand() -> None:
    """Batches take time by size, wait for their own inputs alone, and the throughput is the batch over the makespan."""
    problem = worked()
    plan = halves(problem)
    assert plan.batches is not None
    assert plan.batches.start.tolist() == [[0, 0], [2, 6]]
    assert plan.batches.end.tolist() == [[2, 6], [8, 8]]  # the rule as published would let b wait for all of a: 9
    assert verify(problem, plan) == []
    evaluation = evaluate(problem, plan)
    assert (evaluation.cost, cost_of(problem, plan), problem.objective.value(8.0)) == (8, 8, 0.5)
    assert evaluation.memory.tolist() == [5 + 2 * 2, 5 + 2 * 2]
    assert list(shipments(problem, plan.batches)) == []


@pytest.mark.parametrize(("transfer", "arrives"), [("per_batch", 1.0), ("per_input", 4.0)])
def test_transfers_of_a_batch(transfer: str, arrives: float) -> None:
    """What is sent takes the same for every batch, or grows with the inputs that two batches share."""
    problem = worked(transfer=transfer)
    plan = Plan.of_batches(timed(problem, np.array([[0] * 4, [1] * 4]), np.array([[0, 0], [1, 1]])))
    assert plan.batches is not None
    assert [move[:4] for move in shipments(problem, plan.batches)] == [(0, 0, 1, 4)]
    assert plan.batches.start[1, 1] == 4 + arrives
    assert verify(problem, plan) == []


@pytest.mark.parametrize(("explicit", "takes"), [(False, 2.0 + 3 * 5.0 / 2.0), (True, 3 * 4.0)])
@pytest.mark.parametrize("method", ["batched", "heft", "critical-path"])
def test_what_grows_with_the_inputs(explicit: bool, takes: float, method: str) -> None:
    """Under per_input the latency counts once and the size once for each input; so does all of an explicit time."""
    graph = Graph.create("ab", [(0, 1)], output=5.0, times={"x": [1.0, np.inf], "y": [np.inf, 1.0]})
    table = np.array([[[0.0, 4.0], [4.0, 0.0]]]) if explicit else None
    links = Links(np.full((2, 2), 2.0), np.full((2, 2), 2.0), table)
    devices = [Device("p", "x"), Device("q", "y")]
    problem = Problem.create(graph, devices, links, Objective("throughput", batch=3, chunk=3, transfer="per_input"))
    result = mtpp_dsl.solve(problem, method, time_limit=20, seed=1)
    if method == "critical-path":
        assert result.bound is not None
        assert result.bound.cost == pytest.approx(3 + takes + 3)
        return
    assert result.plan is not None
    assert result.plan.batches is not None
    assert [move.end - move.start for move in shipments(problem, result.plan.batches)] == [takes]
    assert result.cost == pytest.approx(3 + takes + 3)
    assert min(cost_of(problem, plan) for plan in plans(problem)) == pytest.approx(3 + takes + 3)


@pytest.mark.parametrize(
    ("field", "place", "value", "message"),
    [
        ("end", (0, 1), 5.0, "the batch of a on q takes 6"),
        ("start", (0, 0), -1.0, "the batch of a on p takes 2"),
        ("start", (1, 0), 1.0, "b starts at 1 on p"),
        ("end", (1, 1), 9.0, "the batch of b on q takes 2"),
    ],
)
def test_tampered_times_are_found(field: str, place: tuple[int, int], value: float, message: str) -> None:
    """Whatever time of a batch is changed, the verifier says of which."""
    problem = worked()
    plan = halves(problem)
    assert plan.batches is not None
    times = np.array(getattr(plan.batches, field))
    times[place] = value
    broken = verify(problem, replace(plan, batches=replace(plan.batches, **{field: times})))
    assert any(message in str(violation) for violation in broken)


def test_what_is_no_schedule_of_batches() -> None:
    """A batch has a start, a node one batch on a device, every input a batch; a plan without them has no cost."""
    problem = worked()
    where = np.array([[0, 0, 0, 1]] * 2)
    with pytest.raises(UsageError, match="has a start and an end"):
        Batches.create(problem, where, np.array([[0.0, np.nan], [3.0, 3.0]]))
    rows = halves(problem).to_json(problem)["schedule"]
    with pytest.raises(UsageError, match=r"has two batches of 'a' on p$"):
        Batches.from_json(problem, [*rows, rows[0]])
    with pytest.raises(UsageError, match="leaves out input 2 of node 'b'"):
        Batches.from_json(problem, rows[:-1])
    with pytest.raises(UsageError, match="it has no throughput"):
        cost_of(problem, replace(halves(problem), batches=None))


def test_two_batches_at_once_are_found() -> None:
    """Batches of one device do not overlap, though precedence leaves them unordered."""
    problem = Problem.create(
        Graph.create("ab", [], work=[2, 3]),
        [Device("p")],
        Links(*np.zeros((2, 1, 1))),
        Objective("throughput", batch=1),
    )
    together = Batches.create(problem, np.array([[0], [0]]), np.zeros((2, 1)))
    assert "at once on p" in str(verify(problem, Plan.of_batches(together))[0])


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (BatchSizes(sizes=(1, 4), devices=(0,)), "p does not run batches of 2 of a"),
        (Pin(nodes=(0,), devices=(0,)), "a is on q"),
        (Forbid(nodes=(1,), devices=(1,)), "b is on q"),
        (Separate(nodes=(0, 1)), "a and b both run input 0 on p"),
        (PinChunks(nodes=(1,), places=(0, 1, 0, 1)), "b runs an input elsewhere"),
    ],
)
def test_constraints_hold_for_every_input(constraint: Constraint, message: str) -> None:
    """Constraints on places speak of every input."""
    broken = verify(worked(constraint), halves(worked()))
    assert any(message in str(violation) for violation in broken)


def test_colocated_nodes_share_every_input() -> None:
    """To be together means on one device input by input, not batch by batch."""
    problem = worked(Colocate(nodes=(0, 1)))
    crossed = Plan.of_batches(timed(problem, np.array([[0, 0, 1, 1], [1, 1, 0, 0]]), np.array([[0, 0], [1, 1]])))
    assert verify(problem, halves(problem)) == []
    assert "on two devices" in str(verify(problem, crossed)[0])


def test_memory_is_weights_once_and_the_rest_for_every_input() -> None:
    """A device holds the weights of every node that it runs a batch of, and one share per input (ghannane2023, 3.7)."""
    assert verify(worked(Memory(), memory=9.0), halves(worked())) == []
    assert "p needs 9 of 8.9" in str(verify(worked(Memory(), memory=8.9), halves(worked()))[0])
    assert quick(worked(Memory(), memory=6.0)) is not None


def test_a_missing_link_forbids_to_send() -> None:
    """Without routing, devices that no link joins cannot share a chunk of neighbours."""
    apart = Links(np.zeros((2, 2)), np.zeros((2, 2)))
    problem = replace(worked(), interconnect=apart)
    with pytest.raises(UsageError, match="get its inputs"):
        timed(problem, np.array([[0] * 4, [1] * 4]), np.array([[0, 0], [1, 1]]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in small() if small()[name].objective.batch is not None])
def test_plans_read_back_as_written(name: str) -> None:
    """The JSON of every plan is valid, and means the same plan; a timeline has a bar for every batch and transfer."""
    problem = small()[name]
    for plan in [plan for _, plan in zip(range(10), plans(problem), strict=False)]:
        assert plan.batches is not None
        data = json.loads(json.dumps(plan.to_json(problem)))
        back = Plan.from_json(problem, data)
        assert back.batches is not None
        assert np.array_equal(back.batches.device, plan.batches.device)
        assert np.array_equal(back.batches.start, plan.batches.start, equal_nan=True)
        assert back.to_json(problem) == data
        validate(data, schema()["properties"]["plan"])
        timeline = Timeline(problem, plan)
        assert len(timeline.activities) == len(data["schedule"]) + len(data["transfers"])
        assert timeline.critical[0].activity.start == 0
        assert timeline.critical[-1].activity.end == timeline.makespan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": [[0, 3]]}, "has 2 inputs, and its ranges 3"),
        ({"inputs": [[1, 3]]}, "twice"),
        ({"inputs": [[2, 1]]}, "no range"),
        ({"inputs": None}, "does not say which inputs"),
        ({"node": "c"}, "which is not a node"),
        ({"device": "r"}, "which is not a device"),
        ({"start": "soon"}, "no time"),
    ],
)
def test_schedules_that_are_none_are_refused(change: dict[str, object], message: str) -> None:
    """A row that cannot be meant is named."""
    problem = worked()
    data = halves(problem).to_json(problem)
    data["schedule"][0].update(change)
    with pytest.raises(UsageError, match=message):
        Plan.from_json(problem, data)


@pytest.mark.parametrize("said", [{"a": "p", "b": ["p", "q"]}, {"a": ["p", "q"]}, {}, "p"])
def test_an_assignment_beside_another_schedule_is_refused(said: object) -> None:
    """What loads the assignment alone must not be told of other devices than the schedule has."""
    problem = worked()
    with pytest.raises(UsageError, match=r"the assignment|is a schedule"):
        Plan.from_json(problem, {**halves(problem).to_json(problem), "assignment": said})


def test_what_is_about_batches_needs_one() -> None:
    """Chunks, and transfers by input, mean nothing of one sample, and are not ignored."""
    for objective in (Objective("makespan", chunk=2), Objective("throughput", transfer="per_input")):
        with pytest.raises(UsageError, match="need a batch"):
            Problem.create(CHAIN, worked().devices, LINKS, objective)


def test_a_left_out_input_is_named() -> None:
    """Every input of every node is in a batch."""
    problem = worked()
    data = halves(problem).to_json(problem)
    del data["schedule"][-1]
    with pytest.raises(UsageError, match="leaves out input"):
        Plan.from_json(problem, data)


def test_chunks_are_the_greatest_that_sizes_allow() -> None:
    """Inputs stay together in chunks of the greatest common divisor of the batch and its sizes, or as asked."""
    graph, devices = Graph.create("a", [], work=1.0), [Device("x"), Device("y")]
    sizes = [BatchSizes(sizes=(32, 64, 96, 128)), BatchSizes(sizes=(16, 64, 500), devices=(1,))]
    problem = Problem.create(graph, devices, LINKS, Objective("throughput", batch=128), sizes)
    assert (problem.batching.chunk, problem.batching.sizes) == (32, ((1, 2, 3, 4), (2,)))
    finer = Problem.create(graph, devices, LINKS, Objective("throughput", batch=128, chunk=8), sizes)
    assert (finer.batching.count, finer.batching.sizes) == (16, ((4, 8, 12, 16), (8,)))
    anything = Problem.create(graph, devices, LINKS, Objective("throughput", batch=6))
    assert (anything.batching.chunk, anything.batching.sizes[0]) == (1, (1, 2, 3, 4, 5, 6))
    for chunk, message in ((48, "do not make a batch"), (64, "is no number of chunks")):
        with pytest.raises(UsageError, match=message):
            Problem.create(graph, devices, LINKS, Objective("throughput", batch=128, chunk=chunk), sizes)


def test_a_chunk_is_not_split() -> None:
    """Inputs of one chunk on two devices are no plan."""
    problem = Problem.create(
        CHAIN, worked().devices, LINKS, Objective("throughput", batch=4), [BatchSizes(sizes=(2, 4))]
    )
    odd = Batches.create(problem, np.array([[0, 1, 0, 1]] * 2), np.array([[0, 0], [2, 6]]), np.array([[2, 6], [8, 8]]))
    assert "are one chunk" in str(verify(problem, Plan.of_batches(odd))[0])


@pytest.mark.parametrize(
    ("sizes", "batch", "message"),
    [
        ([(3,)], 4, r"add up to 4 inputs \(p: 3, q: 3\)"),
        ([(3, 4), (5,)], 4, r"add up to 4 inputs \(p: none, q: none\)"),
        ([(2,)], 3, r"add up to 3 inputs"),
    ],
)
def test_sizes_that_cannot_add_up_are_an_error(sizes: list[tuple[int, ...]], batch: int, message: str) -> None:
    """Where no choice of one size per device makes up the batch, the problem is refused, and says so."""
    rules = [BatchSizes(sizes=some, origin="x.mtpp:3") for some in sizes]
    with pytest.raises(ConstraintError, match=message) as error:
        Problem.create(CHAIN, worked().devices, LINKS, Objective("throughput", batch=batch), rules)
    assert error.value.place == "x.mtpp:3"


def test_a_device_without_a_size_is_left_idle_with_a_warning() -> None:
    """A device may support no size of the batch: it runs nothing."""
    problem = worked(BatchSizes(sizes=(8,), devices=(1,)))
    assert problem.warnings == ("device 'q' runs nothing: it has no batch size of at most 4",)
    assert min(cost_of(problem, plan) for plan in plans(problem)) == 16


def test_a_node_whose_sizes_do_not_add_up_is_infeasible() -> None:
    """Counting finds a node that is held to devices whose sizes cannot make up the batch."""
    rules = [BatchSizes(sizes=(1, 3), devices=(0,)), Pin(nodes=(1,), devices=(0,), origin="pin")]
    found = quick(worked(*rules))
    assert found is not None
    assert "no batches of b, one on each of p, add up to 4 inputs" in found.reason
    assert "pin (pin)" in found.clash


def test_what_a_law_and_a_table_say() -> None:
    """A batch takes a fixed share and a share per input, or what was measured; a size without a time is an error."""
    graph = Graph.create("ab", [], work=[2.0, 0.0], batch_times={"t": {1: [np.nan, 5], 2: [np.nan, np.inf]}})
    devices = [Device("x", fixed=0.5, overhead=1.0), Device("y", "t", speed=2.0)]
    problem = Problem.create(graph, devices, LINKS, Objective("throughput", batch=2))
    assert problem.batching.time[:, 0].tolist() == [[0, 3, 4], [0, 0, 0]]
    assert problem.batching.time[:, 1].tolist() == [[0, 1, 2], [0, 5, np.inf]]
    with pytest.raises(UsageError, match="no time of a batch of 3 of 'b' on y, only of 1 or 2"):
        Problem.create(graph, devices, LINKS, Objective("throughput", batch=3))


def test_measured_times_make_no_kind_supported() -> None:
    """A device does not run kinds that it does not support, whatever a table says that their batches take."""
    graph = Graph.create("a", [], kinds=["conv"], batch_times={"x": {1: [5.0]}, "y": {1: [7.0]}})
    objective = Objective("throughput", batch=1)
    problem = Problem.create(graph, [Device("p", "x"), Device("q", "y")], LINKS, objective)
    plan = Plan.of_batches(timed(problem, np.array([[0]]), np.zeros((1, 2))))
    devices = [Device("p", "x", unsupported=frozenset(["conv"])), Device("q", "y")]
    without = Problem.create(graph, devices, LINKS, objective)
    assert verify(problem, plan) == []
    assert "p does not run batches of 1 of a" in str(verify(without, plan)[0])
    assert [plan.batches.makespan for plan in plans(without) if plan.batches] == [7.0]


def test_what_cannot_be_meant_is_refused() -> None:
    """Batches without links, shares above 100 %, too many chunks, memory below the parameters."""
    four = Objective("throughput", batch=4)
    devices = worked().devices
    with pytest.raises(UsageError, match="on links"):
        Problem.create(CHAIN, devices, Shared(1.0), four)
    with pytest.raises(DeviceError, match="fixed share"):
        Problem.create(CHAIN, [Device("p", "x", fixed=1.5)], Links(*np.zeros((2, 1, 1))), four)
    with pytest.raises(UsageError, match="1,024 are the most"):
        Problem.create(CHAIN, devices, LINKS, Objective("throughput", batch=5000))
    with pytest.raises(UsageError, match="memory of 1 and parameters of 2"):
        Problem.create(replace(CHAIN, memory=np.array([1.0, 9.0])), devices, LINKS, four)


@settings(max_examples=40)
@given(st.data())
def test_whatever_order_is_timed_is_a_plan(data: st.DataObject) -> None:
    """Any places that batch sizes allow, and any topological order of nodes, make a plan without a broken rule."""
    problem = small()[data.draw(st.sampled_from(["batch throughput", "batch of one", "transfers by input"]))]
    batching, graph = problem.batching, problem.graph
    spreads = [
        row
        for row in np.ndindex(*[problem.k] * batching.count)
        if all(np.isfinite(batching.time[:, d, row.count(d)]).all() for d in range(problem.k))
    ]
    where = np.array([data.draw(st.sampled_from(spreads)) for _ in range(graph.n)])
    place = np.argsort(graph.topological_order)
    delay = np.array(data.draw(st.lists(st.integers(0, 2), min_size=problem.k, max_size=problem.k)))
    batches = timed(problem, where, place[:, None] + 0.1 * delay[None, :])
    assert verify(problem, Plan.of_batches(batches)) == []


def test_a_batch_of_one_input_has_a_time() -> None:
    """Of the four inputs the last is a batch of its own, which starts and ends at no time."""
    start, end = np.array([[0, np.nan], [1, np.nan]]), np.array([[1, np.nan], [2, np.nan]])
    with pytest.raises(UsageError, match="has a start and an end"):
        Batches.create(worked(), [[0, 0, 0, 1]] * 2, start, end)


def test_devices_slots_and_ranges_that_are_not_there() -> None:
    """One input on a third device or in a third batch of two; a range of inputs that ends where it begins."""
    problem = worked()
    start = np.zeros((2, 2))
    with pytest.raises(UsageError, match=r"a device outside 0\.\.1"):
        Batches.create(problem, [[0, 0, 0, 2]] * 2, start, start)
    with pytest.raises(UsageError, match=r"on a device outside 0\.\.0"):
        Batches.create(problem, [[0, 0, 0, 0]] * 2, start, start, np.array([[0, 0, 0, 1]] * 2))
    batches = halves(problem).batches
    assert batches is not None
    rows = batches.to_json(problem)
    rows[0]["inputs"].append([3, 3])
    with pytest.raises(UsageError, match="are no range"):
        Batches.from_json(problem, rows)
