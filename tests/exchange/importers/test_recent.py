"""Recent models: what the import counts is what their real modules have, keep and multiply."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtpp_dsl.exchange.importers.hf import from_hf
from mtpp_dsl.exchange.importers.torch_scans import squares
from tests.exchange.importers.recent import HEAD, RECENT, Row, counted, measured, real, run, total

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
    assert set(on_the_page()) == set(RECENT)


@pytest.mark.parametrize("kind", RECENT)
@pytest.mark.sampled(5)
def test_real_modules_are_as_on_the_page(kind: str) -> None:
    """Parameters, what a cache of transformers holds, and the products that torch counts."""
    assert measured(kind) == on_the_page()[kind]


@pytest.mark.parametrize("kind", RECENT)
@pytest.mark.long
def test_imports_count_as_real_modules(kind: str) -> None:
    assert counted(kind) == on_the_page()[kind]


@pytest.mark.parametrize("kind", ["deepseek_v3", "qwen3_next", "mamba2", "falcon_h1"])
@pytest.mark.sampled(4)
def test_what_is_counted_by_hand_computes_the_same(kind: str) -> None:
    """The products that torch counts here in place of transformers' reference code give the same numbers."""
    import torch

    module = real(kind, "fp32")
    plain, by_hand = run(module, counted_by_hand=False)[2], run(module, counted_by_hand=True)[2]
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
@pytest.mark.parametrize("kind", ["qwen3_next", "mamba2", "minimax"])
def test_training_of_recurrent_layers(kind: str) -> None:
    """The number of tokens stays open, and each operator has a known cost."""
    model = from_hf({"model_type": kind, **RECENT[kind]}, "train", batch=2, seq=20, dtype="bf16")
    assert not model.warnings
    assert model.symbols["seq"].most is None
    assert total(model, "flop", "") > 0


def test_pairs_within_chunks() -> None:
    for tokens in range(40):
        lengths = [min(7, tokens - at) for at in range(0, tokens, 7)]
        assert squares(tokens, 7) == sum(length**2 for length in lengths)
