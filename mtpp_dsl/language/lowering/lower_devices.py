"""``device``, ``interconnect`` and ``link`` statements to devices and what joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, TypeAlias, cast

import numpy as np

from mtpp_dsl.core.base.exact_numbers import survives
from mtpp_dsl.core.base.spec_limits import MAX_DEVICES, MAX_LINKED
from mtpp_dsl.core.base.units import COMPUTE, DOLLARS, EUROS, NONE, POWER, RATE, SIZE, TIME, Dimension, format_exact
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph, Ints, frozen
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.lowering.device_options import FIGURES, figures, type_of, with_type
from mtpp_dsl.language.lowering.lower_switches import OF_SPLITS, UPLINK, hanging, lower_tree, of_splits
from mtpp_dsl.language.lowering.lower_units import check_rate
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import UnitKeeper, check_word, expand_family
from mtpp_dsl.language.values.expressions import Locals, evaluate, iterate
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, Quantity, describe
from mtpp_dsl.language.values.values import Sequence as Values

Routing: TypeAlias = Literal["widest", "direct"]

DEVICE_OPTIONS = (
    "type",
    "memory",
    "reserve",
    "speed",
    "io",
    "unsupported",
    "group",
    "fixed",
    "overhead",
    "price",
    "power",
    *FIGURES,
    *UPLINK,
)
_PRICES = (NONE, DOLLARS, EUROS, DOLLARS / TIME, EUROS / TIME)
INTERCONNECTS = {
    "shared": ("bandwidth", "overflow", "between"),
    "host": ("bandwidth", "overflow", "between"),
    "links": ("bandwidth", "latency", "routing", *OF_SPLITS),
    "tree": OF_SPLITS,
}
"""Kinds of interconnects, with the options of each."""

LINK_OPTIONS = ("bandwidth", "latency")

_KINDS = (
    "interconnects are: shared, where all devices have one channel to memory;",
    "host, the same, where devices with io = free pay nothing; links, where each pair of devices has its own;",
    "tree, where devices hang from switches",
)


STREAMING = ("none", "stream", "prefetch")
"""What becomes of parameters that do not fit: the option ``overflow``."""


@dataclass(frozen=True)
class ReadChannel:
    """An interconnect as read: its kind, its bandwidths and latency, with their places."""

    kind: str
    bandwidth: Quantity | None
    latency: Quantity | None
    overflow: bool
    span: Span
    between: Quantity | None = None
    routing: Routing = "widest"
    of_splits: Mapping[str, str | None] = field(default_factory=dict)
    prefetch: bool = False


def declare_devices(
    statement: tree.DeviceStatement,
    devices: dict[str, Device],
    fresh: dict[str, Span],
    scope: SpecScope,
    memory: UnitKeeper,
    times: UnitKeeper,
) -> None:
    """Add the devices of a statement to *devices*, by name.

    A device or family that an import brought is replaced; what the statement does not say stays as
    imported. *fresh* holds the names that statements have declared, and where.
    """
    base = statement.name.text
    old = []
    if base in devices or base in scope.declared.bases:
        scope.steps.spend(len(devices), statement.span)
        old = [name for name in devices if name == base or name.startswith(f"{base}[")]
    declared = sorted(name for name in old if name in fresh)
    if declared:
        raise Complaint(
            f"device {declared[0]!r} is already declared",
            statement.name.span,
            code="MTPP-E102",
            second=(fresh[declared[0]], "first declared here"),
        )
    template = devices[old[0]] if old else Device(base)
    check_word(statement.name, may_be_string=True)
    if statement.family is not None:
        scope.empty.add(base)
    steps = list(iterate(statement.clauses, scope))
    every = (member for step in steps for member in expand_family(base, statement.family, scope, step))
    members = list(islice(every, MAX_DEVICES + 1))
    if not members and statement.clauses is not None:
        return
    if not members:
        raise Complaint(f"this declares no device: {base!r} has no members", statement.span, code="MTPP-E406")
    if len(members) + len(devices) > MAX_DEVICES:
        raise Complaint(f"there would be more than {MAX_DEVICES:,} devices", statement.span, code="MTPP-E901")
    new: dict[str, Device] = {}
    complaint: Complaint | None = None
    for name, local, _ in members:
        if name in new:
            raise Complaint(f"device {name!r} is declared twice", statement.name.span, code="MTPP-E102")
        new[name] = replace(devices.get(name, template), name=name)
        if complaint is None:
            try:
                new[name] = _device(name, statement, new[name], scope, local, (memory, times))
            except Complaint as wrong:
                complaint = wrong  # the devices are known all the same: one complaint, not one per use
    scope.declared.bases.add(base)
    fresh.update(dict.fromkeys(new, statement.name.span))
    _put(devices, old, new)
    if complaint is not None:
        raise complaint


def _put(devices: dict[str, Device], old: list[str], new: dict[str, Device]) -> None:
    """Put *new* devices where the *old* ones, which they replace, were; else at the end."""
    if not old:
        devices.update(new)
        return
    names = list(devices)
    place = names.index(old[0])
    replaced = set(old)
    before = {name: devices[name] for name in names[:place]}
    after = {name: devices[name] for name in names[place:] if name not in replaced}
    devices.clear()
    devices.update({**before, **new, **after})


def _device(
    name: str,
    statement: tree.DeviceStatement,
    base: Device,
    scope: SpecScope,
    local: Locals,
    keepers: tuple[UnitKeeper, UnitKeeper],
) -> Device:
    options = Options(with_type(statement.options, scope, local), DEVICE_OPTIONS, "a device", scope, local)
    memory, reserve = options.quantity("memory", (SIZE, NONE)), options.quantity("reserve", (SIZE, NONE))
    for what, value in (("memory", memory), ("reserve", reserve)):
        if value is not None:
            own = any(option.name.text == what for option in statement.options)
            keepers[0].add(value, f"{what} of {name}", options.span(what) if own else statement.span)
    speed = options.quantity("speed", (NONE, COMPUTE))
    if speed is not None:
        scope.remarks.need("weights")
        flops = scope.graph is not None and scope.graph.work_unit == "FLOP"
        if (speed.dimension == COMPUTE) != flops:
            wanted = "in FLOP/s, as the work is in FLOP" if flops else "a factor without a unit, as the work is a time"
            raise Complaint(f"the speed of {name} must be {wanted}", options.span("speed"), code="MTPP-E213")
        if speed.value == 0:
            raise Complaint(f"the speed of {name} must be more than zero", options.span("speed"), code="MTPP-E214")
    elif scope.graph is not None and scope.graph.work_unit == "FLOP" and base.speed == 1.0:
        peak = " (a peak counts only for nodes that give flop instead of work)" if "peak" in options else ""
        raise Complaint(
            f"the work is in FLOP, so {name} needs a speed in FLOP/s{peak}", statement.span, code="MTPP-E213"
        )
    fixed, overhead = options.quantity("fixed", (NONE,)), options.quantity("overhead", (TIME, NONE))
    if fixed is not None and fixed.value > 1:
        raise Complaint(
            f"the fixed share of a batch is at most 100 %; this is {100 * float(fixed.value):g} %",
            options.span("fixed"),
            code="MTPP-E214",
        )
    if overhead is not None:
        keepers[1].add(overhead, f"overhead of {name}", options.span("overhead"))
    price, power = options.quantity("price", _PRICES), options.quantity("power", (POWER, NONE))
    _keep_exact(name, {"memory": memory, "speed": speed, "price": price, "power": power}, scope)
    device = replace(
        base,
        name=name,
        type=type_of(statement.options, scope, local) or options.text("type") or base.type,
        memory=base.memory if memory is None else float(memory.value),
        reserve=base.reserve if reserve is None else float(reserve.value),
        speed=base.speed if speed is None else float(speed.value),
        unsupported=frozenset(options.texts("unsupported")) or base.unsupported,
        group=_group(options) or base.group,
        fixed=base.fixed if fixed is None else float(fixed.value),
        overhead=base.overhead if overhead is None else float(overhead.value),
        price=base.price if price is None else float(price.value),
        price_unit=base.price_unit if price is None else price.dimension.unit,
        power=base.power if power is None else float(power.value),
        power_unit=base.power_unit if power is None else power.dimension.unit,
        **figures(options),
    )
    if any(option in options for option in UPLINK):
        scope.declared.hung[name] = hanging(options, "switch", statement.span)
    io = options.word("io", ("paid", "free"))
    return device if io is None else replace(device, pays_io=io == "paid")


def _keep_exact(name: str, values: Mapping[str, Quantity | None], scope: SpecScope) -> None:
    """Note the numbers of a device that floating point does not hold exactly, for expressions."""
    for what, value in values.items():
        if value is not None:
            scope.declared.exact.pop((f"{what} of a device", name), None)
            if not survives(value.value):
                scope.declared.exact[f"{what} of a device", name] = value.value


def _group(options: Options) -> str | None:
    """Return the name of a group, given as a string or as a whole number."""
    if "group" not in options:
        return None
    value = options.value("group")
    name = value if isinstance(value, str) else str(options.whole("group"))
    if not name:
        raise Complaint("a group has a name or a number; this is empty", options.span("group"), code="MTPP-E210")
    return name


def memory_units(graph: Graph, keeper: UnitKeeper, span: Span) -> None:
    """Hold the memories of devices (noted by *keeper*) against the memory of nodes.

    Raises:
        Complaint: one is in B and the other has no unit.
    """
    if not graph.memory.any() or keeper.dimension is None:
        return
    if keeper.unit != graph.memory_unit:
        have = "in B" if graph.memory_unit else "without a unit"
        raise Complaint(
            f"{keeper.first} is {keeper.dimension}, but the graph's sizes are {have}: "
            "all sizes of a problem carry units, or none do",
            span,
            code="MTPP-E213",
        )


def lower_interconnect(statement: tree.InterconnectStatement, scope: SpecScope) -> ReadChannel:
    """Read an ``interconnect`` statement."""
    kind = statement.name.text
    if kind not in INTERCONNECTS:
        raise Complaint(
            f"there is no interconnect {kind!r}{did_you_mean(kind, INTERCONNECTS, cutoff=0.75)}",
            statement.name.span,
            _KINDS,
            code="MTPP-E110",
        )
    given = Options(statement.options, INTERCONNECTS[kind], f"interconnect {kind}", scope)
    bandwidth = given.quantity("bandwidth", (RATE, NONE))
    if kind not in ("links", "tree") and bandwidth is None:
        raise Complaint(f"interconnect {kind} needs a bandwidth", statement.span, code="MTPP-E401")
    if bandwidth is not None and bandwidth.value == 0:
        raise Complaint("the bandwidth must be more than zero", given.span("bandwidth"), code="MTPP-E214")
    return ReadChannel(
        kind=kind,
        bandwidth=bandwidth,
        latency=given.quantity("latency", (TIME, NONE)),
        overflow=given.word("overflow", STREAMING) in ("stream", "prefetch"),
        prefetch=given.word("overflow", STREAMING) == "prefetch",
        span=statement.span,
        between=given.quantity("between", (RATE, NONE)),
        routing=cast("Routing", given.word("routing", ("widest", "direct")) or "widest"),
        of_splits=of_splits(given),
    )


def lower_links(
    channel: ReadChannel,
    statements: Sequence[tree.LinkStatement],
    scope: SpecScope,
    graph: Graph,
    switches: Sequence[tree.SwitchStatement] = (),
) -> tuple[Interconnect, Dimension]:
    """Return the interconnect and the dimension that its bandwidths (or latencies) give to time."""
    assert scope.devices is not None
    if channel.kind == "tree" and not statements:
        return lower_tree(switches, channel.of_splits, scope, graph, channel.span)
    _check_switches(channel, scope, switches)
    if channel.kind != "links":
        if statements:
            raise Complaint(
                f"'link' goes with interconnect links, not {channel.kind}", statements[0].span, code="MTPP-E403"
            )
        return _by_memory(channel, graph)
    if len(scope.devices) > MAX_LINKED:
        raise Complaint(
            f"links join at most {MAX_LINKED:,} devices; these are {len(scope.devices):,}",
            channel.span,
            code="MTPP-E901",
        )
    table = LinkTable(len(scope.devices), graph)
    if channel.bandwidth is not None or channel.latency is not None:
        every = np.arange(len(scope.devices))
        table.set(every, every, channel.bandwidth, channel.latency, channel.span)
    for statement in statements:
        for local in iterate(statement.clauses, scope):
            _link(statement, local, table, scope)
    usual = {"overlap": "none", "send": "once", "duplex": "full"}
    settings = {option: value or usual[option] for option, value in channel.of_splits.items()}
    joined = replace(table.links(channel.routing), **settings)  # type: ignore[arg-type]
    if joined.duplex == "half" and (joined.bandwidth != joined.bandwidth.T).any():
        d, e = (scope.devices[i].name for i in np.argwhere(joined.bandwidth != joined.bandwidth.T)[0].tolist())
        raise Complaint(
            f"with duplex = half both directions of a link share one channel, and {d} -> {e} and {e} -> {d} have "
            "different bandwidths",
            channel.span,
            code="MTPP-E214",
        )
    return joined, table.time


def _by_memory(channel: ReadChannel, graph: Graph) -> tuple[Interconnect, Dimension]:
    """Return the interconnect of devices that share a channel to a memory, and the dimension that it gives to time."""
    assert channel.bandwidth is not None
    make = Shared if channel.kind == "shared" else Host
    time = check_rate(channel.bandwidth, channel.span, graph)
    if channel.between is not None:
        check_rate(channel.between, channel.span, graph)
        if channel.between.dimension != channel.bandwidth.dimension:
            raise Complaint("both bandwidths carry units, or neither does", channel.span, code="MTPP-E213")
        if not 0 < channel.between.value <= channel.bandwidth.value:
            fast, slow = (format_exact(x.value, x.dimension) for x in (channel.bandwidth, channel.between))
            raise Complaint(
                f"the bandwidth between groups is {slow}; it must be more than zero, and at most {fast}, the "
                "bandwidth inside",
                channel.span,
                code="MTPP-E214",
            )
    if channel.overflow and graph.memory_unit != graph.size_unit:
        raise Complaint(
            "overflow needs the size of the nodes' parameters; this graph has none",
            channel.span,
            code="MTPP-E409",
        )
    between = None if channel.between is None else float(channel.between.value)
    return make(float(channel.bandwidth.value), channel.overflow, between, channel.prefetch), time


def _check_switches(channel: ReadChannel, scope: SpecScope, switches: Sequence[tree.SwitchStatement]) -> None:
    """Complain of switches, or of devices that hang from some, where there is no tree."""
    hung = next((row for row in scope.declared.hung.values()), None)
    where = switches[0].span if switches else hung.span if hung is not None else None
    if where is not None:
        what = "'switch'" if switches else "the option switch or uplink of a device"
        raise Complaint(f"{what} goes with interconnect tree, not {channel.kind}", where, code="MTPP-E403")


class LinkTable:
    """Bandwidths and latencies between devices as ``link`` statements give them."""

    def __init__(self, k: int, graph: Graph) -> None:
        self.bandwidth = np.zeros((k, k))
        self.latency = np.zeros((k, k))
        self.graph = graph
        self.time = NONE

    def set(self, first: Ints, second: Ints, bandwidth: Quantity | None, latency: Quantity | None, span: Span) -> None:
        """Join all of *first* to all of *second*, one way; no bandwidth means that only the latency counts."""
        if bandwidth is not None:
            self.time = check_rate(bandwidth, span, self.graph)
            if bandwidth.value == 0:
                raise Complaint(
                    "the bandwidth must be more than zero; leave the link out for none", span, code="MTPP-E214"
                )
        if latency is not None and latency.dimension != NONE:
            self.time = TIME
        block = np.ix_(first, second)
        for table, value in (
            (self.bandwidth, np.inf if bandwidth is None else float(bandwidth.value)),
            (self.latency, 0.0 if latency is None else float(latency.value)),
        ):
            itself = table.diagonal().copy()
            table[block] = value
            np.fill_diagonal(table, itself)

    def links(self, routing: Routing) -> Links:
        """Return the interconnect."""
        return Links(frozen(self.bandwidth, np.float64), frozen(self.latency, np.float64), routing=routing)


def _link(statement: tree.LinkStatement, local: Locals, table: LinkTable, scope: SpecScope) -> None:
    options = Options(statement.options, LINK_OPTIONS, "a link", scope, local)
    ends = [_ends(end, scope, local) for end in (statement.first, statement.second)]
    scope.steps.spend(len(ends[0]) * len(ends[1]), statement.span)
    if not ends[0] or not ends[1] or ends[0] == ends[1] == ends[0][:1]:
        raise Complaint("a link joins two different devices", statement.span, code="MTPP-E402")
    bandwidth = options.quantity("bandwidth", (RATE, NONE))
    latency = options.quantity("latency", (TIME, NONE))
    if bandwidth is None and latency is None:
        raise Complaint("a link needs a bandwidth, a latency or both", statement.span, code="MTPP-E401")
    first, second = (np.array(end, np.int64) for end in ends)
    table.set(first, second, bandwidth, latency, statement.span)
    if statement.both_ways:
        table.set(second, first, bandwidth, latency, statement.span)


def _ends(end: tree.Expression, scope: SpecScope, local: Locals) -> list[int]:
    if isinstance(end, tree.Text):
        value = scope.device(end.value) or scope.member(end.value, end.span)
    else:
        value = evaluate(end, scope, local)
    items = list(value) if isinstance(value, Values) else [value]
    numbers = [item.index for item in items if isinstance(item, DeviceRef)]
    if len(numbers) < len(items):
        what = "an unknown name" if value is None else describe(value)
        raise Complaint(f"a link joins devices; this is {what}", end.span, code="MTPP-E210")
    return numbers
