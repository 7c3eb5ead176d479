"""From a program of torch.export to the operators, tensors and weights of a model, with sizes as formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

from mtpp_dsl.exchange.importers.torch_costs import Counter, TorchCost, tensors_in
from mtpp_dsl.exchange.importers.torch_export import Exported
from mtpp_dsl.exchange.importers.torch_kinds import dtype_name, kind_of
from mtpp_dsl.exchange.importers.torch_names import is_whole_slice, operator_names
from mtpp_dsl.exchange.model.parts import Weight
from mtpp_dsl.exchange.model.sizes import Size


@dataclass(eq=False)
class ProgramCall:
    """One call of the program.

    Attributes:
        node: of the program's graph.
        name: of the operator.
        cost: what it costs.
        values: where each tensor comes from that it reads, in the order of ``node.all_input_nodes``; None: from no
            tensor, but from a size.
        after: numbers of calls that changed, in place, what it reads.
        kind, dtype: of the operator.
    """

    node: Any
    name: str
    cost: TorchCost
    values: tuple[Value | None, ...]
    after: tuple[int, ...]
    kind: str
    dtype: str


@dataclass(frozen=True)
class Value:
    """A tensor of the program.

    Attributes:
        made: the number of the call that made it and the place among what that call gives; None: it is given.
        root: whose data it is: ("weight", number), ("input", number) or ("call", number, place).
        tensor: a fake tensor of its shape.
        name: as torch calls it.
    """

    made: tuple[int, int] | None
    root: tuple[Any, ...]
    tensor: Any
    name: str


@dataclass(eq=False)
class Drawn:
    """What a program holds, before it is made a model.

    Attributes:
        exported: the program.
        counter: which counted its calls.
        calls: in their order.
        weights: one of each storage.
        weight_tensors: the parameter or buffer of each.
        is_buffer: whether each weight is a buffer.
        inputs: tensors that the program is given.
        outputs: tensors that it gives, None for what is no tensor.
        known: what each node of the program gives: tensors by their place.
    """

    exported: Exported
    counter: Counter
    calls: list[ProgramCall] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    weight_tensors: list[Any] = field(default_factory=list)
    is_buffer: list[bool] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value | None] = field(default_factory=list)
    known: dict[Any, dict[int, Value]] = field(default_factory=dict)

    def size(self, number: Any) -> Size:
        """Return a number of torch as a size; see :func:`size_of` for what it raises."""
        return size_of(number, self.exported.names)

    def shape(self, tensor: Any) -> tuple[Size, ...]:
        """Return the shape of a tensor; () where it depends on the data."""
        try:
            return tuple(self.size(size) for size in tensor.shape)
        except NotAFormula:
            return ()


def draw(exported: Exported) -> Drawn:
    """Read the calls, weights, inputs and outputs of a program."""
    program = exported.program
    counter = Counter(program.graph_module)
    drawn = Drawn(exported, counter)
    _read_weights(drawn)
    live = _live(program.graph)
    names = {node: name for node, name in operator_names(program.graph).items() if node in live}
    changed: dict[tuple[Any, ...], list[int]] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            _read_placeholder(drawn, node)
        elif node in names:
            _read_call(drawn, node, names[node], changed)
        elif node.op == "call_function" and is_whole_slice(node) and node.args[0] in drawn.known:
            drawn.known[node] = {0: drawn.known[node.args[0]][min(drawn.known[node.args[0]])]}
        elif node.target is getitem and node.args[0] in drawn.known:
            _read_part(drawn, node)
        elif node.op == "output":
            _read_outputs(drawn, node)
    return drawn


def _live(graph: Any) -> set[Any]:
    """Return the nodes on which what the program gives, or changes in place, depends."""
    live: set[Any] = set()
    for node in reversed(graph.nodes):
        schema = getattr(node.target, "_schema", None)
        changes = schema is not None and schema.is_mutable
        higher = getattr(node.target, "namespace", "") == "higher_order"
        if node.op == "output" or changes or higher or any(user in live for user in node.users):
            live.add(node)
    return live


def _read_weights(drawn: Drawn) -> None:
    """Read the parameters, buffers and constants of the program: those of one storage are one weight."""
    program = drawn.exported.program
    signature = program.graph_signature
    tensors = {**program.constants, **program.state_dict}
    named = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    named |= getattr(signature, "inputs_to_lifted_tensor_constants", {})
    parameters = set(signature.inputs_to_parameters.values())
    by_storage: dict[int, int] = {}
    drawn.known.clear()
    for placeholder, name in named.items():
        tensor = tensors.get(name)
        if tensor is None or not hasattr(tensor, "element_size"):
            continue
        storage = int(tensor.untyped_storage()._cdata)
        if storage in by_storage:
            at = by_storage[storage]
            one = drawn.weights[at]
            larger = max(one.bytes, tensor.numel() * tensor.element_size())
            drawn.weights[at] = Weight(one.name, larger, one.dtype, one.shape, (*one.tied, name))
        else:
            at = by_storage[storage] = len(drawn.weights)
            size = tensor.numel() * tensor.element_size()
            drawn.weights.append(Weight(name, size, dtype_name(tensor.dtype), tuple(tensor.shape)))
            drawn.weight_tensors.append(tensor)
            drawn.is_buffer.append(name not in parameters)
        drawn.known[placeholder] = {0: Value(None, ("weight", at), None, name)}


def _read_placeholder(drawn: Drawn, node: Any) -> None:
    value = node.meta.get("val")
    if node.name in drawn.known:
        placeholder = drawn.known.pop(node.name)[0]
        drawn.known[node] = {0: Value(None, placeholder.root, value, placeholder.name)}
    elif hasattr(value, "element_size"):
        given = Value(None, ("input", len(drawn.inputs)), value, node.name)
        drawn.inputs.append(given)
        drawn.known[node] = {0: given}


def _read_call(drawn: Drawn, node: Any, name: str, changed: dict[tuple[Any, ...], list[int]]) -> None:
    """Add a call, and what it makes; *changed* holds the calls that changed a tensor's data in place."""
    number = len(drawn.calls)
    values = tuple(_whole(drawn.known.get(input_node)) for input_node in node.all_input_nodes)
    cost = drawn.counter.cost(node)
    after = sorted({call for value in values if value is not None for call in changed.get(value.root, ())})
    given = tensors_in(node.meta.get("val"))
    kind, dtype = _kind(node, cost, values, given)
    drawn.calls.append(ProgramCall(node, name, cost, values, tuple(after), kind, dtype))
    single = hasattr(node.meta.get("val"), "element_size")
    made: dict[int, Value] = {}
    for place, (tensor, share) in enumerate(zip(given, cost.shares, strict=True)):
        source = values[share] if share is not None else None
        root = source.root if source is not None else ("call", number, place)
        made[place] = Value((number, place), root, tensor, node.name if single else f"{node.name}.{place}")
    drawn.known[node] = made
    schema = getattr(node.target, "_schema", None)
    if schema is not None and schema.is_mutable:
        for argument, value in zip(schema.arguments, node.args, strict=False):
            written = argument.alias_info is not None and argument.alias_info.is_write
            if written and value in drawn.known and (root_value := _whole(drawn.known[value])) is not None:
                changed.setdefault(root_value.root, []).append(number)


