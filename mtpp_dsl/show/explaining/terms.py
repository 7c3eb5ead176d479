"""Compute what the terms of a linear objective add to its cost in a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
)
from mtpp_dsl.core.plans.decisions import Values
from mtpp_dsl.core.plans.evaluation import Evaluation
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.held import Holder

__all__ = ["decision_word", "term_holders", "values_in"]


def values_in(plan: Plan, found: Evaluation) -> Values:
    """Return the values of all decisions in a plan, for an evaluation of it."""
    phases = {name: values_in(plan, phase) for name, phase in found.phases.items()}
    return Values(
        assignment=plan.assignment,
        load=found.load,
        used=found.used,
        bottleneck=found.bottleneck,
        latency=found.latency,
        makespan=found.makespan,
        schedule=plan.schedule,
        penalties=found.paid,
        phases=phases,
    )


def term_holders(problem: Problem, plan: Plan, found: Evaluation, objective: Objective) -> list[Holder]:
    """Return what every term of a linear objective adds to its value, the largest first; none that adds nothing.

    A latency is told by the devices whose loads it adds up and the transfers, a largest sum by the sum that it is.
    """
    values = values_in(plan, found)
    holders = [*_of_terms(problem, found, values, objective.terms)]
    if objective.constant:
        holders.append(Holder("term", ("the constant",), objective.constant, "sum"))
    return sorted((h for h in holders if h.amount), key=lambda holder: -abs(holder.amount))


def _of_terms(
    problem: Problem, found: Evaluation, values: Values, terms: Iterable[tuple[Decision, float]]
) -> Iterator[Holder]:
    for decision, factor in terms:
        match decision:
            case Latency(phase=phase):
                yield from _of_latency(problem, found if phase is None else found.phases[phase], factor, phase)
            case Bottleneck(phase=phase):
                of = found if phase is None else found.phases[phase]
                yield _of_bottleneck(problem, of, factor, decision_word(problem, decision))
            case Largest(sums):
                constant, inner = max(((c, t) for t, c in sums), key=lambda one: one[0] + values.sum(one[1]))
                scaled = [(each, factor * a) for each, a in inner]
                yield from _of_terms(problem, found, values, scaled)
                if constant:
                    yield Holder("term", ("the constant of the largest sum",), factor * constant, "sum")
            case _:
                yield Holder("term", (decision_word(problem, decision),), factor * values.of(decision), "sum")


def _of_bottleneck(problem: Problem, found: Evaluation, factor: float, word: str) -> Holder:
    """Return a bottleneck with the device or channel whose load it is, and what that consists of."""
    if found.channels.size and found.channels.max() > found.load.max():
        c = int(found.channels.argmax())
        name = f"{word}, the load of {problem.network.channels[c]}"
        return Holder("term", (name,), factor * float(found.channels[c]), "sum")
    d = int(found.load.argmax())
    parts = {name: factor * float(getattr(found, name)[d]) for name in ("work", "input", "output", "overflow")}
    told = {name: x for name, x in parts.items() if x}
    name = f"{word}, the load of {problem.devices[d].name}"
    return Holder("term", (name,), factor * float(found.load[d]), "sum", told)


def _of_latency(problem: Problem, found: Evaluation, factor: float, phase: str | None) -> Iterator[Holder]:
    loads = found.load if found.alone is None else found.alone
    of = "" if phase is None else f" in {phase}"
    for d, device in enumerate(problem.devices):
        parts = {name: factor * float(getattr(found, name)[d]) for name in ("work", "input", "output", "overflow")}
        told = {name: x for name, x in parts.items() if x and found.alone is None}
        yield Holder("device", (f"{device.name}{of}",), factor * float(loads[d]), "sum", told)
    yield Holder("transfers", (f"transfers{of}",), factor * found.carried, "sum")


def decision_word(problem: Problem, decision: Decision) -> str:
    """Return a decision as the language calls it, with names as they are."""
    names, devices = problem.graph.names, [device.name for device in problem.devices]
    match decision:
        case On(node, device):
            return f"on({names[node]}, {devices[device]})"
        case Used(device):
            return f"used({devices[device]})"
        case Load(device, phase):
            return f"load({devices[device]}{_in(phase)})"
        case Start(node):
            return f"start({names[node]})"
        case Finish(node):
            return f"finish({names[node]})"
        case Bottleneck(phase) | Latency(phase):
            return f"{type(decision).__name__.lower()}{f'({phase})' if phase else ''}"
        case Makespan() | Penalties() | Largest():
            return type(decision).__name__.lower()


def _in(phase: str | None) -> str:
    return "" if phase is None else f", {phase}"
