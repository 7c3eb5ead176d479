"""Compute what the decisions of labelled rows and linear objectives are in a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mtpp_dsl.core.constraints import (
    Bottleneck,
    Decision,
    Finish,
    Largest,
    Latency,
    Load,
    Makespan,
    On,
    Penalties,
    Start,
    Used,
    of_phase,
)
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.plans.schedule import Schedule
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Values:
    """The values of all decisions in one plan.

    Attributes:
        assignment: [n] device of every node.
        load: [devices] loads.
        used: [devices] whether any node is there.
        bottleneck: the largest load of a device or a channel.
        latency: the sum of loads, and of transfers that are in none.
        makespan: when the last node ends; None of a plan without times.
        schedule: when nodes run; None of a plan without times.
        penalties: what soft rows cost, in sum.
        phases: the values in each phase alone, by its name.
    """

    assignment: Ints
    load: Floats
    used: Bools
    bottleneck: float
    latency: float
    makespan: float | None = None
    schedule: Schedule | None = None
    penalties: float = 0.0
    phases: Mapping[str, Values] = field(default_factory=dict)

    def of(self, decision: Decision) -> float:
        """Return the value of one decision.

        Raises:
            Refused: it is one of times, and the plan has none.
        """
        match decision:
            case Load() | Bottleneck() | Latency() if decision.phase is not None:
                return self.phases[decision.phase].of(of_phase(decision, None))
            case Largest(sums):
                return max(constant + self.sum(terms) for terms, constant in sums)
            case On(node, device):
                return float(self.assignment[node] == device)
            case Load(device):
                return float(self.load[device])
            case Used(device):
                return float(self.used[device])
            case Bottleneck():
                return self.bottleneck
            case Latency():
                return self.latency
            case Penalties():
                return self.penalties
            case Makespan() if self.makespan is not None:
                return self.makespan
            case Start(node) if self.schedule is not None:
                return float(self.schedule.start[node])
            case Finish(node) if self.schedule is not None:
                return float(self.schedule.end[node])
        raise Refused(f"{type(decision).__name__.lower()} has no meaning in a plan that does not say when nodes run")

    def sum(self, terms: Iterable[tuple[Decision, float]]) -> float:
        """Return the weighted sum of decisions."""
        return sum((a * self.of(decision) for decision, a in terms), 0.0)
