"""Recent models: what the import counts is what their real modules have, keep and multiply."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf import from_hf, make_model
from mtpp_dsl.exchange.importers.hf_configurations import configuration
from mtpp_dsl.exchange.importers.hf_inputs import InputRequest
from mtpp_dsl.exchange.importers.hf_tower_nodes import with_silent
from mtpp_dsl.exchange.importers.hf_towers import tower_of
from mtpp_dsl.exchange.importers.torch_inputs import sides_given
from mtpp_dsl.exchange.importers.torch_scans import squares
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers.recent import HEAD, KINDS, RECENT, Row, counted, measured, real, run, settings_of, total
from tests.exchange.importers.vision import IMAGES, VISION

pytestmark = [
    pytest.mark.needs("torch", "transformers"),
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::FutureWarning:torch"),
]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "models.md"


def on_the_page() -> dict[str, Row]:
    """Return the rows of the table on the page."""
    _, _, below = PAGE.read_text(encoding="utf-8").partition(HEAD)
    lines = re.findall(r"^\| `(\w+)` \| (.+) \|$", below.partition("\n\n")[0], re.MULTILINE)
    return {kind: tuple(int(number.replace(",", "")) for number in row.split(" | ")) for kind, row in lines}


def test_the_page_has_all_families() -> None:
    assert set(on_the_page()) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sampled(5)
def test_real_modules_are_as_on_the_page(kind: str) -> None:
    """Parameters, what a cache of transformers holds, and the products that torch counts."""
    assert measured(kind) == on_the_page()[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.long
def test_imports_count_as_real_modules(kind: str) -> None:
    assert counted(kind) == on_the_page()[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "deepseek_v3",
        "qwen3_next",
        "mamba",
        "mamba2",
        "falcon_h1",
        "jamba",
        "mistral3",
        "llama4",
        "gemma4",
        "kimi_linear",
    ],
)
@pytest.mark.sampled(4)
def test_what_is_counted_by_hand_computes_the_same(kind: str) -> None:
    """The products that torch counts here in place of transformers' reference code give the same numbers."""
    import torch

    module = real(kind, "fp32")
    plain, by_hand = run(module, kind, counted_by_hand=False)[2], run(module, kind, counted_by_hand=True)[2]
    for one, other in zip(plain, by_hand, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-3 * float(one.abs().max()))


def test_a_decoding_step_of_recurrent_layers_does_not_grow() -> None:
    """One layer of Mamba-2: one state for all tokens, of which a token multiplies each number four times."""
    said = {"model_type": "mamba2", **RECENT["mamba2"]}
    model = from_hf(said, "decode", batch=2, seq=20, dtype="bf16", layers=1)
    scan = next(one for one in model.operators if "state_space_scan" in one.op)
    assert (scan.kind, scan.flop, scan.cache) == ("rnn", f"{4 * 8 * 16 * 16}*batch", f"{4 * 8 * 16 * 16}*batch")
    assert not any("seq" in str(one.flop) for one in model.operators)


@pytest.mark.long
def test_latent_attention_absorbs_what_would_grow() -> None:
    """A step of DeepSeek grows by attention to latents alone: 2 (2 × rank + rotary width) a head and token."""
    model = from_hf({"model_type": "deepseek_v3", **RECENT["deepseek_v3"]}, "decode", batch=2, seq=20, layers=1)
    grows = [one for one in model.operators if "seq" in str(one.flop)]
    assert [one.flop for one in grows] == ["576*(1 + seq)*batch"]
    assert 576 == 2 * 4 * (2 * 32 + 8)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["qwen3_next", "mamba2", "minimax", "mamba"])
def test_training_of_recurrent_layers(kind: str) -> None:
    """The number of tokens stays open, and each operator has a known cost."""
    model = from_hf({"model_type": kind, **RECENT[kind]}, "train", batch=2, seq=20, dtype="bf16")
    assert not model.warnings
    assert model.symbols["seq"].most is None
    assert total(model, "flop", "") > 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["gemma3", "qwen3_vl"])
def test_training_of_models_that_read_images(kind: str) -> None:
    """Each product of the tower has two of the backward pass, but the first, whose pixels need no gradient."""
    size = VISION[kind][1]
    model = from_hf(settings_of(kind), "train", batch=2, seq=20, dtype="bf16", images=IMAGES, image_size=size)
    assert not model.warnings
    at = {"batch": 2, "seq": 20, "images": IMAGES}
    passes = [
        sum(value(one.flop, at) for one in model.operators if one.role == "tower" and one.backward == backward)  # type: ignore[arg-type]
        for backward in (False, True)
    ]
    assert 1.5 < passes[1] / passes[0] < 2.5


