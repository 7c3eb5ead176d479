"""Generated graphs: what they promise, and what is said of wrong parameters."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError, UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.generators.basic import chain, layered, regal
from mtpp_dsl.exchange.generators.evoformer import evoformer
from mtpp_dsl.exchange.generators.generate import Parameter, generate, signature
from mtpp_dsl.exchange.generators.gpt import gpt
from mtpp_dsl.exchange.generators.inception import inception
from mtpp_dsl.exchange.generators.resnet import resnet
from mtpp_dsl.exchange.generators.rwnn import rwnn
from mtpp_dsl.exchange.generators.swin import swin

NAMES = sorted(registry.BUILTIN[registry.GENERATORS])
SEEDS = st.integers(0, 10**6)


def same(one: Graph, other: Graph) -> bool:
    times = one.times.keys() == other.times.keys() and all(
        np.array_equal(x, other.times[t]) for t, x in one.times.items()
    )
    return (
        times
        and one.names == other.names
        and all(
            np.array_equal(getattr(one, field), getattr(other, field))
            for field in ("tails", "heads", "work", "params", "output", "memory")
        )
    )


def edges(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))


@pytest.mark.parametrize("name", [name for name in NAMES if any(p.name == "seed" for p in signature(name))])
@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_seed_decides(name: str, seed: int) -> None:
    """Equal parameters give equal graphs, another seed another graph."""
    assert same(generate(name, seed=seed), generate(name, seed=seed))
    assert not same(generate(name, seed=seed), generate(name, seed=seed + 1))


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_matters(name: str) -> None:
    """No parameter is accepted and then ignored: each can change the graph."""
    other = {"model": "ws", "dependence": "weak", "reading": "own-memory", "p": 0.9, "spread": 0.1, "heads": 4}
    other |= {"kept": 0.5, "fused": True, "hidden": 384, "affinity": 0.2, "types": "gpu", "dtype": "fp16"}
    other |= {"depths": "1, 1, 1, 2"} | ({"width": 48} if name == "swin" else {})
    other |= {"shards": 2, "pair_shards": 2, "pair_heads": 8, "msa": 128, "pair": 64} if name == "evoformer" else {}
    base: dict[str, object] = {
        "rwnn": {"modules": 2, "affinity": 0.5, "types": "cpu"},
        "gpt": {"layers": 1, "intensity": 0.0},
        "swin": {"depths": "1, 1, 1, 1", "heads": 2, "intensity": 0.0},
        "evoformer": {"blocks": 1, "intensity": 0.0},
    }.get(name, {})
    for parameter in signature(name):
        value: object = other.get(parameter.name) or (parameter.default or 0) * 2 + 1  # type: ignore[operator]
        assert not same(generate(name, **{**base, parameter.name: value}), generate(name, **base)), parameter.name


@pytest.mark.parametrize(
    ("layers", "heads", "operators"),
    [(32, 16, 6496), (56, 32, 22120), (24, 16, 4872), (24, 32, 9480), (40, 40, 19640), (48, 8, 5136), (128, 32, 50560)],
)
def test_gpt_has_as_many_operators_as_published(layers: int, heads: int, operators: int) -> None:
    """Law: the sizes of zhang2023, Table IV, follow from layers and heads alone."""
    assert gpt(layers, 8 * heads, heads, sequence=16).n == operators


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 9), st.sampled_from([0, 50]))
def test_gpt_counts_what_it_computes(layers: int, heads: int, sequence: int, vocabulary: int) -> None:
    """Law: without a roofline matrix products take what textbooks say, and parameters are those of a transformer."""
    hidden = 4 * heads
    graph = gpt(layers, hidden, heads, sequence, vocabulary=vocabulary, bytes=2, intensity=0.0)
    products = sum(w for w, kind in zip(graph.work, graph.kinds, strict=True) if kind == "matmul")
    per_layer = 2 * sequence * 12 * hidden**2 + 4 * sequence**2 * hidden
    assert products == pytest.approx(layers * per_layer + 2 * sequence * hidden * vocabulary)
    weights = layers * (12 * hidden**2 + 13 * hidden)
    weights += (2 * vocabulary + sequence + 2) * hidden if vocabulary else 0
    assert graph.params.sum() == pytest.approx(2 * weights)
    assert (gpt(layers, hidden, heads, sequence, intensity=9.0).work >= 9 * graph.output.min()).all()


def test_gpt_is_gpt_3_when_asked() -> None:
    """Law: the layers of GPT-3 have 174 billion parameters (brown2020, Table 2.1, without embeddings)."""
    graph = gpt(layers=2, hidden=12288, heads=96, sequence=20, shards=4)
    assert 96 / 2 * graph.params.sum() / 2 == pytest.approx(174e9, rel=1e-3)


@given(st.integers(1, 3), st.sampled_from([1, 2, 3, 6]), st.integers(1, 9))
def test_shards_of_gpt_share_the_work(layers: int, shards: int, sequence: int) -> None:
    """Law: however heads are cut, the operators compute, hold and write the same; heads apart are the default."""
    whole = gpt(layers, 48, 6, sequence, intensity=0.0)
    cut = gpt(layers, 48, 6, sequence, intensity=0.0, shards=shards)
    assert cut.n == layers * (11 + 12 * shards)
    for column in ("work", "params", "output"):
        assert getattr(cut, column).sum() == pytest.approx(getattr(whole, column).sum())
    assert same(whole, gpt(layers, 48, 6, sequence, intensity=0.0, shards=6))
    fused = gpt(layers, 48, 6, sequence, intensity=0.0, shards=shards, fused=True)
    assert fused.n == layers * (4 + 4 * shards)
    assert fused.params.sum() == pytest.approx(whole.params.sum())
    assert fused.work.sum() == pytest.approx(whole.work.sum() + layers * 2 * (shards - 1) * sequence * 48)


def test_swin_is_swin_t() -> None:
    """Law: the parameters and multiplications that torchvision's ``swin_t`` has: 28,288,354 and 4.491 G."""
    graph = swin(intensity=0.0)
    assert graph.params.sum() == 2 * 28_288_354
    products = sum(w for w, kind in zip(graph.work, graph.kinds, strict=True) if kind in ("matmul", "conv"))
    assert products / 2 == pytest.approx(4.491e9, rel=1e-3)
    assert graph.labels[-1] == "classes bias"
    assert graph.n == 27 + 6 * (13 + 15) + 25 * (3 + 6 + 3 * 12 + 24)


