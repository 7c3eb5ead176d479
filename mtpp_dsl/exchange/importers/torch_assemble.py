"""From what a program of torch holds to a model: amounts as formulas, layers, and what may be recomputed."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mtpp_dsl.exchange.importers.module_paths import with_layers
from mtpp_dsl.exchange.importers.torch_costs import bytes_of
from mtpp_dsl.exchange.importers.torch_graph import Drawn, NotAFormula, ProgramCall, Value, size_of
from mtpp_dsl.exchange.importers.torch_kinds import dtype_name, operation
from mtpp_dsl.exchange.importers.torch_names import module_path
from mtpp_dsl.exchange.model.parts import Operator, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import Size, value

__all__ = ["AssembledParts", "Kept", "parts_of"]


@dataclass(frozen=True)
class Kept:
    """What is kept from one step to the next, such as the keys and values of attention.

    Attributes:
        inputs: numbers of the inputs that hold what earlier steps kept.
        outputs: numbers of the outputs that are kept.
        limits: of the outputs of which fewer tokens are kept than there are: formulas in place of symbols.
        idle: paths of modules that are kept for another step, and that this one does not run.
    """

    inputs: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()
    limits: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    idle: tuple[str, ...] = ()


@dataclass(frozen=True)
class AssembledParts:
    """The parts of a model, and which call each operator is.

    Attributes:
        operators, tensors, weights, outputs, warnings: as in :class:`mtpp_dsl.exchange.model.model.Model`.
        tensor_numbers: by the call that makes a tensor and its place there, and by ("input", number).
    """

    operators: tuple[Operator, ...]
    tensors: tuple[Tensor, ...]
    weights: tuple[Weight, ...]
    outputs: tuple[int, ...]
    warnings: tuple[str, ...]
    tensor_numbers: Mapping[tuple[Any, ...], int]


def parts_of(drawn: Drawn, *, flops: Mapping[str, Size], kept: Kept = Kept()) -> AssembledParts:
    """Return the parts of a model.

    Args:
        drawn: what the program holds.
        flops: the FLOP of operations or single operators, by their names, as the user gives them.
        kept: which inputs and outputs are caches.
    """
    again, constants = recomputable(drawn)
    read = {value.root[1] for call in drawn.calls for value in call.values if value and value.root[0] == "weight"}
    kept_weights = [at for at in range(len(drawn.weights)) if at in read and at not in constants]
    numbers = {at: number for number, at in enumerate(kept_weights)}
    writer = _Writer(drawn, flops, kept, numbers)
    operators = [writer.operator(call) for call in drawn.calls]
    _add_caches(drawn, kept, operators)
    operators = [
        replace(operator, recomputable=True) if at in again else operator for at, operator in enumerate(operators)
    ]
    tensors, places = _tensors(drawn)
    outputs = [_key(value) for at, value in enumerate(drawn.outputs) if value is not None and at not in kept.outputs]
    warnings = [*drawn.exported.warnings, *writer.warnings(), *_unread(drawn, read, kept.idle)]
    return AssembledParts(
        with_layers(operators),
        tuple(tensors),
        tuple(drawn.weights[at] for at in kept_weights),
        tuple(dict.fromkeys(places[key] for key in outputs if key in places)),
        tuple(warnings),
        places,
    )


def _key(value: Value) -> tuple[Any, ...]:
    """Return what names a tensor: who makes it and its place there, or that it is given."""
    return value.made if value.made is not None else value.root


class _Writer:
    """Makes operators of calls; what cannot be counted is remembered."""

    def __init__(self, drawn: Drawn, flops: Mapping[str, Size], kept: Kept, weights: Mapping[int, int]) -> None:
        self.drawn, self.flops, self.kept, self.weights = drawn, flops, kept, weights
        self.used: set[str] = set()
        self.uncounted: Counts[str] = Counts()
        self.depends: Counts[str] = Counts()

    def operator(self, call: ProgramCall) -> Operator:
        """Return the operator that a call is."""
        op = str(call.node.target)
        reads, write = self._traffic(call)
        weighed = [(at, value.root[1]) for at, value in enumerate(call.values) if value and value.root[0] == "weight"]
        weights = {self.weights[w] for _, w in weighed if w in self.weights}
        of_weights = sum(reads[at] for at, w in weighed if w in self.weights)
        others = sum(amount for at, amount in enumerate(reads) if at not in {at for at, _ in weighed})
        whole = sum(self.drawn.weights[w].bytes for w in {w for _, w in weighed if w in self.weights})
        sizes = [self._size(number) for number in (others, write, of_weights)]
        flop = self._flop(call, op)
        if None in sizes and flop is not None and not self._given(call, op):
            flop = None
            self.depends[op.rpartition(".")[0]] += 1
        read, written, weight_read = (0 if size is None else size for size in sizes)
        return Operator(
            name=call.name,
            op=op,
            id=call.node.name,
            kind=call.kind,
            dtype=call.dtype,
            path=module_path(call.node),
            flop=flop,
            read=read,
            write=written,
            weights=tuple(sorted(weights)),
            weight_read=None if weight_read == whole else weight_read,
        )

    def _traffic(self, call: ProgramCall) -> tuple[list[Any], Any]:
        """Return the bytes read of each input, and written: what is appended to a cache leaves the rest in place."""
        reads, write = list(call.cost.reads), call.cost.write
        roots = [value.root if value is not None else None for value in call.values]
        cached = {at for at, root in enumerate(roots) if root and root[0] == "input" and root[1] in self.kept.inputs}
        if cached and operation(call.node.target) in ("cat", "concat"):
            reads = [0 if at in cached else amount for at, amount in enumerate(reads)]
            write = sum(reads)
        return reads, write

    def _given(self, call: ProgramCall, op: str) -> str | None:
        """Return the name under which the user gives the FLOP of a call."""
        names = (call.name, op, op.rpartition(".")[0], operation(call.node.target))
        return next((name for name in names if name in self.flops), None)

    def _flop(self, call: ProgramCall, op: str) -> Size | None:
        packet, given = op.rpartition(".")[0] or op, self._given(call, op)  # cond has no overloads
        if given is not None:
            self.used.add(given)
            return self.flops[given]
        if call.cost.flop is None:
            self.uncounted[packet] += 1
            return None
        try:
            return self.drawn.size(call.cost.flop)
        except NotAFormula:
            self.depends[packet] += 1
            return None

    def _size(self, number: Any) -> Size | None:
        """Return a number as a size; None where it depends on the data."""
        try:
            return self.drawn.size(number)
        except NotAFormula:
            return None

    def warnings(self) -> list[str]:
        """Return warnings: operators that are not counted, and counts that were given and are not used."""
        warnings = [
            f"the FLOP of {op} ({times} times) are unknown; give them: --flop '{op}=FORMULA'"
            for op, times in sorted(self.uncounted.items())
        ]
        warnings += [
            f"sizes of {op} depend on the data ({times} times), so its cost is unknown; give it: --flop '{op}=FORMULA'"
            for op, times in sorted(self.depends.items())
        ]
        return warnings + [
            f"--flop {name}: the model has no such operator" for name in self.flops if name not in self.used
        ]


def _add_caches(drawn: Drawn, kept: Kept, operators: list[Operator]) -> None:
    """Give the operators that make what is kept the bytes that it takes."""
    for at in sorted(kept.outputs):
        value = drawn.outputs[at] if at < len(drawn.outputs) else None
        if value is None or value.root[0] != "call":
            continue
        limits = kept.limits.get(at, {})
        names = {sign: limits.get(name, name) for sign, name in drawn.exported.names.items()}
        number = value.root[1]
        amount, before = size_of(bytes_of(value.tensor), names), operators[number].cache
        operators[number] = replace(operators[number], cache=_added(before, amount))


def _added(a: Any, b: Size) -> Size:
    """Return the sum of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b if a == 0 else f"{a} + {b}"


