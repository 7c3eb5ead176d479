"""Training: the backward pass of each operator beside it, what is kept for it, and the state of the optimizer."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.torch_assemble import AssembledParts
from mtpp_dsl.exchange.importers.torch_backward import Backward, Derived
from mtpp_dsl.exchange.importers.torch_costs import bytes_of
from mtpp_dsl.exchange.importers.torch_graph import Drawn, NotAFormula, ProgramCall, Value
from mtpp_dsl.exchange.model.parts import Operator, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import Size

__all__ = ["Training", "training_of", "with_backward"]

OPTIMIZERS: Mapping[str, int] = {"adam": 8, "sgd": 0}
"""Bytes that an optimizer keeps of each number of a parameter: Adam two moments in fp32, SGD nothing."""
MASTER = 4
"""Bytes of the copy in fp32 that Adam keeps of each number of a parameter that is shorter."""


@dataclass(frozen=True)
class Training:
    """How a model is trained.

    Attributes:
        optimizer: "adam", "sgd", or the bytes of state for each number of a parameter, all in all.
        ratio: the cost of the backward pass by that of the forward pass; None: torch derives each operator.
    """

    optimizer: str | int = "adam"
    ratio: float | None = None


def training_of(optimizer: str | int = "adam", ratio: float | None = None) -> Training:
    """Return how a model is trained, from what a user says.

    Raises:
        UsageError: the optimizer is none of those known and no number of bytes; the ratio is not more than zero.

    >>> training_of("12").optimizer
    12
    """
    text = str(optimizer)
    if text not in OPTIMIZERS and not (text.isascii() and text.isdigit() and len(text) < 6):
        raise UsageError(
            f"the optimizer {text[:60]!r} is not one of {', '.join(OPTIMIZERS)}, and not a number of bytes"
        )
    if ratio is not None and not 0 < ratio < 100:
        raise UsageError(
            f"the backward pass takes {ratio!r} times the forward pass: a number between 0 and 100 is wanted"
        )
    return Training(text if text in OPTIMIZERS else int(text), ratio)


def arguments_of(training: Training | None) -> dict[str, str | int | float]:
    """Return what a model's source says of how it is trained; nothing where it only runs forward.

    >>> arguments_of(Training("sgd", 2))
    {'optimizer': 'sgd', 'backward_ratio': 2}
    """
    if training is None:
        return {}
    ratio = {} if training.ratio is None else {"backward_ratio": training.ratio}
    return {"optimizer": training.optimizer, **ratio}


def with_backward(drawn: Drawn, parts: AssembledParts, training: Training) -> AssembledParts:
    """Return the parts of a model with the backward pass behind the forward pass.

    Each operator through which a gradient passes has one of its own in the backward pass. The gradient of a tensor that
    several operators read is added up from the last of them to the first. What a backward operator needs of the
    forward pass is kept: ``saved`` counts the data of each tensor once, for the operator that made it.
    """
    writer = _Writer(drawn, parts, training)
    for number in reversed(range(len(drawn.calls))):
        writer.derive(number)
    operators, tensors = writer.result()
    weights = tuple(
        replace(weight, state=_state(weight, training)) if writer.trained(weight) else weight
        for weight in parts.weights
    )
    return replace(
        parts, operators=operators, tensors=tensors, weights=weights, warnings=(*parts.warnings, *writer.warnings())
    )


def _state(weight: Weight, training: Training) -> int:
    """Return the bytes that training holds of a weight: itself, its gradient, and what the optimizer keeps."""
    count = 1
    for size in weight.shape:
        count *= size
    if isinstance(training.optimizer, int):
        return count * training.optimizer
    kept = OPTIMIZERS[training.optimizer] * count
    if training.optimizer == "adam" and weight.bytes < 4 * count:
        kept += MASTER * count
    return 2 * weight.bytes + kept


class _Writer:
    """Adds backward operators to those of the forward pass, from the last to the first."""

    def __init__(self, drawn: Drawn, parts: AssembledParts, training: Training) -> None:
        self.drawn, self.parts, self.training = drawn, parts, training
        self.backward = Backward(drawn.counter)
        self.operators = list(parts.operators)
        self.readers = {key: list(parts.tensors[number].readers) for key, number in parts.tensor_numbers.items()}
        self.extra: list[Tensor] = []
        self.partial: dict[tuple[int, int], int] = {}  # by the tensor: who has added up its gradient so far
        self.pending: dict[tuple[int, int], list[int]] = {}
        self.saved: dict[int, Any] = {}
        self.seen: set[tuple[Any, ...]] = set()
        self.missing: Counts[str] = Counts()
        self.names = {operator.name for operator in parts.operators}
        self.learned = {
            at for at, one in enumerate(drawn.weight_tensors) if not drawn.is_buffer[at] and one.dtype.is_floating_point
        }
        self.learns = self._learns()

    def _learns(self) -> list[bool]:
        """Return through which calls a gradient passes: those that a parameter reaches."""
        learns: list[bool] = []
        for call in self.drawn.calls:
            learns.append(any(self._needs(value, learns) for value in call.values) and self._floating(call))
        return learns

    def _floating(self, call: ProgramCall) -> bool:
        return any(value.tensor.dtype.is_floating_point for value in self.drawn.known[call.node].values())

    def _needs(self, value: Value | None, learns: Sequence[bool]) -> bool:
        """Return whether the gradient of a tensor is wanted."""
        if value is None or value.tensor is None or not value.tensor.dtype.is_floating_point:
            return False
        if value.root[0] == "weight" and value.made is None:
            return value.root[1] in self.learned
        return value.made is not None and learns[value.made[0]]

    def trained(self, weight: Weight) -> bool:
        """Return whether a weight is a parameter that is trained."""
        return any(self.drawn.weights[at].name == weight.name for at in self.learned)

    def derive(self, number: int) -> None:
        """Add the backward operator of a call; those of all calls after it are there."""
        call = self.drawn.calls[number]
        if not self.learns[number]:
            return
        needs = [self._needs(value, self.learns) for value in call.values]
        ratio = self.training.ratio
        backward_costs = self.backward(call, needs) if ratio is None else _by_ratio(call, ratio)
        if backward_costs is None or backward_costs.flop is None:
            self.missing[str(call.node.target).rpartition(".")[0]] += 1
        self._add(number, call, needs, backward_costs)

    def _add(self, number: int, call: ProgramCall, needs: Sequence[bool], backward_costs: Derived | None) -> None:
        one = self.parts.operators[number]
        at = len(self.operators)
        name = f"{one.name}_backward"
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.operators.append(self._operator(one, name, call, backward_costs))
        for key in [key for key in self.partial if key[0] == number]:  # the gradients of what it gave
            self._gradient(key, self.partial.pop(key), at)
        for value, need in zip(call.values, needs, strict=True):
            if need and value is not None and value.made is not None:
                before = self.partial.get(value.made)
                if before is not None:
                    self._gradient(value.made, before, at)
                self.partial[value.made] = at
        if backward_costs is not None:
            self._keep(number, at, call, backward_costs)

    def _gradient(self, key: tuple[int, int], producer: int, reader: int) -> None:
        """Add the gradient of a tensor, or of a part of its readers, as a tensor."""
        if producer == reader:
            return
        tensor = self.parts.tensors[self.parts.tensor_numbers[key]]
        name = f"gradient of {tensor.name} by {self.operators[producer].id}"
        self.extra.append(replace(tensor, name=name, producer=producer, readers=(reader,)))

    def _operator(self, one: Operator, name: str, call: ProgramCall, backward_costs: Derived | None) -> Operator:
        if backward_costs is None:
            return replace(one, name=name, flop=None, backward=True, cache=0, recomputable=False)
        weighed = {at for at, value in enumerate(call.values) if value and value.root[0] == "weight"}
        weight_bytes = sum(backward_costs.reads[at] for at in weighed) if one.weights else 0
        others = backward_costs.others + sum(
            amount for at, amount in enumerate(backward_costs.reads) if at not in weighed
        )
        return replace(
            one,
            name=name,
            flop=self._flop(one, backward_costs),
            read=self._size(others),
            write=self._size(backward_costs.write),
            weight_read=self._size(weight_bytes),
            backward=True,
            cache=0,
            recomputable=False,
        )

    def _flop(self, one: Operator, backward_costs: Derived) -> Size | None:
        if self.training.ratio is not None and one.flop is not None:
            assert isinstance(one.flop, (int, float, str))
            return _times(one.flop, self.training.ratio)
        if one.flop is None or backward_costs.flop is None:
            return None
        try:
            return self.drawn.size(backward_costs.flop)
        except NotAFormula:
            return None

    def _size(self, number: Any) -> Size:
        if isinstance(number, str):
            return number
        try:
            return self.drawn.size(number)
        except NotAFormula:
            return 0

    def _keep(self, number: int, at: int, call: ProgramCall, backward_costs: Derived) -> None:
        """Count what a backward operator needs of the forward pass, each data once, and let it read that."""
        for value, keeps in zip(call.values, backward_costs.keeps, strict=True):
            if keeps and value is not None:
                self._save(value)
                key = value.made if value.made is not None else value.root
                if key in self.readers and key[0] != "weight":
                    self.readers[key].append(at)
        own = self.drawn.known[call.node]
        if backward_costs.keeps_output:
            for value in own.values():
                self._save(value)
                if value.made in self.readers:
                    self.readers[value.made].append(at)
        if not (isinstance(backward_costs.internal, int) and backward_costs.internal == 0):
            self.saved[number] = self.saved.get(number, 0) + backward_costs.internal
            name = f"kept by {call.node.name}"
            self.extra.append(Tensor(name, number, (at,), self._size(backward_costs.internal)))

    def _save(self, value: Value) -> None:
        """Count the data of a tensor that is kept, for the operator that made it."""
        if value.root[0] != "call" or value.root in self.seen or self.parts.operators[value.root[1]].recomputable:
            return
        self.seen.add(value.root)
        _, number, place = value.root
        tensor = self.drawn.known[self.drawn.calls[number].node][place].tensor
        self.saved[number] = self.saved.get(number, 0) + bytes_of(tensor)

    def result(self) -> tuple[tuple[Operator, ...], tuple[Tensor, ...]]:
        """Return all operators and tensors."""
        operators = [
            replace(one, saved=self._size(self.saved[number])) if number in self.saved else one
            for number, one in enumerate(self.operators)
        ]
        keys = {number: key for key, number in self.parts.tensor_numbers.items()}
        tensors = [
            replace(one, readers=tuple(sorted(set(self.readers[keys[number]]))))
            for number, one in enumerate(self.parts.tensors)
        ]
        return tuple(operators), (*tensors, *self.extra)

    def warnings(self) -> list[str]:
        """Return of which operations torch has no backward pass."""
        return [
            f"torch cannot derive {op} ({times} times), so the cost of its backward pass is unknown; "
            "say --backward-ratio 2 or so"
            for op, times in sorted(self.missing.items())
        ]


def _by_ratio(call: ProgramCall, ratio: float) -> Derived:
    """Return a backward pass that costs *ratio* times the forward pass and needs all that this read."""
    from fractions import Fraction

    exact = Fraction(ratio).limit_denominator(1000)

    def times(number: Any) -> Any:
        return number * exact.numerator // exact.denominator

    return Derived(
        flop=0,
        reads=tuple(times(amount) for amount in call.cost.reads),
        others=0,
        write=times(call.cost.write),
        keeps=tuple(value is not None and value.tensor is not None for value in call.values),
        keeps_output=False,
        internal=0,
    )


def _times(size: Size, ratio: float) -> Size:
    from fractions import Fraction

    exact = Fraction(ratio).limit_denominator(1000)
    if isinstance(size, str):
        return f"({size})*{exact.numerator}" + (f" / {exact.denominator}" if exact.denominator > 1 else "")
    multiple = Fraction(size) * exact
    return int(multiple) if multiple.denominator == 1 else float(multiple)
