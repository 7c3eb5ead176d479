"""Random specs of a few nodes whose rules tell some of equal devices apart, and that combine what others have alone."""

from __future__ import annotations

from collections.abc import Callable

from tests.tools.metamorphic.drawing import Draw

__all__ = ["mixed"]

FAR_APART = ((0.000001, 1), (0.000001, 1, 1000000), (0.001, 1), (1, 1, 1000), (0,))
"""Numbers that works are drawn from, beside those of all families."""
GOALS = ("loads", "loads", "parts", "sums", "sums", "stages", "stages", "groups", "times", "sums of times", "subgraphs")

Rule = Callable[[Draw], str | None]


def mixed(draw: Draw) -> None:
    """Write a few nodes on devices of which one or two differ in one thing, and rules about some of the devices."""
    goal = draw.of(*GOALS)
    draw.most = min(draw.most, draw.of(1, 2, 3, 4, 5) if goal != "groups" else 3)
    if draw.often(0.4):
        draw.weights = draw.of(*FAR_APART)
    staged = {"saved": 0.4, "state": 0.3, "reduce": 0.4, "forward": 0.3} if goal == "stages" else {}
    held = {} if goal in ("stages", "groups") else {"memory": 0.2, "workspace": 0.3}
    draw.graph({"params": 0.7, "kind": 0.2, **held, **staged}, backward=goal == "parts")
    timed = goal in ("times", "sums of times")
    draw.devices(memory=0.7, price=goal == "sums", equal=draw.often(0.7), groups=goal == "groups")
    free = goal not in ("stages", "groups", *(("times",) if timed else ())) and draw.often(0.5)
    network = "links" if timed else draw.of("shared", "host", "host") if free else "shared"
    if free:
        _one_differs(draw, host=network == "host")
    rate = draw.of(0.001, 0.5, 1, 4, 1000)
    between = f", between = {rate / draw.of(1, 2, 10):g} GB/s" if goal == "groups" else ""
    draw.add(f"interconnect {network} (bandwidth = {rate} GB/s{between})")
    if timed:
        draw.links()
    draw.add(_objective(draw, goal))
    for line in _always(draw, goal):
        draw.add(line)
    for _ in range(draw.of(1, 2, 3, 4)):
        line = draw.of(*PLACES, *RULES.get(goal, ()))(draw)
        if line is not None and line.split(" = ")[0] not in {other.split(" = ")[0] for other in draw.lines}:
            draw.add(line)


def _one_differs(draw: Draw, *, host: bool) -> None:
    """Change one or two devices: their memory, their speed, or whether they pay for transfers."""
    places = [at for at, line in enumerate(draw.lines) if line.startswith("device ")]
    for at in draw.random.sample(places, min(len(places), draw.of(1, 1, 2))):
        name, options = _options(draw.lines[at])
        kind = draw.of("speed", "memory", "io" if host else "speed")
        if kind == "io":
            options["io"] = "free"
        elif kind == "speed":
            options["speed"] = str(draw.of(0.5, 3, 1000))
        elif "memory" in options:
            options["memory"] = draw.of("0 GB", f"{float(options['memory'].split()[0]) / 2:g} GB")
            options.pop("reserve", None)
        text = ", ".join(f"{option} = {value}" for option, value in options.items())
        draw.lines[at] = f"device {name} ({text})" if text else f"device {name}"


