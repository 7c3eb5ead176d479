"""Problems that cannot have a plan, found by counting: no solver, no search."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.order_findings import (
    Finding,
    behind,
    closed_cycle,
    groups_of,
    holding,
    listed,
    named,
    placing,
    too_few,
)
from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Colocate,
    Constraint,
    Copies,
    Forbid,
    InOrder,
    Linear,
    Memory,
    On,
    Pin,
    PinChunks,
    Repeat,
    Replicate,
    Separate,
)
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.problem.colocation import colocated, together
from mtpp_dsl.core.problem.counting import Recognised, recognised, restored
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.problem import Problem

__all__ = ["closed_cycle", "forced_together", "quick"]


def quick(problem: Problem) -> Infeasibility | None:
    """Return why *problem* has no plan, if counting shows it; None proves nothing.

    Looks for: a node, or nodes held together by colocation or by a cycle that it closes, that no device may or can
    run or hold; more memory needed than there is where it may be used; nodes held together and apart; more nodes
    held apart than devices they may use; a node that the order of devices leaves none; devices that have to have a
    node, and too few nodes for them; a constraint whose left side cannot reach its right side; an edge between
    nodes whose devices no link joins. Labelled constraints that count are read as what they amount to, where that
    is not enough.

    Under constraints that enlarge the set of plans, other than :data:`COUNTED`, nothing is looked for.
    """
    if any(constraint.enlarges and type(constraint) not in COUNTED for constraint in problem.constraints):
        return None
    contradiction = _first(problem)
    read = Recognised(problem) if contradiction is not None else recognised(problem)
    if read.problem is problem:
        return contradiction
    contradiction = _first(read.problem)
    return None if contradiction is None else replace(contradiction, clash=restored(contradiction.clash, read.sources))


def _first(problem: Problem) -> Infeasibility | None:
    """Return the first contradiction that a finder proves, with the constraints it needs; None if none proves any."""
    for find in FINDERS:
        finding = next(find(problem), None)
        if finding is not None:
            reason, clash = _needed(problem, find, *finding)
            return Infeasibility(reason, tuple(str(constraint) for constraint in clash))
    return None


COUNTED: tuple[type[Constraint], ...] = (Copies, Repeat, Replicate)
"""Kinds that enlarge the set of plans, but not where there would be none: what counting shows holds."""

BLOCK, WORK = 5_000_000, 2_000_000_000
"""Entries of tables that are made at once, and that are gone through in all: what is beyond is not looked for."""

MAX_LEFT_OUT_SIZE = 1_000_000
"""Nodes times constraints of a finding; beyond it, none is tried to be left out."""


def _needed(
    problem: Problem, find: Callable[[Problem], Iterator[Finding]], reason: str, clash: Sequence[Constraint]
) -> Finding:
    """Return the finding with as few constraints of its *clash* as prove it: each of them is needed.

    Those that say what batches there are stay: without them, it is another problem.
    """
    kept = list(dict.fromkeys(map(id, clash)))
    by_id = {id(constraint): constraint for constraint in clash}
    always = [
        constraint for constraint in problem.constraints if isinstance(constraint, (BatchSizes, PinChunks, Repeat))
    ]
    if problem.graph.n * len(kept) <= MAX_LEFT_OUT_SIZE:
        for number in [number for number in kept if by_id[number] not in always]:
            rest = [other for other in kept if other != number]
            others = [by_id[other] for other in rest if by_id[other] not in always]
            finding = next(find(problem.with_constraints([*always, *others])), None)
            if finding is not None:
                reason, kept = finding[0], rest
    return reason, [by_id[number] for number in kept]


def _allowed(problem: Problem, home: Ints) -> Bools:
    """Return [groups, devices] where all nodes of a group may be; *home* is the group of each node."""
    count = int(home.max(initial=-1)) + 1
    if count == problem.graph.n:
        return problem.allowed
    order = np.argsort(home, kind="stable")
    first = np.searchsorted(home[order], np.arange(count))
    allowed: Bools = np.logical_and.reduceat(problem.allowed[order], first, axis=0)
    return allowed


def forced_together(problem: Problem) -> str | None:
    """Return what to tell of nodes that colocation and ``constraint acyclic`` leave only one device, or None."""
    groups = [group for group in groups_of(problem) if len(group) > 1]
    home = colocated(problem) if groups else None
    cycles = [(group, why) for group in groups if (why := closed_cycle(problem, group, home))]
    if not cycles:
        return None
    group, why = cycles[0]
    more = f", and {len(cycles) - 1} more cycles" if len(cycles) > 1 else ""
    return f"{why}{more}; 'constraint acyclic' leaves one device for {named(problem, group)}"


def _nowhere(problem: Problem) -> Iterator[Finding]:
    batched = problem.objective.batch is not None
    runs = problem.batching.supported if batched else np.isfinite(problem.time)
    for v in np.flatnonzero(~runs.any(axis=1)).tolist():
        why = _unable(problem, [v], runs)
        yield f"no device can run {named(problem, [v])}{why}", list(problem.of(BatchSizes))
    home = together(problem)
    alone = ([v] for v in np.flatnonzero(~problem.allowed.any(axis=1)).tolist())
    held_together = np.flatnonzero(~_allowed(problem, home).any(axis=1)).tolist()
    for group in itertools.chain(alone, (np.flatnonzero(home == number).tolist() for number in held_together)):
        bound = [v for v in group if not problem.allowed[v].all()]
        jointly = " together" if len(bound) > 1 else ""
        why = _why(problem, group) + _unable(problem, group, runs)
        working = problem.graph.workspace[group].max()
        large = list(problem.of(Memory)) if (working > problem.room_limit).any() else []
        beside = f", which needs {problem.size(float(working))} while it runs" if large else ""
        yield (
            f"no device is left for {named(problem, bound)}{jointly}{beside}{why}",
            [*large, *holding(problem, group)],
        )


def _too_large(problem: Problem) -> Iterator[Finding]:
    limit = _room(problem)
    need = problem.graph.memory
    home = together(problem)
    where, takes = _allowed(problem, home), np.bincount(home, weights=need)
    step = max(1, BLOCK // problem.k)
    most = [np.where(where[i : i + step], limit, 0.0).max(axis=1) for i in range(0, len(where), step)]
    for number in np.flatnonzero(takes > np.concatenate(most)).tolist() if most else []:
        group, allowed, total = np.flatnonzero(home == number).tolist(), where[number], float(takes[number])
        best = int(np.flatnonzero(allowed)[limit[allowed].argmax()])
        heavy = [v for v in group if need[v] > 0]
        one = len(heavy) == 1
        room = problem.size(float(problem.memory_limit[best]))
        jointly = " together" if not one else ""
        reason = (
            f"{named(problem, heavy)} {'takes' if one else 'take'} {problem.size(total)}{jointly}"
            f"{_why(problem, group)}; the largest device for {'it' if one else 'them'}, "
            f"{problem.devices[best].name}, has {room}"
        )
        yield reason, [*problem.of(Memory), *holding(problem, group)]


def _too_much(problem: Problem) -> Iterator[Finding]:
    """Find nodes that take more than the devices they may be on have together, all nodes first."""
    room, need = _room(problem), _need(problem)
    if not np.isfinite(room).any():
        return
    home = together(problem)
    allowed, memory = _allowed(problem, home), np.bincount(home, weights=need)
    everywhere = np.ones(problem.k, np.bool_)
    rows = {row.tobytes(): number for number, row in enumerate(np.packbits(allowed, axis=1))}
    tried = max(1, WORK // max(1, allowed.size))
    for where in [everywhere, *(allowed[rows[key]] for key in sorted(rows)[:tried])] if problem.graph.n else []:
        inside = ~(allowed & ~where).any(axis=1)
        total = float(memory[inside].sum())
        if total > float(room[where].sum()):
            nodes = [v for v in np.argsort(home, kind="stable").tolist() if inside[home[v]]]
            exact = problem.size(float(problem.memory_limit[where].sum()))
            if where.all():
                yield (
                    f"all nodes take {problem.size(total)}; all devices together have {exact}",
                    list(problem.of(Memory)),
                )
                continue
            devices = [problem.devices[d].name for d in np.flatnonzero(where).tolist()]
            heavy = named(problem, [v for v in nodes if need[v] > 0])
            reason = f"{heavy} take {problem.size(total)}; the devices they may be on, {listed(devices)}, have {exact}"
            yield reason, [*problem.of(Memory), *problem.of(Acyclic), *problem.of(InOrder), *placing(problem, nodes)]


def _unbatched(problem: Problem) -> Iterator[Finding]:
    """Find nodes held together whose batches on the devices they may be on cannot be all inputs."""
    if problem.objective.batch is None:
        return
    batching = problem.batching
    finite = np.isfinite(batching.time)
    add_up: set[bytes] = set()  # of many groups few differ
    for group in groups_of(problem):
        where = problem.allowed[group].all(axis=0)
        key = where.tobytes() + finite[group].tobytes()
        if key in add_up:
            continue
        reached = {0}
        for d in np.flatnonzero(where).tolist():
            menus = [np.flatnonzero(row) for row in finite[group, d]]
            reached = _sums(reached, menus, batching.repeat[d], batching.count)
        if batching.count not in reached:
            devices = listed([problem.devices[d].name for d in np.flatnonzero(where).tolist()])
            sizes = list(problem.of(BatchSizes))
            inputs = counted(batching.inputs, "input")
            most, several = _most(batching.repeat), _several(problem, group)
            yield (
                f"no batches of {named(problem, group)}, {most} on each of {devices}, add up to {inputs}{several}",
                [*sizes, *problem.of(Repeat), *placing(problem, group)],
            )
        add_up.add(key)


def _sums(reached: set[int], menus: Sequence[Ints], most: int, count: int) -> set[int]:
    """Return to how many chunks up to *count* those in *reached* and up to *most* batches on a device can add up.

    The nodes of which *menus* holds the sizes have the same chunks there: in the same batch, where each has one.
    """
    if most == 1:
        shared = set(menus[0].tolist()).intersection(*(menu.tolist() for menu in menus[1:]))
        return reached | {total + size for total in reached for size in shared if total + size <= count}
    able: set[int] | None = None
    for menu in menus:
        sums = {0}
        for _ in range(most):
            more = sums | {total + size for total in sums for size in menu.tolist() if total + size <= count}
            if more == sums:
                break
            sums = more
        able = sums if able is None else able & sums
    return {total + size for total in reached for size in able or {0} if total + size <= count}


def _most(repeat: Sequence[int]) -> str:
    """Return how many batches of a node a device runs, for a sentence."""
    return "one" if max(repeat, default=1) == 1 else f"at most {max(repeat)}"


def _several(problem: Problem, group: Sequence[int]) -> str:
    """Return, for the end of a sentence, how many batches of a node on a device would do; "" where none would."""
    batching = problem.batching
    finite = np.isfinite(batching.time[list(group)])
    where = np.flatnonzero(problem.allowed[list(group)].all(axis=0)).tolist()
    for most in range(max(batching.repeat) + 1, batching.count + 1):
        reached = {0}
        for d in where:
            reached = _sums(reached, [np.flatnonzero(row) for row in finite[:, d]], most, batching.count)
        if batching.count in reached:
            return f"; 'constraint repeat up to {most}' lets a device run several of a node"
    return ""


def _unlinked(problem: Problem) -> Iterator[Finding]:
    if not isinstance(problem.interconnect, Links):
        return
    graph, carried = problem.graph, problem.transfers
    home, allowed = np.empty(graph.n, np.int64), np.empty((graph.n, problem.k), np.bool_)
    groups = groups_of(problem)
    for number, group in enumerate(groups):
        home[group] = number
        allowed[group] = problem.allowed[group].all(axis=0)
    joined = np.isfinite(carried.latency + carried.table) | np.eye(problem.k, dtype=np.bool_)
    gaps: Bools = np.logical_not(joined.all(axis=(1, 2), keepdims=True)).reshape(-1)
    asked = np.flatnonzero((home[graph.tails] != home[graph.heads]) & gaps[carried.row])
    step = max(1, BLOCK // problem.k**2)
    parts = [asked[i : i + step] for i in range(0, min(len(asked), max(1, 100 * step)), step)]
    reached = [
        (
            (allowed[graph.tails[part], :, None] & joined[carried.row[part]]).any(axis=1) & allowed[graph.heads[part]]
        ).any(axis=1)
        for part in parts
    ]
    for e in [e for part, there in zip(parts, reached, strict=True) for e in part[~there].tolist()]:
        u, v = int(graph.tails[e]), int(graph.heads[e])
        yield (
            f"no link joins the devices that {graph.names[u]!r} may be on to those that {graph.names[v]!r} may be on",
            [*holding(problem, groups[home[u]]), *holding(problem, groups[home[v]])],
        )


def _together_and_apart(problem: Problem) -> Iterator[Finding]:
    groups = groups_of(problem)
    home = {v: number for number, group in enumerate(groups) for v in group}
    for apart in problem.of(Separate):
        seen: dict[int, int] = {}
        for v in sorted(set(apart.nodes)):
            other = seen.setdefault(home[v], v)
            if other != v:
                group = groups[home[v]]
                joining = [c for c in holding(problem, group) if isinstance(c, (Acyclic, Colocate, InOrder))]
                yield (
                    f"{named(problem, [other, v])} are to be together and apart{_why(problem, group)}",
                    [apart, *joining],
                )


def _too_many_apart(problem: Problem) -> Iterator[Finding]:
    for apart in problem.of(Separate):
        nodes = sorted(set(apart.nodes))
        usable = int(problem.allowed[nodes].any(axis=0).sum())
        if len(nodes) > usable:
            devices = counted(usable, "device")
            where = f"the spec has {devices}" if usable == problem.k else f"they may use {devices}"
            yield (
                f"{named(problem, nodes)} are to be on {len(nodes)} devices; {where}",
                [
                    apart,
                    *(placing(problem, nodes) if usable < problem.k else []),
                ],
            )


def _out_of_reach(problem: Problem) -> Iterator[Finding]:
    for row in problem.hard_rows:
        if not all(isinstance(decision, On) for decision, _ in row.terms):
            continue
        low, high, size = _reach(problem, row)
        slack = TOLERANCE * (size + abs(row.rhs))
        if row.sense != ">=" and low > row.rhs + slack:
            side = f"at least {low:.6g}"
        elif row.sense != "<=" and high < row.rhs - slack:
            side = f"at most {high:.6g}"
        else:
            continue
        nodes = {decision.node for decision, _ in row.terms if isinstance(decision, On)}
        places = [c for c in problem.constraints if isinstance(c, (Pin, Forbid)) and nodes & set(c.nodes)]
        yield f"the left side of {row.label} is {side}; it must be {row.sense} {row.rhs:.6g}", [row, *places]


def _reach(problem: Problem, row: Linear) -> tuple[float, float, float]:
    """Return the least and greatest left side when every node is on one allowed device, and the terms' total size."""
    weights: dict[int, list[float]] = {}
    for decision, a in row.terms:
        assert isinstance(decision, On)
        weights.setdefault(decision.node, [0.0] * problem.k)[decision.device] += a
    low = high = size = 0.0
    for v, by_device in weights.items():
        choices = np.array(by_device)[problem.allowed[v]]
        low, high, size = low + choices.min(), high + choices.max(), size + np.abs(by_device).max()
    return float(low), float(high), float(size)


