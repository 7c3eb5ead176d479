"""The law that makes times of costs: ``roofline(v, d)`` of the package, or the spec's own."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np

from mtpp_dsl.core.base.units import TIME
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints
from mtpp_dsl.core.text.source import Source, Span
from mtpp_dsl.exchange.library.entries import FOLDER
from mtpp_dsl.language.lowering.law_arrays import column_times
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.parser import parse
from mtpp_dsl.language.values.attributes import OF_DEVICES, OF_OPERATORS
from mtpp_dsl.language.values.complaints import Complaint, Unsettled
from mtpp_dsl.language.values.expressions import evaluate
from mtpp_dsl.language.values.functions import own_function
from mtpp_dsl.language.values.scope import LawOperator, SpecScope
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, Quantity, Value, describe, shown

LAW = "roofline"
"""What the function is called that says what an operator takes on a device."""

MANY = 1000
"""Operators with different costs on one device that are asked for all at once, rather than one by one."""

PATH = FOLDER / "laws" / "roofline.mtpp"


@dataclass(frozen=True, eq=False)
class DeviceClasses:
    """Operators that take the same time on any device, as far as can be told without asking.

    Attributes:
        of_item: [items] the class of each operator.
        first: the first operator of each class.
        keys: what tells each class from the others.
    """

    of_item: Ints
    first: tuple[int, ...]
    keys: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class Law:
    """A law, and which calls of it are known to give the same.

    Attributes:
        definition: the function of an operator's node and a device.
        own: whether it is the spec's, rather than that of the package.
        of_costs: whether it asks of a node nothing but the costs of the operator.
        of_figures: whether it asks of a device nothing that only its name tells.
    """

    definition: tree.DefStatement
    own: bool
    of_costs: bool
    of_figures: bool

    @property
    def text(self) -> str:
        """The text of the spec's own law; "" for that of the package."""
        return self.definition.span.text if self.own else ""

    def times(
        self, scope: SpecScope, costs: Costs, classes: DeviceClasses, d: int, nodes: Bools, known: dict[object, float]
    ) -> Floats:
        """Return [n] what *nodes* take on device *d* by this law; nan for all others.

        Operators with equal costs take the same time on equal devices, where the law asks for no more than these.

        Args:
            scope: of the spec, with its graph and its devices.
            costs: of the graph, settled.
            classes: of the costs, as :meth:`classes` gives them.
            d: number of the device.
            nodes: [n] which ones.
            known: times found before, which this adds to.

        Raises:
            Complaint: the law gives no time for an operator.
        """
        assert scope.devices is not None
        items = np.flatnonzero(nodes[costs.owner])
        device: object = replace(scope.devices[d], name="") if self.of_figures else d
        table = np.full(len(classes.keys), np.nan)
        wanted = np.unique(classes.of_item[items]).tolist()
        if len(wanted) > MANY:
            self.add_columns(scope, costs, classes, d, wanted, device, known)
        for number in wanted:
            key = classes.keys[number], device
            if key not in known:
                known[key] = self.time(scope, LawOperator(costs, classes.first[number]), d)
            table[number] = known[key]
        row = np.full(len(nodes), np.nan)
        row[nodes] = 0.0
        np.add.at(row, costs.owner[items], table[classes.of_item[items]])
        return row

    def add_columns(
        self,
        scope: SpecScope,
        costs: Costs,
        classes: DeviceClasses,
        d: int,
        wanted: list[int],
        device: object,
        known: dict[object, float],
    ) -> None:
        """Add the times of many classes to *known*, all at once, if the law can be asked so.

        It is asked for one of each sort of operators before, so that a wrong unit or a missing figure is found.

        Raises:
            Complaint: the law gives no time for one of them.
        """
        new = [number for number in wanted if (classes.keys[number], device) not in known]
        sorts: dict[object, int] = {}
        for number in new:
            item = classes.first[number]
            words = costs.kinds[item], costs.dtypes[item], costs.weight_types[item]
            sorts.setdefault((words, costs.flop[item] > 0, costs.read[item] > 0, costs.write[item] > 0), item)
        for item in sorts.values():
            self.time(scope, LawOperator(costs, item), d)
        times = column_times(self.definition, scope, costs, [classes.first[number] for number in new], d)
        if times is not None:
            scope.steps.spend(len(new) // 10, self.definition.value.span)
            keys = ((classes.keys[number], device) for number in new)
            known.update(zip(keys, times.tolist(), strict=True))

    def classes(self, costs: Costs) -> DeviceClasses:
        """Return which operators are known to take the same time on any device."""
        numbered: dict[tuple[object, ...], int] = {}
        numbers = zip(costs.flop.tolist(), costs.read.tolist(), costs.write.tolist(), strict=True)
        words = zip(costs.kinds, costs.dtypes, costs.weight_types, strict=True)
        owners = [-1] * len(costs) if self.of_costs else costs.owner.tolist()
        first: list[int] = []
        of_item = np.empty(len(costs), np.int64)
        for item, key in enumerate(zip(numbers, words, owners, strict=True)):
            number = numbered.setdefault(key, len(numbered))
            if number == len(first):
                first.append(item)
            of_item[item] = number
        return DeviceClasses(of_item, tuple(first), tuple(numbered))

    def time(self, scope: SpecScope, operator: LawOperator, d: int) -> float:
        """Return what an operator takes on device *d*, in seconds.

        Raises:
            Complaint: the law gives no time for it.
        """
        assert scope.graph is not None
        v, d_ = (word.text for word in self.definition.params)
        span = self.definition.value.span
        scope.steps.spend(1, span)
        scope.evaluated.operator = operator
        try:
            value = evaluate(self.definition.value, scope, {v: NodeRef(operator.node), d_: DeviceRef(d)})
        finally:
            scope.evaluated.operator = None
        return self.checked(value, operator.shown_name(scope.graph), span)

    def checked(self, value: Value, called: str, span: Span) -> float:
        """Return the time that the law has given; ``inf`` where the device cannot run the operator.

        Raises:
            Complaint: it is no time, or less than zero.
        """
        if not isinstance(value, Quantity):
            raise Complaint(f"{LAW}(v, d) is a time; for {called} this is {describe(value)}", span, code="MTPP-E210")
        if value.dimension != TIME and not value.fits_all:
            message = f"{LAW}(v, d) is a time; for {called} this is {value.dimension}"
            raise Complaint(message, span, code="MTPP-E213")
        if value.value < 0:
            message = f"{LAW}(v, d) must not be negative; for {called} this is {shown(value)}"
            raise Complaint(message, span, code="MTPP-E214")
        return float(value.value)


def law_of(scope: SpecScope) -> Law:
    """Return the law in use: the spec's own, or that of the package.

    Raises:
        Complaint: the spec's own does not take an operator and a device.
        Unsettled: the spec's own could not be read.
    """
    own = scope.defs.get(LAW)
    if LAW in scope.remarks.unsettled:
        raise Unsettled(LAW)
    definition = own or package_law()
    if len(definition.params) != 2:
        raise Complaint(
            f"'def {LAW}' is the law of times, and takes a node and a device: def {LAW}(v, d) = …",
            definition.name.span,
            code="MTPP-E206",
        )
    v, d = (word.text for word in definition.params)
    return Law(
        definition,
        own is not None,
        of_costs=not _named_beside(definition, v, OF_OPERATORS, scope, set()),
        of_figures=not _named_beside(definition, d, OF_DEVICES, scope, set()),
    )


@cache
def package_law() -> tree.DefStatement:
    """Return the law of the package, which is in use where a spec has none of its own."""
    statements = parse(Source("laws/roofline.mtpp", PATH.read_text(encoding="utf-8"), path=PATH))
    return next(
        statement for statement in statements if isinstance(statement, tree.DefStatement) and statement.name.text == LAW
    )


def _named_beside(
    definition: tree.DefStatement,
    name: str,
    functions: frozenset[str],
    scope: SpecScope,
    seen: set[tuple[str, str]],
) -> bool:
    """Return whether a function uses its parameter *name* other than as the argument of these *functions*.

    A parameter that it hands on to another function of the spec counts as that one uses it.
    """
    if (definition.name.text, name) in seen:
        return False
    seen.add((definition.name.text, name))
    waiting: list[object] = [definition.value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tree.Name) and part.name == name:
            return True
        if isinstance(part, tree.Call):
            inner = own_function(part.function, scope)
            for position, argument in enumerate(part.arguments):
                if argument != tree.Name(span=argument.span, name=name):
                    waiting.append(argument)
                elif inner is not None and position < len(inner.params):
                    if _named_beside(inner, inner.params[position].text, functions, scope, seen):
                        return True
                elif part.function.text not in functions:
                    return True
            waiting += [part.named, part.clauses]
        elif isinstance(part, tree.Tree):
            waiting += [getattr(part, field.name) for field in fields(part) if field.name != "span"]
        elif isinstance(part, tuple):
            waiting += part
    return False
