"""Random devices and interconnects as text."""

from __future__ import annotations

from itertools import product

from tests.tools.fuzzer.graphs import KINDS
from tests.tools.fuzzer.instance import Device
from tests.tools.fuzzer.writing import SCALE, Draft, Item

__all__ = ["add_channel", "add_devices", "add_links", "shadow"]


def add_devices(draft: Draft, k: int, *, host: bool = False, batches: bool = False, typed: bool = False) -> None:
    """Add *k* devices, alone and in a family."""
    inst, rng = draft.inst, draft.rng
    first = rng.choice([1, 2, k]) if k > 1 else 1
    parts = [first, *([1] * (k - first))] if first <= k else [k]
    number = 0
    for name, count in zip(("gpu", "tpu", "npu", "fpga"), parts, strict=False):
        numbers = list(range(number, number + count))
        number += count
        variables = ("i",) if count > 1 or draft.maybe(0.2) else ()
        item = Item(name, numbers, [(i,) if variables else () for i in range(count)], variables)
        draft.devices.append(item)
        made = [Device(item.canonical(i)) for i in range(count)]
        inst.devices += made
        options = _options(draft, item, made, host=host, batches=batches, typed=typed)
        head = name
        if variables:
            size = str(count)
            if draft.maybe(0.2, "param"):
                size = draft.fresh("k")
                given = count if draft.maybe(0.5) else count + 1
                if given != count:
                    inst.features.add("-D")
                    inst.defines[size] = str(count)
                draft.statements.append(f"param {size}: int = {given} in 1..9")
            by_index = "i" in "".join(options) or draft.maybe(0.5)
            head += f"[i in 0..{size} - 1]" if by_index else f"[{size}]"
        draft.statements.append(f"device {head}" + (f" ({', '.join(options)})" if options else ""))
        if draft.maybe(0.08, "override"):
            text = f"device {name}{'[2]' if variables else ''}"
            draft.early.append(f"{text} (speed = {shadow(draft)})" if any("speed" in o for o in options) else text)


def shadow(draft: Draft) -> str:
    """Return a speed that a later statement replaces."""
    return draft.plain(7, draft.units.speed)


def _options(draft: Draft, item: Item, made: list[Device], *, host: bool, batches: bool, typed: bool) -> list[str]:
    inst, rng, units = draft.inst, draft.rng, draft.units
    options = []
    if rng.random() < 0.5:
        choices = [3, 5, 8, 12] if inst.n > 3 else [2, 4, 8]
        text, values = draft.formula(item, choices, units.room, "size")
        options.append(f"memory = {text}")
        for device, value in zip(made, values, strict=True):
            device.memory = value
        if draft.maybe(0.3, "reserve"):
            reserve = rng.choice([0.5, 1])
            reserve = min([reserve, *(value / SCALE[units.room] for value in values)])
            options.append(f"reserve = {draft.plain(reserve, units.room)}")
            for device in made:
                device.reserve = reserve * SCALE[units.room]
    if units.speed or draft.maybe(0.25, "speed"):
        text, values = draft.formula(item, [1, 2, 0.5], units.speed, "")
        options.append(f"speed = {text}")
        for device, value in zip(made, values, strict=True):
            device.speed = value
    if draft.maybe(0.12, "unsupported"):
        kind = rng.choice(KINDS)
        options.append(f"unsupported = {rng.choice(['[{}]', '{}']).format(chr(34) + kind + chr(34))}")
        for device in made:
            device.unsupported = (kind,)
    if host and draft.maybe(0.35, "io free"):
        options.append("io = free")
        for device in made:
            device.free = True
    if typed and draft.maybe(0.4):
        options.append('type = "cpu"')
        for device in made:
            device.type = "cpu"
    if batches and draft.maybe(0.4, "fixed"):
        share = rng.choice([20, 50])
        options.append(f"fixed = {share}%")
        for device in made:
            device.fixed = share / 100
    if batches and draft.maybe(0.3, "overhead"):
        text, values = draft.formula(item, [0.5, 1], units.time, "time")
        options.append(f"overhead = {text}")
        for device, value in zip(made, values, strict=True):
            device.overhead = value
    rng.shuffle(options)
    return options


