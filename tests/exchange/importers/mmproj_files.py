"""Towers of llama.cpp for tests: their tensors and metadata as its converters write them, small or as published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.exchange.importers.gguf_files import Tensors, llama, metadata, write

Table = dict[str, tuple[int, ...]]


def both(name: str, *shape: int) -> Table:
    """Return a weight and its bias."""
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def body(
    layers: int, width: int, inner: int, patch: int, *, bias: bool = True, rms: bool = False, gate: bool = False
) -> Table:
    """Return patches and layers of a vision transformer, with or without biases."""
    norms = (lambda name: {f"{name}.weight": (width,)}) if rms else (lambda name: both(name, width))
    product = both if bias else (lambda name, *shape: {f"{name}.weight": shape})
    table: Table = {"v.patch_embd.weight": (width, 3, patch, patch)}
    for i in range(layers):
        at = f"v.blk.{i}."
        table |= {**norms(f"{at}ln1"), **norms(f"{at}ln2")}
        for part in ("q", "k", "v", "out"):
            table |= product(f"{at}attn_{part}", width, width)
        table |= {**product(f"{at}ffn_up", inner, width), **product(f"{at}ffn_down", width, inner)}
        table |= product(f"{at}ffn_gate", inner, width) if gate else {}
    return table


def siglip(layers: int, width: int, inner: int, patch: int, places: int) -> Table:
    """Return the tower of SigLIP, which Gemma 3 has."""
    table = {**body(layers, width, inner, patch), "v.patch_embd.bias": (width,), **both("v.post_ln", width)}
    return {**table, "v.position_embd.weight": (places, width)}


def gemma3(layers: int, width: int, inner: int, patch: int, places: int, text: int) -> Table:
    return {
        **siglip(layers, width, inner, patch, places),
        "mm.soft_emb_norm.weight": (width,),
        "mm.input_projection.weight": (width, text),
    }


def clip(layers: int, width: int, inner: int, patch: int, places: int, text: int) -> Table:
    """Return the tower of CLIP with the projector of LLaVA."""
    table = {"v.class_embd": (width,), "v.position_embd.weight": (places + 1, width), **both("v.pre_ln", width)}
    return {**body(layers, width, inner, patch), **table, **both("mm.0", text, width), **both("mm.2", text, text)}


def yi(layers: int, width: int, inner: int, patch: int, places: int, text: int) -> Table:
    """Return the tower of Yi-VL: LLaVA's with norms behind the products of its projector."""
    table = clip(layers, width, inner, patch, places, text)
    del table["mm.2.weight"], table["mm.2.bias"]
    return {**table, **both("mm.1", text), **both("mm.3", text, text), **both("mm.4", text)}


def two_products(first: Table, numbers: tuple[int, int], width: int, text: int) -> Table:
    """Return a tower with a projector of two products, such as those of Janus-Pro and Phi-4."""
    one, other = numbers
    return {**first, **both(f"mm.{one}", text, width), **both(f"mm.{other}", text, text)}


def kimivl(layers: int, width: int, inner: int, patch: int, places: int, text: int) -> Table:
    table = {**siglip(layers, width, inner, patch, places), **both("mm.input_norm", width)}
    return {**table, **both("mm.1", 4 * width, 4 * width), **both("mm.2", text, 4 * width)}


def internvl(layers: int, width: int, inner: int, patch: int, places: int, text: int) -> Table:
    """Return the tower of InternVL3, whose queries, keys and values have no biases here."""
    table = {"v.class_embd": (1, 1, width), "v.position_embd.weight": (1, places + 1, width)}
    for i in range(layers):
        table |= {f"v.blk.{i}.ls1.weight": (width,), f"v.blk.{i}.ls2.weight": (width,)}
    at = "mm.model.mlp."
    table |= {**both(f"{at}0", 4 * width), **both(f"{at}1", text, 4 * width), **both(f"{at}3", text, text)}
    table = {**body(layers, width, inner, patch), "v.patch_embd.bias": (width,), **table}
    return {name: shape for name, shape in table.items() if not name.endswith(("_q.bias", "_k.bias", "_v.bias"))}


def pixtral(layers: int, width: int, inner: int, patch: int, text: int, *, merged: bool = True) -> Table:
    """Return the tower of Pixtral; *merged* that of Mistral Small 3.1."""
    table = {**body(layers, width, inner, patch, bias=False, rms=True, gate=True), "v.pre_ln.weight": (width,)}
    if merged:
        table |= {"mm.input_norm.weight": (width,), "mm.patch_merger.weight": (width, 4 * width)}
    return {**table, "mm.1.weight": (text, width), "mm.2.weight": (text, text), "v.token_embd.img_break": (text,)}


def qwen(layers: int, width: int, inner: int, patch: int, text: int, *, newer: bool = False) -> Table:
    """Return the tower of Qwen2-VL; *newer* that of Qwen2.5-VL, with gates and another norm."""
    table = body(layers, width, inner, patch, rms=newer, gate=newer)
    table["v.patch_embd.weight.1"] = table["v.patch_embd.weight"]
    table |= {"v.post_ln.weight": (width,)} if newer else both("v.post_ln", width)
    return {**table, **both("mm.0", 4 * width, 4 * width), **both("mm.2", text, 4 * width)}


def qwen3(layers: int, width: int, inner: int, patch: int, places: int, text: int, deep: tuple[int, ...] = ()) -> Table:
    """Return the tower of Qwen3-VL, some of whose layers are given to the first layers of the text."""
    table = qwen(layers, width, inner, patch, text)
    for i in range(layers):
        for part in "qkv":
            del table[f"v.blk.{i}.attn_{part}.weight"], table[f"v.blk.{i}.attn_{part}.bias"]
        table |= both(f"v.blk.{i}.attn_qkv", 3 * width, width)
    for i in deep:
        at = f"v.deepstack.{i}."
        table |= {**both(f"{at}norm", 4 * width), **both(f"{at}fc1", 4 * width, 4 * width)}
        table |= both(f"{at}fc2", text, 4 * width)
    return {**table, "v.patch_embd.bias": (width,), "v.position_embd.weight": (places, width)}


def facts(projector: str, layers: int, patch: int, image: int, **more: object) -> dict[str, object]:
    """Return what the header of a tower says; *more* of ``clip.vision``."""
    vision = {
        "block_count": layers,
        "patch_size": patch,
        "image_size": image,
        "embedding_length": 32,
        "feed_forward_length": 48,
        "projection_dim": 64,
        "attention__head_count": 4,
        "attention__layer_norm_epsilon": 1e-6,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        **more,
    }
    return {
        "general.architecture": "clip",
        "clip.has_vision_encoder": True,
        "clip.projector_type": projector,
        **{f"clip.vision.{key.replace('__', '.')}": value for key, value in vision.items()},
    }


def tower(path: Path, table: Table, said: Mapping[str, object], kind: str = "f32") -> Path:
    """Write the file of a tower, whose matrices are of a type."""
    return write(path, said, {name: (shape, kind if len(shape) > 1 else "f32") for name, shape in table.items()})


def text(path: Path, layers: int, width: int, inner: int = 96, **more: object) -> Path:
    """Write the file of a small LLaMA that reads what a tower makes."""
    said = metadata(str(more.pop("architecture", "llama")), layers, **more)
    tensors: Tensors = llama(layers, width, inner, 4, 4, 100, "f32")
    return write(path, said, tensors)
