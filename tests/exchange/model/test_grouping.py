"""Groups of operators: no cycle, nothing lost, in the model's order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.grouping import Grouping, group
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator, Symbol, Tensor, Weight
from tests.small_models import gpt, llama

PATHS = (
    "embed",
    "model",
    "model.layers.0.a",
    "model.layers.0.b",
    "model.layers.1.a",
    "model.layers.1",
    "shared",
    "head",
)


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Return a model of random operators on random module paths: layers, modules around them, shared ones."""
    n = draw(st.integers(1, 14))
    operators, tensors = [], []
    weights = tuple(Weight(f"w{w}", draw(st.integers(0, 9)), "int8", (3, 3)) for w in range(3))
    for v in range(n):
        path = draw(st.sampled_from(PATHS))
        layer = next((int(part) for part in path.split(".") if part.isdigit()), None)
        reads = tuple(sorted(draw(st.sets(st.integers(0, 2), max_size=1))))
        again = not reads and draw(st.integers(0, 3)) == 0
        costs = {what: draw(st.integers(0, 5)) for what in ("flop", "read", "write", "cache")}
        costs["cache"] *= not again
        operators.append(
            Operator(f"o{v}", path=path, layer=layer, weights=reads, recomputable=again, kind="matmul", **costs)
        )
        for k in range(draw(st.integers(0, 2))):
            readers = draw(st.sets(st.integers(v + 1, n - 1), max_size=3)) if v + 1 < n else set()
            tensors.append(Tensor(f"t{v}.{k}", v, tuple(sorted(readers)), f"{draw(st.integers(0, 3))}*k"))
    outputs = tuple(t for t, tensor in enumerate(tensors) if not tensor.readers)
    return Model(tuple(operators), tuple(tensors), weights, outputs, {"k": Symbol(2)})


def check_sound(model: Model, found: Grouping) -> None:
    """Check what holds of all groupings, by their definition alone."""
    times = Counter(v for members in found.members for v in members)
    assert set(times) == set(range(model.n))
    for v, count in times.items():
        homes = [g for g, members in enumerate(found.members) if v in members]
        assert found.home[v] == homes[0]
        if count > 1:
            assert model.operators[v].recomputable
            assert all(v in found.copied[g] for g in homes)
    assert all(set(members) - found.copied[g] for g, members in enumerate(found.members))
    for u, v in model.edges:  # groups are in an order in which they can run, so there is no cycle
        for g in range(found.n):
            if v in found.members[g] and u not in found.members[g]:
                assert found.home[u] < g
    assert len(set(found.names)) == found.n


@given(models(), st.sampled_from(["operator", "module", "layer"]), st.sampled_from(["colocate", "copy"]))
def test_random_models(model: Model, by: str, ties: str) -> None:
    if by == "layer" and all(operator.layer is None for operator in model.operators):
        with pytest.raises(UsageError, match="no operator of the model is of a numbered layer"):
            group(model, by)
        return
    found = group(model, by)
    check_sound(model, found)
    graph = model.graph(group_by=by, ties=ties)
    assert graph.costs is not None
    assert graph.costs.flop.sum() == sum(operator.flop for operator in model.operators)  # type: ignore[misc]
    assert sorted(graph.costs.names) == sorted(operator.name for operator in model.operators)
    used = {w for operator in model.operators for w in operator.weights}
    held = [{w for v in members for w in model.operators[v].weights} for members in found.members]
    copies = sum(model.weights[w].bytes for weights in held for w in weights)
    assert graph.params.sum() == (copies if ties == "copy" else sum(model.weights[w].bytes for w in used))
    assert graph.origin is not None
    shared = [w for w in used if sum(w in weights for weights in held) > 1]
    together = {(w, tie.nodes) for tie in graph.origin.ties for w in shared if w in held[tie.nodes[0]]}
    assert {w for w, _ in together} == (set(shared) if ties == "colocate" else set())
    cache = sum(operator.cache for operator in model.operators)  # type: ignore[misc]
    assert graph.memory.sum() == graph.params.sum() + cache
    between = sum(2 * int(str(t.bytes)[0]) for t in model.tensors if crosses(model, found, t))
    assert graph.output.sum() == between
    assert graph.origin.working == tuple(at_once(model, members) for members in found.members)


def at_once(model: Model, members: tuple[int, ...]) -> float:
    """Return the most bytes of tensors that are there at once, step by step from the definition."""
    most = 0
    for step, v in enumerate(members):
        there = 0
        for t, tensor in enumerate(model.tensors):
            own = tensor.producer in members
            begun = members.index(tensor.producer) <= step if own else True  # type: ignore[arg-type]
            inside = [r for r in tensor.readers if r in members]
            needed = any(r >= v for r in inside) or (own and tensor.producer == v)
            sent = own and (t in model.outputs or len(inside) < len(tensor.readers))
            there += 2 * int(str(tensor.bytes)[0]) * (begun and (needed or sent) and (own or bool(inside)))
        most = max(most, there)
    return most


def kept(found: Grouping, tensor: Tensor) -> bool:
    """Return whether a tensor is computed in one group only, once."""
    return tensor.producer is not None and not any(tensor.producer in again for again in found.copied)


def crosses(model: Model, found: Grouping, tensor: Tensor) -> bool:
    """Return whether a group other than its own reads a tensor."""
    home = found.home[tensor.producer]  # type: ignore[index]
    return kept(found, tensor) and any(
        g != home and set(members) & set(tensor.readers) for g, members in enumerate(found.members)
    )


