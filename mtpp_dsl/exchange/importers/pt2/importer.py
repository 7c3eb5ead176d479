"""A ``.pt2`` archive as operators with their costs, from the JSON of the exported program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.importers.given_flops import Flops
from mtpp_dsl.exchange.importers.module_paths import with_layers
from mtpp_dsl.exchange.importers.polynomials import Amount, product, size_of, symbol, whole_quotient
from mtpp_dsl.exchange.importers.pt2.archive import Archive, read_archive
from mtpp_dsl.exchange.importers.pt2.formulas import RESHAPES, AtenCall, flop_of, kind_of
from mtpp_dsl.exchange.importers.pt2.srepr import amount_of
from mtpp_dsl.exchange.importers.torch_kinds import GATHERS
from mtpp_dsl.exchange.model.kinds import TYPES as KNOWN
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.operator_names import Names
from mtpp_dsl.exchange.model.parts import Operator, Source, Symbol, Tensor, Weight
from mtpp_dsl.exchange.model.sizes import Size, symbols_of, value

Shape: TypeAlias = tuple[Amount, ...]

MAX_NODES = 200_000
SMALL = 2**16
"""Bytes of buffers that a stage may hold beside others, so that what reads them can be run again."""
TYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "fp16",
    7: "fp32",
    8: "fp64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bf16",
    28: "uint16",
    29: "fp8",
    30: "fp8",
    31: "fp8",
    32: "fp8",
    33: "uint8",
    34: "uint32",
    35: "uint64",
}
"""ScalarType in torch/_export/serde/schema.py."""
_GIVEN = ("int64", "int32", "bool", "uint8")
_WRAPPERS = ("wrap_with_set_grad_enabled", "wrap_with_autocast")
"""Operations that run a graph once."""


def from_pt2(
    path: Path | str, sizes: Mapping[str, int | str] | None = None, flops: Mapping[str, Size] | None = None
) -> Model:
    """Return the model in an archive of ``torch.export.save``; torch is not needed, and no weight is read.

    Args:
        path: of the archive.
        sizes: values of symbols, or formulas over others: ``{"s27": "seq"}`` renames one.
        flops: operations of operators, or of all calls such as ``own.linear.default``, in place of those counted.

    Raises:
        UsageError: the file is no such archive, or damaged.
    """
    archive = read_archive(Path(path))
    try:
        return _Import(archive, dict(sizes or {}), Flops(flops)).model()
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        what = f"{type(error).__name__} {error}"[:120]
        raise UsageError(f"{archive.name} is not a program of torch.export that can be read: {what}") from None


class _Import:
    """Makes a model of one archive."""

    def __init__(self, archive: Archive, sizes: dict[str, int | str], flops: Flops) -> None:
        self.archive, self.sizes, self.flops = archive, sizes, flops
        module = archive.program["graph_module"]
        self.graph, self.signature = module["graph"], module["signature"]
        self.names = Names()
        self.known: dict[str, Amount] = {}
        self.meta: dict[str, tuple[str, Shape, Shape]] = {}
        self.operators: list[Operator] = []
        self.weights: list[Weight] = []
        self.weight_numbers: dict[str, int] = {}
        self.tensors: dict[str, tuple[int | None, list[int]]] = {}
        self.again: set[str] = set()
        self.routed: dict[str, int] = {}  # tensors made of a topk, without a product between: how many it takes

    def model(self) -> Model:
        """Return the model."""
        if len(self.graph["nodes"]) > MAX_NODES:
            raise UsageError(
                f"{self.archive.name} has {len(self.graph['nodes']):,} nodes; at most {MAX_NODES:,} are read"
            )
        self._values(self.graph)
        self._inputs()
        for node in self.graph["nodes"]:
            self._node(node)
        if not self.operators:
            raise UsageError(f"{self.archive.name} has no operators")
        given = [name for output in self.graph["outputs"] for name in _tensor_names(output)]
        tensors = tuple(self._tensors(set(given)))
        numbers = {tensor.name: t for t, tensor in enumerate(tensors)}
        outputs = tuple(dict.fromkeys(numbers[name] for name in given if name in numbers))
        symbols = self._symbols()
        version = str(self.archive.program.get("torch_version") or "unknown")[:100]
        source = Source("pt2", self.archive.name, self.archive.sha256, {"torch": version}, self.sizes)
        operators, weights = with_layers(self.operators), tuple(self.weights)
        return Model(operators, tensors, weights, outputs, symbols, (), source, tuple(self.flops.warnings()))

    # -- Sizes and tensors

    def _amount(self, given: Mapping[str, Any]) -> Amount:
        """Return a size as the program writes it: a number, or an expression over symbols."""
        if "as_int" in given:
            if isinstance(given["as_int"], bool) or not isinstance(given["as_int"], int):
                raise UsageError(
                    f"{self.archive.name}: a size is {str(given['as_int'])[:40]!r}, which is no whole number"
                )
            return int(given["as_int"])
        text = given["as_expr"]["expr_str"]
        if text not in self.known:
            self.known[text] = amount_of(text)
        return self.known[text]

    def _values(self, graph: Mapping[str, Any]) -> None:
        for name, meta in graph["tensor_values"].items():
            if meta["dtype"] not in TYPES:
                raise UsageError(
                    f"{self.archive.name}: tensor {name[:80]!r} is of type {meta['dtype']}, not known here"
                )
            shape = tuple(map(self._amount, meta["sizes"]))
            if any(isinstance(size, int) and not 0 <= size <= 2**50 for size in shape) or len(shape) > 64:
                raise UsageError(f"{self.archive.name}: tensor {name[:80]!r} has the shape {shape!s:.80}")
            self.meta[name] = TYPES[meta["dtype"]], shape, tuple(map(self._amount, meta["strides"]))

    def _bytes(self, name: str) -> Amount:
        dtype, shape, _ = self.meta[name]
        return product([*shape, int(KNOWN[dtype]) // 8])

    def _size(self, amount: Amount) -> Size:
        """Return an amount with the symbols that the user gave replaced."""
        size = size_of(amount)
        if isinstance(size, int) or not self.sizes:
            return size
        text = re.sub(r"[A-Za-z_][A-Za-z0-9_]*", lambda word: f"({self.sizes.get(word[0], word[0])})", size)
        text = re.sub(r"\((max|min|experts)\)\(", r"\1(", text)
        if symbols_of(text) or "experts(" in text:  # a spec says how the experts read are counted
            return text
        number = value(text)
        return int(number) if number == int(number) else float(number)

    def _symbols(self) -> dict[str, Symbol]:
        """Return what the sizes speak of, with the values for which the program was exported."""
        ranges = self.archive.program.get("range_constraints") or {}
        every = {name for size in self._all_sizes() for name in symbols_of(size_of(size))}
        for given in self.sizes:
            if given not in every:
                listed = f"its symbols are: {', '.join(sorted(every)[:12])}" if every else "all its sizes are numbers"
                raise UsageError(f"{self.archive.name} has no symbol {given!r}{did_you_mean(given, every)} ({listed})")
        symbols: dict[str, Symbol] = {}
        for name in sorted(every):
            low, high = (ranges.get(name) or {}).get("min_val"), (ranges.get(name) or {}).get("max_val")
            least = low if isinstance(low, int) and 0 <= low < 2**60 else 1
            most = high if isinstance(high, int) and least <= high < 2**60 else None
            made = self.sizes.get(name, name)
            if isinstance(made, str):
                renamed = made if made.isidentifier() else ""
                for other in symbols_of(made):
                    symbols[other] = Symbol(None, max(1, least), most) if other == renamed else Symbol()
        return symbols

    def _all_sizes(self) -> Iterator[Amount]:
        for _, shape, _ in self.meta.values():
            yield from shape

    def _tensors(self, given: set[str]) -> Iterator[Tensor]:
        for name, (producer, readers) in self.tensors.items():
            if readers or name in given or producer is None:
                dtype, shape, _ = self.meta[name]
                size = self._size(self._bytes(name))
                yield Tensor(name, producer, tuple(readers), size, dtype, tuple(map(self._size, shape)))

    def _inputs(self) -> None:
        """Note the weights and the inputs."""
        stored = _storages(self.archive.weights)
        first: dict[str, int] = {}
        for entry in self.signature["input_specs"]:
            ((kind, spec),) = entry.items()
            if kind == "user_input":
                for name in _tensor_names(spec["arg"]):
                    self.tensors[name] = None, []
                    if self.meta[name][0] in _GIVEN:
                        self.again.add(name)
            elif kind in ("parameter", "buffer", "tensor_constant"):
                called = spec[f"{kind}_name"]
                self._hold(spec["arg"]["name"], called, stored.get(called, ""), first)

    def _hold(self, name: str, called: str, storage: str, first: dict[str, int]) -> None:
        """Note a weight; one that is stored with another before it is tied to that."""
        if storage and storage in first:
            number = first[storage]
            whole = self.weights[number]
            self.weights[number] = replace(whole, tied=(*whole.tied, called))
        else:
            number = len(self.weights)
            dtype, shape, _ = self.meta[name]
            sizes = tuple(size for size in shape if isinstance(size, int))
            if len(sizes) < len(shape):
                raise UsageError(f"{self.archive.name}: weight {called[:80]!r} has a size that is no number")
            self.weights.append(Weight(called, product([*sizes, int(KNOWN[dtype]) // 8]), dtype, sizes))  # type: ignore[arg-type]
            if storage:
                first[storage] = number
        self.weight_numbers[name] = number

    # -- Operators

    def _node(self, node: Mapping[str, Any]) -> None:
        made = [name for output in node["outputs"] for name in _tensor_names(output)]
        if not made:
            return  # sizes and assertions make no tensors
        target = node["target"]
        parts = target.removeprefix("torch.ops.").split(".")
        name = parts[1] if len(parts) > 1 and parts[0] in ("aten", "higher_order", "prims") else target
        name = name.strip("_")
        read = list(dict.fromkeys(tensor for _, tensor in self._arguments(node)))
        for tensor in read:
            if tensor not in self.tensors and tensor not in self.weight_numbers:
                raise UsageError(
                    f"{self.archive.name}: {target[:80]!r} reads {tensor[:80]!r}, which nothing before it makes"
                )
        kind, flop = self._cost(name, node, made)
        path = _path(node)
        op, called = target.removeprefix("torch.ops."), self.names.operator(path, name)
        numbers = sorted({self.weight_numbers[tensor] for tensor in read if tensor in self.weight_numbers})
        again = self._again(kind, numbers, [tensor for tensor in read if tensor not in self.weight_numbers], node)
        number = len(self.operators)
        routed = int(node["inputs"][1]["arg"]["as_int"]) if name == "topk" else self._routed(kind, read)
        self.routed.update((tensor, routed) for tensor in made if routed)
        taken, given, rows = self._traffic(name, kind, read, made)
        if again:
            taken = taken + sum(self.weights[w].bytes for w in numbers)
        self.operators.append(
            Operator(
                called,
                op,
                str(node.get("name") or made[0]),
                kind,
                self._dtype(kind, read, made),
                path,
                flop=self.flops.of(called, op, None if flop is None else self._size(flop)),
                read=self._size(taken),
                write=self._size(given),
                weights=() if again else tuple(numbers),
                weight_read=None if rows is None or again else self._size(rows),
                recomputable=again,
            )
        )
        for tensor in read:
            if tensor in self.tensors:
                self.tensors[tensor][1].append(number)
        for tensor in made:
            if tensor in self.tensors or tensor in self.weight_numbers:
                raise UsageError(f"{self.archive.name}: two nodes make {tensor[:80]!r}")
            self.tensors[tensor] = number, []
            if again:
                self.again.add(tensor)

    def _arguments(self, node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the tensors among the arguments of a call, by the name of the argument."""
        for argument in node["inputs"]:
            tensor_names = _tensor_names(argument["arg"])
            single = "as_tensor" in argument["arg"]
            yield from (
                (argument["name"] if single else f"{argument['name']}.{i}", name) for i, name in enumerate(tensor_names)
            )

    def _cost(self, name: str, node: Mapping[str, Any], made: list[str]) -> tuple[str, Amount | None]:
        """Return the kind and the operations of a call."""
        if name in _WRAPPERS:
            return "other", self._within(node)
        if not node["target"].startswith(("torch.ops.aten.", "torch.ops.prims.")):
            return "other", None
        if name in RESHAPES and self._same_data(node, made[0]):
            return "view", 0
        shapes = {argument: self.meta[tensor][1] for argument, tensor in self._arguments(node)}
        others = {entry["name"]: _plain(entry["arg"]) for entry in node["inputs"]}
        flop = flop_of(AtenCall(name, shapes, [self.meta[tensor][1] for tensor in made], others))
        return kind_of(name) or "other", flop

    def _within(self, node: Mapping[str, Any]) -> Amount | None:
        """Return the operations of the graph that a call runs once."""
        total: Amount = 0
        for argument in node["inputs"]:
            inner = argument["arg"].get("as_graph")
            if inner is None:
                continue
            self._values(inner["graph"])
            for call in inner["graph"]["nodes"]:
                made = [name for out in call["outputs"] for name in _tensor_names(out)]
                if made:
                    name = call["target"].removeprefix("torch.ops.").split(".")[1].strip("_")
                    flop = self._cost(name, call, made)[1]
                    if flop is None:
                        return None
                    total = total + flop
        return total

    def _same_data(self, node: Mapping[str, Any], made: str) -> bool:
        """Return whether a reshape gives the data that it is given: it is in order, and of the same type."""
        read = [name for _, name in self._arguments(node)]
        dtype, shape, strides = self.meta[read[0]]
        if self.meta[made][0] != dtype or "clone" in node["target"]:
            return False
        if self.meta[made][1] == shape:
            return self.meta[made][2] == strides
        return _in_order(shape, strides) or not _in_order(*self.meta[made][1:])

    def _traffic(self, name: str, kind: str, read: list[str], made: list[str]) -> tuple[Amount, Amount, Amount | None]:
        """Return the bytes read of tensors, written, and read of weights where that is not all of them."""
        if kind == "view":
            return 0, 0, 0
        write: Amount = 0
        for tensor in made:
            write = write + self._bytes(tensor)
        taken: Amount = 0
        parts: dict[str, Amount] = {read[0]: write} if name in GATHERS and read else {}
        if name == "grouped_mm" and len(self.meta[read[1]][1]) > len(self.meta[read[0]][1]):
            parts = {read[1]: self._experts(*read[:3])}
        for tensor in read:
            if tensor in self.tensors:
                taken = taken + parts.get(tensor, self._bytes(tensor))
        return taken, write, next((amount for tensor, amount in parts.items() if tensor in self.weight_numbers), None)

    def _routed(self, kind: str, read: list[str]) -> int:
        """Return how many experts each token uses, where what is read says it; 0 for what is made by a product."""
        return 0 if kind == "matmul" else next((self.routed[tensor] for tensor in read if tensor in self.routed), 0)

    def _experts(self, rows: str, weights: str, groups: str) -> Amount:
        """Return the bytes of the experts that rows read; without a topk each row is taken for a token of its own."""
        count, used = self.meta[weights][1][0], self.routed.get(groups, 1)
        if not isinstance(count, int):
            return self._bytes(weights)
        tokens = size_of(whole_quotient(self.meta[rows][1][0], used))
        return product([symbol(f"experts({count}, {used}, {tokens})"), whole_quotient(self._bytes(weights), count)])

    def _dtype(self, kind: str, read: list[str], made: list[str]) -> str:
        products = kind in ("matmul", "conv", "attention", "rnn") and read
        return self.meta[read[0] if products else made[0]][0]

    def _again(self, kind: str, weights: list[int], read: list[str], node: Mapping[str, Any]) -> bool:
        """Return whether a stage can run a call again: from numbers that every stage is given, without weights."""
        if kind in ("embedding", "other") or re.search(
            r"\.(rand|bernoulli|multinomial|normal|dropout)", node["target"]
        ):
            return False
        return sum(self.weights[w].bytes for w in weights) <= SMALL and all(name in self.again for name in read)


