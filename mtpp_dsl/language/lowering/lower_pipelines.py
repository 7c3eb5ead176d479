"""``constraint memory (schedule = …)`` and ``constraint shard`` to constraints; how schedules are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from mtpp_dsl.core import constraints as c
from mtpp_dsl.core.base.units import NONE
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import Locals, evaluate
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import MapValue, Quantity, Value, describe, shown
from mtpp_dsl.language.values.values import Sequence as Values

MEMORY_OPTIONS = ("schedule", "microbatches", "recompute")
PIPELINED = ("gpipe", "1f1b", "pipedream", "2bw")
MAX_GROUP = 1_000_000
MAX_TOKENS = 10**15


def stage_memory(
    s: tree.ConstraintStatement, options: Options, devices: tuple[int, ...] | None
) -> Iterator[c.Constraint]:
    """Yield what a stage may keep, where a schedule is given, or an option that needs one.

    Raises:
        Complaint: options without a schedule; a number of microbatches, or a word, that makes no sense.
    """
    schedule = options.word("schedule", PIPELINED)
    if schedule is None:
        given = next(name for name in MEMORY_OPTIONS if name in options)
        raise Complaint(
            f'{given} needs a schedule: (schedule = gpipe), (schedule = "1f1b") or (schedule = "pipedream")',
            options.span(given),
            code="MTPP-E506",
        )
    many = microbatches(options)
    if many is None and schedule in ("gpipe", "1f1b"):
        raise Complaint(
            f"with {schedule} the memory depends on the number of microbatches: give it (microbatches = …)",
            options.span("schedule"),
            code="MTPP-E506",
        )
    recompute = options.word("recompute", ("never", "always", "free")) or "never"
    yield c.StageMemory(
        schedule=cast("Any", schedule),
        microbatches=many,
        recompute=cast("Any", recompute),
        devices=devices,
        origin=s.span.place,
    )


def microbatches(options: Options) -> int | None:
    """Return how many microbatches are given.

    Raises:
        Complaint: fewer than one.
    """
    many = options.whole("microbatches")
    if many is not None and many < 1:
        raise Complaint(
            f"there is one microbatch or more; this is {many}", options.span("microbatches"), code="MTPP-E214"
        )
    return many


def blocks(options: Options) -> c.Blocks:
    """Return how caches are cut into blocks.

    Raises:
        Complaint: fewer than one token; tokens that are no whole blocks.
    """
    given = {name: options.whole(name) for name in ("tokens", "block")}
    for name, number in given.items():
        if number is not None and not 1 <= number <= MAX_TOKENS:
            raise Complaint(f"{name} is 1 to {MAX_TOKENS:,}; this is {number:,}", options.span(name), code="MTPP-E214")
    pool = c.Blocks(given["tokens"], given["block"] or 1)
    if pool.tokens is not None and pool.tokens % pool.block:
        more = -(-pool.tokens // pool.block) * pool.block
        raise Complaint(
            f"{pool.tokens:,} tokens are no whole blocks of {pool.block:,}: say for {more:,} tokens what the nodes "
            "keep, or leave out tokens",
            options.span("tokens"),
            code="MTPP-E506",
        )
    return pool


def shard(
    s: tree.ConstraintStatement, scope: SpecScope, local: Locals, options: Options, devices: tuple[int, ...]
) -> Iterator[c.Constraint]:
    """Yield over how many of *devices* the nodes of a stage may be split, and how much faster that is.

    Raises:
        Complaint: sizes that are no numbers of devices; a speed-up that is missing, or none.
    """
    assert s.amount is not None
    value = evaluate(s.amount, scope, local)
    given = list(value) if isinstance(value, Values) else [value]
    sizes = tuple(sorted({_devices(one, s.amount.span) for one in given}))
    if not sizes:
        raise Complaint("a node is split over one device or more; the list is empty", s.amount.span, code="MTPP-E214")
    speedup: tuple[float, ...] = ()
    if "speedup" in options:
        speedup = tuple(_speedup(options, scope, local, t) for t in sizes)
        _warn_of_unread(options, scope, sizes)
        if speedup == tuple(map(float, sizes)):
            speedup = ()
    yield c.Shard(by=sizes, speedup=speedup, devices=devices, origin=s.span.place)


def _warn_of_unread(options: Options, scope: SpecScope, sizes: tuple[int, ...]) -> None:
    """Warn of speed-ups for numbers of devices over which no node may be split."""
    if isinstance(options.options["speedup"].value, tree.Name):  # a function of the spec, or a table of a name
        return
    table = options.value("speedup")
    keys = table.entries if isinstance(table, MapValue) else ()
    unread = [shown(key) for key in keys if isinstance(key, Quantity) and key.whole not in sizes]
    if unread:
        scope.remarks.warn(
            f"the speed-up on {unread[0]} devices has no effect: nodes are split over {', '.join(map(str, sizes))}",
            options.span("speedup"),
            "MTPP-W501",
        )


def _devices(value: Value, span: Span) -> int:
    number = value.whole if isinstance(value, Quantity) else None
    if number is None or not 1 <= number <= MAX_GROUP:
        described = shown(value) if isinstance(value, Quantity) else describe(value)
        raise Complaint(
            f"a node is split over a whole number of devices, such as by [1, 2, 4]; this is {described}",
            span,
            code="MTPP-E211",
        )
    return number


def _speedup(options: Options, scope: SpecScope, local: Locals, t: int) -> float:
    """Return what the work is divided by on *t* devices: of a map, of the spec's own function, else *t* itself."""
    span, written = options.span("speedup"), options.options["speedup"].value
    if isinstance(written, tree.Name) and not (written.subscripts or written.parts) and written.name in scope.defs:
        number = tree.Number(span=span, value=t, unit=None)
        value: Value | None = evaluate(
            tree.Call(span=span, function=tree.Word(span=span, text=written.name), arguments=(number,)), scope, local
        )
    else:
        table = options.value("speedup")
        if not isinstance(table, MapValue):
            raise Complaint(
                f"speedup is a map, such as {{2: 1.8, 4: 3.1}}, or the name of a function; this is {describe(table)}",
                span,
                code="MTPP-E210",
            )
        value = next((factor for key, factor in table.entries.items() if _is(key, t)), None)
    if value is None or (t == 1 and not isinstance(written, tree.Name)):
        return float(t)
    if not isinstance(value, Quantity) or value.dimension != NONE or value.infinite or not value.value > 0:
        described = shown(value) if isinstance(value, Quantity) else describe(value)
        raise Complaint(
            f"the speed-up on {t} devices is a number above zero; this is {described}", span, code="MTPP-E214"
        )
    if t == 1 and value.value != 1:
        raise Complaint(f"the speed-up on one device is 1; this is {shown(value)}", span, code="MTPP-E214")
    return float(value.value)


def _is(key: object, t: int) -> bool:
    return key == t or (isinstance(key, Quantity) and key.dimension == NONE and key.value == t)
