"""Devices that have one row: the replicas or shards of a stage whose figures are the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mtpp_dsl.show.page.markup import Markup, name
from mtpp_dsl.show.page.view import View
from mtpp_dsl.show.report.names import fold_names

__all__ = ["called", "together"]

MAX_NAMES = 6


def together(view: View, devices: Iterable[int], figures: Callable[[int], Hashable]) -> list[list[int]]:
    """Return devices in groups, in the order of their firsts: those of one stage that have equal figures."""
    leads = range(view.problem.k) if view.plan is None else view.plan.leads(view.problem.k).tolist()
    groups: dict[tuple[int, Hashable], list[int]] = {}
    for d in devices:
        groups.setdefault((leads[d], figures(d)), []).append(d)
    return list(groups.values())


def called(view: View, group: Sequence[int], most: int | None = None) -> Markup:
    """Return the names of devices that have one row, isolated in the text around them."""
    text = fold_names([view.problem.devices[d].name for d in group], MAX_NAMES)
    return name(text) if most is None else name(text, most)
