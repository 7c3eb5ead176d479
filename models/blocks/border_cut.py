"""Which tensors cross the one border between two blocks."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.split_nets import SplitNets
from mtpp_dsl.models.blocks.tensor_cut import Cut


def border_cut(model: Any, *, exact: bool, split: SplitNets | None = None) -> Cut:
    """Add what two blocks pay, which is the same for both; returned as ``cut(d)``.

    Formula: ``c[u] >= y[p,1] - y[v,1]`` for every net u, its producer p and every consumer v; 1 for split nets.
    Source -> target: ``tensor_cut`` for two blocks in order -> half the variables and a quarter of the rows.
    Exact while nothing but the objective moves c; with *exact* ``c[u] <= y[p,1]`` and ``c[u] <= sum_v (1 - y[v,1])``
    make it the indicator. Reference: archer2024, eq. 8 to 10, for k = 2.
    """
    part = model.tensors = pyo.Block(concrete=True)
    part.c = pyo.Var(model.U, bounds=(0, 1))
    sure = set() if split is None else set(split.cliques)
    for u in sure:
        part.c[u].fix(1)
    part.EU = pyo.Set(initialize=[pair for pair in model.EU if pair[0] not in sure], dimen=3)
    constrain(part, "crosses", part.EU, rule=lambda b, u, p, v: b.c[u] >= model.y[p, 1] - model.y[v, 1])
    if exact:
        readers: dict[int, list[int]] = {}
        for u, _, v in model.EU:
            readers.setdefault(u, []).append(v)
        part.made = pyo.Set(initialize=sorted({(u, p) for u, p, _ in model.EU}), dimen=2)
        part.read = pyo.Set(model.U, initialize=readers)
        part.count = pyo.Param(model.U, initialize={u: len(its) for u, its in readers.items()})
        constrain(part, "made_before", part.made, rule=lambda b, u, p: b.c[u] <= model.y[p, 1])
        constrain(
            part, "read_after", model.U, rule=lambda b, u: b.c[u] <= b.count[u] - sum(model.y[v, 1] for v in b.read[u])
        )
    return lambda _, nets=model.U: sum(model.size[u] * part.c[u] for u in nets)