@pytest.mark.long
def test_a_decoding_step_keeps_the_tower_and_does_not_run_it() -> None:
    """The weights of what reads images take memory in all phases; its layers are none of the text's."""
    _, size = VISION["qwen2_5_vl"]
    options: dict[str, Any] = {"batch": 2, "seq": 20, "dtype": "bf16", "images": IMAGES, "image_size": size}
    both, alone = (from_hf(settings_of("qwen2_5_vl"), phases, **options) for phases in ("prefill,decode", "decode"))
    assert both.graph(phase="decode").params.sum() == both.graph(phase="prefill").params.sum()
    graph = alone.graph()
    assert graph.params.tolist() == both.graph(phase="decode").params.tolist()
    tower = [v for v, kind in enumerate(graph.kinds) if kind == "tower"]
    blocks = ("patch_embed", "blocks[0]", "blocks[1]", "merger")
    assert [graph.names[v] for v in tower] == [f"model.visual.{block}" for block in blocks]
    assert all(graph.costs.flop[i] == graph.costs.read[i] == 0 for v in tower for i in graph.costs.items_of(v))
    assert [graph.origin.layers[v] for v in range(graph.n) if graph.kinds[v] == "layer"] == [0, 1]
    text = both.graph(phase="prefill", images=0)
    assert all(text.costs.flop[i] == text.costs.read[i] == 0 for v in tower for i in text.costs.items_of(v))
    with pytest.raises(UsageError, match="seq is 20; with images = 5 it must be 30 or more"):
        both.graph(images=5)


def test_what_reads_sounds_takes_memory_and_does_nothing() -> None:
    """Two nodes of the kind "tower", of the size of their modules."""
    sounds = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "subsampling_conv_channels": [8, 4]}
    said = {**settings_of("gemma4"), "audio_config": {**sounds, "output_proj_dims": 48}}
    module = make_model(said, InputRequest(dtype="bf16"))
    model = with_silent(Model(operators=(Operator("text", layer=0, role="layer", flop=1),)), module)
    parts = (module.model.audio_tower, module.model.embed_audio)
    sizes = [sum(one.numel() for one in part.parameters()) for part in parts]
    assert sizes[1] == 48 * 64
    graph = model.graph(group_by="layer")
    assert graph.params.tolist() == [0, *(2 * size for size in sizes)]
    assert graph.kinds[1:] == ("tower", "tower")
    assert not graph.costs.flop[1:].any()
    assert not graph.costs.read[1:].any()
    assert model.warnings == (
        "model.audio_tower and model.embed_audio take memory and do nothing: sounds are not counted",
    )
    text = make_model(settings_of("gemma4"), InputRequest(dtype="bf16"))
    assert with_silent(model, text) is model


def test_a_vocabulary_for_each_layer_is_no_number_of_layers() -> None:
    """Gemma 3n and 4 have tables of 262,144 words for the layers."""
    said = {"model_type": "gemma4_text", "vocab_size_per_layer_input": 262_144}
    assert configuration(said).vocab_size_per_layer_input == 262_144


def test_a_tower_that_cannot_run_is_refused() -> None:
    """Its parts do not fit together: four times the width is 128."""
    said = settings_of("llama4")
    model = make_model({**said, "vision_config": {**said["vision_config"], "intermediate_size": 100}}, InputRequest())
    with pytest.raises(UsageError, match="transformers cannot run what reads images in Llama4ForConditionalGeneration"):
        tower_of(model, None)


@pytest.mark.parametrize(
    ("kind", "size", "real_size", "tokens"),
    [("qwen2_vl", (17, 90), (16, 88), 22), ("mistral3", None, (896, 896), 0), ("gemma3", (16, 16), (16, 16), 4)],
)
def test_images_are_scaled_as_processors_do(
    kind: str, size: tuple[int, int] | None, real_size: tuple[int, int], tokens: int
) -> None:
    model = make_model(settings_of(kind), InputRequest(dtype="bf16"))
    if not tokens:
        with pytest.raises(UsageError, match="--image-size 896x896: images are scaled down to 64x64: say so"):
            tower_of(model, size)
        return
    tower = tower_of(model, size)
    assert tower is not None
    assert (tower.size, tower.tokens) == (real_size, tokens)
    if kind == "gemma3":
        with pytest.raises(UsageError, match=r"reads images of 16x16 pixels; others are scaled to that, or cut"):
            tower_of(model, (32, 32))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("llama", {"images": 2}, "--images: a model of type 'llama' reads no images beside text here"),
        ("llama", {"image_size": (8, 8)}, "--image-size: a model of type 'llama' reads no images"),
    ],
)
def test_images_of_text_models_are_refused(kind: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_hf({"model_type": kind}, **options)


@pytest.mark.parametrize("text", ["x", "3x", "0x4", "1x2x3", "9999999"])
def test_sizes_of_images_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match="is not of the form HEIGHTxWIDTH, as 1080x1920, each at most 65,536"):
        sides_given(text)


def test_windows_of_images_are_as_in_transformers() -> None:
    """Pairs of patches within windows, some of them cut off by the edge of the image."""
    import torch
    from transformers.vision_utils import get_vision_window_index

    for rows in range(1, 10):
        for columns in range(1, 10):
            grid = torch.tensor([[1, 2 * rows, 2 * columns]])
            _, ends = get_vision_window_index(grid, 2, 112, 14)
            assert int((ends.diff() ** 2).sum()) == 16 * squares(rows, 4) * squares(columns, 4)


def test_pairs_within_chunks() -> None:
    for tokens in range(40):
        lengths = [min(7, tokens - at) for at in range(0, tokens, 7)]
        assert squares(tokens, 7) == sum(length**2 for length in lengths)