@given(st.tuples(*[st.integers(1, 2)] * 4), st.integers(1, 3), st.integers(32, 80), st.sampled_from([0, 1]))
def test_swin_counts_its_layers(depths: tuple[int, ...], heads: int, resolution: int, shards: int) -> None:
    """Law: 13 + 12 heads operators in a layer, 15 + 13 in a shifted one, 27 elsewhere; one source and one sink."""
    graph = swin(", ".join(map(str, depths)), 4 * heads, heads, resolution, window=3, shards=shards)
    parts = [shards or heads * 2**stage for stage in range(4)]
    shifted = [depth // 2 for depth in depths]
    plain = [depth - other for depth, other in zip(depths, shifted, strict=True)]
    each = zip(plain, shifted, parts, strict=True)
    assert graph.n == 27 + sum(a * (13 + 12 * p) + b * (15 + 13 * p) for a, b, p in each)
    assert int((np.diff(graph.offsets_in) == 0).sum()) == int((np.diff(graph.offsets) == 0).sum()) == 1


def test_evoformer_is_that_of_alphafold() -> None:
    """Law: a block has the parameters that the supplement of Jumper et al. (2021) says, and 48 have 88 million."""
    m, z, c = 256, 128, 32
    gated = 5 * m * m + 2 * m  # queries, keys, values, gate with bias, output with bias
    triangle = 5 * z * z + 2 * z + 4 * z + 2 * z  # the same of pairs, the bias of 4 heads, the norm
    multiply = 6 * z * z + 6 * z + 4 * z
    wide = [8 * width**2 + 5 * width + 2 * width for width in (m, z)]
    outer = 2 * (m * c + c) + c * c * z + z + 2 * m
    block = (gated + 2 * m + 2 * z + 8 * z) + (gated + 2 * m) + sum(wide) + outer + 2 * multiply + 2 * triangle
    graph = evoformer(blocks=2, intensity=0.0)
    assert graph.params.sum() == 2 * 2 * block
    assert 48 * block == pytest.approx(88e6, rel=0.005)


@given(st.integers(1, 2), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]))
def test_shards_of_evoformer_share_the_work(blocks: int, shards: int, pair_shards: int) -> None:
    """Law: however heads are cut, a block computes and holds the same, in 97 + 25 shards + 26 pair_shards operators."""
    shape = {"msa": 16, "pair": 8, "heads": 4, "pair_heads": 2, "sequences": 3, "residues": 5, "intensity": 0.0}
    whole = generate("evoformer", blocks=blocks, **shape)
    cut = generate("evoformer", blocks=blocks, shards=shards, pair_shards=pair_shards, **shape)
    assert cut.n == blocks * (97 + 25 * shards + 26 * pair_shards)
    for column in ("work", "params"):
        assert getattr(cut, column).sum() == pytest.approx(getattr(whole, column).sum())
    assert int((np.diff(cut.offsets) == 0).sum()) == 1  # the pairs, which read the sequences