def _in_order(shape: Shape, strides: Shape) -> bool:
    """Return whether the numbers of a tensor stand one after another, the last axis running fastest."""
    expected: Amount = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected = product([expected, size])
    return True


def _tensor_names(given: Mapping[str, Any]) -> list[str]:
    """Return the names of the tensors in an argument: one, a list, or none."""
    if "as_tensor" in given:
        return [given["as_tensor"]["name"]]
    if "as_tensors" in given:
        return [tensor["name"] for tensor in given["as_tensors"]]
    if "as_optional_tensors" in given:
        return [tensor["as_tensor"]["name"] for tensor in given["as_optional_tensors"] if "as_tensor" in tensor]
    return []


def _plain(given: Mapping[str, Any]) -> Any:
    """Return an argument that is a number, a text or a list of them."""
    return next(
        (argument for key, argument in given.items() if key in ("as_int", "as_bool", "as_string", "as_ints")), None
    )


def _path(node: Mapping[str, Any]) -> str:
    """Return the path of the module that a call is in; "" where the program does not say."""
    stack = (node.get("metadata") or {}).get("nn_module_stack") or ""
    last = stack.split(";")[-1].split(",")
    path = last[1] if len(last) == 3 and "_empty_nn_module_stack" not in stack else ""
    return ".".join(part for part in re.sub(r"@[0-9]+", "", path)[:300].split(".") if part)


def _storages(weights: Any) -> dict[str, str]:
    """Return where each weight is stored, by its name."""
    table = weights.get("config") if isinstance(weights, dict) else None
    if not isinstance(table, dict):
        return {}
    return {
        name: str(entry["path_name"])
        for name, entry in table.items()
        if isinstance(entry, dict) and "path_name" in entry
    }
