"""Where a node is and what it would cost elsewhere, as data and in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import Copies, Finish, Linear, On, Start, decisions_in
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.question import SAME, Question
from mtpp_dsl.show.report.names import short_name, short_names

__all__ = ["Elsewhere", "NodeChoice"]


@dataclass(frozen=True, repr=False)
class Elsewhere(Short):
    """A node on another device.

    Attributes:
        device: its name.
        alike: further devices for which all of this holds just so.
        exchanged: whether it is alike the device that the node is on: the same plan with the two exchanged costs the
            same.
        beside: the node there with which it is kept together where all else is arranged anew; "" where it is the device
            that is held.
        never: what keeps the node from there whatever else is done: constraints with their places, or that the device
            cannot run it.
        moved: the cost of the plan in which the node alone, and what has to be where it is, has moved; None where that
            is no plan, or cannot be said.
        broken: the constraints that this breaks, with their places.
        status: of the answer where all else is arranged anew; "" where none was looked for.
        cost: of the best plan found then.
        bound: no plan with the node there costs less.
        clash: of an infeasible one, the constraints that cannot hold together.
        why: why there is no answer; "" where there is one.
    """

    device: str
    alike: tuple[str, ...] = ()
    exchanged: bool = False
    beside: str = ""
    never: tuple[str, ...] = ()
    moved: float | None = None
    broken: tuple[str, ...] = ()
    status: str = ""
    cost: float | None = None
    bound: float | None = None
    clash: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, repr=False)
class NodeChoice(Short):
    """Where a node is, and what it would cost elsewhere.

    Attributes:
        question: what was asked.
        node: its number.
        devices: the names of the devices that run it.
        time: what it takes there.
        tied: the nodes that have to be where it is.
        elsewhere: other devices, each of those that are alike once.
    """

    question: Question
    node: int
    devices: tuple[str, ...]
    time: float
    tied: tuple[str, ...]
    elsewhere: tuple[Elsewhere, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; values are those of the objective."""
        value = self.question.value
        return {
            "node": self.question.problem.graph.names[self.node],
            "devices": list(self.devices),
            "time": self.time,
            "tied": list(self.tied),
            "value": value(self.question.cost),
            "elsewhere": [
                {
                    "device": place.device,
                    "alike": list(place.alike),
                    "exchanged": place.exchanged,
                    "beside": place.beside or None,
                    "never": list(place.never),
                    "moved": value(place.moved),
                    "broken": list(place.broken),
                    "status": place.status or None,
                    "best": value(place.cost),
                    "bound": value(place.bound),
                    "clash": list(place.clash),
                    "why": place.why or None,
                }
                for place in self.elsewhere
            ],
        }

    def words(self) -> list[str]:
        """Return it in words."""
        question = self.question
        graph = question.problem.graph
        takes = f", where it takes {question.time_shown(self.time)}" if self.time else ""
        lines = [f"{short_name(graph.names[self.node])} is on {short_names(self.devices)}{takes}"]
        if self.tied:
            lines.append(f"  {short_names(self.tied)} {'has' if len(self.tied) == 1 else 'have'} to be where it is")
        for what, others in (
            ("it reads", graph.predecessors(self.node)),
            ("it is read by", graph.successors(self.node)),
        ):
            if len(others):
                lines.append(f"  {what} {self._others(others.tolist())}")
        far = [place for place in self.elsewhere if place.exchanged and not place.beside]
        by_finding: dict[str, list[str]] = {}
        for place in self.elsewhere:
            if place not in far:
                by_finding.setdefault(self._place(place), []).extend([place.device, *place.alike])
        lines += [f"  on {short_names(names)}: {finding}" for finding, names in by_finding.items()]
        if far:
            lines.append(f"  on {short_names([place.device for place in far])}: {self._far(far)}")
        verdict = self._verdict()
        return [*lines, f"  {verdict}"] if verdict else lines

    def _others(self, nodes: list[int]) -> str:
        """Return nodes with their devices, those of one device together."""
        problem, plan = self.question.problem, self.question.plan
        assert plan is not None
        by: dict[int, list[str]] = {}
        for v in nodes:
            by.setdefault(int(plan.assignment[v]), []).append(problem.graph.names[v])
        return ", ".join(f"{short_names(names)} on {short_name(problem.devices[d].name)}" for d, names in by.items())

    def _place(self, place: Elsewhere) -> str:
        if place.never:
            return f"never: {self._rules(place.never)}"
        parts = ["an identical device"] if place.exchanged else []
        if place.broken:
            parts.append(f"moving only this node breaks {self._rules(place.broken)}")
        elif place.moved is not None:
            parts.append(f"moving only this node: {self._shown(place.moved)}")
        if place.status == "infeasible":
            what, circumstance = ("no plan exists", "with it there")
            if place.beside:
                what, circumstance = f"no plan keeps it with {short_name(place.beside)}", "then"
            parts.append(f"{what}: {self._rules(place.clash)} cannot hold {circumstance}" if place.clash else what)
        elif place.cost is not None:
            best = place.status == "optimal"
            anew = (
                f"kept with {short_name(place.beside)}, and all else arranged anew:"
                if place.beside
                else "with all else arranged anew"
            )
            parts.append(f"{anew} {self._shown(place.cost)}{', which is the best then' if best else ''}")
            if not best and place.bound is not None:
                parts.append(f"at best {self._shown(place.bound)}")
        elif place.bound is not None:
            parts.append(f"at best {self._shown(place.bound)}")
        anew = f"what all else arranged anew would cost is not known: {place.why}"
        return "; ".join([*parts, *([anew] if place.why else [])])

    def _rules(self, rules: Sequence[str]) -> str:
        """Return constraints in words: of many rows those about the node, and about nodes that have to be with it."""
        return rules_in_words(rules, self._about)

    @cached_property
    def _about(self) -> set[str]:
        """The rows that are about the node, and nodes that have to be with it."""
        problem = self.question.problem
        index = {name: v for v, name in enumerate(problem.graph.names)}
        return rows_about(problem, [self.node, *(index[name] for name in self.tied)])

    def _far(self, places: list[Elsewhere]) -> str:
        """Return what is said of devices that are alike the node's own, and hold none of its neighbours."""
        costs = [place.moved for place in places if place.moved is not None]
        broken = dict.fromkeys(rule for place in places for rule in place.broken)
        alone = (
            [f"moving only this node: {self._shown(min(costs))}{' or more' if len(costs) > 1 else ''}"] if costs else []
        )
        where = "on others it breaks" if costs else "moving only this node breaks"
        alone += [f"{where} {self._rules([*broken])}"] if broken else []
        return "; ".join(["an identical device", *alone])

    def _shown(self, cost: float) -> str:
        """Return a value and how it is beside that of the plan."""
        return f"{self.question.shown(cost)}, {self.question.compared(cost) or 'as now'}"

    @property
    def _in_parts(self) -> bool:
        """Whether a node may be on several devices at once, by its batches or by several routes: asked is all of it."""
        problem = self.question.problem
        return problem.objective.batch is not None or any(True for _ in problem.of(Copies))

    def _verdict(self) -> str:
        """Return what follows of all devices together; "" where nothing does."""
        cost = self.question.cost
        assert cost is not None
        open_ = [place for place in self.elsewhere if not place.never and not (place.exchanged and not place.beside)]
        if not open_:
            kept = any(place.exchanged for place in self.elsewhere)
            return "" if kept or not self.elsewhere else "so it can be nowhere else"
        alike = any(place.exchanged for place in self.elsewhere)
        if not self._in_parts and all(place.status == "infeasible" for place in open_):
            return "" if alike else "so it can be nowhere else"
        slack = SAME * abs(cost)
        better = [place for place in open_ if place.cost is not None and place.cost < cost - slack]
        if better:
            return f"so a better plan was found with it {_with(better)}"
        equal = [place for place in open_ if place.cost is not None and place.cost <= cost + slack]
        if equal:
            return f"so plans as good have it {_with(equal)}"
        if self._in_parts:
            return ""
        if all(place.status == "infeasible" or _above(place.bound, cost + slack) for place in open_):
            return f"so every plan with it {_with(open_) if alike else 'elsewhere'} is worse"
        return ""


