"""Towers of GGUF files: weights and products as of the same models in transformers, tokens as llama.cpp has them."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.importer import from_gguf
from mtpp_dsl.exchange.importers.gguf.reader import read_table
from mtpp_dsl.exchange.importers.gguf.towers import tower_in
from mtpp_dsl.exchange.model.layer_stack import layout_of
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers import mmproj_files as files
from tests.exchange.importers.recent import settings_of

WIDTH, BATCH, SEQ, IMAGES = 64, 3, 100, 2
AT = {"batch": BATCH, "seq": SEQ, "images": IMAGES}
SCALE: dict[str, object] = {"projector__scale_factor": 2}
TOWERS: dict[str, tuple[files.Table, dict[str, object], tuple[int, int] | None, dict[str, Any]]] = {
    "llava": (files.clip(2, 32, 48, 8, 4, WIDTH), files.facts("mlp", 2, 8, 16), None, {}),
    "gemma3": (files.gemma3(2, 32, 48, 4, 16, WIDTH), files.facts("gemma3", 2, 4, 16, **SCALE), None, {}),
    "internvl": (files.internvl(2, 32, 48, 4, 16, WIDTH), files.facts("internvl", 2, 4, 16, **SCALE), None, {}),
    "mistral3": (
        files.pixtral(2, 32, 48, 4, WIDTH),
        files.facts("pixtral", 2, 4, 64, spatial_merge_size=2),
        (24, 32),
        {},
    ),
    "qwen2_vl": (files.qwen(2, 32, 64, 4, WIDTH), files.facts("qwen2vl_merger", 2, 4, 560), (24, 32), {}),
    "qwen2_5_vl": (
        files.qwen(2, 32, 48, 4, WIDTH, newer=True),
        files.facts("qwen2.5vl_merger", 2, 4, 560, n_wa_pattern=2),
        (24, 32),
        {},
    ),
    "qwen3_vl": (
        files.qwen3(2, 32, 48, 4, 16, WIDTH, (0,)),
        files.facts("qwen3vl_merger", 2, 4, 16),
        (24, 32),
        {"architecture": "qwen3vl", "n_deepstack_layers": 1},
    ),
}
"""Of the models of ``vision.py``: tensors, metadata, size of images, and metadata of the text."""
SIGLIP = files.siglip(2, 32, 48, 4, 64)
OTHERS: dict[str, tuple[files.Table, dict[str, object], tuple[int, int] | None, dict[str, Any]]] = {
    "yi": (files.yi(3, 32, 48, 8, 4, WIDTH), files.facts("mlp", 3, 8, 16), None, {}),
    "idefics3": (
        {**SIGLIP, "mm.model.fc.weight": (WIDTH, 16 * 32)},
        files.facts("idefics3", 2, 4, 32, projector__scale_factor=4),
        None,
        {},
    ),
    "janus_pro": (
        files.two_products(files.siglip(2, 32, 48, 4, 16), (0, 1), 32, WIDTH),
        files.facts("janus_pro", 2, 4, 16),
        None,
        {},
    ),
    "phi4": (
        files.two_products({n: shape for n, shape in SIGLIP.items() if "post_ln" not in n}, (0, 2), 32, WIDTH),
        files.facts("phi4", 2, 4, 32, image_min_pixels=16**2, image_max_pixels=40**2),
        (100, 30),
        {},
    ),
    "kimivl": (files.kimivl(2, 32, 48, 4, 64, WIDTH), files.facts("kimivl", 2, 4, 32, **SCALE), (24, 40), {}),
    "pixtral": (files.pixtral(2, 32, 48, 4, WIDTH, merged=False), files.facts("pixtral", 2, 4, 64), (24, 32), {}),
}
"""Those of further types of projectors."""
LLAMA_CPP = {
    "llava": (4, 173_184, 110_720),
    "gemma3": (4, 589_824, 76_928),
    "internvl": (4, 708_864, 119_040),
    "mistral3": (14, 2_654_208, 117_760),
    "qwen2_vl": (12, 3_047_424, 179_968),
    "qwen2_5_vl": (12, 3_145_728, 183_680),
    "qwen3_vl": (12, 3_440_640, 273_920),
    "yi": (4, 248_064, 141_760),
    "idefics3": (4, 3_342_336, 205_824),
    "janus_pro": (16, 770_048, 93_696),
    "phi4": (90, 6_036_480, 99_584),
    "kimivl": (15, 3_563_520, 174_080),
    "pixtral": (53, 2_998_272, 101_248),
}
"""Tokens and FLOP of an image, and bytes of the tower, in the graphs of llama.cpp of October 2026 for these files."""
COUNTED = {
    "llava": (80_744, 173_184),
    "gemma3": (77_056, 589_824),
    "internvl": (119_040, 708_864),
    "mistral3": (117_504, 2_654_208),
    "qwen2_vl": (179_968, 3_047_424),
    "qwen2_5_vl": (183_680, 2_932_736),
    "qwen3_vl": (273_920, 3_440_640),
}
"""Bytes of the tower in fp32, and FLOP of an image, in the import of Hugging Face."""


def imported(kind: str, folder: Path, **options: Any) -> Model:
    table, said, size, text = {**TOWERS, **OTHERS}[kind]
    tower = files.tower(folder / "mmproj.gguf", table, said)
    given: dict[str, Any] = {"batch": BATCH, "seq": SEQ, "images": IMAGES, "image_size": size, **options}
    model = from_gguf(files.text(folder / "m.gguf", 2, WIDTH, **text), mmproj=tower, **given)
    assert sum(one.bytes for one in model.weights if one.name[:2] in ("v.", "mm")) == 4 * sum(map(prod, table.values()))
    return model


def tower_of(model: Model) -> tuple[int, int]:
    """Return the bytes of the weights of a tower, and the FLOP of one image."""
    own = [one for one in model.operators if one.role == "tower"]
    weights = {w for one in own for w in one.weights}
    flops = [one.flop.get("prefill", 0) if isinstance(one.flop, dict) else one.flop or 0 for one in own]
    return sum(model.weights[w].bytes for w in weights), int(sum(value(flop, AT) for flop in flops)) // (BATCH * IMAGES)


@pytest.mark.parametrize("kind", LLAMA_CPP)
def test_towers_count_as_llama_cpp_runs_them(kind: str, tmp_path: Path) -> None:
    model = imported(kind, tmp_path, seq=1000)
    weights, flop = tower_of(model)
    assert (model.source.arguments["image_tokens"], flop, weights) == LLAMA_CPP[kind]


@pytest.mark.parametrize("kind", TOWERS)
def test_towers_count_as_those_of_hugging_face(kind: str, tmp_path: Path) -> None:
    weights, flop = tower_of(imported(kind, tmp_path))
    table = TOWERS[kind][0]
    more = 0  # operations of llama.cpp alone
    weights += {"llava": 8 * 5, "gemma3": 8 * 16}.get(kind, 0)  # the numbers of places, which transformers holds
    if kind == "llava":  # the last layer, which llama.cpp holds
        weights -= 4 * sum(prod(shape) for name, shape in table.items() if name.startswith("v.blk.1."))
    if kind == "mistral3":
        weights -= 4 * WIDTH  # the embedding of the token that ends a row
    if kind == "qwen2_5_vl":  # 48 patches; transformers has windows of 4 x 4 in the first layer
        more = 4 * 32 * (48**2 - 16 * (4 + 1) * (4 + 4))
    assert (weights, flop - more) == COUNTED[kind]


@pytest.mark.needs("torch", "transformers")
@pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::FutureWarning:torch")
@pytest.mark.parametrize("kind", TOWERS)
@pytest.mark.long
def test_what_hugging_face_counts(kind: str) -> None:
    from mtpp_dsl.exchange.importers.hf import from_hf

    settings = settings_of(kind)
    if kind == "llava":
        settings["vision_feature_layer"] = -2  # as llama.cpp has it
    options: dict[str, Any] = {"batch": BATCH, "seq": SEQ, "images": IMAGES, "image_size": TOWERS[kind][2]}
    model = from_hf(settings, dtype="fp32", **options)
    assert tower_of(model) == COUNTED[kind]
    assert len(layout_of(model.graph()).layers) == 2  # what layers of the text add is part of them


def test_a_tower_is_idle_in_decoding_and_without_images(tmp_path: Path) -> None:
    """Its weights take memory in all phases; it is no layer of the text, and comes before them."""
    both = imported("gemma3", tmp_path)
    graph = both.graph(phase="decode")
    tower = [v for v, kind in enumerate(graph.kinds) if kind == "tower"]
    names = ["v.patch_embd", "v.blk[0]", "v.blk[1]", "v.post_ln", "mm"]
    assert [graph.names[v] for v in tower] == names
    assert graph.names[5:] == ("token_embd", "inp_embd", "blk[0]", "blk[1]", "output_norm", "output")
    assert graph.params[tower].sum() == tower_of(both)[0]
    alone = imported("gemma3", tmp_path, phases=("decode",)).graph()
    assert alone.params.tolist() == graph.params.tolist()
    for one in (graph, alone, both.graph(phase="prefill", images=0)):
        items = [i for v in tower for i in one.costs.items_of(v)]
        assert items
        assert all(one.costs.flop[i] == one.costs.read[i] == one.costs.write[i] == 0 for i in items)
    embedding = next(one for one in both.operators if one.path == "token_embd")
    assert isinstance(embedding.write, dict)
    assert value(embedding.write["prefill"], AT) == BATCH * (SEQ - 4 * IMAGES) * WIDTH * 4
    with pytest.raises(UsageError, match="seq is 100; with images = 26 it must be 104 or more"):
        both.graph(images=26)
    with pytest.raises(UsageError, match=r"--images 26 of 16x16 pixels are 104: say --seq 360 or so"):
        imported("gemma3", tmp_path, images=26)


def test_layers_of_the_text_add_what_layers_of_the_tower_give_them(tmp_path: Path) -> None:
    model = imported("qwen3_vl", tmp_path)
    names = {one.name: number for number, one in enumerate(model.operators)}
    assert (names["v.deepstack[0].fc2"], names["inp_embd.deepstack[0]"]) in model.edges
    assert (names["inp_embd.deepstack[0]"], names["blk[0].deepstack_add"]) in model.edges
    assert "blk[1].deepstack_add" not in names
    nodes = model.graph(phase="prefill").names
    assert nodes[:6] == ("v.patch_embd", "v.blk[0]", "v.deepstack[0]", "v.blk[1]", "v.post_ln", "mm")


@pytest.mark.parametrize(
    ("kind", "said", "size", "scaled", "tokens"),
    [
        ("qwen2.5vl_merger", {"patch_size": 14}, (1080, 1920), (1092, 1932), 39 * 69),
        ("qwen2.5vl_merger", {"patch_size": 14}, None, (896, 896), 32 * 32),
        ("qwen2.5vl_merger", {"patch_size": 14}, (4000, 4000), (1792, 1792), 64 * 64),
        ("qwen3vl_merger", {"patch_size": 16}, (20, 40), (64, 128), 2 * 4),
        ("pixtral", {"patch_size": 14, "spatial_merge_size": 2}, (1540, 1540), (896, 896), 32 * 32 + 31),
        ("pixtral", {"patch_size": 16}, (100, 300), (96, 304), 6 * 19 + 5),
        ("kimivl", {"patch_size": 14, "projector__scale_factor": 2}, (300, 300), (308, 308), 11 * 11),
        ("phi4", {"patch_size": 16, "image_min_pixels": 65536, "image_max_pixels": 921600}, None, (896, 896), 56 * 56),
        ("gemma3", {"patch_size": 14, "image_size": 896}, None, (896, 896), 256),
        ("internvl", {"patch_size": 14, "image_size": 448, **SCALE}, (448, 448), (448, 448), 256),
        ("idefics3", {"patch_size": 16, "image_size": 512, "projector__scale_factor": 4}, None, (512, 512), 64),
        ("mlp", {"patch_size": 14, "image_size": 336}, None, (336, 336), 576),
    ],
)
def test_images_are_scaled_as_llama_cpp_does(
    kind: str,
    said: dict[str, object],
    size: tuple[int, int] | None,
    scaled: tuple[int, int],
    tokens: int,
    tmp_path: Path,
) -> None:
    path = files.tower(tmp_path / "mmproj.gguf", {}, files.facts(kind, 1, 14, 560, **said))
    tower = tower_in(read_table(path), size)
    assert (tower.size, tower.tokens) == (scaled, tokens)


@pytest.mark.parametrize(
    ("said", "tensors", "message"),
    [
        ({"clip.projector_type": "resampler"}, {}, "type 'resampler', a resampler, whose queries .* is not known here"),
        ({"clip.projector_type": "glm4v"}, {}, "has a projector of type 'glm4v', which is not known here, as are mlp"),
        (
            {"clip.has_audio_encoder": True},
            {},
            "reads sounds, which are not counted here: import the language model alone",
        ),
        ({}, {"a.blk.0.attn_q.weight": (32, 32)}, r"reads sounds \(tensor 'a.blk.0.attn_q.weight'\)"),
        (
            {},
            {"v.blk.0.attn_sinks": (4,)},
            "has the tensor 'v.blk.0.attn_sinks', whose part in a tower .* gemma3 is not known",
        ),
        ({}, {"token_embd.weight": (4, 4)}, "and m.gguf both have the tensor 'token_embd.weight'"),
        ({}, {"mm.input_projection.weight": (32, 48)}, "makes embeddings of 48 numbers, and those of m.gguf have 64"),
        (
            {},
            {"v.blk.1.attn_out.weight": (32, 16)},
            r"tensor 'v.blk.1.attn_out.weight' has the shape \[32, 16\], which does",
        ),
        (
            {},
            {"v.blk.0.attn_k.weight": (16, 32)},
            r"tensor 'v.blk.0.attn_v.weight' has the shape \[32, 32\], which does",
        ),
        (
            {},
            {"v.patch_embd.weight": (32, 3, 4, 5)},
            r"'v.patch_embd.weight' has the shape \[32, 3, 4, 5\], which does not",
        ),
        ({}, {"v.position_embd.weight": ()}, r"'v.position_embd.weight' has the shape \[\], which does not fit"),
        (
            {},
            {"v.position_embd.weight": (15, 32)},
            r"'v.position_embd.weight' has the shape \[15, 32\], which does not",
        ),
        ({}, {"v.class_embd": (32,)}, r"'v.class_embd' has the shape \[32\], which does not fit"),
        ({"clip.vision.feature_layer": [0, 1]}, {}, "projects several layers together, which is not known here"),
        ({"clip.vision.block_count": 3}, {}, "has no tensor 'v.blk.2.attn_q.weight', which a tower needs"),
        ({"clip.vision.patch_size": 0}, {}, "says 0 for clip.vision.patch_size, a number from 1 to 8,192"),
        ({"clip.vision.image_size": 2**31}, {}, "says 2147483648 for clip.vision.image_size, a number from 1 to 8,192"),
        ({"clip.vision.projector.scale_factor": 3}, {}, "images of 16 pixels a side, which are no whole squares of 12"),
        (
            {"clip.projector_type": "qwen2vl_merger", "clip.vision.spatial_merge_size": 3},
            {},
            "merges squares of 3 patches",
        ),
        ({"clip.projector_type": "phi4"}, {}, "does not say how many pixels images have"),
        ({"general.architecture": "llama"}, {}, "is no tower: its architecture is 'llama'"),
    ],
)
def test_other_towers_are_refused(said: dict[str, object], tensors: files.Table, message: str, tmp_path: Path) -> None:
    table, usual, *_ = TOWERS["gemma3"]
    tower = files.tower(tmp_path / "mmproj.gguf", {**table, **tensors}, {**usual, **said})
    with pytest.raises(UsageError, match=message):
        from_gguf(files.text(tmp_path / "m.gguf", 2, WIDTH), mmproj=tower)


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    text = files.text(tmp_path / "m.gguf", 2, WIDTH)
    with pytest.raises(UsageError, match="--images needs --mmproj, the file of the tower"):
        from_gguf(text, images=1)
    with pytest.raises(
        UsageError, match=r"--image-size 32x32: mmproj.gguf reads images of 16x16 pixels; others are scaled"
    ):
        imported("gemma3", tmp_path, image_size=(32, 32))
    tower = files.tower(tmp_path / "mmproj.gguf", *TOWERS["qwen3_vl"][:2])
    with pytest.raises(UsageError, match=r"gives something to 1 layers, and m.gguf expects it in 0"):
        from_gguf(text, mmproj=tower)
    with pytest.raises(UsageError, match=r"mmproj.gguf is a tower that reads images.*with --mmproj mmproj.gguf"):
        from_gguf(tower)


def test_the_command_says_what_an_image_becomes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported("mistral3", tmp_path)
    call = ["import", "gguf", str(tmp_path / "m.gguf"), "--mmproj", str(tmp_path / "mmproj.gguf"), "--images", "3"]
    assert run([*call, "--image-size", "24x32", "-o", str(tmp_path / "model.json")]) == 0
    said = capsys.readouterr().out
    assert "in 2 layers" in said
    assert "14 tokens an image of 24x32" in said
    assert "images = 3" in said
