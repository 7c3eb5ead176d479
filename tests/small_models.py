"""Small models made by hand, as an importer would make them, for tests that need no framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.operator_names import Names
from mtpp_dsl.exchange.model.parts import Amount, Operator, Source, Symbol, Tensor, Weight

SYMBOLS = MappingProxyType({"batch": Symbol(1, 1, 1024), "seq": Symbol(16, 1, 4096)})


@dataclass
class Maker:
    """Writes down operators one after another; values are numbers of tensors."""

    operators: list[Operator] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    weights: list[Weight] = field(default_factory=list)
    names: Names = field(default_factory=Names)

    def weight(self, name: str, *shape: int, tied: tuple[str, ...] = ()) -> int:
        """Add a weight of 2 bytes a number; return its number."""
        count = 1
        for size in shape:
            count *= size
        self.weights.append(Weight(name, 2 * count, "bf16", shape, tied))
        return len(self.weights) - 1

    def input(self, name: str, size: Amount, dtype: str = "int64") -> int:
        """Add an input of the model; return its tensor's number."""
        self.tensors.append(Tensor(name, None, (), size, dtype))
        return len(self.tensors) - 1

    def call(self, path: str, op: str, inputs: Sequence[int], output: Amount, **more: Any) -> int:
        """Add an operator with one output; return its tensor's number."""
        number, name = len(self.operators), self.names.operator(path, op)
        for t in set(inputs):
            old = self.tensors[t]
            self.tensors[t] = Tensor(old.name, old.producer, (*old.readers, number), old.bytes, old.dtype, old.shape)
        layer = next((int(part) for part in path.split(".") if part.isdigit()), None)
        role = more.pop("role", "layer" if layer is not None else "")
        reads = [self.tensors[t].bytes for t in set(inputs)]
        read = "+".join(map(str, reads)) if reads else 0
        usual: dict[str, Any] = {"kind": "elementwise", "flop": 0, "dtype": "bf16", "read": read, "write": output}
        self.operators.append(
            Operator(name, f"aten.{op}.default", f"n{number}", path=path, layer=layer, role=role, **usual | more)
        )
        self.tensors.append(Tensor(f"t{number}", number, (), output, "bf16"))
        return len(self.tensors) - 1

    def linear(
        self, path: str, x: int, rows: int, columns: int, role: str | None = None, weight: int | None = None
    ) -> int:
        """Add a linear layer from *rows* to *columns* features."""
        own = self.weight(f"{path}.weight", columns, rows) if weight is None else weight
        more = {} if role is None else {"role": role}
        flop = f"{2 * rows * columns}*batch*seq"
        return self.call(
            path, "linear", [x], f"{2 * columns}*batch*seq", kind="matmul", flop=flop, weights=(own,), **more
        )

    def model(self, outputs: Sequence[int], name: str, **more: Any) -> Model:
        """Return the model."""
        return Model(
            tuple(self.operators),
            tuple(self.tensors),
            tuple(self.weights),
            tuple(outputs),
            SYMBOLS,
            source=Source(
                "torch", name, "", MappingProxyType({"torch": "2.13.0"}), MappingProxyType({"args": (1, "x")})
            ),
            **more,
        )


def gpt(layers: int = 4, width: int = 64, vocabulary: int = 100) -> Model:
    """Return a GPT-like model: tables, blocks ``transformer.h.0`` …, a final norm, and a head tied to the first table.

    The path ``transformer`` itself has operators at both ends: additions before the blocks, a view after them.
    """
    make, act = Maker(), f"{2 * width}*batch*seq"
    ids = make.input("ids", "8*batch*seq")
    table = make.weight("transformer.wte.weight", vocabulary, width, tied=("lm_head.weight",))
    places = make.weight("transformer.wpe.weight", 4096, width)
    look = {"kind": "embedding", "weight_read": act, "role": "embedding"}
    x = make.call("transformer.wte", "embedding", [ids], act, weights=(table,), **look)
    at = make.call("transformer", "arange", [], "8*seq", kind="fill", dtype="int64", recomputable=True)
    p = make.call("transformer.wpe", "embedding", [at], f"{2 * width}*seq", weights=(places,), **look)
    x = make.call("transformer", "add", [x, p], act, flop=f"{width}*batch*seq", role="embedding")
    for i in range(layers):
        x = _gpt_block(make, f"transformer.h.{i}", x, width, act)
    norm = make.weight("transformer.ln_f.weight", width)
    x = make.call("transformer.ln_f", "layer_norm", [x], act, kind="norm", weights=(norm,), role="norm")
    x = make.call("transformer", "view", [x], act, kind="view", read=0, write=0, role="norm")
    x = make.linear("lm_head", x, width, vocabulary, role="head", weight=table)
    return make.model([x], f"gpt{layers}")


