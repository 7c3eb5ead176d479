"""What constraints and objectives say of one more device that is like another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mtpp_dsl.constraints import (
    Constraint,
    Decision,
    Forbid,
    InOrder,
    Largest,
    Linear,
    Load,
    On,
    Pin,
    PinChunks,
    Used,
    decisions_in,
)
from mtpp_dsl.errors import Refused
from mtpp_dsl.problem import Objective, Problem
from mtpp_dsl.problem.custom import CustomConstraint

__all__ = ["CopiedRules"]

Terms = tuple[tuple[Decision, float], ...]


class CopiedRules:
    """What constraints and objectives say of a problem with a new device, the last.

    Attributes:
        problem: without it.
        peers: the devices of its type.
        like: the one that it is like.
        name: of the new device.
    """

    def __init__(self, problem: Problem, peers: Sequence[int], like: int, name: str) -> None:
        self.problem, self.peers, self.like, self.name = problem, tuple(peers), like, name
        self.new = problem.k
        self.rows = {(_stem(row), row.sense, row.rhs, row.penalty, frozenset(row.terms)) for row in problem.of(Linear)}

    def constraints(self) -> list[Constraint]:
        """Return the constraints, the new device among what they are about."""
        found: list[Constraint] = []
        for constraint in self.problem.constraints:
            found += self.row(constraint) if isinstance(constraint, Linear) else [self.rule(constraint)]
        return found

    def rule(self, rule: Constraint) -> Constraint:
        """Return a constraint with a name of its own."""
        devices: tuple[int, ...] | None = getattr(rule, "devices", None)
        every = len(self.peers) > 1 and devices is not None and set(self.peers) <= set(devices)
        if isinstance(rule, InOrder):
            order = list(range(self.problem.k) if devices is None else devices)
            if devices is not None and not every:
                return rule
            family = [p for p in self.peers if _family(self.problem, p) == _family(self.problem, self.like)]
            place = max(order.index(p) for p in family) + 1
            if devices is None and place == len(order):
                return rule
            return replace(rule, devices=(*order[:place], self.new, *order[place:]))
        if devices is None or isinstance(rule, PinChunks):
            return rule
        if isinstance(rule, CustomConstraint):
            if self.like in devices:
                raise Refused(
                    f"nothing says whether constraint {rule} is about another device such as {self.like_name}"
                )
            return rule
        if every or (self.like in devices and not isinstance(rule, (Forbid, Pin))):
            return replace(rule, devices=(*devices, self.new))  # type: ignore[call-arg]
        return rule

    @property
    def like_name(self) -> str:
        """The name of the device that the new one is like."""
        return self.problem.devices[self.like].name

    def row(self, row: Linear) -> list[Constraint]:
        """Return a row as it is with the new device, and the row of the new device beside it."""
        named = self.named_in(row.terms)
        if not named:
            return [row]
        labelled = any(_names(row.label, self.problem.devices[p].name) for p in named)
        if len(named) == 1 and not self.closed(row, named) and not (labelled and len(self.peers) == 1):
            return [row]  # it is about that device, by its name
        if labelled or len(named) == 1:  # a row for each device
            self.refuse(len(named) > 1, f"constraint {row}")
            if self.like not in named:
                return [row]
            terms = tuple((_moved(x, {self.like: self.new}), a) for x, a in row.terms)
            return [row, replace(row, label=row.label.replace(self.like_name, self.name), terms=terms)]
        return [replace(row, terms=self.extended(row.terms, f"constraint {row}"))]

    def objective(self, objective: Objective) -> Objective:
        """Return an objective with the terms of the new device."""
        return replace(objective, terms=self.extended(objective.terms, f"'{objective}'"))

    def extended(self, terms: Terms, what: str) -> Terms:
        """Return sums over devices with terms of the new one, as those of the one that it is like.

        Raises:
            Refused: the terms of the devices of its type differ.
        """
        named = self.named_in(terms)
        spoken = {d for x in decisions_in(terms) if (d := getattr(x, "device", None)) is not None}
        if named != set(self.peers) or (len(named) == 1 and len(spoken) < max(2, self.problem.k)):
            return terms  # it is about those devices, by their names
        for p in self.peers:
            swapped = {(_moved(x, {p: self.like, self.like: p}), a) for x, a in terms}
            self.refuse(swapped != set(_sorted_sums(terms)), what)
        return self.with_new(terms)

    def with_new(self, terms: Terms) -> Terms:
        """Return terms with those of the new device beside those of the one that it is like."""
        found: list[tuple[Decision, float]] = []
        for x, a in terms:
            if isinstance(x, Largest):
                found.append((self.largest(x), a))
                continue
            found.append((x, a))
            if getattr(x, "device", None) == self.like:
                found.append((_moved(x, {self.like: self.new}), a))
        return tuple(found)

    def largest(self, largest: Largest) -> Largest:
        """Return the largest of several sums with the sum of the new device, or with its terms in all of them."""
        sums = []
        for terms, constant in largest.sums:
            named = self.named_in(terms)
            if named == {self.like}:
                sums.append((terms, constant))
                sums.append((tuple((_moved(x, {self.like: self.new}), a) for x, a in terms), constant))
            else:
                sums.append((self.with_new(terms) if self.like in named else terms, constant))
        return Largest(tuple(sums))

    def named_in(self, terms: Terms) -> set[int]:
        """Return the devices of the type that *terms* name."""
        return {d for x in decisions_in(terms) if (d := getattr(x, "device", None)) in self.peers}

    def closed(self, row: Linear, named: Iterable[int]) -> bool:
        """Return whether every device of the type, or every device at all beside a lone one, has a row such as this."""
        one = next(iter(named))
        others = self.peers if len(self.peers) > 1 else range(self.problem.k)
        rows = (
            (
                _stem(row),
                row.sense,
                row.rhs,
                row.penalty,
                frozenset((_moved(x, {one: p, p: one}), a) for x, a in row.terms),
            )
            for p in others
        )
        return self.problem.k > 1 and all(each in self.rows for each in rows)

    def refuse(self, differ: bool, what: str) -> None:
        """Refuse where devices of the type are not treated alike."""
        if differ:
            raise Refused(f"{what} treats devices such as {self.like_name} in different ways, or by pairs")


def _family(problem: Problem, d: int) -> str:
    return problem.devices[d].name.partition("[")[0]


def _names(label: str, device: str) -> bool:
    """Return whether the values of a ``forall`` in a label, as in ``cap[gpu[0], a]``, have a device among them."""
    suffix = label.partition("[")[2].removesuffix("]")
    return re.search(rf"(?:^|, ){re.escape(device)}(?:$|, )", suffix) is not None


def _stem(row: Linear) -> tuple[str, str]:
    return row.label.partition("[")[0], row.origin


def _sorted_sums(terms: Terms) -> Terms:
    return tuple((_moved(x, {}), a) for x, a in terms)


def _moved(decision: Decision, to: Mapping[int, int]) -> Decision:
    """Return a decision about other devices; the sums of a largest one in an order that does not depend on them."""
    if isinstance(decision, Largest):
        sums = (
            (tuple(sorted(((_moved(x, to), a) for x, a in terms), key=repr)), constant)
            for terms, constant in decision.sums
        )
        return Largest(tuple(sorted(sums, key=repr)))
    if not isinstance(decision, (Load, On, Used)):
        return decision
    return replace(decision, device=to.get(decision.device, decision.device))
