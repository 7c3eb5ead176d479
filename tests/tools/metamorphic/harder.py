"""Changes that never make the optimum better, and what they must do to answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

from mtpp_dsl.checks.verification import cost_of, verify
from tests.tools.metamorphic.answers import TOLERANCE, Answer, at_most
from tests.tools.metamorphic.relations import Trial
from tests.tools.metamorphic.text import Spec

__all__ = ["eased", "hardened", "tightened"]

_ENLARGING = ("constraint replicate", "constraint shard", "constraint copies")


def tightened(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside the problem with one constraint more; its plan must be one of both."""
    line = _constraint(trial.spec, trial.random)
    if line is None or line in trial.spec.lines:
        return
    spec = trial.spec.with_line(line)
    easy, hard = trial.ask(), trial.ask(spec)
    yield from (f"{what} (with '{line}')" for what in at_most(easy, hard))
    if not line.startswith("constraint robust"):
        yield from _also_a_plan(easy, hard)


def _also_a_plan(easy: Answer, hard: Answer) -> Iterator[str]:
    if hard.result is None or hard.result.plan is None or easy.problem is None or hard.cost is None:
        return
    broken = verify(easy.problem, hard.result.plan)
    if broken:
        yield f"not a plan without the constraint: {broken[0]}"
        return
    cost = cost_of(easy.problem, hard.result.plan)
    if abs(cost - hard.cost) > TOLERANCE * max(abs(cost), hard.size):
        yield f"the plan costs {cost!r} without the constraint and {hard.cost!r} with it"


def _constraint(spec: Spec, draw: Random) -> str | None:
    nodes, devices = spec.names("node"), spec.names("device")
    streams, sets = spec.has("overflow"), min(2, len(nodes))
    lines = [
        "constraint acyclic", "constraint contiguous", "constraint stages", "constraint exclusive links",
        f"constraint pin {draw.choice(nodes)} on {', '.join(draw.sample(devices, (len(devices) + 1) // 2))}",
        f"constraint forbid {draw.choice(nodes)} on {draw.choice(devices)}",
        f"constraint colocate {', '.join(draw.sample(nodes, sets))}",
        f"constraint separate {', '.join(draw.sample(nodes, sets))}",
        f"constraint added: on({draw.choice(nodes)}, {devices[0]}) + on({draw.choice(nodes)}, {devices[-1]}) <= 1",
        f"constraint added: sum(on(v, {devices[0]}) for v in nodes) >= {draw.choice([1, 2])}",
        f"constraint added: sum(on(v, {devices[0]}) for v in nodes) <= {max(1, len(nodes) // 2)}",
        f"constraint added: used({devices[0]}) <= used({devices[-1]})",
        f"constraint added: load({devices[0]}) <= load({devices[-1]})",
        f"constraint robust up to {draw.choice([1, 2])} (deviation = 20%)",
        *([] if streams else ["constraint memory"]),
    ]  # fmt: skip
    return draw.choice([line for line in lines if line not in spec.lines])


def eased(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside the problem without one of its constraints."""
    kept = ("constraint memory", "constraint cache") if trial.spec.has("overflow") else ("no line",)
    numbers = [i for i in trial.spec.starting("constraint", "target") if not trial.spec.lines[i].startswith(kept)]
    if not numbers:
        return
    number = trial.random.choice(numbers)
    line, other = trial.spec.lines[number], trial.ask(trial.spec.without(number))
    pair = (trial.ask(), other) if line.startswith(_ENLARGING) else (other, trial.ask())
    yield from (f"{what} (without '{line}')" for what in at_most(*pair))


def hardened(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside a problem with more work, larger tensors, slower or fewer devices, or less memory."""
    if trial.spec.has("latency - "):
        return  # it may fall with more work
    changes = [_more_work, _larger_tensor, _slower, _less_memory, _less_bandwidth, _fewer_devices, _more_edges, _rigid]
    trial.random.shuffle(changes)
    for change in trial.random.sample(changes, len(changes)):
        spec = change(trial.spec, trial.random)
        if spec is not None and spec != trial.spec:
            name = change.__name__[1:].replace("_", " ")
            yield from (f"{what} ({name})" for what in at_most(trial.ask(), trial.ask(spec)))
            return


def _changed(
    spec: Spec, draw: Random, words: tuple[str, ...], pattern: str, by: Callable[[float], float]
) -> Spec | None:
    """Return the spec with a number changed, in a random line that begins with the words and has the pattern."""
    places = [i for i in spec.starting(*words) if re.search(pattern, spec.lines[i])]
    if not places:
        return None
    at = draw.choice(places)
    line = re.sub(pattern, lambda match: f"{match[1]}{by(float(match[2])):g}{match[3]}", spec.lines[at], count=1)
    return spec.replaced(at, line)


def _more_work(spec: Spec, draw: Random) -> Spec | None:
    return _changed(spec, draw, ("node",), r"\b(work = )([\d.]+)( s)", lambda x: x + draw.choice([0.5, 3, 100]))


def _larger_tensor(spec: Spec, draw: Random) -> Spec | None:
    return _changed(spec, draw, ("node",), r"\b(output = )([\d.]+)( GB)", lambda x: x + draw.choice([0.5, 3]))


def _slower(spec: Spec, draw: Random) -> Spec | None:
    return _changed(spec, draw, ("device",), r"\b(speed = )([\d.]+)()", lambda x: x / 2)


def _less_memory(spec: Spec, draw: Random) -> Spec | None:
    return _changed(spec, draw, ("device",), r"\b(memory = )([\d.]+)( GB)", lambda x: x * draw.choice([0.9, 0.5]))


def _less_bandwidth(spec: Spec, draw: Random) -> Spec | None:
    pattern = r"^(interconnect (?:shared|host) \(bandwidth = )([\d.]+)( GB/s)"
    return _changed(spec, draw, ("interconnect",), pattern, lambda x: x / 2)


def _fewer_devices(spec: Spec, draw: Random) -> Spec | None:
    numbers = spec.starting("device")
    kept = spec.has("empty = never", "cache uniform", "target")
    if len(numbers) < 2 or kept or (spec.has("interconnect links") and not spec.has("routing = direct")):
        return None
    number = draw.choice(numbers)
    name = spec.lines[number].split()[1]
    rest = spec.without(number)
    return None if any(re.search(rf"\b{name}\b", line) for line in rest.lines) else rest


def _more_edges(spec: Spec, draw: Random) -> Spec | None:
    if spec.has("backward", "copies", "target"):
        return None
    nodes = spec.names("node")
    if len(nodes) < 2:
        return None
    u, v = sorted(draw.sample(range(len(nodes)), 2))
    line = f"edge {nodes[u]} -> {nodes[v]}"
    if any(other == line or other.startswith(line + " (") for other in spec.lines):
        return None
    at = spec.lines.index("}")
    return Spec((*spec.lines[:at], line, *spec.lines[at:]))


def _rigid(spec: Spec, draw: Random) -> Spec | None:
    places = [i for i in spec.starting("constraint") if "(penalty" in spec.lines[i]]
    if not places:
        return None
    at = draw.choice(places)
    return spec.replaced(at, re.sub(r" \(penalty = [^)]*\)", "", spec.lines[at]))