@pytest.mark.parametrize("name", ["gpt", "swin", "evoformer"])
def test_types_of_numbers_give_costs(name: str) -> None:
    """Law: with a dtype the operators have costs and no work; their operations are the work without a roofline."""
    small = {"gpt": {"layers": 1}, "swin": {"depths": "1, 1, 1, 1"}, "evoformer": {"blocks": 1}}[name]
    plain = generate(name, intensity=0.0, **small)
    costed = generate(name, intensity=0.0, dtype="fp16", **small)
    assert costed.costs is not None
    np.testing.assert_array_equal(costed.costs.flop, plain.work)
    assert not costed.work.any()
    assert set(costed.costs.dtypes) == {"fp16"}
    assert (costed.params == plain.params).all()
    with pytest.raises(UsageError, match="goes with intensity = 0"):
        generate(name, dtype="fp16", **small)


def test_inception_is_inception_v3() -> None:
    """Law: 94 convolutions, 23,834,568 parameters, 5.7 G multiplications: what torchvision's model has at inference."""
    graph = inception(intensity=0.0)
    assert graph.kinds.count("conv") == 94
    assert graph.params.sum() == 2 * 23_834_568
    assert 11.4e9 < graph.work.sum() < 11.6e9
    assert int((np.diff(graph.offsets_in) == 0).sum()) == int((np.diff(graph.offsets) == 0).sum()) == 1
    assert graph.labels[-1] == "classes"
    assert (graph.memory == graph.params + graph.output).all()


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(75, 320), st.integers(1, 8))
def test_inception_modules(first: int, second: int, third: int, resolution: int, batch: int) -> None:
    """Law: a module more is its operators more; a batch takes its multiple where bytes of weights count for nothing."""
    graph = inception(first, second, third, resolution, batch, intensity=0.0)
    assert graph.n == 23 + 9 * first + 12 * second + 13 * third
    one = inception(first, second, third, resolution, intensity=0.0)
    np.testing.assert_allclose(graph.work, batch * one.work)
    np.testing.assert_allclose(graph.output, batch * one.output)


def test_resnet_is_a_network_of_blocks() -> None:
    """Law: one source, one sink; 16 blocks have 53 convolutions and some 8 GFLOP, as ResNet-50."""
    graph = resnet(intensity=0.0)
    assert graph.kinds.count("conv") == graph.kinds.count("bn") == 53
    assert int((np.diff(graph.offsets_in) == 0).sum()) == int((np.diff(graph.offsets) == 0).sum()) == 1
    assert 7e9 < graph.work.sum() < 9e9


@given(st.integers(1, 40), SEEDS)
def test_chain(nodes: int, seed: int) -> None:
    """A chain has its nodes in a row, with weights within the spread."""
    graph = chain(nodes, work=4.0, spread=0.25, seed=seed)
    assert edges(graph) == [(v, v + 1) for v in range(nodes - 1)]
    assert ((graph.work >= 3) & (graph.work <= 5)).all()
    assert (graph.work_unit, graph.size_unit) == ("", "")


@given(st.integers(1, 40), st.integers(1, 8), st.sampled_from([0.0, 0.3, 1.0]), SEEDS)
def test_layered(nodes: int, width: int, p: float, seed: int) -> None:
    """Every node beyond the first layer reads the layer before: all of it at p = 1, one node at p = 0."""
    graph = layered(nodes, width, p, seed=seed)
    assert graph.n == nodes
    for v in range(nodes):
        reads = graph.predecessors(v).tolist()
        assert all(u // width == v // width - 1 for u in reads)
        if v >= width:
            assert 1 <= len(reads) <= width
            assert p > 0 or len(reads) == 1
            assert p < 1 or len(reads) == width


@given(st.integers(5, 60), st.sampled_from(["er", "ba", "ws", "sbm"]), SEEDS)
def test_regal_costs(nodes: int, model: str, seed: int) -> None:
    """A node costs at least what it reads and writes (literal), or about that (own-memory), on one topology."""
    literal, own = (regal(nodes, model, reading, seed) for reading in ("literal", "own-memory"))
    assert edges(literal) == edges(own)
    assert literal.output.tolist() == own.output.tolist()
    io = np.array([own.output[v] + own.output[own.predecessors(v)].sum() for v in range(nodes)])
    r = own.work / io - 1
    np.testing.assert_allclose(literal.work, io + np.abs(r) * own.output.sum(), rtol=1e-9)


def test_regal_statistics() -> None:
    """Sizes are near 50 ± 10, r near 0 ± 0.1, and the order of the nodes is random, not that of the base graph."""
    graph = regal(3000, "ba", "own-memory", seed=3)
    assert graph.output.mean() == pytest.approx(50, abs=1)
    assert graph.output.std() == pytest.approx(10, abs=1)
    io = np.array([graph.output[v] + graph.output[graph.predecessors(v)].sum() for v in range(graph.n)])
    assert (graph.work / io - 1).std() == pytest.approx(0.1, abs=0.01)
    assert (graph.tails < graph.heads).mean() == pytest.approx(0.5, abs=0.05)
    assert graph.m == 2 * (3000 - 2)


RWNN = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["er", "ws", "ba"]),
        "nodes": st.integers(6, 14),
        "modules": st.integers(1, 4),
        "channels": st.integers(1, 4),
        "dependence": st.sampled_from(["strong", "weak"]),
        "seed": SEEDS,
    }
)