def _tensors(drawn: Drawn) -> tuple[list[Tensor], dict[tuple[Any, ...], int]]:
    """Return the tensors that somebody reads, or that the model gives, and the number of each."""
    readers: dict[tuple[Any, ...], set[int]] = {("input", at): set() for at in range(len(drawn.inputs))}
    values: dict[tuple[Any, ...], Value] = {_key(drawn_value): drawn_value for drawn_value in drawn.inputs}
    for number, call in enumerate(drawn.calls):
        changed = [_first(drawn, at) for at in call.after]
        for drawn_value in [*call.values, *changed]:
            if drawn_value is not None and (drawn_value.made is not None or drawn_value.root[0] == "input"):
                values.setdefault(_key(drawn_value), drawn_value)
                readers.setdefault(_key(drawn_value), set()).add(number)
    for drawn_value in drawn.outputs:
        if drawn_value is not None and drawn_value.made is not None:
            values.setdefault(drawn_value.made, drawn_value)
            readers.setdefault(drawn_value.made, set())
    keys = sorted(values, key=lambda key: (-1, key[1]) if key[0] == "input" else key)
    tensors = [_tensor(drawn, values[key], readers[key]) for key in keys]
    return tensors, {key: number for number, key in enumerate(keys)}


def _first(drawn: Drawn, number: int) -> Value:
    """Return the first tensor that a call gives."""
    made = drawn.known[drawn.calls[number].node]
    return made[min(made)]


