"""The operators of a tower that reads images, as llama.cpp runs it (``clip.cpp`` and ``models/`` of tools/mtmd).

Each image runs by itself, through patches, layers and projector. Attention is between all patches of an image; where
Qwen2.5-VL attends within windows, llama.cpp computes all pairs, too, and masks them. In decoding all is idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.operators import GgufOperators, Phased
from mtpp_dsl.exchange.importers.gguf.reader import Header
from mtpp_dsl.exchange.importers.gguf.towers import PROJECTORS, QWEN, Tower
from mtpp_dsl.exchange.importers.polynomials import Amount, product, symbol

__all__ = ["GgufTower"]

_ROTARY = ("kimivl", "pixtral", *QWEN)
"""Types of projectors whose towers rotate queries and keys."""


class GgufTower(GgufOperators):
    """Makes the operators of one tower, up to what :mod:`.tower_projectors` projects.

    Attributes:
        tower: what the file says.
        images: of all sequences, in each phase.
        tokens: rows of what operators make: patches of all images first, later what these are merged to.
        features: numbers of the tensors that the projector makes.
    """

    needed_by = "a tower"

    def __init__(self, header: Header, phases: Sequence[str], tower: Tower) -> None:
        super().__init__(header, phases)
        self.tower = tower
        images: dict[str, Amount] = {"prefill": self.batch * symbol("images"), "decode": 0}
        self.images: Phased = images
        self.runs = self.images
        self.features: list[int] = []
        self.rows(prod(tower.grid))

    def rows(self, each: int) -> None:
        """Let operators make *each* rows an image from here on."""
        self.each_image = each
        self.tokens = self.times(self.images, each)

    def placed(self, path: str) -> tuple[int | None, str, str]:
        """Return the layer, the role and the block of an operator: no layer of the text, and a block of its own."""
        words = path.split(".")
        if words[0] == "mm" or path.startswith("v.token_embd"):
            block = "mm"
        elif words[1] in ("blk", "deepstack"):
            block = ".".join(words[:3])
        else:
            block = "v.post_ln" if words[1] == "post_ln" else "v.patch_embd"
        return None, "tower", block

    # -- Parts of a tower

    def body(self) -> int:
        """Make all operators before the projector."""
        stream = self._patches()
        deep: list[int] = []
        run = self._layers_run()
        for number in range(run):
            stream = self._layer(f"v.blk.{number}.", stream)
            if self.has(f"v.deepstack.{number}.fc1"):
                deep.append(self._deepstack(f"v.deepstack.{number}.", stream))
        stream = self.norm("v.post_ln", stream)
        self.features = deep
        for number in range(run, self.tower.layers):
            self.idle(f"v.blk.{number}")
        if self.tower.projector == "mlp":
            self.idle("v.image_newline")
        return stream

    def _layers_run(self) -> int:
        """Return how many layers run: those of LLaVA but the last, whose results nobody reads."""
        if "clip.vision.feature_layer" in self.header.metadata:
            raise UsageError(f"--mmproj {self.header.name} projects several layers together, which is not known here")
        return self.tower.layers - 1 if self.tower.projector == "mlp" else self.tower.layers

    def idle(self, path: str) -> None:
        """Keep the tensors below *path*, which llama.cpp loads and does not read."""
        names = [name for name in self.header.tensors if name == path or name.startswith(f"{path}.")]
        if names:
            nothing: Phased = dict.fromkeys(self.phases, 0)
            self.operator(path, "unused", "view", [], {}, 0, names, nothing)

    def _patches(self) -> int:
        """Multiply patches by the kernels, and add what says where they are."""
        rows, columns = self.tower.grid
        patch = self.tower.patch
        pixels = self.given("images", 3 * patch**2, self.tokens)
        kernels = ["v.patch_embd.weight", *(["v.patch_embd.weight.1"] if self.tower.projector in QWEN else [])]
        made = []
        for kernel in kernels:
            table = self.need(kernel, 4)
            if table.shape[1:] != (3, patch, patch):
                raise self.wrong(kernel, table)
            self.width = table.shape[0]
            path = kernel.replace(".weight", "")
            weights = [kernel, "v.patch_embd.bias"] if kernel is kernels[0] else [kernel]
            work = self.times(self.tokens, 2 * prod(table.shape))
            made.append(self.operator(path, "conv_2d", "conv", [pixels], work, self.width, weights))
        stream = made[0] if len(made) == 1 else self.sum("v.patch_embd.add", made)
        if "v.class_embd" in self.header.tensors:
            table = self.header.tensors["v.class_embd"]
            if self.tower.projector not in ("mlp", "internvl") or prod(table.shape) != self.width:
                raise self.wrong("v.class_embd", table)
            self.rows(rows * columns + 1)
            stream = self.operator("v.class_embd", "concat", "copy", [stream], {}, self.width, ["v.class_embd"])
        if self.has("v.position_embd"):
            stream = self._positions(stream)
        return self.norm("v.pre_ln", stream)

    def _positions(self, stream: int) -> int:
        """Add the embeddings of places, which are interpolated for images of any size."""
        table = self.header.tensors["v.position_embd.weight"]
        few = PROJECTORS[self.tower.projector].limits is None and prod(table.shape[:-1]) < self.each_image
        if table.shape[-1:] != (self.width,) or few:
            raise self.wrong(table.name, table)
        return self.operator("v.position_embd", "add", "elementwise", [stream], {}, self.width, [table.name])

    def _layer(self, at: str, stream: int) -> int:
        """Attention and the network behind it, each with its norm, and a scale where the file has one."""
        attended = self._attention(at, self.norm(f"{at}ln1", stream))
        stream = self.sum(f"{at}attn_add", [stream, self.scaled(f"{at}ls1", attended)])
        made = self._network(at, self.norm(f"{at}ln2", stream))
        return self.sum(f"{at}ffn_add", [stream, self.scaled(f"{at}ls2", made)])

    def scaled(self, name: str, stream: int) -> int:
        """Multiply each channel by a number, or pass *stream* on where the file has none."""
        if not self.has(name):
            return stream
        return self.operator(name, "mul", "elementwise", [stream], {}, self.width, [f"{name}.weight"])

    def _attention(self, at: str, stream: int) -> int:
        if self.has(f"{at}attn_qkv"):
            parts = [self.matmul(f"{at}attn_qkv", stream)]
            if self.wide[parts[0]] != 3 * self.width:
                raise self.wrong(f"{at}attn_qkv.weight", self.need(f"{at}attn_qkv.weight", 2))
            parts = [self._normed(at, parts[0], 3 * self.width)]
            queries = values = self.width
        else:
            parts = [self.matmul(f"{at}attn_{part}", stream) for part in "qkv"]
            queries, values = self.wide[parts[0]], self.wide[parts[2]]
            if not queries == values == self.wide[parts[1]]:
                raise self.wrong(f"{at}attn_v.weight", self.need(f"{at}attn_v.weight", 2))
            parts = [
                *(self.norm(f"{at}attn_{p}_norm", t, queries) for p, t in zip("qk", parts, strict=False)),
                parts[2],
            ]
        if self.tower.projector in _ROTARY:
            turned = parts[:2]
            wide = sum(self.wide[t] for t in turned)
            parts = [self.operator(f"{at}rope", "rope", "elementwise", turned, {}, wide), *parts[2:]]
        pairs = self.times(self.images, self.each_image**2)
        work = self.each(lambda phase: product([pairs[phase], 2 * (queries + values)]))
        made = self.operator(f"{at}attn", "flash_attn", "attention", parts, work, values)
        return self.matmul(f"{at}attn_out", made)

    def _normed(self, at: str, stream: int, wide: int) -> int:
        """Normalise queries and keys that one product has made."""
        names = [f"{at}attn_{part}_norm.weight" for part in "qk"]
        if not any(name in self.header.tensors for name in names):
            return stream
        return self.operator(f"{at}attn_norm", "rms_norm", "norm", [stream], {}, wide, names)

    def _network(self, at: str, stream: int) -> int:
        """Two products, or three where one is a gate; older files have up and down the other way round."""
        first, last = f"{at}ffn_up", f"{at}ffn_down"
        if self.need(f"{first}.weight", 2).shape[1] != self.width:
            first, last = last, first
        made = [self.matmul(first, stream)]
        if self.has(f"{at}ffn_gate"):
            made.append(self.matmul(f"{at}ffn_gate", stream))
        act = self.operator(f"{at}ffn_act", "act", "elementwise", made, {}, self.wide[made[0]])
        return self.matmul(last, act)

    def network(self, names: Sequence[str], stream: int, at: str = "mm.") -> int:
        """Products one after another, with an activation between two."""
        for place, name in enumerate(names):
            if place:
                stream = self.operator(f"{at}act", "act", "elementwise", [stream], {}, self.wide[stream])
            stream = self.matmul(name, stream)
        return stream

    def merged(self, stream: int) -> int:
        """Take the patches of a square, which lie one behind another, for one row."""
        squares = self.tower.merge**2
        self.rows(self.each_image // squares)
        self.wide[stream] *= squares
        return stream

    def _deepstack(self, at: str, stream: int) -> int:
        """Project what a layer has made, for the first layers of the text; *stream* itself stays as it is."""
        rows, wide = self.each_image, self.wide[stream]
        stacked = self.merged(stream)
        made = self.norm(f"{at}norm", stacked, self.wide[stacked])
        made = self.network([f"{at}fc1", f"{at}fc2"], made, at)
        self.rows(rows)
        self.wide[stream] = wide
        return made
