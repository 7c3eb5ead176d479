"""Tests of the rules by which runtimes place what files say, as tables and against their own code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random

import pytest

from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.runtimes.targets.deepspeed import DeepSpeed
from mtpp_dsl.runtimes.targets.layer_counts import Layers, counts_in
from mtpp_dsl.runtimes.targets.llama_cpp import LlamaCpp, placed
from mtpp_dsl.runtimes.targets.megatron import Megatron, stages_of
from tests.runtimes.targets.splits import STAMP, split, stack


@pytest.fixture(scope="module")
def megatron() -> Callable[[str, int, int], None]:
    """Return what raises where Megatron's own parser or validator refuses a layout of so many layers and stages."""
    pytest.importorskip("megatron.core", reason="the layouts are held against Megatron's parser: pip install it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout

    def check(written: str, layers: int, stages: int) -> None:
        PipelineParallelLayerLayout(written, stages).validate_layer_layout(layers, None)

    return check


def of_layers(layers: int, devices: int) -> Problem:
    """Return a stack of so many layers."""
    random = Random(layers)
    while True:
        problem = stack(random, devices)
        names = problem.graph.names
        if {"layer[0]", f"layer[{layers - 1}]"} <= {*names} and f"layer[{layers}]" not in names:
            return problem


@pytest.mark.parametrize(
    ("shares", "layers", "offloaded", "expected"),
    [
        ([3, 2], 4, None, [0, 0, 0, 1, 1]),
        ([2, 2], 4, None, [0, 0, 0, 1, 1]),  # the output forgotten: the first boundary is one layer off
        ([24, 24, 23, 10], 80, None, [0] * 24 + [1] * 24 + [2] * 23 + [3] * 10),
        ([80, 48], 9, None, [0] * 7 + [1] * 3),  # shares of memory
        ([0, 5], 4, None, [1] * 5),
        ([1, 1], 4, 2, [-1, -1, -1, 0, 1]),
        ([1], 2, 0, [-1, -1, -1]),
    ],
)
def test_llama_cpp_places_items_by_shares(
    shares: list[float], layers: int, offloaded: int | None, expected: list[int]
) -> None:
    assert placed(shares, layers, offloaded) == expected


def test_counts_of_items_come_back_from_llama_cpps_rule() -> None:
    random = Random(0)
    for _ in range(2000):
        layers, gpus = random.randint(1, 200), random.randint(1, 8)
        cuts = sorted(random.randint(0, layers + 1) for _ in range(gpus - 1))
        counts = [high - low for low, high in zip([0, *cuts], [*cuts, layers + 1], strict=True)]
        where = placed(counts, layers)
        assert [where.count(d) for d in range(gpus)] == counts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3,2", (0, 0, 0, 0, 1, 1)),
        ("llama-server -m a.gguf -ngl 99 -ts 3,2 -c 4096", (0, 0, 0, 0, 1, 1)),
        ("--tensor-split '3,2' --n-gpu-layers=5", (0, 0, 0, 0, 1, 1)),
        ("-ts 2,2", "the output is an item too, and is lost here. .* would place 3,2: validate these"),
        ("-ts 80,48", "adds up to 128.* would place 4,1: validate these"),
        ("-ngl 3 -ts 2,1", "leaves 2 of 5 items on the host, and the spec has no CPU"),
        ("-ts 2,2,1", "too many stages"),
    ],
)
def test_llama_cpp_is_read_with_its_last_item(text: str, expected: tuple[int, ...] | str) -> None:
    problem = of_layers(4, 2)
    if isinstance(expected, str):
        with pytest.raises(UnsoundSplit, match=expected):
            LlamaCpp().read(text, problem)
    else:
        assert LlamaCpp().read(text, problem).assignment[:6] == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-ngl 99 --cpu-moe", r"for each of gpu\[0\], gpu\[1\], which add up to 5, .*: -ts 3,2$"),
        ("hello, world", "there are no counts of items in it: write a launch line, or a"),
    ],
)
def test_llama_cpp_says_which_shares_are_missing(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        LlamaCpp().read(text, of_layers(4, 2))


@pytest.mark.parametrize(
    ("written", "stages"),
    [
        ("Et*27|t*33|t*20L", ["E" + "t" * 27, "t" * 33, "t" * 20 + "L"]),
        ("E,t|(tt|)*2L", ["Et", "tt", "tt", "L"]),
        ("E||L", ["E", "", "L"]),
        ("E(t|t)*2L", ["Et", "tt", "tL"]),
    ],
)
def test_megatron_layouts_are_written_out(written: str, stages: list[str]) -> None:
    assert stages_of(written) == stages


def test_megatrons_parser_takes_our_layouts_and_refuses_what_we_refuse(
    megatron: Callable[[str, int, int], None],
) -> None:
    random, taken = Random(7), 0
    for _ in range(300):
        problem = stack(random)
        layers = len(Megatron().items(problem)) - 2
        written = "|".join(
            "E" * (s == 0) + f"t*{count}" + "L" * (s == problem.k - 1)
            for s, count in enumerate(_random_counts(random, layers, problem.k))
        )
        megatron(written, layers, problem.k)
        Megatron().read(written, problem)
        changed = list(written)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(changed))
            changed[at : at + random.randint(0, 1)] = random.choice(
                ["t", "E", "L", "|", "", "tt", "m", "x", "2", "*2", ","]
            )
        text = "".join(changed)
        ours, theirs = _taken(Megatron().read, text, problem), _taken(megatron, text, layers, problem.k)
        beyond = text.count("|") + 1 > problem.k or not has_both_ends(text)
        assert ours <= theirs, f"we take {text!r} of {layers} layers on {problem.k}, and Megatron does not"
        assert ours == theirs or beyond, f"Megatron takes {text!r} of {layers} layers on {problem.k}, and we do not"
        taken += ours
    assert taken > 10


