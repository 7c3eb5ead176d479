"""Compute what the limits of a runtime cost: the best plan and bound under them against those without them."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.base.data_classes import Short

SAME = 1e-6
"""The solvers' tolerance: two shares no further apart are one."""


@dataclass(frozen=True, repr=False)
class TargetCost(Short):
    """What the limits of a target cost.

    Attributes:
        name: of the target.
        cost: the least cost that was found without its limits; None where there was no time to look, or no plan.
        bound: no plan has a lower cost without its limits; None where none was proved.
        least, most: the limits cost at least, and at most, this share of the least cost without them, or of the largest
            throughput; None where that is not known.
        share: what they cost as such a share, where the two are as close as the solvers' tolerances; else None.
    """

    name: str
    cost: float | None = None
    bound: float | None = None
    least: float | None = None
    most: float | None = None
    share: float | None = None

    @classmethod
    def between(
        cls,
        name: str,
        under: tuple[float | None, float | None],
        free: tuple[float | None, float | None],
        *,
        of_rate: bool = False,
    ) -> TargetCost:
        """Return what is known where *under* its limits, and *free* of them, these costs and bounds are.

        The costs of a throughput are periods; *of_rate*, shares are of the throughput, which is one over them.

        >>> price = TargetCost.between("vllm", (11.0, 11.0), (10.0, 10.0))
        >>> price.share
        0.1
        >>> price = TargetCost.between("vllm", (11.0, 10.5), (10.0, 8.0))
        >>> price.share, price.least, price.most
        (None, 0.05, 0.375)
        >>> TargetCost.between("vllm", (2.0, 2.0), (1.0, 1.0), of_rate=True).share
        0.5
        """
        cost, bound = under
        free_cost, free_bound = free
        least = None if bound is None or free_cost is None else _share(bound, free_cost, of_rate)
        most = None if cost is None or free_bound is None else _share(cost, free_bound, of_rate)
        settled = least is not None and most is not None and most - least <= SAME
        share = _share(cost, free_cost, of_rate) if settled and cost is not None and free_cost is not None else None
        return cls(name, free_cost, free_bound, least, most, 0.0 if share is not None and share <= SAME else share)


def _share(cost: float, free: float, of_rate: bool) -> float | None:
    """Return by which share *cost* is above *free*, 0 at least; None where *free* is nothing to be a share of.

    *of_rate*, by which share one over *cost* is below one over *free*.
    """
    if of_rate:
        return round(max(1.0 - free / cost, 0.0), 12) if cost > 0 else None
    return round(max(cost / free - 1.0, 0.0), 12) if free > 0 else None