def _options(line: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options of a device."""
    head, _, rest = line.partition(" (")
    pairs = [(part.split(" = ")[0], part.split(" = ")[1]) for part in rest.rstrip(")").split(", ") if part]
    return head.split()[1], dict(pairs)


def _objective(draw: Draw, goal: str) -> str:
    match goal:
        case "parts":
            return draw.of("minimize bottleneck (parts = separate)", "minimize bottleneck", "minimize latency")
        case "sums":
            word = draw.of("minimize", "minimize", "maximize")
            price = "sum(price(d) * used(d) for d in devices)"
            return f"{word} goal: {price if word == 'minimize' and draw.often(0.3) else _sum(draw, times=False)}"
        case "sums of times":
            return f"minimize goal: {_sum(draw, times=True)}"
        case "times" | "subgraphs":
            return "minimize makespan"
        case "stages" if draw.often(0.5):
            return f"minimize iteration ({SCHEDULE})"
    return draw.of("minimize bottleneck", "maximize throughput")


SCHEDULE = "microbatches = 2, schedule = gpipe"


def _sum(draw: Draw, *, times: bool) -> str:
    """Return a sum of two or three decisions, in seconds, some of them with a negative factor."""
    terms = []
    for _ in range(draw.of(1, 2, 2, 3)):
        device, node = draw.of(*draw.names), _node(draw)
        placed = [f"on({node}, {device}) * 1 s", f"used({device}) * 1 s", "sum(used(d) * 1 s for d in devices)"]
        loads = ["bottleneck", "latency", f"load({device})"]
        ends = ["makespan", "makespan", f"finish({node})", f"start({node})"]
        terms.append(f"{draw.of(1, 1, 2, 0.5, -1)} * {draw.of(*placed, *(ends if times else loads))}")
    return " + ".join(terms).replace("+ -", "- ")


def _always(draw: Draw, goal: str) -> list[str]:
    if goal in ("stages", "groups"):
        return ["constraint acyclic"]
    if goal == "subgraphs":
        return [draw.of("constraint contiguous", f"constraint subgraphs at most {draw.of(1, 2)}")]
    if goal == "sums":
        return [f"constraint due: bottleneck <= {draw.limit()} s"] if draw.often(0.5) else []
    return ["constraint acyclic"] if goal == "loads" and draw.often(0.5) else []


def _node(draw: Draw) -> str:
    return draw.node(draw.random.randrange(draw.n))


def _nodes(draw: Draw) -> str:
    return ", ".join(sorted({_node(draw) for _ in range(draw.of(1, 2, 3))}))


def _pair(draw: Draw) -> str | None:
    if draw.n < 2:
        return None
    nodes = (draw.node(v) for v in sorted(draw.random.sample(range(draw.n), 2)))
    return f"constraint {draw.of('colocate', 'separate')} {', '.join(nodes)}"


def _some(draw: Draw, least: int = 1) -> str:
    """Return some of the devices, or all."""
    least = min(least, len(draw.names))
    return ", ".join(sorted(draw.random.sample(draw.names, draw.random.randint(least, len(draw.names)))))


def _memory(draw: Draw) -> str | None:
    roomy = [line.split()[1] for line in draw.lines if line.startswith("device ") and "memory = " in line]
    if not roomy:
        return None
    return f"constraint memory on {', '.join(sorted(draw.random.sample(roomy, draw.random.randint(1, len(roomy)))))}"


def _memory_by_stage(draw: Draw) -> str | None:
    memory = _memory(draw)
    again = draw.of("free", "never", "always")
    return None if memory is None else f"{memory} ({SCHEDULE}, recompute = {again})"


def _replicas(draw: Draw) -> str | None:
    if len(draw.names) < 2:
        return None
    return f"constraint replicate {_some(draw, 2)} up to {draw.of(2, 3)}{draw.of('', ' (sync = weights)')}"


def _row(draw: Draw) -> str:
    terms = [f"{draw.of(1, 1, 2, -1, -2)} * on({_node(draw)}, {draw.of(*draw.names)})" for _ in range(draw.of(1, 2, 3))]
    left = " + ".join(terms).replace("+ -", "- ")
    return f"constraint placed: {left} {draw.of('<=', '>=', '==')} {draw.of(0, 1, -1, 0.5)}"


def _transfer(draw: Draw) -> str | None:
    if not draw.edges or len(draw.names) < 2:
        return None
    u, v = draw.of(*draw.edges)
    d, e = draw.random.sample(draw.names, 2)
    return f"time {draw.node(u)} -> {draw.node(v)} on {d} -> {e} = {draw.of('0 s', '5 s', 'inf')}"


def _order(draw: Draw) -> str:
    some = ", ".join(draw.random.sample(draw.names, draw.random.randint(1, len(draw.names))))
    return draw.of(
        f"constraint contiguous on {_some(draw)}", f"constraint stages on {some}{draw.of('', ' (empty = never)')}"
    )


PLACES: tuple[Rule, ...] = (
    lambda draw: f"constraint pin {_nodes(draw)} on {_some(draw)}",
    lambda draw: f"constraint forbid {_node(draw)} on {_some(draw)}",
    _pair,
    lambda draw: f"time {_node(draw)} on {draw.of(*draw.names)} = {draw.of('inf', '0 s', '1 s')}",
    _memory,
)
RULES: dict[str, tuple[Rule, ...]] = {
    "loads": (_order, _row),
    "parts": (_order, _row),
    "sums": (_order, _row, lambda draw: f"constraint loaded: load({draw.of(*draw.names)}) <= {draw.limit()} s"),
    "stages": (
        _replicas,
        _memory_by_stage,
        lambda draw: f"constraint shard {_some(draw)} by {draw.of('[1, 2]', '[2]', '[1, 2, 4]')}",
    ),
    "groups": (_replicas, lambda draw: "constraint acyclic (groups = free)"),
    "times": (_transfer, _row, lambda draw: "constraint exclusive links"),
    "sums of times": (_transfer, _row),
    "subgraphs": (lambda draw: f"constraint subgraphs at most {draw.of(1, 2, 3)} on {_some(draw)}",),
}
