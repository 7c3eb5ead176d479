"""Hold the parts of a model: operators in an order in which they can run, tensors, weights, their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from mtpp_dsl.core.base.data_classes import Picklable, Short
from mtpp_dsl.exchange.model.sizes import Size

Amount: TypeAlias = Size | Mapping[str, Size]
"""A size, or one for each phase by its name; zero in a phase that is left out."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, repr=False)
class Source(Short, Picklable):
    """Where a model came from.

    Attributes:
        kind: the importer: "torch", "hf", "onnx", "pt2", "gguf".
        name: what it was called: a file's name, ``module:callable``, an architecture; never a path from the root.
        sha256: of the bytes that were read; "" where nothing was.
        versions: of the packages that took part, by their names.
        arguments: what the importer was asked for: numbers, texts, true and false, and lists of them.
    """

    kind: str = ""
    name: str = ""
    sha256: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    arguments: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, repr=False)
class Symbol(Short):
    """What sizes may speak of, such as ``batch``.

    Attributes:
        default: its value where a spec gives none; None: a spec has to.
        least, most: the values for which the model was exported; None: no end.
        at_least: what it has to have room for, a size over other symbols: as many tokens as those of all images.
    """

    default: int | None = None
    least: int = 1
    most: int | None = None
    at_least: Size = 0


@dataclass(frozen=True, repr=False)
class Weight(Short, Picklable):
    """A tensor that the model keeps: a parameter or a buffer; one of each storage.

    Attributes:
        name: as the framework spells it: "model.layers.3.mlp.up_proj.weight".
        bytes: what it takes as it is stored.
        dtype: of its numbers; one of :data:`mtpp_dsl.exchange.model.kinds.TYPES`.
        shape: its sizes; () of a number, or where it is unknown.
        tied: names of the other parameters that are the same storage.
        state: bytes that training holds of it: itself, its gradient, what the optimizer keeps; None: ``bytes``.
    """

    name: str
    bytes: int
    dtype: str = ""
    shape: tuple[int, ...] = ()
    tied: tuple[str, ...] = ()
    state: int | None = None


@dataclass(frozen=True, repr=False)
class Tensor(Short, Picklable):
    """What one operator makes, or the model is given, and others read; weights are none.

    Attributes:
        name: as the framework spells it; no two tensors share one.
        producer: the number of the operator; None: an input of the model.
        readers: the numbers of the operators that read it, rising.
        bytes: what it takes.
        dtype, shape: of its numbers, and its sizes.
    """

    name: str
    producer: int | None
    readers: tuple[int, ...] = ()
    bytes: Amount = 0
    dtype: str = ""
    shape: tuple[Size, ...] = ()


@dataclass(frozen=True, repr=False)
class Operator(Short, Picklable):
    """One call of the model.

    Attributes:
        name: unique; a name of the language, from :class:`mtpp_dsl.exchange.model.operator_names.Names`.
        op: what the framework calls the operation: "aten.linear.default", "Conv".
        id: what the framework calls this call: the name of a node in torch's graph, the place of one in ONNX's.
        kind: one of :data:`mtpp_dsl.exchange.model.kinds.KINDS`.
        dtype: in which it computes; one of :data:`mtpp_dsl.exchange.model.kinds.TYPES`, "" where it computes nothing.
        path: of its module as the framework spells it: "model.layers.3.mlp.up_proj".
        layer: the number of its layer; None outside the stack.
        role: one of :data:`mtpp_dsl.exchange.model.kinds.ROLES`.
        flop: floating-point operations, a multiplication and an addition being two; None: unknown.
        read: bytes of the tensors that it reads, weights not counted.
        write: bytes of the tensors that it makes.
        weights: the numbers of the weights that it reads, rising.
        weight_read: bytes of these weights that it reads, stored as they are; None: all of them. A look-up reads rows.
        saved: bytes that training keeps of it for the backward pass.
        cache: bytes that it keeps from one step to the next, such as keys and values of attention.
        recomputable: it is cheap, depends on no weight, and makes the same again wherever it is run again.
        backward: it is of the backward pass.
        block: the path of the module that it is of as a whole outside of the numbered layers, such as one layer of a
            tower that reads images; "" where its own module is all.
    """

    name: str
    op: str = ""
    id: str = ""
    kind: str = "other"
    dtype: str = ""
    path: str = ""
    layer: int | None = None
    role: str = ""
    flop: Amount | None = None
    read: Amount = 0
    write: Amount = 0
    weights: tuple[int, ...] = ()
    weight_read: Amount | None = None
    saved: Amount = 0
    cache: Amount = 0
    recomputable: bool = False
    backward: bool = False
    block: str = ""


@dataclass(frozen=True, repr=False)
class ModelParts(Short, Picklable):
    """All parts of a model, as they are given; :class:`mtpp_dsl.exchange.model.model.Model` says what each is."""

    operators: tuple[Operator, ...]
    tensors: tuple[Tensor, ...] = ()
    weights: tuple[Weight, ...] = ()
    outputs: tuple[int, ...] = ()
    symbols: Mapping[str, Symbol] = field(default_factory=lambda: _NOTHING)
    phases: tuple[str, ...] = ()
    source: Source = field(default_factory=Source)
    warnings: tuple[str, ...] = ()
    group_by: str = ""
    experts_read: str = ""
