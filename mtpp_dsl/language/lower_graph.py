"""``graph`` statements to a :class:`~mtpp_dsl.problem.graph.Graph`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from mtpp_dsl import formats, generators
from mtpp_dsl.base.exact import plain_number, survives
from mtpp_dsl.base.files import note_hash
from mtpp_dsl.base.spec_limits import MAX_EDGES, MAX_NAME, MAX_NODES, check_graph
from mtpp_dsl.base.units import NONE, SIZE, TIME, WORK, Dimension
from mtpp_dsl.errors import MtppError, did_you_mean
from mtpp_dsl.formats import Workload
from mtpp_dsl.language import tree
from mtpp_dsl.language.expressions import Locals, evaluate, iterate, whole
from mtpp_dsl.language.findings import Findings
from mtpp_dsl.language.options import Options
from mtpp_dsl.language.scope import RESERVED, Complaint, Scope
from mtpp_dsl.language.syntax_errors import UPGRADE
from mtpp_dsl.language.values import Quantity, Value, describe
from mtpp_dsl.problem.graph import Graph
from mtpp_dsl.text.source import Span

__all__ = ["UnitKeeper", "check_word", "expand_family", "lower_graph", "resolve_path"]

_NODE_OPTIONS = ("work", "params", "output", "memory", "kind", "label", "color", "part")
_UNIT_NAMES = {TIME: "s", SIZE: "B", WORK: "FLOP", NONE: ""}


MAX_COLOR = 2**53
"""Larger colours are no whole numbers everywhere."""


def check_word(name: tree.Word) -> None:
    """Complain about a declared name that means something else in expressions, or is too long."""
    if len(name.text) > MAX_NAME:
        raise Complaint(f"a name has at most {MAX_NAME:,} characters; this one has {len(name.text):,}", name.span)
    if name.text in RESERVED:
        message = f"{name.text!r} is a word of the language; choose another name"
        raise Complaint(message, name.span, [UPGRADE], code="MTPP-E103")


class UnitKeeper:
    """Holds that all quantities of one sort have one dimension; zeros have none."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.dimension: Dimension | None = None
        self.first = ""
        self.place: Span | None = None

    def add(self, value: Quantity, owner: str, span: Span) -> None:
        """Note the dimension of *value*.

        Raises:
            Complaint: it differs from an earlier one's.
        """
        if value.value == 0:
            return
        if self.dimension is None:
            self.dimension, self.first, self.place = value.dimension, owner, span
        elif self.dimension != value.dimension:
            raise Complaint(
                f"{owner} is {value.dimension}, but {self.first} is {self.dimension}: "
                f"all {self.what} of a problem carry units, or none do",
                span,
            )

    @property
    def unit(self) -> str:
        """The base unit."""
        return _UNIT_NAMES[self.dimension or NONE]


def lower_graph(
    statement: tree.GraphBlock | tree.GraphFile | tree.GraphGenerator,
    folder: Path,
    scope: Scope,
    findings: Findings,
) -> Workload:
    """Return the graph that a statement describes; complaints about its items go to *findings*.

    Raises:
        Complaint: about the statement as a whole.
    """
    match statement:
        case tree.GraphBlock():
            return Workload(_Block(scope, findings).graph(statement))
        case tree.GraphFile():
            return read_file(statement.path, statement.options, folder, scope)
        case tree.GraphGenerator():
            return Workload(_generate(statement, scope))


def read_file(path: tree.Path, options: tuple[tree.Option, ...], folder: Path, scope: Scope) -> Workload:
    """Read a workload from a file, for ``graph from`` and ``import``."""
    from mtpp_dsl import registry

    given = Options(options, ("format",), "a file", scope)
    name = given.word("format", list(registry.available(registry.FORMATS)))
    where = resolve_path(path, folder, scope)
    try:
        found = formats.read(where, name)
        note_hash(where)  # the format of a plug-in may have read it by other means
        check_graph(found.graph.n, found.graph.m, str(path.value))
        return found
    except MtppError as error:
        raise Complaint(str(error), path.span) from None


def resolve_path(path: tree.Path, folder: Path, scope: Scope) -> Path:
    """Return where a path points: relative ones start from the folder of the file that names them."""
    if not path.is_name:
        return folder / path.value
    if path.value not in scope.params:
        raise Complaint(
            f"there is no param {path.value!r}{did_you_mean(path.value, scope.params)}",
            path.span,
            ["a path is a string, or a param of type path"],
        )
    value = scope.params[path.value]
    if isinstance(value, Path):
        return value  # relative to where the param got its value, not to where it is used
    if isinstance(value, str):
        return folder / value
    raise Complaint(f"param {path.value!r} is {describe(value)}, not a path", path.span)


