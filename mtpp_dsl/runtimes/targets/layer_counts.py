"""Counts of layers: vLLM, SGLang and TensorRT-LLM."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import Blocks, Constraint, Memory, StageMemory
from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, text_of
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import on_a_line
from mtpp_dsl.runtimes.targets.stages import StageItems, Stages, origin_of

MAX_TEXT = 2**20
"""Bytes of a longer file of counts are not read."""
_COUNTS = r"((?:\d{1,9}\s*,\s*)*\d{1,9})"
_NAMES = r"(?:VLLM_PP_LAYER_PARTITION|SGLANG_PP_LAYER_PARTITION|\bpp_partition)"
_NAMED = re.compile(rf"{_NAMES}\s*[=:]\s*(?:\[\s*{_COUNTS}\s*,?\s*\]|[\"']?{_COUNTS}[\"']?(?=[\s;]|$))")
_BARE = re.compile(rf"\s*[\"']?\s*\[?\s*{_COUNTS}\s*\]?\s*[\"']?\s*")


class Layers(Stages):
    """The comma list that vLLM, SGLang and TensorRT-LLM take: how many layers each pipeline rank has.

    The embedding is on the first rank, the last norm and the head on the last.
    """

    name = "layers"
    summary = "counts of layers, as vLLM, SGLang and TensorRT-LLM take them"
    runtime = "A pipeline of layers"
    least_cache = False
    """Whether all ranks hold as many tokens in their caches as the one with the least room."""

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem under the limits; warn of unequal memories where the least room counts for all."""
        restricted = super().restrict(problem)
        alike = len({device.memory for device in problem.devices}) < 2
        counted_in = restricted.cache_blocks is not None and problem.graph.cache.any()
        if not self.least_cache or alike or counted_in or any(device.reserve for device in problem.devices):
            return restricted
        warning = (
            f"{self.runtime} gives all ranks a cache for as many tokens as the rank with the least room: keep that "
            "room free on each device with 'reserve', or give the nodes (cache = …)"
        )
        return replace(restricted, warnings=(*restricted.warnings, warning))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the list, with the launch line of each runtime."""
        counts = self.counts(problem, plan)
        listed, n = _listed(counts), len(counts)
        return {
            "layers.txt": comment(
                stamp,
                f"vLLM: VLLM_PP_LAYER_PARTITION={listed} vllm serve MODEL --pipeline-parallel-size {n}",
                f"SGLang: SGLANG_PP_LAYER_PARTITION={listed} python -m sglang.launch_server --model-path MODEL "
                f"--pp-size {n}",
                f"TensorRT-LLM: pp_partition: [{listed}] in the file of trtllm-serve --extra_llm_api_options",
            )
            + f"{listed}\n"
        }

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a list of counts, bare or in a launch line."""
        return self.split(problem, counts_in(text_of(source, MAX_TEXT)))


class _Server(Layers):
    """A runtime that a shell script starts: it takes the counts as a variable of the environment.

    Attributes:
        variable: its name.
        launch: what starts the server, up to the model.
        degree: the option for the number of pipeline ranks.
        block: the tokens of a block of its cache, unless it is told otherwise.
    """

    least_cache = True
    block = 1
    variable = ""
    launch = ""
    degree = ""

    def added(self, problem: Problem, items: StageItems, devices: Sequence[int]) -> Iterator[Constraint]:
        """Yield the constraints that the runtime stands for: with caches, that ranks have equal numbers of blocks."""
        rules = list(super().added(problem, items, devices))
        staged = next(problem.of(StageMemory), None) is not None
        limited = any(device.memory is not None for device in problem.devices) and not staged
        if limited and problem.graph.cache.any() and problem.cache_blocks is None:
            rules = [rule for rule in rules if not isinstance(rule, Memory)]
            rules.append(Memory(pool=Blocks(block=self.block), origin=origin_of(self.name)))
        yield from rules

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return a shell script that starts the server; its argument is the model."""
        counts = self.counts(problem, plan)
        return {
            f"{self.name}.sh": comment(stamp, *_ranks(problem, counts))
            + f"export {self.variable}={_listed(counts)}\n"
            + f'{self.launch} "${{1:?which model?}}" {self.degree} {len(counts)}\n'
        }


class VLlm(_Server):
    """vLLM's ``VLLM_PP_LAYER_PARTITION``: one pipeline rank a device, or a group of devices declared as one."""

    name = "vllm"
    summary = "vLLM: VLLM_PP_LAYER_PARTITION and its launch line"
    runtime = "vLLM"
    block = 16
    variable = "VLLM_PP_LAYER_PARTITION"
    launch = "vllm serve"
    degree = "--pipeline-parallel-size"


class SgLang(_Server):
    """SGLang's ``SGLANG_PP_LAYER_PARTITION``: one pipeline rank a device."""

    name = "sglang"
    summary = "SGLang: SGLANG_PP_LAYER_PARTITION and its launch line"
    runtime = "SGLang"
    variable = "SGLANG_PP_LAYER_PARTITION"
    launch = "python -m sglang.launch_server --model-path"
    degree = "--pp-size"


class TensorRtLlm(Layers):
    """TensorRT-LLM's ``pp_partition``, in the options of its LLM API."""

    name = "tensorrt-llm"
    summary = "TensorRT-LLM: pp_partition, a file of options"
    runtime = "TensorRT-LLM"

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return a file of options for ``trtllm-serve MODEL --extra_llm_api_options FILE``."""
        counts = self.counts(problem, plan)
        launch = "start it with: trtllm-serve MODEL --extra_llm_api_options FILE"
        return {
            "tensorrt-llm.yaml": comment(stamp, *_ranks(problem, counts), launch)
            + f"pipeline_parallel_size: {len(counts)}\npp_partition: [{', '.join(map(str, counts))}]\n"
        }


def _listed(counts: Sequence[int]) -> str:
    return ",".join(map(str, counts))


def _ranks(problem: Problem, counts: Sequence[int]) -> list[str]:
    """Return what each rank holds, for comments."""
    shown = [f"rank {r}: {counted(count, 'layer')} on {problem.devices[r].name}" for r, count in enumerate(counts)]
    return [*shown, "the embedding is on the first rank, the last norm and the head on the last"]


def comment(stamp: Stamp, *more: str) -> str:
    """Return the stamp and more lines as comments of shells, YAML, TOML, CSV and Python."""
    lines = [*stamp.lines(), *(on_a_line(line) for line in more)]
    return "".join(f"# {line}\n" for line in lines)


def without_comments(text: str) -> str:
    """Return a text without what follows ``#`` on its lines."""
    return "\n".join(line.partition("#")[0] for line in text.splitlines())


def counts_in(text: str) -> list[int]:
    """Return the list of counts in a launch line, a file of options, or alone.

    Raises:
        UsageError: there is none, or there are two that differ.
    """
    bare = without_comments(text)
    written = {match[1] or match[2] for match in _NAMED.finditer(bare)}
    if not written:
        alone = _BARE.fullmatch(bare)
        written = set() if alone is None else {alone[1]}
    lists = {tuple(int(part) for part in text_of_counts.split(",")) for text_of_counts in written}
    if not lists:
        raise UsageError(
            "there is no list of counts: 29,29,12,10 alone, VLLM_PP_LAYER_PARTITION=29,29,12,10, "
            "SGLANG_PP_LAYER_PARTITION=… or pp_partition: [29, 29, 12, 10]"
        )
    if len(lists) > 1:
        raise UsageError("there are several lists of counts, which differ")
    return list(lists.pop())
