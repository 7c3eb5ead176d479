"""The least costs of altered instances, by trying all plans."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import inf

from tests.tools.asking.meaning import Meant
from tests.tools.fuzzer import loads
from tests.tools.fuzzer.instance import Instance, Rule
from tests.tools.fuzzer.optimum import optimum

__all__ = ["NEAR", "Truth", "above", "below"]

NEAR = 1e-6


class Truth:
    """The least costs of instances, each found once; how many were is counted by what they were found for."""

    def __init__(self, meant: Meant) -> None:
        self.meant, self.tried = meant, Counter[str]()
        self.best = optimum(meant.inst)

    def of(self, inst: Instance | None, what: str) -> float | None:
        """Return the least cost; ``inf`` where there is no plan, None where the instance is not asked."""
        if inst is None or (inst.k > 3 and inst.n > 5):
            return None
        self.tried[what] += 1
        found = optimum(inst)
        if found is None and optimum(inst, NEAR) is not None:  # a plan but for rounding
            return None
        return inf if found is None else found

    def there(self, v: int, d: int) -> float | None:
        """Return the least cost with node *v* on device *d*, which may be one of the replicas of its stage."""
        inst = self.meant.inst
        if not inst.of("Replicate"):
            return self.of(self.meant.with_rule(Rule("Pin", (v,), (d,))), "node elsewhere")
        if inst.k > 3 and inst.n > 5:
            return None
        self.tried["node elsewhere, with replicas"] += 1
        least = inf
        for where in product(range(inst.k), repeat=inst.n):
            for replicas in loads._replicas(inst, where):
                if d in replicas.get(where[v], (where[v],)):
                    value = loads.cost(inst, where, replicas)
                    if value < least and not any(True for _ in loads.broken(inst, where, replicas, 1e-9)):
                        least = value
        return least


def above(bound: float | None, truth: float | None) -> bool:
    """Return whether a bound is above the least cost."""
    return bound is not None and truth is not None and truth < inf and bound > truth * (1 + NEAR) + 1e-15


def below(cost: float | None, truth: float | None) -> bool:
    """Return whether a cost is below the least."""
    return cost is not None and truth is not None and cost < truth * (1 - NEAR) - 1e-15