def _whole(made: Mapping[int, Value] | None) -> Value | None:
    """Return the first tensor of what a node gives, which stands for all of them."""
    return None if not made else made[min(made)]


def _kind(node: Any, cost: TorchCost, values: Iterable[Value | None], given: list[Any]) -> tuple[str, str]:
    """Return the kind of a call, and the type that it computes in: that of its first input of floating point."""
    schema = getattr(node.target, "_schema", None)
    in_place = schema is not None and schema.is_mutable
    if not in_place and cost.shares and all(share is not None for share in cost.shares):
        return "view", ""
    kind = kind_of(node.target)
    kind = "copy" if kind == "view" else kind
    tensors = [value.tensor for value in values if value is not None and value.tensor is not None]
    floating = next((tensor for tensor in [*tensors, *given] if tensor.dtype.is_floating_point), None)
    first = floating if floating is not None else given[0]
    return kind, dtype_name(first.dtype)


def _read_part(drawn: Drawn, node: Any) -> None:
    """Read ``operator.getitem``: one tensor of several."""
    source, place = node.args
    if isinstance(place, int) and place in drawn.known[source]:
        value = drawn.known[source][place]
        drawn.known[node] = {0: Value(value.made, value.root, value.tensor, node.name)}
        drawn.known[source][place] = drawn.known[node][0]


