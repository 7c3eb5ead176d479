"""Certificates ``shares``: archer2024, Lemma 3.3, for devices that may differ."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, inf
from typing import Any

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading, named_numbers, number

__all__ = ["SharesProof"]

ROUNDING = 1e-12


class SharesProof:
    """Weights of the devices, or a node.

    ``{"node": name}``: the node runs somewhere. ``{"shares": {device: p}}``: the sum over the nodes of the least
    ``p * time`` is at most the sum of ``p * load``, hence at most the bottleneck times the sum of ``p``.
    Parameters beyond what all devices keep are streamed, wherever they are: they count with the least p.
    With ``"closed": T`` nodes are on no device on which they alone take T or longer: a plan in which one is has a
    bottleneck of T or more, so that the smaller of T and the share is proved (Lenstra, Shmoys, Tardos 1990).
    """

    name = "shares"
    summary = "a node's least time, or the least share of the work that each device has (archer2024, Lemma 3.3)"

    def prove(self, problem: Problem, data: Mapping[str, Any], limits: Limits) -> float:
        """Return the bound; see :class:`mtpp_dsl.core.contracts.protocols.Checker`."""
        del limits
        reading = ProofReading(problem, work_alone=True)
        if "node" in data:
            group = reading.group_of(data["node"])
            return min(kind.time[group] + reading.streamed(kind, [group]) * (1 - ROUNDING) for kind in reading.kinds)
        shares = named_numbers(data, "shares")
        if "closed" in data:
            until = number(data, "closed")
            opened = [[time < until for time in kind.time] for kind in reading.kinds]
            return min(until, share_of(reading, shares, opened)) * (1 - ROUNDING)
        return share_of(reading, shares, [[True] * len(reading.members) for _ in reading.kinds])


def share_of(reading: ProofReading, shares: Mapping[str, float], opened: list[list[bool]]) -> float:
    """Return the bound of weights of devices, where [kinds][groups] says which kinds are open to a group."""
    names = {name for kind in reading.kinds for name in kind.devices}
    unknown = next((name for name in shares if name not in names), None)
    if unknown is not None:
        raise Refused(f"the certificate names {unknown!r}, which is no device")
    total = fsum(shares.values())
    if total <= 0:
        raise Refused("the certificate gives no device a share")
    least = []
    for g in range(len(reading.members)):
        costs = [
            min(shares.get(name, 0.0) for name in kind.devices) * kind.time[g]
            for kind, is_open in zip(reading.kinds, opened, strict=True)
            if is_open[g] and kind.time[g] < inf
        ]
        least.append(min(costs, default=inf))
    lightest = min(shares.get(name, 0.0) for name in names)
    return (fsum(least) + lightest * reading.always_streamed) / total * (1 - ROUNDING)
