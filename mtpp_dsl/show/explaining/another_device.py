"""A problem with one more device of a type: what its spec says with it, once the device is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from mtpp_dsl.core.base.files import Folders
from mtpp_dsl.core.constraints import Constraint, Decision, Forbid, InOrder, Linear, Pin, PinChunks, decisions_in
from mtpp_dsl.core.errors import Refused
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import OneMore, free_of
from mtpp_dsl.language.lowering.analysis import Analysis
from mtpp_dsl.show.explaining.altered import made_again
from mtpp_dsl.solving.answers.again import analysed_again

Terms = Iterable[tuple[Decision, float]]


def alike(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return the types of devices: sets of devices that differ in their names and groups alone, times included."""
    types: dict[tuple[Any, ...], list[int]] = {}
    for d, device in enumerate(problem.devices):
        own = replace(device, name="", group=None)
        shares = (tuple(sorted(own.peak.items())), tuple(sorted(own.efficiency.items())))
        phases = b"".join(phase.time[:, d].tobytes() for phase in problem.each_phase.values())
        key = (own.type, own.memory, own.reserve, own.speed, own.pays_io, own.unsupported, own.fixed, own.overhead)
        figures = (*shares, own.price, own.price_unit, own.power, own.power_unit, own.bandwidth)
        types.setdefault((key, figures, problem.time[:, d].tobytes(), phases), []).append(d)
    return tuple(map(tuple, types.values()))


def with_device(problem: Problem, like: int, search: Folders = ()) -> Problem:
    """Return *problem* with one more device like another one, behind those of its family.

    * It has the other one's times, memory, group, and links. To devices of its type it is joined as the other one is.
    * Objectives and constraints are what the spec says with it: sums over ``devices`` and over its family have a term
      of it, and ``forall`` a row, whatever the coefficients. What names single devices is about those alone; but what
      limits each of the devices that it names, such as a memory, limits one like them.

    Args:
        problem: its spec is read again; of one made in Python, or changed since, what speaks of single devices is
            refused, as nothing says whether another one would be meant.
        like: the number of the device.
        search: folders where ``include`` looks after the including file's own.

    Raises:
        Refused: nothing says what would join it to the others, or whether a row, an objective or a plug-in's constraint
            is about it, too; or the spec cannot be meant with it.
    """
    stated = free_of(problem)
    peers = next(group for group in alike(problem) if like in group)
    more = OneMore.beside(stated.devices, like, peers)
    now = analysed_again(problem, search)
    if now is None or now.problem is None or not _same(free_of(now.problem), stated):
        return _by_itself(problem, stated, replace(more, place=stated.k))
    then = analysed_again(problem, search, more)
    if then is None or then.problem is None:
        wrong = "" if then is None else f": {then.errors[0].message}"
        raise Refused(f"the spec is not valid with another device like {stated.devices[like].name}{wrong}")
    return _of_spec(problem, stated, now, then, more)


def _of_spec(problem: Problem, stated: Problem, now: Analysis, then: Analysis, more: OneMore) -> Problem:
    """Return the problem of a spec that was read with the new device, asked as *problem* is."""
    assert now.problem is not None
    assert then.problem is not None
    grown = free_of(then.problem)
    check = _Check(grown, more)
    spans: dict[object, list[Constraint]] = {}
    for rule, places in then.places.stated.items():
        for place in places:
            spans.setdefault(place, []).append(rule)
    for rules in spans.values():
        check.named(_spoken(rules), f"constraint {rules[0]}")
    for objective in grown.objectives:
        check.named(_named(objective.terms), f"'{objective}'")
    added = [rule for rule in stated.constraints if rule not in set(free_of(now.problem).constraints)]
    for rule in added:
        if _spoken([rule]) or getattr(rule, "devices", None) is not None:
            raise Refused(f"nothing says whether {rule} is about another device like {check.like}")
    rules = [*(check.rule(rule) for rule in grown.constraints), *added]
    objectives = [_as_asked(objective, now.problem, grown, check) for objective in stated.objectives]
    target = None if problem.target is None else replace(problem.target, stated=grown.constraints)
    return made_again(
        replace(grown, origin=stated.origin, target=target),
        change=lambda asked: replace(
            asked.with_constraints(rules), objective=objectives[0], later=tuple(objectives[1:])
        ),
    )


