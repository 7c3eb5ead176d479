"""Count what a node needs in memory while it runs, beside its weights: the tensors that are there at once."""

from __future__ import annotations

from collections.abc import Sequence

from mtpp_dsl.exchange.model.grouping import Grouping
from mtpp_dsl.exchange.model.model import Model

__all__ = ["working_bytes"]


def working_bytes(model: Model, found: Grouping, sizes: Sequence[float]) -> list[float]:
    """Return for each group the most bytes of tensors that are there at once while its operators run in their order.

    A tensor is there from the operator that makes it, or from the start if another group made it, to the last one that
    reads it, or to the end if other groups read it or the model gives it. Views share the tensor that they are of, and
    those of a weight, such as its transpose, the weight. Inputs of the model, weights, and the backward pass are not
    counted.

    Args:
        model: the model.
        found: its groups.
        sizes: bytes of each tensor.
    """
    made, taken, root = model.made, model.taken, _roots(model)
    of_weights = {t for v, each in enumerate(model.operators) if each.kind == "view" and not taken[v] for t in made[v]}
    given = {root[t] for t in model.outputs}
    folded = found.by != "operator"
    peaks = []
    for members in found.members:
        order = [v for v in members if not (folded and model.operators[v].backward)]
        inside = set(members)
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for step, v in enumerate(order):
            for t in taken[v]:
                first.setdefault(root[t], 0)
                last[root[t]] = max(step, last.get(root[t], 0))
            for t in made[v]:
                first.setdefault(root[t], step)
                last[root[t]] = max(step, last.get(root[t], 0))
                if root[t] in given or not inside.issuperset(model.tensors[t].readers):
                    last[root[t]] = len(order)
        change = [0.0] * (len(order) + 2)
        for t, step in first.items():
            if model.tensors[t].producer is not None and t not in of_weights:
                change[step] += sizes[t]
                change[last[t] + 1] -= sizes[t]
        now = peak = 0.0
        for each in change:
            now += each
            peak = max(peak, now)
        peaks.append(peak)
    return peaks


def _roots(model: Model) -> list[int]:
    """Return for each tensor the one whose memory it shares: a view that of the first tensor it reads."""
    root = list(range(len(model.tensors)))
    for v, operator in enumerate(model.operators):
        if operator.kind == "view" and model.taken[v]:
            for t in model.made[v]:
                root[t] = root[model.taken[v][0]]
    return root
