"""Whether what the project has read from a text is what the text was made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf, isclose
from typing import Any

from tests.tools.fuzzer.batches import chunk_of, duration
from tests.tools.fuzzer.instance import Instance, Row

__all__ = ["differences"]


def close(a: float | None, b: float | None) -> bool:
    """Return whether two numbers are the same but for rounding."""
    if a is None or b is None:
        return a is b
    return a == b or isclose(a, b, rel_tol=1e-9)


def differences(inst: Instance, problem: Any) -> Iterator[str]:
    """Yield how a problem that was read differs from the instance meant."""
    names, devices = list(problem.graph.names), [device.name for device in problem.devices]
    if sorted(names) != sorted(node.name for node in inst.nodes):
        yield f"nodes {names}"
        return
    if devices != [device.name for device in inst.devices] and sorted(devices) != sorted(d.name for d in inst.devices):
        yield f"devices {devices}"
        return
    node = {names.index(one.name): v for v, one in enumerate(inst.nodes)}
    device = {devices.index(one.name): d for d, one in enumerate(inst.devices)}
    yield from _graph(inst, problem.graph, node)
    yield from _devices(inst, problem, node, device)
    yield from _interconnect(inst, problem, device)
    yield from _constraints(inst, problem, node, device)
    yield from _objective(inst, problem, node, device)


def _graph(inst: Instance, graph: Any, node: dict[int, int]) -> Iterator[str]:
    for w, v in node.items():
        meant = inst.nodes[v]
        for what, found, wanted in (
            ("work", graph.work[w], meant.work),
            ("params", graph.params[w], meant.params),
            ("output", graph.output[w], meant.output),
            ("memory", graph.memory[w], meant.takes),
        ):
            if not close(float(found), wanted):
                yield f"{what} of {meant.name} is {found}, not {wanted}"
        texts = (graph.kinds[w], graph.labels[w], int(graph.colors[w]), bool(graph.backward[w]))
        if texts != (meant.kind, meant.label, meant.color, meant.backward):
            yield f"{meant.name} is {texts}"
    found = {
        (node[t], node[h]): s
        for t, h, s in zip(graph.tails.tolist(), graph.heads.tolist(), graph.sizes.tolist(), strict=True)
    }
    if found.keys() != inst.edges.keys():
        yield f"edges {sorted(found)} and not {sorted(inst.edges)}"
        return
    for edge, size in found.items():
        if not close(size, inst.size(edge)):
            yield f"the size of {edge} is {size}"


def _devices(inst: Instance, problem: Any, node: dict[int, int], device: dict[int, int]) -> Iterator[str]:
    for e, d in device.items():
        found, meant = problem.devices[e], inst.devices[d]
        same = (
            close(found.memory, meant.memory)
            and close(found.reserve, meant.reserve)
            and close(found.speed, meant.speed)
        )
        same = same and close(found.fixed, meant.fixed) and close(found.overhead, meant.overhead)
        same = same and (found.type, found.pays_io, found.group) == (meant.type, not meant.free, meant.group)
        if not same or found.unsupported != frozenset(meant.unsupported):
            yield f"device {meant.name}: {found}"
        for w, v in node.items():
            if not close(float(problem.time[w, e]), inst.time(v, d)):
                yield f"the time of {inst.nodes[v].name} on {meant.name} is {problem.time[w, e]}"


def _interconnect(inst: Instance, problem: Any, device: dict[int, int]) -> Iterator[str]:
    link = problem.interconnect
    if link.keyword != inst.network:
        yield f"interconnect {link.keyword}"
    elif inst.network != "links":
        same = close(link.bandwidth, inst.bandwidth) and close(link.between, inst.between)
        if not same or link.overflow != inst.overflow:
            yield f"interconnect {link}"
    else:
        if (link.routing == "direct") != inst.direct or (link.transfers is None) != (inst.carried is None):
            yield f"routing {link.routing}"
        for e, d in device.items():
            for g, f in device.items():
                if d == f or inst.carried is not None:
                    continue
                wide, late = float(link.bandwidth[e, g]), float(link.latency[e, g])
                if not close(wide, inst.bandwidths[d][f]) or (wide and not close(late, inst.latencies[d][f])):
                    yield f"link {d} {f}: {wide}, {late}"


def _constraints(inst: Instance, problem: Any, node: dict[int, int], device: dict[int, int]) -> Iterator[str]:
    found, rows = Counter(), []
    for one in problem.constraints:
        if type(one).__name__ == "Linear":
            rows.append(_row(one, node, device))
            continue
        nodes = tuple(sorted(node[v] for v in getattr(one, "nodes", ())))
        on = getattr(one, "devices", None)
        found[
            type(one).__name__, nodes, None if on is None else tuple(sorted(device[d] for d in on)),
            getattr(one, "parts", "both"), getattr(one, "most", 0), getattr(one, "sync", None),
            getattr(one, "sizes", ()), getattr(one, "by", ""), getattr(one, "scope", "both"),
        ] += 1  # fmt: skip
    meant = Counter(
        (r.kind, tuple(sorted(r.nodes)), r.devices and tuple(sorted(r.devices)), r.parts, r.most, r.sync, r.sizes,
         r.by, r.scope) for r in inst.rules
    )  # fmt: skip
    if set(found) != set(meant):
        yield f"constraints {set(found) ^ set(meant)}"
    wanted = [row for row in inst.rows if row.terms or not _true(row)]
    if len(_distinct(rows)) != len(_distinct(wanted)) or not all(any(_same(a, b) for b in rows) for a in wanted):
        yield f"rows {rows} and not {wanted}"


def _true(row: Row) -> bool:
    return {"<=": row.rhs >= 0, ">=": row.rhs <= 0, "==": row.rhs == 0}[row.sense]


def _distinct(rows: Sequence[Row]) -> list[Row]:
    kept: list[Row] = []
    for row in rows:
        if not any(_same(row, other) for other in kept):
            kept.append(row)
    return kept


def _row(one: Any, node: dict[int, int], device: dict[int, int]) -> Row:
    terms = {}
    for decision, weight in one.terms:
        word = type(decision).__name__.lower()
        at = [node[decision.node]] if hasattr(decision, "node") else []
        at += [device[decision.device]] if hasattr(decision, "device") else []
        terms[(word, *at)] = float(weight)
    return Row(terms, one.sense, float(one.rhs))  # type: ignore[arg-type]


def _same(a: Row, b: Row) -> bool:
    """Return whether two rows say the same, on whichever side things stand."""
    for sign, turned in ((1.0, a.sense), (-1.0, {"<=": ">=", ">=": "<=", "==": "=="}[a.sense])):
        scale = max(map(abs, [b.rhs, *b.terms.values()]), default=1.0) * 1e-9
        terms = {t: sign * w for t, w in a.terms.items()}
        if turned == b.sense and terms.keys() == b.terms.keys() and abs(sign * a.rhs - b.rhs) <= scale:
            return all(close(terms[t], b.terms[t]) for t in terms)
    return False


def _objective(inst: Instance, problem: Any, node: dict[int, int], device: dict[int, int]) -> Iterator[str]:
    goal = problem.objective
    name = "throughput" if inst.objective == "batch" else inst.objective
    separate = inst.separate and any(one.backward for one in inst.nodes)
    if (goal.name, goal.parts == "separate", goal.batch) != (name, separate, inst.batch):
        yield f"objective {goal}"
    if inst.objective != "batch":
        return
    assert inst.batch is not None
    chunk = chunk_of(inst)
    if goal.transfer != ("per_input" if inst.per_input else "per_batch") or problem.batching.chunk != chunk:
        yield f"objective {goal}, chunks of {problem.batching.chunk}"
        return
    for w, v in node.items():
        for e, d in device.items():
            for c in range(1, inst.batch // chunk + 1):
                found, wanted = float(problem.batching.time[w, e, c]), duration(inst, v, d, c * chunk)
                if not close(found, wanted) and not (found == inf == wanted):
                    yield f"a batch of {c * chunk} of {inst.nodes[v].name} on {inst.devices[d].name}: {found}, {wanted}"
