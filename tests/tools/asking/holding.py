"""Whether what holds a bottleneck is what has the largest load, and its parts add up to that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tools.asking.truth import NEAR, Truth, above
from tests.tools.fuzzer.loads import loads

__all__ = ["held"]


def held(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield what is wrong with what holds the bottleneck."""
    meant, problem = truth.meant, question.problem
    one = part.held[0]
    for limit in one.limits:
        truth.tried["limit"] += 1
        if above(limit.cost, truth.best):
            yield f"{limit.words()}: {limit.cost} is above {truth.best}"
    if one.optimal and truth.best is not None and question.cost > truth.best * (1 + 2 * NEAR):
        yield f"{question.cost} is said to be optimal, and {truth.best} is"
    if problem.timed or meant.inst.objective not in ("bottleneck", "throughput"):
        total = sum(holder.amount for holder in one.holders)
        if one.left == 0 and problem.timed and abs(total - question.cost) > 1e-8 * question.cost:
            yield f"the critical path spends {total}, and the makespan is {question.cost}"
        return
    place = {device.name: d for d, device in enumerate(meant.inst.devices)}
    plan = question.plan.to_json(problem)
    where = [place[plan["assignment"][node.name]] for node in meant.inst.nodes]
    replicas = {place[a]: tuple(place[d] for d in members) for a, members in (plan["replicas"] or {}).items()}
    truth.tried["holder"] += 1
    if meant.inst.separate and any(node.backward for node in meant.inst.nodes):
        for role, back in (("forward", False), ("backward", True)):
            most = max(loads(meant.inst, where, replicas, back))
            amounts = [holder.amount for holder in one.holders if holder.role == role]
            if abs(max(amounts, default=0.0) - most) > 1e-8 * most:
                yield f"the largest {role} load is {most}, not {amounts}"
        return
    each = loads(meant.inst, where, replicas)
    most = max(each)
    names = {name for holder in one.holders for name in holder.names}
    top = {x.name for x, load in zip(meant.inst.devices, each, strict=True) if load >= most * (1 - 1e-10)}
    wide = {x.name for x, load in zip(meant.inst.devices, each, strict=True) if load >= most * (1 - 1e-8)}
    if not one.left and not (top <= names <= wide):
        yield f"held by {sorted(names)}, and the loads are {each}"
    for holder in one.holders:
        if abs(holder.amount - most) > 1e-8 * most:
            yield f"{holder.names} has {holder.amount}, not {most}"
        pieces = sum(piece.time for piece in holder.pieces)
        parts = sum(holder.parts.values())
        if holder.parts.keys() <= {"work", "input", "output", "overflow"} and abs(parts - most) > 1e-8 * most:
            yield f"the parts of {holder.names} add up to {parts}, not {most}"
        over = holder.parts.get("overflow", 0.0)
        if not holder.pieces_left and "sync" not in holder.parts and abs(pieces + over - most) > 1e-8 * most:
            yield f"the pieces of {holder.names} add up to {pieces + over}, not {most}"
    rest = [load for load in each if load < most * (1 - 1e-8)]
    if (one.second is None) != (not rest) or (rest and one.second and abs(one.second.amount - max(rest)) > 1e-8 * most):
        yield f"the second is {one.second and one.second.amount}, and the loads are {each}"
