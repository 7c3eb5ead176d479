"""What holds of an assignment whatever the objective: support, pins, memory, colocation, order; and labelled rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

from tests.tools.fuzzer.instance import Instance, Row, Term

__all__ = ["broken_rows", "broken_rules", "cyclic", "row_holds"]


def broken_rules(inst: Instance, where: Sequence[int], slack: float) -> Iterator[str]:
    """Yield what an assignment breaks; *slack* is the relative tolerance of memory."""
    for v, d in enumerate(where):
        if inst.time(v, d) == inf:
            yield f"{inst.devices[d].name} cannot run {inst.nodes[v].name}"
    for rule in inst.rules:
        on = {where[v] for v in rule.nodes}
        if rule.kind == "Colocate" and len(on) > 1:
            yield f"colocate {rule.nodes}"
        elif rule.kind == "Separate" and len(on) < len(rule.nodes):
            yield f"separate {rule.nodes}"
        elif rule.kind == "Pin" and not all(rule.on(d) for d in on):
            yield f"pin {rule.nodes}"
        elif rule.kind == "Forbid" and any(rule.on(d) for d in on):
            yield f"forbid {rule.nodes}"
        elif rule.kind == "Memory":
            yield from _memory(inst, where, [d for d in range(inst.k) if rule.on(d)], slack)
        elif rule.kind == "Acyclic":
            for part in _parts(inst, rule.parts):
                if cyclic((where[u], where[v]) for u, v in inst.edges if u in part and v in part):
                    yield "acyclic"
        elif rule.kind == "Contiguous":
            for part in _parts(inst, rule.parts):
                edges = [(u, v) for u, v in inst.edges if u in part and v in part]
                latency = inst.objective == "makespan" and inst.network != "links"
                for d in range(inst.k):
                    inside = {v for v in part if where[v] == d}
                    if rule.on(d) and not (latency and not inst.pays(d)) and not convex(inside, edges):
                        yield f"contiguous on {inst.devices[d].name}"


def _memory(inst: Instance, where: Sequence[int], devices: Iterable[int], slack: float) -> Iterator[str]:
    for d in devices:
        room = inst.devices[d].memory
        used = sum(node.takes for node, on in zip(inst.nodes, where, strict=True) if on == d)
        if room is not None and used > (room - inst.devices[d].reserve) * (1 + slack) + 1e-12 * room:
            yield f"memory of {inst.devices[d].name}"


def _parts(inst: Instance, parts: str) -> list[set[int]]:
    """Return the sets of nodes of which order and contiguity are asked, each by itself."""
    back = {v for v, node in enumerate(inst.nodes) if node.backward}
    front = set(range(inst.n)) - back
    return [front] if parts == "forward" or not back else [front, back]


def convex(inside: set[int], edges: Sequence[tuple[int, int]]) -> bool:
    """Return whether no path along *edges* leaves a set and comes back."""
    reached = {v for u, v in edges if u in inside and v not in inside}
    while True:
        further = {v for u, v in edges if u in reached}
        if further & inside:
            return False
        if further <= reached:
            return True
        reached |= further


def cyclic(pairs: Iterable[tuple[object, object]]) -> bool:
    """Return whether a graph, given by its edges, has a cycle; edges from a node to itself do not count."""
    left = {(a, b) for a, b in pairs if a != b}
    while left:
        heads = {b for _, b in left}
        rest = {(a, b) for a, b in left if a in heads}
        if len(rest) == len(left):
            return True
        left = rest
    return False


def row_holds(row: Row, value: Callable[[Term], float], slack: float) -> bool:
    """Return whether a row holds, to a share *slack* of its largest number."""
    parts = [weight * value(term) for term, weight in row.terms.items()]
    room = slack * max([abs(row.rhs), *map(abs, parts)])
    left = sum(parts) - row.rhs
    return {"<=": left <= room, ">=": left >= -room, "==": abs(left) <= room}[row.sense]


def broken_rows(inst: Instance, where: Sequence[int], known: dict[Term, float], slack: float) -> Iterator[str]:
    """Yield the labelled rows that are broken; *known* are the values of all decisions but ``on``."""

    def value(term: Term) -> float:
        return float(where[term[1]] == term[2]) if term[0] == "on" else known[term]

    for row in inst.rows:
        if not row_holds(row, value, slack):
            yield f"row {row}"
