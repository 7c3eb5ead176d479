"""``constraint`` statements to constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, cast, get_args

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.base.units import NONE
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.language.lowering.custom import lower_custom
from mtpp_dsl.language.lowering.lower_pipelines import MEMORY_OPTIONS, blocks, shard, stage_memory
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import Locals, evaluate, iterate, whole
from mtpp_dsl.language.values.members import Empty, in_their_order, members
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import (
    DeviceRef,
    NodeRef,
    Quantity,
    Sequence,
    describe,
    shown,
)

MAX_AMOUNT = 1_000_000_000
MAX_SIZES = 10_000
RULE_OPTIONS: dict[str, tuple[str, ...]] = {
    "acyclic": ("parts", "groups"),
    "contiguous": ("parts",),
    "break": ("scope",),
    "replicate": ("sync",),
    "memory": MEMORY_OPTIONS,
    "cache": ("tokens", "block"),
    "shard": ("speedup",),
    "copies": ("share",),
    "robust": ("deviation",),
    "stages": ("empty",),
}
"""The options of each rule; one that is not listed has none."""


def lower_constraint(statement: tree.ConstraintStatement, scope: SpecScope) -> Iterator[c.Constraint]:
    """Yield the constraints that a statement means, one per step of its comprehension.

    Raises:
        Complaint: members that are no nodes or devices, an option or amount that makes no sense.
    """
    if statement.rule.text not in _RULES:
        yield from lower_custom(statement, scope)
        return
    allowed = RULE_OPTIONS.get(statement.rule.text, ())
    for local in iterate(statement.clauses, scope):
        options = Options(statement.options, allowed, f"constraint {statement.rule.text}", scope, local)
        try:
            yield from list(_RULES[statement.rule.text](statement, scope, local, options))
        except Empty as empty:
            if statement.rule.text == "pin" and empty.what == "device":
                raise  # no plan could keep it
            empty.warn(scope)


def _acyclic(s: tree.ConstraintStatement, _: SpecScope, __: Locals, options: Options) -> Iterator[c.Constraint]:
    groups = cast('Literal["ordered", "free"]', options.word("groups", ("ordered", "free")) or "ordered")
    yield c.Acyclic(parts=_parts(options), groups=groups, origin=s.span.place)


def _contiguous(
    s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options
) -> Iterator[c.Constraint]:
    yield c.Contiguous(devices=_on(s, scope, local), parts=_parts(options), origin=s.span.place)


def _parts(options: Options) -> c.Parts:
    return cast("c.Parts", options.word("parts", ("both", "forward")) or "both")


def _memory(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    devices = _on(s, scope, local)
    _check_limits(s, scope, devices)
    if any(name in options for name in MEMORY_OPTIONS):
        yield from stage_memory(s, options, devices)
    else:
        yield c.Memory(devices=devices, origin=s.span.place)


def _cache(s: tree.ConstraintStatement, scope: SpecScope, _: Locals, options: Options) -> Iterator[c.Constraint]:
    _check_limits(s, scope, None)
    yield c.Memory(pool=blocks(options), origin=s.span.place)


def _check_limits(s: tree.ConstraintStatement, scope: SpecScope, devices: tuple[int, ...] | None) -> None:
    """Hold that each of *devices*, or one of all, has a memory."""
    scope.remarks.need("devices", "options")
    assert scope.devices is not None
    chosen = [scope.devices[d] for d in (range(len(scope.devices)) if devices is None else devices)]
    without = [device.name for device in chosen if device.memory is None]
    if len(without) == len(chosen) or (devices is not None and without):
        raise Complaint(f"device {without[0]!r} has no memory limit; give it (memory = …)", s.span, code="MTPP-E404")


def _colocate(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    if s.by is None:
        yield c.Colocate(nodes=_nodes(s, scope, local, least=2), origin=s.span.place)
        return
    scope.remarks.need("nodes", "weights")
    assert scope.graph is not None
    columns: dict[str, list[object]] = {
        "color": [color if color >= 0 else None for color in scope.graph.colors.tolist()],
        "kind": [kind or None for kind in scope.graph.kinds],
        "label": [label or None for label in scope.graph.labels],
    }
    if s.by.text not in columns:
        hint = did_you_mean(s.by.text, columns)
        raise Complaint(
            f"nodes are colocated by {', '.join(columns)}, not {s.by.text!r}{hint}", s.by.span, code="MTPP-E110"
        )
    groups: dict[object, list[int]] = {}
    for v, value in enumerate(columns[s.by.text]):
        if value is not None:
            groups.setdefault(value, []).append(v)
    if not groups:
        raise Complaint(f"no node has a {s.by.text}", s.by.span, code="MTPP-E505")
    for group in groups.values():
        if len(group) > 1:
            yield c.Colocate(nodes=tuple(group), origin=s.span.place)


def _separate(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    yield c.Separate(nodes=_nodes(s, scope, local, least=2), origin=s.span.place)


def _pin(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    make = c.Pin if s.rule.text == "pin" else c.Forbid
    devices = _on(s, scope, local)
    assert devices is not None
    yield make(nodes=_nodes(s, scope, local), devices=devices, origin=s.span.place)


def _subgraphs(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    yield c.Subgraphs(most=_amount(s, scope, local), devices=_on(s, scope, local), origin=s.span.place)


def _exclusive(s: tree.ConstraintStatement, _: SpecScope, __: Locals, ___: Options) -> Iterator[c.Constraint]:
    yield c.ExclusiveLinks(origin=s.span.place)


def _batch(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    assert s.amount is not None
    values = evaluate(s.amount, scope, local)
    if not isinstance(values, Sequence):
        raise Complaint(
            f"batch sizes are a list of whole numbers; this is {describe(values)}", s.amount.span, code="MTPP-E211"
        )
    if len(values) > MAX_SIZES:
        raise Complaint(
            f"at most {MAX_SIZES:,} batch sizes are read; these are {len(values):,}", s.amount.span, code="MTPP-E901"
        )
    sizes = set()
    for value in values:
        number = value.whole if isinstance(value, Quantity) else None
        if number is None or number < 1:
            given = shown(value) if isinstance(value, Quantity) else describe(value)
            raise Complaint(
                f"a batch size is a whole number, one or more; this is {given}", s.amount.span, code="MTPP-E211"
            )
        sizes.add(number)
    yield c.BatchSizes(sizes=tuple(sorted(sizes)), devices=_on(s, scope, local), origin=s.span.place)


def _shard(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    yield from shard(s, scope, local, options, members(s.members, scope, local, DeviceRef))


def _repeat(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, _: Options) -> Iterator[c.Constraint]:
    yield c.Repeat(most=_amount(s, scope, local), devices=_on(s, scope, local), origin=s.span.place)


def _replicate(
    s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options
) -> Iterator[c.Constraint]:
    devices = members(s.members, scope, local, DeviceRef)
    sync = cast('Literal["weights", "none"] | None', options.word("sync", ("weights", "none")))
    yield c.Replicate(most=_amount(s, scope, local), devices=devices, sync=sync, origin=s.span.place)


def _robust(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    share = options.quantity("deviation", (NONE,))
    most = _amount(s, scope, local)
    if share is not None and share.value > 1:
        percent = f"{float(share.value):.6g}"
        scope.remarks.warn(
            f"a deviation of {percent} lets a node take {percent} times its time more; {percent} per cent is "
            f"written {percent}%",
            options.span("deviation"),
            "MTPP-W502",
        )
    yield c.Robust(most=most, share=0.0 if share is None else float(share.value), origin=s.span.place)


def _copies(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    share = cast("c.Sharing", options.word("share", get_args(c.Sharing)) or "any")
    yield c.Copies(most=_amount(s, scope, local), share=share, origin=s.span.place)


def _stages(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options) -> Iterator[c.Constraint]:
    devices = None if s.devices is None else tuple(in_their_order(s.devices, scope, local, DeviceRef))
    empty = cast('Literal["allowed", "never"]', options.word("empty", ("allowed", "never")) or "allowed")
    yield c.InOrder(devices=devices, empty=empty, origin=s.span.place)


def _break(s: tree.ConstraintStatement, _: SpecScope, __: Locals, options: Options) -> Iterator[c.Constraint]:
    assert s.by is not None
    choices = ("tasks", "batches", "time")
    if s.by.text not in choices:
        hint = did_you_mean(s.by.text, choices)
        raise Complaint(
            f"symmetry is broken by {', '.join(choices)}, not {s.by.text!r}{hint}", s.by.span, code="MTPP-E110"
        )
    by = cast('Literal["tasks", "batches", "time"]', s.by.text)
    within = cast(
        'Literal["within", "between", "both"]', options.word("scope", ("within", "between", "both")) or "both"
    )
    yield c.BreakSymmetry(by=by, scope=within, origin=s.span.place)


_RULES: dict[str, Callable[[tree.ConstraintStatement, SpecScope, Locals, Options], Iterator[c.Constraint]]] = {
    "acyclic": _acyclic,
    "contiguous": _contiguous,
    "memory": _memory,
    "cache": _cache,
    "colocate": _colocate,
    "separate": _separate,
    "pin": _pin,
    "forbid": _pin,
    "subgraphs": _subgraphs,
    "exclusive": _exclusive,
    "batch": _batch,
    "repeat": _repeat,
    "replicate": _replicate,
    "shard": _shard,
    "copies": _copies,
    "robust": _robust,
    "stages": _stages,
    "break": _break,
}


def _amount(s: tree.ConstraintStatement, scope: SpecScope, local: Locals) -> int:
    assert s.amount is not None
    amount = whole(s.amount, scope, local, "the amount")
    if amount < 1:
        raise Complaint(f"the amount must be one or more; this is {amount}", s.amount.span, code="MTPP-E214")
    if amount > MAX_AMOUNT:
        raise Complaint(
            f"the amount must be at most {MAX_AMOUNT:,}; this is {shown(amount)}", s.amount.span, code="MTPP-E901"
        )
    return amount


def _on(s: tree.ConstraintStatement, scope: SpecScope, local: Locals) -> tuple[int, ...] | None:
    return None if s.devices is None else members(s.devices, scope, local, DeviceRef)


def _nodes(s: tree.ConstraintStatement, scope: SpecScope, local: Locals, least: int = 1) -> tuple[int, ...]:
    nodes = members(s.members, scope, local, NodeRef)
    if len(nodes) < least and any(isinstance(evaluate(one, scope, local), Sequence) for one in s.members):
        raise Empty("second node", s.span)
    if len(nodes) < least:
        raise Complaint(f"{s.rule.text!r} needs at least {least} nodes", s.span, code="MTPP-E504")
    return nodes
