"""The operators of a decoder in llama.cpp, layer by layer, with their costs in both phases.

A product of t rows with a matrix of [o, i] takes 2 t i o operations. Attention of q new tokens to k tokens takes 2 q k
(size of all queries + size of all values) for each sequence, causal or not. Of experts, each token uses some.
"""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.mixers import delta_net, latent_attention, state_space
from mtpp_dsl.exchange.importers.gguf.operators import CACHED, GgufOperators, Phased
from mtpp_dsl.exchange.importers.gguf.reader import GgufTensor
from mtpp_dsl.exchange.importers.polynomials import Amount, product, size_of, symbol
from mtpp_dsl.exchange.model.parts import Weight

_ATTENTION = "norm q k v qkv q_norm k_norm output sinks rot_embd"
_LATENT = "q_a q_a_norm q_b kv_a_mqa kv_a_norm kv_b k_b v_b gate"
_STATES = "in conv1d x dt dt_norm a b_norm c_norm d norm out ba beta_alpha beta alpha"
_FEED_FORWARD = "norm gate up down gate_inp gate_exps up_exps down_exps gate_up_exps gate_shexp up_shexp down_shexp"
LAYER = frozenset(
    {f"attn_{part}" for part in _ATTENTION.split()}
    | {f"attn_{part}" for part in _LATENT.split()}
    | {f"ssm_{part}" for part in _STATES.split()}
    | {f"ffn_{part}" for part in _FEED_FORWARD.split()}
    | {"ffn_gate_inp_shexp", "post_attention_norm", "post_ffw_norm", "exp_probs_b"}
)
"""The tensors of a layer whose part in the computation is known here."""


WINDOWED = "gpt-oss"
"""The architecture whose even layers, by llama.cpp's code and not by the file, have the sliding window."""


@dataclass(frozen=True)
class Images:
    """What a tower makes of the images of a prompt.

    Attributes:
        features: numbers of its tensors, each of a row for each token: what stands in the place of the embeddings, and
            what the first layers add to their results, one after another (the deepstack of Qwen3-VL).
        tokens: of all images, in each phase.
    """

    features: tuple[int, ...]
    tokens: Phased


