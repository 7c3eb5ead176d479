"""A GGUF file as operators: embedding, layers of attention and feed-forward networks, norm and head.

It holds what llama.cpp computes for decoders whose layers are made of the tensors in
:data:`mtpp_dsl.exchange.importers.gguf.layer_operators.LAYER`: LLaMA, Mistral, Mixtral, Qwen, Gemma, Phi-3, OLMo,
DeepSeek, Mamba and their like. A layer with other tensors is refused by the name of the tensor. Tensors between
operators are fp32, as llama.cpp keeps them; products are of fp16, and so is the cache of keys and values.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.layer_operators import LAYER, WINDOWED, GgufLayers
from mtpp_dsl.exchange.importers.gguf.reader import Header, read_table
from mtpp_dsl.exchange.importers.gguf.tower_models import source_with, symbols_with, warnings_of, with_images
from mtpp_dsl.exchange.importers.gguf.towers import tower_in
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Source, Symbol

PHASES = ("prefill", "decode")
_OUTER = {"token_embd", "output_norm", "output", "rope_freqs", "rope_factors_long", "rope_factors_short"}
"""Tensors outside the layers; the factors of rotary embeddings go with the first layer's."""


def from_gguf(
    path: Path | str,
    phases: tuple[str, ...] = PHASES,
    batch: int = 1,
    seq: int = 2048,
    *,
    mmproj: Path | str | None = None,
    images: int | None = None,
    image_size: tuple[int, int] | None = None,
) -> Model:
    """Return the model in a GGUF file; its weights are not read.

    Args:
        path: of the file, or of the first where a model is split.
        phases: "prefill" (all ``seq`` tokens of each sequence at once), "decode" (one more token, attending to ``seq``
            tokens with itself), or both.
        batch: the value of the symbol ``batch``, sequences at a time, where a spec gives none.
        seq: likewise that of ``seq``; the tokens that images become are among them.
        mmproj: path of the file with the tower of a model that reads images; None: the model reads text alone.
        images: default of ``images``, those of each sequence; None: 1.
        image_size: height and width of these images in pixels; None: what the tower is made for, or 896 by 896.

    Raises:
        UsageError: a file is damaged, its layers have tensors that are not known here, or sizes do not fit together.
    """
    if not phases or len(set(phases)) < len(phases) or not set(phases) <= set(PHASES):
        raise UsageError(f"--phase {','.join(phases)}: expected prefill, decode, or prefill,decode")
    for option, value in (("--images", images), ("--image-size", image_size)):
        if mmproj is None and value is not None:
            raise UsageError(f"{option} needs --mmproj, the file of the tower that reads images")
    header = read_table(Path(path))
    _refuse_towers(header)
    count = _layers(header)
    further = _further_layers(header, count)
    header = _without_layers(header, range(count - further, count))
    count -= further
    _refuse_unknown(header)
    context = header.metadata.get(f"{header.metadata.get('general.architecture')}.context_length")
    most = context if isinstance(context, int) and context >= 1 else None
    symbols = {"batch": Symbol(batch), "seq": Symbol(min(seq, most) if most else seq, 1, most)}
    arguments: dict[str, Any] = {"phase": ",".join(phases), "batch": batch, "seq": seq}
    source = Source("gguf", header.name, header.sha256, {}, arguments)
    warnings = list(_warnings(header, further))
    if mmproj is None:
        layers = GgufLayers(header, phases)
        layers.build(count)
    else:
        tower = tower_in(read_table(Path(mmproj)), image_size)
        layers = with_images(header, phases, count, tower)
        symbols = symbols_with(symbols, tower, 1 if images is None else images)
        source = source_with(source, tower, 1 if images is None else images)
        warnings += warnings_of(tower)
    return Model(
        tuple(layers.operators),
        tuple(layers.tensors()),
        tuple(layers.weights),
        (layers.result,),
        symbols,
        phases if len(phases) > 1 else (),
        source,
        tuple(warnings),
    )


def _layers(header: Header) -> int:
    """Return how many layers the table has, all of them in a row from 0."""
    architecture = header.metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise UsageError(f"{header.name} does not say which architecture it has (general.architecture)")
    numbers = {int(match[1]) for name in header.tensors if (match := re.match(r"blk\.([0-9]{1,5})\.", name))}
    count = header.metadata.get(f"{architecture}.block_count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 100_000:
        raise UsageError(f"{header.name} does not say how many layers it has ({architecture}.block_count)")
    missing = next((number for number in range(count) if number not in numbers), None)
    if missing is not None:
        raise UsageError(f"{header.name} has {count} layers, and no tensors of layer {missing}")
    if max(numbers) >= count:
        raise UsageError(f"{header.name} has {count} layers, and tensors of layer {max(numbers)}")
    return count


def _further_layers(header: Header, count: int) -> int:
    """Return how many of the last layers predict further tokens: llama.cpp does not load these."""
    architecture = header.metadata["general.architecture"]
    further = header.metadata.get(f"{architecture}.nextn_predict_layers", 0)
    if not isinstance(further, int) or isinstance(further, bool) or not 0 <= further < count:
        raise UsageError(f"{header.name}: {architecture}.nextn_predict_layers is {further!r:.40}, of {count} layers")
    return further


def _without_layers(header: Header, layers: range) -> Header:
    """Return the table of a model without the tensors of some layers."""
    left_out = tuple(f"blk.{number}." for number in layers)
    kept = {name: tensor for name, tensor in header.tensors.items() if not name.startswith(left_out)}
    return replace(header, tensors=kept)


def _refuse_towers(header: Header) -> None:
    """Refuse a file that holds what turns images or sounds into embeddings, and no layers of a decoder."""
    if header.metadata.get("general.architecture") == "clip" or any(name.startswith("v.") for name in header.tensors):
        raise UsageError(
            f"{header.name} is a tower that reads images or sounds (mmproj): import the file of the language model, "
            f"with --mmproj {header.name}"
        )


def _refuse_unknown(header: Header) -> None:
    """Refuse a model with tensors whose place in the computation is not known here."""
    architecture = header.metadata["general.architecture"]
    for name in header.tensors:
        part = re.sub(r"\.(weight|bias)$", "", name)
        match = re.fullmatch(r"blk\.([0-9]{1,5})\.(.+)", part)
        known = match[2] in LAYER if match else part in _OUTER
        if not known:
            raise UsageError(
                f"{header.name}: architecture {architecture!s:.40} has the tensor {name[:80]!r}, whose part in the "
                "computation is not known here; write a graph of layers by hand, or import the model's configuration"
            )


def _warnings(header: Header, further: int) -> tuple[str, ...]:
    architecture = header.metadata["general.architecture"]
    warnings = []
    if further:
        warnings.append(f"what predicts further tokens ({counted(further, 'layer')}) is left out, as llama.cpp does")
    if header.metadata.get(f"{architecture}.attention.sliding_window") and architecture != WINDOWED:
        warnings.append("attention with a sliding window is counted over all tokens")
    if header.metadata.get(f"{architecture}.attention.causal") is False:
        warnings.append("the model is no decoder: decode means nothing for it")
    return tuple(warnings)
