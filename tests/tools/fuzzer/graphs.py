"""Random graphs as text: nodes alone and in families, edges one by one, in chains and by comprehensions."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, product

from tests.tools.fuzzer.instance import Node
from tests.tools.fuzzer.writing import SCALE, Draft, Item

__all__ = ["Shape", "add_graph", "msr_graph"]

KINDS = ("conv", "relu", "matmul")
Shape = Callable[[Draft], tuple[float, ...]]
CONDITIONS: list[tuple[str, Callable[[int, int], bool]]] = [
    ("", lambda i, j: True),
    ("if i != j", lambda i, j: i != j),
    ("if i == j", lambda i, j: i == j),
    ("if mod(i + j, 2) == 0", lambda i, j: (i + j) % 2 == 0),
    ("if i <= j and not j == 2", lambda i, j: i <= j and j != 2),
    ("if i in [0, 2] or j in 1..2", lambda i, j: i in (0, 2) or j in (1, 2)),
]


def items(draft: Draft, n: int) -> list[Item]:
    """Return *n* nodes in items, in a topological order to come."""
    rng, found, left = draft.rng, [], list(range(n))
    while left:
        size = rng.choice([1, 1, 2, 3, 4])
        letter = "abcdefgh"[len(found)]
        if size == 1 or len(left) < size:
            found.append(Item(rng.choice([letter, letter, f"{letter}/x 1"]), [left.pop(0)], [()]))
            found[-1].quoted = "/" in found[-1].name
            continue
        members, left = left[:size], left[size:]
        draft.inst.features.add("family")
        if size == 4 and rng.random() < 0.7:
            found.append(Item(letter, members, list(product(range(2), range(2))), ("i", "j")))
        else:
            found.append(Item(letter, members, [(i,) for i in range(size)], ("i",)))
    return found


def add_graph(draft: Draft, n: int, share: float, *, training: bool = False, sized: bool = False) -> None:
    """Make a graph of *n* nodes, each pair joined with a chance of about *share*."""
    inst, rng = draft.inst, draft.rng
    draft.nodes = items(draft, n)
    inst.nodes = [Node("") for _ in range(n)]
    back_from = rng.randint(1, max(1, n - 1)) if training else n
    lines = [_node(draft, item, back_from) for item in draft.nodes]
    rng.shuffle(lines)
    edges = []
    for i, one in enumerate(draft.nodes):
        if one.variables and len(one.members) > 1:
            edges += _within(draft, one, share)
        for other in draft.nodes[i + 1 :]:
            edges += _between(draft, one, other, share, sized)
    edges += _chain(draft)
    draft.statements.append("graph {\n  " + "\n  ".join([*lines, *edges]) + "\n}")


def _node(draft: Draft, item: Item, back_from: int) -> str:
    inst, rng, units = draft.inst, draft.rng, draft.units
    options = []
    nodes = [inst.nodes[v] for v in item.members]
    for i, node in enumerate(nodes):
        node.name = item.canonical(i)
    work = units.work or units.time
    for field, choices, unit, kind, chance in (
        ("work", [0, 1, 2, 3, 5, 8, 2.5], work, "time" if not units.work else "", 1.0 if units.work else 0.95),
        ("output", [0, 1, 1, 2, 3, 6], units.size, "size", 0.85),
        ("params", [0, 1, 2, 4], units.size, "size", 0.5),
        ("memory", [1, 2, 4, 7], units.size, "size", 0.2 if inst.objective != "batch" else 0.0),
    ):
        if rng.random() < chance:
            text, values = draft.formula(item, choices, unit, kind)
            options.append(f"{field} = {text}")
            for node, value in zip(nodes, values, strict=True):
                setattr(node, field, value)
    if draft.maybe(0.4):
        kind = rng.choice(KINDS)
        options.append(f'kind = "{kind}"')
        for node in nodes:
            node.kind = kind
    if draft.maybe(0.15):
        color = rng.randint(0, 2)
        if item.variables:
            options.append(f"color = mod({item.variables[0]}, 2)")
        else:
            options.append(f"color = {color}")
        for node, at in zip(nodes, item.at, strict=True):
            node.color = at[0] % 2 if item.variables else color
    if draft.maybe(0.1):
        options.append('label = "same"')
        for node in nodes:
            node.label = "same"
    if item.members[0] >= back_from:
        options.append("part = backward")
        for node in nodes:
            node.backward = True
    rng.shuffle(options)
    name = f'"{item.name}"' if item.quoted else item.name
    if len(item.variables) == 1:
        last = len(item.members) - 1
        name += f"[i in 0..{last}]"
    elif item.variables:
        name += "[i in 0..1, j in 0..1]"
    return f"node {name}" + (f" ({', '.join(options)})" if options else "")


def _add(draft: Draft, u: int, v: int, size: float | None = None) -> None:
    known = draft.inst.edges.get((u, v))
    sizes = [x for x in (known, size) if x is not None]
    draft.inst.edges[u, v] = max(sizes) if sizes else None


def _within(draft: Draft, item: Item, share: float) -> list[str]:
    """Return edges inside a family, from lower to higher subscripts."""
    name, count = item.name, len(item.members)
    if len(item.variables) == 2:
        if not draft.maybe(share + 0.3, "comprehension"):
            return []
        text, holds = draft.rng.choice(CONDITIONS)
        for i, j in product(range(1), range(2)):
            if holds(i, j):
                _add(draft, item.members[2 * i + j], item.members[2 * i + 2 + j])
        return [f"edge {name}[i, j] -> {name}[i + 1, j] for i in 0..0 for j in 0..1 {text}"]
    if draft.maybe(share, "comprehension"):
        for i in range(count - 1):
            _add(draft, item.members[i], item.members[i + 1])
        return [f"edge {name}[i] -> {name}[i + 1] for i in 0..{count - 2}"]
    if draft.maybe(share, "comprehension"):
        for i, j in product(range(count), range(count)):
            if i < j and (i + j) % 2:
                _add(draft, item.members[i], item.members[j])
        return [
            (
                f"edge {name}[i] -> {name}[j] for i in 0..{count - 1} for j in 0..{count - 1} "
                "if i < j and mod(i + j, 2) == 1"
            )
        ]
    return []


def _between(draft: Draft, one: Item, other: Item, share: float, sized: bool) -> list[str]:
    """Return edges from one item to a later one."""
    lines = []
    if len(one.variables) < 2 and len(other.variables) < 2 and (one.variables or other.variables):
        if not draft.maybe(share, "comprehension"):
            return []
        text, holds = draft.rng.choice(CONDITIONS)
        ones, others = len(one.members), len(other.members)
        for i, j in product(range(ones), range(others)):
            if holds(i, j):
                _add(draft, one.members[i], other.members[j])
        a = f"{one.name}[i]" if one.variables else one.ref(0)
        b = f"{other.name}[j]" if other.variables else other.ref(0)
        return [f"edge {a} -> {b} for i in 0..{ones - 1} for j in 0..{others - 1} {text}"]
    for u, v in product(one.members, other.members):
        if draft.maybe(share if len(one.members) + len(other.members) < 4 else share / 2):
            size, text = None, ""
            if sized and draft.maybe(0.3, "edge size"):
                value = draft.rng.choice([0, 1, 4, 5])
                size = value * SCALE[draft.units.size]
                text = f" (size = {draft.quantity(value, draft.units.size, 'size')})"
            _add(draft, u, v, size)
            lines.append(f"edge {draft.node(u)} -> {draft.node(v)}{text}")
    return lines


def _chain(draft: Draft) -> list[str]:
    """Return a chain of three nodes, perhaps of edges that are there already."""
    n = draft.inst.n
    if n < 3 or not draft.maybe(0.2):
        return []
    chosen = sorted(draft.rng.sample(range(n), 3))
    for u, v in pairwise(chosen):
        _add(draft, u, v)
    return ["edge " + " -> ".join(draft.node(v) for v in chosen)]


def msr_graph(draft: Draft, n: int, share: float, *, training: bool) -> None:
    """Make a graph that comes from a file of tarnawski2020; times on CPUs are others."""
    inst, rng = draft.inst, draft.rng
    inst.features.add("graph from file")
    back_from = rng.randint(1, n) if training else n
    rows, edges = [], []
    for v in range(n):
        work, slow = float(rng.choice([0, 1, 2, 5])), float(rng.choice([2, 4, 9]))
        runs = rng.random() < 0.85
        node = Node(
            str(v + 3), work if runs else slow, output=float(rng.choice([0, 1, 2])), memory=float(rng.choice([0, 1, 3]))
        )
        node.times = {"cpu": slow} | ({} if runs else {"accelerator": float("inf")})
        node.backward = v >= back_from
        node.color = rng.choice([-1, -1, -1, 1])
        node.label = f"n{v}"
        inst.nodes.append(node)
        rows.append({"id": v + 3, "name": node.label, "fpgaLatency": work, "cpuLatency": slow, "size": node.memory,
                     "supportedOnFpga": int(runs), "isBackwardNode": int(node.backward)}
                    | ({"colorClass": node.color} if node.color >= 0 else {}))  # fmt: skip
    if any("accelerator" in node.times for node in inst.nodes):
        for node in inst.nodes:
            node.times.setdefault("accelerator", node.work)
    for u, v in product(range(n), range(n)):
        if u < v and rng.random() < share:
            inst.edges[u, v] = None
            edges.append({"sourceId": u + 3, "destId": v + 3, "cost": inst.nodes[u].output})
    sends = {u for u, _ in inst.edges}
    for v, node in enumerate(inst.nodes):
        node.output = node.output if v in sends else 0.0
    inst.files["net.json"] = json.dumps({"nodes": rows, "edges": edges})
    draft.nodes = [Item(node.name, [v], [()], quoted=True) for v, node in enumerate(inst.nodes)]
    form = " (format = msr)" if rng.random() < 0.6 else ""
    draft.statements.append(f'graph from "net.json"{form}')
