"""Constraints in a sentence: of a statement with many rows those about a node, and how many others there are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.constraints import Finish, Linear, On, Start, decisions_in
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.explaining.called import called, called_all

__all__ = ["rows_about", "rules_said"]

MOST = 3
"""Rows of a statement that are named."""
_ROW = re.compile(r"(?P<label>\w+)\[.*\](?P<origin> \(.*\))?", re.DOTALL)


def rows_about(problem: Problem, nodes: Collection[int]) -> set[str]:
    """Return the rows of labelled constraints that speak of where some nodes are, or when they run."""
    wanted = set(nodes)
    found = set()
    for rule in problem.constraints:
        if isinstance(rule, Linear):
            decisions = decisions_in(rule.terms)
            if any(isinstance(each, (On, Start, Finish)) and each.node in wanted for each in decisions):
                found.add(str(rule))
    return found


def rules_said(rules: Sequence[str], about: Collection[str] = ()) -> str:
    """Return constraints in words: of more than a few rows of one statement those *about* something, and how many.

    Args:
        rules: constraints as they call themselves, with their places.
        about: rows that bear on what is asked about, as they call themselves.

    >>> rules_said(["acyclic (s:9)", *(f"near[{i}] (s:10)" for i in range(6))], ["near[4] (s:10)"])
    'acyclic (s:9), near[4] and 5 other rows of near (s:10)'
    >>> rules_said([f"near[{i}] (s:10)" for i in range(6)]), rules_said(["near[0] (s:10)", "near[1] (s:10)"])
    ('6 rows of near (s:10)', 'near[0..1] (s:10)')
    """
    return ", ".join(_said(rules, set(about)))


def _said(rules: Sequence[str], about: set[str]) -> Iterator[str]:
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
        parts = [called_all([rule.removesuffix(origin) for rule in named])] if named else []
        if others:
            parts.append(f"{counted(others, 'other row' if named else 'row')} of {called(label)}")
        yield " and ".join(parts) + origin
