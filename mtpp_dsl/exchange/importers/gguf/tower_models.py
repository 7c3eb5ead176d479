"""Put a tower before the layers of a language model: its operators, the symbol ``images``, and where both came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mtpp_dsl.core.base.files import digest
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.layer_operators import GgufLayers, Images
from mtpp_dsl.exchange.importers.gguf.reader import Header
from mtpp_dsl.exchange.importers.gguf.tower_operators import GgufTower
from mtpp_dsl.exchange.importers.gguf.tower_projectors import with_projector
from mtpp_dsl.exchange.importers.gguf.towers import Tower
from mtpp_dsl.exchange.model.parts import Source, Symbol

__all__ = ["source_with", "symbols_with", "warnings_of", "with_images"]


def with_images(header: Header, phases: tuple[str, ...], count: int, tower: Tower) -> GgufLayers:
    """Return the operators of a tower and of the *count* layers of the text that reads what it makes.

    Raises:
        UsageError: the files do not belong together, or the tower has tensors whose part is not known here.
    """
    twice = next((name for name in tower.header.tensors if name in header.tensors), None)
    if twice is not None:
        raise UsageError(f"--mmproj {tower.header.name} and {header.name} both have the tensor {twice[:80]!r}")
    both = replace(tower.header, tensors={**header.tensors, **tower.header.tensors})
    made = with_projector(both, phases, tower)
    lost = next((name for name in tower.header.tensors if name not in made.numbers), None)
    if lost is not None:
        raise UsageError(
            f"--mmproj {tower.header.name} has the tensor {lost[:80]!r}, whose part in a tower with the projector "
            f"{tower.projector} is not known here"
        )
    layers = GgufLayers(replace(header, tensors=both.tensors), phases, made)
    _refuse_other_text(header, made)
    layers.build(count, Images(tuple(made.features), made.times(made.images, tower.tokens)))
    return layers


def _refuse_other_text(header: Header, tower: GgufTower) -> None:
    """Refuse a tower that makes no embeddings of this model."""
    table = header.tensors.get("token_embd.weight")
    width = table.shape[-1] if table is not None else 0
    wrong = next((t for t in tower.features if tower.wide[t] != width), None)
    if width and wrong is not None:
        raise UsageError(
            f"--mmproj {tower.tower.header.name} makes embeddings of {tower.wide[wrong]:,} numbers, and those of "
            f"{header.name} have {width:,}: it is of another model"
        )
    deep = header.metadata.get(f"{header.metadata.get('general.architecture')}.n_deepstack_layers", 0)
    if deep != len(tower.features) - 1:
        raise UsageError(
            f"--mmproj {tower.tower.header.name} gives something to {len(tower.features) - 1} layers, and "
            f"{header.name} expects it in {deep!r:.20}: it is of another model"
        )


def symbols_with(symbols: Mapping[str, Symbol], tower: Tower, images: int) -> dict[str, Symbol]:
    """Return the symbols of a model of which each sequence has room for its images.

    Raises:
        UsageError: its prompts are shorter than their images.
    """
    seq, tokens = symbols["seq"], tower.tokens * images
    if seq.default is not None and seq.default < tokens:
        height, width = tower.size
        raise UsageError(
            f"--seq {seq.default}: seq counts the tokens of images, and --images {images} of {height}x{width} pixels "
            f"are {tokens:,}: say --seq {tokens + 256} or so"
        )
    room = replace(seq, at_least=f"{tower.tokens}*images")
    return {**symbols, "seq": room, "images": Symbol(images, least=0)}


def source_with(source: Source, tower: Tower, images: int) -> Source:
    """Return where a model of two files came from."""
    arguments = {
        **source.arguments,
        "mmproj": tower.header.name,
        "images": images,
        "image_size": tower.size,
        "image_tokens": tower.tokens,
    }
    return replace(source, sha256=digest((source.sha256 + tower.header.sha256).encode()), arguments=arguments)


def warnings_of(tower: Tower) -> Iterator[str]:
    """Yield what the user should be told of a tower."""
    if tower.projector == "mlp":
        yield f"layer {tower.layers - 1} of the tower is held and does not run, as llama.cpp loads it"
