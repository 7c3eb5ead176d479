"""Constraints of plug-ins: what a model offers to their rows, and these rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.errors import MtppError, PluginError, Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import DECISIONS, CustomConstraint
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.models.blocks.components import impossible
from mtpp_dsl.models.facts.user_rows import DROPPED, LARGEST, PASSED

Decision: TypeAlias = Callable[..., Any]

SEVERAL_DEVICES: Mapping[str, str] = {"cut": "a node of a batch may run on several devices"}
"""What models of batches do not offer, and why."""

ARGUMENTS = {"on": "on(v, d)", "cut": "cut(u, d)", "load": "load(d)"}


def custom_refusal(name: str, problem: Problem, lacks: Mapping[str, str] | None = None) -> str | None:
    """Return why the rows of some plug-in's constraint cannot be added to the models of formulation *name*, or None.

    Args:
        name: of the formulation.
        problem: with the constraints.
        lacks: which of ``on``, ``cut`` and ``load`` the models do not offer, and why.
    """
    for custom in problem.of(CustomConstraint):
        if type(custom).rows is CustomConstraint.rows:
            return f"constraint {custom} can be verified, but has no rows for a model"
        for decision in custom.uses:
            if decision not in DECISIONS:
                raise PluginError(f"constraint {custom.keyword} uses {decision!r}; there are {', '.join(DECISIONS)}")
            if decision in (lacks or {}):
                return _lacking(name, decision, (lacks or {})[decision], f"constraint {custom}")
    return None


def _lacking(name: str, decision: str, why: str, who: str) -> str:
    return f"{name} has no {ARGUMENTS[decision]}, which the rows of {who} ask for: {why}"


def offer(
    model: Any, problem: Problem, on: Decision, load: Decision | None, lacks: Mapping[str, str] | None = None
) -> None:
    """Give *model* the functions ``on(v, d)``, ``cut(u, d)`` and ``load(d)``, by the problem's own numbers.

    They return linear expressions of Pyomo; see :meth:`mtpp_dsl.core.problem.custom.CustomConstraint.rows`.

    Args:
        model: to add to; its name is that of the formulation.
        problem: what is asked.
        on: of nodes and devices, an expression or the number 0.
        load: of devices, in the problem's unit of time.
        lacks: what there is none of, and why.
    """
    lacks = lacks or {}

    def lacking(decision: str) -> Decision:
        def refuse(*_: Any) -> Any:
            raise Refused(_lacking(model.name, decision, lacks[decision], "a formulation or constraint"))

        return refuse

    model.on = lambda *index: _expression(model, on(*index))
    model.cut = lacking("cut") if "cut" in lacks else _Cuts(model, problem).cut
    model.load = lacking("load") if load is None else lambda d: _expression(model, load(d))


def _expression(model: Any, value: Any) -> Any:
    """Return *value* as an expression of Pyomo, also where it is 0 whatever the plan."""
    if not isinstance(value, (int, float)):
        return value
    if model.component("nothing") is None:
        model.nothing = pyo.Var(bounds=(0, 0))
        model.nothing.fix(0)
    return model.nothing + float(value)


class _Cuts:
    """Variables that say whether a device has some, but not all, of a node and those that read it.

    Formula, for the node p and its readers, M together: ``c >= on(w,d) - on(p,d)`` and ``c >= on(p,d) - on(w,d)`` for
    every reader w; ``c <= sum_{w in M} on(w,d)``, ``c <= sum_{w in M} (1 - on(w,d))``.
    Source -> target: ``cut(u, d)`` -> a continuous variable for every pair that is asked for. Exact where ``on`` is 0
    or 1, whatever the rows that name it ask for.
    """

    def __init__(self, model: Any, problem: Problem) -> None:
        self.model, self.problem = model, problem
        self.made: dict[tuple[int, int], Any] = {}

    def cut(self, u: int, d: int) -> Any:
        """Return the variable of node *u* and device *d*; its rows are added when it is first asked for."""
        key = int(u), int(d)
        if key not in self.made:
            self.made[key] = self._make(*key)
        return self.made[key]

    def _make(self, u: int, d: int) -> Any:
        model, readers = self.model, sorted({*self.problem.graph.successors(u).tolist()} - {u})
        if not readers:
            return _expression(model, 0)
        if model.component("cuts") is None:
            model.cuts = pyo.Block(concrete=True)
            model.cuts.c, model.cuts.rows = pyo.VarList(bounds=(0, 1)), pyo.ConstraintList()
        c, rows = model.cuts.c.add(), model.cuts.rows
        ons = [model.on(v, d) for v in (u, *readers)]
        for on in ons[1:]:
            rows.add(c >= on - ons[0])
            rows.add(c >= ons[0] - on)
        rows.add(c <= sum(ons))
        rows.add(c <= len(ons) - sum(ons))
        return c


def work_of(problem: Problem, on: Decision) -> Decision:
    """Return ``load(d)`` where transfers take no device's time: the times of the nodes on d."""
    time = np.where(problem.allowed, problem.time, 0.0)
    return lambda d: sum(float(time[v, d]) * on(v, d) for v in range(problem.graph.n) if time[v, d])


