"""Blocks of ideals as stages of a pipeline hold them: replicas, shards, recomputing, and memory by place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from mtpp_dsl.checks.verification import TOLERANCE
from mtpp_dsl.core.constraints import Linear, Memory, Replicate, Shard, StageMemory
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.chain_labels import Counts, Way
from mtpp_dsl.solvers.proofs.goals import Goal
from mtpp_dsl.solvers.proofs.ideal_blocks import GENEROUS, SUMMED, Border, IdealSets, ideals_of, sums_of
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, barred_nodes

__all__ = ["StageBlocks"]

MAX_IDEALS = 1_000


@dataclass(frozen=True)
class _Kind:
    """Devices that are equal, and so may be in the group of one stage.

    Attributes:
        devices: their numbers.
        room: what each holds of the sum of ``memory``; ``inf`` without a limit.
        rule: what says how much a stage keeps; None without a limit.
        streams: whether parameters beyond the memory are streamed.
    """

    devices: tuple[int, ...]
    room: float
    rule: StageMemory | None
    streams: bool


class StageBlocks:
    """How groups of devices hold blocks as stages; see :class:`.chain_labels.HeldBlocks`.

    A stage is on r groups of t devices (docs/mathematics.md, Stages). Where a tensor, or an exchange of weights, may
    stay in a group of devices or leave it, what is cheaper counts. Equal devices may be under different rules: a group
    can take some of each, as a rule about shards says nothing of replicas. So what one of them may do counts for all
    of them, and a limit only where it holds for each.

    Args:
        problem: about bottlenecks or iterations.
        target: what plans are to be below.
        limits: of time.

    Raises:
        Refused: stages mean something else; or there are too many ideals.
    """

    def __init__(self, problem: Problem, target: float, limits: Limits) -> None:
        objective = problem.objective
        if not (objective.is_iteration or objective.quantity == "bottleneck"):
            raise Refused("chains of stages have bottlenecks and iterations")
        if not isinstance(problem.interconnect, (Shared, Host)) or problem.phases or problem.timed:
            raise Refused("chains of stages have one channel, one phase and no schedule")
        other = next((c for c in problem.constraints if c.enlarges and not isinstance(c, (Replicate, Shard))), None)
        if other is not None:
            raise Refused(f"'constraint {other.keyword}' changes what stages hold")
        self._problem, self._target, self._link = problem, target, problem.interconnect
        rules = [rule for rule in problem.constraints if not (rule.enlarges or isinstance(rule, Linear))]
        reading = ProofReading(problem.asking(Objective("bottleneck"), rules))
        self._kinds = list(_kinds(problem))
        self._goal = Goal(problem, [kind.devices for kind in self._kinds])
        ideals = IdealSets(ideals_of(reading, limits, MAX_IDEALS), len(reading.members))
        self._sums(reading, ideals)
        self._ideals = ideals
        self.count = ideals.count
        self.available = tuple(len(kind.devices) for kind in self._kinds)
        rules_of_memory = (rule for rule in problem.stage_memory if rule is not None)
        self.numbered = any(rule.kept(problem.k) > rule.kept(0) for rule in rules_of_memory)
        shares = set(problem.graph.forward_share.tolist())
        again = any(r is not None and r.recompute != "never" for r in problem.stage_memory) and shares != {0.0}
        self._apart = objective.is_iteration and objective.schedule == "gpipe" and (len(shares) > 1 or again)
        self._more = (objective.microbatches or 1) - 1
        self.widths = (2 if self._apart else 1, int(objective.is_iteration))
        self.rest = self._least[:, np.newaxis] if objective.is_iteration else np.zeros((self.count, 0))

    def _sums(self, reading: ProofReading, ideals: IdealSets) -> None:
        """Note what the nodes of every ideal add up to."""
        graph, inside = self._problem.graph, ideals.inside

        def held(values: Floats) -> Floats:
            sums: Floats = inside @ sums_of(reading, values)
            return sums

        self._memory, self._params = held(graph.memory), held(graph.params)
        self._state, self._saved = held(graph.state), held(graph.saved)
        ahead = graph.forward_share
        self._reduce = np.stack([held(ahead * graph.reduce), held((1 - ahead) * graph.reduce)], axis=1)
        time = [self._problem.time[:, kind.devices[0]] for kind in self._kinds]
        times = [np.where(np.isfinite(column), column, 0.0) for column in time]
        self._work = [np.stack([held(ahead * t), held((1 - ahead) * t)], axis=1) for t in times]
        quickest = [max((self._faster(kind, t) * r for t, r in self._shapes(kind)), default=1) for kind in self._kinds]
        shortest = np.min([t / most for t, most in zip(time, quickest, strict=True)], axis=0)
        self._least = held(np.where(np.isfinite(shortest), shortest, 0.0)) * (1 - SUMMED)
        barred = [set.intersection(*(_barred(self._problem, d) for d in kind.devices)) for kind in self._kinds]
        places = np.arange(graph.n)
        self._barred = [held(np.isin(places, list(nodes)).astype(np.float64)) for nodes in barred]
        rate = max(self._link.bandwidth, self._link.between or 0.0)
        crossing, read = _tensors(self._problem, reading, rate)
        self._border, self._reads = Border(ideals, crossing, 2), Border(ideals, read, 1)

    def from_(self, i: int) -> tuple[Ints, list[Way]]:
        """Return the larger ideals, and a way for each kind and number of devices."""
        larger = self._ideals.holding(i, np.arange(i + 1, self.count))
        crossing = np.maximum(self._border.crossing(i, larger), 0.0)
        read = np.maximum(self._reads.entering(i, larger)[:, 0], 0.0)
        shapes = [
            (q, (t, r, again))
            for q, kind in enumerate(self._kinds)
            for t, r in self._shapes(kind)
            for again in self._recomputed(kind)
        ]
        return larger, [self._way(i, larger, q, shape, crossing, read) for q, shape in shapes]

    def _shapes(self, kind: _Kind) -> Iterator[tuple[int, int]]:
        """Yield how many devices share the nodes of a stage, and how many such groups share the inputs."""
        shards = [self._problem.shard[d] for d in kind.devices]
        most = max((copies.most for copies in self._replicate(kind)), default=1)
        for t in sorted({t for rule in shards for t in ((1,) if rule is None else rule.by)}):
            for r in range(1, most + 1):
                if t * r <= len(kind.devices):
                    yield t, r

    def _replicate(self, kind: _Kind) -> list[Replicate]:
        """Return what lets stages on these devices be replicated."""
        return [copies for d in kind.devices if (copies := self._problem.replicate[d]) is not None]

    def _faster(self, kind: _Kind, t: int) -> float:
        """Return what the work of a node is divided by on t devices at most."""
        rules = {self._problem.shard[d] for d in kind.devices}
        return max([1.0] + [rule.faster(t) for rule in rules if rule is not None and t in rule.by])

    def _recomputed(self, kind: _Kind) -> tuple[bool, ...]:
        """Return whether stages there may recompute, or have to."""
        rules = [self._problem.stage_memory[d] for d in kind.devices]
        words = {"never" if rule is None else rule.recompute for rule in rules}
        return (False,) if words == {"never"} else (True,) if words == {"always"} else (False, True)

    def _way(self, i: int, larger: Ints, q: int, shape: tuple[int, int, bool], crossing: Floats, read: Floats) -> Way:
        t, r, again = shape
        kind, link, problem = self._kinds[q], self._link, self._problem
        lead = kind.devices[0]
        pays = isinstance(link, Shared) or problem.devices[lead].pays_io
        computed = (self._work[q][larger] - self._work[q][i]) / self._faster(kind, t)
        computed -= SUMMED * self._work[q][-1]
        params = self._params[larger] - self._params[i]
        if pays:
            computed += (self._reduce[larger] - self._reduce[i]) * (2 * (t - 1) / t / link.bandwidth * (1 - SUMMED))
        computed = np.maximum(computed, 0.0)
        forward, backward = (computed + crossing * pays).T
        backward = backward + again * computed[:, 0]
        if kind.streams and pays:
            excess = params / t - problem.devices[lead].room - SUMMED * (self._params[-1] + problem.devices[lead].room)
            forward = forward + np.maximum(excess, 0.0) / link.bandwidth
        forward, backward = forward / r, backward / r
        sync = params / t * (self._exchange(kind, r) if pays else 0.0) * (1 - SUMMED)
        load = np.maximum(forward + backward, sync)
        largest = np.stack([forward, np.maximum(backward, sync - forward)] if self._apart else [load], axis=1)
        added = np.stack([load], axis=1) if self.widths[1] else np.zeros((len(larger), 0))
        fits = self._barred[q][larger] == self._barred[q][i]
        fits &= (self._memory[larger] - self._memory[i]) / t <= _room(kind.room, self._memory[-1])
        most_after = np.where(fits, self._most_after(kind, i, larger, (t, again), read), -1)
        return Way(q, t * r, most_after, largest, added)

    def _most_after(self, kind: _Kind, i: int, larger: Ints, shape: tuple[int, bool], read: Floats) -> Ints:
        """Return [larger] of how many stages a stage may come before at most, as its devices hold what it keeps."""
        t, again = shape
        stages = sum(self.available)
        if kind.rule is None:
            return np.full(len(larger), stages)
        state, params, saved = (
            (sums[larger] - sums[i]) * (1 - SUMMED) - SUMMED * sums[-1]
            for sums in (self._state, self._params, self._saved)
        )
        room = _room(self._problem.devices[kind.devices[0]].room, 0.0)
        most = np.full(len(larger), -1)
        for after in range(stages):
            kept = kind.rule.kept(after)
            versions = {"pipedream": kept, "2bw": 2}.get(kind.rule.schedule, 1)
            weights = state + (versions - 1) * params
            held = (weights + saved) / t + kept * read * (1 - SUMMED) if again else (weights + kept * saved) / t
            most[held <= room] = after
        return most

    def _exchange(self, kind: _Kind, r: int) -> float:
        """Return the least time for the exchange of weights by r replicas, for each unit of these."""
        problem, link = self._problem, self._link
        trains = bool(problem.graph.backward.any())
        exchanged = {rule.sync == "weights" or (rule.sync is None and trains) for rule in self._replicate(kind)}
        if r == 1 or False in exchanged:
            return 0.0
        groups = len({problem.devices[d].group for d in kind.devices})
        least = inf
        for g in range(1, min(groups, r) + 1):
            m = r // g
            inside = 2 * (m - 1) / link.bandwidth / m
            least = min(least, inside if link.between is None else max(inside, 2 * (g - 1) / link.between) / g)
        return least

    def below(self, labels: Floats, counts: Counts) -> Bools:
        """Return [labels] whether a plan with such a label, and so many devices or more, may be below the target."""
        largest = labels[:, : self.widths[0]].sum(axis=1)
        cost = self._more * largest + labels[:, -1] if self.widths[1] else largest
        may: Bools = cost * (1 - GENEROUS) < self._target
        nothing = np.zeros((1, sum(self._goal.widths)))
        return may & self._goal.kept(nothing, counts)


def _kinds(problem: Problem) -> Iterator[_Kind]:
    """Yield the devices by what they take and hold, whatever the rules about groups say of each."""
    alike: defaultdict[object, list[int]] = defaultdict(list)
    for d, device in enumerate(problem.devices):
        alike[device.memory, device.reserve, device.pays_io, tuple(problem.time[:, d].tolist())].append(d)
    for devices in alike.values():
        hard = [_limited(problem, d, Memory) for d in devices]
        memories = {problem.stage_memory[d] for d in devices}
        spec = problem.devices[devices[0]]
        streams = not any(hard) and memories == {None} and spec.memory is not None and problem.channel.overflow
        rule = memories.pop() if len(memories) == 1 else None
        yield _Kind(tuple(devices), spec.room if all(hard) else inf, rule, streams)


def _limited(problem: Problem, d: int, kind: type[Memory]) -> bool:
    return any(rule.devices is None or d in rule.devices for rule in problem.of(kind))


def _barred(problem: Problem, d: int) -> set[int]:
    """Return the nodes that a device may not have."""
    return barred_nodes(problem, d) | {v for v in range(problem.graph.n) if problem.time[v, d] == inf}


def _room(room: float, total: float) -> float:
    """Return what a device may hold, as the check of plans allows, where a sum is rounded."""
    return room * (1 + TOLERANCE) + SUMMED * (total + room) if room < inf else inf


def _tensors(
    problem: Problem, reading: ProofReading, rate: float
) -> tuple[dict[frozenset[int], Sequence[float]], dict[frozenset[int], Sequence[float]]]:
    """Return by the pins of tensors the times that they take forward and backward, and the bytes of forward ones."""
    graph = problem.graph
    readers: defaultdict[int, set[int]] = defaultdict(set)
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        readers[u].add(reading.group[v])
    crossing: defaultdict[frozenset[int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    read: defaultdict[frozenset[int], list[float]] = defaultdict(lambda: [0.0])
    for u, groups in readers.items():
        pins = frozenset(groups | {reading.group[u]})
        share, size = float(graph.forward_share[u]), float(graph.output[u])
        if len(pins) > 1 and size > 0:
            crossing[pins][0] += share * size / rate
            crossing[pins][1] += (1 - share) * size / rate
            if not graph.backward[u]:
                read[pins][0] += size
    return dict(crossing), dict(read)