def _gpt_block(make: Maker, path: str, x: int, width: int, act: str) -> int:
    norm = make.weight(f"{path}.ln_1.weight", width)
    y = make.call(f"{path}.ln_1", "layer_norm", [x], act, kind="norm", flop=f"{5 * width}*batch*seq", weights=(norm,))
    y = make.linear(f"{path}.attn.c_attn", y, width, 3 * width)
    flop = f"{4 * width}*batch*seq**2"
    cache = f"{4 * width}*batch*seq"
    y = make.call(f"{path}.attn", "attention", [y], act, kind="attention", flop=flop, cache=cache)
    y = make.linear(f"{path}.attn.c_proj", y, width, width)
    x = make.call(path, "add", [x, y], act, flop=f"{width}*batch*seq")
    y = make.linear(f"{path}.mlp.c_fc", x, width, 4 * width)
    y = make.call(f"{path}.mlp.act", "gelu", [y], f"{8 * width}*batch*seq", flop=f"{4 * width}*batch*seq")
    y = make.linear(f"{path}.mlp.c_proj", y, 4 * width, width)
    return make.call(path, "add", [x, y], act, flop=f"{width}*batch*seq")


def llama(layers: int = 4, width: int = 64, vocabulary: int = 100) -> Model:
    """Return a Llama-like model: ``model.layers.0`` …; a mask and rotary tables that all layers read."""
    make, act = Maker(), f"{2 * width}*batch*seq"
    ids = make.input("ids", "8*batch*seq")
    table = make.weight("model.embed_tokens.weight", vocabulary, width)
    look = {"kind": "embedding", "weight_read": act, "role": "embedding", "weights": (table,)}
    x = make.call("model.embed_tokens", "embedding", [ids], act, **look)
    at = make.call("model", "arange", [], "8*seq", kind="fill", dtype="int64", recomputable=True)
    mask = make.call("model", "le", [at], "seq*seq", kind="fill", dtype="bool", recomputable=True)
    angle = make.call("model.rotary_emb", "mul", [at], "64*seq", flop="16*seq", recomputable=True)
    cos = make.call("model.rotary_emb", "cos", [angle], "64*seq", flop="16*seq", recomputable=True)
    sin = make.call("model.rotary_emb", "sin", [angle], "64*seq", flop="16*seq", recomputable=True)
    for i in range(layers):
        x = _llama_layer(make, f"model.layers.{i}", x, (mask, cos, sin), width, act)
    norm = make.weight("model.norm.weight", width)
    x = make.call("model.norm", "rms_norm", [x], act, kind="norm", weights=(norm,), role="norm")
    x = make.linear("lm_head", x, width, vocabulary, role="head")
    return make.model([x], f"llama{layers}")


def _llama_layer(make: Maker, path: str, x: int, shared: tuple[int, int, int], width: int, act: str) -> int:
    mask, cos, sin = shared
    norm = make.weight(f"{path}.input_layernorm.weight", width)
    y = make.call(f"{path}.input_layernorm", "rms_norm", [x], act, kind="norm", weights=(norm,))
    q, k, v = (make.linear(f"{path}.self_attn.{each}_proj", y, width, width) for each in "qkv")
    q = make.call(f"{path}.self_attn", "rotate", [q, cos, sin], act, flop=f"{3 * width}*batch*seq")
    k = make.call(f"{path}.self_attn", "rotate", [k, cos, sin], act, flop=f"{3 * width}*batch*seq")
    flop = f"{4 * width}*batch*seq**2"
    cache = f"{4 * width}*batch*seq"
    y = make.call(f"{path}.self_attn", "attention", [q, k, v, mask], act, kind="attention", flop=flop, cache=cache)
    y = make.linear(f"{path}.self_attn.o_proj", y, width, width)
    x = make.call(path, "add", [x, y], act, flop=f"{width}*batch*seq")
    gate = make.linear(f"{path}.mlp.gate_proj", x, width, 4 * width)
    up = make.linear(f"{path}.mlp.up_proj", x, width, 4 * width)
    y = make.call(f"{path}.mlp", "mul", [gate, up], f"{8 * width}*batch*seq", flop=f"{4 * width}*batch*seq")
    y = make.linear(f"{path}.mlp.down_proj", y, 4 * width, width)
    return make.call(path, "add", [x, y], act, flop=f"{width}*batch*seq")
