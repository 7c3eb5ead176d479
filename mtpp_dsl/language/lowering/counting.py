"""Count how many members an item has at least, told before any is made: what is too many is refused at once."""

from __future__ import annotations

from collections.abc import Mapping

from mtpp_dsl.core.base.spec_limits import MAX_NODES
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.mentions import mentions
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import Locals, evaluate, whole
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Sequence

MAX_NESTED = 50
"""Blocks nested deeper than this are refused when they are used; they are not counted."""


class MemberCounts:
    """Counts the nodes of items and of blocks, and the steps of making them; no figure is above what there will be.

    Args:
        scope: of the spec.
        blocks: by name.
    """

    def __init__(self, scope: SpecScope, blocks: Mapping[str, tree.BlockStatement]) -> None:
        self.scope, self.blocks = scope, blocks
        self._known: dict[str, tuple[int, int]] = {}
        self._mentions: dict[int, frozenset[str]] = {}

    def nodes(self, item: tree.NodeItem | tree.UseItem, local: Locals) -> tuple[int, int]:
        """Return how many nodes an item makes, and how many steps of reading it takes.

        Args:
            item: that makes nodes, or uses a block.
            local: the values of the params of the block that it stands in.
        """
        return self._of_item(item, local, frozenset(), 1)

    def _of_item(
        self, item: tree.NodeItem | tree.UseItem, local: Locals, hidden: frozenset[str], depth: int
    ) -> tuple[int, int]:
        nodes, steps = (1, 0) if isinstance(item, tree.NodeItem) else self._of_block(item.block.text, depth)
        count = self._members(item, local, hidden) if nodes or steps else 0
        return count * nodes, count * steps

    def _of_block(self, name: str, depth: int) -> tuple[int, int]:
        """Return how many nodes each instance of a block has, and how many steps it takes, whatever its params are."""
        block = self.blocks.get(name)
        if block is None or depth > MAX_NESTED:
            return 0, 0
        if name not in self._known:
            self._known[name] = 0, 0  # of a block that uses itself
            hidden = frozenset(param.text for param in block.params)
            inner = [item for item in block.items if isinstance(item, (tree.NodeItem, tree.UseItem))]
            counts = [self._of_item(item, {}, hidden, depth + 1) for item in inner]
            self._known[name] = (
                sum(nodes for nodes, _ in counts),
                1 + len(block.items) + sum(more for _, more in counts),
            )
        return self._known[name]

    def _members(self, item: tree.NodeItem | tree.UseItem, local: Locals, hidden: frozenset[str]) -> int:
        """Return how many members an item has; 0 where that depends on its loops, or on *hidden* names."""
        clauses, family = item.clauses, item.family
        if clauses is not None and clauses.condition is not None:
            return 0
        total = 1
        try:
            for binder in (*(clauses.binders if clauses else ()), *(family.binders if family else ())):
                if not isinstance(binder.domain, tree.RangeOf) or self._names(binder.domain) & hidden:
                    return 0
                domain = evaluate(binder.domain, self.scope, local)
                total *= len(domain) if isinstance(domain, Sequence) else 0
                hidden |= {binder.name.text}
            if family is not None and family.size is not None:
                if self._names(family.size) & hidden:
                    return 0
                size = whole(family.size, self.scope, local, "the size of a family")
                total *= size if 0 <= size <= MAX_NODES else 0
        except Complaint:
            return 0  # it is told where the item is read
        return total

    def _names(self, expression: tree.Expression) -> frozenset[str]:
        """Return the names that an expression of the spec, which outlives this, mentions."""
        if id(expression) not in self._mentions:
            self._mentions[id(expression)] = mentions(expression)
        return self._mentions[id(expression)]