def has_both_ends(text: str) -> bool:
    """Return whether a layout has the embedding on its first stage, and the loss on its last."""
    try:
        stages = stages_of(text)
    except UsageError:
        return False
    return bool(stages[0]) and bool(stages[-1])


def _taken(read: Callable[..., object], *given: object) -> bool:
    try:
        read(*given)
    except (UsageError, AssertionError, IndexError, ValueError, NotImplementedError):
        return False
    return True


def _random_counts(random: Random, layers: int, stages: int) -> list[int]:
    cuts = sorted(random.randint(0, layers) for _ in range(stages - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, layers], strict=True)]


@pytest.mark.parametrize(
    ("parts", "bounds"),
    [("[0, 4, 8]", [4, 4]), ("PARTS = [0, 1, 8]", [1, 7]), ("self.parts = (0, 7, 8)  # by hand", [7, 1])],
)
def test_deepspeed_parts_are_bounds_in_the_list_of_layers(parts: str, bounds: list[int]) -> None:
    problem = of_layers(5, 2)  # the embedding, 5 layers, norm and head
    items = DeepSpeed().items(problem)
    assert len(items) == 8
    assert DeepSpeed().read(parts, problem) == items.assigned(bounds, [0, 1])


def test_what_deepspeed_is_given_sets_its_parts() -> None:
    problem = of_layers(5, 2)
    plan = split(DeepSpeed(), problem, Random(2))
    (text,) = DeepSpeed().export(problem, plan, STAMP).values()
    assert isinstance(text, str)
    code = text.replace("from deepspeed.pipe import PipelineModule", "class PipelineModule: pass")
    found: dict[str, object] = {}
    exec(compile(code, "deepspeed_parts.py", "exec"), found)  # what DeepSpeed runs of it
    planned = found["Planned"]
    assert isinstance(planned, type)

    class Stage(planned):  # type: ignore[valid-type, misc]
        """What DeepSpeed's own module has when it calls the method."""

        def __init__(self, rank: int) -> None:
            self.global_rank, self._topo = rank, self

        def get_coord(self, rank: int) -> Stage:
            self.pipe = rank
            return self

        def _set_bounds(self, start: int, stop: int) -> None:
            self.bounds = start, stop

    bounds = []
    for rank in range(2):
        stage = Stage(rank)
        stage._partition_layers()
        bounds.append(stage.bounds)
    assert [high - low for low, high in bounds] == DeepSpeed().counts(problem, plan)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("29,29,12,10", [29, 29, 12, 10]),
        ('VLLM_PP_LAYER_PARTITION="29, 29" vllm serve m', [29, 29]),
        ("export SGLANG_PP_LAYER_PARTITION=1,2\npython -m sglang", [1, 2]),
        ("pp_partition: [29, 29, 12, 10]\n", [29, 29, 12, 10]),
        ("[3, 4]", [3, 4]),
        ("80", [80]),
    ],
)
def test_lists_of_counts_are_found(text: str, counts: list[int]) -> None:
    assert counts_in(text) == counts


@pytest.mark.parametrize(
    "text", ["1,2x", "VLLM_PP_LAYER_PARTITION=1,x", "1,,2", "-1,2", "1.5,2", "pp_partition: [1, 2"]
)
def test_what_is_no_list_of_counts_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="there is no list of counts"):
        Layers().read(text, of_layers(3, 2))
