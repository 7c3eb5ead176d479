"""Check a model: its texts, numbers and sizes can be meant, and its operators are in an order in which they can run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mtpp_dsl.core.base.spec_limits import MAX_EDGES, MAX_NAME
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.model.kinds import GROUPS, KINDS, ROLES, TYPES
from mtpp_dsl.exchange.model.parts import ModelParts, Operator, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import EXPERTS_READ, MAX_VALUE, symbols_of

MAX_OPERATORS = 200_000
MAX_TENSORS = 400_000
MAX_WEIGHTS = 200_000
MAX_SYMBOLS = 32
MAX_PHASES = 8
MAX_LAYER = 100_000
MAX_SHAPE = 64
MAX_WARNINGS = 1_000
MAX_BYTES = 2**60
"""Of one weight, or its state."""


def check_model(model: ModelParts) -> None:
    """Refuse a model that cannot be meant.

    Raises:
        UsageError: more operators, tensors, readers, weights, symbols or phases than are read; a name that is given
            twice, is empty, too long or has control characters; a number of an operator, a weight or a tensor that is
            not there; an operator that stands before one whose tensor it reads; an unknown kind, role, type, symbol or
            phase; a size that is no formula, or is below zero.
    """
    readers = sum(len(tensor.readers) for tensor in model.tensors)
    for number, most, what in (
        (len(model.operators), MAX_OPERATORS, "operators"),
        (len(model.tensors), MAX_TENSORS, "tensors"),
        (readers, MAX_EDGES, "readers of tensors"),
        (sum(len(operator.weights) for operator in model.operators), MAX_EDGES, "readers of weights"),
        (len(model.weights), MAX_WEIGHTS, "weights"),
        (len(model.symbols), MAX_SYMBOLS, "symbols"),
        (len(model.phases), MAX_PHASES, "phases"),
        (len(model.warnings), MAX_WARNINGS, "warnings"),
    ):
        if number > most:
            raise UsageError(f"the model has {number:,} {what}; at most {most:,} are read")
    if model.group_by not in GROUPS:
        raise UsageError(f"group_by is {model.group_by[:60]!r}, which is unknown{did_you_mean(model.group_by, GROUPS)}")
    if model.experts_read not in ("", *EXPERTS_READ):
        hint = did_you_mean(model.experts_read, EXPERTS_READ)
        raise UsageError(f"experts_read is {model.experts_read[:60]!r}, which is unknown{hint}")
    if not model.operators:
        raise UsageError("the model has no operators")
    _check_words(model)
    _Checks(model).check()


def _check_words(model: ModelParts) -> None:
    """Check the names of everything, and that symbols and phases are names of the language."""
    _unique("operator", (operator.name for operator in model.operators))
    _unique("tensor", (tensor.name for tensor in model.tensors))
    _unique("weight", (weight.name for weight in model.weights))
    _unique("phase", model.phases)
    for what, words in (("symbol", model.symbols), ("phase", model.phases)):
        for word in words:
            if not (word.isascii() and word.isidentifier()) or len(word) > MAX_NAME:
                raise UsageError(f"the {what} {word[:60]!r} is no name: letters, digits and underscores")
    for name, symbol in model.symbols.items():
        given = [number for number in (symbol.least, symbol.default, symbol.most) if number is not None]
        if given != sorted(given) or given[0] < 0:
            raise UsageError(
                f"symbol {name!r} is {symbol.default}, from {symbol.least} to {symbol.most}: not zero or more, in order"
            )
        unknown = symbols_of(symbol.at_least) - model.symbols.keys()
        if unknown or name in symbols_of(symbol.at_least):
            raise UsageError(f"symbol {name!r} is at least {symbol.at_least!r:.60}: a size over other symbols")
    for text in (model.source.kind, model.source.name, model.source.sha256):
        _check_text("the model's source", text)
    for what, version in model.source.versions.items():
        _check_text("a version of the model's source", what)
        _check_text("a version of the model's source", version)


def _unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name:
            raise UsageError(f"a name of a {what} is empty")
        _check_text(f"the name of a {what}", name)
        if name in seen:
            raise UsageError(f"two of the model's {what}s are called {name!r}")
        seen.add(name)


def _check_text(what: str, text: str) -> None:
    if len(text) > MAX_NAME:
        raise UsageError(f"{what} has {len(text):,} characters: {text[:40]!r}…; at most {MAX_NAME:,} are read")
    if not text.isprintable():
        raise UsageError(f"{what} has a control character: {text!r:.100}")


class _Checks:
    """Checks the items of one model; what has been found good once is not looked at again."""

    def __init__(self, model: ModelParts) -> None:
        self.model = model
        self.good: set[str] = set()
        self.phases = set(model.phases)
        self.symbols = set(model.symbols)

    def check(self) -> None:
        """Check everything that has a number or a size."""
        model = self.model
        for operator in model.operators:
            self._operator(operator)
        for tensor in model.tensors:
            self._tensor(tensor)
        for weight in model.weights:
            self._weight(weight)
        self._numbers("the model's outputs", model.outputs, len(model.tensors), "tensor", rising=False)

    def _operator(self, operator: Operator) -> None:
        name = operator.name
        for text in (operator.op, operator.id, operator.path, operator.block):
            _check_text(f"what operator {name!r} says of itself", text)
        self._word(f"operator {name!r}", "kind", operator.kind, KINDS)
        self._word(f"operator {name!r}", "role", operator.role, ROLES)
        self._type(f"operator {name!r}", operator.dtype)
        if operator.layer is not None and not 0 <= operator.layer <= MAX_LAYER:
            raise UsageError(f"operator {name!r} is of layer {operator.layer}; layers are 0 to {MAX_LAYER:,}")
        self._numbers(f"weights of operator {name!r}", operator.weights, len(self.model.weights), "weight")
        for what in ("flop", "read", "write", "weight_read", "saved", "cache"):
            amount = getattr(operator, what)
            if amount.__class__ is not int or not 0 <= amount <= MAX_VALUE:
                self._amount(name, what, amount)
        if operator.recomputable and (operator.weights or operator.cache):
            raise UsageError(f"operator {name!r} reads weights or keeps a cache, and is said to be recomputable")

    def _tensor(self, tensor: Tensor) -> None:
        name, model = tensor.name, self.model
        self._type(f"tensor {name!r}", tensor.dtype)
        self._amount(name, "bytes", tensor.bytes)
        self._numbers(f"readers of tensor {name!r}", tensor.readers, len(model.operators), "operator")
        if tensor.producer is not None:
            self._numbers(f"the producer of tensor {name!r}", (tensor.producer,), len(model.operators), "operator")
            if tensor.readers and tensor.readers[0] <= tensor.producer:
                reader, producer = model.operators[tensor.readers[0]].name, model.operators[tensor.producer].name
                raise UsageError(
                    f"operator {reader!r} reads tensor {name!r} and does not stand after {producer!r}, which makes it"
                )
        if len(tensor.shape) > MAX_SHAPE:
            raise UsageError(f"tensor {name!r} has {len(tensor.shape)} dimensions; at most {MAX_SHAPE} are read")
        for size in tensor.shape:
            self._amount(name, "shape", size)

    def _weight(self, weight: Weight) -> None:
        name = weight.name
        self._type(f"weight {name!r}", weight.dtype)
        for text in weight.tied:
            _check_text(f"the name of a parameter tied to {name!r}", text)
        for what, number in (("bytes", weight.bytes), ("state", weight.state if weight.state is not None else 0)):
            if not 0 <= number <= MAX_BYTES:
                raise UsageError(f"{what} of weight {name!r} is {number}; it must be 0 to 2**60")
        if len(weight.shape) > MAX_SHAPE or any(not 0 <= size <= MAX_BYTES for size in weight.shape):
            raise UsageError(f"the shape of weight {name!r} is {weight.shape!r:.80}, which cannot be")

    def _word(self, whose: str, what: str, word: str, known: Iterable[str]) -> None:
        if word not in known:
            raise UsageError(f"{whose} has the {what} {word[:60]!r}, which is unknown{did_you_mean(word, known)}")

    def _type(self, whose: str, dtype: str) -> None:
        if dtype and dtype not in TYPES:
            raise UsageError(f"{whose} has the dtype {dtype[:60]!r}, which is unknown{did_you_mean(dtype, TYPES)}")

    def _amount(self, name: str, what: str, amount: Any) -> None:
        """Check a size, one of each phase, or None."""
        if isinstance(amount, Mapping):
            for phase, size in amount.items():
                if phase not in self.phases:
                    raise UsageError(f"{what} of {name!r} is of phase {phase[:60]!r}, which the model does not have")
                self._amount(name, what, size)
        elif isinstance(amount, str):
            if amount not in self.good:
                self._formula(name, what, amount)
        elif amount is not None and not 0 <= amount <= MAX_VALUE:  # nan is not
            raise UsageError(f"{what} of {name!r} is {amount!r}; it must be a number, zero or more, at most 1e60")

    def _formula(self, name: str, what: str, text: str) -> None:
        try:
            unknown = symbols_of(text) - self.symbols
        except UsageError as error:
            raise UsageError(f"{what} of {name!r}: {error}") from None
        for symbol in sorted(unknown):
            raise UsageError(
                f"{what} of {name!r} uses {symbol!r}, which is not a symbol of the model"
                f"{did_you_mean(symbol, self.symbols)}"
            )
        self.good.add(text)

    def _numbers(self, whose: str, numbers: Sequence[int], count: int, what: str, *, rising: bool = True) -> None:
        """Check numbers of things that there are so many of: each is one, and they rise."""
        before = -1
        for number in numbers:
            if not 0 <= number < count:
                raise UsageError(f"{whose} name {what} {number}; there are {count:,}, numbered from 0")
            if rising and number <= before:
                raise UsageError(f"{whose} are not in rising order: {before}, {number}")
            before = number