@given(RWNN)
def test_rwnn_modules_and_channels(given: dict[str, object]) -> None:
    """There are nodes times modules nodes, and edges between modules are the channels to the next, no more."""
    graph = generate("rwnn", **given)
    size, modules, channels = (int(str(given[name])) for name in ("nodes", "modules", "channels"))
    assert graph.n == size * modules
    assert graph.labels[-1] == f"module {modules - 1}, node {size - 1}"
    crossing = [(u, v) for u, v in edges(graph) if u // size != v // size]
    assert len(crossing) == channels * (modules - 1)
    assert all(v // size == u // size + 1 for u, v in crossing)
    for ends in (sorted(u for u, _ in crossing), sorted(v for _, v in crossing)):
        assert len(set(ends)) == len(ends)


@given(RWNN)
def test_rwnn_strong_dependence(given: dict[str, object]) -> None:
    """Under strong dependence every node of a later module follows a channel, of an earlier one precedes one."""
    graph = generate("rwnn", **{**given, "dependence": "strong"})
    modules, channels = (int(str(given[name])) for name in ("modules", "channels"))
    read = set(graph.heads.tolist())
    reads = set(graph.tails.tolist())
    for v in range(graph.n):
        assert v in read or v < channels
        assert v in reads or v >= graph.n - channels
    if channels == 1 and modules > 1:
        view = nx.Graph(edges(graph))
        assert len(list(nx.bridges(view))) >= modules - 1
        assert nx.is_connected(view)


def test_rwnn_weak_dependence_adds_nothing() -> None:
    """Under weak dependence a module is the bare random graph: some modules have parts that hang on no channel."""
    graphs = [rwnn(modules=3, dependence="weak", seed=seed) for seed in range(20)]
    loose = [set(range(10, 30)) - set(graph.heads.tolist()) for graph in graphs]
    assert all(loose)


def test_rwnn_base_graphs() -> None:
    """ws has 2 edges per node and ba 5 per node after the first; er 0.2 of all pairs, or p of them."""
    assert rwnn("ws", nodes=32, dependence="weak").m == 64
    assert rwnn("ba", nodes=32, dependence="weak").m == 5 * (32 - 5)
    assert rwnn("er", nodes=300, dependence="weak").m == pytest.approx(0.2 * 300 * 299 / 2, rel=0.03)
    assert rwnn("er", p=0.5, nodes=300, dependence="weak").m == pytest.approx(0.5 * 300 * 299 / 2, rel=0.03)


def test_rwnn_affinity() -> None:
    """With an affinity every named type has times of its own around the work, and the rest of the graph is the same."""
    plain, graph = rwnn(modules=3), rwnn(modules=3, types="cpu, gpu", affinity=0.4)
    assert (graph.heads.tolist(), graph.work.tolist()) == (plain.heads.tolist(), plain.work.tolist())
    assert list(graph.times) == ["cpu", "gpu"]
    ratios = [graph.times[name] / graph.work for name in graph.times]
    assert all(((ratio >= 0.6) & (ratio <= 1.4)).all() for ratio in ratios)
    assert not (ratios[0] == ratios[1]).any()
    for half in ({"types": "cpu"}, {"affinity": 0.4}):
        with pytest.raises(UsageError, match="go together"):
            rwnn(**half)  # type: ignore[arg-type]


def test_rwnn_units() -> None:
    """Running times are seconds and sizes bytes, so that a spec may give its links in bytes per second."""
    graph = rwnn()
    assert (graph.work_unit, graph.size_unit, graph.memory_unit) == ("s", "B", "B")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("chain", {"nodes": 0}, "nodes must be at least 1, not 0"),
        ("chain", {"nodes": 1_000_001}, "this would make 1,000,001 nodes; at most 1,000,000 are made"),
        ("chain", {"node": 3}, "generator 'chain' has no parameter 'node'; did you mean 'nodes'?"),
        ("chain", {"nodes": 2.5}, "generator 'chain': nodes must be a whole number, not 2.5"),
        ("chain", {"nodes": "3"}, "nodes must be a whole number, not '3'"),
        ("chain", {"nodes": True}, "nodes must be a whole number, not True"),
        ("chain", {"work": float("nan")}, "work must be a number, not nan"),
        ("chain", {"work": float("inf")}, "work must be a number, not inf"),
        ("chain", {"work": -1}, "work must be at least 0, not -1"),
        ("chain", {"spread": 2}, "spread must lie between 0 and 1, not 2"),
        ("chain", {"seed": -1}, "seed must be at least 0"),
        ("gpt", {"heads": 7}, "multiple of heads"),
        ("gpt", {"shards": 5}, "shards is 5; it must divide heads, 12"),
        ("inception", {"resolution": 74}, "resolution must be at least 75"),
        ("inception", {"kept": 1.5}, "kept must lie between 0 and 1"),
        ("gpt", {"layers": 10**6}, "at most 1,000,000"),
        ("resnet", {"resolution": 8}, "resolution must be at least 32"),
        ("layered", {"width": 0}, "width must be at least 1"),
        ("layered", {"nodes": 1_000_000, "width": 100_000}, "some 45,000,450,000 edges; at most 2,000,000"),
        ("regal", {"model": "err"}, "model must be one of er, ba, ws, sbm, not 'err'; did you mean 'er'?"),
        ("regal", {"reading": "own"}, "reading must be one of literal, own-memory"),
        ("regal", {"nodes": 1_000_000}, "some 24,999,975,000 edges"),
        ("regal", {"model": "sbm", "nodes": 3}, "nodes (sbm has 4 blocks) must be at least 4"),
        ("regal", {"model": 3}, "model must be a string, not 3"),
        ("rwnn", {"nodes": 1000, "modules": 1001}, "this would make 1,001,000 nodes"),
        ("rwnn", {"model": "ba", "p": 0.2}, "model ba has no parameter p"),
        ("rwnn", {"model": "ba", "nodes": 5}, "nodes (ba joins every node to 5) must be at least 6"),
        ("rwnn", {"model": "ws", "nodes": 4}, "nodes (ws joins 4 neighbours) must be at least 5"),
        ("rwnn", {"channels": 11}, "channels must be at most nodes (10), not 11"),
        ("rwnn", {"dependence": "strongly"}, "dependence must be one of strong, weak"),
        ("rwnn", {"p": 1.5}, "p must lie between 0 and 1"),
    ],
)
def test_wrong_parameters(name: str, values: dict[str, object], message: str) -> None:
    """A wrong parameter is an error that says what is right, at once, whatever the size asked for."""
    with pytest.raises(UsageError) as caught:
        generate(name, **values)
    assert message in str(caught.value)


