"""Whether slack is by how much something may be later."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import Any

from tests.tools.asking.truth import Truth

__all__ = ["slacks"]


def slacks(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield which slacks are not by how much something may be later, of a schedule on links."""
    meant, problem = truth.meant, question.problem
    inst = meant.inst
    if inst.objective != "makespan" or inst.network != "links":
        return
    plan = question.plan.to_json(problem)
    index = {node.name: v for v, node in enumerate(inst.nodes)}
    runs = {row["node"]: (row["start"], row["end"], row["device"]) for row in plan["schedule"]}
    sent = {(row["source"], row["target"]): row for row in plan["transfers"]}
    spans: dict[object, tuple[float, float]] = {name: (s, e) for name, (s, e, _) in runs.items()}
    spans |= {pair: (row["start"], row["end"]) for pair, row in sent.items()}
    uses: dict[object, list[object]] = {}
    exclusive = bool(inst.of("ExclusiveLinks"))
    for name, (start, end, device) in runs.items():
        if end > start:
            uses.setdefault(("runs", device), []).append(name)
    for pair, row in sent.items():
        if exclusive and row["end"] > row["start"]:
            uses.setdefault(("sends", row["from"]), []).append(pair)
            uses.setdefault(("receives", row["to"]), []).append(pair)
    after: dict[object, set[object]] = {item: set() for item in spans}
    for u, v in inst.edges:
        a, b = inst.nodes[u].name, inst.nodes[v].name
        if (a, b) in spans:
            after[a].add((a, b))
            after[a, b].add(b)
        else:
            after[a].add(b)
    for busy in uses.values():
        busy.sort(key=lambda item: spans[item])
        for one, two in pairwise(busy):
            after[one].add(two)
    makespan = max(runs[name][1] for name in index)

    def late(item: object, by: float) -> float:
        """Return when the last node ends where an item starts later, and all behind it no earlier than it can."""
        start = {each: span[0] for each, span in spans.items()}
        start[item] += by
        for _ in range(len(spans) + 1):
            for one, others in after.items():
                end = start[one] + spans[one][1] - spans[one][0]
                for other in others:
                    start[other] = max(start[other], end)
        return max(start[name] + runs[name][1] - runs[name][0] for name in index)

    room = 1e-7 * makespan + 1e-12
    for activity, slack in zip(part.timeline.activities, part.timeline.slack, strict=True):
        item: object = activity.name
        if activity.kind == "transfer":
            item = tuple(activity.name.split(" -> "))
        if item not in spans:
            yield f"there is no {activity.kind} {activity.name}"
            continue
        truth.tried["slack"] += 1
        if slack < inf and late(item, max(0.0, slack)) > makespan + room:
            yield f"{activity.name} delayed by its slack {slack} makes the makespan longer"
        if slack < inf and late(item, slack + 100 * room) <= makespan + room:
            yield f"{activity.name} delayed by more than its slack {slack} does not make the makespan longer"
    at = 0.0
    for step in part.timeline.critical:
        if step.activity.start < at - room:
            yield f"the critical path goes back in time at {step.activity.name}"
        at = step.activity.end
    if part.timeline.critical and abs(at - makespan) > room:
        yield f"the critical path ends at {at}, not {makespan}"
