"""Blocks of ideals whose loads count in several phases, for costs that grow with bottlenecks and latencies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from mtpp_dsl.core.constraints import Linear
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.chain_labels import Counts, Way
from mtpp_dsl.solvers.proofs.goals import Goal
from mtpp_dsl.solvers.proofs.ideal_blocks import IdealSets, LoadBlocks, ideals_of
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading

__all__ = ["PhaseBlocks"]

MAX_IDEALS = 3_000


class PhaseBlocks:
    """How single devices hold blocks, with a load in each phase; see :class:`.chain_labels.HeldBlocks`.

    Args:
        problem: without stages and replicas.
        target: what plans are to be below.
        limits: of time.

    Raises:
        Refused: the cost, or a load, is no sum that certificates speak of; or there are too many ideals.
    """

    numbered = False

    def __init__(self, problem: Problem, target: float, limits: Limits) -> None:
        if problem.objective.quantity not in ("linear", "bottleneck") or problem.timed:
            raise Refused("phases have costs that are sums of bottlenecks and latencies, and no schedule")
        self._target = target
        rules = [rule for rule in problem.constraints if not isinstance(rule, Linear)]
        names = problem.phases or (None,)
        phases = {name: problem if name is None else problem.phase(name) for name in names}
        readings = {
            name: ProofReading(phase.asking(Objective("bottleneck"), rules), work_alone=True)
            for name, phase in phases.items()
        }
        kinds: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        places = [dict(_places(reading)) for reading in readings.values()]
        for d in range(problem.k):
            kinds[tuple(place[d] for place in places)].append(d)
        self._goal = Goal(problem, list(kinds.values()))
        self._kinds = list(kinds)
        first = next(iter(readings.values()))
        ideals = IdealSets(ideals_of(first, limits, MAX_IDEALS), len(first.members))
        self._blocks = {name: LoadBlocks(reading, ideals) for name, reading in readings.items()}
        self._weights = {phase.name: phase.weight for phase in problem.graph.phases}
        self.count = ideals.count
        self.available = tuple(len(devices) for devices in kinds.values())
        self.widths = self._goal.widths
        self.rest = self._of_phases({name: blocks.least for name, blocks in self._blocks.items()})[1]

    def from_(self, i: int) -> tuple[Ints, list[Way]]:
        """Return the larger ideals, and a way for each kind of devices."""
        larger = next(iter(self._blocks.values())).larger(i)
        loads = {name: np.maximum(blocks.loads(i, larger), 0.0) for name, blocks in self._blocks.items()}
        fits = [blocks.fits(i, larger) for blocks in self._blocks.values()]
        ways = []
        for kind, columns in enumerate(self._kinds):
            able = np.all([fit[:, q] for fit, q in zip(fits, columns, strict=True)], axis=0)
            of_kind = self._of_phases({name: loads[name][:, q] for name, q in zip(loads, columns, strict=True)})
            ways.append(Way(kind, 1, np.where(able, self.count, -1), *of_kind))
        return larger, ways

    def _of_phases(self, loads: dict[str | None, Floats]) -> tuple[Floats, Floats]:
        """Return [values, parts] the loads of the bottlenecks and of the latencies that are spoken of."""
        if self._weights:
            together = np.sum([self._weights[str(name)] * load for name, load in loads.items()], axis=0)
            loads = {**loads, None: together}
        nothing = np.zeros((len(next(iter(loads.values()))), 0))
        largest, added = (
            np.stack([loads[name] for name in spoken], axis=1) if spoken else nothing
            for spoken in (self._goal.bottlenecks, self._goal.latencies)
        )
        return largest, added

    def below(self, labels: Floats, counts: Counts) -> Bools:
        """Return [labels] whether a plan with such a label, and so many devices or more, may be below the target."""
        return self._goal.below(self._target, labels, counts)


def _places(reading: ProofReading) -> Iterator[tuple[int, int]]:
    """Yield every device with the number of its kind."""
    index = reading.problem.device_index
    for q, kind in enumerate(reading.kinds):
        yield from ((index[name], q) for name in kind.devices)
