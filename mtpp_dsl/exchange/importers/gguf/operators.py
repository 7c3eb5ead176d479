"""The single operators of a decoder in llama.cpp, with their costs in both phases, and the tensors between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.reader import GgufTensor, Header
from mtpp_dsl.exchange.importers.module_paths import layer_of, role_of
from mtpp_dsl.exchange.importers.polynomials import Amount, product, size_of, symbol
from mtpp_dsl.exchange.model.operator_names import Names, language_name
from mtpp_dsl.exchange.model.parts import Operator, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import Size

WIDE = 4
"""Bytes of a number between operators."""
CACHED = 2
"""Bytes of a number in the cache of keys and values."""
STATE = 4
"""Bytes of a number in a state that is kept from token to token."""
Phased: TypeAlias = Mapping[str, Amount]
"""An amount in each phase."""


class GgufOperators:
    """Adds operators to those of one model, each reading what is made before it.

    Attributes:
        needed_by: what messages say that needs a tensor.
        made: the tensors between operators: name, producer, bytes, readers.
        wide: numbers of each of them in a row.
        tokens: rows of what operators make, unless they are given others.
        runs: how often an operator runs and reads all of its weights; None: once.
    """

    needed_by = "a decoder"

    def __init__(self, header: Header, phases: Sequence[str], after: GgufOperators | None = None) -> None:
        """Begin a model, or go on with the operators *after* those of another part of it."""
        self.header, self.phases = header, tuple(phases)
        self.operators: list[Operator] = [] if after is None else after.operators
        self.weights: list[Weight] = [] if after is None else after.weights
        self.numbers: dict[str, int] = {} if after is None else after.numbers
        self.names: Names = Names() if after is None else after.names
        self.made: list[tuple[str, int | None, Phased, list[int]]] = [] if after is None else after.made
        self.wide: list[int] = [] if after is None else after.wide
        batch, seq = symbol("batch"), symbol("seq")
        self.batch, self.seq = batch, seq
        self.tokens: Phased = {"prefill": batch * seq, "decode": batch}
        self.queries: Phased = {"prefill": seq, "decode": 1}
        self.runs: Phased | None = None
        self.width = 0

    def tensors(self) -> list[Tensor]:
        """Return the tensors between the operators."""
        return [
            Tensor(name, producer, tuple(readers), self.amount(size), "int32" if name == "tokens" else "fp32")
            for name, producer, size, readers in self.made
        ]

    def given(self, name: str, wide: int, rows: Phased) -> int:
        """Add an input of the model of *wide* numbers of four bytes in each row; return the number of the tensor."""
        self.made.append((name, None, self.times(rows, wide * WIDE), []))
        self.wide.append(wide)
        return len(self.made) - 1

    def has(self, name: str) -> bool:
        """Return whether the model has the weight *name*."""
        return f"{name}.weight" in self.header.tensors

    def need(self, name: str, rank: int) -> GgufTensor:
        """Return the tensor *name*, which must be there and have so many dimensions."""
        tensor = self.header.tensors.get(name)
        if tensor is None:
            raise UsageError(f"{self.header.name} has no tensor {name!r}, which {self.needed_by} needs")
        if len(tensor.shape) != rank:
            raise self.wrong(name, tensor)
        return tensor

    def wrong(self, name: str, tensor: GgufTensor) -> UsageError:
        """Return the error of a tensor that does not fit."""
        return UsageError(f"{self.header.name}: tensor {name!r} has the shape {list(tensor.shape)}, which does not fit")

    def fact(self, key: str) -> int:
        """Return a number of the metadata, 0 where it is absent."""
        fact = self.header.metadata.get(f"{self.header.metadata['general.architecture']}.{key}", 0)
        return fact if isinstance(fact, int) else 0

    def norm(self, name: str, stream: int, size: int = 0, rows: Phased | None = None) -> int:
        """Normalise *stream*, or pass it on where the model has no such norm."""
        if not self.has(name):
            return stream
        names = [f"{name}.weight", f"{name}.bias"]
        return self.operator(name, "rms_norm", "norm", [stream], {}, size or self.width, names, rows=rows)

    def matmul(self, name: str, stream: int, more: Sequence[str] = (), part: bool = False) -> int:
        """Multiply by the matrix *name*, and add its bias; it reads *more* weights, too, or a *part* of the stream."""
        table = self.header.tensors.get(f"{name}.weight")
        if table is not None and len(table.shape) == 1:  # a product with one row
            outputs, inputs = 1, table.shape[0]
        else:
            table = self.need(f"{name}.weight", 2)
            outputs, inputs = table.shape
        if inputs > self.wide[stream] or (inputs != self.wide[stream] and not part):
            raise self.wrong(table.name, table)
        flop, names = self.times(self.tokens, 2 * outputs * inputs), [f"{name}.weight", f"{name}.bias", *more]
        return self.operator(name, "mul_mat", "matmul", [stream], flop, outputs, names)

    def sum(self, name: str, parts: list[int]) -> int:
        """Add tensors of the width of the model."""
        if any(self.wide[t] != self.width for t in parts):
            raise UsageError(f"{self.header.name}: what {name!r} adds has different sizes")
        return self.operator(name, "add", "elementwise", parts, {}, self.width)

    def operator(
        self,
        path: str,
        op: str,
        kind: str,
        reads: list[int],
        flop: Phased,
        wide: int,
        weights: Sequence[str] = (),
        weight_read: Phased | None = None,
        cache: Phased | None = None,
        rows: Phased | None = None,
    ) -> int:
        """Add an operator that makes a tensor of *wide* numbers for each token; return the number of the tensor.

        With *rows* it works on so many tokens alone, and reads no others.
        """
        number = len(self.operators)
        write = self.times(rows or self.tokens, wide * WIDE)
        taken = self.each(lambda phase: _total(self.made[t][2][phase] for t in reads))
        if rows is not None:
            taken = self.times(rows, sum(self.wide[t] for t in reads) * WIDE)
        if cache is not None:  # attention reads the keys and values of all tokens, and adds those of the new ones
            taken = self.each(lambda phase: taken[phase] + cache[phase])
        numbers_of_weights = sorted(self.weight(name) for name in weights if name in self.header.tensors)
        if weight_read is None and numbers_of_weights and self.runs is not None:
            weight_read = self.times(self.runs, sum(self.weights[w].bytes for w in numbers_of_weights))
        layer, role, block = self.placed(path)
        self.operators.append(
            Operator(
                self.names.unique(language_name(path)),
                op,
                path,
                kind,
                "fp16" if flop else "fp32",
                path,
                layer,
                role,
                self.amount(flop) if flop else 0,
                self.amount(taken),
                self.amount(write),
                tuple(numbers_of_weights),
                None if weight_read is None else self.amount(weight_read),
                cache=0 if cache is None else self.amount(cache),
                block=block,
            )
        )
        for t in reads:
            self.made[t][3].append(number)
        self.made.append((path, number, write, []))
        self.wide.append(wide)
        return len(self.made) - 1

    def placed(self, path: str) -> tuple[int | None, str, str]:
        """Return the layer, the role and the block of an operator."""
        return layer_of(path), role_of(path), ""

    def weight(self, name: str) -> int:
        """Return the number of the weight *name*."""
        if name not in self.numbers:
            table = self.header.tensors[name]
            self.numbers[name] = len(self.weights)
            self.weights.append(Weight(name, table.bytes, table.dtype, table.shape))
        return self.numbers[name]

    def each(self, rule: Callable[[str], Amount]) -> Phased:
        """Return an amount by a rule for each phase."""
        return {phase: rule(phase) for phase in self.phases}

    def times(self, amounts: Phased, number: int) -> Phased:
        """Return amounts times a number."""
        return {phase: product([amounts[phase], number]) for phase in self.phases}

    def amount(self, amounts: Phased) -> Size | Mapping[str, Size]:
        """Return an amount as the model takes it: one for each phase where there are two."""
        if len(self.phases) == 1:
            return size_of(amounts[self.phases[0]])
        return {phase: size_of(amounts[phase]) for phase in self.phases}


def _total(amounts: Iterable[Amount]) -> Amount:
    total: Amount = 0
    for amount in amounts:
        total = total + amount
    return total
