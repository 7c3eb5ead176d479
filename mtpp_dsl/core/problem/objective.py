"""Objectives: what is optimised, and the cost behind it that methods minimise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Self

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.constraints import Bottleneck, Decision, Finish, Latency, Makespan, Penalties, Pipelining, Start
from mtpp_dsl.core.errors import UsageError

OBJECTIVES: dict[str, tuple[str, ...]] = {
    "bottleneck": ("parts",),
    "makespan": (),
    "throughput": ("batch", "parts", "chunk", "transfer", "microbatches", "schedule"),
    "latency": (),
    "iteration": ("microbatches", "schedule"),
}
"""What can be optimised by name, with the options of each; every one also takes ``within``."""

Quantity = Literal["bottleneck", "sum of bottlenecks", "makespan", "linear", "iteration", "separate iteration"]
"""What a cost can be; linear: a weighted sum of decisions; iteration: of all microbatches, parts separate or not."""

Terms = tuple[tuple[Decision, float], ...]


@dataclass(frozen=True, repr=False)
class Objective(Short):
    """What is optimised.

    A plan's ``cost``, the minimised quantity behind every objective, is its bottleneck, the sum of the
    bottlenecks of its two parts, its makespan (in time), or, of a linear objective, ``constant`` and the weighted sum
    ``terms``, with the other sign where it is maximised. To the cost of the first objective of a problem what its soft
    rows cost is added. ``value`` turns a cost into what the user asked for.

    With ``parts = "separate"`` the forward pass of a batch comes before its backward pass, as in GPipe's schedule, and
    the cost is the largest forward load plus the largest backward load (tarnawski2020, 5.3).

    An iteration runs M microbatches through all stages: with c the load of a stage, for one microbatch, it costs
    ``(M - 1) max c + sum c``, the time to fill and drain the pipeline beside its bottleneck. With separate parts, of
    ``gpipe``, the largest c is the largest forward part plus the largest backward part: then it is the time exactly.

    Attributes:
        name: what is optimised: "bottleneck", "makespan", "throughput", "iteration"; else it is linear, as "latency"
            and "objective" are. Make linear ones by :meth:`linear`.
        batch: the number of inputs of a batched throughput (ghannane2023, 3.2), which is ``batch / makespan``.
        parts: whether both parts of a training graph count as one; of an iteration a problem decides it.
        chunk: inputs that stay together throughout a batched plan; None for as many as the batch sizes allow.
        transfer: whether what an edge carries takes the same time for every batch, as in ghannane2023, (3.3), or
            grows with the inputs that both batches share.
        terms: of a linear objective: decisions, each once, with non-zero coefficients.
        constant: of a linear objective, what is added to the terms.
        maximized: of a linear objective, whether a larger value is better.
        value_unit: of a linear objective, the unit of its value: "s", "USD", "J", ...; "" for none.
        label: the user's name for it; "" for none.
        within: by how much objectives that come after it may worsen it, as a share of its value or in its unit.
        within_is: "share" or "value": which of the two.
        timed: whether plans say when nodes run: so of makespans, of terms that speak of start, finish or makespan, and
            of all objectives of a problem where it is so of one.
        penalised: whether what soft rows cost is added, if the problem has any: so for its first objective.
        microbatches: M, of an iteration or of the throughput of iterations, ``M / cost``.
        schedule: of the passes of microbatches in an iteration: "gpipe" or "1f1b".
        origin: the place in the spec, as ``file:line``; "" for those made in Python.
    """

    name: str
    batch: int | None = None
    parts: Literal["together", "separate"] = "together"
    chunk: int | None = None
    transfer: Literal["per_batch", "per_input"] = "per_batch"
    terms: Terms = ()
    constant: float = 0.0
    maximized: bool = False
    value_unit: str = ""
    label: str = ""
    within: float = 0.0
    within_is: Literal["share", "value"] = "share"
    timed: bool = False
    penalised: bool = True
    microbatches: int | None = None
    schedule: Pipelining | None = None
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.name == "latency" and not self.terms:
            object.__setattr__(self, "terms", ((Latency(), 1.0),))
        speaks = any(isinstance(decision, (Start, Finish, Makespan)) for decision, _ in self.terms)
        if speaks or self.quantity == "makespan":
            object.__setattr__(self, "timed", True)

    @classmethod
    def linear(
        cls,
        terms: Iterable[tuple[Decision, float]],
        sense: Literal["minimize", "maximize"] = "minimize",
        *,
        constant: float = 0.0,
        unit: str = "",
        label: str = "",
        name: str = "objective",
    ) -> Self:
        """Return the objective ``constant + sum(coefficient * decision)``; terms of one decision are added up.

        >>> from mtpp_dsl.constraints import Used
        >>> str(Objective.linear([(Used(0), 2.0), (Used(1), 3.0)], unit="USD", label="cost"))
        'minimize cost'
        """
        total: dict[Decision, float] = {}
        for decision, coefficient in terms:
            total[decision] = total.get(decision, 0.0) + float(coefficient)
        kept = tuple((decision, a) for decision, a in total.items() if a)
        return cls(
            name, terms=kept, constant=float(constant), maximized=sense == "maximize", value_unit=unit, label=label
        )

    @property
    def is_linear(self) -> bool:
        """Whether it is a weighted sum of decisions, and no bottleneck, makespan, throughput or iteration."""
        return self.name not in ("bottleneck", "makespan", "throughput", "iteration")

    @property
    def is_iteration(self) -> bool:
        """Whether it counts the time of all microbatches of an iteration."""
        return self.microbatches is not None or self.name == "iteration"

    @property
    def sense(self) -> Literal["minimize", "maximize"]:
        """Whether a larger value is better."""
        return "maximize" if self.name == "throughput" or self.maximized else "minimize"

    @property
    def quantity(self) -> Quantity:
        """The cost that is minimised."""
        if self.is_linear:
            return "linear"
        if self.is_iteration:
            return "iteration" if self.parts == "together" else "separate iteration"
        if self.name == "makespan" or self.batch is not None:
            return "makespan"
        return "bottleneck" if self.parts == "together" else "sum of bottlenecks"

    @property
    def covers_loads(self) -> bool:
        """Whether no plan costs less than any of its loads: what is known of the loads below a cost rests on that."""
        return self.quantity in ("bottleneck", "sum of bottlenecks", "iteration", "separate iteration")

    @property
    def kind(self) -> str:
        """What it is, whatever its label: bottleneck, makespan, throughput, latency, iteration, or linear."""
        if self.name == "timed bottleneck":
            return "bottleneck"
        return self.name if self.name in OBJECTIVES else "linear"

    @property
    def called(self) -> str:
        """What it is called in files of answers: its label, or its name."""
        return self.label or self.name

    @property
    def shown(self) -> str:
        """What people read: its label, the one decision that it is, or its name.

        >>> Objective.linear([(Latency("decode"), 1.0)]).shown, Objective.linear([(Latency("decode"), 2.0)]).shown
        ('latency(decode)', 'objective')
        """
        match self.terms:
            case (((Bottleneck(phase) | Latency(phase)) as decision, 1.0),) if self.called == "objective":
                word = type(decision).__name__.lower()
                return self.called if self.constant else f"{word}({phase})" if phase else word
        return self.called

    def __str__(self) -> str:
        batch = "" if self.batch is None else f" of a batch of {self.batch}"
        parts = " (parts = separate)" if self.parts == "separate" and not self.is_iteration else ""
        if self.microbatches is not None:
            batch = f" of {self.microbatches} microbatches by {self.schedule}"
        return f"{self.sense} {self.shown}{batch}{parts}"

    def value(self, cost: float) -> float:
        """Return the objective's value of a plan (or a bound) whose cost is *cost*."""
        if self.maximized:
            return 0.0 - cost
        if self.name != "throughput":
            return cost
        return (self.batch or self.microbatches or 1) / cost if cost > 0 else float("inf")

    def unit(self, time_unit: str) -> str:
        """Return the unit of the value: "s", "1/s", "USD", ..., or ""."""
        if self.is_linear and self.name not in ("latency", "timed bottleneck"):
            return self.value_unit
        return f"1/{time_unit}" if self.name == "throughput" and time_unit else time_unit

    @property
    def cost_terms(self) -> tuple[Terms, float]:
        """Return the cost as a weighted sum of decisions, and a constant: for rows that limit it.

        Raises:
            UsageError: it is the sum of two bottlenecks, which is none.
        """
        paid: Terms = ((Penalties(), 1.0),) if self.penalised else ()
        if self.is_linear:
            sign = -1.0 if self.maximized else 1.0
            return (*((decision, sign * a) for decision, a in self.terms), *paid), sign * self.constant
        if self.quantity == "sum of bottlenecks":
            raise UsageError(f"no row can speak of what 'to {self}' minimises: two bottlenecks")
        if self.is_iteration:
            raise UsageError(f"no row can speak of what 'to {self}' minimises: a largest load and a sum")
        decision: Decision = Makespan() if self.quantity == "makespan" else Bottleneck()
        return ((decision, 1.0), *paid), 0.0

    def allowed_cost(self, cost: float) -> float:
        """Return the largest cost of plans that a later objective may choose from, where the best cost is *cost*.

        >>> Objective("bottleneck", within=0.2).allowed_cost(4.0), Objective("throughput", within=0.2).allowed_cost(4.0)
        (4.8, 5.0)
        """
        if self.name == "throughput":  # its value is one divided by the cost: 80 % of the value is 125 % of the cost
            return cost / (1 - self.within)
        return cost + (self.within * abs(cost) if self.within_is == "share" else self.within)
