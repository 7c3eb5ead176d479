"""The items of ``graph { … }``: nodes first, with those of blocks, then edges."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from mtpp_dsl.core.base.exact_numbers import survives
from mtpp_dsl.core.base.spec_limits import MAX_EDGES, MAX_NODES
from mtpp_dsl.core.base.units import NONE, SIZE, TIME, WORK
from mtpp_dsl.core.errors import MtppError, did_you_mean
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.core.text.source import Place, Span
from mtpp_dsl.language.lowering.blocks import BlockInstance, bound, where_used
from mtpp_dsl.language.lowering.counting import MAX_NESTED, MemberCounts
from mtpp_dsl.language.lowering.cycles import closed_walk
from mtpp_dsl.language.lowering.edge_ends import Ends
from mtpp_dsl.language.lowering.node_options import COST_OPTIONS, cost_options, costs_of, time_option
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint, Findings, Unsettled
from mtpp_dsl.language.values.declaring import UnitKeeper, check_word, expand_family
from mtpp_dsl.language.values.definitions import check_assert
from mtpp_dsl.language.values.expressions import Locals, iterate
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.phases import per_phase
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Quantity, shown

NODE_OPTIONS = (
    "time",
    "work",
    "params",
    "output",
    "memory",
    "cache",
    "workspace",
    "deviation",
    "saved",
    "state",
    "reduce",
    "forward",
    "kind",
    "label",
    "color",
    "part",
    *COST_OPTIONS,
)

AMOUNTS = {"work", "params", "output", "memory", "cache", "workspace", "saved", "state", "reduce"}
"""Options that are numbers, and nothing else."""

PER_PHASE = ("work", "output", "cache", "workspace")
"""Options that may give each phase a value of its own."""

_ABSENT = dict.fromkeys(("work", "params", "output", "cache"), Quantity(0))

MAX_COLOR = 2**53
"""Larger colours are no whole numbers everywhere."""

MAX_PLACES = 8
"""Edges of a cycle that a message shows."""


class GraphItems:
    """Collects the nodes, then the edges, of ``graph { … }``.

    Args:
        scope: of the spec; the nodes become known to it before the edges are read.
        findings: takes the complaints; of an item that is used many times, one.
        blocks: by name.
    """

    def __init__(self, scope: SpecScope, findings: Findings, blocks: Mapping[str, tree.BlockStatement]) -> None:
        self.scope, self.findings, self.blocks = scope, findings, blocks
        self.nodes: dict[str, dict[str, object]] = {}
        self.places: dict[str, Span] = {}  # of nodes and instances
        self.families: dict[str, Span] = {}  # of instances
        self.instances: list[BlockInstance] = []
        self.edges: list[tuple[int, int]] = []
        self.spans: list[Span] = []  # of the items of the edges
        self.sizes: list[Any] = []  # numbers, or by phase; None where none is given
        self.times, self.bytes, self.memory = UnitKeeper("times"), UnitKeeper("sizes"), UnitKeeper("sizes")
        self.complained: set[int] = set()  # identities of items
        self.options: dict[int, Options] = {}  # of items, by their identities
        self._given: set[str] | None = None
        self.counted = MemberCounts(scope, blocks)
        sized = (SIZE, NONE)
        self.amounts = (
            ("work", (TIME, WORK, NONE), self.times),
            ("params", sized, self.bytes),
            ("output", sized, self.bytes),
            ("memory", sized, self.memory),
            ("cache", sized, self.memory),
            ("workspace", sized, self.memory),
            ("saved", sized, self.bytes),
            ("state", sized, self.bytes),
            ("reduce", sized, self.bytes),
        )

    def graph(self, block: tree.GraphBlock) -> Graph:
        """Return the graph; without edges where something is wrong.

        Raises:
            Complaint: about the graph as a whole.
        """
        before = self.findings.failed
        top = BlockInstance("", block.items, {})
        self.expand(top)
        self.findings.attempt(self.check_sizes)
        try:
            nodes = self.created([], [])
        except MtppError as error:
            raise Complaint(str(error), block.span, code="MTPP-E303") from None
        self.scope.set_graph(nodes)
        self.ends = Ends(self.scope, nodes.index, top)
        self.scope.blocks = self.ends.paths
        self.scope.drawing = True
        for instance in self.instances:
            self.draw(instance)
        self.scope.drawing = False
        if self.findings.failed > before:
            return nodes
        if not self.nodes:
            self.scope.remarks.need("nodes")
            raise Complaint("the graph has no nodes", block.span, code="MTPP-E301")
        try:
            return self.created(self.edges, self.sizes)
        except MtppError as error:
            raise self.unsound(str(error), block) from None

    def unsound(self, message: str, block: tree.GraphBlock) -> Complaint:
        """Return the complaint that a graph cannot be; where it has a cycle, with the edges on it."""
        around = closed_walk(len(self.nodes), self.edges) if "cycle" in message else []
        if not around:
            return Complaint(message, block.span, code="MTPP-E303")
        spans = sorted({self.spans[edge] for edge in around}, key=lambda span: span.start)
        places = [Place(span, "this edge is on it") for span in spans[:-1][:MAX_PLACES]]
        return Complaint(message, spans[-1], code="MTPP-E303", places=places)

    def attempt(self, function: Callable[..., None], item: tree.Tree, instance: BlockInstance) -> bool:
        """Call *function* with an item and its instance; note a complaint, with where the block was used."""
        try:
            function(item, instance)
            return True
        except Unsettled:
            self.findings.failed += 1
        except Complaint as complaint:
            self.findings.failed += 1
            if id(item) not in self.complained:
                self.complained.add(id(item))
                diagnostic = complaint.diagnostic
                used = tuple(Place(span, says) for span, says in where_used(instance))
                self.findings.failed -= 1
                self.findings.add(replace(diagnostic, places=(*diagnostic.places, *used)))
        return False

    # nodes

    def expand(self, instance: BlockInstance) -> None:
        """Add the nodes of an instance, with those of the blocks that it uses."""
        self.instances.append(instance)
        start = len(self.nodes)
        for item in instance.items:
            before = len(self.nodes)
            if isinstance(item, tree.NodeItem):
                known = self.attempt(self.node, item, instance) or len(self.nodes) > before
                if not known and instance.prefix + item.name.text not in self.places:
                    self.scope.remarks.unsettled.add("nodes")
            elif isinstance(item, tree.UseItem) and not self.attempt(self.use, item, instance):
                self.scope.remarks.unsettled.add("nodes")
        instance.nodes = start, len(self.nodes)

    def use(self, item: tree.UseItem, instance: BlockInstance) -> None:
        """Add the instances of a block that an item uses."""
        block = self.blocks.get(item.block.text)
        if block is None:
            hint = did_you_mean(item.block.text, self.blocks)
            raise Complaint(f"there is no block {item.block.text!r}{hint}", item.block.span, code="MTPP-E101")
        self.check_chain(block, item, instance)
        check_word(item.name)
        self.check_count(item, instance)
        if item.family is not None:
            self.scope.empty.add(instance.prefix + item.name.text)
        for step in iterate(item.clauses, self.scope, instance.local):
            for name, local, at in expand_family(item.name.text, item.family, self.scope, step):
                self.scope.steps.spend(1 + len(block.items), item.span)
                self.declare(instance.prefix + name, item.name.span)
                params = bound(block, item, at, self.scope, local)
                inner = BlockInstance(
                    instance.prefix + name, block.items, params, item, instance, block, depth=instance.depth + 1
                )
                instance.inner[name] = [inner]
                if item.family is not None:
                    self.declare_family(instance.prefix + item.name.text, item.name.span)
                    instance.inner.setdefault(item.name.text, []).append(inner)
                self.expand(inner)

    def check_chain(self, block: tree.BlockStatement, item: tree.UseItem, instance: BlockInstance) -> None:
        """Refuse a block that uses itself, and blocks that are nested too deeply."""
        if block.name.text in self.looping:
            chain = [block.name.text]
            around: BlockInstance | None = instance
            while around is not None and around.block is not None:
                chain.append(around.block.name.text)
                if around.block is block:
                    shown = " -> ".join(reversed(chain))
                    raise Complaint(
                        f"block {block.name.text!r} uses itself: {shown}", item.block.span, code="MTPP-E308"
                    )
                around = around.around
        if instance.depth >= MAX_NESTED:
            raise Complaint(
                f"blocks are used within each other more than {MAX_NESTED} deep", item.block.span, code="MTPP-E901"
            )

    @cached_property
    def looping(self) -> frozenset[str]:
        """The names of blocks from which a chain of uses leads to themselves."""
        import networkx as nx

        uses: nx.DiGraph = nx.DiGraph()
        for name, block in self.blocks.items():
            uses.add_edges_from((name, item.block.text) for item in block.items if isinstance(item, tree.UseItem))
        rings = nx.strongly_connected_components(uses)
        return frozenset(name for ring in rings for name in ring if len(ring) > 1 or uses.has_edge(name, name))

    def declare(self, name: str, span: Span) -> None:
        """Note a name of a node or an instance.

        Raises:
            Complaint: there is one of that name, or as many nodes as there may be.
        """
        first = self.places.get(name) or self.families.get(name)
        if first is not None:
            raise Complaint(
                f"node {name!r} is already declared at {first.place}",
                span,
                code="MTPP-E102",
                second=(first, "first declared here"),
            )
        if len(self.nodes) >= MAX_NODES:
            raise _too_many(span)
        self.places[name] = span

    def check_count(self, item: tree.NodeItem | tree.UseItem, instance: BlockInstance) -> None:
        """Refuse what makes too many nodes before any is made."""
        plain = item.family is None and item.clauses is None
        if plain and isinstance(item, tree.NodeItem):
            return
        nodes, steps = self.counted.nodes(item, instance.local)
        if len(self.nodes) + nodes > MAX_NODES:
            raise _too_many(item.name.span)
        if self.scope.steps.taken + steps > self.scope.steps.most:
            self.scope.steps.spend(steps, item.span)

    def declare_family(self, name: str, span: Span) -> None:
        """Note the name of a family of instances, which stands for all their nodes; nothing else may have it."""
        if name not in self.families:
            self.declare(name, span)
            del self.places[name]
            self.families[name] = span

    def node(self, item: tree.NodeItem, instance: BlockInstance) -> None:
        """Add the nodes of an item in one instance."""
        check_word(item.name, may_be_string=True)
        self.check_count(item, instance)
        complaint: Complaint | None = None
        if item.family is not None:
            self.scope.empty.add(instance.prefix + item.name.text)
        for step in iterate(item.clauses, self.scope, instance.local):
            for member, local, _ in expand_family(item.name.text, item.family, self.scope, step):
                name = instance.prefix + member
                self.declare(name, item.name.span)
                self.nodes[name] = {}  # known even if its options are wrong: one complaint, not one per edge
                if complaint is None and id(item) not in self.complained:
                    try:
                        self.nodes[name] = self.attributes(name, item, local)
                    except Complaint as wrong:
                        complaint = wrong
        if complaint is not None:
            raise complaint

    def attributes(self, name: str, item: tree.NodeItem, local: Locals) -> dict[str, object]:
        """Return what the options of an item say of one node."""
        options = self.options.get(id(item))
        if options is None:
            options = self.options[id(item)] = Options(item.options, NODE_OPTIONS, "a node", self.scope, absent=_ABSENT)
        options.at(local)
        attributes: dict[str, object] = {}
        for what, dimensions, keeper in self.amounts:
            if what not in options.options:
                continue
            by_phase = per_phase(options, what, dimensions) if what in PER_PHASE else None
            if by_phase is not None:
                for phase, given in by_phase.items():
                    keeper.add(given, f"{what} of {name} in {phase}", options.span(what))
                attributes[what] = {phase: float(given.value) for phase, given in by_phase.items()}
                continue
            value = options.quantity(what, dimensions)
            if value is not None:
                keeper.add(value, f"{what} of {name}", options.span(what))
                attributes[what] = float(value.value)
                if not survives(value.value) and not self.scope.phases:
                    self.scope.declared.exact[what, name] = value.value
        if "work" not in options:
            self.scope.declared.workless[name] = item.name.span
        if not options.options.keys() <= AMOUNTS:
            self.describe(name, options, attributes)
        return attributes

    def describe(self, name: str, options: Options, attributes: dict[str, object]) -> None:
        """Add to what is found of a node what else than amounts its options say."""
        timed = time_option(options)
        if timed is not None:
            self.scope.declared.node_times[name] = timed
        share = options.quantity("forward", (NONE,))
        if share is not None and share.value > 1:
            raise Complaint(
                f"forward is the share of the time that is the forward pass, at most 100%; this is {shown(share)}",
                options.span("forward"),
                code="MTPP-E214",
            )
        if share is not None:
            attributes["forward"] = float(share.value)
        self.deviate(name, options, attributes)
        if not options.options.keys().isdisjoint(COST_OPTIONS):
            attributes |= cost_options(name, options, self.bytes)
        for what in ("kind", "label"):
            if what in options:
                attributes[what] = options.text(what)
        color = options.whole("color")
        if color is not None and not 0 <= color <= MAX_COLOR:
            most = f", at most {MAX_COLOR:,}" if color > 0 else ""
            raise Complaint(f"a color is a whole number, zero or more{most}", options.span("color"), code="MTPP-E211")
        if color is not None:
            attributes["color"] = color
        if options.word("part", ("forward", "backward")) == "backward":
            attributes["backward"] = True

    def deviate(self, name: str, options: Options, attributes: dict[str, object]) -> None:
        """Note by how much a node may take longer: a time, or with ``%`` a share of its time."""
        given = options.quantity("deviation", (TIME, NONE))
        if given is None:
            return
        written = options.options["deviation"].value
        if isinstance(written, tree.Number) and written.unit is not None and written.unit.text == "%":
            attributes["deviation share"] = float(given.value)
        else:
            self.times.add(given, f"deviation of {name}", options.span("deviation"))
            attributes["deviation"] = float(given.value)

    def check_sizes(self) -> None:
        """Hold that all sizes carry units, or none do.

        Memories may carry units where the outputs do not, which are then times: if every node gives its memory and
        none its parameters, as in published files.
        """
        memory, size = self.memory, self.bytes
        if memory.dimension is None or size.dimension in (None, memory.dimension):
            return
        if all("memory" in node and not node.get("params") for node in self.nodes.values()):
            return
        assert memory.place is not None
        assert size.place is not None
        first, last = sorted((memory, size), key=lambda keeper: keeper.place.start if keeper.place is not None else 0)
        assert last.place is not None
        raise Complaint(
            f"{last.first} is {last.dimension}, but {first.first} is {first.dimension}: "
            "all sizes of a problem carry units, or none do",
            last.place,
            ["memories may carry units beside outputs that do not, if every node gives its memory and none its params"],
            second=None if first.place is None else (first.place, f"{first.first} is {first.dimension}"),
            code="MTPP-E213",
        )

    # edges

    def draw(self, instance: BlockInstance) -> None:
        """Add the edges of an instance, and check its ports and what it asserts."""
        self.scope.prefix = instance.prefix
        try:
            for item in instance.items:
                if isinstance(item, tree.EdgeItem):
                    self.attempt(self.edge, item, instance)
                elif isinstance(item, tree.PortItem):
                    self.attempt(self.check_port, item, instance)
                elif isinstance(item, tree.AssertStatement):
                    self.attempt(self.check, item, instance)
        finally:
            self.scope.prefix = ""

    def check(self, item: tree.AssertStatement, instance: BlockInstance) -> None:
        """Hold that what an instance asserts is true."""
        check_assert(item, self.scope, instance.local)

    def check_port(self, item: tree.PortItem, instance: BlockInstance) -> None:
        """Hold that a port names nodes, and that no other one has its name."""
        if instance.port(item.name.text) is not item:
            assert instance.block is not None
            raise Complaint(
                f"block {instance.block.name.text!r} has two ports {item.name.text!r}", item.name.span, code="MTPP-E102"
            )
        self.ends.of_port(instance, item)

    def edge(self, item: tree.EdgeItem, instance: BlockInstance) -> None:
        """Add the edges of an item in one instance."""
        scope = self.scope
        for local in iterate(item.clauses, scope, instance.local):
            size: Any = None
            if item.options:
                options = Options(item.options, ("size",), "an edge", scope, local)
                by_phase = per_phase(options, "size", (SIZE, NONE))
                size = None if by_phase is not None else options.quantity("size", (SIZE, NONE))
                for given in by_phase.values() if by_phase is not None else () if size is None else (size,):
                    self.bytes.add(given, "size of an edge", options.span("size"))
                if by_phase is not None:
                    size = {phase: float(given.value) for phase, given in by_phase.items()}
                elif size is not None:
                    size = float(size.value)
            scope.steps.spend(len(item.ends), item.span)
            last = len(item.ends) - 1
            ends = [self.ends.of(end, instance, local, first=i < last, second=i > 0) for i, end in enumerate(item.ends)]
            for (i, sources), targets in zip(enumerate(ends), ends[1:], strict=False):
                scope.steps.spend(len(sources) * len(targets), item.span)
                for u, v in itertools.product(sources, targets):
                    if u == v:
                        span = item.ends[i].span.to(item.ends[i + 1].span)
                        raise Complaint(self.itself(u, len(sources) * len(targets)), span, code="MTPP-E302")
                    if len(self.edges) >= MAX_EDGES:
                        raise Complaint(
                            f"the graph would have more than {MAX_EDGES:,} edges", item.span, code="MTPP-E901"
                        )
                    self.edges.append((u, v))
                    self.spans.append(item.span)
                    self.sizes.append(size)

    def itself(self, v: int, several: int) -> str:
        """Return what to say of an edge from node *v* to itself."""
        name = f": {self.ends.names[v]!r} is on both sides" if several > 1 else ""
        return f"an edge from a node to itself{name}"

    # the whole

    def column(self, what: str, default: object, phase: str = "") -> Any:
        """Return [n] an attribute of all nodes, in a phase where it has one for each; *default* where none has it."""
        if what not in self.given():
            return default
        values = [attributes.get(what, default) for attributes in self.nodes.values()]
        return [value[phase] if isinstance(value, dict) else value for value in values]

    def given(self) -> set[str]:
        """Return what attributes any node has."""
        if self._given is None:
            self._given = set().union(*self.nodes.values())
        return self._given

    def created(self, edges: list[tuple[int, int]], sizes: list[Any]) -> Graph:
        """Return the graph of the nodes with these edges, in all phases."""
        phases = self.scope.phases
        if not phases or not self.nodes:
            return self.created_in("", edges, sizes)
        return phased_graph({phase: self.created_in(phase, edges, sizes) for phase in phases}, phases)

    def created_in(self, phase: str, edges: list[tuple[int, int]], sizes: list[Any]) -> Graph:
        """Return the graph as it is in one phase; "" where there are none."""
        return Graph.create(
            [*self.nodes],
            edges,
            work=self.column("work", 0.0, phase),
            params=self.column("params", 0.0),
            output=self.column("output", 0.0, phase),
            memory=self.column("memory", float("nan")),
            cache=self.column("cache", 0.0, phase),
            workspace=self.column("workspace", 0.0, phase),
            sizes=[size[phase] if isinstance(size, dict) else size for size in sizes],
            kinds=self.column("kind", "") or None,
            labels=self.column("label", "") or None,
            colors=self.column("color", -1),
            deviation=self.column("deviation", float("nan")),
            deviation_share=self.column("deviation share", float("nan")),
            saved=self.column("saved", float("nan")),
            state=self.column("state", float("nan")),
            reduce=self.column("reduce", 0.0),
            forward_share=self.column("forward", float("nan")),
            backward=self.column("backward", False),
            work_unit=self.times.unit,
            size_unit=(self.memory if self.bytes.settles_nothing else self.bytes).unit,
            memory_unit=(self.bytes if self.memory.settles_nothing else self.memory).unit,
            costs=costs_of(self.nodes, phase),
        )


def _too_many(span: Span) -> Complaint:
    return Complaint(f"the graph would have more than {MAX_NODES:,} nodes", span, code="MTPP-E901")
