"""Labelled rows and decisions counted again for the independent check, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import isnan

from mtpp_dsl.checks.network_check import NetworkCount, counted
from mtpp_dsl.checks.recounts import NONE, Replicas
from mtpp_dsl.core.constraints import (
    Bottleneck,
    Decision,
    Finish,
    Largest,
    Latency,
    Linear,
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
from mtpp_dsl.core.problem.devices import Links
from mtpp_dsl.core.problem.problem import Problem


class PlanValues:
    """The values of decisions in one plan; loads are counted when somebody asks for one.

    Args:
        problem: what is asked.
        device: [n] of every node.
        schedule: when nodes run; None of a plan without times.
        loads: gives the loads of the devices.
        replicas: devices that share what is on the first of them.
        phase: gives the values in one phase alone.
    """

    def __init__(
        self,
        problem: Problem,
        device: list[int],
        schedule: Schedule | None,
        loads: Callable[[], list[float]],
        replicas: Replicas = NONE,
        phase: Callable[[str], PlanValues] | None = None,
    ) -> None:
        self.problem, self.device, self.schedule, self.replicas = problem, device, schedule, replicas
        self._loads, self._phase = loads, phase
        self._of_phases: dict[str, PlanValues] = {}

    @cached_property
    def loads(self) -> list[float]:
        """The loads of all devices."""
        return self._loads()

    @cached_property
    def bottleneck(self) -> float:
        """The largest load of a device, or of a channel."""
        most = max(self.loads)
        return most if self._shipments is None else max([most, *self._shipments.channels.values()])

    @cached_property
    def latency(self) -> float:
        """The sum of loads, and of transfers that are in none; of a split on a network, of work and shipments."""
        if self._shipments is not None:
            return float(sum(self._shipments.work) + self._shipments.shipped)
        return float(sum(self.loads) + self._carried())

    @cached_property
    def _shipments(self) -> NetworkCount | None:
        """What is shipped, of a split on links or a tree."""
        return counted(self.problem, self.device) if self.problem.networked else None

    @cached_property
    def busy(self) -> set[int]:
        """The devices that run any node."""
        return {d for home in self.device for d in self.replicas.get(home, (home,))}

    def in_phase(self, phase: str) -> PlanValues:
        """Return the values in one phase alone.

        Raises:
            Refused: they are not known.
        """
        if self._phase is None:
            raise Refused(f"cannot verify objectives and rows about phase {phase!r} yet")
        if phase not in self._of_phases:
            self._of_phases[phase] = self._phase(phase)
        return self._of_phases[phase]

    def of(self, decision: Decision) -> float:
        """Return the value of one decision.

        Raises:
            Refused: it has none in this kind of plan.
        """
        schedule, separate = self.schedule, self.problem.objective.parts == "separate"
        match decision:
            case On(node, on):
                return float(self.device[node] == on)
            case Load() | Bottleneck() | Latency() if decision.phase is not None:
                return self.in_phase(decision.phase).of(of_phase(decision, None))
            case Load(d):
                return self.loads[d]
            case Used(d):
                return float(d in self.busy)
            case Bottleneck() if not separate:
                return self.bottleneck
            case Largest(sums):
                return max(sum((a * self.of(x) for x, a in terms), constant) for terms, constant in sums)
            case Latency():
                return self.latency
            case Penalties():
                return sum(payments(self.problem, self).values())
            case Start(node) if schedule is not None:
                return float(schedule.start[node])
            case Finish(node) if schedule is not None:
                return float(schedule.end[node])
            case Makespan() if schedule is not None and self.problem.timed:
                return max(schedule.end.tolist(), default=0.0)
            case _:
                raise Refused(f"cannot verify {type(decision).__name__.lower()} in a constraint yet")

    def _carried(self) -> float:
        """Return what transfers take that are in no load: those on links."""
        if not isinstance(self.problem.interconnect, Links) or self.schedule is None:
            return 0.0
        times = zip(self.schedule.sent.tolist(), self.schedule.arrived.tolist(), strict=True)
        return float(sum(arrived - sent for sent, arrived in times if not isnan(sent)))


def broken_row(row: Linear, values: PlanValues, tolerance: float) -> Iterator[str]:
    """Yield how a plan breaks a row that must hold: by more than *tolerance*, relative to the numbers in it."""
    if row.penalty is not None:
        return
    parts = [coefficient * values.of(decision) for decision, coefficient in row.terms]
    left, right = sum(parts), row.rhs
    slack = tolerance * max([abs(right), *(abs(part) for part in parts)])
    if _excess(row, left) > slack:
        yield f"{left:.6g} {row.sense} {right:.6g} does not hold"


def payments(problem: Problem, values: PlanValues) -> dict[str, float]:
    """Return what every soft row of *problem* costs, by its label."""
    paid: dict[str, float] = {}
    for row in problem.of(Linear):
        if row.penalty is not None:
            left = sum(coefficient * values.of(decision) for decision, coefficient in row.terms)
            paid[row.label] = paid.get(row.label, 0.0) + row.penalty * max(0.0, _excess(row, left))
    return paid


def _excess(row: Linear, left: float) -> float:
    over: float = {"<=": left - row.rhs, ">=": row.rhs - left, "==": abs(left - row.rhs)}[row.sense]
    return over
