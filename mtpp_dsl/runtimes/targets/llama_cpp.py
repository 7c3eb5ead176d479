"""llama.cpp's ``--tensor-split``: counts of layers, and one more item, the output; and its tensors by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import Acyclic, Colocate, Constraint
from mtpp_dsl.core.contracts.targets import Files, Split, Stamp, UnsoundSplit, text_of
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model.layer_stack import Layout, layout_of
from mtpp_dsl.runtimes.targets.first_splits import Rooms
from mtpp_dsl.runtimes.targets.launch_line import LaunchLine, read_line
from mtpp_dsl.runtimes.targets.layer_counts import MAX_TEXT, comment
from mtpp_dsl.runtimes.targets.layer_tensors import PARTS, LayerPart, has_experts, parts_of, pattern
from mtpp_dsl.runtimes.targets.llama_cpp_devices import LlamaCppNames
from mtpp_dsl.runtimes.targets.llama_cpp_tower import (
    BEHIND,
    homes_of,
    joins_of,
    source_of,
    tower_home,
    tower_of,
    tower_options,
)
from mtpp_dsl.runtimes.targets.overridden import overridden
from mtpp_dsl.runtimes.targets.stages import StageItems, Stages, check_stages, is_cpu, origin_of, rows_in_order

HOST = -1


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
    return [HOST] * (items - count) + gpus


class LlamaCpp(Stages):
    """llama.cpp with ``--split-mode layer``: layers and the output on GPUs in their order, the first on the host.

    The output, with the last norm, is an item of its own. llama.cpp keeps the embedding in the memory of the host; here
    it is with the first layer, unless a CPU is declared. With ``grain = tensor`` the experts of a layer, routed or
    shared, and its feed-forward network may each be on any device, as ``--override-tensor`` has it, where the graph has
    nodes of these kinds; the rest of the layer, its cache among it, is in the order of the devices. All of the tower of
    a model that reads images is on one device: the CPU, or a GPU that is not behind that of the first layer.

    Attributes:
        grain: "layer", "tensor", or "": by tensor where the graph has experts.
    """

    name = "llama-cpp"
    summary = "llama.cpp: -ts with its n + 1 items, -ngl, and -ot for experts"
    runtime = "llama.cpp"
    empty = True
    cpu = True
    unit = "item"
    options: Mapping[str, tuple[str, ...]] = {"grain": ("layer", "tensor")}

    def __init__(self, grain: str = "") -> None:
        self.grain = grain
        self.name = f"{type(self).name}:{grain}" if grain else type(self).name

    def layout(self, problem: Problem) -> Layout:
        """Return the layers; nodes of experts are of the layer that they read from."""
        followers = [v for v, kind in enumerate(problem.graph.kinds) if kind in PARTS]
        return layout_of(problem.graph, followers=followers)

    def parts(self, problem: Problem, stack: Layout) -> tuple[LayerPart, ...]:
        """Return what may be apart from its layer; () where whole layers are placed."""
        fine = self.grain == "tensor" or (not self.grain and "experts" in problem.graph.kinds)
        return parts_of(problem, stack) if fine else ()

    def items(self, problem: Problem) -> StageItems:
        """Return the layers, without what may be apart, and the output; the embedding is on the CPU, if any.

        What joins the tokens of images and of text is where the first layer is, which reads them.
        """
        stack = self.layout(problem)
        tower, joins = tower_of(problem), joins_of(problem, stack.before)
        before = [v for v in stack.before if v not in tower and v not in joins]
        apart = {v for part in self.parts(problem, stack) for v in part.nodes}
        nodes = [[v for v in layer if v not in apart] for layer in stack.layers]
        cpu = next((d for d, device in enumerate(problem.devices) if is_cpu(device)), None)
        nodes[0] += [*joins, *([] if cpu is not None else before)]
        if not stack.after:
            raise UsageError("llama.cpp's last item is the output, and nothing in the graph comes after the layers")
        names = [*(f"layer {i}" for i in range(len(nodes))), "the output"]
        fixed = {} if cpu is None else dict.fromkeys(before, cpu)
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

    def restrict(self, problem: Problem) -> Problem:
        """Return the problem under the limits; warn where experts could be apart from their layers, and are not."""
        restricted = super().restrict(problem)
        apart, warning = bool(self.parts(problem, self.layout(problem))), ""
        if apart and any(problem.of(Acyclic)):
            warning = (
                "constraint acyclic keeps experts from a device that their layers come back from; llama.cpp does not "
                "need it: leave it out"
            )
        elif not apart and self.grain != "layer" and has_experts(problem):
            warning = (
                "the model has experts, and none of its nodes is those of one layer alone: read it with (group_by = "
                "part), and llama.cpp can have them on another device than the rest of the layer"
            )
        return replace(restricted, warnings=(*restricted.warnings, warning)) if warning else restricted

    def added(self, problem: Problem, items: StageItems, devices: Sequence[int]) -> Iterator[Constraint]:
        """Yield the constraints that the runtime stands for."""
        yield from super().added(problem, items, devices)
        for part in self.parts(problem, self.layout(problem)):
            if len(part.nodes) > 1:
                yield Colocate(nodes=part.nodes, origin=origin_of(self.name))
        tower = tower_of(problem)
        if len(tower) > 1:
            yield Colocate(nodes=tower, origin=origin_of(self.name))

    def order(self, problem: Problem, items: StageItems, devices: Sequence[int], origin: str) -> Iterator[Constraint]:
        """Yield what keeps the items in the order of the devices: data may leave a device for experts, and come back.

        An order of the devices would hold for experts, too.
        """
        if self.parts(problem, self.layout(problem)):
            yield from rows_in_order(problem, items, devices, range(len(items) - 1), origin)
        else:
            yield from super().order(problem, items, devices, origin)

    def splits_of(
        self, problem: Problem, items: StageItems, devices: Sequence[int], counts: Sequence[int]
    ) -> Iterator[Split]:
        """Yield splits to start from: the parts of layers with them or else on the fastest device, or on the CPU.

        A part is put where there is room, those of the last layers first.
        """
        parts, tower, host = self.parts(problem, self.layout(problem)), tower_of(problem), self._on_host(problem)
        homes = items.homes(counts, devices)
        first, cpu = homes[items.nodes[0][0]], devices[:host]
        for way in ("fast", *(["cpu", "all"] if cpu and parts else [])):
            rooms = Rooms(problem, homes)
            if tower:
                rooms.put(tower, (first, *cpu, first))
            for part in reversed(parts):
                own = homes[items.nodes[part.layer][0]]
                others = rooms.fastest(part.nodes) if way == "fast" else cpu
                rooms.put(part.nodes, cpu if way == "all" else (own, *others))
            yield Split(tuple(rooms.device_of[v] for v in range(problem.graph.n)))

    def export(self, problem: Problem, plan: Plan, stamp: Stamp) -> Files:
        """Return a shell script that starts the server; its arguments are the model and, for images, its tower."""
        counts, host = self.counts(problem, plan), self._on_host(problem)
        shares, layers = counts[host:], len(self.items(problem)) - 1
        offloaded = sum(shares)
        if offloaded and [placed(shares, layers, offloaded).count(d) for d in range(len(shares))] != shares:
            raise UsageError(f"llama.cpp would not place {shares} as they stand, by the rounding of its shares")
        devices = self.devices(problem)
        shown = [
            f"{problem.devices[d].name}: {counted(count, 'item')}" for d, count in zip(devices, counts, strict=True)
        ]
        names = LlamaCppNames(problem, devices[host:])
        moved = self._moved(problem, plan)
        notes = [*shown, f"the items are the {layers} layers and, last, the output with the last norm"]
        for (kind, d), numbers in moved.items():
            what = kind.replace("_", " ")
            notes.append(f"{what} on {problem.devices[d].name}: layers {', '.join(map(str, numbers))}")
        tower = self._tower(problem, plan)
        if tower is not None:
            notes.append(f"what reads images on {problem.devices[tower].name}{source_of(problem)}")
        elsewhere = tower not in (None, *devices[:host], *names.gpus[:1])
        elsewhere = elsewhere or any(not is_cpu(problem.devices[d]) for _, d in moved)
        where, remarks = names.options(elsewhere)
        listed = ",".join(map(str, shares))
        split = f" -ts {listed}" if offloaded else ""
        return {
            "llama-cpp.sh": comment(stamp, *notes, *remarks)
            + f'llama-server -m "${{1:?which model?}}" --split-mode layer{where} -ngl {offloaded}{split}'
            + f"{self._overrides(problem, plan, moved, names)}"
            + ("\n" if tower is None else f"{tower_options(problem, tower, names)}\n")
        }

    def _tower(self, problem: Problem, plan: Plan) -> int | None:
        """Return the device of what reads images; None where the model reads text alone.

        Raises:
            UsageError: it is on several.
        """
        homes = homes_of(problem, plan.assignment.tolist())
        if len(homes) > 1:
            listed = " and ".join(problem.devices[d].name for d in homes)
            raise self._not_this(
                f"what reads images is on {listed}, and {self.runtime} has one place for it", "colocate"
            )
        return homes[0] if homes else None

    def _moved(self, problem: Problem, plan: Plan) -> dict[tuple[str, int], list[int]]:
        """Return the layers whose tensors of a kind are on a device that the rest of the layer is not on."""
        items, moved = self.items(problem), dict[tuple[str, int], list[int]]()
        for part in self.parts(problem, self.layout(problem)):
            homes = np.unique(plan.assignment[list(part.nodes)]).tolist()
            if len(homes) > 1:
                listed = " and ".join(problem.devices[d].name for d in homes)
                what = f"{part.kind.replace('_', ' ')} of layer {part.layer}"
                raise self._not_this(
                    f"the {what} are on {listed}, and {self.runtime} has one place for them", "colocate"
                )
            if homes[0] != plan.assignment[items.nodes[part.layer][0]]:
                moved.setdefault((part.kind, homes[0]), []).append(part.layer)
        return dict(sorted(moved.items()))

    def _overrides(
        self, problem: Problem, plan: Plan, moved: Mapping[tuple[str, int], Sequence[int]], names: LlamaCppNames
    ) -> str:
        """Return the options for tensors that are apart: a number of layers where the first have experts on the CPU."""
        first, written = "", []
        for (kind, d), numbers in moved.items():
            if is_cpu(problem.devices[d]) and kind == "experts":
                parts = [part for part in self.parts(problem, self.layout(problem)) if part.kind == kind]
                count = numbers[-1] + 1
                if all(plan.assignment[part.nodes[0]] == d for part in parts if part.layer < count):
                    first = f" --n-cpu-moe {count}"
                    continue
            written.append(f"{pattern(numbers, kind)}={names.buffer(d)}")
        return first + (f" -ot '{','.join(written)}'" if written else "")

    def read(self, source: Path | str, problem: Problem) -> Split:
        """Return the split of ``-ts``, ``-ngl`` and ``-ot`` in a launch line, or of the counts alone."""
        line = read_line(text_of(source, MAX_TEXT))
        items, host, devices = self.items(problem), self._on_host(problem), self.devices(problem)
        names = LlamaCppNames(problem, devices[host:])
        order = names.ordered(line.devices)
        counts = self._counts(problem, line, len(items), host)
        homes = items.homes(counts, [*devices[:host], *order])
        stack = self.layout(problem)
        parts = self.parts(problem, stack)
        for part in parts:
            homes |= dict.fromkeys(part.nodes, homes[items.nodes[part.layer][0]])
        more, notes = overridden(problem, stack, parts, line, names)
        tower, said = tower_home(problem, line, names)
        if tower is not None:
            homes |= dict.fromkeys(tower_of(problem), tower)
            first = homes[items.nodes[0][0]]
            if not parts and devices.index(tower) > devices.index(first):
                said = (f"{problem.devices[tower].name} has what reads images, {BEHIND}",)
        homes |= more
        return Split(tuple(homes[v] for v in range(problem.graph.n)), (*notes, *said))

    def _counts(self, problem: Problem, line: LaunchLine, total: int, host: int) -> list[int]:
        """Return how many items the host, if any, and each GPU has, as a line says.

        Raises:
            UsageError: it does not say it.
            UnsoundSplit: it is for another number of GPUs or items.
        """
        offloaded = total if line.offloaded is None else min(line.offloaded, total)
        shares = line.shares
        if offloaded < total and not host:
            raise UnsoundSplit(
                f"-ngl {offloaded} leaves {total - offloaded} of {total} items on the host, and the spec has no CPU"
            )
        if shares is None and (not offloaded or problem.k - host == 1):
            return [
                *([total - offloaded] if host else []),
                *([offloaded] * (problem.k > host)),
                *[0] * (problem.k - host - 1),
            ]
        if shares is None:
            raise self._without_shares(problem, total, offloaded, host)
        check_stages(len(shares) + host, problem.k)
        counts = [int(share) for share in shares]
        if counts != shares or sum(counts) != offloaded:
            raise self._other_sum(shares, total, offloaded)
        return [*([total - offloaded] if host else []), *counts]

    def _without_shares(self, problem: Problem, total: int, offloaded: int, host: int) -> UsageError:
        """Return the complaint about a line without shares, with some for these GPUs; *host*: how many CPUs."""
        gpus = [problem.devices[d].name for d in self.devices(problem)[host:]]
        if not gpus:
            return UsageError(f"the spec has no GPU for the {offloaded} items that -ngl puts on one: say -ngl 0")
        homes = placed([1.0] * len(gpus), total - 1, offloaded)
        counts = ",".join(str(homes.count(d)) for d in range(len(gpus)))
        return UsageError(
            f"nothing says how many items each GPU has, and llama.cpp would ask how much memory is free on each. Write "
            f"a count for each of {', '.join(gpus)}, which add up to {offloaded}, as the output is an item too: "
            f"-ts {counts}"
        )

    def _other_sum(self, shares: list[float], total: int, offloaded: int) -> UnsoundSplit:
        made = placed(shares, total - 1, offloaded)
        listed = ",".join(str(made.count(d)) for d in range(len(shares)))
        given = ",".join(f"{share:g}" for share in shares)
        lost = "; the output is an item too, and is lost here" if sum(shares) == offloaded - 1 else ""
        return UnsoundSplit(
            f"-ts {given} adds up to {sum(shares):g}, and llama.cpp has {offloaded} items to place, the last of them "
            f"the output{lost}. It takes other sums for shares, and would place {listed}: validate these"
        )