def expand_family(name: str, family: tree.Family | None, scope: Scope, local: Locals) -> Iterator[tuple[str, Locals]]:
    """Yield every member's name and its loop variables: ``a[3]`` is a[0], a[1], a[2]."""
    if family is None:
        yield name, local
    elif family.size is not None:
        size = whole(family.size, scope, local, "the size of a family")
        if not 0 <= size <= MAX_NODES:
            raise Complaint(f"a family has 0 to {MAX_NODES:,} members; this one has {size:,}", family.span)
        scope.spend(size * (1 + len(name) // 20), family.span)
        for i in range(size):
            yield f"{name}[{i}]", local
    else:
        clauses = tree.Clauses(span=family.span, binders=family.binders, condition=None)
        for step in iterate(clauses, scope, local):
            scope.spend(1 + len(name) // 20, family.span)
            values = [step[binder.name.text] for binder in family.binders]
            yield f"{name}[{','.join(_subscript(value, family.span) for value in values)}]", step


def _subscript(value: Value, span: Span) -> str:
    if isinstance(value, Quantity) and value.whole is not None:
        return str(value.whole)
    raise Complaint(f"the members of a family are numbered by whole numbers; this is {describe(value)}", span)


def _generate(statement: tree.GraphGenerator, scope: Scope) -> Graph:
    parameters: dict[str, object] = {}
    for option in statement.options:
        if option.name.text in parameters:
            raise Complaint(f"option {option.name.text!r} is given twice", option.name.span)
        value = evaluate(option.value, scope)
        if isinstance(value, Quantity):
            parameters[option.name.text] = plain_number(value.value)
        elif isinstance(value, (str, bool)):
            parameters[option.name.text] = value
        else:
            raise Complaint(f"a generator takes numbers, strings, true and false, not {describe(value)}", option.span)
    try:
        graph = generators.generate(statement.name.text, **parameters)
        check_graph(graph.n, graph.m)
        return graph
    except MtppError as error:
        raise Complaint(str(error), statement.name.span) from None


class _Block:
    """Collects the nodes, then the edges, of ``graph { … }``."""

    def __init__(self, scope: Scope, findings: Findings) -> None:
        self.scope, self.findings = scope, findings
        self.nodes: dict[str, dict[str, object]] = {}
        self.places: dict[str, Span] = {}
        self.edges: list[tuple[int, int]] = []
        self.sizes: list[float | None] = []
        self.times, self.bytes = UnitKeeper("times"), UnitKeeper("sizes")
        self.ends_of_families: dict[str, list[str]] | None = None

    def graph(self, block: tree.GraphBlock) -> Graph:
        before = self.findings.failed
        for item in block.items:
            if isinstance(item, tree.NodeItem):
                self.findings.attempt(self.node, item)
        self.index = {name: v for v, name in enumerate(self.nodes)}
        for item in block.items:
            if isinstance(item, tree.EdgeItem):
                self.findings.attempt(self.edge, item)
        if self.findings.failed > before:
            return Graph.create([*self.nodes], [], work_unit=self.times.unit, size_unit=self.bytes.unit)
        if not self.nodes:
            self.scope.need("nodes")
            raise Complaint("the graph has no nodes", block.span)
        try:
            return self.create()
        except MtppError as error:
            raise Complaint(str(error), block.span) from None

    def node(self, item: tree.NodeItem) -> None:
        check_word(item.name)
        complaint: Complaint | None = None
        for step in iterate(item.clauses, self.scope):
            for name, local in expand_family(item.name.text, item.family, self.scope, step):
                if name in self.nodes:
                    first = self.places[name]
                    raise Complaint(
                        f"node {name!r} is already declared at {first.place}",
                        item.name.span,
                        code="MTPP-E102",
                        second=(first, "first declared here"),
                    )
                if len(self.nodes) >= MAX_NODES:
                    message = f"the graph would have more than {MAX_NODES:,} nodes"
                    raise Complaint(message, item.span, code="MTPP-E901")
                self.places[name] = item.name.span
                self.nodes[name] = {}  # known even if its options are wrong: one complaint, not one per edge
                if complaint is None:
                    try:
                        self.nodes[name] = self.attributes(name, item, local)
                    except Complaint as wrong:
                        complaint = wrong
        if complaint is not None:
            raise complaint

    def attributes(self, name: str, item: tree.NodeItem, local: Locals) -> dict[str, object]:
        options = Options(item.options, _NODE_OPTIONS, "a node", self.scope, local)
        found: dict[str, object] = {}
        for what, dimensions, keeper in (
            ("work", (TIME, WORK, NONE), self.times),
            ("params", (SIZE, NONE), self.bytes),
            ("output", (SIZE, NONE), self.bytes),
            ("memory", (SIZE, NONE), self.bytes),
        ):
            value = options.quantity(what, dimensions)
            if value is not None:
                keeper.add(value, f"{what} of {name}", options.span(what))
                found[what] = float(value.value)
                if not survives(value.value):
                    self.scope.exact[what, name] = value.value
        found["kind"] = options.text("kind") or ""
        found["label"] = options.text("label") or ""
        color = options.whole("color")
        if color is not None and not 0 <= color <= MAX_COLOR:
            most = f", at most {MAX_COLOR:,}" if color > 0 else ""
            raise Complaint(f"a color is a whole number, zero or more{most}", options.span("color"))
        found["color"] = -1 if color is None else color
        found["backward"] = options.word("part", ("forward", "backward")) == "backward"
        return found

    def edge(self, item: tree.EdgeItem) -> None:
        for local in iterate(item.clauses, self.scope):
            options = Options(item.options, ("size",), "an edge", self.scope, local)
            size = options.quantity("size", (SIZE, NONE))
            if size is not None:
                self.bytes.add(size, "size of an edge", options.span("size"))
            self.scope.spend(len(item.ends), item.span)
            ends = [self.end(end, local) for end in item.ends]
            for (u, first), (v, second) in itertools.pairwise(ends):
                if u == v:
                    raise Complaint("an edge from a node to itself", first.to(second))
                if len(self.edges) >= MAX_EDGES:
                    message = f"the graph would have more than {MAX_EDGES:,} edges"
                    raise Complaint(message, item.span, code="MTPP-E901")
                self.edges.append((u, v))
                self.sizes.append(None if size is None else float(size.value))

    def end(self, end: tree.Expression, local: Locals) -> tuple[int, Span]:
        if isinstance(end, tree.Text):
            name = end.value
        elif not isinstance(end, tree.Name) or end.parts:
            raise Complaint("an edge joins nodes, such as a -> b[i]", end.span)
        elif end.subscripts:
            inside = ",".join(str(whole(s, self.scope, local, "a subscript")) for s in end.subscripts)
            name = f"{end.name}[{inside}]"
        else:
            name = end.name
        if name in self.index:
            return self.index[name], end.span
        self.scope.need("nodes")
        base = name.partition("[")[0]
        family = self.families().get(base, [])
        if family and base == name:
            raise Complaint(f"{name!r} is a family: write {name}[i] and say 'for i in …'", end.span)
        if family:
            raise Complaint(
                f"there is no node {name!r}: there are {family[0]} to {family[-1]}", end.span, code="MTPP-E101"
            )
        raise Complaint(f"there is no node {name!r}{self.scope.near(name, self.nodes)}", end.span, code="MTPP-E101")

    def families(self) -> dict[str, list[str]]:
        """Return the first and the last member of each family, made when it is first asked for."""
        if self.ends_of_families is None:
            self.ends_of_families = {}
            for name in self.nodes:
                base, bracket, _ = name.partition("[")
                if bracket:
                    ends = self.ends_of_families.setdefault(base, [name, name])
                    ends[1] = name
        return self.ends_of_families

    def column(self, what: str, default: object) -> list[object]:
        return [attributes.get(what, default) for attributes in self.nodes.values()]

    def create(self) -> Graph:
        return Graph.create(
            [*self.nodes],
            self.edges,
            work=self.column("work", 0.0),  # type: ignore[arg-type]
            params=self.column("params", 0.0),  # type: ignore[arg-type]
            output=self.column("output", 0.0),  # type: ignore[arg-type]
            memory=self.column("memory", float("nan")),  # type: ignore[arg-type]
            sizes=self.sizes,
            kinds=[str(kind) for kind in self.column("kind", "")],
            labels=[str(label) for label in self.column("label", "")],
            colors=self.column("color", -1),  # type: ignore[arg-type]
            backward=self.column("backward", False),  # type: ignore[arg-type]
            work_unit=self.times.unit,
            size_unit=self.bytes.unit,
        )
