"""Certificates ``count``: tensors that several devices must share below the target, and what all cost together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.heaviest import NOT_ENOUGH, Sets
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, named_numbers, number
from mtpp_dsl.solvers.proofs.shares import share_of


class CountProof:
    """``{"target": T, "shares": {device: p}, "nets": {node: {"devices": m, "apart": [node, ...]}}}``.

    The tensors of a net (those with the pins of the one that the node makes) are on m devices at least below T: the
    nodes apart are m of its pins, of which no device can have two at a load below T, by a minimum cut, or by the work
    before and after them in a pipeline; or m is 2, none are named, and no device can have all pins. So the sum of
    ``p * load`` is at least that of the least ``p * time``, and for each net its cost times the m least p of devices
    that pay. If that is T times the sum of p or more, no plan is below T.
    """

    name = "count"
    summary = "tensors that devices must share below the target, by minimum cuts, and their total cost"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the target, or what little less the sum proves; see :class:`mtpp_dsl.contracts.Checker`."""
        reading = ProofReading(problem)
        target, shares = number(data, "target"), named_numbers(data, "shares")
        if target <= 0:
            return 0.0
        below = _Below(reading, target, limits)
        opened = [[time < target for time in kind.time] for kind in reading.kinds]
        share = share_of(reading, shares, opened)
        pays = sorted(shares.get(name, 0.0) if kind.pays else 0.0 for kind in reading.kinds for name in kind.devices)
        extra = []
        for pins, many in _nets(reading, data, below).items():
            if many > problem.k:
                return target
            extra.append(reading.tensors[pins] * fsum(pays[:many]))
        share += fsum(extra) / fsum(shares.values()) * (1 - 1e-12)
        if share < target * (1 - 1e-10):
            raise Refused(f"the devices of the certificate cost {share!r} each, not {target!r}")
        return min(target, share)


def _nets(reading: ProofReading, data: Mapping[str, Any], below: _Below) -> dict[frozenset[int], int]:
    """Return on how many devices tensors are at least, by their pins."""
    nets = data.get("nets")
    if not isinstance(nets, Mapping):
        raise Refused("the certificate's 'nets' name no tensors")
    shared: dict[frozenset[int], int] = {}
    for name, claim in nets.items():
        pins = reading.net_of(name)
        many, apart = (claim.get("devices"), claim.get("apart")) if isinstance(claim, Mapping) else (None, None)
        if not isinstance(apart, list) or isinstance(many, bool) or not isinstance(many, int):
            raise Refused(f"the certificate does not say on how many devices the tensor of {name!r} is, and why")
        groups = [reading.group_of(node) for node in apart]
        if not (len(set(groups)) == len(groups) == many and pins.issuperset(groups)) and (many != 2 or groups):
            raise Refused(f"the certificate names no {many!r:.20} groups of nodes that the tensor of {name!r} joins")
        for members in combinations(groups, 2) if groups else [tuple(pins)]:
            if not below.none_holds(frozenset(members)):
                nodes = ", ".join(reading.problem.graph.names[reading.members[g][0]] for g in sorted(members))
                raise Refused(f"below {below.target!r}, a device can have {nodes:.80} together")
        shared[pins] = max(many, shared.get(pins, 0))
    return shared


class _Below:
    """What no device can have together below a target."""

    def __init__(self, reading: ProofReading, target: float, limits: Limits) -> None:
        self.target, self._limits = target, limits
        self._kinds = [Sets(reading, kind, target, reading.arcs(kind)) for kind in reading.kinds]
        self._known: dict[frozenset[int], bool] = {}
        self._pipeline = reading.pipeline
        self._k = reading.problem.k

    def none_holds(self, members: frozenset[int]) -> bool:
        """Return whether every device that has all of *members* has a load of the target or more."""
        if members not in self._known:
            if self._limits.remaining <= 0:
                raise UsageError(NOT_ENOUGH)
            groups = np.array(sorted(members), np.int64)
            apart = self._pipeline and self._ranked_apart(groups)
            self._known[members] = apart or all(sets.least_with(groups) > sets.below for sets in self._kinds)
        return self._known[members]

    def _ranked_apart(self, groups: np.ndarray[Any, np.dtype[np.int64]]) -> bool:
        """Return whether some of *groups* can only stand behind another: by work before the one, after the other."""
        first, last = self._kinds[0].ranks(groups, self._k)
        return bool(first.max() > last.min())
