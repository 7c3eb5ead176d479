"""``switch`` statements, and what devices say of the switches they hang from, to a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, cast

import numpy as np

from mtpp_dsl.core.base.spec_limits import MAX_LINKED
from mtpp_dsl.core.base.units import NONE, RATE, TIME, Dimension
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.problem.devices import Overlap, Send, Tree
from mtpp_dsl.core.problem.graph import Graph, frozen
from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.lowering.lower_units import check_rate
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import check_word, expand_family
from mtpp_dsl.language.values.expressions import Locals, evaluate, iterate
from mtpp_dsl.language.values.naming import steps_of_path
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import Hanging, SpecScope
from mtpp_dsl.language.values.values import describe

UPLINK = ("switch", "uplink", "latency", "duplex")
"""Options of a device that say where it hangs in a tree of switches."""

OF_SPLITS = ("overlap", "send", "duplex")
"""Options of links, and of the switches that are under none, which say what transfers take in a split."""

SWITCH_OPTIONS = ("under", "uplink", "latency", "duplex", "overlap", "send")


def of_splits(options: Options) -> dict[str, str | None]:
    """Return the options of :data:`OF_SPLITS`, None for one that is not given."""
    return {
        "overlap": options.word("overlap", ("none", "full")),
        "send": options.word("send", ("once", "each")),
        "duplex": options.word("duplex", ("full", "half")),
    }


def hanging(options: Options, above: str, span: Span) -> Hanging:
    """Return what a statement says of its uplink; the option *above* names the switch that it is under."""
    name = _switch_name(options, above) if above in options else None
    uplink = options.quantity("uplink", (RATE, NONE))
    if uplink is not None and uplink.value == 0:
        raise Complaint("the bandwidth of an uplink must be more than zero", options.span("uplink"), code="MTPP-E214")
    return Hanging(
        span=span,
        above=name,
        named_at=options.span(above) if above in options else None,
        uplink=uplink,
        latency=options.quantity("latency", (TIME, NONE)),
        duplex=cast("Literal['full', 'half'] | None", options.word("duplex", ("full", "half"))),
    )


def _switch_name(options: Options, option: str) -> str:
    """Return the name of a switch, given as ``rack``, ``server[i]`` or a string."""
    node, scope = options.options[option].value, options.scope
    local = options.local_of(option)
    if isinstance(node, tree.Name) and node.name not in local and node.name not in {*scope.params, *scope.lets}:
        parts = [tree.Part(span=node.span, name=None, subscripts=node.subscripts)] if node.subscripts else []
        steps = steps_of_path([*parts, *node.parts], scope, local)
        if any(step.several for step in steps):
            raise Complaint("this names several switches; one is above", node.span, code="MTPP-E210")
        return node.name + "".join(step.texts[0] for step in steps)
    value = evaluate(node, scope, local)
    if not isinstance(value, str):
        message = f"a switch is named, as in {option} = server[0]; this is {describe(value)}"
        raise Complaint(message, node.span, code="MTPP-E210")
    return value


def lower_tree(
    statements: Sequence[tree.SwitchStatement],
    stated: Mapping[str, str | None],
    scope: SpecScope,
    graph: Graph,
    span: Span,
) -> tuple[Tree, Dimension]:
    """Return the tree of switches, and the dimension that its bandwidths (or latencies) give to time.

    Args:
        statements: of the switches.
        stated: what ``interconnect tree`` says of splits.
        scope: with the devices, and where they hang.
        graph: whose tensors the uplinks carry.
        span: place of the interconnect.

    Raises:
        Complaint: two switches of one name, one that is not there, one under itself, or options that disagree.
    """
    assert scope.devices is not None
    switches = dict(_declared(statements, scope))
    if not switches:
        raise Complaint("interconnect tree needs switches: switch rack (uplink = 12 GB/s)", span, code="MTPP-E401")
    names = [device.name for device in scope.devices]
    if len(names) > MAX_LINKED:
        message = f"a tree joins at most {MAX_LINKED:,} devices; these are {len(names):,}"
        raise Complaint(message, span, code="MTPP-E901")
    # What each device, and then each switch, says of its uplink: the rows of the tree.
    number = {name: s for s, name in enumerate(switches)}
    rows = [*((name, scope.declared.hung.get(name, Hanging(span))) for name in names), *switches.items()]
    parents, time = [], NONE
    # Each row names the switch above it, which must be there, and has an uplink only if there is one.
    for name, row in rows:
        if row.above is not None and row.above not in number:
            raise Complaint(
                f"there is no switch {row.above!r}{did_you_mean(row.above, number)}",
                row.named_at or row.span,
                code="MTPP-E101",
            )
        parents.append(-1 if row.above is None else number[row.above])
        if row.uplink is not None:
            time = check_rate(row.uplink, row.span, graph)
        if row.latency is not None and row.latency.dimension != NONE:
            time = TIME
        if row.above is None and (row.uplink is not None or row.latency is not None):
            option = "switch" if name in scope.declared.hung and name in names else "under"
            raise Complaint(
                f"{name} has an uplink and hangs from no switch: say ({option} = …)", row.span, code="MTPP-E407"
            )
    # From here on the names make a tree, so that what is not said is taken from the switches above.
    _check_nesting(switches, number)
    settings = _settings(switches, stated)
    duplex = {name: _duplex(row, switches, settings["duplex"]) for name, row in rows}
    _warn(rows, len(names), parents, scope)
    joined = Tree(
        tuple(switches),
        frozen(parents, np.int64),
        frozen([np.inf if row.uplink is None else float(row.uplink.value) for _, row in rows], np.float64),
        frozen([0.0 if row.latency is None else float(row.latency.value) for _, row in rows], np.float64),
        frozen([row.above is not None and duplex[name] == "half" for name, row in rows], np.bool_),
        overlap=cast("Overlap", settings["overlap"]),
        send=cast("Send", settings["send"]),
    )
    return joined, time


def _declared(statements: Sequence[tree.SwitchStatement], scope: SpecScope) -> Iterator[tuple[str, Hanging]]:
    """Yield every switch by name, with what it says."""
    seen: dict[str, Span] = {}
    assert scope.devices is not None
    taken = {device.name for device in scope.devices}
    for statement in statements:
        check_word(statement.name, may_be_string=True)
        for step in iterate(statement.clauses, scope):
            for name, local, _ in expand_family(statement.name.text, statement.family, scope, step):
                if name in seen:
                    message = f"switch {name!r} is already declared"
                    raise Complaint(
                        message, statement.name.span, code="MTPP-E102", second=(seen[name], "first declared here")
                    )
                if name in taken:
                    message = f"{name!r} is a device; give the switch another name"
                    raise Complaint(message, statement.name.span, code="MTPP-E102")
                seen[name] = statement.name.span
                yield name, _switch(statement, scope, local)


def _switch(statement: tree.SwitchStatement, scope: SpecScope, local: Locals) -> Hanging:
    options = Options(statement.options, SWITCH_OPTIONS, "a switch", scope, local)
    place = hanging(options, "under", statement.span)
    splits = of_splits(options)
    for option in ("overlap", "send"):
        if splits[option] is not None and place.above is not None:
            raise Complaint(
                f"{option} holds for all of a tree: say it of the switch that is under none, or of interconnect tree",
                options.span(option),
                code="MTPP-E407",
            )
    return Hanging(
        span=place.span,
        above=place.above,
        named_at=place.named_at,
        uplink=place.uplink,
        latency=place.latency,
        duplex=place.duplex,
        overlap=cast("Overlap | None", splits["overlap"]),
        send=cast("Send | None", splits["send"]),
    )


def _check_nesting(switches: Mapping[str, Hanging], number: Mapping[str, int]) -> None:
    """Complain of a switch that is under itself, directly or through others."""
    for name in switches:
        chain, above = [name], switches[name].above
        while above is not None and len(chain) <= len(number):
            chain.append(above)
            if above == name:
                row = switches[name]
                raise Complaint(
                    f"switch {name!r} is under itself: {' under '.join(chain)}",
                    row.named_at or row.span,
                    code="MTPP-E407",
                )
            above = switches[above].above


def _settings(switches: Mapping[str, Hanging], stated: Mapping[str, str | None]) -> dict[str, str]:
    """Return what is said of splits, by ``interconnect tree`` and by the switches that are under none."""
    settings = {"overlap": "none", "send": "once", "duplex": stated.get("duplex") or "full"}
    for option in ("overlap", "send"):
        owners = {stated[option]: "interconnect tree"} if stated.get(option) else {}
        for name, row in switches.items():
            value = getattr(row, option)
            if value is None:
                continue
            if owners and value not in owners:
                ((other, owner),) = owners.items()
                raise Complaint(
                    f"switch {name!r} says {option} = {value}, and {owner} says {option} = {other}: it holds for all "
                    "of a tree",
                    row.span,
                    code="MTPP-E407",
                )
            owners.setdefault(value, f"switch {name!r}")
        if owners:
            settings[option] = str(next(iter(owners)))
    return settings


def _duplex(row: Hanging, switches: Mapping[str, Hanging], usual: str) -> str:
    """Return the duplex of an uplink: its own, or that of the nearest switch above that says one, or the usual."""
    at: Hanging | None = row
    while at is not None:
        if at.duplex is not None:
            return at.duplex
        at = switches[at.above] if at.above is not None else None
    return usual


def _warn(rows: Sequence[tuple[str, Hanging]], k: int, parents: Sequence[int], scope: SpecScope) -> None:
    """Warn of what hangs loose: switches without devices, uplinks without bandwidth, trees that nothing joins.

    After an error in a device nothing is known of where it hangs.
    """
    if scope.remarks.unsettled & {"devices", "options"}:
        return
    below = [0] * (len(rows) - k)
    roots: dict[int, str] = {}
    for d in range(k):
        at = d
        while parents[at] >= 0:
            below[parents[at]] += 1
            at = k + parents[at]
        roots.setdefault(at, rows[d][0])
    for s, count in enumerate(below):
        name, row = rows[k + s]
        if not count:
            scope.remarks.warn(f"no device hangs from switch {name!r}, so it has no effect", row.span, "MTPP-W406")
    for at, (name, row) in enumerate(rows):
        used = at < k or below[at - k]
        if parents[at] >= 0 and row.uplink is None and used:
            word = "device" if at < k else "switch"
            scope.remarks.warn(
                f"{word} {name!r} has no uplink, so nothing limits what it sends and receives: say (uplink = 12 GB/s)",
                row.span,
                "MTPP-W406",
            )
            break
    if len(roots) > 1:
        one, other = list(roots.values())[:2]
        scope.remarks.warn(
            f"nothing joins {one} and {other}, so no tensor can go from one to the other: put both under one switch",
            next((row.span for name, row in rows if name == other), rows[0][1].span),
            "MTPP-W407",
        )
