"""Names in expressions: loop variables, params, lets, words of the language, nodes, devices, and paths to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from mtpp_dsl.core.base.units import TIME, UNITS, unit_hint
from mtpp_dsl.core.constraints import Bottleneck, Decision, Latency, Makespan
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Diagnostic, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.decisions import decision
from mtpp_dsl.language.values.evaluating import Locals, evaluate, evaluates, steps_of
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.selecting import select
from mtpp_dsl.language.values.values import DeviceRef, EdgeRef, NodeRef, Quantity, Value, describe
from mtpp_dsl.language.values.values import Sequence as Values


@dataclass(frozen=True)
class PathStep:
    """One part of a path: the texts that it may stand for, of which there are several where it is a slice."""

    texts: tuple[str, ...]
    several: bool


def steps_of_path(parts: Sequence[tree.Part], scope: SpecScope, local: Locals) -> list[PathStep]:
    """Return the texts of every part behind a name, such as ``[0]``, ``[1]`` and ``[2]`` of ``[0..2]``.

    Raises:
        Complaint: a subscript is neither a whole number nor a string, nor some of these.
    """
    steps = []
    for part in parts:
        dot = "" if part.name is None else f".{part.name}"
        inside = [_subscript(subscript, scope, local) for subscript in part.subscripts]
        count = 1
        for step in inside:
            count *= len(step.texts)
        scope.steps.spend(count, part.span)
        brackets = [f"[{','.join(one)}]" for one in itertools.product(*(step.texts for step in inside))]
        texts = tuple(dot + bracket for bracket in brackets) if inside else (dot,)
        steps.append(PathStep(texts, any(step.several for step in inside)))
    return steps


def _subscript(node: tree.Expression, scope: SpecScope, local: Locals) -> PathStep:
    value = evaluate(node, scope, local)
    many = steps_of(value) if isinstance(value, Values) else None
    values = [value] if many is None else list(many)
    scope.steps.spend(len(values), node.span)
    for item in values:
        if not isinstance(item, str) and not (isinstance(item, Quantity) and item.whole is not None):
            what = "a whole number" if isinstance(item, Quantity) else "a whole number or a string"
            raise Complaint(f"a subscript must be {what}; this is {describe(item)}", node.span, code="MTPP-E210")
    return PathStep(tuple(subscripts_text([item]) for item in values), many is not None)


def subscripts_text(values: Sequence[Value]) -> str:
    """Return subscripts as names have them: ``0,1``, and strings without quotes."""
    return ",".join(value if isinstance(value, str) else str(getattr(value, "value", value)) for value in values)


def member_of(name: str, steps: Sequence[PathStep], span: Span, scope: SpecScope) -> Value | None:
    """Return the node, the device or the set that a path names; None if nothing has its name.

    Of a path with a slice, the set of all that it names.

    Raises:
        Complaint: some of several members are there, and others are not.
    """
    if not any(step.several for step in steps):
        return scope.member(name + "".join(step.texts[0] for step in steps), span)
    named: dict[Value, None] = {}
    missing = ""
    for path in itertools.product(*(step.texts for step in steps)):
        full = name + "".join(path)
        member = scope.member(full, span)
        if member is None:
            missing = missing or full
            continue
        items = list(_flat(member))
        scope.steps.spend(len(items), span)
        named.update(dict.fromkeys(items))
    if missing and named:
        raise scope.unknown(missing, span)
    empty = not missing and scope.member(name, span) is not None
    return Values(tuple(named), "set") if named or empty else None


def _flat(member: Value) -> Iterator[Value]:
    return iter(member) if isinstance(member, Values) else iter((member,))


MAX_LETS = 100
"""Lets that wait for each other's values; in their order, any number may refer to those before."""

_VALUES: dict[str, Decision] = {"bottleneck": Bottleneck(), "makespan": Makespan(), "latency": Latency()}
_FINER = "here each layer is one node; with (group_by = module) the graph has nodes for what is in it"
_UNIT_NOTE = "write a unit after a number, as in 1 ms; rates are per second, such as GB/s"


@evaluates(tree.Name)
def _name(node: tree.Name, scope: SpecScope, local: Locals) -> Value:
    name = node.name
    if name in local:
        value = local[name]
    elif name in scope.params:
        value = scope.params[name]
    elif name in scope.lets:
        value = _let(name, node.span, scope)
    elif node.subscripts or node.parts:
        return _path(node, scope, local)
    else:
        known = _builtin(name, node.span, scope)
        if known is None:
            known = scope.member(name, node.span)
        if known is None:
            raise _unknown(node, scope, local)
        return known
    if node.subscripts or node.parts:
        if node.parts and isinstance(value, (str, Path)) and scope.begins(name):  # a text has no parts: nodes are meant
            return _path(node, scope, local)
        return select(value, _parts(node), scope, local)
    return value


