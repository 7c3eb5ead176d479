"""Whether clashes are ones, and minimal where that is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any

from mtpp_dsl.show.explaining.items import items_of
from tests.tools.asking.truth import Truth
from tests.tools.fuzzer.instance import Instance

__all__ = ["clashes"]


def clashes(truth: Truth, question: Any, part: Any) -> Iterator[str]:
    """Yield which clashes are none, or are not minimal as is said."""
    problem = question.problem
    items = items_of(problem, question.places)
    whole: list[Any] = []
    barred: set[int] = set()
    for clash in part.clashes:
        own = [rule for member in clash.members for rule in member.constraints]
        devices = {d for member in clash.members for d in member.barred}

        def asked(own: Iterable[Any], devices: set[int]) -> Instance:
            return truth.meant.under([*items.fixed, *own], items.barred - devices)

        cost = truth.of(asked(own, devices), "clash")
        if cost is not None and cost < inf:
            yield f"{[str(rule) for rule in own]} do not clash: a plan costs {cost}"
        if clash.minimal:
            truth.tried["minimal"] += 1
        singles = [([x for x in own if x is not rule], devices, str(rule)) for rule in own]
        singles += [(own, devices - {d}, f"unsupported on {problem.devices[d].name}") for d in devices]
        for rest, supported, what in singles if clash.minimal else []:
            if truth.of(asked(rest, supported), "part of a clash") == inf:
                yield f"called minimal, and without {what} there is no plan, either: {[str(rule) for rule in own]}"
        for member in clash.members if len(clash.members) > 1 else []:
            rest = [x for x in own if not any(x is rule for rule in member.constraints)]
            if member.needed and truth.of(asked(rest, devices - set(member.barred)), "member of a clash") == inf:
                yield f"{member.named} is said to be needed, and is not"
        for member in clash.members:
            whole += [
                rule
                for item in items.items
                if item.named == member.named and (not item.lines or item.lines[0] in member.lines)
                for rule in item.constraints
            ]
            barred |= set(member.barred)
    rules = [rule for item in items.items for rule in item.constraints if not any(rule is x for x in whole)]
    if part.rest is not None and not barred:
        cost = truth.of(truth.meant.under([*items.fixed, *rules]), "rest of clashes")
        if cost is not None and (cost < inf) != part.rest:
            yield f"rest is {part.rest}, and the least cost without the clashes is {cost}"