def add_groups(draft: Draft) -> bool:
    """Put all devices into groups where they are one family, by a formula; return whether that was done."""
    if len(draft.devices) != 1 or not draft.devices[0].variables:
        return False
    inst = draft.inst
    at = next(i for i, s in enumerate(draft.statements) if s.startswith("device "))
    line = draft.statements[at]
    if "[i in" not in line:
        return False
    text, groups = draft.rng.choice(
        [("floor(i / 2)", [i // 2 for i in range(inst.k)]), ("mod(i, 2)", [i % 2 for i in range(inst.k)])]
    )
    line = line[:-1] + f", group = {text})" if "(" in line else f"{line} (group = {text})"
    draft.statements[at] = line
    for device, group in zip(inst.devices, groups, strict=True):
        device.group = str(group)
    return True


def add_channel(draft: Draft, network: str, *, streams: bool = True, unit: bool = False) -> None:
    """Add a ``shared`` or ``host`` interconnect; *unit*: of bandwidth 1."""
    inst, rng, units = draft.inst, draft.rng, draft.units
    inst.network = network
    rate = 1 if unit else rng.choice([1, 1, 2, 0.5, 4])
    inst.bandwidth = rate * SCALE[units.rate]
    options = [f"bandwidth = {_rate(draft, rate)}"]
    if streams and draft.maybe(0.4, "overflow"):
        inst.overflow = True
        options.append("overflow = stream")
    elif draft.maybe(0.1):
        options.append("overflow = none")
    if inst.devices[0].group is not None:
        inst.features.add("groups")
        slower = rng.choice([1, 0.5, 0.25]) * rate
        inst.between = slower * SCALE[units.rate]
        options.append(f"between = {_rate(draft, slower)}")
    if draft.maybe(0.1, "override"):
        draft.early.append(f"interconnect shared (bandwidth = {_rate(draft, 3)})")
    draft.statements.append(f"interconnect {network} ({', '.join(options)})")


def _rate(draft: Draft, rate: float) -> str:
    return draft.plain(rate, draft.units.rate)


def add_links(draft: Draft) -> None:
    """Add an interconnect ``links``: of all pairs, link by link, or both."""
    inst, rng, units = draft.inst, draft.rng, draft.units
    k, scale = inst.k, SCALE[units.rate]
    inst.network = "links"
    inst.bandwidths = [[0.0] * k for _ in range(k)]
    inst.latencies = [[0.0] * k for _ in range(k)]
    options = []
    every = rng.random() < 0.6
    if every:
        rate, late = rng.choice([1, 2, 0.5]), rng.choice([0, 0, 1, 0.5])
        options.append(f"bandwidth = {_rate(draft, rate)}")
        if late:
            options.append(f"latency = {draft.quantity(late, units.time, 'time')}")
        for d, f in product(range(k), repeat=2):
            if d != f:
                inst.bandwidths[d][f], inst.latencies[d][f] = rate * scale, late * SCALE[units.time]
    if draft.maybe(0.25, "direct"):
        inst.direct = True
        options.append("routing = direct")
    elif draft.maybe(0.2):
        options.append("routing = widest")
    draft.statements.append("interconnect links" + (f" ({', '.join(options)})" if options else ""))
    pairs = [(d, f) for d, f in product(range(k), repeat=2) if d != f]
    for d, f in pairs:
        if draft.maybe(0.2 if every else 0.75, "link"):
            _link(draft, d, f, scale)
    item = draft.devices[0]
    if len(item.members) > 1 and draft.maybe(0.2, "comprehension"):
        rate = rng.choice([1, 3])
        for i, j in product(range(len(item.members)), repeat=2):
            if i < j:
                _joined(draft, item.members[i], item.members[j], rate * scale, 0.0)
        last = len(item.members) - 1
        draft.statements.append(
            f"link {item.name}[i] -> {item.name}[j] (bandwidth = {_rate(draft, rate)}) "
            f"for i in 0..{last} for j in 0..{last} if i < j"
        )


def _joined(draft: Draft, d: int, f: int, rate: float, late: float) -> None:
    draft.inst.bandwidths[d][f], draft.inst.latencies[d][f] = rate, late


def _link(draft: Draft, d: int, f: int, scale: float) -> None:
    rng, units = draft.rng, draft.units
    options, rate, late = [], float("inf"), 0.0
    if rng.random() < 0.8:
        plain = rng.choice([1, 2, 4, 0.5])
        rate = plain * scale
        options.append(f"bandwidth = {_rate(draft, plain)}")
    if not options or rng.random() < 0.4:
        plain = rng.choice([1, 2, 0.5])
        late = plain * SCALE[units.time]
        options.append(f"latency = {draft.quantity(plain, units.time, 'time')}")
    both = rng.random() < 0.4
    _joined(draft, d, f, rate, late)
    if both:
        _joined(draft, f, d, rate, late)
    arrow = "<->" if both else "->"
    draft.statements.append(f"link {draft.device(d)} {arrow} {draft.device(f)} ({', '.join(options)})")
