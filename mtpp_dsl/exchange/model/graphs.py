"""A model as a graph: groups of its operators as nodes, with their costs, their memory and what they send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.costs import Costs
from mtpp_dsl.core.problem.graph import Floats, Graph
from mtpp_dsl.core.problem.graph_origin import GraphOrigin, Tie
from mtpp_dsl.core.problem.phases import phased_graph
from mtpp_dsl.exchange.model.choices import Choices, choices, stored_bytes
from mtpp_dsl.exchange.model.grouping import LAYERED, Grouping, group
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Amount, Operator
from mtpp_dsl.exchange.model.sizes import SizeValues

__all__ = ["graph_of", "working_bytes"]


@dataclass(frozen=True)
class ModelGraph:
    """A graph of a model, and what the user should be told of it."""

    graph: Graph
    warnings: tuple[str, ...]


def graph_of(
    model: Model,
    *,
    group_by: str | None = None,
    phase: str | None = None,
    weight_type: str | None = None,
    ties: str = "colocate",
    experts_read: str | None = None,
    **symbols: int,
) -> ModelGraph:
    """Return the graph of a model, whose nodes are groups of its operators.

    Of a node,

    * ``params`` are the bytes of the weights that its operators read, each weight counted once;
    * ``memory`` is params, and what is kept from step to step, which is its ``cache``. What is there only while a node
      runs is ``origin.working``: a device needs the most of any of its nodes, which its ``reserve`` is for;
    * ``output`` are the bytes of all its tensors that other nodes read; the ``size`` of an edge those that its reader
      reads. Gradients that come back count with the tensors that went;
    * ``costs`` are those of its operators, one item each. Operators that are computed anew in several nodes cost
      something in the first of them only, as a device computes them once;
    * ``saved`` and ``state`` are what training keeps, where the model says it; ``forward`` is the share of the forward
      pass in the operations.

    Work is zero: times come from the costs by a law, or from elsewhere.

    Args:
        model: the model.
        group_by: "operator", "module", "part" or "layer", see :func:`mtpp_dsl.exchange.model.grouping.group`; None: as
            the model says, else by layer, or by operator where no operator is of a layer.
        phase: the one that counts; None: all of them, as phases of the graph.
        weight_type: how weights of products and convolutions are stored, such as "int4"; None: as they are.
        ties: "colocate": nodes that read one weight are on one device, and it is counted once. "copy": each of these
            nodes has a copy of its own.
        experts_read: "expected": as many experts as tokens read on average if the router is uniform; "all_distinct": as
            many as they can read; None: as the model says, else expected.
        symbols: values of the model's symbols, such as ``batch``; the model's defaults for others.

    Raises:
        UsageError: an option or a symbol that cannot be meant, or a size below zero.
    """
    chosen = choices(model, group_by, phase, weight_type, ties, experts_read, symbols)
    grouping = group(model, chosen.group_by)
    holdings = _Holdings.of(model, grouping, chosen)
    warnings = [*model.warnings, *grouping.warnings]
    if grouping.n == 1 < len(model.operators) and grouping.by != "operator":
        warnings.append(
            f"group_by = {grouping.by} makes one node of all operators, as none of them names its {grouping.by}: "
            "say group_by = operator"
        )
    if weight_type is not None and not any(holdings.changed):
        warnings.append(f"weight_type = {weight_type} changes nothing: no product or convolution reads a weight")
    if experts_read is not None and not any("experts(" in str(operator.weight_read) for operator in model.operators):
        warnings.append(
            f"experts_read = {experts_read} changes nothing: no operator of the model chooses among experts"
        )
    flows = _Flows(model, grouping)
    sent = {name: _sent(model, chosen, name) for name in chosen.phases or ("",)}
    origin = GraphOrigin(
        model,
        grouping.by,
        grouping.members,
        grouping.layers,
        grouping.roles,
        MappingProxyType(dict(chosen.symbols)),
        MappingProxyType(chosen.options()),
        ties=holdings.ties,
        working=tuple(map(max, zip(*(working_bytes(model, grouping, sizes) for sizes in sent.values()), strict=True))),
    )
    graphs: dict[str, Graph] = {}
    for name, sizes in sent.items():
        kinds = next(iter(graphs.values())).kinds if graphs else None  # of the first phase
        graphs[name] = _graph(model, grouping, chosen, holdings, flows, origin, sizes, name, kinds)
    graph = phased_graph(graphs) if len(graphs) > 1 else next(iter(graphs.values()))
    return ModelGraph(graph, tuple(warnings))


@dataclass
class _Holdings:
    """The weights that groups hold.

    Attributes:
        stored: bytes of each weight, as it is stored.
        changed: for each weight whether its type is the one that was chosen.
        params, state: for each group the bytes of its weights, and what training holds of them.
        ties: groups that read one weight, where it is not copied.
    """

    stored: list[int]
    changed: list[bool]
    params: list[int]
    state: list[int]
    ties: tuple[Tie, ...] = ()

    @classmethod
    def of(cls, model: Model, grouping: Grouping, chosen: Choices) -> _Holdings:
        """Return who holds what."""
        holdings = cls(*stored_bytes(model, chosen.weight_type), [0] * grouping.n, [0] * grouping.n)
        own: list[set[int]] = [set() for _ in model.weights]  # groups with operators that read the weight
        again: list[set[int]] = [set() for _ in model.weights]  # groups with copies of operators that read it
        for g, members in enumerate(grouping.members):
            for v in members:
                for w in model.operators[v].weights:
                    (again if v in grouping.copied[g] else own)[w].add(g)
        tied: dict[tuple[int, ...], list[int]] = {}
        for w, weight in enumerate(model.weights):
            groups = sorted(own[w])
            one = chosen.ties == "colocate" and len(groups) > 1
            if one:
                tied.setdefault(tuple(groups), []).append(w)
            for g in {*(groups[:1] if one else groups), *(again[w] - own[w])}:
                holdings.params[g] += holdings.stored[w]
                holdings.state[g] += holdings.stored[w] if weight.state is None else weight.state
        holdings.ties = tuple(Tie(groups, _tie_name(model, weights)) for groups, weights in tied.items())
        return holdings


def _tie_name(model: Model, weights: Sequence[int]) -> str:
    """Return what a tie is called in messages: the names of the parameters."""
    first = model.weights[weights[0]]
    names = [first.name, *first.tied] if first.tied else [model.weights[w].name for w in weights]
    what = "tied weights" if len(names) > 1 else "weight"
    return f"{what} {', '.join(names[:3])}{', …' if len(names) > 3 or (first.tied and len(weights) > 1) else ''}"


@dataclass
class _Flows:
    """Which tensors go from which group to which.

    Attributes:
        pairs: the tensors of each pair of groups; of gradients the pair that they come back by.
        leaving: the tensors that each group sends.
    """

    model: Model
    grouping: Grouping
    pairs: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    leaving: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        model, grouping = self.model, self.grouping
        self.leaving = [[] for _ in range(grouping.n)]
        copies: dict[int, list[int]] = {}
        for g, again in enumerate(grouping.copied):
            for v in again:
                copies.setdefault(v, []).append(g)
        for t, tensor in enumerate(model.tensors):
            u = tensor.producer
            if u is None or u in copies:
                continue
            home = grouping.home[u]
            groups = {g for v in tensor.readers for g in copies.get(v, (grouping.home[v],))} - {home}
            ends = {(min(home, g), max(home, g)) for g in groups}  # a gradient comes back along the edge
            for pair in ends:
                self.pairs.setdefault(pair, []).append(t)
            for g in {pair[0] for pair in ends}:
                self.leaving[g].append(t)


def _sent(model: Model, chosen: Choices, phase: str) -> list[float]:
    """Return the bytes of each tensor in a phase."""
    amounts = _Amounts(model, chosen, phase)
    return [amounts.of(tensor.bytes, f"tensor {tensor.name!r}") for tensor in model.tensors]


def _graph(
    model: Model,
    grouping: Grouping,
    chosen: Choices,
    holdings: _Holdings,
    flows: _Flows,
    origin: GraphOrigin,
    sent: Sequence[float],
    phase: str,
    kinds: Sequence[str] | None,
) -> Graph:
    """Return the graph of one phase, whose tensors are *sent*; "" of a model without phases.

    Nodes are of the given *kinds*; None: as their costs say.
    """
    amounts = _Amounts(model, chosen, phase)
    output = np.array([sum(sent[t] for t in tensors) for tensors in flows.leaving])
    pairs = sorted(flows.pairs)
    cache, saved, trained = np.zeros(grouping.n), np.zeros(grouping.n), False
    for v, operator in enumerate(model.operators):
        cache[grouping.home[v]] += amounts.of(operator.cache, f"cache of {operator.name!r}")
        if operator.saved != 0:
            saved[grouping.home[v]] += amounts.of(operator.saved, f"saved of {operator.name!r}")
            trained = True
    costs = _costs(model, grouping, chosen, holdings, amounts)
    backward = [grouping.by == "operator" and model.operators[members[-1]].backward for members in grouping.members]
    folded = grouping.by != "operator" and any(operator.backward for operator in model.operators)
    stateful = folded or any(weight.state is not None for weight in model.weights)
    params = np.array(holdings.params, np.float64)
    return Graph.create(
        grouping.names,
        pairs,
        params=params,
        output=output,
        memory=params + cache,
        cache=cache,
        sizes=[sum(sent[t] for t in flows.pairs[pair]) for pair in pairs],
        kinds=kinds or [_kind(model, grouping, costs, g) for g in range(grouping.n)],
        labels=grouping.paths,
        backward=backward,
        saved=saved if trained else None,
        state=np.array(holdings.state, np.float64) if stateful else None,
        forward_share=_forward(model, grouping, costs) if folded else None,
        work_unit="s",
        size_unit="B",
        costs=costs,
        origin=origin,
    )


class _Amounts:
    """Evaluates the amounts of a model in one phase."""

    def __init__(self, model: Model, chosen: Choices, phase: str) -> None:
        self.values, self.phase = SizeValues(chosen.symbols, chosen.experts_read), phase
        if model.phases and not phase:
            raise UsageError(f"the model has phases: {', '.join(model.phases)}")

    def of(self, amount: Amount | None, what: str) -> float:
        """Return an amount as a number; nan for None. *what* it is of, for messages."""
        if amount is None:
            return float("nan")
        size = amount.get(self.phase, 0) if isinstance(amount, Mapping) else amount
        try:
            return self.values(size)
        except UsageError as error:
            raise UsageError(f"{what}: {error}") from None


def _costs(model: Model, grouping: Grouping, chosen: Choices, holdings: _Holdings, amounts: _Amounts) -> Costs:
    """Return what each operator does, by the group that computes it first, in the order of the model."""
    rows: dict[str, list[Any]] = {what: [] for what in ("flop", "read", "write", "types")}
    for operator in model.operators:
        name = operator.name
        rows["flop"].append(amounts.of(operator.flop, f"flop of {name!r}"))
        weights, stored_in = _weights_read(model, operator, holdings, amounts, chosen.weight_type)
        rows["read"].append(amounts.of(operator.read, f"read of {name!r}") + weights)
        rows["write"].append(amounts.of(operator.write, f"write of {name!r}"))
        rows["types"].append(stored_in)
    return Costs.create(
        grouping.home,
        flop=rows["flop"],
        read=rows["read"],
        write=rows["write"],
        kinds=[operator.kind for operator in model.operators],
        dtypes=[operator.dtype for operator in model.operators],
        weight_types=rows["types"],
        names=[operator.name for operator in model.operators],
    )


def _weights_read(
    model: Model, operator: Operator, holdings: _Holdings, amounts: _Amounts, weight_type: str | None
) -> tuple[float, str]:
    """Return the bytes of weights that an operator reads, as they are stored, and the type of most of these bytes."""
    if not operator.weights:
        return 0.0, ""
    stored = sum(holdings.stored[w] for w in operator.weights)
    largest = max(operator.weights, key=lambda w: holdings.stored[w])
    dtype = weight_type if holdings.changed[largest] and weight_type else model.weights[largest].dtype
    if operator.weight_read is None:
        return float(stored), dtype
    before = sum(model.weights[w].bytes for w in operator.weights)
    share = stored / before if before else 1.0
    return amounts.of(operator.weight_read, f"weight_read of {operator.name!r}") * share, dtype


def _kind(model: Model, grouping: Grouping, costs: Costs, g: int) -> str:
    """Return the kind of a node: of a layer its role or part, else the kind with most operations, and then bytes."""
    if grouping.parts[g]:
        return grouping.parts[g]
    own = {model.operators[v].name for v in grouping.members[g] if v not in grouping.copied[g]}
    if grouping.by in LAYERED and grouping.roles[g]:
        return grouping.roles[g]
    by_kind: dict[str, tuple[float, float]] = {}
    for item in costs.items_of(g):
        if costs.names[item] in own:
            flop, moved = by_kind.get(costs.kinds[item], (0.0, 0.0))
            moved += costs.read[item] + costs.write[item]
            by_kind[costs.kinds[item]] = (flop + np.nan_to_num(costs.flop[item]), moved)
    return max(by_kind, key=lambda kind: by_kind[kind])


def _forward(model: Model, grouping: Grouping, costs: Costs) -> Floats:
    """Return [n] which share of the operations of each node is of its forward pass; of the bytes where there are none.

    Operators of unknown cost are left out of it.
    """
    backward = np.array([operator.backward for operator in model.operators])
    first = np.argsort(np.array(grouping.home), kind="stable")  # the order of the items
    share = np.ones(grouping.n)
    for column in (costs.read + costs.write, np.nan_to_num(costs.flop)):
        whole = np.bincount(costs.owner, column, grouping.n)
        ahead = np.bincount(costs.owner, np.where(backward[first], 0.0, column), grouping.n)
        share = np.divide(ahead, whole, out=share, where=whole > 0)
    return share


def working_bytes(model: Model, grouping: Grouping, sizes: Sequence[float]) -> list[float]:
    """Return for each group the most bytes of tensors that are there at once while its operators run in their order.

    A tensor is there from the operator that makes it, or from the start if another group made it, to the last one that
    reads it, or to the end if other groups read it or the model gives it. Views share the tensor that they are of, and
    those of a weight, such as its transpose, the weight. Inputs of the model, weights, and the backward pass are not
    counted.

    Args:
        model: the model.
        grouping: its groups.
        sizes: bytes of each tensor.
    """
    made, taken, root = model.made, model.taken, _roots(model)
    of_weights = {
        t for v, operator in enumerate(model.operators) if operator.kind == "view" and not taken[v] for t in made[v]
    }
    given = {root[t] for t in model.outputs}
    folded = grouping.by != "operator"
    peaks = []
    for members in grouping.members:
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
        for amount in change:
            now += amount
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
