"""Blocks: parts of a graph that are used many times, and what the paths into their instances stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Findings
from mtpp_dsl.language.values.declaring import check_word
from mtpp_dsl.language.values.expressions import Locals, evaluate
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Value

__all__ = ["BlockInstance", "Instances", "bound", "defined"]

_COMPONENT = re.compile(r"[^.\[\]]+(?:\[[^\[\]]*\])?")

MAX_NEAR = 10_000
"""Names of instances that are offered where a name is unknown."""


def defined(statements: Sequence[tree.Statement], findings: Findings) -> dict[str, tree.BlockStatement]:
    """Return the blocks by name: those of an including file replace those of the files that it includes."""
    blocks: dict[str, tree.BlockStatement] = {}
    for statement in statements:
        if not isinstance(statement, tree.BlockStatement):
            continue
        name = statement.name.text
        findings.attempt(check_word, statement.name)
        old = blocks.get(name)
        if old is not None and old.span.source is statement.span.source:
            complaint = Complaint(
                f"block {name!r} is already defined at {old.span.place}",
                statement.name.span,
                code="MTPP-E102",
                second=(old.name.span, "first defined here"),
            )
            findings.add(complaint.diagnostic)
        findings.attempt(_check_params, statement)
        blocks[name] = statement
    return blocks


def _check_params(block: tree.BlockStatement) -> None:
    seen: set[str] = set()
    for param in block.params:
        check_word(param)
        if param.text in seen:
            raise Complaint(f"block {block.name.text!r} has two params {param.text!r}", param.span, code="MTPP-E102")
        seen.add(param.text)


def bound(
    block: tree.BlockStatement, item: tree.UseItem, at: Sequence[Value], scope: SpecScope, local: Locals
) -> Locals:
    """Return the values of a block's params in one instance.

    Args:
        block: the block.
        item: uses it; its options give params by name.
        at: the subscripts of the instance, which are the first params.
        scope: of the spec.
        local: the loop variables at the place of use.

    Raises:
        Complaint: a param without a value, with two, or an option that is no param.
    """
    names = [param.text for param in block.params]
    values: dict[str, Value] = dict(zip(names, at, strict=False))
    first = set(values)
    for option in item.options:
        name = option.name.text
        if name not in names:
            takes = f"block {block.name.text} takes: {', '.join(names)}" if names else "it takes none"
            hint = did_you_mean(name, names)
            raise Complaint(
                f"block {block.name.text!r} has no param {name!r}{hint}", option.name.span, [takes], code="MTPP-E707"
            )
        if name in values:
            by = " by the subscript of its instances" if name in first else ""
            raise Complaint(
                f"param {name!r} of block {block.name.text!r} already has a value{by}",
                option.name.span,
                code="MTPP-E106",
            )
        values[name] = evaluate(option.value, scope, local)
    missing = [name for name in names if name not in values]
    if missing:
        raise Complaint(
            f"param {missing[0]!r} of block {block.name.text!r} has no value: use {block.name.text} ({missing[0]} = …)",
            item.span,
            second=(block.name.span, "the block"),
            code="MTPP-E704",
        )
    return values


@dataclass(eq=False, slots=True)
class BlockInstance:
    """One use of a block: ``layer[3]``.

    Attributes:
        name: with those of the instances around it, such as ``stack[1].layer[3]``; "" for the graph itself.
        items: what is in it.
        local: the values of the block's params.
        use: the item that uses it; None for the graph.
        around: the instance that has the item; None for the graph.
        block: its block; None for the graph.
        nodes: numbers of its first node, and of the one after its last.
        depth: how many blocks it lies in, its own among them; 0 for the graph.
        inner: the instances in it, by their names within it; those of a family in a list by its name.
    """

    name: str
    items: Sequence[tree.Item]
    local: Locals
    use: tree.UseItem | None = None
    around: BlockInstance | None = None
    block: tree.BlockStatement | None = None
    nodes: tuple[int, int] = (0, 0)
    depth: int = 0
    inner: dict[str, list[BlockInstance]] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """What the names of its nodes begin with."""
        return f"{self.name}." if self.name else ""

    def ports(self) -> Iterator[tree.PortItem]:
        """Yield its ports."""
        return (item for item in self.items if isinstance(item, tree.PortItem))

    def port(self, name: str) -> tree.PortItem | None:
        """Return the port of a name, or None."""
        return next((item for item in self.ports() if item.name.text == name), None)


class Instances(Mapping[str, tuple[int, ...]]):
    """The nodes that a path to instances of blocks, or to their ports, stands for: ``layer[3]``, ``layer[3].out``.

    A family of instances without its subscripts means all of them: ``layer.out``. Instances may be without nodes; those
    with some are also found by the names of these.

    Args:
        top: the graph.
        port: returns the nodes of a port.
    """

    def __init__(self, top: BlockInstance, port: Callable[[BlockInstance, tree.PortItem], tuple[int, ...]]) -> None:
        self.top, self.port = top, port
        self.known: dict[str, tuple[int, ...] | None] = {}

    def __getitem__(self, path: str) -> tuple[int, ...]:
        if path not in self.known:
            self.known[path] = self._nodes_of_path(path)
        nodes = self.known[path]
        if nodes is None:
            raise KeyError(path)
        return nodes

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.get(path) is not None

    def __iter__(self) -> Iterator[str]:
        waiting = [self.top]
        count = 0
        for instance in waiting:  # grows while it is gone through
            for name, inner in instance.inner.items():
                yield instance.prefix + name
                count += 1
                if count >= MAX_NEAR:
                    return
                waiting += [] if len(inner) > 1 or inner[0].name != instance.prefix + name else inner

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def instances(self, path: str) -> list[BlockInstance]:
        """Return the instances that a path names: one, those of a family, or none."""
        instances = [self.top]
        for component in _COMPONENT.findall(path):
            instances = [inner for instance in instances for inner in instance.inner.get(component, ())]
        return instances

    def _nodes_of_path(self, path: str) -> tuple[int, ...] | None:
        components = _COMPONENT.findall(path)
        if ".".join(components) != path:
            return None
        *outer, last = components
        around = self.instances(".".join(outer)) if outer else [self.top]
        parts = [self._last(instance, last) for instance in around]
        if not parts or any(nodes is None for nodes in parts):
            return None
        return tuple(dict.fromkeys(v for nodes in parts for v in nodes or ()))

    def _last(self, instance: BlockInstance, name: str) -> tuple[int, ...] | None:
        """Return the nodes of an instance or a port in *instance*."""
        if name in instance.inner:
            return tuple(v for inner in instance.inner[name] for v in range(*inner.nodes))
        port = instance.port(name)
        return None if port is None else self.port(instance, port)


def where_used(instance: BlockInstance) -> list[tuple[Span, str]]:
    """Return where an instance was used, and where the one around it, from the inside."""
    uses = []
    inner: BlockInstance | None = instance
    while inner is not None and inner.use is not None:
        uses.append((inner.use.span, f"in {inner.name}, which is used here"))
        inner = inner.around
    return uses
