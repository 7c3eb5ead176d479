"""llama.cpp's ``--tensor-split``: counts of layers, and one more item, the output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.runtimes.targets.layer_counts import MAX_TEXT, comment, without_comments
from mtpp_dsl.runtimes.targets.stages import StageItems, Stages, check_stages, is_cpu

CPU = -1
_SPLIT = re.compile(r"(?:-ts|--tensor-split)[\s=]+[\"']?([\d.,/]+)[\"']?(?=\s|$)")
_OFFLOADED = re.compile(r"(?:-ngl|--gpu-layers|--n-gpu-layers)[\s=]+(\d{1,9})(?=\s|$)")
_BARE = re.compile(r"\s*([\d.]+(?:\s*[,/]\s*[\d.]+)*)\s*")


def placed(split: Sequence[float], layers: int, offloaded: int | None = None) -> list[int]:
    """Return where llama.cpp has each layer, and last the output: the number of a GPU, or -1 for the host.

    Shares of GPUs are added up and divided by their sum, in single precision; item i of the *offloaded* last ones goes
    to the first GPU whose sum is above i / offloaded (``load_tensors`` of llama-model.cpp).

    >>> placed([3, 2], 4), placed([2, 2], 4), placed([1, 1], 4, 2)
    ([0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [-1, -1, -1, 0, 1])
    """
    items = layers + 1
    count = items if offloaded is None else min(offloaded, items)
    sums = np.cumsum(np.array(split, dtype=np.float32), dtype=np.float32)
    sums = sums / sums[-1]
    at = np.arange(count, dtype=np.float32) / np.float32(max(count, 1))
    gpus: list[int] = np.searchsorted(sums, at, side="right").tolist()
    return [CPU] * (items - count) + gpus


class LlamaCpp(Stages):
    """llama.cpp with ``--split-mode layer``: layers and the output on GPUs in their order, the first on the host.

    The output, with the last norm, is an item of its own. llama.cpp keeps the embedding in the memory of the host; here
    it is with the first layer, unless a CPU is declared.
    """

    name = "llama-cpp"
    summary = "llama.cpp: -ts with its n + 1 items, and -ngl"
    runtime = "llama.cpp"
    empty = True
    cpu = True
    unit = "item"

    def items(self, problem: Problem) -> StageItems:
        """Return the layers and the output; what is before the layers is on the CPU, or else with the first."""
        stack = layout_of(problem.graph)
        nodes = [list(layer) for layer in stack.layers]
        cpu = next((d for d, device in enumerate(problem.devices) if is_cpu(device)), None)
        if cpu is None:
            nodes[0] += stack.before
        if not stack.after:
            raise UsageError("llama.cpp's last item is the output, and nothing in the graph comes after the layers")
        names = [*(f"layer {i}" for i in range(len(nodes))), "the output"]
        fixed = {} if cpu is None else dict.fromkeys(stack.before, cpu)
        return StageItems(tuple(names), tuple(tuple(sorted(item)) for item in [*nodes, stack.after]), fixed)

    def devices(self, problem: Problem) -> tuple[int, ...]:
        """Return the CPU first, where there is one, and then the GPUs as they are declared."""
        cpus = [d for d, device in enumerate(problem.devices) if is_cpu(device)]
        if len(cpus) > 1:
            names = " and ".join(problem.devices[d].name for d in cpus)
            raise UsageError(f"llama.cpp knows one host, and {names} are CPUs: declare one")
        return (*cpus, *(d for d in range(problem.k) if d not in cpus))

    def _on_host(self, problem: Problem) -> int:
        """Return 1 where a CPU is declared, which is then the first stage; else 0."""
        return int(any(is_cpu(device) for device in problem.devices))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return a shell script that starts the server; its argument is the model."""
        counts, host = self.counts(problem, plan), self._on_host(problem)
        shares, layers = counts[host:], len(self.items(problem)) - 1
        offloaded = sum(shares)
        if offloaded and [placed(shares, layers, offloaded).count(d) for d in range(len(shares))] != shares:
            raise UsageError(f"llama.cpp would not place {shares} as they stand, by the rounding of its shares")
        devices = self.devices(problem)
        shown = [
            f"{problem.devices[d].name}: {counted(count, 'item')}" for d, count in zip(devices, counts, strict=True)
        ]
        notes = [*shown, f"the items are the {layers} layers and, last, the output with the last norm"]
        listed = ",".join(map(str, shares))
        split = f" -ts {listed}" if offloaded else ""
        return {
            "llama-cpp.sh": comment(stamp, *notes)
            + f'llama-server -m "${{1:?which model?}}" --split-mode layer -ngl {offloaded}{split}\n'
        }

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of ``-ts`` and ``-ngl`` in a launch line, or of the counts alone."""
        shares, offloaded = _options(text_of(source, MAX_TEXT))
        items, host = self.items(problem), self._on_host(problem)
        total = len(items)
        offloaded = total if offloaded is None else min(offloaded, total)
        if shares is None:
            if offloaded or not host:
                raise UsageError("there is no list of shares: -ts 24,24,23,10, or the list alone")
            return self.split(problem, [total, *[0] * (problem.k - 1)], "items")
        check_stages(len(shares) + host, problem.k)
        if offloaded < total and not host:
            raise UnsoundSplit(
                f"-ngl {offloaded} leaves {total - offloaded} of {total} items on the host, and the spec has no CPU"
            )
        counts = [int(share) for share in shares]
        if counts != shares or sum(counts) != offloaded:
            raise self._other_sum(shares, total, offloaded)
        return self.split(problem, [*([total - offloaded] if host else []), *counts], "items")

    def _other_sum(self, shares: list[float], total: int, offloaded: int) -> UnsoundSplit:
        made = placed(shares, total - 1, offloaded)
        listed = ",".join(str(made.count(d)) for d in range(len(shares)))
        given = ",".join(f"{share:g}" for share in shares)
        lost = "; the output is an item too, and is lost here" if sum(shares) == offloaded - 1 else ""
        return UnsoundSplit(
            f"-ts {given} adds up to {sum(shares):g}, and llama.cpp has {offloaded} items to place, the last of them "
            f"the output{lost}. It takes other sums for shares, and would place {listed}: validate these"
        )


def _options(text: str) -> tuple[list[float] | None, int | None]:
    """Return the shares and the number of items on GPUs that a launch line says, or a list alone.

    Raises:
        UsageError: a share is no number, all are zero, or the line says one of them in two ways.
    """
    bare = without_comments(text)
    splits = {match[1] for match in _SPLIT.finditer(bare)}
    layers = {int(match[1]) for match in _OFFLOADED.finditer(bare)}
    alone = _BARE.fullmatch(bare) if not splits and not layers else None
    if alone is not None:
        splits = {alone[1]}
    if not splits and not layers:
        raise UsageError("there is no list of shares: -ts 24,24,23,10, or the list alone")
    if len(splits) > 1 or len(layers) > 1:
        raise UsageError("there are several lists of shares, or several -ngl, which differ")
    offloaded = layers.pop() if layers else None
    if not splits:
        return None, offloaded
    try:
        shares = [float(part) for part in re.split(r"\s*[,/]\s*", splits.pop())]
    except ValueError:
        raise UsageError("a share is no number") from None
    if not 0 < sum(shares) < 1e9:
        raise UsageError("the shares add up to nothing, or to more than a thousand million")
    return shares, offloaded