def _read_outputs(drawn: Drawn, node: Any) -> None:
    flat = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
    for output in flat:
        drawn.outputs.append(_whole(drawn.known.get(output)) if hasattr(output, "op") else None)


MAX_POWER = 8


class NotAFormula(Exception):
    """A size is no formula over the symbols of the inputs; says which part is not."""


def size_of(number: Any, names: Mapping[str, str]) -> Size:
    """Return a number or a SymInt of torch as a size, with the symbols of torch called as *names* say.

    Raises:
        NotAFormula: it depends on data, or has a function that sizes do not have.
    """
    if isinstance(number, (int, float)):
        return int(number)
    expression = number.node.expr if hasattr(number, "node") else number
    if expression.is_number:
        return int(expression)
    return _text(expression, names)


def _text(expression: Any, names: Mapping[str, str]) -> str:
    """Return a formula of sympy in the words of sizes; every part with an operator is in brackets."""
    parts = expression.args
    kind = type(expression).__name__
    if expression.is_Symbol:
        if str(expression) not in names:
            raise NotAFormula(f"{expression}, which depends on the data")
        return names[str(expression)]
    if expression.is_Integer:
        return str(int(expression)) if expression >= 0 else f"(0 - {-int(expression)})"
    if expression.is_Rational:
        return f"({int(expression.p)} / {int(expression.q)})"
    if kind in ("Mul", "Add"):
        return _chain(expression, names)
    if kind in ("Pow", "PowByNatural") and parts[1].is_Integer and 0 < parts[1] <= MAX_POWER:
        base = _text(parts[0], names)
        return f"{base if parts[0].is_Symbol else f'({base})'}**{int(parts[1])}"
    if kind in ("Max", "Min", "experts"):
        return f"{kind.lower()}({', '.join(_text(part, names) for part in parts)})"
    if kind in ("FloorDiv", "CleanDiv"):
        return f"(({_text(parts[0], names)}) // ({_text(parts[1], names)}))"
    if kind == "CeilDiv":
        low = _text(parts[1], names)
        return f"(({_text(parts[0], names)} + {low} - 1) // ({low}))"
    if kind in ("Mod", "PythonMod"):
        return f"(({_text(parts[0], names)}) % ({_text(parts[1], names)}))"
    if kind in ("Identity", "ToFloat", "TruncToInt"):
        return _text(parts[0], names)
    raise NotAFormula(str(expression)[:80])


def _chain(expression: Any, names: Mapping[str, str]) -> str:
    """Return a sum or a product: terms in a fixed order, numbers first, and differences as such."""
    product = type(expression).__name__ == "Mul"
    parts = sorted(expression.args, key=lambda part: (not part.is_number, str(part)))
    if product:
        return "*".join(f"({text})" if part.is_Add else text for part, text in _texts(parts, names))
    added: list[str] = []
    taken: list[str] = []
    for part in parts:
        first, _ = part.as_coeff_Mul()
        less = bool(first.is_number and first < 0)
        (taken if less else added).append(_text(-part if less else part, names))
    if not added:
        added = ["0"]
    return " - ".join([" + ".join(added), *(f"({text})" if " " in text else text for text in taken)])


def _texts(parts: list[Any], names: Mapping[str, str]) -> list[tuple[Any, str]]:
    return [(part, _text(part, names)) for part in parts]