def _room(problem: Problem) -> Floats:
    """Return [devices] what the independent check would still let each hold, and its rounding."""
    room: Floats = problem.memory_limit * (1 + TOLERANCE * (1 + 1e-6))
    return room


def _need(problem: Problem) -> Floats:
    """Return [n] what each node takes, of a batch with all inputs of it on one device: more devices take more."""
    if problem.objective.batch is None:
        return problem.graph.memory
    batching = problem.batching
    need: Floats = batching.weights + batching.count * batching.share
    return need


def _why(problem: Problem, group: Sequence[int]) -> str:
    """Return, for the end of a clause, what holds *group* together beside colocation."""
    why = closed_cycle(problem, group) if len(group) > 1 else ""
    return f", as {why}" if why else ""


def _unable(problem: Problem, group: Sequence[int], runs: Bools) -> str:
    """Return, for the end of a sentence, which devices that constraints leave to *group* cannot run it; "" for none."""
    left = np.ones(problem.k, np.bool_)
    for rule in placing(problem, group):
        if isinstance(rule, (Pin, Forbid)):
            chosen = np.isin(np.arange(problem.k), rule.devices)
            left &= chosen if isinstance(rule, Pin) else ~chosen
    words = []
    for d in np.flatnonzero(left).tolist():
        device = problem.devices[d]
        v = next((v for v in group if not runs[v, d]), None)
        if v is not None and problem.graph.kinds[v] in device.unsupported:
            words.append(f"{device.name} does not support the kind {problem.graph.kinds[v]!r}")
        elif v is not None and not left.all():
            words.append(f"{device.name} cannot run {problem.graph.names[v]}")
    return f": {listed(words)}" if words else ""


FINDERS: Sequence[Callable[[Problem], Iterator[Finding]]] = (
    _nowhere,
    _unbatched,
    _unlinked,
    _too_large,
    _too_much,
    _together_and_apart,
    _too_many_apart,
    behind,
    too_few,
    _out_of_reach,
)
