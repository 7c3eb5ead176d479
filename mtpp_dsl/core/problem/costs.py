"""Hold what the operators of a node do on any device: operations, bytes read and written. A law makes times of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mtpp_dsl.core.base.data_classes import Picklable
from mtpp_dsl.core.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]


class TimeSource(IntEnum):
    """Where the time of a node on a device is from."""

    GIVEN = 0
    """The spec, or the graph's file, says it."""
    MODELLED = 1
    """A law made it of costs."""
    MEASURED = 2
    """A file of measurements says it."""


@dataclass(frozen=True, eq=False, repr=False)
class Costs(Picklable):
    """Costs of the operators of a graph's nodes, one item each; build them with :meth:`create`.

    A node that somebody wrote by hand is one item. A node that stands for a group of operators, such as a layer, has
    the items of all of them: its time is the sum of theirs.

    Attributes:
        owner: [items] number of the node that has the item, ascending.
        flop: [items] floating-point operations; nan where unknown.
        read, write: [items] bytes read from memory and written to it; nan where they are not given. In place of these
            :meth:`settled` has those of the node's parameters and tensors.
        kinds: [items] kind of operator, such as "matmul"; "" where none is given.
        dtypes: [items] type of numbers that it computes with, such as "bf16"; "" where none is given.
        weight_types: [items] type of numbers that its weights are stored in, such as "int4"; "" where none is given.
        names: [items] name of the operator in the model; "" where it is that of the node.
    """

    owner: Ints
    flop: Floats
    read: Floats
    write: Floats
    kinds: tuple[str, ...]
    dtypes: tuple[str, ...]
    weight_types: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def create(
        cls,
        owner: ArrayLike,
        *,
        flop: ArrayLike,
        read: ArrayLike = np.nan,
        write: ArrayLike = np.nan,
        kinds: Sequence[str] | None = None,
        dtypes: Sequence[str] | None = None,
        weight_types: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ) -> Costs:
        """Check and store costs, sorted by node; items of one node stay in their order.

        Scalars are spread over all items.

        Raises:
            UsageError: columns of different lengths; a number that is negative or infinite.
        """
        owners = np.asarray(owner, np.int64)
        count = len(owners)
        order = np.argsort(owners, kind="stable")
        return cls(
            owner=_ints(owners[order]),
            flop=_floats(_numbers("flop", flop, count)[order]),
            read=_floats(_numbers("read", read, count)[order]),
            write=_floats(_numbers("write", write, count)[order]),
            kinds=_texts("kinds", kinds, order),
            dtypes=_texts("dtypes", dtypes, order),
            weight_types=_texts("weight_types", weight_types, order),
            names=_texts("names", names, order),
        )

    def __len__(self) -> int:
        return len(self.owner)

    def __repr__(self) -> str:
        return f"Costs({len(self):,} items)"

    def __eq__(self, other: object) -> bool:
        """Return whether all columns are equal; a number that is not given equals one that is not."""
        if not isinstance(other, Costs):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        numbers = ("owner", "flop", "read", "write")
        return all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in numbers) and all(
            mine[name] == theirs[name] for name in ("kinds", "dtypes", "weight_types", "names")
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def offsets(self) -> Ints:
        """[nodes with items + 1] first item of each node that has some, ascending; the last entry is their number."""
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        return _ints(np.append(starts, len(self)))

    @property
    def nodes(self) -> Ints:
        """The numbers of the nodes that have items, ascending."""
        nodes: Ints = self.owner[self.offsets[:-1]]
        return nodes

    def items_of(self, v: int) -> range:
        """Return the items of node *v*; none where nothing is said of what it does."""
        first, beyond = np.searchsorted(self.owner, [v, v + 1])
        return range(int(first), int(beyond))

    def per_node(self, column: Floats, n: int) -> Floats:
        """Return [n] the sums of a column over the items of each node; nan where one of them is not given."""
        return np.bincount(self.owner, column, n)[:n].astype(np.float64)

    def settled(self, params: Floats, inputs: Floats, output: Floats) -> Costs:
        """Return the costs with what is read and written filled in for nodes of one item that do not say it.

        Such a node reads its parameters and the tensors of the nodes before it, and writes its own tensor.

        Args:
            params: [n] bytes of parameters.
            inputs: [n] bytes of all tensors that a node reads.
            output: [n] bytes of the tensor that it makes.

        Raises:
            UsageError: one of several items of a node does not say what it reads or writes.
        """
        alone = np.bincount(self.owner)[self.owner] == 1 if len(self) else np.zeros(0, np.bool_)
        unsaid = (np.isnan(self.read) | np.isnan(self.write)) & ~alone
        if unsaid.any():
            item = int(np.flatnonzero(unsaid)[0])
            name = self.names[item] or f"number {item}"
            raise UsageError(f"operator {name} does not say what it reads and writes; only a node of its own may not")
        usual = (
            (params + inputs)[self.owner] if len(self) else self.read,
            output[self.owner] if len(self) else self.write,
        )
        read, write = (
            _floats(np.where(np.isnan(given), other, given))
            for given, other in zip((self.read, self.write), usual, strict=True)
        )
        return Costs(self.owner, self.flop, read, write, self.kinds, self.dtypes, self.weight_types, self.names)


def _ints(values: ArrayLike) -> Ints:
    array = np.array(values, np.int64)
    array.setflags(write=False)
    return array


def _floats(values: ArrayLike) -> Floats:
    array = np.array(values, np.float64)
    array.setflags(write=False)
    return array


def _numbers(name: str, column: ArrayLike, count: int) -> Floats:
    array = np.asarray(column, np.float64)
    if array.shape not in ((), (count,)):
        raise UsageError(f"{name} has {array.shape} entries for {count} operators")
    array = np.broadcast_to(array, (count,))
    if (array < 0).any() or np.isinf(array).any():
        item = int(np.flatnonzero((array < 0) | np.isinf(array))[0])
        raise UsageError(f"{name} of operator {item} is {array[item]:g}; it must be a number, zero or more")
    return array


def _texts(name: str, column: Sequence[str] | None, order: Ints) -> tuple[str, ...]:
    if column is None:
        return ("",) * len(order)
    if len(column) != len(order):
        raise UsageError(f"{name} has {len(column)} entries for {len(order)} operators")
    return tuple(column[item] for item in order.tolist())