def _tensor(drawn: Drawn, value: Value, readers: Iterable[int]) -> Tensor:
    try:
        size = drawn.size(bytes_of(value.tensor))
    except NotAFormula:
        size = 0
    return Tensor(
        value.name,
        None if value.made is None else value.made[0],
        tuple(sorted(readers)),
        size,
        dtype_name(value.tensor.dtype),
        drawn.shape(value.tensor),
    )


def _unread(drawn: Drawn, read: set[int], idle: tuple[str, ...]) -> list[str]:
    """Return which parameters are left out because nothing reads them, those of *idle* modules not counted."""
    left = [one for at, one in enumerate(drawn.weights) if at not in read and not drawn.is_buffer[at]]
    left = [one for one in left if not one.name.startswith(tuple(f"{path}." for path in idle))]
    if not left:
        return []
    names = ", ".join(one.name for one in left[:3]) + (", …" if len(left) > 3 else "")
    return [f"{len(left)} parameters ({sum(one.bytes for one in left):,} B) are read by nothing and left out: {names}"]


SMALL = 2**20
"""Bytes up to which a buffer that recomputable operators alone read is a constant that every device holds."""
PRODUCTS = ("matmul", "conv")
"""Kinds of calls whose operands are weights."""
CHEAP = 1e-4
"""Share of the model's FLOP up to which an operator is cheap."""


def recomputable(drawn: Drawn) -> tuple[set[int], set[int]]:
    """Return the numbers of the calls that may be run again anywhere, and of the buffers that they alone read.

    Such a call is cheap and not random, and reads nothing but sizes, small buffers, inputs of whole numbers and what
    other such calls make; or it is a view of any input: the cache of one layer among those of all. A buffer that a
    product reads, as it is or converted, is a weight and no constant, however small: quantised weights are kept so.
    """
    constants = {at for at, one in enumerate(drawn.weights) if drawn.is_buffer[at] and one.bytes <= SMALL}
    cheap = _cheap(drawn)
    while True:
        again = _again(drawn, constants, cheap)
        lost = {
            value_read.root[1]
            for number, call in enumerate(drawn.calls)
            for value_read in call.values
            if value_read is not None and value_read.root[0] == "weight" and number not in again
        }
        lost |= _multiplied(drawn, again)
        if not constants & lost:
            return again, constants
        constants -= lost


def _multiplied(drawn: Drawn, again: set[int]) -> set[int]:
    """Return the buffers of which calls in *again* make what products read that are not among these."""
    made_of: dict[int, set[int]] = {}
    multiplied: set[int] = set()
    for number, call in enumerate(drawn.calls):
        read: set[int] = set()
        for value_read in call.values:
            if value_read is not None and value_read.root[0] == "weight":
                read.add(value_read.root[1])
            if value_read is not None and value_read.made is not None:
                read |= made_of.get(value_read.made[0], set())
        if number in again:
            made_of[number] = read
        elif call.kind in PRODUCTS:
            multiplied |= read
    return multiplied


def _again(drawn: Drawn, constants: set[int], cheap: set[int]) -> set[int]:
    """Return the calls that may be run again if these weights are constants."""
    again: set[int] = set()
    for number, call in enumerate(drawn.calls):
        if number in cheap and all(_free(drawn, call, at, constants, again) for at in range(len(call.values))):
            again.add(number)
    return again


def _free(drawn: Drawn, call: ProgramCall, at: int, constants: set[int], again: set[int]) -> bool:
    """Return whether every device has an input of a call, or can compute it."""
    value_read = call.values[at]
    if value_read is None:
        return call.after == ()
    given = value_read.root[0] == "input" and drawn.inputs[value_read.root[1]].tensor.dtype.is_floating_point
    if given and call.kind != "view":
        return False
    if value_read.made is not None:
        return value_read.made[0] in again and all(number in again for number in call.after)
    if value_read.root[0] == "weight":
        return value_read.root[1] in constants and call.after == ()
    return call.after == ()


def _cheap(drawn: Drawn) -> set[int]:
    """Return the calls of little work that are not random."""
    symbols = {name: symbol.default or 128 for name, symbol in drawn.exported.symbols.items()}
    amounts: list[float] = []
    for call in drawn.calls:
        try:
            amounts.append(
                float("inf") if call.cost.flop is None else float(value(drawn.size(call.cost.flop), symbols))
            )
        except NotAFormula:
            amounts.append(float("inf"))
    limit = CHEAP * sum(amount for amount in amounts if amount < float("inf"))
    return {number for number, call in enumerate(drawn.calls) if amounts[number] <= limit and not _random(call)}


def _random(call: ProgramCall) -> bool:
    return (
        any("nondeterministic_seeded" in str(tag) for tag in getattr(call.node.target, "tags", ()))
        and call.kind != "view"
    )