def _as_asked(objective: Objective, now: Problem, grown: Problem, check: _Check) -> Objective:
    """Return an objective as the spec says it with the new device, with the tolerance that was asked for."""
    for before, after in zip(now.objectives, grown.objectives, strict=True):
        if (before.called, before.terms) == (objective.called, objective.terms):
            return replace(after, within=objective.within)
    if _named(objective.terms):
        raise Refused(f"nothing says whether '{objective}' is about another device like {check.like}")
    return objective


def _by_itself(problem: Problem, stated: Problem, more: OneMore) -> Problem:
    """Return a problem without a spec with the new device as its last.

    Raises:
        Refused: a row or an objective speaks of devices such as it, or of several.
    """
    like = stated.devices[more.like].name
    for what, terms in (
        *((f"constraint {row}", row.terms) for row in stated.of(Linear)),
        *((f"'{objective}'", objective.terms) for objective in stated.objectives),
    ):
        spoken = _named(terms)
        if len(spoken) > 1 or spoken & set(more.peers):
            raise Refused(f"nothing says whether {what} is about another device like {like}: the problem has no spec")
    graph, devices, joined = more.grown(stated.graph, stated.devices, stated.interconnect)
    check = _Check(replace(stated, devices=devices), more)
    return made_again(
        problem,
        graph=graph,
        devices=devices,
        interconnect=joined,
        change=lambda asked: asked.with_constraints([check.rule(rule) for rule in asked.constraints]),
    )


class _Check:
    """What constraints say of a new device that the spec names nowhere.

    Attributes:
        like: the name of the device that it is like.
        new: its number.
        twin: the number of the one that it is like, beside it.
        peers: the numbers of those that are alike, beside it.
    """

    def __init__(self, grown: Problem, more: OneMore) -> None:
        self.grown, self.new = grown, more.place
        self.peers = {p + (p >= more.place) for p in more.peers}
        self.twin = more.like + (more.like >= more.place)
        self.like = grown.devices[self.twin].name

    def named(self, spoken: set[int], what: str) -> None:
        """Refuse what speaks of several such devices, or of all devices, by their names, and not of the new one."""
        others = self.grown.k - 1
        if self.new not in spoken and (len(spoken & self.peers) > 1 or (others > 1 and len(spoken) == others)):
            raise Refused(
                f"{what} names devices such as {self.like} one by one, so that nothing says whether another one is "
                "meant; a sum over devices or over a family would say so"
            )

    def rule(self, rule: Constraint) -> Constraint:
        """Return a constraint with a name of its own, about the new device where it is about those that are alike."""
        devices: tuple[int, ...] | None = getattr(rule, "devices", None)
        if devices is not None and self.new in devices:
            return rule
        every = len(self.peers) > 1 and devices is not None and self.peers <= set(devices)
        if isinstance(rule, InOrder):
            return self._in_order(rule, every=every)
        if devices is None or isinstance(rule, PinChunks):
            return rule
        if isinstance(rule, CustomConstraint):
            if self.twin in devices:
                raise Refused(f"nothing says whether constraint {rule} is about another device such as {self.like}")
            return rule
        if every or (self.twin in devices and not isinstance(rule, (Forbid, Pin))):
            return replace(rule, devices=(*devices, self.new))  # type: ignore[call-arg]
        return rule

    def _in_order(self, rule: InOrder, *, every: bool) -> InOrder:
        """Return an order in which the new device comes behind those of its family."""
        old = [d for d in range(self.grown.k) if d != self.new]
        order = old if rule.devices is None else list(rule.devices)
        if rule.devices is not None and not every:
            return rule
        family = self.like.partition("[")[0]
        place = max(order.index(p) for p in self.peers if self.grown.devices[p].name.partition("[")[0] == family) + 1
        order.insert(place, self.new)
        return rule if rule.devices is None and order == sorted(order) else replace(rule, devices=tuple(order))


def _spoken(rules: Iterable[Constraint]) -> set[int]:
    """Return the devices that rows speak of, all together."""
    return {d for rule in rules if isinstance(rule, Linear) for d in _named(rule.terms)}


def _named(terms: Terms) -> set[int]:
    return {d for decision in decisions_in(terms) if (d := getattr(decision, "device", None)) is not None}


def _same(one: Problem, other: Problem) -> bool:
    """Return whether two problems have the same graph, devices and interconnect."""
    parts = [(p.graph, p.devices, p.interconnect, p.time_unit) for p in (one, other)]
    return set(one.constraints) <= set(other.constraints) and _equal(*parts)


def _equal(one: Any, other: Any) -> bool:
    """Return whether two parts of problems are equal; arrays are, if their numbers are."""
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(_equal(getattr(one, attribute.name), getattr(other, attribute.name)) for attribute in fields(one))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)
