"""Graphs of models: what is chosen, what nodes weigh, ties, phases, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mtpp_dsl import with_times
from mtpp_dsl.checks.order_findings import closed_cycle
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint, Memory, StageMemory
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.graphs import graph_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator, Tensor, Weight
from tests.small_models import gpt, llama

DEVICE = Device("a", memory=1e12, peak={"bf16": 1e12}, bandwidth=1e12)


def problem_of(graph: Graph) -> Problem:
    return Problem.create(graph, [Device("a"), Device("b")], Shared(1e9), Objective("bottleneck"))


def test_sizes_follow_the_symbols() -> None:
    model = llama(2, width=64, vocabulary=100)
    graph = model.graph(batch=3, seq=5)
    layer = graph.index["model.layers[1]"]
    weights = 2 * (4 * 64 * 64 + 3 * 64 * 256 + 64)
    assert graph.params[layer] == weights
    assert graph.output[layer] == 2 * 64 * 3 * 5
    assert graph.memory[layer] == weights + 4 * 64 * 3 * 5  # and its cache
    assert graph.costs is not None
    assert graph.costs.per_node(graph.costs.flop, graph.n)[-1] == 2 * 64 * 100 * 3 * 5
    assert graph.origin is not None
    assert dict(graph.origin.symbols) == {"batch": 3, "seq": 5}


def test_an_embedding_reads_rows_and_a_product_all_of_its_weights() -> None:
    costs = llama(1).graph(batch=2, seq=4).costs
    assert costs is not None
    read = dict(zip(costs.names, costs.read.tolist(), strict=True))
    assert read["model.embed_tokens.embedding"] == 8 * 2 * 4 + 2 * 64 * 2 * 4
    assert read["lm_head.linear"] == 2 * 64 * 2 * 4 + 2 * 64 * 100


def test_tied_weights_are_kept_together_in_every_problem() -> None:
    graph = gpt(2).graph()
    tied = (graph.index["transformer.wte"], graph.index["lm_head"])
    assert graph.params[tied[1]] == 0
    problem = problem_of(graph)
    assert problem.constraints == (Colocate(nodes=tied),)
    assert str(problem.constraints[0]) == "colocate (tied weights transformer.wte.weight, lm_head.weight)"
    again = Problem.create(graph, problem.devices, Shared(1e9), Objective("bottleneck"), problem.constraints)
    assert len(again.constraints) == 1
    copies = gpt(2).graph(ties="copy")
    assert copies.params[tied[1]] == copies.params[tied[0]] == 2 * 64 * 100
    assert not problem_of(copies).constraints


def test_a_cycle_that_tied_weights_close_names_the_way_out() -> None:
    graph = gpt(2).graph()
    problem = problem_of(graph)
    problem = problem.with_constraints([*problem.constraints, Acyclic()])
    ends = (graph.index["transformer.wte"], graph.index["lm_head"])
    assert closed_cycle(problem, range(graph.n)).endswith("(of tied weights: with ties = copy, each node has its own)")
    assert not closed_cycle(problem, ends)


def test_one_node_of_all_operators_is_warned_of() -> None:
    operators = (Operator("a", flop=0), Operator("b", flop=0))
    model = Model(operators, (Tensor("x", 0, (1,), 100),))
    (warning,) = graph_of(model, group_by="module").warnings
    assert "say group_by = operator" in warning
    assert not graph_of(model, group_by="operator").warnings


def test_weight_types_change_what_products_read() -> None:
    usual, small = (llama(1).graph(weight_type=wanted) for wanted in (None, "int4"))
    head, norm, table = (usual.index[name] for name in ("lm_head", "model.norm", "model.embed_tokens"))
    assert small.params[head] == usual.params[head] / 4
    assert small.params[norm] == usual.params[norm]
    assert small.params[table] == usual.params[table]
    assert small.costs is not None
    assert usual.costs is not None
    of = dict(zip(small.costs.names, small.costs.weight_types, strict=True))
    assert (of["lm_head.linear"], of["model.norm.rms_norm"]) == ("int4", "bf16")
    moved = (usual.costs.read - small.costs.read).sum()
    assert moved == (usual.params - small.params).sum()
    tied = gpt(1).graph(weight_type="int4")
    assert tied.params[0] == 2 * 64 * 100  # the table of an embedding is the head's, too, and stays


def phased() -> Model:
    """Return a model with two phases, one of which an operator has no part in."""
    model = llama(1)
    first, *others = model.operators
    both = replace(first, flop={"prefill": "100*seq", "decode": 7}, cache={"decode": 5000})
    tensors = (replace(model.tensors[1], bytes={"prefill": "2*seq", "decode": 2}), *model.tensors[2:])
    return replace(model, phases=("prefill", "decode"), operators=(both, *others), tensors=(model.tensors[0], *tensors))


def test_phases() -> None:
    graph = phased().graph(seq=8)
    assert [phase.name for phase in graph.phases] == ["prefill", "decode"]
    prefill, decode = (phase.graph for phase in graph.phases)
    assert prefill.costs is not None
    assert decode.costs is not None
    assert (prefill.costs.flop[0], decode.costs.flop[0]) == (800, 7)
    assert (prefill.output[0], decode.output[0], graph.output[0]) == (16, 2, 18)
    assert graph.memory[0] == graph.params[0] + 5000  # the most of any phase
    assert graph.origin is not None
    alone = phased().graph(seq=8, phase="decode")
    assert not alone.phases
    assert alone.output[0] == 2


def test_what_training_keeps() -> None:
    model = llama(1)
    operators = tuple(replace(each, saved="10*batch") for each in model.operators)
    weights = tuple(replace(each, state=8 * each.bytes) for each in model.weights)
    graph = replace(model, operators=operators, weights=weights).graph(batch=2)
    assert graph.saved.sum() == 20 * model.n
    assert (graph.state == 8 * graph.params).all()


@pytest.mark.parametrize("trained", [True, False])
def test_a_memory_that_leaves_training_out_is_told(trained: bool) -> None:
    model = llama(1)
    weights = tuple(replace(each, state=8 * each.bytes if trained else None) for each in model.weights)
    graph = with_times(replace(model, weights=weights).graph(batch=2), [DEVICE])

    def warned(constraint: Constraint) -> bool:
        problem = Problem.create(graph, [DEVICE], Shared(1e9), Objective("bottleneck"), [Acyclic(), constraint])
        return any("counts the parameters alone" in each for each in problem.warnings)

    assert warned(Memory()) == trained
    assert not warned(StageMemory(schedule="1f1b", microbatches=4))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bacth": 2}, "the model has no symbol or option 'bacth': its symbols are batch, seq; did you mean 'batch'?"),
        ({"groupby": "layer"}, "its symbols are batch, seq; did you mean 'group_by'?"),
        ({"batch": 0}, "batch is 0; the model was exported for 1 to 1024"),
        ({"batch": 1.5}, "batch is 1.5; it must be a whole number"),
        ({"phase": "decode"}, "the model has no phase 'decode': it has none"),
        ({"weight_type": "int5"}, "there is no type of numbers 'int5'; did you mean"),
        ({"experts_read": "distinct"}, "experts_read is expected or all_distinct, not 'distinct'; did you mean"),
        ({"ties": "copies"}, "ties is colocate or copy, not 'copies'; did you mean 'copy'?"),
    ],
)
def test_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        llama(1).graph(**options)
    assert said in str(caught.value)


def test_what_cannot_be_counted_and_sizes_below_zero() -> None:
    model = Model(
        (Operator("a"), Operator("b", flop=1)), (Tensor("t", 0, (1,), "batch - 2"),), symbols=llama(1).symbols
    )
    with pytest.raises(UsageError, match="tensor 't': the size 'batch - 2' is -1 with batch = 1"):
        model.graph(group_by="operator")
    costs = model.graph(group_by="operator", batch=3).costs
    assert costs is not None
    assert str(costs.flop.tolist()) == "[nan, 1.0]"


def test_a_weight_type_that_changes_nothing_is_warned_of() -> None:
    model = replace(llama(1), operators=tuple(replace(each, kind="norm") for each in llama(1).operators))
    assert graph_of(model, weight_type="int4").warnings == (
        "weight_type = int4 changes nothing: no product or convolution reads a weight",
    )


def test_experts_read_are_expected_or_all_distinct() -> None:
    """The model says which, and a spec may say otherwise; where there are no experts, saying it changes nothing."""
    plain = llama(1)
    head = replace(plain.operators[-1], weight_read="1000*experts(8, 2, batch)")
    usual = replace(plain, operators=(*plain.operators[:-1], head))
    bound = replace(usual, experts_read="all_distinct")

    def read(model: Model, **options: Any) -> float:
        costs = model.graph(group_by="operator", batch=4, **options).costs
        assert costs is not None
        return float(costs.read[costs.names.index(head.name)])

    assert read(bound) - read(usual) == pytest.approx(8000 - 5468.75)
    assert read(bound, experts_read="expected") == read(usual)
    assert read(usual, experts_read="all_distinct") == read(bound)
    assert not graph_of(usual, experts_read="all_distinct").warnings
    (said,) = graph_of(plain, experts_read="all_distinct").warnings
    assert said == "experts_read = all_distinct changes nothing: no operator of the model chooses among experts"


def test_views_take_no_memory_of_their_own() -> None:
    operators = tuple(
        Operator(name, kind=kind, flop=0) for name, kind in (("a", "matmul"), ("v", "view"), ("b", "matmul"))
    )
    tensors = (Tensor("x", 0, (1,), 100), Tensor("y", 1, (2,), 100), Tensor("z", 2, (), 7))
    for by, expected in (("module", (107.0,)), ("operator", (100.0, 100.0, 107.0))):
        origin = Model(operators, tensors, outputs=(2,)).graph(group_by=by).origin
        assert origin is not None
        assert origin.working == expected


def test_a_view_of_a_weight_takes_no_memory_of_its_own() -> None:
    """A transpose of the weights of experts is the weight, and so is a view of that view."""
    operators = (
        Operator("turned", kind="view", weights=(0,)),
        Operator("split", kind="view"),
        Operator("product", kind="matmul", read=4, write=8),
    )
    tensors = (Tensor("t", 0, (1,), 1000), Tensor("s", 1, (2,), 1000), Tensor("y", 2, (), 8))
    model = Model(operators, tensors, (Weight("w", 1000, "fp16", (10, 50)),), outputs=(2,))
    found = model.graph(group_by="module").origin
    assert found is not None
    assert max(found.working) == 8
