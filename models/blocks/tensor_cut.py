"""Which tensors a part pays for: it holds some, not all, of the producer and its consumers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.components import constrain
from mtpp_dsl.models.blocks.split_nets import SplitNets, split_cut

Cut: TypeAlias = Callable[..., Any]
"""What a part pays, for all nets or for those of a given set of the model."""


def tensor_cut(
    model: Any,
    on: On,
    parts: Sequence[int],
    exact: Sequence[int] = (),
    paying: Sequence[int] | None = None,
    split: SplitNets | None = None,
) -> Cut:
    """Add what each of *parts* pays for tensors; returned as ``cut(d)``, an expression in the model's unit.

    Formula: ``c[u,d] >= on(v,d) - on(p,d)`` and ``c[u,d] >= on(p,d) - on(v,d)`` for every net u, its producer p and
    every consumer v. ``cut(d, S)`` sums over the nets in S alone. Of parts in order (``prefix_order``) nothing enters
    the first and nothing leaves the last: those rows are left out.
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
    split = split or SplitNets({})
    part = model.tensors = pyo.Block(concrete=True)
    part.D = pyo.Set(initialize=list(parts))
    part.c = pyo.Var(model.U, part.D, bounds=lambda _, _u, d: (0, None if d in split.several else 1))
    free = set() if paying is None else set(parts) - set(paying)
    for u in model.U:
        for d in free:
            part.c[u, d].fix(0)
    part.paying = pyo.Set(initialize=[d for d in parts if d not in free])
    part.EU = pyo.Set(initialize=[pair for pair in model.EU if pair[0] not in split.cliques], dimen=3)
    ends = (0, len(model.D) - 1) if model.component("ideal") is not None else (None, None)
    part.entered, part.left = (pyo.Set(initialize=[d for d in part.paying if d != end]) for end in ends)
    constrain(part, "into", part.EU, part.entered, rule=lambda b, u, p, v, d: b.c[u, d] >= on(v, d) - on(p, d))
    constrain(part, "out_of", part.EU, part.left, rule=lambda b, u, p, v, d: b.c[u, d] >= on(p, d) - on(v, d))
    if split.cliques:
        split_cut(model, part, on, split)
    if exact:
        indicators(model, part, on, exact)
    return lambda d, nets=model.U: sum(model.size[u] * part.c[u, d] for u in nets)


def indicators(model: Any, part: Any, on: On, exact: Sequence[int]) -> None:
    """Add the rows of :func:`tensor_cut` that hold c down in the parts *exact*."""
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
