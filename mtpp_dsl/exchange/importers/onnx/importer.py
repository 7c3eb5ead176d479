"""An ONNX model as operators with their costs: from the nodes that are left when constants are folded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.given_flops import Flops
from mtpp_dsl.exchange.importers.module_paths import layer_of, role_of
from mtpp_dsl.exchange.importers.onnx.constants import Constant, OnnxScope
from mtpp_dsl.exchange.importers.onnx.model_file import TYPES, File, read_file, read_names
from mtpp_dsl.exchange.importers.onnx.node_costs import OnnxCost, bytes_of, cost_of
from mtpp_dsl.exchange.importers.onnx.shapes import Shapes, shapes_of
from mtpp_dsl.exchange.importers.onnx.stripping import SCOPES
from mtpp_dsl.exchange.importers.polynomials import Amount, size_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.operator_names import Names, language_name
from mtpp_dsl.exchange.model.parts import Operator, Source, Symbol, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import Size

__all__ = ["from_onnx"]

SMALL = 2**16
"""Bytes of a constant that each of its readers holds for itself; larger ones are stored once."""
NUMBERS = 2**10
"""Bytes of whole numbers that say how an operator works, such as a shape: they are no weights."""
_GIVEN_TYPES = ("int32", "int64", "bool", "uint8")
"""Types of inputs that every stage can be given: token numbers, masks, positions."""


def from_onnx(
    path: Path | str, sizes: Mapping[str, int | str] | None = None, flops: Mapping[str, Size] | None = None
) -> Model:
    """Return the model in an ONNX file; weights are not read, and nothing is run.

    Args:
        path: of the file. External data beside it is not opened.
        sizes: values of symbols such as ``batch``, or formulas over others; the others stay symbols.
        flops: operations of operators, or of all of a type such as ``own.Magic``, in place of those counted.

    Raises:
        UsageError: the package onnx is absent; the file is damaged, names data outside its folder, or has tensors whose
            shapes cannot be inferred.
    """
    path = Path(path)
    file = read_file(path)
    shapes = shapes_of(file, sizes or {})
    return _Import(file, shapes, dict(sizes or {}), Flops(flops)).model()


class _Import:
    """Makes a model of one file."""

    def __init__(self, file: File, shapes: Shapes, sizes: dict[str, int | str], flops: Flops) -> None:
        self.file, self.shapes, self.sizes, self.flops = file, shapes, sizes, flops
        self.scope = OnnxScope(file.proto.graph, "", file, shapes)
        self.names = Names()
        self.operators: list[Operator] = []
        self.weights: list[Weight] = []
        self.shared: dict[str, int] = {}
        self.weight_names = Names()
        self.producer: dict[str, int | None] = {}
        self.readers: dict[str, list[int]] = {}
        self.again: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()

    def model(self) -> Model:
        """Return the model."""
        graph = self.file.proto.graph
        for given in graph.input:
            if given.name not in self.scope.constants:
                self.producer[given.name] = None
                key = "", given.name
                if TYPES.get(self.shapes.types.get(key, 0), "") in _GIVEN_TYPES:
                    self.again.add(given.name)
        for i, node in self.scope.calls:
            self._operator(i, node)
        if not self.operators:
            raise UsageError(f"{self.file.name} has no operators: its outputs are the same for every input")
        tensors = self._tensors()
        numbers = {tensor.name: t for t, tensor in enumerate(tensors)}
        outputs = tuple(numbers[given.name] for given in graph.output if given.name in numbers)
        opsets = {opset.domain or "ai.onnx": str(opset.version) for opset in self.file.proto.opset_import}
        source = Source(
            "onnx", self.file.name, self.file.sha256, {"onnx": self.file.onnx.__version__, **opsets}, self.sizes
        )
        symbols = {name: Symbol() for name in self.shapes.symbols}
        return Model(
            tuple(self.operators),
            tensors,
            tuple(self.weights),
            outputs,
            symbols,
            (),
            source,
            tuple(self._warnings()),
        )

    def _operator(self, i: int, node: Any) -> None:
        cost = cost_of(self.scope, node)
        read = list(dict.fromkeys(read_names(node)))
        constants = [constant for constant in map(self.scope.constant, read) if constant] + list(cost.constants)
        constants = [kept for kept in constants if not _says_how(kept)]
        tensors = [name for name in read if name in self.producer]
        again = self._again(cost, constants, tensors)
        path = path_of(node, constants)
        number = len(self.operators)
        op = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        name = self.names.operator(path, node.op_type) if path else self._plain_name(node)
        if cost.note:
            self.notes[cost.note] += 1
        small = sum(kept.bytes for kept in constants) if again else 0
        operator = Operator(
            name,
            op,
            self.file.places[i],
            cost.kind,
            cost.dtype,
            path,
            layer_of(path),
            role_of(path),
            self.flops.of(name, op, None if cost.flop is None else size_of(cost.flop)),
            size_of(cost.read + small),
            size_of(cost.write),
            () if again else tuple(sorted({self._weight(kept, name) for kept in constants})),
            None if again or cost.weight_read is None else size_of(cost.weight_read),
            recomputable=again,
        )
        self.operators.append(operator)
        for tensor in tensors:
            self.readers.setdefault(tensor, []).append(number)
        for output in filter(None, node.output):
            self.producer[output] = number
            if again:
                self.again.add(output)

    def _again(self, cost: OnnxCost, constants: list[Constant], tensors: list[str]) -> bool:
        """Return whether a stage can run an operator again: from numbers that every stage is given, without weights."""
        if cost.kind in ("embedding", "other") or cost.random or sum(constant.bytes for constant in constants) > SMALL:
            return False
        return all(name in self.again for name in tensors)

    def _plain_name(self, node: Any) -> str:
        """Return a name for an operator without a module: its own in the file, or its type and a number."""
        if node.name.strip("/"):
            return self.names.unique(language_name(node.name[:200].strip("/"), node.op_type))
        word = language_name(node.op_type[:100].replace(".", "_") or "operator")
        self.counts[word] += 1
        return self.names.unique(f"{word}[{self.counts[word] - 1}]")

    def _weight(self, constant: Constant, reader: str) -> int:
        """Return the number of the weight of a constant; small ones have one for each reader."""
        if constant.name in self.shared:
            return self.shared[constant.name]
        number = len(self.weights)
        if constant.bytes > SMALL:
            self.shared[constant.name] = number
        name = self.weight_names.unique(constant.name or f"constant of {reader}")
        self.weights.append(Weight(name, constant.bytes, constant.dtype, constant.shape))
        return number

    def _tensors(self) -> tuple[Tensor, ...]:
        given = {output.name for output in self.file.proto.graph.output}
        tensors, missing = [], []
        for name, producer in self.producer.items():
            readers = tuple(self.readers.get(name, ()))
            shape = self.shapes.dims.get(("", name))
            kind = self.shapes.types.get(("", name), 0)
            if shape is None and (readers or name in given):
                maker = "an input" if producer is None else f"made by {self.operators[producer].op}"
                missing.append(f"{name[:80]!r} ({maker})")
            elif readers or name in given or producer is None:
                sizes: tuple[Amount, ...] = shape or ()
                size = size_of(bytes_of(sizes, kind))
                tensors.append(Tensor(name, producer, readers, size, TYPES[kind], tuple(map(size_of, sizes))))
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            names = self.shapes.symbols
            remedy = (
                f"give values to {', '.join(names)}, such as --size {names[0]}=8, or formulas over others"
                if names
                else ""
            )
            raise UsageError(
                f"{self.file.name}: the shapes of {', '.join(missing[:5])}{more} are unknown; "
                f"{remedy}{'; or ' if remedy else ''}write the shapes into the file (value_info)"
            )
        return tuple(tensors)

    def _warnings(self) -> list[str]:
        warnings = self.flops.warnings()
        warnings += [note if count == 1 else f"{note} ({count} times)" for note, count in self.notes.items()]
        return warnings


def _says_how(constant: Constant) -> bool:
    """Return whether a constant is a shape, axes or the like, and no weight."""
    return constant.bytes <= NUMBERS and TYPES[constant.made] in ("int32", "int64", "bool")


# The path of the module that a node of an ONNX file came from.

_PARAMETER = re.compile(r"(.+)\.(weight|bias|running_mean|running_var)(_[A-Za-z0-9_]+)?\Z")
_QUOTED = re.compile(r"'([^']*)'")


def path_of(node: Any, constants: Sequence[Constant]) -> str:
    """Return the path of a module, its parts separated by dots; "" where the file does not say it.

    It is in the metadata that torch's exporter writes, in names such as ``/model/layers.3/mlp/MatMul``, or in those of
    the weights, such as ``model.layers.3.mlp.weight``.
    """
    for entry in node.metadata_props:
        if entry.key.encode() == SCOPES:
            scopes = [scope for scope in _QUOTED.findall(entry.value)[:-1] if scope]
            if scopes:
                return _clean(scopes[-1])
    if "/" in node.name.strip("/"):
        return _clean(".".join(node.name.strip("/").split("/")[:-1]))
    for constant in constants:
        match = _PARAMETER.fullmatch(constant.name)
        if match:
            return _clean(match[1])
    return ""


def _clean(path: str) -> str:
    return ".".join(part for part in path[:300].split(".") if part)