def test_numbers_convert_without_loss() -> None:
    """A spec's arithmetic may give 3.0 or 6/2 for a count, and 1 for a float."""
    assert generate("chain", nodes=3.0).n == 3
    assert generate("chain", nodes=Fraction(6, 2)).n == 3
    assert same(generate("chain", work=Fraction(1, 2)), generate("chain", work=0.5))
    assert generate("chain", seed=2**70).n == 16


def test_signature() -> None:
    """A signature gives names, types and defaults; an optional parameter has the default None."""
    assert signature("chain")[0] == Parameter("nodes", int, 16)
    assert Parameter("p", float, None) in signature("rwnn")


def test_unknown_generator() -> None:
    """An unknown generator is named, with a near one."""
    with pytest.raises(PluginError, match="there is no generator 'chian'; did you mean 'chain'"):
        generate("chian")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda nodes=3: chain(nodes), "its parameter 'nodes' needs a default and an annotation"),
        (lambda: 3, "returned a int, not a Graph"),
    ],
)
def test_generators_that_break_the_contract(monkeypatch: pytest.MonkeyPatch, function: object, message: str) -> None:
    """A plug-in that does not keep to the contract is named, not half obeyed."""
    monkeypatch.setattr(registry, "load", lambda *_: function)
    with pytest.raises(PluginError, match=message):
        generate("acme")
