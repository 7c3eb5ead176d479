"""Random constraints as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.tools.fuzzer.instance import Row, Rule, Term
from tests.tools.fuzzer.writing import SCALE, Draft

__all__ = ["add_rows", "add_rules", "node_set"]


def add_rules(draft: Draft, chances: dict[str, float]) -> None:
    """Add constraints without a label, each with its chance."""
    for name, chance in chances.items():
        if draft.maybe(chance, name):
            made = RULES[name](draft)
            if made is None:
                draft.inst.features.discard(name)
            else:
                text, rules = made
                draft.statements.append(f"constraint {text}")
                draft.inst.rules += rules


Made = tuple[str, list[Rule]] | None


def _some(draft: Draft, least: int, most: int) -> list[int] | None:
    n = draft.inst.n
    return sorted(draft.rng.sample(range(n), draft.rng.randint(least, min(most, n)))) if n >= least else None


def node_set(draft: Draft, least: int) -> tuple[str, list[int]] | None:
    """Return nodes with what a spec calls them: a list, a definition, or what a condition chooses."""
    inst, rng = draft.inst, draft.rng
    if rng.random() < 0.55:
        chosen = _some(draft, least, least + 1)
        return None if chosen is None else (draft.list_of(chosen), chosen)
    unit = draft.units.work or draft.units.time
    limit = rng.choice([0.25, 1.25, 2.75])  # between what works can be: equality would be a matter of rounding
    family = next((item for item in draft.nodes if item.variables), None)
    choices: list[tuple[str, Callable[[int], bool]]] = [
        (f"work(v) >= {draft.plain(limit, unit)}", lambda v: inst.nodes[v].work >= limit * SCALE[unit]),
        ('kind(v) == "conv"', lambda v: inst.nodes[v].kind == "conv"),
        ('kind(v) in ["conv", "relu"]', lambda v: inst.nodes[v].kind in ("conv", "relu")),
        ("output(v) > 0", lambda v: inst.nodes[v].output > 0),
    ]
    if draft.units.memory is None:  # where a file says nothing of parameters, to ask for them is an error
        choices.append(
            (
                'part(v) == "forward" and params(v) == 0',
                lambda v: not inst.nodes[v].backward and inst.nodes[v].params == 0,
            )
        )
    if family is not None:
        members = family.members
        choices += [
            (f"v in {family.name}", lambda v: v in members),
            (f"not v in {family.name}", lambda v: v not in members),
        ]
    text, holds = rng.choice(choices)
    chosen = [v for v in range(inst.n) if holds(v)]
    if len(chosen) < least or any(abs(inst.nodes[v].work / SCALE[unit] - limit) < 1e-6 for v in range(inst.n)):
        return None
    inst.features.add("set by condition")
    whole = f"{{ v in nodes if {text} }}"
    if draft.maybe(0.5, "let"):
        name = draft.fresh("s")
        draft.statements.append(f"let {name} = {whole}")
        return name, chosen
    return whole, chosen


def _parts(draft: Draft) -> tuple[str, str]:
    if any(node.backward for node in draft.inst.nodes) and draft.maybe(0.3, "parts = forward"):
        return " (parts = forward)", "forward"
    return draft.rng.choice(["", "", " (parts = both)"]), "both"


def _acyclic(draft: Draft) -> Made:
    text, parts = _parts(draft)
    return f"acyclic{text}", [Rule("Acyclic", parts=parts)]


def _on(draft: Draft, among: Sequence[int] | None = None) -> tuple[str, tuple[int, ...] | None]:
    among = range(draft.inst.k) if among is None else among
    if len(among) == draft.inst.k and draft.rng.random() < 0.6:
        return "", None
    chosen = sorted(draft.rng.sample(list(among), draft.rng.randint(1, len(among))))
    return f" on {draft.list_of(chosen, devices=True)}", tuple(chosen)


def _contiguous(draft: Draft) -> Made:
    text, parts = _parts(draft)
    paying = [d for d in range(draft.inst.k) if draft.inst.pays(d)]
    latency = draft.inst.objective == "makespan" and draft.inst.network != "links"
    on, devices = ("", None) if latency or not paying else _on(draft)
    return f"contiguous{on}{text}", [Rule("Contiguous", devices=devices, parts=parts)]


def _memory(draft: Draft) -> Made:
    having = [d for d, device in enumerate(draft.inst.devices) if device.memory is not None]
    if not having:
        return None
    on, devices = _on(draft, having)
    return f"memory{on}", [Rule("Memory", devices=devices)]


def _colocate(draft: Draft) -> Made:
    inst, rng = draft.inst, draft.rng
    choice = rng.random()
    family = next((item for item in draft.nodes if len(item.variables) == 1 and len(item.members) > 2), None)
    if choice < 0.25:
        word, key = rng.choice([("color", lambda n: n.color), ("kind", lambda n: n.kind), ("label", lambda n: n.label)])
        groups: dict[object, list[int]] = {}
        for v, node in enumerate(inst.nodes):
            if key(node) not in (-1, ""):
                groups.setdefault(key(node), []).append(v)
        if not groups:
            return None
        return f"colocate by {word}", [Rule("Colocate", nodes=tuple(g)) for g in groups.values() if len(g) > 1]
    if choice < 0.4 and family is not None:
        inst.features.add("comprehension")
        pairs = list(zip(family.members, family.members[1:], strict=False))
        kept = [pair for i, pair in enumerate(pairs) if i != 1]
        text = f"colocate {family.name}[i], {family.name}[i + 1] for i in 0..{len(pairs) - 1} if i != 1"
        return text, [Rule("Colocate", nodes=pair) for pair in kept]
    found = node_set(draft, 2)
    return found and (f"colocate {found[0]}", [Rule("Colocate", nodes=tuple(found[1]))])


def _separate(draft: Draft) -> Made:
    found = node_set(draft, 2)
    return found and (f"separate {found[0]}", [Rule("Separate", nodes=tuple(found[1]))])


def _pin(draft: Draft) -> Made:
    inst, rng = draft.inst, draft.rng
    word, kind = ("pin", "Pin") if rng.random() < 0.5 else ("forbid", "Forbid")
    family = next((item for item in draft.nodes if len(item.variables) == 1), None)
    place = next((item for item in draft.devices if len(item.members) > 1), None)
    if family is not None and place is not None and draft.maybe(0.3, "comprehension"):
        count = len(place.members)
        text = f"{word} {family.name}[i] on {place.name}[mod(i, {count})] for i in 0..{len(family.members) - 1}"
        pairs = [(v, place.members[i % count]) for i, v in enumerate(family.members)]
        return text, [Rule(kind, nodes=(v,), devices=(d,)) for v, d in pairs]
    found = node_set(draft, 1)
    if found is None:
        return None
    most = inst.k if kind == "Pin" else max(1, inst.k - 1)
    devices = sorted(rng.sample(range(inst.k), rng.randint(1, most)))
    text = f"{word} {found[0]} on {draft.list_of(devices, devices=True)}"
    return text, [Rule(kind, nodes=tuple(found[1]), devices=tuple(devices))]


def _exclusive(_: Draft) -> Made:
    return "exclusive links", [Rule("ExclusiveLinks")]


def _break(draft: Draft) -> Made:
    by = draft.rng.choice(["tasks", "batches", "time"])
    scope = draft.rng.choice(["both", "within", "between"])
    text = f" (scope = {scope})" if scope != "both" or draft.maybe(0.3) else ""
    return f"break symmetry by {by}{text}", [Rule("BreakSymmetry", by=by, scope=scope)]


def _subgraphs(draft: Draft) -> Made:
    paying = [d for d in range(draft.inst.k) if draft.inst.pays(d)]
    if not paying:
        return None
    most = draft.rng.choice([1, 2, 2])
    on, devices = (f" on {draft.list_of(paying, devices=True)}", tuple(paying)) if draft.maybe(0.5) else ("", None)
    return f"subgraphs at most {most}{on}", [Rule("Subgraphs", devices=devices, most=most)]


def _batch(draft: Draft) -> Made:
    inst, rng = draft.inst, draft.rng
    assert inst.batch is not None
    menu = [p for p in range(1, inst.batch + 1) if inst.chunk is None or p % inst.chunk == 0]
    menu = sorted(rng.sample(menu, rng.randint(1, len(menu))))
    on, devices = _on(draft)
    text = f"[{', '.join(map(str, menu))}]"
    if menu == list(range(menu[0], menu[-1] + 1)) and draft.maybe(0.5):
        text = f"{menu[0]}..{menu[-1]}"
    return f"batch{on} in {text}", [Rule("BatchSizes", devices=devices, sizes=tuple(menu))]


def _replicate(draft: Draft) -> Made:
    rng = draft.rng
    sets = [tuple(item.members) for item in draft.devices if len(item.members) > 1]
    alike = [tuple(range(draft.inst.k))] if draft.inst.k > 1 else []
    fit = [s for s in [*sets, *alike] if _equal(draft, s)]
    if not fit:
        return None
    chosen = rng.choice(fit)
    most = rng.randint(2, 4)
    sync = rng.choice([None, "weights", "none"])
    text = f" (sync = {sync})" if sync else ""
    rule = Rule("Replicate", devices=chosen, most=most, sync=sync)
    return f"replicate {draft.list_of(list(chosen), devices=True)} up to {most}{text}", [rule]


def _equal(draft: Draft, chosen: Sequence[int]) -> bool:
    inst = draft.inst
    shapes = {
        (inst.devices[d].free, inst.devices[d].memory, inst.devices[d].reserve,
         tuple(inst.time(v, d) for v in range(inst.n)))
        for d in chosen
    }  # fmt: skip
    return len(shapes) == 1


RULES: dict[str, Callable[[Draft], Made]] = {
    "acyclic": _acyclic,
    "contiguous": _contiguous,
    "memory": _memory,
    "colocate": _colocate,
    "separate": _separate,
    "pin": _pin,
    "exclusive links": _exclusive,
    "break symmetry": _break,
    "subgraphs": _subgraphs,
    "batch sizes": _batch,
    "replicate": _replicate,
}


def add_rows(draft: Draft, count: int, *, timed: bool = False, loads: bool = True, bottleneck: bool = True) -> None:
    """Add labelled constraints."""
    choices = [_few, _room, _pair, _counting, *([_load, _load] if loads else []), *([_cap] if bottleneck else [])]
    for _ in range(count):
        made = draft.rng.choice([*choices, *([_times] * 4 if timed else [])])(draft)
        if made is None:
            continue
        body, rows = made
        draft.inst.features.add("labelled row")
        draft.statements.append(f"constraint {draft.fresh('r')}: {body}")
        for row in rows:
            row.terms = {term: weight for term, weight in row.terms.items() if weight}
            draft.inst.rows += [row]


MadeRows = tuple[str, list[Row]] | None


def _few(draft: Draft) -> MadeRows:
    found = node_set(draft, 1)
    if found is None:
        return None
    text, chosen = found
    text = f"[{text}]" if "," in text and not text.startswith("{") else text
    most = draft.rng.randint(1, max(1, len(chosen)))
    sense = draft.rng.choice(["<=", "<=", "<=", "=="])
    devices = range(draft.inst.k)
    if draft.maybe(0.5, "forall"):
        rows = [Row({("on", v, d): 1.0 for v in chosen}, "<=", float(most)) for d in devices]
        return (
            f"forall d in devices: sum(on(v, d) for v in {text if not _bare(draft, text) else f'[{text}]'}) <= {most}",
            rows,
        )
    d = draft.rng.choice(list(devices))
    row = Row({("on", v, d): 1.0 for v in chosen}, sense, float(most))
    inner = f"[{text}]" if _bare(draft, text) else text
    return f"sum(on(v, {draft.device_name(d)}) for v in {inner}) {sense} {most}", [row]


def _bare(draft: Draft, text: str) -> bool:
    """Return whether a text is one node, and no set."""
    return any(text in (item.ref(i), f'"{item.canonical(i)}"') for item in draft.nodes for i in range(len(item.members))
               if not (item.variables and text == item.name))  # fmt: skip


def _room(draft: Draft) -> MadeRows:
    inst, unit = draft.inst, draft.units.size
    if draft.units.memory is not None or inst.carried is not None:
        return None
    d = draft.rng.choice(range(inst.k))
    most = draft.rng.choice([2, 4, 6])
    row = Row({("on", v, d): node.params for v, node in enumerate(inst.nodes)}, "<=", most * SCALE[unit])
    return f"sum(params(v) * on(v, {draft.device_name(d)}) for v in nodes) <= {draft.plain(most, unit)}", [row]


def _pair(draft: Draft) -> MadeRows:
    chosen = _some(draft, 2, 2)
    if chosen is None:
        return None
    a, b = chosen
    d, e = (draft.rng.choice(range(draft.inst.k)) for _ in range(2))
    one = f"on({draft.node_name(a)}, {draft.device_name(d)})"
    other = f"on({draft.node_name(b)}, {draft.device_name(e)})"
    match draft.rng.randrange(3):
        case 0:
            return f"{one} <= {other}", [Row({("on", a, d): 1.0, ("on", b, e): -1.0}, "<=", 0.0)]
        case 1:
            return f"{one} + {other} <= 1", [Row({("on", a, d): 1.0, ("on", b, e): 1.0}, "<=", 1.0)]
        case _:
            terms: dict[Term, float] = {("on", a, d): 1.0, ("on", b, e): 2.0}
            return f"1 <= {one} + 2 * {other} <= 3", [Row(dict(terms), ">=", 1.0), Row(dict(terms), "<=", 3.0)]


def _counting(draft: Draft) -> MadeRows:
    """Make rows that count to one: two nodes apart, together, or one off a device."""
    chosen = _some(draft, 2, 2)
    if chosen is None:
        return None
    a, b = chosen
    one, other = (f"on({draft.node_name(v)}, each)" for v in (a, b))
    devices = range(draft.inst.k)
    match draft.rng.randrange(3):
        case 0:
            rows = [Row({("on", a, d): 1.0, ("on", b, d): 1.0}, "<=", 1.0) for d in devices]
            return f"forall each in devices: {one} + {other} <= 1", rows
        case 1:
            rows = [Row({("on", a, d): 1.0, ("on", b, d): -1.0}, "==", 0.0) for d in devices]
            return f"forall each in devices: {one} == {other}", rows
        case _:
            d = draft.rng.choice(list(devices))
            return f"on({draft.node_name(a)}, {draft.device_name(d)}) == 0", [Row({("on", a, d): 1.0}, "==", 0.0)]


def _about(draft: Draft) -> float:
    """Return a time, in the unit of times, that some loads keep to and some do not."""
    inst = draft.inst
    whole = sum(min(inst.time(v, d) for d in range(inst.k)) for v in range(inst.n))
    whole = whole / SCALE[draft.units.time] if whole < float("inf") else 8
    return float(round(whole * draft.rng.choice([0.4, 0.6, 0.8, 1.0, 1.3]) + 1))


def _load(draft: Draft) -> MadeRows:
    inst, rng, unit = draft.inst, draft.rng, draft.units.time
    limit = _about(draft)
    text, base = draft.plain(limit, unit), limit * SCALE[unit]
    d, e = rng.choice(range(inst.k)), rng.choice(range(inst.k))
    one, other = (f"load({draft.device_name(x)})" for x in (d, e))
    match rng.randrange(5):
        case 0:
            return f"{one} <= {text}", [Row({("load", d): 1.0}, "<=", base)]
        case 1:
            return f"forall d in devices: load(d) <= {text}", [
                Row({("load", f): 1.0}, "<=", base) for f in range(inst.k)
            ]
        case 2:
            half = draft.plain(limit / 2, unit)
            return f"{one} >= {half}", [Row({("load", d): 1.0}, ">=", base / 2)]
        case 3:
            if d == e:
                return None
            return f"{one} <= {other} + {text}", [Row({("load", d): 1.0, ("load", e): -1.0}, "<=", base)]
        case _:
            share = [Row({("load", f): 1.0, ("bottleneck",): -0.25}, ">=", 0.0) for f in range(inst.k)]
            if inst.separate or inst.objective == "makespan":
                return None
            return "forall d in devices: load(d) >= 1/4 * bottleneck", share


def _cap(draft: Draft) -> MadeRows:
    limit = _about(draft)
    if draft.inst.separate or draft.inst.objective == "makespan":
        return None
    return f"bottleneck <= {draft.plain(limit, draft.units.time)}", [
        Row({("bottleneck",): 1.0}, "<=", limit * SCALE[draft.units.time])
    ]


def _times(draft: Draft) -> MadeRows:
    inst, rng, unit = draft.inst, draft.rng, draft.units.time
    limit = _about(draft)
    text, base = draft.plain(limit, unit), limit * SCALE[unit]
    early, little = draft.plain(limit / 4, unit), base / 4
    chosen = _some(draft, 2, 2)
    if chosen is None:
        return None
    a, b = rng.sample(chosen, 2)
    one, other = draft.node_name(a), draft.node_name(b)
    d = rng.choice(range(inst.k))
    cases: list[MadeRows] = [
        (f"makespan <= {text}", [Row({("makespan",): 1.0}, "<=", base)]),
        (f"start({one}) >= {early}", [Row({("start", a): 1.0}, ">=", little)]),
        (f"finish({one}) <= {text}", [Row({("finish", a): 1.0}, "<=", base)]),
        (
            f"finish({one}) <= {text} + {early} * on({one}, {draft.device_name(d)})",
            [Row({("finish", a): 1.0, ("on", a, d): -little}, "<=", base)],
        ),
        (f"start({one}) + finish({other}) <= {text}", [Row({("start", a): 1.0, ("finish", b): 1.0}, "<=", base)]),
    ]
    if not inst.of("ExclusiveLinks"):
        cases += [
            (
                f"start({one}) - finish({other}) >= {early}",
                [Row({("start", a): 1.0, ("finish", b): -1.0}, ">=", little)],
            ),
            (f"start({one}) <= start({other}) + {early}", [Row({("start", a): 1.0, ("start", b): -1.0}, "<=", little)]),
        ] * 2
    return rng.choice(cases)
