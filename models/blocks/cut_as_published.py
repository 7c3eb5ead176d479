"""Which tensors a block pays for, by the rows that the paper prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.split_nets import SplitNets
from mtpp_dsl.models.blocks.tensor_cut import Cut, indicators


def published_cut(
    model: Any,
    on: On,
    parts: Sequence[int],
    exact: Sequence[int] = (),
    paying: Sequence[int] | None = None,
    split: SplitNets | None = None,
) -> Cut:
    """Add what ``tensor_cut`` adds by weaker rows, to measure by.

    Formula: ``c[u,b] >= y[p,b-1] + on(v,b) - 1`` and ``c[u,b] >= on(p,b) - y[v,b]``.
    Source -> target: the shared interconnect -> continuous ``c``. Exact, with the same exceptions.
    Reference: archer2024, eq. 9 and 10.
    """
    if set(parts) != set(parts if paying is None else paying) or split is not None:
        raise UsageError("in Figure 3 all blocks pay, and no net is known to be split")
    part = model.tensors = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=list(parts))
    part.c = pyo.Var(model.U, part.D, bounds=(0, 1))
    constrain(part, "into", model.EU, part.D, rule=lambda b, u, p, v, d: b.c[u, d] >= model.y[p, d] + on(v, d) - 1)
    constrain(part, "out_of", model.EU, part.D, rule=lambda b, u, p, v, d: b.c[u, d] >= on(p, d) - model.y[v, d + 1])
    if exact:
        indicators(model, part, on, exact)
    return lambda d, nets=model.U: sum(model.size[u] * part.c[u, d] for u in nets)
