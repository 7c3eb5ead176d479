"""A failing instance made small: written plainly, and without what the failure does not need."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from tests.tools.fuzzer.instance import Device, Instance, Node, Row, Rule, Term

__all__ = ["plainly", "shrunk"]

MOST = 300
"""Smaller instances that are tried."""


def shrunk(inst: Instance, fails: Callable[[Instance], bool]) -> Instance | None:
    """Return a small instance that fails, written plainly; None where that does not fail, or has files of data."""
    if inst.carried is not None or any(node.times for node in inst.nodes):
        return None
    best = plainly(inst)
    if not fails(best):
        return None
    tried, again = 0, True
    while again and tried < MOST:
        again = False
        for smaller in _smaller(best):
            tried += 1
            if tried < MOST and fails(plainly(smaller)):
                best, again = plainly(smaller), True
                break
    return best


def _smaller(inst: Instance) -> Iterator[Instance]:
    """Yield instances with one thing less."""
    for v in reversed(range(inst.n if inst.n > 1 else 0)):
        yield _without_node(inst, v)
    for name in ("rules", "rows", "edges", "batch_times", "own_times"):
        for at in range(len(getattr(inst, name))):
            other = copy.deepcopy(inst)
            kept = getattr(other, name)
            if isinstance(kept, dict):
                kept.pop(list(kept)[at])
            else:
                del kept[at]
            yield other
    for name, plain in (("overflow", False), ("direct", False), ("per_input", False), ("separate", False)):
        if getattr(inst, name) != plain:
            yield replace(copy.deepcopy(inst), **{name: plain})
    for what, kind in (("nodes", Node), ("devices", Device)):
        for i, one in enumerate(getattr(inst, what)):
            for field in fields(kind):
                usual = field.default
                if field.name not in ("name", "times", "group", "work") and getattr(one, field.name) != usual:
                    other = copy.deepcopy(inst)
                    setattr(getattr(other, what)[i], field.name, usual)
                    yield other


def _without_node(inst: Instance, gone: int) -> Instance:
    other = copy.deepcopy(inst)
    number = {v: v - (v > gone) for v in range(inst.n) if v != gone}
    del other.nodes[gone]
    other.edges = {(number[u], number[v]): s for (u, v), s in inst.edges.items() if gone not in (u, v)}
    other.batch_times = {(number[v], d, p): t for (v, d, p), t in inst.batch_times.items() if v != gone}
    other.own_times = {(number[v], d): t for (v, d), t in inst.own_times.items() if v != gone}
    other.rules = []
    for rule in inst.rules:
        nodes = tuple(number[v] for v in rule.nodes if v != gone)
        if nodes or not rule.nodes:
            least = 2 if rule.kind in ("Colocate", "Separate") else 0
            other.rules += [replace(rule, nodes=nodes)] if len(nodes) >= least else []
    other.rows = []
    for row in inst.rows:
        if not any(term[0] in ("on", "start", "finish") and term[1] == gone for term in row.terms):
            other.rows.append(Row({_moved(term, number): w for term, w in row.terms.items()}, row.sense, row.rhs))
    return other


def _moved(term: Term, number: dict[int, int]) -> Term:
    return (term[0], number[term[1]], *term[2:]) if term[0] in ("on", "start", "finish") else term  # type: ignore[return-value]


def plainly(inst: Instance) -> Instance:
    """Return the same instance with plain names, without units and files, each thing written by itself."""
    other = copy.deepcopy(inst)
    for v, node in enumerate(other.nodes):
        node.name = f"n{v}"
    for d, device in enumerate(other.devices):
        device.name = f"d{d}"
    other.files, other.defines = {}, {}
    other.text = "\n".join([*_graph(other), *_machines(other), _goal(other), *_rules(other), *_rows(other)]) + "\n"
    return other


def _options(pairs: dict[str, object]) -> str:
    shown = ", ".join(f"{name} = {value}" for name, value in pairs.items() if value not in (None, ""))
    return f" ({shown})" if shown else ""


def _graph(inst: Instance) -> Iterator[str]:
    yield "graph {"
    for node in inst.nodes:
        text = {
            "work": node.work or None, "params": node.params or None, "output": node.output or None,
            "memory": node.memory, "kind": node.kind and f'"{node.kind}"', "label": node.label and f'"{node.label}"',
            "color": node.color if node.color >= 0 else None, "part": "backward" if node.backward else None,
        }  # fmt: skip
        yield f"  node {node.name}{_options(text)}"
    for (u, v), size in inst.edges.items():
        yield f"  edge n{u} -> n{v}{_options({'size': size})}"
    yield "}"


def _machines(inst: Instance) -> Iterator[str]:
    for device in inst.devices:
        kinds = ", ".join(f'"{kind}"' for kind in device.unsupported)
        text = {
            "memory": device.memory, "reserve": device.reserve or None,
            "speed": device.speed if device.speed != 1 else None, "io": "free" if device.free else None,
            "unsupported": f"[{kinds}]" if kinds else None, "fixed": device.fixed or None,
            "overhead": device.overhead or None, "type": f'"{device.type}"' if device.type != "accelerator" else None,
            "group": None if device.group is None else f'"{device.group}"',
        }  # fmt: skip
        yield f"device {device.name}{_options(text)}"
    for (v, d), takes in inst.own_times.items():
        yield f"time n{v} on d{d} = {takes}"
    if inst.network != "links":
        streams = "stream" if inst.overflow else None
        options = {"bandwidth": inst.bandwidth, "between": inst.between, "overflow": streams}
        yield f"interconnect {inst.network}{_options(options)}"
        return
    yield f"interconnect links{_options({'routing': 'direct' if inst.direct else None})}"
    for d in range(inst.k):
        for f in range(inst.k):
            wide, late = inst.bandwidths[d][f], inst.latencies[d][f]
            if d != f and wide:
                options = {"bandwidth": None if wide == float("inf") else wide, "latency": late}
                yield f"link d{d} -> d{f}{_options(options)}"
    for (v, d, p), takes in inst.batch_times.items():
        yield f"time n{v} on d{d} at batch {p} = {takes}"


def _goal(inst: Instance) -> str:
    if inst.objective == "batch":
        transfer = "per_input" if inst.per_input else None
        return f"maximize throughput{_options({'batch': inst.batch, 'chunk': inst.chunk, 'transfer': transfer})}"
    sense = "maximize" if inst.objective == "throughput" else "minimize"
    return f"{sense} {inst.objective}{_options({'parts': 'separate' if inst.separate else None})}"


def _rules(inst: Instance) -> Iterator[str]:
    words = {"Acyclic": "acyclic", "Contiguous": "contiguous", "Memory": "memory", "Colocate": "colocate",
             "Separate": "separate", "Pin": "pin", "Forbid": "forbid", "ExclusiveLinks": "exclusive links"}  # fmt: skip
    for rule in inst.rules:
        nodes = ", ".join(f"n{v}" for v in rule.nodes)
        yield f"constraint {_rule(rule, words, nodes)}"


def _rule(rule: Rule, words: dict[str, str], nodes: str) -> str:
    devices = "" if rule.devices is None else ", ".join(f"d{d}" for d in rule.devices)
    on = f" on {devices}" if devices else ""
    match rule.kind:
        case "Subgraphs":
            return f"subgraphs at most {rule.most}{on}"
        case "BatchSizes":
            return f"batch{on} in {list(rule.sizes)}"
        case "Replicate":
            return f"replicate {devices} up to {rule.most}{_options({'sync': rule.sync})}"
        case "BreakSymmetry":
            return f"break symmetry by {rule.by} (scope = {rule.scope})"
    parts = " (parts = forward)" if rule.parts == "forward" else ""
    return f"{words[rule.kind]} {nodes}{on}{parts}"


def _rows(inst: Instance) -> Iterator[str]:
    for i, row in enumerate(inst.rows):
        terms = " + ".join(f"{weight} * {_decision(term)}" for term, weight in row.terms.items())
        yield f"constraint r{i}: {terms.replace('+ -', '- ') or 0} {row.sense} {row.rhs}"


def _decision(term: Term) -> str:
    if len(term) == 1:
        return term[0]
    first = f"d{term[1]}" if term[0] == "load" else f"n{term[1]}"
    return f"{term[0]}({', '.join([first, *(f'd{d}' for d in term[2:])])})"
