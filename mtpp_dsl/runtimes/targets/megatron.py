"""Megatron-LM's ``--pipeline-model-parallel-layout``: the embedding, layers and the loss of each stage."""

from __future__ import annotations

import re
from pathlib import Path

from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.runtimes.targets.layer_counts import comment, without_comments
from mtpp_dsl.runtimes.targets.stages import StageItems, Stages, check_stages

MAX_TEXT = 2**16
"""Bytes of a longer file are not read."""
MAX_WRITTEN = 10_000
"""Signs of a layout as it is written."""
MAX_LAYOUT = 1_000_000
"""Signs of a layout once it is written out; a longer one is refused."""
_OPTION = re.compile(r"--pipeline-model-parallel-layout[\s=]+(?:\"([^\"]*)\"|'([^']*)'|(\S+))")
_GROUP = re.compile(r"\(([^)]+)\)\*(\d+)")
_TIMES = re.compile(r"(.)\*(\d+)")


class Megatron(Stages):
    """Megatron's layout: ``Et*27|t*33|t*20L`` is the embedding E, layers t and the loss L on three stages.

    The loss stands for the last norm, the head and the loss. A stage may be without layers. Megatron has the embedding
    on the first rank and the head on the last, each with a copy of weights that they share.
    """

    name = "megatron"
    summary = "Megatron-LM: --pipeline-model-parallel-layout"
    runtime = "Megatron-LM"
    empty = True
    ends = True
    unit = "item"

    def items(self, problem: Problem) -> StageItems:
        """Return the embedding, the layers and the loss."""
        stack = layout_of(problem.graph)
        if not stack.before or not stack.after:
            raise UsageError(
                "Megatron-LM's layouts begin with the embedding and end with the loss, and the graph has nothing "
                f"{'after' if stack.before else 'before'} its layers"
            )
        names = ["the embedding", *(f"layer {i}" for i in range(len(stack.layers))), "the loss"]
        return StageItems(tuple(names), (stack.before, *stack.layers, stack.after))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return the options of ``pretrain_gpt.py``."""
        layers = self.counts(problem, plan)
        layers[0] -= 1
        layers[-1] -= 1
        written = "E" + "|".join("t" * count if count < 2 else f"t*{count}" for count in layers) + "L"
        shown = [f"stage {s}: {problem.devices[s].name}" for s in range(problem.k)]
        return {
            "megatron.txt": comment(stamp, *shown, "E the embedding, t a layer, L the last norm, the head and the loss")
            + f"--pipeline-model-parallel-size {problem.k}\n"
            + f'--pipeline-model-parallel-layout "{written}"\n'
        }

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a layout, alone or among options."""
        stages = stages_of(_layout_in(text_of(source, MAX_TEXT)))
        flat = "".join(stages)
        if "m" in flat:
            raise UnsoundSplit("the layout has a layer m, for the prediction of several tokens, and the graph has none")
        if len(stages) > problem.k and len(stages) % problem.k == 0:
            raise UnsoundSplit(
                f"the layout has {len(stages)} stages for {problem.k} devices: several on each, interleaved, which no "
                "plan of one stage a device says"
            )
        check_stages(len(stages), problem.k)
        layers = len(self.items(problem)) - 2
        for sign, what, expected in (("E", "the embedding", 1), ("L", "the loss", 1), ("t", "layers", layers)):
            count = flat.count(sign)
            if count != expected:
                raise UnsoundSplit(f"the layout has {sign} {count} times, and {what} should be there {expected} times")
        if not flat.startswith("E") or not flat.endswith("L"):
            raise UnsoundSplit("the embedding E has to come first, and the loss L last")
        if not stages[0] or not stages[-1]:
            raise UnsoundSplit("Megatron-LM has the embedding on the first stage and the loss on the last, always")
        return self.split(problem, [len(stage) for stage in stages])


def _layout_in(text: str) -> str:
    """Return the layout of a text: that of the option, or all of it."""
    bare = without_comments(text)
    layouts = {match[1] or match[2] or match[3] or "" for match in _OPTION.finditer(bare)}
    if len(layouts) > 1:
        raise UsageError("there are several layouts, which differ")
    written = layouts.pop() if layouts else bare.strip().strip("\"'")
    if not written or re.search(r"\s", written):
        raise UsageError('there is no layout, such as "Et*27|t*33|t*20L"')
    return written


def stages_of(written: str) -> list[str]:
    """Return the items of each stage, as Megatron writes a layout out: ``(tt|)*2`` and ``t*3`` repeat, commas are air.

    >>> stages_of("Et*2|(tt|)*2,L")
    ['Ett', 'tt', 'tt', 'L']

    Raises:
        UsageError: it has another sign, or is longer than :data:`MAX_LAYOUT` once it is written out.
    """
    text = written.replace(",", "")
    if len(text) > MAX_WRITTEN:
        raise UsageError(f"the layout has more than {MAX_WRITTEN:,} signs")
    for pattern in (_GROUP, _TIMES):
        length = len(text) + sum(len(m[1]) * _bounded(m[2]) for m in pattern.finditer(text))
        if length > MAX_LAYOUT:
            raise UsageError(f"the layout has more than {MAX_LAYOUT:,} signs once it is written out")
        text = pattern.sub(lambda match: match[1] * int(match[2]), text)
    odd = next((sign for sign in text if sign not in "EtmL|"), None)
    if odd is not None:
        raise UsageError(f"a layout has the signs E, t, m, L and |, repeated by *3 or (…)*3, and this one has {odd!r}")
    return text.split("|")


def _bounded(digits: str) -> int:
    return MAX_LAYOUT + 1 if len(digits) > 7 else int(digits)
