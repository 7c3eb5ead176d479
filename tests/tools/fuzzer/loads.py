"""Bottlenecks on ``shared`` and ``host``, with groups, replicas and separate parts, from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tests.tools.fuzzer.instance import Instance, Term
from tests.tools.fuzzer.placing import broken_rows, broken_rules, cyclic

__all__ = ["best", "broken", "cost", "loads"]

Replicas = Mapping[int, tuple[int, ...]]


def spans(inst: Instance, replicas: Replicas) -> list[frozenset[str | None]]:
    """Return the groups over which the stage of each device is spread; without groups, the device itself."""
    if inst.between is None:
        return [frozenset([device.name]) for device in inst.devices]
    return [frozenset(inst.devices[e].group for e in replicas.get(d, (d,))) for d in range(inst.k)]


def loads(inst: Instance, where: Sequence[int], replicas: Replicas, part: bool | None = None) -> list[float]:
    """Return the load of every device; with *part*, that of the forward (False) or the backward part alone."""
    span = spans(inst, replicas)
    total = [0.0] * inst.k
    params = [0.0] * inst.k
    for v, d in enumerate(where):
        params[d] += inst.nodes[v].params
        if part in (None, inst.nodes[v].backward):
            total[d] += inst.time(v, d)
    for u, node in enumerate(inst.nodes):
        readers = {where[v] for t, v in inst.edges if t == u} - {where[u]}
        if not readers or part not in (None, node.backward):
            continue
        far = {d for d in readers if span[d] != span[where[u]]} if inst.between is not None else set()
        for d in readers | {where[u]}:
            dear = d in far or (d == where[u] and bool(far))
            if inst.pays(d):
                total[d] += node.output / (inst.between if dear and inst.between is not None else inst.bandwidth)
    for lead, members in replicas.items():
        for d in members:
            total[d], params[d] = total[lead], params[lead]
    hard = {d for rule in inst.of("Memory") for d in range(inst.k) if rule.on(d)}
    if inst.overflow and part is not True:
        for d, device in enumerate(inst.devices):
            if device.memory is not None and d not in hard and inst.pays(d):
                total[d] += max(0.0, params[d] + device.reserve - device.memory) / inst.bandwidth
    for lead, members in replicas.items():
        shared = max(total[lead] / len(members), _exchange(inst, replicas, lead, params, span))
        for d in members:
            total[d] = shared
    return total


def _exchanges(inst: Instance, lead: int) -> bool:
    rule = next(rule for rule in inst.of("Replicate") if rule.on(lead))
    trains = any(node.backward for node in inst.nodes)
    return inst.pays(lead) and (trains if rule.sync is None else rule.sync == "weights")


def _exchange(
    inst: Instance, replicas: Replicas, lead: int, params: Sequence[float], span: Sequence[frozenset[str | None]]
) -> float:
    """Return what each replica of a stage takes for its weights, per input."""
    if not _exchanges(inst, lead):
        return 0.0
    m = len(replicas[lead])
    if inst.between is None:
        return 2 * (m - 1) * params[lead] / inst.bandwidth / m
    outer = len(span[lead])
    inner = m // outer
    weights = sum(params[stage] for stage in replicas if span[stage] == span[lead] and _exchanges(inst, stage))
    inside = 2 * (inner - 1) * params[lead] / (inner * inst.bandwidth)
    return max(inside, 2 * (outer - 1) * weights / inst.between) / outer


def cost(inst: Instance, where: Sequence[int], replicas: Replicas) -> float:
    """Return the largest load, or the sum of the largest of both parts."""
    if inst.separate and any(node.backward for node in inst.nodes):
        return max(loads(inst, where, replicas, False)) + max(loads(inst, where, replicas, True))
    return max(loads(inst, where, replicas))


def broken(inst: Instance, where: Sequence[int], replicas: Replicas, slack: float) -> Iterator[str]:
    """Yield what a plan breaks."""
    yield from _faults(inst, where, replicas)
    most = max((len(members) for members in replicas.values()), default=1)
    for i in range(most):  # every replica must be allowed to run all nodes of its stage
        chosen = {lead: members[min(i, len(members) - 1)] for lead, members in replicas.items()}
        yield from broken_rules(inst, [chosen.get(d, d) for d in where], slack)
    if inst.between is not None:
        span = spans(inst, replicas)
        for rule in inst.of("Acyclic"):
            for back in (False, True):
                inside = {v for v, node in enumerate(inst.nodes) if node.backward == back}
                pairs = [(span[where[u]], span[where[v]]) for u, v in inst.edges if u in inside and v in inside]
                if not (back and rule.parts == "forward") and cyclic(pairs):
                    yield "acyclic among groups"
    if inst.rows:
        each = loads(inst, where, replicas)
        known: dict[Term, float] = {("load", d): load for d, load in enumerate(each)}
        known[("bottleneck",)] = max(each)
        yield from broken_rows(inst, where, known, slack)


def _faults(inst: Instance, where: Sequence[int], replicas: Replicas) -> Iterator[str]:
    """Yield what is wrong with the replicas themselves."""
    busy = Counter(where)
    taken = [d for lead, members in replicas.items() for d in members if d != lead]
    if any(lead not in busy for lead in replicas) or any(d in busy for d in taken) or len(set(taken)) < len(taken):
        yield "a device is used twice, or replicates nothing"
    span = spans(inst, replicas)
    for lead, members in replicas.items():
        rule = next((rule for rule in inst.of("Replicate") if rule.on(lead)), None)
        if rule is None or len(members) > rule.most or not all(rule.on(d) for d in members):
            yield "replicas that no constraint allows"
        if inst.between is not None and len(set(Counter(inst.devices[d].group for d in members).values())) > 1:
            yield "replicas spread unevenly over groups"
    if inst.between is not None:
        used = {span[d] for d in busy}
        if any(a != b and a & b for a in used for b in used):
            yield "stages that share some groups and not all"


def best(inst: Instance, slack: float) -> float | None:
    """Return the least cost of any plan, by trying all; None if there is none."""
    least: float | None = None
    for where in product(range(inst.k), repeat=inst.n):
        if not inst.of("Replicate") and any(True for _ in broken_rules(inst, where, slack)):
            continue
        for replicas in _replicas(inst, where):
            value = cost(inst, where, replicas)
            if (least is None or value < least) and not any(True for _ in broken(inst, where, replicas, slack)):
                least = value
    return least


def _replicas(inst: Instance, where: Sequence[int]) -> Iterator[dict[int, tuple[int, ...]]]:
    busy = sorted(set(where))
    idle = [d for d in range(inst.k) if d not in busy and any(rule.on(d) for rule in inst.of("Replicate"))]
    for leads in product([None, *busy], repeat=len(idle)):
        found: dict[int, tuple[int, ...]] = {}
        for d, lead in zip(idle, leads, strict=True):
            if lead is not None:
                found[lead] = (*found.get(lead, (lead,)), d)
        yield found
