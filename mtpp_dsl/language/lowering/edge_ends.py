"""Find what stands at the ends of an edge: a node, a family, a port, or any set of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.lowering.blocks import BlockInstance, Instances
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import subscript_text
from mtpp_dsl.language.values.expressions import Locals, evaluate
from mtpp_dsl.language.values.members import Empty, members
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import NodeRef, Quantity
from mtpp_dsl.language.values.values import Sequence as Values


class Ends:
    """Finds the nodes at the ends of edges, in the graph and in the instances of blocks.

    Args:
        scope: knows the nodes.
        index: node number by name.
        top: the graph.

    Attributes:
        paths: what paths into instances stand for.
        names: [n] of the nodes.
    """

    def __init__(self, scope: SpecScope, index: Mapping[str, int], top: BlockInstance) -> None:
        self.scope, self.index, self.names = scope, index, tuple(index)
        self.paths = Instances(top, self.of_port)
        self.pending: list[tuple[BlockInstance, tree.PortItem]] = []
        self.ports: dict[tuple[int, int], tuple[int, ...]] = {}
        self.ends_of_families: dict[str, list[str]] | None = None

    def of(
        self, end: tree.Expression, instance: BlockInstance, local: Locals, *, first: bool = False, second: bool = False
    ) -> Sequence[int]:
        """Return the nodes at an end of an edge that an instance has.

        Args:
            end: as it is written.
            instance: that has the edge.
            local: loop variables and the block's params.
            first: whether the edge leaves this end.
            second: whether it reaches it.

        Raises:
            Complaint: it is no node and no set of nodes, or a port of the other way.
        """
        path = self.path(end, local)
        if path is None:
            return self.set_of(end, local)
        v = self.index.get(instance.prefix + path)
        if v is not None:
            return (v,)
        nodes = self.paths.get(instance.prefix + path)
        if nodes is not None:
            self.check_way(instance.prefix + path, end.span, first=first, second=second)
            return nodes
        member = self.scope.member(path, end.span)
        if isinstance(member, Values):
            return [ref.index for ref in member if isinstance(ref, NodeRef)]
        name = path.partition("[")[0].partition(".")[0]
        if isinstance(end, tree.Name) and (name in self.scope.params or name in self.scope.lets):
            return self.set_of(end, local)
        raise self.unknown(path, instance, end.span)

    def set_of(self, end: tree.Expression, local: Locals) -> tuple[int, ...]:
        """Return the nodes of a set."""
        try:
            return members((end,), self.scope, local, NodeRef)
        except Empty as empty:
            empty.warn(self.scope)
            return ()

    def path(self, end: tree.Expression, local: Locals) -> str | None:
        """Return the name of the one thing that an end names; None if it is another expression."""
        if isinstance(end, tree.Text):
            return end.value
        if not isinstance(end, tree.Name) or end.name in local:
            return None
        text = end.name
        if end.subscripts:
            inside = self.inside(end.subscripts, local)
            if inside is None:
                return None
            text += inside
        for part in end.parts:
            inside = self.inside(part.subscripts, local) if part.subscripts else ""
            if inside is None:
                return None
            text += inside if part.name is None else f".{part.name}{inside}"
        return text

    def inside(self, subscripts: tuple[tree.Expression, ...], local: Locals) -> str | None:
        """Return subscripts as names have them; None if one is a slice."""
        texts = []
        for subscript in subscripts:
            value = evaluate(subscript, self.scope, local)
            if not isinstance(value, (Quantity, str)):
                return None
            texts.append(subscript_text(value, subscript.span))
        return f"[{','.join(texts)}]"

    def of_port(self, instance: BlockInstance, port: tree.PortItem) -> tuple[int, ...]:
        """Return the nodes that a port of an instance stands for.

        Raises:
            Complaint: it stands for itself, or for something that is not there.
        """
        key = id(instance), id(port)
        if key not in self.ports:
            if any(one is instance and two is port for one, two in self.pending):
                raise Complaint(f"port {port.name.text!r} stands for itself", port.span, code="MTPP-E308")
            self.pending.append((instance, port))
            before, self.scope.prefix = self.scope.prefix, instance.prefix
            try:
                nodes = [v for end in port.ends for v in self.of(end, instance, instance.local)]
            finally:
                self.scope.prefix = before
                self.pending.pop()
            self.ports[key] = tuple(dict.fromkeys(nodes))
        return self.ports[key]

    def check_way(self, path: str, span: Span, *, first: bool, second: bool) -> None:
        """Refuse an edge that leaves an input, or reaches an output."""
        outer, dot, last = path.rpartition(".")
        if not dot or not (first or second):
            return
        for instance in self.paths.instances(outer)[:1]:
            port = None if last in instance.inner else instance.port(last)
            if port is None:
                return
            if first and port.way == "input":
                raise Complaint(
                    f"{last!r} is an input of {outer}; an edge leaves an output, or a node", span, code="MTPP-E304"
                )
            if second and port.way == "output":
                raise Complaint(
                    f"{last!r} is an output of {outer}; an edge reaches an input, or a node", span, code="MTPP-E304"
                )

    def unknown(self, path: str, instance: BlockInstance, span: Span) -> Complaint:
        """Return the complaint that no node is called *path*."""
        self.scope.remarks.need("nodes")
        base, bracket, _ = path.rpartition("[")
        family = self.families().get(instance.prefix + base, []) if bracket else []
        if family:
            shown = [name.removeprefix(instance.prefix) for name in family]
            return Complaint(f"there is no node {path!r}: there are {shown[0]} to {shown[-1]}", span, code="MTPP-E101")
        prefix = instance.prefix
        known = [name.removeprefix(prefix) for name in self.index if name.startswith(prefix)] if prefix else self.index
        within = f" in block {instance.block.name.text!r}" if instance.block is not None else ""
        hint = self.scope.near(path, known, [name for name in self.paths if not prefix])
        return Complaint(f"there is no node {path!r}{within}{hint}", span, code="MTPP-E101")

    def families(self) -> dict[str, list[str]]:
        """Return the first and the last member of each family, made when it is first asked for."""
        if self.ends_of_families is None:
            self.ends_of_families = {}
            for name in self.index:
                base, bracket, _ = name.rpartition("[")
                if bracket:
                    ends = self.ends_of_families.setdefault(base, [name, name])
                    ends[1] = name
        return self.ends_of_families