def test_a_module_around_the_layers_is_parted() -> None:
    names = group(gpt(3), "layer").names
    assert names[:4] == ("transformer.wte", "transformer.wpe", "transformer.before", "transformer.h[0]")
    assert names[-3:] == ("transformer.ln_f", "transformer.after", "lm_head")
    assert group(gpt(3), "layer").roles[-1] == "head"


def test_masks_and_rotary_tables_are_copied_into_the_layers() -> None:
    model = llama(3)
    found = group(model, "layer")
    assert found.names == ("model.embed_tokens", *(f"model.layers[{i}]" for i in range(3)), "model.norm", "lm_head")
    assert [len(again) for again in found.copied] == [0, 5, 5, 5, 0, 0]
    graph = model.graph()
    assert list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)) == [(v, v + 1) for v in range(5)]
    assert layout_of(graph).layers == ((1,), (2,), (3,))


def test_runs_of_modules() -> None:
    names = group(llama(1), "module").names
    assert names.count("model.layers[0].self_attn") == 1
    assert {"model.layers[0].run[0]", "model.layers[0].run[1]"} < {*names}
    assert {0} == set(group(llama(1), "module").layers) - {None}


def line(*operators: tuple[str, int | None]) -> Model:
    """Return operators on a line, of these paths and layers."""
    return Model(
        tuple(Operator(f"o{v}", path=path, layer=layer, flop=1) for v, (path, layer) in enumerate(operators)),
        tuple(Tensor(f"t{v}", v, (v + 1,), 1) for v in range(len(operators) - 1)),
    )


def test_a_layer_takes_in_what_lies_inside_it() -> None:
    found = group(line(("l.0", 0), ("shared", None), ("l.0", 0), ("shared", None), ("l.1", 1)), "layer")
    assert found.members == ((0, 1, 2), (3,), (4,))
    assert found.names == ("l[0]", "shared", "l[1]")
    assert not found.warnings


def test_layers_on_one_cycle_stay_parted() -> None:
    found = group(line(("l.0", 0), ("l.1", 1), ("l.0", 0), ("l.1", 1), ("l.2", 2)), "layer")
    assert found.names == ("l[0].run[0]", "l[1].run[0]", "l[0].run[1]", "l[1].run[1]", "l[2]")
    assert found.warnings == (
        "2 layers cannot be whole without a cycle between groups, and are parted into runs: l.0, l.1",
    )


def test_the_backward_pass_belongs_to_its_modules() -> None:
    model = line(("l.0", 0), ("l.1", 1), ("l.1", 1), ("l.0", 0))
    operators = tuple(replace(each, backward=v > 1, flop=1 + v) for v, each in enumerate(model.operators))
    model = replace(model, operators=operators)
    graph = model.graph(group_by="layer")
    assert graph.names == ("l[0]", "l[1]")
    assert graph.forward_share.tolist() == [1 / 5, 2 / 5]
    assert graph.output.tolist() == [2.0, 0.0]  # the tensor, and its gradient on the way back
    assert model.graph(group_by="operator").backward.tolist() == [False, False, True, True]


def test_unknown_words_are_refused() -> None:
    with pytest.raises(
        UsageError, match="group_by is operator, module, part or layer, not 'layers'; did you mean 'layer'"
    ):
        group(gpt(1), "layers")


def test_a_large_model_is_grouped_in_linear_time() -> None:
    one = [("embed", None), *((f"l.{i}.{part}", i) for i in range(3000) for part in "abc"), ("head", None)]
    assert group(line(*one), "layer").n == 3002
    inside = [(f"l.{i}" if k != 1 else "x", i if k != 1 else None) for i in range(1000) for k in range(3)]
    assert group(line(*inside), "layer").n == 1000


def made(paths: str, edges: str, again: str = "") -> Model:
    """Return operators of these paths, of layers where one begins with l, with an edge for each pair of numbers."""
    pairs = [tuple(map(int, pair.split(">"))) for pair in edges.split()]
    operators = []
    for v, path in enumerate(paths.split()):
        layer = int(path[2:]) if path.startswith("l.") else None
        operators.append(Operator(f"o{v}", path=path, layer=layer, flop=1, recomputable=str(v) in again.split()))
    tensors = [Tensor(f"t{u}", u, tuple(v for tail, v in pairs if tail == u), 1) for u in sorted({u for u, _ in pairs})]
    return Model(tuple(operators), tuple(tensors))


def test_what_a_copied_operator_reads_goes_to_every_copy() -> None:
    graph = made("embed rope l.0 l.1", "0>1 0>2 1>2 1>3 2>3", again="1").graph(group_by="layer")
    assert graph.names == ("embed", "l[0]", "l[1]")
    assert list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert graph.output.tolist() == [1, 1, 0]


def test_cycles_by_way_of_copied_operators_are_seen() -> None:
    model = made("l.0 rope x l.0 l.1", "0>1 1>2 2>3 3>4", again="1")
    found = group(model, "layer")
    check_sound(model, found)
    assert found.names == ("l[0]", "l[1]")


def test_operators_outside_are_joined_where_that_makes_no_cycle() -> None:
    before = made("m w m l.0 l.1", "0>1 1>2 2>3 3>4")
    assert group(before, "layer").names == ("m.run[0]", "w", "m.run[1]", "l[0]", "l[1]")
    beside = made("m w m l.0 l.1", "0>3 1>3 2>3 3>4")
    assert group(beside, "layer").names == ("m", "w", "l[0]", "l[1]")
