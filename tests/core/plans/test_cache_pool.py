"""What caches hold: held against the arithmetic of vLLM, and the recount of the check."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from random import Random

import numpy as np
import pytest

import mtpp_dsl
from mtpp_dsl.checks.cache_check import held_by_caches, whole_blocks
from mtpp_dsl.core.constraints import Blocks, Copies, Memory, Replicate, StageMemory
from mtpp_dsl.core.errors import ConstraintError, UsageError
from mtpp_dsl.core.plans.cache_pool import cache_pool
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.growth import why_not_larger
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.claims import false_claims
from mtpp_dsl.solving.answers.json import result_to_json

SPEC = """mtpp 1
graph {{
  node layer[6] (work = 1 ms, params = 1 GB, cache = 64 MB, memory = params + cache, output = 1 MB{more})
  edge layer[i] -> layer[i + 1] for i in 0..4
}}
device a (memory = 5 GB, reserve = 0.5 GB)
device b (memory = 4 GB, reserve = 0.5 GB)
interconnect shared (bandwidth = 10 GB/s)
minimize bottleneck
{rule}
"""


def served_by_vllm(room: list[int], weights: list[int], layers: list[int], page: int, need: int) -> int | None:
    """Return the blocks of vLLM 0.11's ``get_kv_cache_configs`` for layers with equal pages; None where it gives up.

    Args:
        room: what each rank may use.
        weights: that each rank has.
        layers: that each rank has.
        page: bytes of one block of one layer.
        need: blocks of one request of the greatest length.
    """
    blocks = []
    for total, taken, count in zip(room, weights, layers, strict=True):
        available = total - taken
        if available <= 0 or need * page * count > available:
            return None  # ValueError: No available memory, or too little for one request
        blocks.append(int(available // page // count))
    return min(blocks)


def chain(draw: Random, layers: int, tokens: int, per_token: int) -> tuple[Graph, list[int]]:
    """Return a chain of layers that cache as much each, and the weights of the layers."""
    weights = [draw.choice([0, 1, 10**6, 3 * 10**8, 7 * 10**8 + 1]) for _ in range(layers)]
    cache = tokens * per_token
    graph = Graph.create(
        [f"layer[{i}]" for i in range(layers)],
        [(i, i + 1) for i in range(layers - 1)],
        work=1.0,
        params=weights,
        memory=[weight + cache for weight in weights],
        cache=cache,
        size_unit="B",
    )
    return graph, weights


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_those_of_vllm(seed: int) -> None:
    """The plan is one that vLLM starts exactly where memory is kept to, and has as many blocks then."""
    draw = Random(seed)
    k, block, per_token = draw.randint(1, 4), draw.choice([1, 8, 16]), draw.choice([1, 512, 4096])
    counts = [draw.randint(1, 5) for _ in range(k)]
    longest = draw.randint(1, 5000)
    need = ceil(longest / block)
    graph, weights = chain(draw, sum(counts), need * block, per_token)
    ends = np.cumsum(counts)
    parts = [weights[end - count : end] for end, count in zip(ends, counts, strict=True)]
    page = block * per_token
    needed = [sum(part) + need * page * count for part, count in zip(parts, counts, strict=True)]
    room = [max(0, least + draw.choice([-1, 0, 1, 10**7, 10**9])) for least in needed]
    devices = [Device(f"d{i}", memory=float(size)) for i, size in enumerate(room)]
    rule = Memory(pool=Blocks(tokens=need * block, block=block))
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[rule])
    plan = Plan.create(problem, np.repeat(np.arange(k), counts))
    theirs = served_by_vllm(room, [sum(part) for part in parts], counts, page, need)
    starts = all(size >= least for size, least in zip(room, needed, strict=True))
    assert (theirs is not None) == starts
    if theirs is None:
        return
    assert not mtpp_dsl.verify(problem, plan)
    pool = cache_pool(problem, plan)
    assert pool is not None
    assert (pool.blocks, pool.tokens) == (theirs, theirs * block)
    recount = held_by_caches(problem, plan)
    assert recount is not None
    assert pool.device in recount[1]
    assert float(recount[0]) == pytest.approx(pool.times, rel=1e-12)
    assert theirs in whole_blocks(recount[0], need * block, block)


def test_the_answer_says_it_and_verify_counts_it_again() -> None:
    problem = mtpp_dsl.load(SPEC.format(more="", rule="constraint cache uniform (tokens = 1600, block = 16)"))
    result = mtpp_dsl.solve(problem, method="exact")
    data = result_to_json(problem, result)
    assert data["cache"] == {"times": pytest.approx(500 / 192), "device": "b", "blocks": 260, "tokens": 4160}
    assert result.plan is not None
    assert not list(false_claims(problem, data, result.plan))
    for false in ({"blocks": 261, "tokens": 4176}, {"device": "a"}, {"times": 2.7}):
        wrong = {**data, "cache": {**data["cache"], **false}}
        assert any("cache" in claim for claim in false_claims(problem, wrong, result.plan))
    assert any("cache" in claim for claim in false_claims(problem, {**data, "cache": None}, result.plan))
    text = "\n".join(str(line) for line in mtpp_dsl.load(problem.to_spec()).constraints)
    assert "cache uniform" in text


def test_without_tokens_it_is_how_often() -> None:
    problem = mtpp_dsl.load(SPEC.format(more="", rule="constraint cache uniform"))
    pool = cache_pool(problem, Plan.create(problem, [0, 0, 0, 1, 1, 1]))
    assert pool is not None
    assert (pool.tokens, pool.blocks, pool.times) == (None, None, pytest.approx(500 / 192))
    assert cache_pool(problem, Plan.create(problem, [0] * 6)).times < 1  # type: ignore[union-attr]
    assert cache_pool(problem.with_constraints([Memory()]), Plan.create(problem, [0] * 6)) is None


def test_phases_keep_the_most() -> None:
    text = SPEC.replace("64 MB", "{{prefill: 0 B, decode: 64 MB}}").replace("mtpp 1", "mtpp 1\nphase prefill, decode")
    problem = mtpp_dsl.load(text.format(more="", rule="constraint cache uniform (tokens = 16)").replace(
        "memory = params + cache, ", ""))  # fmt: skip
    assert problem.graph.cache.tolist() == [64e6] * 6
    assert problem.graph.memory.tolist() == [1.065e9] * 6
    assert [phase.graph.cache[0] for phase in problem.graph.phases] == [64e6, 64e6]
    again = mtpp_dsl.load(problem.to_spec())
    assert again.graph.cache.tolist() == problem.graph.cache.tolist()
    assert again.constraints == problem.constraints


def test_larger_tokens_are_larger_problems() -> None:
    one, two = (
        mtpp_dsl.load(SPEC.replace("64 MB", f"{t} MB").format(more="", rule=f"constraint cache uniform (tokens = {t})"))
        for t in (16, 17)
    )
    assert not why_not_larger(one, two)
    assert why_not_larger(two, one)


def test_what_has_no_meaning_is_refused() -> None:
    graph = Graph.create("ab", [(0, 1)], work=1.0, params=1.0, cache=1.0)
    devices = [Device("x", memory=9.0), Device("y", memory=9.0)]
    assert graph.memory.tolist() == [2.0, 2.0]
    pool = Memory(pool=Blocks(tokens=4, block=2))
    stages = StageMemory(schedule="1f1b", microbatches=2)
    for other in (Copies(most=2), Replicate(most=2), stages, replace(pool, pool=Blocks())):
        with pytest.raises((ConstraintError, UsageError)):
            Problem.create(graph, devices, Shared(1.0), constraints=[pool, other])
    for wrong in (Blocks(tokens=3, block=2), Blocks(tokens=0), Blocks(block=0)):
        with pytest.raises(ConstraintError, match="whole blocks"):
            Problem.create(graph, devices, Shared(1.0), constraints=[Memory(pool=wrong)])
    with pytest.raises(UsageError, match="counts its cache"):
        Graph.create("a", [], memory=1.0, cache=2.0)
    with pytest.raises(mtpp_dsl.MtppError, match="48 tokens"):
        mtpp_dsl.load(SPEC.format(more="", rule="constraint cache uniform (tokens = 40, block = 16)"))


def test_a_cache_that_nothing_counts_is_warned_of() -> None:
    spec = SPEC.replace(" (memory = 5 GB, reserve = 0.5 GB)", "").replace(" (memory = 4 GB, reserve = 0.5 GB)", "")
    problem = mtpp_dsl.load(spec.format(more="", rule=""))
    assert any("cache of layer[0]" in warning for warning in problem.warnings)
    bare = mtpp_dsl.load(SPEC.replace("cache = 64 MB, ", "").format(more="", rule="constraint cache uniform"))
    assert any("asks no more" in warning for warning in bare.warnings)


def test_targets_add_it() -> None:
    problem = mtpp_dsl.load(SPEC.format(more="", rule="target vllm"))
    assert problem.cache_blocks == Blocks(block=16)
    stated = mtpp_dsl.load(SPEC.format(more="", rule="constraint memory\ntarget sglang"))
    assert stated.cache_blocks == Blocks(block=1)
    assert not any("least room" in warning for warning in problem.warnings)


def test_fractions_do_not_round_a_whole_block_away() -> None:
    assert whole_blocks(Fraction(10) - Fraction(1, 10**12), 1, 1) == {9, 10}


def test_a_device_that_has_no_room_for_caches_has_the_least() -> None:
    """Its memory is what its node takes without the cache: that fits 0 times."""
    graph = Graph.create("a", [], work=1.0, memory=3.0, params=2.0, cache=1.0)
    problem = Problem.create(graph, [Device("p", memory=2.0)], Shared(1.0), constraints=[Memory(pool=Blocks())])
    assert held_by_caches(problem, Plan.create(problem, [0])) == (0, {0})


def test_devices_without_caches_or_limits_do_not_count() -> None:
    """Caches fit twice on the first device and three times on the second; the others have none, or no limit."""
    graph = Graph.create("abcd", [], work=1.0, memory=2.0, params=1.0, cache=[1.0, 1.0, 0.0, 1.0])
    devices = [Device("p", memory=3.0), Device("q", memory=4.0), Device("r", memory=9.0), Device("s")]
    problem = Problem.create(graph, devices, Shared(1.0), constraints=[Memory(pool=Blocks())])
    assert held_by_caches(problem, Plan.create(problem, [0, 1, 2, 3])) == (2, {0})
