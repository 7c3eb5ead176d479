"""Nodes that are on other devices in another plan, folded into modules and families."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.show.explaining.called import called_all

__all__ = ["Moved", "folded", "moved"]

Where = tuple[str, ...]
_NUMBERED = re.compile(r"\.(\d+)(?=\.|$)")


@dataclass(frozen=True, repr=False)
class Moved(Short):
    """Nodes that are on some devices in one plan and on others in another.

    Attributes:
        nodes: their names.
        source, target: the names of the devices, in the one plan and in the other.
        words: the nodes in a few words.
    """

    nodes: tuple[str, ...]
    source: Where
    target: Where
    words: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "nodes": list(self.nodes),
            "words": self.words,
            "from": list(self.source),
            "to": list(self.target),
        }


def moved(before: Mapping[str, Where], after: Mapping[str, Where]) -> list[Moved]:
    """Return the nodes of both plans whose devices differ, those of the same devices together, the most nodes first."""
    both = [name for name in before if name in after]
    groups: dict[tuple[Where, Where], list[str]] = {}
    for name in both:
        if before[name] != after[name]:
            groups.setdefault((before[name], after[name]), []).append(name)
    found = [Moved(tuple(names), source, target, folded(names, both)) for (source, target), names in groups.items()]
    return sorted(found, key=lambda one: (-len(one.nodes), one.source, one.target))


def folded(names: Sequence[str], every: Sequence[str], most: int | None = 6) -> str:
    """Return names in a few words: modules all of whose nodes are among them by the name of the module.

    >>> every = [f"layers.{i}.{x}" for i in range(4) for x in ("attn", "mlp")] + ["head"]
    >>> folded([*every[2:6], "head"], every)
    'layers[1..2], head'
    >>> folded(["layers.0.attn", "layers.1.attn"], every)
    'layers[0..1].attn'
    """
    chosen = set(names)
    whole: dict[str, bool] = {}
    for name in every:
        for module in _modules(name):
            whole[module] = whole.get(module, True) and name in chosen
    kept: dict[str, None] = {}
    for name in names:
        kept[next((module for module in _modules(name) if whole[module]), name)] = None
    return called_all([_NUMBERED.sub(r"[\1]", name) for name in kept], most)


def _modules(name: str) -> list[str]:
    """Return the modules that a node is in by its name, the outermost first."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]
