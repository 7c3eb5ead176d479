"""The families of random specs, each with the methods that its answers come from."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import product

from tests.tools.fuzzer import batches, machines
from tests.tools.fuzzer.graphs import add_graph, msr_graph
from tests.tools.fuzzer.instance import Device, Instance, Node
from tests.tools.fuzzer.ruling import add_rows, add_rules
from tests.tools.fuzzer.timing import add_times
from tests.tools.fuzzer.writing import SCALE, Draft, Item, Units

__all__ = ["FAMILIES", "make"]

PLAIN = Units("", "", "")
UNITS = [
    PLAIN,
    PLAIN,
    Units("ms", "MiB", "GiB/s"),
    Units("us", "kB", "GB/s"),
    Units("ms", "MB", "GB/s", work="GFLOP", speed="TFLOP/s"),
]
DEVICES = (1, 2, 2, 2, 3, 3)


def make(family: str, seed: int) -> Instance:
    """Return the instance of a family and a seed."""
    inst = Instance(family, seed)
    rng = random.Random(f"{family} {seed}")
    FAMILIES[family](inst, rng)
    return inst


def _aim(draft: Draft) -> None:
    """Add an objective over the bottleneck."""
    inst = draft.inst
    parts = ""
    if any(node.backward for node in inst.nodes) and draft.maybe(0.4, "parts = separate"):
        inst.separate = True
        parts = " (parts = separate)"
    elif draft.maybe(0.1):
        parts = " (parts = together)"
    if draft.maybe(0.3, "throughput"):
        inst.objective = "throughput"
        text = f"maximize throughput{parts}"
    else:
        text = f"minimize bottleneck{parts}"
    if draft.maybe(0.1, "override"):
        draft.early.append("maximize throughput" if "min" in text else "minimize bottleneck")
    draft.statements.append(text)


def shared(inst: Instance, rng: random.Random) -> None:
    """Make a bottleneck on ``shared``: streamed parameters, groups of devices, replicas."""
    draft = Draft(inst, rng, rng.choice(UNITS))
    replicated = rng.random() < 0.4
    add_graph(draft, rng.randint(3, 4 if replicated else 6), rng.choice([0.3, 0.6]), training=rng.random() < 0.15)
    if replicated:
        _family_of(draft, rng.choice([2, 3, 4, 4]))
        if draft.maybe(0.5, "groups") and not machines.add_groups(draft):
            inst.features.discard("groups")
    else:
        machines.add_devices(draft, rng.choice(DEVICES))
    machines.add_channel(draft, "shared")
    _aim(draft)
    add_rules(draft, {"acyclic": 0.75 if not replicated else 0.9, "contiguous": 0.15, "memory": 0.35, "colocate": 0.2,
                      "separate": 0.1 if replicated else 0.15, "pin": 0.2, "break symmetry": 0.1,
                      "replicate": 0.9 if replicated and not inst.separate else 0.0})  # fmt: skip
    if not inst.of("Replicate") and inst.between is None and rng.random() < 0.3:
        add_rows(draft, rng.randint(1, 2))
    add_times(draft)
    draft.finish()


def _family_of(draft: Draft, k: int) -> None:
    """Add *k* equal devices, or nearly so, as one family."""
    inst, rng, units = draft.inst, draft.rng, draft.units
    item = Item("gpu", list(range(k)), [(i,) for i in range(k)], ("i",))
    draft.devices = [item]
    inst.devices = [Device(item.canonical(i)) for i in range(k)]
    options = []
    if rng.random() < 0.5:
        room = rng.choice([3, 6, 10])
        options.append(f"memory = {draft.quantity(room, units.room, 'size')}")
        for device in inst.devices:
            device.memory = room * SCALE[units.room]
    if units.speed or rng.random() < 0.2:
        options.append(f"speed = {draft.plain(2, units.speed)}")
        for device in inst.devices:
            device.speed = 2 * SCALE[units.speed]
    draft.statements.append(f"device gpu[i in 0..{k - 1}]" + (f" ({', '.join(options)})" if options else ""))


def host(inst: Instance, rng: random.Random) -> None:
    """Make a bottleneck on ``host``: training graphs, both parts together or separate, graphs from files."""
    from_file = rng.random() < 0.25
    draft = Draft(inst, rng, Units("", "", "", memory="B") if from_file else rng.choice(UNITS))
    training = rng.random() < 0.7
    replicated = not from_file and rng.random() < 0.3
    n = rng.randint(3, 4 if replicated else 6)
    share = rng.choice([0.3, 0.5])
    if from_file:
        msr_graph(draft, n, share, training=training)
    else:
        add_graph(draft, n, share, training=training)
    if replicated:
        _family_of(draft, rng.choice([2, 3, 4]))
        if draft.maybe(0.5) and machines.add_groups(draft):
            inst.features.add("groups")
    else:
        machines.add_devices(draft, rng.choice(DEVICES), host=True, typed=from_file)
    machines.add_channel(draft, "host", streams=not from_file, unit=from_file)
    _aim(draft)
    add_rules(draft, {"acyclic": 0.6, "contiguous": 0.25, "memory": 0.35, "colocate": 0.25,
                      "separate": 0.1 if replicated else 0.15, "pin": 0.25, "break symmetry": 0.05,
                      "replicate": 0.9 if replicated and not inst.separate else 0.0})  # fmt: skip
    if not inst.of("Replicate") and rng.random() < 0.3:
        add_rows(draft, rng.randint(1, 2))
    add_times(draft)
    draft.finish()


def links(inst: Instance, rng: random.Random) -> None:
    """Make a makespan on ``links``: plain, exclusive, with labelled rows on times, from a file."""
    inst.objective = "makespan"
    draft = Draft(inst, rng, rng.choice(UNITS))
    k = rng.choice(DEVICES)
    if rng.random() < 0.15:
        draft.units = PLAIN
        _imported(draft, rng.randint(2, 5 if k < 3 else 4), k)
    else:
        add_graph(draft, rng.randint(2, 5 if k < 3 else 4), rng.choice([0.3, 0.6]), sized=True)
        machines.add_devices(draft, k)
        machines.add_links(draft)
    draft.statements.append("minimize makespan")
    heavy = len(inst.edges) > 5
    add_rules(draft, {"exclusive links": 0.0 if heavy else 0.4, "acyclic": 0.15, "contiguous": 0.12, "memory": 0.3,
                      "colocate": 0.2, "separate": 0.2, "pin": 0.25, "break symmetry": 0.15})  # fmt: skip
    if rng.random() < 0.35:
        add_rows(draft, rng.randint(1, 2), timed=True)
    add_times(draft)
    draft.finish()


def _imported(draft: Draft, n: int, k: int) -> None:
    """Make graph, devices and links come from a file of zhang2023."""
    inst, rng = draft.inst, draft.rng
    inst.features.add("import")
    inst.network = "links"
    inst.carried = {}
    tasks, moves = [], []
    room = [float(rng.choice([4, 8, 20])) for _ in range(k)]
    for v in range(n):
        node = Node(str(v), memory=float(rng.choice([0, 1, 3])))
        node.times = {f"d{d}": float(rng.choice([0, 1, 2, 4, 7])) for d in range(k)}
        node.work = node.times["d0"]
        inst.nodes.append(node)
    for u, v in product(range(n), range(n)):
        if u < v and rng.random() < 0.4:
            inst.edges[u, v] = None
            table = [[0.0 if d == f else float(rng.choice([0, 1, 2, 5])) for f in range(k)] for d in range(k)]
            if rng.random() < 0.8:
                moves.append({"id": f"{u}-{v}", "source": u, "target": v, "times": table})
            else:
                table = [[0.0] * k for _ in range(k)]
            inst.carried[u, v] = table
    for v, node in enumerate(inst.nodes):
        tasks.append({"id": v, "times": list(node.times.values()), "memory": node.memory,
                      "successors": [b for a, b in inst.edges if a == v]})  # fmt: skip
    inst.devices = [Device(f"d{d}", memory=room[d]) for d in range(k)]
    inst.bandwidths = [[1.0] * k for _ in range(k)]
    inst.latencies = [[0.0] * k for _ in range(k)]
    inst.files["tasks.json"] = json.dumps({"devices": k, "device_memory": room, "tasks": tasks, "transfers": moves})
    draft.nodes = [Item(node.name, [v], [()], quoted=True) for v, node in enumerate(inst.nodes)]
    draft.devices = [Item(device.name, [d], [()]) for d, device in enumerate(inst.devices)]
    path = '"tasks.json"'
    if draft.maybe(0.3, "param"):
        path = draft.fresh("path")
        draft.statements.append(f'param {path}: path = "tasks.json"')
    draft.statements.append(f"import {path}" + (" (format = moirai)" if rng.random() < 0.6 else ""))


def latency(inst: Instance, rng: random.Random) -> None:
    """Make a latency by subgraphs on ``host`` or ``shared``."""
    inst.objective = "makespan"
    from_file = rng.random() < 0.2
    draft = Draft(inst, rng, Units("", "", "", memory="B") if from_file else rng.choice(UNITS))
    n, share = rng.randint(2, 5), rng.choice([0.3, 0.6])
    if from_file:
        msr_graph(draft, n, share, training=False)
    else:
        add_graph(draft, n, share)
    network = rng.choice(["host", "host", "shared"])
    k = min(rng.choice(DEVICES), 3 if n < 5 else 2)
    machines.add_devices(draft, k, host=network == "host", typed=from_file)
    machines.add_channel(draft, network, streams=False, unit=from_file)
    draft.statements.append("minimize makespan")
    pieces = rng.random() < 0.5
    add_rules(draft, {"subgraphs": 0.97 if pieces else 0.0, "contiguous": 0.05 if pieces else 0.97, "memory": 0.35,
                      "colocate": 0.2, "separate": 0.15, "pin": 0.25, "break symmetry": 0.05})  # fmt: skip
    if rng.random() < 0.2:
        add_rows(draft, 1, bottleneck=False)
    add_times(draft)
    draft.finish()


def batch(inst: Instance, rng: random.Random) -> None:
    """Make a throughput of a batch on ``links``: laws, tables and files of times."""
    inst.objective = "batch"
    draft = Draft(inst, rng, rng.choice(UNITS))
    k = rng.choice(DEVICES)
    inst.batch = rng.choice([2, 3, 4] if k < 3 else [2, 4])
    if rng.random() < 0.5 or inst.batch == 4:
        inst.chunk = rng.choice([c for c in (1, 2) if inst.batch % c == 0 and inst.batch // c < 4] or [inst.batch])
    add_graph(draft, rng.randint(2, 3 if inst.batch // (inst.chunk or 1) > 2 or k > 2 else 4), rng.choice([0.4, 0.7]))
    machines.add_devices(draft, k, batches=True)
    machines.add_links(draft)
    options = [f"batch = {inst.batch}"]
    if inst.chunk is not None:
        options.append(f"chunk = {inst.chunk}")
    if draft.maybe(0.35, "per_input"):
        inst.per_input = True
        options.append("transfer = per_input")
    draft.statements.append(f"maximize throughput ({', '.join(options)})")
    add_rules(draft, {"batch sizes": 0.4, "memory": 0.3, "colocate": 0.2, "separate": 0.15, "pin": 0.25,
                      "break symmetry": 0.2})  # fmt: skip
    if rng.random() < 0.5:
        _batch_times(draft)
    add_times(draft)
    draft.finish()


def _batch_times(draft: Draft) -> None:
    """Add times of batches: by a law, by a table, or by a file."""
    inst, rng, units = draft.inst, draft.rng, draft.units
    assert inst.batch is not None
    v, d = rng.randrange(inst.n), rng.randrange(inst.k)
    menu = batches.sizes(inst, d)
    every = sorted(menu) if menu is not None else list(range(1, inst.batch + 1))
    if not every:
        return
    scale = SCALE[units.time]
    kinds = ["table", "file", "law"]
    match rng.choice(kinds):
        case "table":
            inst.features.add("time")
            for p in every:
                value = rng.choice([1.0, 2.0, 3.5, float("inf")])
                inst.batch_times[v, d, p] = value * scale
                said = "inf" if value == float("inf") else draft.quantity(value, units.time, "time")
                draft.statements.append(f"time {draft.node(v)} on {draft.device(d)} at batch {p} = {said}")
        case "law":
            inst.features.add("time")
            law, one = (1.0, 0.5), draft.plain(1, units.time)
            for u, p in product(range(inst.n), every):
                inst.batch_times[u, d, p] = (law[0] + law[1] * p) * scale
            draft.statements.append(
                f"time v on {draft.device(d)} at batch p = (1 + 0.5 * p) * {one} for v in nodes "
                f"for p in [{', '.join(map(str, every))}]"
            )
        case _:
            inst.features.add("times from")
            lines = [f"node,device,batch,time{f' ({units.time})' if units.time else ''}"]
            for p in every:
                value = rng.choice([1.0, 2.0, 3.5, float("inf")])
                inst.batch_times[v, d, p] = value * scale
                name, place = inst.nodes[v].name, inst.devices[d].name
                lines.append(f'"{name}","{place}",{p},{value:g}')
            rows = lines[1:]
            rng.shuffle(rows)
            inst.files["times.csv"] = "\n".join([lines[0], *rows]) + "\n"
            draft.statements.append('times from "times.csv"')


FAMILIES: dict[str, Callable[[Instance, random.Random], None]] = {
    "shared": shared,
    "host": host,
    "links": links,
    "latency": latency,
    "batch": batch,
}