def _with(places: list[Elsewhere]) -> str:
    beside = [place.beside for place in places if place.beside]
    return f"beside {short_names(beside)}" if beside else f"on {short_names([place.device for place in places])}"


def _above(bound: float | None, cost: float) -> bool:
    return bound is not None and bound > cost


# Constraints in a sentence: of a statement with many rows those about a node, and how many others there are.

MOST = 3
"""Rows of a statement that are named."""
_ROW = re.compile(r"(?P<label>\w+)\[.*\](?P<origin> \(.*\))?", re.DOTALL)


def rows_about(problem: Problem, nodes: Collection[int]) -> set[str]:
    """Return the rows of labelled constraints that speak of where some nodes are, or when they run."""
    wanted = set(nodes)
    rows = set()
    for rule in problem.constraints:
        if isinstance(rule, Linear):
            decisions = decisions_in(rule.terms)
            if any(isinstance(decision, (On, Start, Finish)) and decision.node in wanted for decision in decisions):
                rows.add(str(rule))
    return rows


def rules_in_words(rules: Sequence[str], about: Collection[str] = ()) -> str:
    """Return constraints in words: of more than a few rows of one statement those *about* something, and how many.

    Args:
        rules: constraints as they call themselves, with their places.
        about: rows that bear on what is asked about, as they call themselves.

    >>> rules_in_words(["acyclic (s:9)", *(f"near[{i}] (s:10)" for i in range(6))], ["near[4] (s:10)"])
    'acyclic (s:9), near[4] and 5 other rows of near (s:10)'
    >>> rules_in_words([f"near[{i}] (s:10)" for i in range(6)]), rules_in_words(["near[0] (s:10)", "near[1] (s:10)"])
    ('6 rows of near (s:10)', 'near[0..1] (s:10)')
    """
    return ", ".join(_rules_by_statement(rules, set(about)))


def _rules_by_statement(rules: Sequence[str], about: set[str]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        row = _ROW.fullmatch(rule)
        groups.setdefault((row["label"], row["origin"] or "") if row else (rule, ""), []).append(rule)
    for (label, origin), members in groups.items():
        if members == [label]:
            yield label
            continue
        named = members if len(members) <= MOST else [rule for rule in members if rule in about][:MOST]
        others = len(members) - len(named)
        parts = [short_names([rule.removesuffix(origin) for rule in named])] if named else []
        if others:
            parts.append(f"{counted(others, 'other row' if named else 'row')} of {short_name(label)}")
        yield " and ".join(parts) + origin
