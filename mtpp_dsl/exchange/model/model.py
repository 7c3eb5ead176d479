"""Hold a model as an importer reads it, and check it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core.base.lazy import late
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.exchange.model.checks import check_model
from mtpp_dsl.exchange.model.parts import ModelParts


@dataclass(frozen=True, repr=False)
class Model(ModelParts):
    """A model as data: what importers make, and what ``model.json`` holds.

    Attributes:
        operators: in an order in which they can run: each stands after those whose tensors it reads.
        tensors: what they make and read, and what the model is given.
        weights: one for each storage.
        outputs: the numbers of the tensors that the model gives.
        symbols: by name, what sizes speak of.
        phases: names, where amounts may differ by phase; () for one that has no name.
        source: where it came from.
        warnings: what the user should be told.
        group_by: "operator", "module", "part" or "layer" unless another one is given; "" for the usual.
        experts_read: "expected" or "all_distinct" unless another one is given; "" for the usual.

    Raises:
        UsageError: numbers, names or sizes that cannot be meant; see :mod:`mtpp_dsl.exchange.model.checks`.

    >>> from mtpp_dsl.exchange.model.parts import Operator, Symbol, Tensor
    >>> a, b = Operator("a", flop="2*batch", write="4*batch"), Operator("b", flop=0, read="4*batch")
    >>> model = Model((a, b), (Tensor("x", 0, (1,), "4*batch"),), symbols={"batch": Symbol(8)})
    >>> model.n, list(model.edges)
    (2, [(0, 1)])
    """

    def __post_init__(self) -> None:
        check_model(self)

    @property
    def n(self) -> int:
        """Number of operators."""
        return len(self.operators)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The numbers of the tensors that the model is given."""
        return tuple(t for t, tensor in enumerate(self.tensors) if tensor.producer is None)

    def graph(self, **options: Any) -> Graph:
        """Return the graph of the model, for a problem.

        :func:`mtpp_dsl.exchange.model.graphs.graph_of` has the options.

        >>> from mtpp_dsl.exchange.model.parts import Operator, Tensor
        >>> a, b = Operator("a", layer=0, flop=4, write=2), Operator("b", layer=1, flop=2)
        >>> Model((a, b), (Tensor("x", 0, (1,), 2),)).graph(group_by="layer").names
        ('layer[0]', 'layer[1]')
        """
        made: Graph = late("mtpp_dsl.exchange.model.graphs:graph_of")(self, **options).graph
        return made

    @property
    def edges(self) -> Iterator[tuple[int, int]]:
        """Who reads what whom makes, tensor by tensor: (producer, reader)."""
        for tensor in self.tensors:
            if tensor.producer is not None:
                yield from ((tensor.producer, reader) for reader in tensor.readers)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The number of an operator by its name."""
        return MappingProxyType({operator.name: number for number, operator in enumerate(self.operators)})

    @cached_property
    def made(self) -> tuple[tuple[int, ...], ...]:
        """For each operator the numbers of the tensors that it makes."""
        return _by_operator(self.n, ((t, [tensor.producer]) for t, tensor in enumerate(self.tensors)))

    @cached_property
    def taken(self) -> tuple[tuple[int, ...], ...]:
        """For each operator the numbers of the tensors that it reads."""
        return _by_operator(self.n, ((t, tensor.readers) for t, tensor in enumerate(self.tensors)))


def _by_operator(n: int, owned: Iterable[tuple[int, Iterable[int | None]]]) -> tuple[tuple[int, ...], ...]:
    """Return for each operator the numbers of what it belongs to."""
    rows: list[list[int]] = [[] for _ in range(n)]
    for number, operators in owned:
        for operator in operators:
            if operator is not None:
                rows[operator].append(number)
    return tuple(map(tuple, rows))