class GgufLayers(GgufOperators):
    """Makes the operators of one model, layer by layer."""

    result = 0

    def build(self, count: int, images: Images | None = None) -> None:
        """Make all operators of *count* layers, which read text, and *images* beside it."""
        table = self.need("token_embd.weight", 2)
        self.width = table.shape[1]
        text = self.tokens if images is None else self.each(lambda phase: self.tokens[phase] - images.tokens[phase])
        stream, deep = self._embedding(table, text), list[int]()
        if images is not None:
            stream, deep = self._beside(stream, images)
        for number in range(count):
            stream = self._layer(f"blk.{number}.", stream)
            if number < len(deep):
                stream = self.sum(f"blk.{number}.deepstack_add", [stream, deep[number]])
        stream = self._last(stream)
        self.result = self._head(stream)
        lost = next((name for name in self.header.tensors if name not in self.numbers), None)
        if lost is not None:
            raise UsageError(f"{self.header.name} has the tensor {lost[:80]!r}, which no operator here reads")

    # -- Parts of the model

    def placed(self, path: str) -> tuple[int | None, str, str]:
        """Return the layer, the role and the block of an operator: one block joins images and text."""
        return (None, "", "inp_embd") if path.startswith("inp_embd") else super().placed(path)

    def _embedding(self, table: GgufTensor, text: Phased) -> int:
        """Look up the rows of so many tokens of *text*."""
        row = table.bytes // table.shape[0]
        return self.operator(
            "token_embd",
            "get_rows",
            "embedding",
            [self.given("tokens", 1, text)],
            {},
            self.width,
            weights=["token_embd.weight"],
            weight_read=self.times(text, row),
            rows=text,
        )

    def _beside(self, stream: int, images: Images) -> tuple[int, list[int]]:
        """Put the tokens of images beside those of the text; return them, and what the first layers add.

        llama.cpp fills up what it adds to tokens of images by zeros for those of the text.
        """
        first, *deep = images.features
        joined = self.operator("inp_embd", "concat", "copy", [stream, first], {}, self.width)
        added = [
            self.operator(f"inp_embd.deepstack.{number}", "pad", "copy", [feature], {}, self.width)
            for number, feature in enumerate(deep)
        ]
        return joined, added

    def _layer(self, at: str, stream: int) -> int:
        before = self.norm(f"{at}attn_norm", stream)
        if not any(self.has(f"{at}{part}") for part in ("ffn_up", "ffn_gate_inp", "ffn_down")):
            return self.sum(f"{at}attn_add", [stream, self._mixer(at, before)])
        if not self._mixes(at):  # layers of one part each
            return self.sum(f"{at}ffn_add", [stream, self._feed_forward(at, before)])
        attended = self._mixer(at, before)
        one = self.has(f"{at}ffn_norm") or self.has(f"{at}post_ffw_norm")
        if one or not self.has(f"{at}post_attention_norm"):
            attended = self.norm(f"{at}post_attention_norm", attended)
        if not one and not self.has(f"{at}post_attention_norm"):
            made = self._feed_forward(at, before)
            return self.sum(f"{at}add", [stream, attended, made])
        stream = self.sum(f"{at}attn_add", [stream, attended])
        made = self._feed_forward(at, self.norm(f"{at}{'ffn' if one else 'post_attention'}_norm", stream))
        made = self.norm(f"{at}post_ffw_norm", made)
        return self.sum(f"{at}ffn_add", [stream, made])

    def _mixes(self, at: str) -> bool:
        """Return whether a layer has attention or a state."""
        parts = ("ssm_out", "attn_output", "attn_q", "attn_qkv", "attn_kv_a_mqa")
        return any(self.has(f"{at}{part}") for part in parts)

    def _mixer(self, at: str, stream: int) -> int:
        """Mix tokens: by a scan, by attention, or by both side by side."""
        made = []
        if self.has(f"{at}ssm_out"):
            gated = any(self.has(f"{at}ssm_{part}") for part in ("ba", "beta_alpha", "beta", "alpha"))
            made.append((delta_net if gated else state_space)(self, at, stream))
        if self.has(f"{at}attn_kv_a_mqa"):
            made.append(latent_attention(self, at, stream))
        elif self.has(f"{at}attn_output") or not made:
            made.append(self._attention(at, stream))
        return made[0] if len(made) == 1 else self.sum(f"{at}mixed", made)

    def _attention(self, at: str, stream: int) -> int:
        """Queries, keys and values, the cache, attention and the product after it."""
        out = self.need(f"{at}attn_output.weight", 2)
        values_in = out.shape[1]
        if self.has(f"{at}attn_qkv"):
            fused = self.need(f"{at}attn_qkv.weight", 2)
            queries, rest = values_in, fused.shape[0] - values_in
            if rest < 2 or rest % 2:
                raise self.wrong(f"{at}attn_qkv.weight", fused)
            keys = values = rest // 2
            parts = [self._rotary(at, [self.matmul(f"{at}attn_qkv", stream)], fused.shape[0])]
        else:
            sizes = [self.need(f"{at}attn_{part}.weight", 2).shape[0] for part in "qkv"]
            queries, keys, values = sizes
            gated = queries * values == 2 * values_in * keys  # half of the queries' product is a gate of the output
            queries = queries // 2 if gated else queries
            parts = []
            for part in "qkv":
                made = self.matmul(f"{at}attn_{part}", stream)
                size = queries if part == "q" else sizes["qkv".index(part)]
                parts.append(self.norm(f"{at}attn_{part}_norm", made, size))
            parts = [self._rotary(at, parts[:2], queries + keys), parts[2]]
        if queries * values != values_in * keys:  # as many heads of queries as of values
            raise self.wrong(out.name, out)
        kept = self._kept(at)
        cached = product([self.batch, kept, keys + values, CACHED])
        looked_at = {"prefill": self.seq, "decode": kept}
        pairs = self.each(lambda phase: product([self.batch, self.queries[phase], looked_at[phase]]))
        scored = self.operator(
            f"{at}attn",
            "flash_attn",
            "attention",
            parts,
            self.times(pairs, 2 * (queries + values_in)),
            values_in,
            weights=[f"{at}attn_sinks.weight"] if self.has(f"{at}attn_sinks") else [],
            cache=dict.fromkeys(self.phases, cached),
        )
        return self.matmul(f"{at}attn_output", scored)

    def _kept(self, at: str) -> Amount:
        """Return how many tokens a layer's cache has: those of its window, in every second layer of gpt-oss."""
        window = self.fact("attention.sliding_window")
        near = self.header.metadata["general.architecture"] == WINDOWED and int(at.split(".")[1]) % 2 == 0
        return symbol(f"min(seq, {window})") if near and window else self.seq

    def _rotary(self, at: str, parts: list[int], size: int) -> int:
        """Rotate queries and keys by their positions; the values of a fused product pass through.

        The factors that all layers share are counted with the first.
        """
        factors = [f"{at}attn_rot_embd.weight"]
        factors += [f"rope_{name}.weight" for name in ("freqs", "factors_long", "factors_short") if at == "blk.0."]
        return self.operator(f"{at}rope", "rope", "elementwise", parts, {}, size, weights=factors)

    def _feed_forward(self, at: str, stream: int) -> int:
        """Two or three products; or experts of them, of which each token uses some, and those that all use."""
        if not self.has(f"{at}ffn_gate_inp"):
            return self._mlp(at, stream, "")
        routed = self.matmul(f"{at}ffn_gate_inp", stream, [f"{at}exp_probs_b.bias"])
        extra = [f"{at}ffn_{part}_exps.bias" for part in ("gate", "up", "gate_up", "down")]
        made = [self._experts(at, stream, routed, extra)]
        if self.has(f"{at}ffn_up_shexp"):
            shared = self._mlp(at, stream, "_shexp")
            if self.has(f"{at}ffn_gate_inp_shexp"):
                gate = self.matmul(f"{at}ffn_gate_inp_shexp", stream)
                shared = self.operator(f"{at}ffn_shexp_mul", "mul", "elementwise", [shared, gate], {}, self.width)
            made.append(shared)
        return made[0] if len(made) == 1 else self.sum(f"{at}ffn_shexp_add", made)

    def _mlp(self, at: str, stream: int, kind: str) -> int:
        up = self.matmul(f"{at}ffn_up{kind}", stream)
        inner = self.need(f"{at}ffn_down{kind}.weight", 2).shape[1]
        read = [up]
        if self.has(f"{at}ffn_gate{kind}"):
            read = [self.matmul(f"{at}ffn_gate{kind}", stream), up]
        active = self.operator(f"{at}ffn_act{kind}", "glu", "elementwise", read, {}, inner)
        return self.matmul(f"{at}ffn_down{kind}", active)

    def _experts(self, at: str, stream: int, routed: int, extra: list[str]) -> int:
        """The experts' products, which read those experts that some token uses."""
        names = [f"{at}ffn_{part}_exps.weight" for part in ("gate", "up", "gate_up", "down")]
        tables = [self.need(name, 3) for name in names if name in self.header.tensors]
        used, count = self.fact("expert_used_count"), tables[0].shape[0] if tables else 0
        if not tables or not 1 <= used <= count or any(table.shape[0] != count for table in tables):
            raise UsageError(f"{self.header.name}: layer {at[:-1]!r} has {count} experts, of which {used} are used")
        entries = sum(table.shape[1] * table.shape[2] for table in tables)
        size = sum(table.bytes for table in tables)
        touched = self.each(lambda phase: symbol(f"experts({count}, {used}, {size_of(self.tokens[phase])})"))
        return self.operator(
            f"{at}ffn_exps",
            "mul_mat_id",
            "matmul",
            [stream, routed],
            self.times(self.tokens, 2 * used * entries),
            self.width,
            weights=[table.name for table in tables] + extra,
            weight_read=self.times(touched, size // count),
        )

    def _last(self, stream: int) -> int:
        """The last norm, of the last token of each sequence: no other is needed."""
        return self.norm("output_norm", stream, rows=dict.fromkeys(self.phases, self.batch))

    def _head(self, stream: int) -> int:
        """The logits of the last token of each sequence; without a matrix of its own, by that of the embedding."""
        own = "output.weight" in self.header.tensors
        table = self.need("output.weight" if own else "token_embd.weight", 2)
        rows = dict.fromkeys(self.phases, self.batch)
        if not own:
            number = self.numbers["token_embd.weight"]
            tied = self.weights[number]
            self.weights[number] = Weight(tied.name, tied.bytes, tied.dtype, tied.shape, ("output.weight",))
        if table.shape[1] != self.width:
            raise self.wrong(table.name, table)
        flop = self.times(rows, 2 * table.shape[0] * table.shape[1])
        names = [table.name, "output.bias"]
        return self.operator("output", "mul_mat", "matmul", [stream], flop, table.shape[0], names, rows=rows)