def offer_chunks(model: Any, problem: Problem, home: Sequence[int], on: Decision, sizes: Any) -> None:
    """Give the *model* of a batch the functions of :func:`offer`; ``on(v, d, c)`` is of chunk c of node v.

    Args:
        model: to add to.
        problem: what is asked.
        home: [n] the number in the model of every node.
        on: ``on(h, d, c)``, of what :attr:`home` says.
        sizes: binaries ``sizes[h, d, p]``: whether the batch of h on d is of p chunks.
    """
    takes = np.where(np.isfinite(problem.batching.time), problem.batching.time, 0.0)
    chosen: dict[tuple[int, int], list[tuple[int, Any]]] = {}
    for (h, d, p), binary in sizes.items():
        chosen.setdefault((h, d), []).append((p, binary))

    def placed(v: int, d: int, c: int | None = None) -> Any:
        return sum(binary for _, binary in chosen.get((home[v], d), ())) if c is None else on(home[v], d, c)

    def load(d: int) -> Any:
        terms = ((takes[v, d, p], binary) for v, h in enumerate(home) for p, binary in chosen.get((h, d), ()))
        return sum(float(a) * binary for a, binary in terms if a)

    offer(model, problem, placed, load, SEVERAL_DEVICES)


def custom_rows(model: Any, problem: Problem) -> None:
    """Add the rows of the constraints of plug-ins, each in a block of its own.

    Formula: the plug-in's own; an inequality is scaled, and widened by what the check of plans lets pass.
    Source -> target: constraints of plug-ins -> rows and variables. Exact if the plug-in's rows are.

    Raises:
        PluginError: a plug-in adds a row that is not linear, or an objective, asks for what it does not say that it
            uses, or fails.
        Refused: a constraint has no rows, or asks for what the model does not offer.
    """
    model.of_plugins = []
    for number, custom in enumerate(problem.of(CustomConstraint)):
        part = pyo.Block(concrete=True)
        model.add_component(f"custom_{number}", part)
        asked = [_declared(custom, decision, getattr(model, decision)) for decision in DECISIONS]
        try:
            custom.rows(problem, part, *asked)
        except MtppError:
            raise
        except Exception as error:
            raise PluginError(f"rows() of constraint {custom} failed: {error!r}") from error
        _check(custom, part)
        model.of_plugins.append((custom, part))


def start_custom(model: Any, problem: Problem, plan: Plan) -> None:
    """Let plug-ins set the integer variables of their rows from *plan*, whose devices are numbered as in the model."""
    for custom, part in getattr(model, "of_plugins", ()):
        custom.start(problem, part, plan)


def _declared(custom: CustomConstraint, decision: str, function: Decision) -> Decision:
    """Return *function*, or what raises PluginError where the constraint does not say that it uses it."""

    def undeclared(*_: Any) -> Any:
        raise PluginError(
            f"rows() of constraint {custom} asks for {decision}(): say so in its class, with uses = "
            f"{(*custom.uses, decision)!r}"
        )

    return function if decision in custom.uses else undeclared


def _check(custom: CustomConstraint, part: Any) -> None:
    """Check that a plug-in has added nothing but linear rows and variables, and scale the rows."""
    if any(True for _ in part.component_data_objects(pyo.Objective, active=True, descend_into=True)):
        raise PluginError(f"rows() of constraint {custom} adds an objective; a constraint has rows only")
    for number, row in enumerate(list(part.component_data_objects(pyo.Constraint, active=True, descend_into=True))):
        _scale(custom, part, row, number)


def _scale(custom: CustomConstraint, part: Any, row: Any, number: int) -> None:
    """Bring a row within a solver's range, and widen it by what the check of plans lets pass.

    Coefficients that solvers would drop are dropped here, and an inequality is widened by all that they could be.
    """
    from pyomo.repn import generate_standard_repn

    form = generate_standard_repn(row.body, compute_values=True, quadratic=False)
    if not form.is_linear():
        raise PluginError(f"rows() of constraint {custom} adds {row.name!r}, which is not linear")
    low, high = (None if side is None else float(pyo.value(side)) - form.constant for side in (row.lower, row.upper))
    terms = [(float(a), x) for a, x in zip(form.linear_coefs, form.linear_vars, strict=True) if a]
    if not all(
        isfinite(value) for value in (*(a for a, _ in terms), *(side for side in (low, high) if side is not None))
    ):
        raise PluginError(f"rows() of constraint {custom} adds {row.name!r}, with a coefficient that is no number")
    factor = 1 / max((abs(a) / (LARGEST if x.is_integer() else 1.0) for a, x in terms), default=1.0)
    small = [(a, x) for a, x in terms if abs(a) * factor < DROPPED]
    lost = factor * _reach(small)
    if lost and (row.equality or not isfinite(lost)):
        raise PluginError(f"rows() of constraint {custom} adds {row.name!r}, whose numbers are too far apart")
    slack = 0.0 if row.equality else PASSED
    low = None if low is None else low * factor - slack * abs(low * factor) - lost
    high = None if high is None else high * factor + slack * abs(high * factor) + lost
    kept = [(a * factor, x) for a, x in terms if abs(a) * factor >= DROPPED]
    if kept:
        row.set_value((low, sum(a * x for a, x in kept), high))
        return
    row.deactivate()
    if (low is not None and low > PASSED) or (high is not None and high < -PASSED):
        impossible(part, f"never_{number}")


def _reach(terms: Sequence[tuple[float, Any]]) -> float:
    """Return what *terms* cannot exceed, either way; ``inf`` where a variable has no bounds."""
    return sum(abs(a) * max(abs(bound) if bound is not None else float("inf") for bound in x.bounds) for a, x in terms)
