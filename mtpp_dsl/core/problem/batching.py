"""Derive what batches there can be: chunks of inputs, sizes by device, times and memory by size (ghannane2023, 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.base.spec_limits import check_table
from mtpp_dsl.core.constraints import BatchSizes, Constraint, PinChunks, Repeat
from mtpp_dsl.core.errors import ConstraintError, DeviceError, UsageError
from mtpp_dsl.core.problem.costs import TimeSource
from mtpp_dsl.core.problem.graph import Bools, Floats, Graph, frozen

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.devices import Device, Interconnect
    from mtpp_dsl.core.problem.objective import Objective

MAX_CHUNKS = 1024
"""Chunks of one batch; tables by their number would grow beyond any use."""


@dataclass(frozen=True, eq=False, repr=False)
class Batching(Short, Picklable):
    """The batches of a problem, counted in chunks: inputs that stay together throughout every plan.

    A node runs at most one batch on every device, or as many as ``constraint repeat`` lets it, and its batches together
    are all inputs.

    Attributes:
        inputs: of the whole batch.
        chunk: inputs of a chunk; it divides ``inputs`` and every batch size.
        sizes: [devices] the sizes that each device supports, in chunks, ascending.
        time: [n, devices, count + 1] what a batch of so many chunks takes; ``inf`` where the device does not support
            the size or cannot run the node, 0 for none.
        weights: [n] what a node needs on every device that runs a batch of it (``wm`` of ghannane2023, 3.7).
        share: [n] and for every chunk beside (``im + om``).
        per_input: whether transfers grow with the inputs that two batches share.
        repeat: [devices] how many batches of a node each may run, no more than could be of use.
    """

    inputs: int
    chunk: int
    sizes: tuple[tuple[int, ...], ...]
    time: Floats
    weights: Floats
    share: Floats
    per_input: bool
    repeat: tuple[int, ...]

    @property
    def slots(self) -> int:
        """The most batches of a node that any device may run."""
        return max(self.repeat, default=1)

    @property
    def count(self) -> int:
        """How many chunks there are."""
        return self.inputs // self.chunk

    @property
    def supported(self) -> Bools:
        """[n, devices] whether the device can run some batch of the node."""
        return frozen(np.isfinite(self.time[:, :, 1:]).any(axis=2), np.bool_)


def batching(
    objective: Objective, graph: Graph, devices: Sequence[Device], constraints: Sequence[Constraint], alone: Floats
) -> Batching:
    """Return the batches of a problem, whose objective is a batched throughput.

    A batch takes what the graph's table by device name, or by device type, says of it. Where that says nothing of a
    node at any size, p inputs take ``overhead + time * (fixed + (1 - fixed) * p)``.

    Args:
        objective: of the problem.
        graph: of the problem.
        devices: of the problem.
        constraints: of the problem.
        alone: [n, devices] what one input takes.

    Raises:
        DeviceError: a table has times of a node on a device for other sizes than the device supports; a device has an
            overhead, which would count for batches and for the operators of times that a law has made.
        UsageError: memory below what the parameters take.
    """
    assert objective.batch is not None
    for device in devices:
        if device.overhead and TimeSource.MODELLED in graph.time_sources.get(device.name, ()):
            raise DeviceError(
                f"device {device.name!r}: its overhead would count twice, for every operator in the times that the law "
                "makes of costs, and for every batch; leave it out, and write a law with an overhead of its own",
                device.name,
            )
    chunk, sizes = _chunks(objective, _sizes(objective.batch, len(devices), constraints))
    count = objective.batch // chunk
    check_table(
        "the times of batches", (graph.n, "nodes"), (len(devices), "devices"), (count + 1, "sizes of batches in chunks")
    )
    time = np.full((graph.n, len(devices), count + 1), np.inf)
    time[:, :, 0] = 0.0
    for d, device in enumerate(devices):
        for size in sizes[d]:
            time[:, d, size] = _takes(graph, device, alone[:, d], size * chunk)
    share = graph.memory - graph.params
    if (share < 0).any():
        v = int(np.flatnonzero(share < 0)[0])
        raise UsageError(
            f"node {graph.names[v]!r} has a memory of {graph.memory[v]:g} and parameters of {graph.params[v]:g}: in a "
            "batch, memory is that of the parameters and of one input"
        )
    return Batching(
        inputs=objective.batch,
        chunk=chunk,
        sizes=sizes,
        time=frozen(time, np.float64),
        weights=graph.params,
        share=frozen(share * chunk, np.float64),
        per_input=objective.transfer == "per_input",
        repeat=_repeat(constraints, count, sizes),
    )


def check_batches(
    objective: Objective,
    devices: Sequence[Device],
    interconnect: Interconnect,
    constraints: Sequence[Constraint],
) -> Iterator[str]:
    """Check that batches can make up all inputs; yield warnings.

    Raises:
        UsageError: an interconnect that is no links, sizes that add up to no whole batch, or are no multiples of the
            chunk, too many chunks.
        DeviceError: a share or an overhead that cannot be.
    """
    assert objective.batch is not None
    if interconnect.keyword != "links":
        raise UsageError(f"a batch is scheduled on links, not on a {interconnect.keyword} interconnect")
    for device in devices:
        if not (0 <= device.fixed <= 1 and 0 <= device.overhead < np.inf):
            raise DeviceError(
                f"device {device.name!r}: the fixed share of a batch is 0 to 100 %, its overhead not negative",
                device.name,
            )
    known = _sizes(objective.batch, len(devices), constraints)
    chunk, sizes = _chunks(objective, known)
    count = objective.batch // chunk
    repeat = _repeat(constraints, count, sizes)
    if not _adds_up(count, sizes, repeat):
        shown = ", ".join(f"{device.name}: {_list(menu, chunk)}" for device, menu in zip(devices, sizes, strict=True))
        origin = next((c.origin for c in constraints if isinstance(c, BatchSizes)), "")
        raise ConstraintError(
            f"no batch sizes, {_each(repeat)}, add up to {objective.batch} inputs ({shown}){_remedy(count, sizes)}",
            origin,
        )
    for pin in constraints:
        if isinstance(pin, PinChunks) and (
            len(pin.places) != count or not all(0 <= d < len(devices) for d in pin.places)
        ):
            raise ConstraintError(f"{pin} places {len(pin.places)} chunks; there are {count}", pin.origin)
    short = [d for d, menu in enumerate(sizes) if menu and menu[-1] * repeat[d] < count]
    if short and not any(isinstance(c, Repeat) for c in constraints) and len(short) == len(devices):
        d = max(short, key=lambda d: sizes[d][-1])
        size = sizes[d][-1] * chunk
        yield (
            f"no device can run all {objective.batch} inputs of a node: the largest batch, on {devices[d].name}, has "
            f"{size}, and a node runs one batch on each device; 'constraint repeat up to {-(-count // sizes[d][-1])}' "
            "lets it run several"
        )
    idle = [device.name for device, menu in zip(devices, sizes, strict=True) if not menu]
    if len(idle) == 1:
        yield f"device {idle[0]!r} runs nothing: it has no batch size of at most {objective.batch}"
    elif idle:
        named = f"{idle[0]!r} and {idle[1]!r}" if len(idle) == 2 else f"{idle[0]!r} and {len(idle) - 1} others"
        yield f"devices {named} run nothing: they have no batch size of at most {objective.batch}"


def _adds_up(count: int, sizes: Sequence[Sequence[int]], repeat: Sequence[int]) -> bool:
    """Return whether sizes, at most as many for each device as *repeat* says, add up to *count*."""
    reached, within = 1, (1 << count + 1) - 1  # bit t: sizes can add up to t
    for menu, most in zip(sizes, repeat, strict=True):
        for _ in range(most):
            more = reached
            for size in menu:
                more |= reached << size
            more &= within
            if more >> count & 1:
                return True
            if more == reached:
                break
            reached = more
    return False


def _repeat(constraints: Sequence[Constraint], count: int, sizes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return [devices] how many batches of a node each may run: of several constraints on one device the last counts.

    More than all chunks in the smallest batches are of no use.
    """
    allowed = [1] * len(sizes)
    for rule in constraints:
        if isinstance(rule, Repeat):
            for d in range(len(sizes)) if rule.devices is None else rule.devices:
                allowed[d] = rule.most
    useful = [max(1, count // menu[0]) if menu else 1 for menu in sizes]
    return tuple(min(most, use) for most, use in zip(allowed, useful, strict=True))


def _each(repeat: Sequence[int]) -> str:
    """Return, for a sentence, how many batches of a node a device runs."""
    return "one for each device" if max(repeat, default=1) == 1 else f"at most {max(repeat)} for each device"


def _remedy(count: int, sizes: Sequence[Sequence[int]]) -> str:
    """Return, for the end of a sentence, how many batches of a node would do; "" where no number of them does."""
    least = next((q for q in range(2, count + 1) if _adds_up(count, sizes, [q] * len(sizes))), None)
    return "" if least is None else f"; 'constraint repeat up to {least}' lets a device run several batches of a node"


def _list(menu: Sequence[int], chunk: int) -> str:
    return " or ".join(str(size * chunk) for size in menu) or "none"


def menus(objective: Objective, k: int, constraints: Sequence[Constraint]) -> list[list[int]]:
    """Return [devices] the sizes of batches that each supports, in inputs, ascending."""
    assert objective.batch is not None
    chunk, sizes = _chunks(objective, _sizes(objective.batch, k, constraints))
    return [[size * chunk for size in menu] for menu in sizes]


def _sizes(inputs: int, k: int, constraints: Sequence[Constraint]) -> list[set[int] | None]:
    """Return [devices] which batch sizes constraints leave each; None for all."""
    menus: list[set[int] | None] = [None] * k
    for rule in constraints:
        if isinstance(rule, BatchSizes):
            for d in range(k) if rule.devices is None else rule.devices:
                sizes = {size for size in rule.sizes if size <= inputs}
                known = menus[d]
                menus[d] = sizes if known is None else known & sizes
    return menus


def _chunks(objective: Objective, known: Sequence[set[int] | None]) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """Return the inputs of a chunk, and the sizes by device in chunks.

    Raises:
        UsageError: the chunk that is asked for does not divide the batch, or a size.
    """
    assert objective.batch is not None
    chunk = objective.batch
    for sizes in known:
        chunk = 1 if sizes is None else gcd(chunk, *sizes)
    if objective.chunk is not None:
        if objective.batch % objective.chunk:
            raise UsageError(f"chunks of {objective.chunk} inputs do not make a batch of {objective.batch}")
        odd = sorted({size for sizes in known if sizes is not None for size in sizes if size % objective.chunk})
        if odd:
            raise UsageError(f"a batch of {odd[0]} inputs is no number of chunks of {objective.chunk}")
        chunk = objective.chunk
    count = objective.batch // chunk
    if count > MAX_CHUNKS:
        raise UsageError(
            f"{objective.batch:,} inputs would be scheduled as {count:,} chunks; {MAX_CHUNKS:,} are the most: give "
            "batch sizes with a common divisor (constraint batch in [...])"
        )
    every = tuple(range(1, count + 1))
    return chunk, tuple(every if sizes is None else tuple(sorted(size // chunk for size in sizes)) for sizes in known)


def _takes(graph: Graph, device: Device, single: Floats, inputs: int) -> Floats:
    """Return [n] what a batch of so many inputs takes on a device."""
    base = device.overhead + single * (device.fixed + (1.0 - device.fixed) * inputs)
    law: Floats = np.where(single == 0, 0.0, base)
    tables = graph.batch_times.get(device.name, graph.batch_times.get(device.type))
    if tables is None:
        return law
    measured = ~np.isnan(np.stack(list(tables.values()))).all(axis=0) if tables else np.zeros(graph.n, np.bool_)
    measured &= np.array([kind not in device.unsupported for kind in graph.kinds], np.bool_)
    row: Floats = tables.get(inputs, np.full(graph.n, np.nan))
    missing = measured & np.isnan(row)
    if missing.any():
        name = graph.names[int(np.flatnonzero(missing)[0])]
        there = [size for size, times in tables.items() if not np.isnan(times[graph.index[name]])]
        raise DeviceError(
            f"there is no time of a batch of {inputs} of {name!r} on {device.name}, only of {_list(there, 1)}: "
            f"give it, or leave it out of the sizes (constraint batch on {device.name} in [...])",
            device.name,
        )
    return np.where(measured, row, law)
