"""DeepSpeed's ``PipelineModule``: the bounds of its parts in the list of layers."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.runtimes.targets.graph_modules import modules_of
from mtpp_dsl.runtimes.targets.layer_counts import MAX_TEXT, comment, without_comments
from mtpp_dsl.runtimes.targets.stages import StageItems, Stages, check_stages

_PARTS = re.compile(r"\b(?:PARTS|parts)\s*[=:]\s*(\[[\d,\s]*\]|\([\d,\s]*\))")
_CODE = '''from deepspeed.pipe import PipelineModule

PARTS = {parts}


class Planned(PipelineModule):
    """A PipelineModule whose stage s has the layers from PARTS[s] to PARTS[s + 1]; DeepSpeed has no option for it."""

    def _partition_layers(self, method="parameters"):
        self.parts = list(PARTS)
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=PARTS[stage], stop=PARTS[stage + 1])
'''


class DeepSpeed(Stages):
    """DeepSpeed's parts: part s is what the list of layers has from ``parts[s]`` up to ``parts[s + 1]``.

    The list is taken to be: one layer for all that comes before the layers, the layers, and one for each node after
    them.
    """

    name = "deepspeed"
    summary = "DeepSpeed: the parts of a PipelineModule"
    runtime = "DeepSpeed"
    unit = "item"

    def items(self, problem: Problem) -> StageItems:
        """Return the embedding, the layers, and each module that comes after them; what has no weights is before it."""
        stack = layout_of(problem.graph)
        names = [*(["the embedding"] if stack.before else []), *(f"layer {i}" for i in range(len(stack.layers)))]
        nodes = [*([[*stack.before]] if stack.before else []), *([*layer] for layer in stack.layers)]
        for module in modules_of(problem.graph):
            if module.nodes[0] not in stack.after:
                continue
            if module.weighs:
                names.append(module.path)
                nodes.append([*module.nodes])
            else:
                nodes[-1] += module.nodes
        return StageItems(tuple(names), tuple(tuple(sorted(item)) for item in nodes))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return a Python file with a PipelineModule of these parts."""
        counts, items = self.counts(problem, plan), self.items(problem)
        parts = [sum(counts[:s]) for s in range(len(counts) + 1)]
        shown = [f"stage {s}: {problem.devices[s].name}" for s in range(problem.k)]
        listed = f"the list of layers has {len(items)}: {_short(items.names)}"
        return {"deepspeed_parts.py": comment(stamp, *shown, listed) + _CODE.format(parts=parts)}

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of a list of parts, alone or as ``parts`` or ``PARTS`` of a text; no Python is run."""
        parts = _parts_in(text_of(source, MAX_TEXT))
        total = len(self.items(problem))
        check_stages(len(parts) - 1, problem.k)
        if parts[0] != 0 or parts[-1] != total:
            raise UnsoundSplit(
                f"the parts go from {parts[0]} to {parts[-1]}, and the list of layers from 0 to {total}: layers are "
                f"{'lost' if parts[0] > 0 or parts[-1] < total else 'too many'}"
            )
        back = next((s for s, (low, high) in enumerate(pairwise(parts)) if low > high), None)
        if back is not None:
            raise UnsoundSplit(f"part {back} ends at {parts[back + 1]}, before it begins at {parts[back]}")
        return self.split(problem, [high - low for low, high in pairwise(parts)])


def _short(names: tuple[str, ...]) -> str:
    return ", ".join(names if len(names) < 8 else [*names[:3], "…", *names[-3:]])


def _parts_in(text: str) -> list[int]:
    bare = without_comments(text)
    lists = {match[1] for match in _PARTS.finditer(bare)} or {bare.strip()}
    if len(lists) > 1:
        raise UsageError("there are several lists of parts, which differ")
    written = lists.pop()
    try:
        parts = ast.literal_eval(written if re.fullmatch(r"[\[\](),\d\s]*", written) else "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        parts = None
    if not isinstance(parts, (list, tuple)) or len(parts) < 2 or not all(isinstance(part, int) for part in parts):
        raise UsageError("there is no list of parts, such as [0, 28, 61, 83]")
    return list(parts)
