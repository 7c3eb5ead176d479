"""Count again, in plain Python, what several checks need: replicas, nodes that take longer, missing memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isnan
from types import MappingProxyType
from typing import TypeAlias

from mtpp_dsl.core.constraints import Robust
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.problem import Problem

Replicas: TypeAlias = Mapping[int, tuple[int, ...]]
Span: TypeAlias = frozenset[str | None]

NONE: Replicas = MappingProxyType({})


def spans(problem: Problem, replicas: Replicas) -> list[Span]:
    """Return the groups that the stage of every device is spread over."""
    return [frozenset(problem.devices[e].group for e in replicas.get(d, (d,))) for d in range(problem.k)]


def copies(replicas: Replicas, device: list[int]) -> Iterator[list[int]]:
    """Yield assignments with one replica of every stage each, so that every replica is in one of them."""
    most = max((len(members) for members in replicas.values()), default=1)
    for i in range(most):
        chosen = {lead: members[min(i, len(members) - 1)] for lead, members in replicas.items()}
        yield [chosen.get(d, d) for d in device]


def exchange(problem: Problem, replicas: Replicas, lead: int, params: list[float]) -> float:
    """Return what each replica of a stage takes, per input, to exchange weights (PipeDream, on one level or two).

    On two levels a stage without weights is charged for those of the stages that are spread over the same groups.
    *params* are those of every device's nodes.
    """
    link = problem.interconnect
    assert isinstance(link, (Shared, Host))
    trains = any(problem.graph.backward.tolist())

    def takes_part(stage: int) -> bool:
        rule = problem.replicate[stage]
        pays = isinstance(link, Shared) or problem.devices[stage].pays_io
        return pays and rule is not None and (rule.sync == "weights" or (rule.sync is None and trains))

    if not takes_part(lead):
        return 0.0
    span = spans(problem, replicas)
    groups = len(span[lead])
    m = len(replicas[lead]) // groups
    inside = 2 * (m - 1) * params[lead] / link.bandwidth / m
    if link.between is None:
        return inside
    together = sum(params[stage] for stage in replicas if takes_part(stage) and span[stage] == span[lead])
    return max(inside, 2 * (groups - 1) * together / link.between) / groups


def faults(problem: Problem, replicas: Replicas, device: list[int]) -> Iterator[str]:
    """Yield what is wrong with the replicas of a plan themselves."""
    name = [spec.name for spec in problem.devices]
    used = dict.fromkeys(device, "nodes of its own")
    for lead, members in replicas.items():
        rule = problem.replicate[lead]
        if rule is None:
            yield f"{name[lead]} has replicas, and no constraint allows them"
            continue
        if lead not in device:
            yield f"{name[lead]} has replicas and no nodes"
        if len(members) > rule.most:
            yield f"the nodes of {name[lead]} are on {len(members)} devices; constraint {rule} allows {rule.most}"
        for d in members[1:]:
            if problem.replicate[d] is not rule:
                yield f"{name[d]} is a replica of {name[lead]}, which constraint {rule} does not allow"
            if d in used:
                yield f"{name[d]} is a replica of {name[lead]} and has {used[d]}"
            used[d] = f"those of {name[lead]}"
        if problem.hierarchical and len(set(Counter(problem.devices[d].group for d in members).values())) > 1:
            yield f"the replicas of {name[lead]} are not spread evenly over their groups"
    yield from _overlaps(problem, replicas, device)


def _overlaps(problem: Problem, replicas: Replicas, device: list[int]) -> Iterator[str]:
    """Yield two stages that share some groups and not all: PipeDream gives whole groups to the same stages."""
    if not problem.hierarchical:
        return
    span = spans(problem, replicas)
    first: dict[Span, int] = {}
    for d in sorted(set(device)):
        first.setdefault(span[d], d)
    for one, d in first.items():
        for other, e in first.items():
            if d < e and one & other:
                names = f"{problem.devices[d].name} and {problem.devices[e].name}"
                yield f"the stages of {names} share some of their groups and not all"


def lateness(problem: Problem, device: Sequence[int]) -> list[float]:
    """Return for every device the most that its nodes can take longer, if so many of them do as the problem allows."""
    total = [0.0] * problem.k
    for rule in problem.of(Robust):
        late: list[list[float]] = [[] for _ in total]
        for v, d in enumerate(device):
            own, share = float(problem.graph.deviation[v]), float(problem.graph.deviation_share[v])
            if problem.time[v, d] == inf:
                continue
            late[d].append((rule.share if isnan(share) else share) * float(problem.time[v, d]) if isnan(own) else own)
        for d, times in enumerate(late):
            total[d] += sum(sorted(times, reverse=True)[: rule.most])
    return total


def needs(problem: Problem, device: int, used: float, room: float) -> str:
    """Return "gpu needs 37.7 GB of 24 GB"; with all digits where the rounded sizes would be the same."""
    name, (have, there) = problem.devices[device].name, (problem.size(used), problem.size(room))
    return f"{name} needs {have} of {there}" if have != there else f"{name} needs {used:.12g} of {room:.12g}"
