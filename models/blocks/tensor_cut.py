"""Which tensors a part pays for: it holds some, not all, of the producer and its consumers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo

from mtpp_dsl.errors import UsageError
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.components import constrain
from mtpp_dsl.models.facts.within import Facts

__all__ = ["Cut", "Split", "printed_cut", "tensor_cut"]

Cut: TypeAlias = Callable[..., Any]
"""What a part pays, for all nets or for those of a given set of the model."""


@dataclass(frozen=True)
class Split:
    """Nets of which no block of the plans of interest holds all pins: every block that holds one pays.

    Attributes:
        cliques: for each such net pins of which no two are in one block, one at least.
        several: parts that stand for several blocks, each of which may pay.
        everywhere: whether every node is in one of the parts that pay.
    """

    cliques: Mapping[int, Sequence[int]]
    several: Collection[int] = ()
    everywhere: bool = True

    @classmethod
    def of(cls, facts: Facts, several: Collection[int] = (), *, everywhere: bool = True) -> Split:
        """Return what *facts* say of the nets."""
        split = np.flatnonzero(facts.split).tolist()
        return cls({u: facts.cliques[u] for u in split}, several, everywhere)


def tensor_cut(
    model: Any,
    on: On,
    parts: Sequence[int],
    exact: Sequence[int] = (),
    paying: Sequence[int] | None = None,
    split: Split | None = None,
) -> Cut:
    """Add what each of *parts* pays for tensors; returned as ``cut(d)``, an expression in the model's unit.

    Formula: ``c[u,d] >= on(v,d) - on(p,d)`` and ``c[u,d] >= on(p,d) - on(v,d)`` for every net u, its producer p and
    every consumer v. ``cut(d, S)`` sums over the nets in S alone.
    Source -> target: the shared interconnect -> continuous ``c`` on ``U × parts``; the host interconnect -> the
    same for the parts in *paying*, and 0 for the others (tarnawski2020, section 3).
    Exact while nothing but the objective moves c: it is then pushed down onto the larger of the two. For the
    parts in *exact* the members M of a tensor's net (producer and consumers) add
    ``c[u,d] <= sum_{w in M} on(w,d)`` and ``c[u,d] <= sum_{w in M} (1 - on(w,d))``, which make c the indicator.
    Reference: archer2024, eq. 9 and 10, which these rows dominate (``y_vb >= x_vb``).

    Args:
        model: with ``U``, ``EU`` and ``size``.
        on: see :mod:`mtpp_dsl.models.blocks.assignment`.
        parts: who pays.
        exact: parts whose payments something pushes up.
        paying: see above.
        split: nets of which no block holds all pins, with rows of their own.
    """
    split = split or Split({})
    part = model.cut = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=list(parts))
    part.c = pyo.Var(model.U, part.D, bounds=lambda _, _u, d: (0, None if d in split.several else 1))
    free = set() if paying is None else set(parts) - set(paying)
    for u in model.U:
        for d in free:
            part.c[u, d].fix(0)
    part.paying = pyo.Set(initialize=[d for d in parts if d not in free])
    part.EU = pyo.Set(initialize=[pair for pair in model.EU if pair[0] not in split.cliques], dimen=3)
    constrain(part, "into", part.EU, part.paying, rule=lambda b, u, p, v, d: b.c[u, d] >= on(v, d) - on(p, d))
    constrain(part, "out_of", part.EU, part.paying, rule=lambda b, u, p, v, d: b.c[u, d] >= on(p, d) - on(v, d))
    if split.cliques:
        _split(model, part, on, split)
    if exact:
        _indicators(model, part, on, exact)
    return lambda d, nets=model.U: sum(model.size[u] * part.c[u, d] for u in nets)


def printed_cut(
    model: Any,
    on: On,
    parts: Sequence[int],
    exact: Sequence[int] = (),
    paying: Sequence[int] | None = None,
    split: Split | None = None,
) -> Cut:
    """Add the same by the rows of the paper, for measurements.

    Formula: ``c[u,b] >= y[p,b-1] + on(v,b) - 1`` and ``c[u,b] >= on(p,b) - y[v,b]``.
    Source -> target: as :func:`tensor_cut`, of which it is a weaker form; exact, with the same exceptions.
    Reference: archer2024, eq. 9 and 10.
    """
    if set(parts) != set(parts if paying is None else paying) or split is not None:
        raise UsageError("in Figure 3 all blocks pay, and no net is known to be split")
    part = model.cut = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=list(parts))
    part.c = pyo.Var(model.U, part.D, bounds=(0, 1))
    constrain(part, "into", model.EU, part.D, rule=lambda b, u, p, v, d: b.c[u, d] >= model.y[p, d] + on(v, d) - 1)
    constrain(part, "out_of", model.EU, part.D, rule=lambda b, u, p, v, d: b.c[u, d] >= on(p, d) - model.y[v, d + 1])
    if exact:
        _indicators(model, part, on, exact)
    return lambda d, nets=model.U: sum(model.size[u] * part.c[u, d] for u in nets)


def _split(model: Any, part: Any, on: On, split: Split) -> None:
    """Add what blocks pay for nets that no block holds all of.

    Formula: ``c[u,d] >= sum_{m in clique} on(m,d)``; ``c[u,d] >= on(m,d)`` for every other pin m; and, where the
    clique is a single pin, ``sum_d c[u,d] >= 2``.
    """
    pins = {u: [p] for u, p, _ in model.EU}
    for u, _, v in model.EU:
        pins[u].append(v)
    part.split = pyo.Set(initialize=sorted(split.cliques))
    part.clique = pyo.Set(part.split, initialize={u: list(clique) for u, clique in split.cliques.items()})
    part.others = pyo.Set(
        initialize=[(u, m) for u, clique in split.cliques.items() for m in pins[u] if m not in clique], dimen=2
    )
    constrain(part, "each", part.split, part.D, rule=lambda b, u, d: b.c[u, d] >= sum(on(m, d) for m in b.clique[u]))
    constrain(part, "any", part.others, part.D, rule=lambda b, u, m, d: b.c[u, d] >= on(m, d))
    part.twice = pyo.Set(initialize=[u for u, clique in split.cliques.items() if len(clique) == 1 and split.everywhere])
    constrain(part, "two", part.twice, rule=lambda b, u: sum(b.c[u, d] for d in b.D) >= 2)


def _indicators(model: Any, part: Any, on: On, exact: Sequence[int]) -> None:
    nets: dict[int, list[int]] = {}
    for u, p, v in model.EU:
        nets.setdefault(u, [p]).append(v)
    part.exact = pyo.Set(initialize=list(exact))
    part.net = pyo.Set(model.U, initialize=nets)
    part.pins = pyo.Param(model.U, initialize={u: len(net) for u, net in nets.items()})
    constrain(part, "some", model.U, part.exact, rule=lambda b, u, d: b.c[u, d] <= sum(on(w, d) for w in b.net[u]))
    constrain(
        part,
        "not_all",
        model.U,
        part.exact,
        rule=lambda b, u, d: b.c[u, d] <= b.pins[u] - sum(on(w, d) for w in b.net[u]),
    )
