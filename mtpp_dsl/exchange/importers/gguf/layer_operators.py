"""The operators of a decoder in llama.cpp, layer by layer, with their costs in both phases.

A product of t rows with a matrix of [o, i] takes 2 t i o operations. Attention of q new tokens to k tokens takes 2 q k
(size of all queries + size of all values) for each sequence, causal or not. Of experts, each token uses some.
"""

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

_ATTENTION = "norm q k v qkv q_norm k_norm output sinks rot_embd"
_FEED_FORWARD = "norm gate up down gate_inp gate_exps up_exps down_exps gate_up_exps gate_shexp up_shexp down_shexp"
LAYER = frozenset(
    {f"attn_{part}" for part in _ATTENTION.split()}
    | {f"ffn_{part}" for part in _FEED_FORWARD.split()}
    | {"ffn_gate_inp_shexp", "post_attention_norm", "post_ffw_norm", "exp_probs_b"}
)
"""The tensors of a layer whose part in the computation is known here."""

_WIDE = 4
"""Bytes of a number between operators."""
_CACHED = 2
"""Bytes of a number in the cache."""
Phased: TypeAlias = Mapping[str, Amount]
"""An amount in each phase."""


class GgufLayers:
    """Makes the operators of one model, each reading what is made before it."""

    def __init__(self, header: Header, phases: Sequence[str]) -> None:
        self.header, self.phases = header, tuple(phases)
        self.operators: list[Operator] = []
        self.weights: list[Weight] = []
        self.numbers: dict[str, int] = {}
        self.names = Names()
        self._made: list[tuple[str, int | None, Phased, list[int]]] = []
        self._wide: list[int] = []
        batch, seq = symbol("batch"), symbol("seq")
        self.batch, self.seq = batch, seq
        self.tokens: Phased = {"prefill": batch * seq, "decode": batch}
        self.queries: Phased = {"prefill": seq, "decode": 1}
        self.result = 0

    def build(self, count: int) -> None:
        """Make all operators of *count* layers."""
        table = self._need("token_embd.weight", 2)
        self.width = table.shape[1]
        self._made.append(("tokens", None, self._times(self.tokens, 4), []))
        self._wide.append(1)
        stream = self._embedding(table)
        for number in range(count):
            stream = self._layer(f"blk.{number}.", stream)
        stream = self._last(stream)
        self.result = self._head(stream)
        lost = next((name for name in self.header.tensors if name not in self.numbers), None)
        if lost is not None:
            raise UsageError(f"{self.header.name} has the tensor {lost[:80]!r}, which no operator here reads")

    def tensors(self) -> list[Tensor]:
        """Return the tensors between the operators."""
        return [
            Tensor(name, producer, tuple(readers), self._amount(size), "int32" if producer is None else "fp32")
            for name, producer, size, readers in self._made
        ]

    # -- Parts of the model

    def _embedding(self, table: GgufTensor) -> int:
        row = table.bytes // table.shape[0]
        return self._operator(
            "token_embd",
            "get_rows",
            "embedding",
            [0],
            {},
            self.width,
            weights=["token_embd.weight"],
            weight_read=self._times(self.tokens, row),
        )

    def _layer(self, at: str, stream: int) -> int:
        before = self._norm(f"{at}attn_norm", stream)
        attended = self._attention(at, before)
        attended = self._norm(f"{at}post_attention_norm", attended)
        parallel = not self._has(f"{at}ffn_norm") and not self._has(f"{at}post_attention_norm")
        if parallel:
            made = self._feed_forward(at, before)
            return self._sum(f"{at}add", [stream, attended, made])
        stream = self._sum(f"{at}attn_add", [stream, attended])
        made = self._feed_forward(at, self._norm(f"{at}ffn_norm", stream))
        made = self._norm(f"{at}post_ffw_norm", made)
        return self._sum(f"{at}ffn_add", [stream, made])

    def _attention(self, at: str, stream: int) -> int:
        """Queries, keys and values, the cache, attention and the product after it."""
        out = self._need(f"{at}attn_output.weight", 2)
        values_in = out.shape[1]
        if self._has(f"{at}attn_qkv"):
            fused = self._need(f"{at}attn_qkv.weight", 2)
            queries, rest = values_in, fused.shape[0] - values_in
            if rest < 2 or rest % 2:
                raise self._wrong(f"{at}attn_qkv.weight", fused)
            keys = values = rest // 2
            parts = [self._rotary(at, [self._matmul(f"{at}attn_qkv", stream)], fused.shape[0])]
        else:
            sizes = [self._need(f"{at}attn_{part}.weight", 2).shape[0] for part in "qkv"]
            queries, keys, values = sizes
            parts = []
            for part in "qkv":
                made = self._matmul(f"{at}attn_{part}", stream)
                parts.append(self._norm(f"{at}attn_{part}_norm", made, sizes["qkv".index(part)]))
            parts = [self._rotary(at, parts[:2], queries + keys), parts[2]]
        if queries * values != values_in * keys:  # as many heads of queries as of values
            raise self._wrong(out.name, out)
        cached = product([self.batch, self.seq, keys + values, _CACHED])
        pairs = self._each(lambda phase: product([self.batch, self.queries[phase], self.seq]))
        scored = self._operator(
            f"{at}attn",
            "flash_attn",
            "attention",
            parts,
            self._times(pairs, 2 * (queries + values_in)),
            values_in,
            weights=[f"{at}attn_sinks.weight"] if self._has(f"{at}attn_sinks") else [],
            cache=dict.fromkeys(self.phases, cached),
        )
        return self._matmul(f"{at}attn_output", scored)

    def _rotary(self, at: str, parts: list[int], size: int) -> int:
        """Rotate queries and keys by their positions; the values of a fused product pass through.

        The factors that all layers share are counted with the first.
        """
        factors = [f"{at}attn_rot_embd.weight"]
        factors += [f"rope_{name}.weight" for name in ("freqs", "factors_long", "factors_short") if at == "blk.0."]
        return self._operator(f"{at}rope", "rope", "elementwise", parts, {}, size, weights=factors)

    def _feed_forward(self, at: str, stream: int) -> int:
        """Two or three products; or experts of them, of which each token uses some, and those that all use."""
        if not self._has(f"{at}ffn_gate_inp"):
            return self._mlp(at, stream, "")
        routed = self._matmul(f"{at}ffn_gate_inp", stream, [f"{at}exp_probs_b.bias"])
        extra = [f"{at}ffn_{part}_exps.bias" for part in ("gate", "up", "gate_up", "down")]
        made = [self._experts(at, stream, routed, extra)]
        if self._has(f"{at}ffn_up_shexp"):
            shared = self._mlp(at, stream, "_shexp")
            if self._has(f"{at}ffn_gate_inp_shexp"):
                gate = self._matmul(f"{at}ffn_gate_inp_shexp", stream)
                shared = self._operator(f"{at}ffn_shexp_mul", "mul", "elementwise", [shared, gate], {}, self.width)
            made.append(shared)
        return made[0] if len(made) == 1 else self._sum(f"{at}ffn_shexp_add", made)

    def _mlp(self, at: str, stream: int, kind: str) -> int:
        up = self._matmul(f"{at}ffn_up{kind}", stream)
        inner = self._need(f"{at}ffn_down{kind}.weight", 2).shape[1]
        read = [up]
        if self._has(f"{at}ffn_gate{kind}"):
            read = [self._matmul(f"{at}ffn_gate{kind}", stream), up]
        active = self._operator(f"{at}ffn_act{kind}", "glu", "elementwise", read, {}, inner)
        return self._matmul(f"{at}ffn_down{kind}", active)

    def _experts(self, at: str, stream: int, routed: int, extra: list[str]) -> int:
        """The experts' products, which read those experts that some token uses."""
        names = [f"{at}ffn_{part}_exps.weight" for part in ("gate", "up", "gate_up", "down")]
        tables = [self._need(name, 3) for name in names if name in self.header.tensors]
        used, count = self._fact("expert_used_count"), tables[0].shape[0] if tables else 0
        if not tables or not 1 <= used <= count or any(table.shape[0] != count for table in tables):
            raise UsageError(f"{self.header.name}: layer {at[:-1]!r} has {count} experts, of which {used} are used")
        entries = sum(table.shape[1] * table.shape[2] for table in tables)
        size = sum(table.bytes for table in tables)
        touched = self._each(lambda phase: symbol(f"experts({count}, {used}, {size_of(self.tokens[phase])})"))
        return self._operator(
            f"{at}ffn_exps",
            "mul_mat_id",
            "matmul",
            [stream, routed],
            self._times(self.tokens, 2 * used * entries),
            self.width,
            weights=[table.name for table in tables] + extra,
            weight_read=self._times(touched, size // count),
        )

    def _last(self, stream: int) -> int:
        """The last norm, of the last token of each sequence: no other is needed."""
        return self._norm("output_norm", stream, rows=dict.fromkeys(self.phases, self.batch))

    def _head(self, stream: int) -> int:
        """The logits of the last token of each sequence; without a matrix of its own, by that of the embedding."""
        own = "output.weight" in self.header.tensors
        table = self._need("output.weight" if own else "token_embd.weight", 2)
        rows = dict.fromkeys(self.phases, self.batch)
        if not own:
            number = self.numbers["token_embd.weight"]
            tied = self.weights[number]
            self.weights[number] = Weight(tied.name, tied.bytes, tied.dtype, tied.shape, ("output.weight",))
        if table.shape[1] != self.width:
            raise self._wrong(table.name, table)
        flop = self._times(rows, 2 * table.shape[0] * table.shape[1])
        names = [table.name, "output.bias"]
        return self._operator("output", "mul_mat", "matmul", [stream], flop, table.shape[0], names, rows=rows)

    # -- Single operators

    def _has(self, name: str) -> bool:
        return f"{name}.weight" in self.header.tensors

    def _need(self, name: str, rank: int) -> GgufTensor:
        tensor = self.header.tensors.get(name)
        if tensor is None:
            raise UsageError(f"{self.header.name} has no tensor {name!r}, which a decoder needs")
        if len(tensor.shape) != rank:
            raise self._wrong(name, tensor)
        return tensor

    def _wrong(self, name: str, tensor: GgufTensor) -> UsageError:
        return UsageError(f"{self.header.name}: tensor {name!r} has the shape {list(tensor.shape)}, which does not fit")

    def _fact(self, key: str) -> int:
        fact = self.header.metadata.get(f"{self.header.metadata['general.architecture']}.{key}", 0)
        return fact if isinstance(fact, int) else 0

    def _norm(self, name: str, stream: int, size: int = 0, rows: Phased | None = None) -> int:
        """Normalise *stream*, or pass it on where the model has no such norm."""
        if not self._has(name):
            return stream
        names = [f"{name}.weight", f"{name}.bias"]
        return self._operator(name, "rms_norm", "norm", [stream], {}, size or self.width, names, rows=rows)

    def _matmul(self, name: str, stream: int, more: Sequence[str] = ()) -> int:
        """Multiply by the matrix *name*, and add its bias; it reads *more* weights, too."""
        table = self.header.tensors.get(f"{name}.weight")
        if table is not None and len(table.shape) == 1:  # a product with one row
            outputs, inputs = 1, table.shape[0]
        else:
            table = self._need(f"{name}.weight", 2)
            outputs, inputs = table.shape
        if inputs != self._wide[stream]:
            raise self._wrong(table.name, table)
        flop, names = self._times(self.tokens, 2 * outputs * inputs), [f"{name}.weight", f"{name}.bias", *more]
        return self._operator(name, "mul_mat", "matmul", [stream], flop, outputs, names)

    def _sum(self, name: str, parts: list[int]) -> int:
        if any(self._wide[t] != self.width for t in parts):
            raise UsageError(f"{self.header.name}: what {name!r} adds has different sizes")
        return self._operator(name, "add", "elementwise", parts, {}, self.width)

    def _operator(
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
        write = self._times(rows or self.tokens, wide * _WIDE)
        taken = self._each(lambda phase: _total(self._made[t][2][phase] for t in reads))
        if rows is not None:
            taken = self._times(rows, sum(self._wide[t] for t in reads) * _WIDE)
        if cache is not None:  # attention reads the keys and values of all tokens, and adds those of the new ones
            taken = self._each(lambda phase: taken[phase] + cache[phase])
        numbers_of_weights = sorted(self._weight(name) for name in weights if name in self.header.tensors)
        self.operators.append(
            Operator(
                self.names.unique(language_name(path)),
                op,
                path,
                kind,
                "fp16" if flop else "fp32",
                path,
                layer_of(path),
                role_of(path),
                self._amount(flop) if flop else 0,
                self._amount(taken),
                self._amount(write),
                tuple(numbers_of_weights),
                None if weight_read is None else self._amount(weight_read),
                cache=0 if cache is None else self._amount(cache),
            )
        )
        for t in reads:
            self._made[t][3].append(number)
        self._made.append((path, number, write, []))
        self._wide.append(wide)
        return len(self._made) - 1

    def _weight(self, name: str) -> int:
        if name not in self.numbers:
            table = self.header.tensors[name]
            self.numbers[name] = len(self.weights)
            self.weights.append(Weight(name, table.bytes, table.dtype, table.shape))
        return self.numbers[name]

    def _each(self, rule: Callable[[str], Amount]) -> Phased:
        return {phase: rule(phase) for phase in self.phases}

    def _times(self, amounts: Phased, number: int) -> Phased:
        return {phase: product([amounts[phase], number]) for phase in self.phases}

    def _amount(self, amounts: Phased) -> Size | Mapping[str, Size]:
        """Return an amount as the model takes it: one for each phase where there are two."""
        if len(self.phases) == 1:
            return size_of(amounts[self.phases[0]])
        return {phase: size_of(amounts[phase]) for phase in self.phases}


def _total(amounts: Iterable[Amount]) -> Amount:
    total: Amount = 0
    for amount in amounts:
        total = total + amount
    return total
