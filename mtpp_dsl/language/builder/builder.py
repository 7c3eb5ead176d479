"""Problems made in Python: piece by piece, or from a graph or a problem that there is already."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from mtpp_dsl.core.errors import OptionError, UsageError
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.formats.networkx_graphs import graph_from_networkx
from mtpp_dsl.exchange.model.choices import OPTIONS
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.language import algebra
from mtpp_dsl.language.algebra import Expression, constant
from mtpp_dsl.language.builder.builder_calls import BuilderStatement, joined, named_calls, says, source
from mtpp_dsl.language.builder.items import Block, Items, family
from mtpp_dsl.language.builder.of_graph import items_of
from mtpp_dsl.language.builder.of_problem import statements_of
from mtpp_dsl.language.builder.rules import Names, Rules
from mtpp_dsl.language.words.written import expression, named, option_list, quoted, value
from mtpp_dsl.language.words.written import name as checked_name

if TYPE_CHECKING:
    import networkx as nx

_OBJECTIVES = ("bottleneck", "makespan", "latency", "throughput", "iteration")


class Builder(Items, Rules):
    """Builds a problem statement by statement, as a spec does, with values from Python.

    Quantities are numbers, or text in the language's notation ("3 ms", "16 GiB", "2 * k"). Members are called by name.
    Rows and objectives are made by :mod:`mtpp_dsl.algebra`, whose decisions are here, too: ``builder.on(v, d)``.
    Statements that have no method here are added as text with :meth:`say`.

    >>> builder = Builder()
    >>> builder.node("a", work="2 ms", output="1 MiB").node("b", work="3 ms").edge("a", "b")
    Builder(4 statements)
    >>> builder.device("gpu", count=2, memory="16 GiB").interconnect("shared", bandwidth="8 GiB/s")
    Builder(6 statements)
    >>> builder.minimize("bottleneck").acyclic().fits_memory()
    Builder(9 statements)
    >>> builder.add(builder.on("a", "gpu[0]") + builder.on("b", "gpu[0]") <= 1, "apart").build()
    Problem(minimize bottleneck: 2 nodes, 1 edges, 2 devices, shared, 3 constraints)
    """

    on = staticmethod(algebra.on)
    load = staticmethod(algebra.load)
    used = staticmethod(algebra.used)
    start = staticmethod(algebra.start)
    finish = staticmethod(algebra.finish)
    moved = staticmethod(algebra.moved)
    price = staticmethod(algebra.price)
    power = staticmethod(algebra.power)
    bottleneck = algebra.bottleneck
    makespan = algebra.makespan
    latency = algebra.latency

    def __init__(self) -> None:
        super().__init__()
        self._head: list[BuilderStatement] = [BuilderStatement("mtpp 1", None)]
        self._statements: list[BuilderStatement] = []
        self._rows = 0
        self._graph: Graph | None = None
        self._elsewhere = False  # whether the graph is that of a file or a generator
        self._tables = False  # whether statements say the graph's tables of times

    @classmethod
    def of(cls, problem: Problem) -> Builder:
        """Return a builder of a problem that there is already, to which more may be added.

        Raises:
            UsageError: the problem has what no spec can say; says what.
        """
        builder = cls()
        builder._graph, builder._tables = problem.graph, True
        builder._statements += [BuilderStatement(text, None) for text in statements_of(problem)]
        return builder

    def __repr__(self) -> str:
        return f"Builder({len(self._head) + len(self._items) + len(self._statements)} statements)"

    # names, and other files

    @says
    def param(
        self,
        name: str,
        default: object = None,
        *,
        type: str | None = None,  # noqa: A002  the language's word
        within: object = None,
    ) -> Expression:
        """Add a ``param``, and return its name for expressions and options.

        >>> builder = Builder()
        >>> k = builder.param("k", 4, type="int")
        >>> builder.device("gpu", count=k).add(builder.load("gpu[0]") <= k * constant("1 ms"))
        Builder(4 statements)

        Args:
            name: of the param.
            default: its value unless another is given; None for one that has to be given.
            type: "int", "float", "time", "size", "bandwidth", "bool", "string", "path" or "table".
            within: the values that it may have: a range, or a list.
        """
        text = f"param {checked_name(name)}" + ("" if type is None else f": {checked_name(type)}")
        if default is not None:
            texts = isinstance(default, str) and type in ("string", "path")
            text += f" = {quoted(str(default)) if texts else value(default, name)}"
        if within is not None:
            text += f" in {_within(within)}"
        self._head.append(BuilderStatement(text, self._call))
        return constant(name)

    @says
    def let(self, name: str, means: object) -> Expression:
        """Add a ``let``, and return its name for expressions: ``let("heavy", "{ v in nodes if work(v) >= 4 ms }")``."""
        self._head.append(BuilderStatement(f"let {checked_name(name)} = {value(means, name)}", self._call))
        return constant(name)

    @says
    def define(self, name: str, params: Iterable[str], means: object) -> Callable[..., Expression]:
        """Add a ``def``, and return what calls it: ``define("share", ["v"], "work(v) / 2")("a")`` is ``share("a")``."""
        inside = ", ".join(map(checked_name, params))
        self._head.append(BuilderStatement(f"def {checked_name(name)}({inside}) = {value(means, name)}", self._call))

        def call(*members: object) -> Expression:
            return constant(f"{name}({', '.join(quoted(m) if isinstance(m, str) else value(m) for m in members)})")

        return call

    @says
    def check(self, condition: str, message: str | None = None) -> Self:
        """Add an ``assert``: a condition that has to be true when the spec is read."""
        words = "" if message is None else f", {quoted(message)}"
        self._statement(f"assert {expression(condition, 'condition')}{words}")
        return self

    @says
    def include(self, path: str | os.PathLike[str]) -> Self:
        """Add the statements of a spec; relative paths start from the working folder."""
        self._head.append(BuilderStatement(f"include {quoted(str(os.fspath(path)))}", self._call))
        return self

    @says
    def workload(self, path: str | os.PathLike[str], *, format: str | None = None) -> Self:  # noqa: A002
        """Take graph and devices from a file: ``import``."""
        self._head.append(BuilderStatement(f"import {_file(path, format)}", self._call))
        self._elsewhere = True
        return self

    @says
    def plan(self, path: str | os.PathLike[str]) -> Self:
        """Take an earlier answer, of whose places ``moved(v)`` speaks: ``import plan``."""
        self._head.append(BuilderStatement(f"import plan {quoted(str(os.fspath(path)))}", self._call))
        return self

    # the graph

    @says
    def graph(
        self,
        graph: Graph | Model | nx.DiGraph | str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        **options: Any,
    ) -> Self:
        """Use a whole graph: one of networkx, of a model, or of a file, too. It replaces nodes and edges added before.

        Args:
            graph: the graph, or the path of a file.
            format: of the file.
            options: of a model, or of a file with one: ``group_by="layer"``, ``phase``, ``weight_type``, ``ties``,
                ``experts_read``, and values of its symbols, such as ``batch=8``.

        Raises:
            OptionError: a model does not have such an option or symbol.
        """
        self._elsewhere = isinstance(graph, (str, os.PathLike))
        if isinstance(graph, (str, os.PathLike)):
            self._graph = None
            self._head.append(BuilderStatement(f"graph from {_file(graph, format, options)}", self._call))
        elif isinstance(graph, Model):
            self._graph = graph.graph(**options)
        elif options:
            raise OptionError(f"a graph takes no options: {', '.join(options)}", next(iter(options)), unknown=True)
        else:
            self._graph = graph if isinstance(graph, Graph) else graph_from_networkx(graph)
        return self

    @says
    def generator(self, name: str, **options: Any) -> Self:
        """Use the graph of a generator: ``generator("gpt", layers=12)``."""
        texts = [option for option, given in options.items() if isinstance(given, str)]
        self._head.append(
            BuilderStatement(f"graph from generator {checked_name(name)}{option_list(options, texts)}", self._call)
        )
        self._elsewhere = True
        return self

    @contextmanager
    def block(self, name: str, *params: str) -> Iterator[Block]:
        """Add a block, a part of a graph for :meth:`use`; what it consists of is said to the object given.

        >>> builder = Builder()
        >>> with builder.block("layer", "i") as layer:
        ...     layer = layer.node("attn", work="3 ms").node("mlp", work="5 ms").edge("attn", "mlp")
        ...     layer = layer.input("into", "attn").output("out", "mlp")
        >>> builder.use("layer", over={"i": range(80)})
        Builder(3 statements)
        """
        inside = Block()
        yield inside
        items = "\n".join(item.text for item in inside._items)
        given = ", ".join(map(checked_name, params))
        self._head.append(BuilderStatement(f"block {checked_name(name)}({given}) {{\n{items}\n}}", None))

    # devices and what joins them

    @says
    def device(
        self, name: str, *, count: object = None, over: Mapping[str, object] | None = None, **options: Any
    ) -> Self:
        """Add a device, or a family of them.

        Args:
            name: of the device, or of the family.
            count: of the members ``name[0]``, ``name[1]`` and so on.
            over: of a family, what its indices run over: ``{"i": range(4)}``. Options may then be text that speaks of
                them: ``memory="(1 + i) * 1 GiB"``.
            options: ``type``, ``memory``, ``reserve``, ``speed``, ``io``, ``unsupported``, ``group``, ``fixed``,
                ``overhead``, ``price``, ``power``, ``peak``, ``bandwidth``, ``efficiency``. A ``type`` that is a string
                is a name; :meth:`type` returns what stands for a declared type and its options.
        """
        self._statement(f"device {checked_name(name)}{family(count, over)}{_of_device(options)}")
        return self

    @says
    def type(self, name: str, **options: Any) -> Expression:
        """Declare a type of devices, and return what stands for it in ``device(…, type=…)``; the options are theirs.

        >>> builder = Builder()
        >>> a100 = builder.type("a100", memory="80 GB", peak={"bf16": "312 TFLOP/s"}, bandwidth="2 TB/s")
        >>> builder.device("gpu", count=2, type=a100)
        Builder(3 statements)
        """
        self._head.append(BuilderStatement(f"type {checked_name(name)}{_of_device(options)}", self._call))
        return constant(name)

    @says
    def interconnect(self, kind: str, **options: Any) -> Self:
        """Say what joins the devices: ``shared``, ``host``, ``links`` or ``tree``."""
        words = ("overflow", "routing", "overlap", "send", "duplex")
        self._statement(f"interconnect {checked_name(kind)}{option_list(options, words=words)}")
        return self

    @says
    def switch(self, name: str, *, count: int | None = None, **options: Any) -> Self:
        """Say a switch, or a family of them; ``under`` is the name of the one above, as a string."""
        written = option_list(options, texts=("under",), words=("overlap", "send", "duplex"))
        self._statement(f"switch {checked_name(name)}{family(count, None)}{written}")
        return self

    @says
    def link(self, one: str, other: str, *, both_ways: bool = True, **options: Any) -> Self:
        """Join two devices (``"gpu[0]"``) or families of them: ``bandwidth``, ``latency`` or both."""
        arrow = "<->" if both_ways else "->"
        self._statement(f"link {quoted(one)} {arrow} {quoted(other)}{option_list(options)}")
        return self

    @says
    def time(self, nodes: Names, devices: Names, takes: object) -> Self:
        """Say what nodes take on devices: a time, or of batches a mapping from the number of inputs to the time.

        ``float("inf")`` says that a device cannot run the nodes.

        >>> Builder().node("a").device("gpu", count=2).time("a", "gpu[0]", "3 ms")
        Builder(4 statements)
        >>> Builder().node("a").device("gpu", count=2).time("a", "gpu[0]", {1: "3 ms", 2: "5 ms"})
        Builder(5 statements)
        """
        who = f"time {named(nodes)} on {named(devices)}"
        if isinstance(takes, Mapping):
            for size, duration in takes.items():
                self._statement(f"{who} at batch {value(size, 'the size of a batch')} = {value(duration, 'a time')}")
        else:
            self._statement(f"{who} = {value(takes, 'a time')}")
        return self

    @says
    def times(self, path: str | os.PathLike[str], *, unit: str | None = None) -> Self:
        """Take measured times from a file: ``times from``."""
        self._statement(f"times from {quoted(str(os.fspath(path)))}{option_list({'unit': unit}, words=('unit',))}")
        return self

    # objectives

    @says
    def target(self, name: str) -> Self:
        """Make the plan one that a runtime can run, such as ``"vllm"``: its limits are constraints."""
        self._statement(f"target {quoted(name)}")
        return self

    @says
    def minimize(self, objective: str | Expression, *, label: str | None = None, **options: Any) -> Self:
        """Minimise ``bottleneck``, ``makespan``, ``latency``, or any linear expression; several are lexicographic.

        Args:
            objective: a name, an expression of :mod:`mtpp_dsl.algebra`, or its text.
            label: what results call it.
            options: ``within`` (what later objectives may give up of this one), ``parts``.
        """
        self._objective("minimize", objective, label, options)
        return self

    @says
    def maximize(self, objective: str | Expression, *, label: str | None = None, **options: Any) -> Self:
        """Maximise ``throughput``, of a pipeline or of a ``batch``, or any linear expression.

        Args:
            objective: a name, an expression of :mod:`mtpp_dsl.algebra`, or its text.
            label: what results call it.
            options: ``within``, ``parts``, ``batch``, ``chunk``, ``transfer``, ``microbatches``, ``schedule``.
        """
        self._objective("maximize", objective, label, options)
        return self

    def _objective(
        self, sense: Literal["minimize", "maximize"], objective: object, label: str | None, options: Mapping[str, Any]
    ) -> None:
        called = "" if label is None else f"{checked_name(label)}: "
        what = objective if isinstance(objective, str) and objective in _OBJECTIVES else value(objective, "objective")
        given = option_list(options, words=("parts", "transfer", "schedule"))
        self._statement(f"{sense} {called}{what}{given}")

    @contextmanager
    def scenario(self, name: str) -> Iterator[Builder]:
        """Add statements that count where the scenario is chosen; they are said to the builder given.

        >>> builder = Builder()
        >>> with builder.scenario("night") as night:
        ...     night = night.device("gpu", count=8)
        """
        inside = Builder()
        yield inside
        block = inside._items_of_graph() if inside._graph is not None or inside._items else []
        statements = "\n".join(statement.text for statement in [*inside._head[1:], *block, *inside._statements])
        self._statements.append(BuilderStatement(f"scenario {checked_name(name)} {{\n{statements}\n}}", None))

    @says
    def say(self, statement: str) -> Self:
        """Add any statement of the language."""
        self._statement(statement)
        return self

    # what it all says

    def text(self) -> str:
        """Return the spec built so far, formatted, with the whole graph if one was given.

        Raises:
            SpecError: a statement that was given as text is none.
            UsageError: the graph has what a spec cannot say; says what.
        """
        from mtpp_dsl.language.syntax.layout import format_spec

        text, starts, calls = joined([*self._head, *self._items_of_graph(), *self._statements])
        with named_calls(text, starts, calls):
            return format_spec(source(text))

    def build(self, *, scenario: str | None = None, **params: object) -> Problem:
        """Return the problem, with these values of its params.

        Args:
            scenario: the name of the scenario that counts.
            params: values by name, as :meth:`mtpp_dsl.Spec.problem` takes them.

        Raises:
            SpecError: as for a spec of the same text; each error names the call that said what is wrong.
        """
        from mtpp_dsl.language.lowering.lower import read

        text, starts, calls = joined([*self._head, *(() if self._graph else self._block()), *self._statements])
        with named_calls(text, starts, calls):
            return read(text).problem(params, graph=self._graph, scenario=scenario)

    def _items_of_graph(self) -> list[BuilderStatement]:
        """Return the graph as text, a whole one too."""
        graph = self._graph
        if graph is None:
            return self._block()
        if not self._tables and (graph.times or graph.device_times or graph.batch_times):
            raise UsageError("the graph has tables of times by device: give the whole problem to Builder.of")
        return [BuilderStatement(text, None) for text in ("graph {", *items_of(graph), "}")]

    def _block(self) -> list[BuilderStatement]:
        if self._elsewhere and not self._items:
            return []
        return [BuilderStatement("graph {", None), *self._items, BuilderStatement("}", None)]


def _file(path: str | os.PathLike[str], format_name: str | None, options: Mapping[str, Any] | None = None) -> str:
    given = {"format": format_name, **(options or {})}
    return quoted(str(os.fspath(path))) + option_list(given, words=("format", *OPTIONS))


def _of_device(options: Mapping[str, Any]) -> str:
    """Return the options of a device, or of a type of devices."""
    texts = ("type", "unsupported", "switch", *(("group",) if isinstance(options.get("group"), str) else ()))
    return option_list(options, texts=texts, words=("io", "duplex"))


def _within(domain: object) -> str:
    if isinstance(domain, range) and domain.step == 1 and domain:
        return f"{domain.start}..{domain.stop - 1}"
    return value(domain, "within")


def to_spec(problem: Problem) -> str:
    """Return a spec that says what *problem* is, formatted; reading it gives an equal problem.

    Equal are the graph, the devices, what joins them, all times, the objectives and the constraints. Where it came
    from, and what was warned of, is not said.

    Raises:
        UsageError: the problem has what no spec can say; says what.
    """
    return Builder.of(problem).text()
