"""Parts of the layers of a model: attention, router, experts, shared experts, dense network, and what adds up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mtpp_dsl.exchange.model.model import Model

PARTS = ("attention", "router", "experts", "shared_experts", "ffn", "combine")
"""All parts that a layer may have, in the order in which they mostly run."""
_GGUF = {
    "experts": re.compile(r"ffn_exps"),
    "shared_experts": re.compile(r"ffn_(?:gate|up|down|act|gate_inp)_shexp|ffn_shexp_mul"),
    "router": re.compile(r"ffn_gate_inp"),
    "ffn": re.compile(r"ffn_(?:gate|up|down|act)"),
}
"""How the importer of GGUF calls operators; the attention's are the others."""
_SHARED = {"shared_expert", "shared_experts", "shared_mlp", "shared_expert_gate"}
_ROUTERS = {"router", "gate"}
_NETWORKS = {"mlp", "feed_forward", "ffn", "block_sparse_moe", "moe"}


def parts_of_layers(model: Model) -> list[str]:
    """Return for each operator the part of its layer that it is of; "" outside of the layers.

    Modules of experts, routers and networks are known by what they are called. Of the others in a layer, those that
    depend on one of its experts, or on its network, combine: sums and weights. Those that depend on its router are of
    it, and the rest is attention. What lies between two operators of one part, in a direction in which nothing else
    can be, is of that part. So no part of a layer depends on a later one, unless experts depend on each other.
    """
    named = [_named(operator.path, operator.layer) for operator in model.operators]
    sparse = {o.layer for o, part in zip(model.operators, named, strict=True) if part == "experts"}
    for v, operator in enumerate(model.operators):
        if named[v] == "ffn" and operator.layer in sparse:
            named[v] = ""
        elif named[v] == "router" and operator.layer not in sparse:
            named[v] = "ffn" if _NETWORKS.intersection(operator.path.split(".")) else ""
    takes: list[list[int]] = [[] for _ in named]
    for u, v in model.edges:
        if model.operators[u].layer is not None and model.operators[u].layer == model.operators[v].layer:
            takes[v].append(u)
    behind = _reached(named, takes, range(model.n))
    readers: list[list[int]] = [[] for _ in named]
    for v, sources in enumerate(takes):
        for u in sources:
            readers[u].append(v)
    ahead = _reached(named, readers, range(model.n - 1, -1, -1))
    return [
        "" if operator.layer is None else named[v] or _between(behind[v], ahead[v])
        for v, operator in enumerate(model.operators)
    ]


def _between(behind: frozenset[str], ahead: frozenset[str]) -> str:
    """Return the part of an operator whose name does not say it, by the parts that it depends on, and that need it."""
    networks = {"experts", "shared_experts", "ffn"}
    both = sorted(behind & ahead & networks)
    if both:
        return both[0]
    if behind & networks:
        return "combine"
    return "router" if "router" in behind else "attention"


def _reached(named: Sequence[str], nexts: Sequence[Sequence[int]], order: range) -> list[frozenset[str]]:
    """Return for each operator the named parts from which it is reached; *nexts* of it stand earlier in *order*."""
    reached: list[frozenset[str]] = [frozenset()] * len(named)
    for v in order:
        names: set[str] = set()
        for u in nexts[v]:
            names |= reached[u]
            if named[u]:
                names.add(named[u])
        reached[v] = frozenset(names)
    return reached


def _named(path: str, layer: int | None) -> str:
    """Return the part that the path of an operator names; "" where it names none."""
    words = path.split(".")
    if layer is None or str(layer) not in words:
        return ""
    tail = words[words.index(str(layer)) + 1 :]
    if words[0] == "blk":
        matching = (part for part, pattern in _GGUF.items() if pattern.fullmatch(tail[0] if tail else ""))
        return next(matching, "")
    inside = set(tail)
    if inside & _SHARED:
        return "shared_experts"
    if "experts" in inside or inside & _ROUTERS:
        return "experts" if "experts" in inside else "router"
    return "ffn" if inside & _NETWORKS else ""
