"""Build what stands in a graph, and in a block: nodes, edges, and uses of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from mtpp_dsl.language.builder.builder_calls import BuilderCall, BuilderStatement, says
from mtpp_dsl.language.words.written import name as checked_name
from mtpp_dsl.language.words.written import option_list, quoted, value


def family(count: object, over: Mapping[str, object] | None) -> str:
    """Return what makes a name a family: ``[4]``, or ``[i in 0..<4, j in [0, 2]]``; "" for one member."""
    if over is not None:
        binders = ", ".join(f"{checked_name(index)} in {_domain(domain)}" for index, domain in over.items())
        return f"[{binders}]"
    return "" if count is None else f"[{value(count, 'count')}]"


def _domain(domain: object) -> str:
    if isinstance(domain, range) and domain.step == 1:
        return f"{domain.start}..<{domain.stop}" if domain else "[]"
    if isinstance(domain, Iterable) and not isinstance(domain, str):
        return f"[{', '.join(quoted(member) if isinstance(member, str) else value(member) for member in domain)}]"
    return value(domain, "a domain")


class Items:
    """Nodes, edges and uses of blocks, one after another."""

    def __init__(self) -> None:
        self._items: list[BuilderStatement] = []
        self._call: BuilderCall | None = None

    def _item(self, text: str) -> None:
        self._items.append(BuilderStatement(text, self._call))

    @says
    def node(
        self, name: str, *, count: object = None, over: Mapping[str, object] | None = None, **options: Any
    ) -> Self:
        """Add a node, or a family of them.

        Args:
            name: any text of one line; of a family a name of the language.
            count: of the members ``name[0]``, ``name[1]`` and so on.
            over: of a family, what its indices run over: ``{"i": range(4), "j": range(2)}``. Options may then be text
                that speaks of them: ``work="(1 + i) * 1 ms"``.
            options: ``work``, ``params``, ``output``, ``memory``, ``kind``, ``label``, ``color``, ``part``,
                ``flop``, ``read``, ``write``, ``dtype``, ``weight_type``.
        """
        members = family(count, over)
        called = checked_name(name) if members else quoted(name)
        written = option_list(options, texts=("kind", "label", "dtype", "weight_type"), words=("part",))
        self._item(f"node {called}{members}{written}")
        return self

    @says
    def edge(self, *ends: str, **options: Any) -> Self:
        """Add an edge, or a path through several nodes; option ``size``."""
        self._item(f"edge {' -> '.join(quoted(end) for end in ends)}{option_list(options)}")
        return self

    @says
    def edges(self, pairs: Iterable[tuple[str, str]]) -> Self:
        """Add many edges."""
        for u, v in pairs:
            self._item(f"edge {quoted(u)} -> {quoted(v)}")
        return self

    @says
    def use(
        self, block: str, *, name: str | None = None, over: Mapping[str, object] | None = None, **arguments: Any
    ) -> Self:
        """Add the nodes and edges of a block, once or many times.

        Args:
            block: its name.
            name: of the instances; that of the block unless given.
            over: what the first params of the block run over: ``{"i": range(80)}`` makes ``layer[0]`` to ``layer[79]``.
            arguments: the values of the block's other params.
        """
        called = "" if name is None else f" as {checked_name(name)}"
        self._item(f"use {checked_name(block)}{called}{family(None, over)}{option_list(arguments)}")
        return self


class Block(Items):
    """The inside of a ``block``: what :meth:`mtpp_dsl.Builder.block` gives."""

    @says
    def input(self, name: str, *ends: str) -> Self:
        """Say which nodes an edge to ``BLOCK.name`` leads to."""
        self._item(f"input {checked_name(name)} = {', '.join(quoted(end) for end in ends)}")
        return self

    @says
    def output(self, name: str, *ends: str) -> Self:
        """Say which nodes an edge from ``BLOCK.name`` leads from."""
        self._item(f"output {checked_name(name)} = {', '.join(quoted(end) for end in ends)}")
        return self
