"""Find what holds a cost where it is, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import counted, format_quantity
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
from mtpp_dsl.show.explaining.pieces import LoadPiece
from mtpp_dsl.show.report.names import short_name, short_names

MAX_PIECES = 5
"""Pieces of each kind that are told."""
KINDS = {"node": "runs", "read": "reads", "write": "writes", "carry": "carries"}

HolderKind = Literal["device", "channel", "link", "transfers", "term", "row"]


@dataclass(frozen=True)
class Unit:
    """How amounts of one objective are shown: *base* is their unit, *decimal* whether sizes are in GB."""

    base: str
    decimal: bool = False

    def shown(self, value: float) -> str:
        """Return an amount for people."""
        return format_quantity(value, self.base, decimal=self.decimal)


@dataclass(frozen=True, repr=False)
class Holder(Short):
    """What adds to a cost, or is as large as it.

    Attributes:
        kind: a device, a channel of a network, a link of a schedule, transfers that are in no load, a term of a linear
            objective, or a soft row that is broken.
        names: of the devices or channels that have it in common, such as replicas; the term as a spec writes it.
        amount: its load, or what it adds to the cost.
        role: what of the cost it is: "load", "forward", "backward", "sum", "path", "wait" or "paid".
        parts: what the amount consists of, by name: work, input, output and so on.
        pieces: the largest nodes and tensors of the load.
        pieces_left: how many smaller ones there are.
        shards: over how many of the devices each node is split.
    """

    kind: HolderKind
    names: tuple[str, ...]
    amount: float
    role: str = "load"
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    pieces: tuple[LoadPiece, ...] = ()
    pieces_left: int = 0
    shards: int = 1

    @classmethod
    def of_pieces(
        cls,
        kind: HolderKind,
        names: tuple[str, ...],
        amount: float,
        role: str,
        parts: Mapping[str, float],
        pieces: list[LoadPiece],
    ) -> Holder:
        """Return a holder with the largest of *pieces* of every kind."""
        kept = [p for what in KINDS for p in [piece for piece in pieces if piece.kind == what][:MAX_PIECES]]
        positive = MappingProxyType({name: float(x) for name, x in parts.items() if x})
        return cls(kind, names, amount, role, positive, tuple(kept), len(pieces) - len(kept))

    @property
    def named(self) -> str:
        """The names in a few words."""
        return short_names(self.names)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "kind": self.kind,
            "names": list(self.names),
            "amount": self.amount,
            "role": self.role,
            "parts": dict(self.parts),
            "pieces": [piece.to_json() for piece in self.pieces],
            "pieces_left": self.pieces_left,
        }


def _shares(holder: Holder) -> str:
    """Return what the devices of a stage are to each other."""
    if holder.shards == 1:
        return "replicas"
    return "shards" if holder.shards == len(holder.names) else f"replicas of {holder.shards} shards"


def holder_words(holder: Holder, unit: Unit, objective: Objective) -> list[str]:
    """Return what a holder adds to a cost, or how large it is, in words: a line, and further ones for its parts."""
    shown = unit.shown(holder.amount)
    match holder.role:
        case "path":
            word = "sending over" if holder.kind == "link" else "on"
            return [f"  {shown} {word} {holder.named}"]
        case "wait":
            return [f"  {shown} waiting, while nothing on it runs"]
        case "sum":
            return [f"  {shown} {holder.named}", *([f"    {parts}"] if (parts := part_words(holder, unit)) else [])]
        case "paid":
            return [f"  {shown} paid for row {holder.named}, which is broken"]
        case "forward" | "backward":
            return [f"  the largest {holder.role} load is {shown}, of {holder.named}"]
    shared = f", which share it as {_shares(holder)}" if len(holder.names) > 1 else ""
    most = (objective.microbatches or 1) - 1
    times = f", which counts {most + 1} times" if objective.is_iteration and most else ""
    called_so = f"{holder.kind} {holder.named}" if len(holder.names) == 1 else holder.named
    lines = [f"  the largest load is {unit.shown(holder.amount)}, of {called_so}{shared}{times}"]
    parts = part_words(holder, unit)
    return [*lines, *([f"    {parts}"] if parts else []), *(f"    {line}" for line in piece_words(holder, unit))]


def part_words(holder: Holder, unit: Unit) -> str:
    """Return what an amount consists of in words; "" where it is one thing.

    >>> part_words(Holder("device", ("gpu",), 3.0, parts={"work": 2.0, "input": 1.0}), Unit("s"))
    'work 2 s (67 %), input 1 s (33 %)'
    >>> part_words(Holder("device", ("gpu",), 2.0, parts={"work": 2.0, "input": 1.0}), Unit("s"))
    'work 2 s, input 1 s, at the same time'
    """
    if len(holder.parts) < 2:
        return "".join(f"all of it {name}" for name in holder.parts)
    at_once = sum(holder.parts.values()) > holder.amount * (1 + 1e-9)
    shares = [
        f"{name} {unit.shown(time)}" + ("" if at_once else f" ({100 * time / holder.amount:.0f} %)")
        for name, time in holder.parts.items()
    ]
    return ", ".join(shares) + (", at the same time" if at_once else "")


def piece_words(holder: Holder, unit: Unit) -> list[str]:
    """Return the largest nodes and tensors in words, a line for each kind."""
    lines = []
    for kind, verb in KINDS.items():
        pieces = [piece for piece in holder.pieces if piece.kind == kind]
        if pieces:
            lines.append(f"{verb} {', '.join(_piece(piece, unit) for piece in pieces)}")
    if holder.pieces_left and lines:
        lines[-1] += f"; and {counted(holder.pieces_left, 'smaller part')}"
    return lines


def _piece(piece: LoadPiece, unit: Unit) -> str:
    ends = {"read": " from ", "write": " to ", "carry": " "}.get(piece.kind, "")
    where = " -> ".join(map(short_name, piece.devices)) if piece.kind == "carry" else short_names(piece.devices)
    return f"{short_name(piece.name)} {unit.shown(piece.time)}{ends}{where if ends else ''}"


# What the terms of a linear objective add to its cost in a plan.


def values_in(plan: Plan, evaluation: Evaluation) -> Values:
    """Return the values of all decisions in a plan, for an evaluation of it."""
    phases = {name: values_in(plan, phase) for name, phase in evaluation.phases.items()}
    return Values(
        assignment=plan.assignment,
        load=evaluation.load,
        used=evaluation.used,
        bottleneck=evaluation.bottleneck,
        latency=evaluation.latency,
        makespan=evaluation.makespan,
        schedule=plan.schedule,
        penalties=evaluation.paid,
        phases=phases,
    )


def term_holders(problem: Problem, plan: Plan, evaluation: Evaluation, objective: Objective) -> list[Holder]:
    """Return what every term of a linear objective adds to its value, the largest first; none that adds nothing.

    A latency is told by the devices whose loads it adds up and the transfers, a largest sum by the sum that it is.
    """
    values = values_in(plan, evaluation)
    holders = [*_of_terms(problem, evaluation, values, objective.terms)]
    if objective.constant:
        holders.append(Holder("term", ("the constant",), objective.constant, "sum"))
    return sorted((h for h in holders if h.amount), key=lambda holder: -abs(holder.amount))


def _of_terms(
    problem: Problem, evaluation: Evaluation, values: Values, terms: Iterable[tuple[Decision, float]]
) -> Iterator[Holder]:
    for decision, factor in terms:
        match decision:
            case Latency(phase=phase):
                yield from _of_latency(
                    problem, evaluation if phase is None else evaluation.phases[phase], factor, phase
                )
            case Bottleneck(phase=phase):
                of = evaluation if phase is None else evaluation.phases[phase]
                yield _of_bottleneck(problem, of, factor, decision_word(problem, decision))
            case Largest(sums):
                constant, inner = max(((c, t) for t, c in sums), key=lambda one: one[0] + values.sum(one[1]))
                scaled = [(inside, factor * a) for inside, a in inner]
                yield from _of_terms(problem, evaluation, values, scaled)
                if constant:
                    yield Holder("term", ("the constant of the largest sum",), factor * constant, "sum")
            case _:
                yield Holder("term", (decision_word(problem, decision),), factor * values.of(decision), "sum")


def _of_bottleneck(problem: Problem, evaluation: Evaluation, factor: float, word: str) -> Holder:
    """Return a bottleneck with the device or channel whose load it is, and what that consists of."""
    if evaluation.channels.size and evaluation.channels.max() > evaluation.load.max():
        c = int(evaluation.channels.argmax())
        name = f"{word}, the load of {problem.network.channels[c]}"
        return Holder("term", (name,), factor * float(evaluation.channels[c]), "sum")
    d = int(evaluation.load.argmax())
    parts = {name: factor * float(getattr(evaluation, name)[d]) for name in ("work", "input", "output", "overflow")}
    positive = {name: x for name, x in parts.items() if x}
    name = f"{word}, the load of {problem.devices[d].name}"
    return Holder("term", (name,), factor * float(evaluation.load[d]), "sum", positive)


def _of_latency(problem: Problem, evaluation: Evaluation, factor: float, phase: str | None) -> Iterator[Holder]:
    loads = evaluation.load if evaluation.alone is None else evaluation.alone
    of = "" if phase is None else f" in {phase}"
    for d, device in enumerate(problem.devices):
        parts = {name: factor * float(getattr(evaluation, name)[d]) for name in ("work", "input", "output", "overflow")}
        positive = {name: x for name, x in parts.items() if x and evaluation.alone is None}
        yield Holder("device", (f"{device.name}{of}",), factor * float(loads[d]), "sum", positive)
    yield Holder("transfers", (f"transfers{of}",), factor * evaluation.carried, "sum")


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