def _parts(node: tree.Name) -> tuple[tree.Part, ...]:
    """Return what stands behind a name."""
    first = (tree.Part(span=node.span, name=None, subscripts=node.subscripts),) if node.subscripts else ()
    return (*first, *node.parts)


def _path(node: tree.Name, scope: SpecScope, local: Locals) -> Value:
    """Return what a path names: as many of its parts as a member's name has, and what the rest selects of it."""
    if len(node.subscripts) == 1 and not node.parts:  # the common one, such as gpu[0], without further ado
        subscript = evaluate(node.subscripts[0], scope, local)
        if isinstance(subscript, Quantity) and subscript.whole is not None:
            single = scope.member(f"{node.name}[{subscript.value}]", node.span)
            if single is not None:
                return single
    parts = _parts(node)
    steps = steps_of_path(parts, scope, local)
    for length in range(len(parts), 0, -1):
        member = member_of(node.name, steps[:length], node.span, scope)
        if member is not None:
            return _part_of(member, node, parts[length:], steps, scope, local)
    if node.name in FUNCTIONS or node.name in AGGREGATES:
        raise Complaint(f"write a function's arguments in '(' and ')': {node.name}(…)", node.span, code="MTPP-E206")
    known = _builtin(node.name, node.span, scope)
    if known is not None:
        return select(known, parts, scope, local)
    member = scope.member(node.name, node.span) if parts[0].name is not None else None
    if member is not None:
        return _part_of(member, node, parts, steps, scope, local)
    raise scope.unknown(_text(node, steps), node.span)


def _text(node: tree.Name, steps: Iterable[PathStep]) -> str:
    """Return a path as the names of members are written; of a slice its first."""
    return node.name + "".join(step.texts[0] for step in steps if step.texts)


def _part_of(
    member: Value,
    node: tree.Name,
    rest: tuple[tree.Part, ...],
    steps: Iterable[PathStep],
    scope: SpecScope,
    local: Locals,
) -> Value:
    """Return what the *rest* of a path selects of what its beginning names.

    Raises:
        Complaint: it selects nothing; of a set, another path may be meant.
    """
    name = rest[0].name if rest else None
    if name is not None and name not in FUNCTIONS and isinstance(member, (Values, NodeRef, DeviceRef)):
        complaint = scope.unknown(_text(node, steps), node.span)
        origin = None if scope.graph is None else scope.graph.origin
        raise complaint.noting(_FINER) if origin is not None and origin.group_by == "layer" else complaint
    return select(member, rest, scope, local)


def _unknown(node: tree.Name, scope: SpecScope, local: Locals) -> Complaint:
    complaint = scope.unknown(node.name, node.span, list(local))
    if node.name in UNITS or (len(node.name) > 2 and unit_hint(node.name, [TIME])):
        return Complaint(complaint.diagnostic.message, node.span, [_UNIT_NOTE], code="MTPP-E101")
    return complaint


def _let(name: str, span: Span, scope: SpecScope) -> Value:
    values, pending = scope.evaluated.lets, scope.evaluated.pending
    if name in pending:
        chain = " -> ".join([*pending[pending.index(name) :], name])
        raise Complaint(f"'let {name}' is defined by itself: {chain}", span, code="MTPP-E107")
    if name not in values:
        scope.remarks.need(name)
        if len(pending) >= MAX_LETS:
            what = f"lets refer to each other more than {MAX_LETS} deep, from {pending[0]!r} on; put them in order"
            raise SpecError([Diagnostic(what, span, code="MTPP-E901")])
        pending.append(name)
        try:
            values[name] = evaluate(scope.lets[name].value, scope)
        except Complaint:
            scope.remarks.unsettled.add(name)
            raise
        finally:
            pending.pop()
    return values[name]


def _builtin(name: str, span: Span, scope: SpecScope) -> Value | None:
    """Return what a word of the language stands for; None for any other."""
    graph, devices = scope.graph, scope.devices
    if name in ("true", "false"):
        return name == "true"
    if name in ("nodes", "edges", "devices"):
        scope.remarks.need(name)
    if name == "inf":
        return Quantity(inf)
    if name == "nodes" and graph is not None:
        return Values(tuple(NodeRef(v) for v in range(graph.n)), "set")
    if name == "edges" and graph is not None and not scope.drawing:
        return Values(tuple(EdgeRef(e) for e in range(graph.m)), "set")
    if name == "devices" and devices is not None:
        return Values(tuple(DeviceRef(d) for d in range(len(devices))), "set")
    if name in ("nodes", "edges") or (name == "devices" and graph is None):
        raise Complaint(
            f"the {name} are not known here: params, and what they are made of, come first", span, code="MTPP-E101"
        )
    if name == "devices":
        raise Complaint("the devices are not known here: the graph is read before them", span, code="MTPP-E101")
    if name in scope.phases:
        return name
    if name == "phases" and scope.phases:
        return Values(tuple(scope.phases))
    if name in _VALUES and devices is not None:
        return decision(_VALUES[name], scope)
    return None
