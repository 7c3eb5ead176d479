"""Constraints of plug-ins: one class, in one file, says how such a constraint is written, checked and modelled.

The language has constraints of its own, in :mod:`mtpp_dsl.constraints`. A plug-in of the entry-point group
``mtpp_dsl.constraints`` adds another one: a class derived from :class:`CustomConstraint`, whose objects are in
``problem.constraints`` like all others. Every plan is verified against it, whoever found the plan. A method that gives
plans is used only if it says that it honours such constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, Self

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.core.constraints import PluginConstraint
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.devices import Device
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem

DECISIONS = ("on", "cut", "load")
"""What rows may be about; see :meth:`CustomConstraint.rows`."""


@dataclass(frozen=True)
class Option:
    """An option of a plug-in's constraint, as it is written between parentheses.

    Attributes:
        kind: of its value. A "whole" number is an int; a "number" has no unit; a "time" and a "size" are in the
            problem's own units (s and B where the spec has units), as float; "text" is a string; a "word" is one of
            *choices*, written bare or in quotes.
        default: the value where a spec does not give one.
        required: whether a spec has to give one.
        least: smaller numbers are refused.
        choices: the words that can be given.
    """

    kind: Literal["whole", "number", "time", "size", "text", "word"]
    default: Any = None
    required: bool = False
    least: float = 0.0
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Statement(Short, Picklable):
    """What a spec says in ``constraint KEYWORD [members] [on members] [(options)]``.

    Attributes:
        sets: the numbers of the nodes that each member names, sorted; () without members.
        devices: the numbers of the devices after ``on``, sorted; None without ``on``.
        options: the value of every option of the constraint, by name; the default where none is given.
        graph: the problem's graph.
        machines: the problem's devices.
        origin: the place of the statement, ``file:line``.
    """

    sets: tuple[tuple[int, ...], ...]
    devices: tuple[int, ...] | None
    options: Mapping[str, Any]
    graph: Graph
    machines: Sequence[Device]
    origin: str

    @property
    def nodes(self) -> tuple[int, ...] | None:
        """The numbers of all nodes that members name, sorted; None without members."""
        return tuple(sorted({v for nodes in self.sets for v in nodes})) if self.sets else None


@dataclass(frozen=True, eq=False, repr=False)
class CustomStatement(Short, Picklable):
    """What a constraint of a plug-in is written as; see :meth:`CustomConstraint.statement`.

    Attributes:
        sets: the numbers of the nodes that each member names; () without members.
        devices: the numbers of the devices after ``on``; None without ``on``.
        options: by name; those that have their default are not written.
    """

    sets: tuple[tuple[int, ...], ...] = ()
    devices: tuple[int, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class OnFunction(Protocol):
    """``on(v, d)``: see :meth:`CustomConstraint.rows`."""

    def __call__(self, v: int, d: int, c: int | None = None) -> Any: ...


class CutFunction(Protocol):
    """``cut(u, d)``: see :meth:`CustomConstraint.rows`."""

    def __call__(self, u: int, d: int) -> Any: ...


class LoadFunction(Protocol):
    """``load(d)``: see :meth:`CustomConstraint.rows`."""

    def __call__(self, d: int) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class CustomConstraint(PluginConstraint):
    """Base class of the constraints of plug-ins: a frozen dataclass whose fields can be hashed and pickled.

    A constraint takes plans away and does nothing else: a bound for the problem without it is a bound for the problem
    with it. It does not depend on the numbers of the chunks of a batch, or says that it is not ``symmetric``.

    Attributes:
        keyword: the word that specs call it by, and the name of its entry point.
        options: what it takes between parentheses, by name.
        uses: which of ``on``, ``cut`` and ``load`` its rows ask for. A formulation that does not have one of them
            refuses the problem before any work.
        symmetric: whether swapping two devices turns every plan that keeps the constraint into another such plan,
            where the two differ in name alone and are both among ``devices``, or both not; and likewise two chunks of a
            batch. Without it, nothing takes devices or chunks for equal.
        keeps_memory: whether it is about the memory of devices, so that mtpp does not warn that nothing is.
        nodes: the numbers of the nodes that it speaks of, sorted; None for all.
        devices: the numbers of the devices that it speaks of, sorted; None for all.
    """

    keyword: ClassVar[str] = ""
    options: ClassVar[Mapping[str, Option]] = MappingProxyType({})
    uses: ClassVar[tuple[str, ...]] = ("on",)
    symmetric: ClassVar[bool] = False
    keeps_memory: ClassVar[bool] = False

    nodes: tuple[int, ...] | None = field(default=None)
    devices: tuple[int, ...] | None = field(default=None)

    @classmethod
    def lower(cls, statement: Statement) -> Self:
        """Return the constraint that *statement* means.

        By default, its nodes and devices are those of the statement, and every option is a field of its name.

        Raises:
            UsageError: the statement makes no sense; the message is shown at its place in the spec.
        """
        return cls(nodes=statement.nodes, devices=statement.devices, origin=statement.origin, **statement.options)

    def statement(self) -> CustomStatement:
        """Return the statement that :meth:`lower` makes this constraint of, for specs that are written.

        By default, its nodes are one member, and every option has the value of the field of its name. Where *lower*
        does more, override this as well.
        """
        return CustomStatement(
            sets=() if self.nodes is None else (self.nodes,),
            devices=self.devices,
            options=MappingProxyType({name: getattr(self, name) for name in self.options}),
        )

    def refusal(self, problem: Problem) -> str | None:
        """Return why the constraint means nothing in *problem*, or None; asked when the problem is made."""
        del problem
        return None

    def violations(self, problem: Problem, plan: Any) -> Iterable[str]:
        """Return in words every way in which *plan* breaks the constraint; nothing if it keeps it.

        This is what the constraint means. It is asked of every plan, so it shares nothing with models and solvers.
        ``plan.nodes_on(problem.k)`` says which nodes run where.

        Args:
            problem: the problem.
            plan: a :class:`mtpp_dsl.core.plans.plan.Plan`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say which plans break it")

    def rows(self, problem: Problem, model: Any, on: OnFunction, cut: CutFunction, load: LoadFunction) -> None:  # noqa: ARG002
        """Add linear rows, and variables if needed, to *model*: the plans that keep them are those without violations.

        Rows that are stricter than :meth:`violations` make bounds wrong. Nodes and devices are called by the
        problem's own numbers. Every value that is returned is a linear expression of Pyomo:

        * ``on(v, d)`` is 1 where node v is on device d, else 0. Of a batch it is 1 where some chunk of v is on d, and
          ``on(v, d, c)`` is 1 where chunk c is.
        * ``cut(u, d)`` is 1 where d has some, but not all, of node u and the nodes that read it, else 0.
        * ``load(d)`` is the load of d as the evaluation counts it, in the problem's unit of time.

        Args:
            problem: the problem.
            model: a block of the Pyomo model for this constraint alone, so that names cannot clash.
            on: where nodes run.
            cut: which tensors a device shares with others.
            load: the load of a device.

        Raises:
            Refused: there are no such rows.
        """
        raise Refused(f"constraint {self} can be verified, but has no rows for a model")

    def start(self, problem: Problem, model: Any, plan: Any) -> None:
        """Set the integer variables that :meth:`rows` has added to *model* as a plan has them; may do nothing."""

    def chosen_nodes(self, problem: Problem) -> Sequence[int]:
        """Return the numbers of the nodes that the constraint speaks of."""
        return range(problem.graph.n) if self.nodes is None else self.nodes

    def chosen_devices(self, problem: Problem) -> Sequence[int]:
        """Return the numbers of the devices that the constraint speaks of."""
        return range(problem.k) if self.devices is None else self.devices
