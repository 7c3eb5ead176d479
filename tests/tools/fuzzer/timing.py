"""Random times of nodes on single devices, as statements or as a file."""

from __future__ import annotations

import random
from math import inf

from tests.tools.fuzzer.writing import SCALE, Draft

__all__ = ["add_times"]

CHOICES = (0.0, 1.0, 2.0, 3.5, 6.0)


def add_times(draft: Draft) -> None:
    """Give some nodes times of their own on some devices, in one spec of three; the rest keep work and speed.

    It draws by itself, so that an instance without is the same as if there were no such times.
    """
    inst = draft.inst
    rng = random.Random(f"times {inst.family} {inst.seed}")
    if inst.of("Replicate") or rng.random() > 1 / 3:
        return
    inst.features.add("time per pair")
    if rng.random() < 0.3:
        _file(draft, rng)
    for _ in range(rng.randint(0 if inst.own_times else 1, 3)):
        _statement(draft, rng)


def _statement(draft: Draft, rng: random.Random) -> None:
    """Add a statement for one pair, or for all nodes on one device, in which the last may not be able to run."""
    inst, unit = draft.inst, draft.units.time
    v, d = rng.randrange(inst.n), rng.randrange(inst.k)
    value = rng.choice(CHOICES)
    item = next(item for item in draft.devices if d in item.members)
    where = item.ref(item.members.index(d))
    if rng.random() < 0.3:
        for u in range(inst.n):
            inst.own_times[u, d] = value * SCALE[unit]
        draft.statements.append(f"time v on {where} = {draft.plain(value, unit)} for v in nodes")
        return
    if rng.random() < 0.1 and inst.k > 1:
        value = inf
    inst.own_times[v, d] = value * SCALE[unit]
    draft.statements.append(f"time {_node(draft, v)} on {where} = {_text(draft, value)}")


def _node(draft: Draft, v: int) -> str:
    item = next(item for item in draft.nodes if v in item.members)
    return item.ref(item.members.index(v))


def _text(draft: Draft, value: float) -> str:
    return "inf" if value == inf else draft.plain(value, draft.units.time)


def _file(draft: Draft, rng: random.Random) -> None:
    """Add a file of times of some pairs."""
    inst, unit = draft.inst, draft.units.time
    lines = [f"device,node,time{f' ({unit})' if unit else ''}"]
    for v in range(inst.n):
        for d in range(inst.k):
            if rng.random() < 0.5:
                value = rng.choice(CHOICES)
                inst.own_times[v, d] = value * SCALE[unit]
                lines.append(f'"{inst.devices[d].name}","{inst.nodes[v].name}",{value:g}')
    inst.files["own.csv"] = "\n".join(lines) + "\n"
    draft.statements.append('times from "own.csv"')
