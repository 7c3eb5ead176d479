"""GGUF files as layers: operations, bytes, caches, experts; what is refused."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.importer import from_gguf
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import read
from mtpp_dsl.exchange.model.parts import Amount, Operator
from mtpp_dsl.exchange.model.sizes import value
from tests.exchange.importers.gguf_files import llama, metadata, text, write
from tests.own_time import within


def at(amount: Amount | None, phase: str, **symbols: int) -> int | Fraction:
    """Return an amount in one phase."""
    assert amount is not None
    return value(amount.get(phase, 0) if isinstance(amount, Mapping) else amount, symbols)


def total(model: Model, phase: str, what: str = "flop", **symbols: int) -> int | Fraction:
    return sum((at(getattr(each, what), phase, **symbols) for each in model.operators), start=0)


def called(model: Model, name: str) -> Operator:
    return model.operators[model.index[name]]


@pytest.fixture(scope="module")
def seventy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Llama-3-70B as Q4_K: 40 GB of weights that take no room."""
    path = tmp_path_factory.mktemp("gguf") / "llama-70b.gguf"
    return write(path, metadata("llama", 80), llama(80, 8192, 28672, 64, 8, 128256))


def test_large_model(seventy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Operations, bytes and cache of a 70B model are those of its published sizes."""
    assert run(["import", "gguf", str(seventy), "-o", str(tmp_path / "model.json")]) == 0
    assert "in 80 layers" in capsys.readouterr().out
    model = read(tmp_path / "model.json")
    assert model == from_gguf(seventy)
    batch, seq = 2, 2048
    layer = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672
    head = 2 * batch * 8192 * 128256
    pairs = 80 * batch * 4 * 8192 * seq
    assert total(model, "prefill", batch=batch, seq=seq) == 2 * 80 * layer * batch * seq + pairs * seq + head
    assert total(model, "decode", batch=batch, seq=seq) == 2 * 80 * layer * batch + pairs + head
    assert total(model, "decode", "cache", batch=batch, seq=seq) == 80 * batch * seq * 2 * 1024 * 2
    weights = 70_553_706_496 - 80 * 1024 * 8192 - 8192 * 128256 - 161 * 8192  # less those in Q6_K and fp32
    stored = weights * 144 // 256 + (80 * 1024 * 8192 + 8192 * 128256) * 210 // 256 + 161 * 8192 * 4
    assert sum(each.bytes for each in model.weights) == stored
    assert {each.layer for each in model.operators} == {None, *range(80)}
    assert [each.role for each in model.operators if each.layer is None] == ["embedding", "norm", "head"]


def test_decoding_reads_the_cache(tmp_path: Path) -> None:
    """A new token reads all keys and values, which a cache of fp16 holds; a look-up reads rows alone."""
    model = from_gguf(write(tmp_path / "m.gguf", metadata("llama", 1), llama(1, 64, 96, 4, 2, 100, "f16")), ("decode",))
    assert not model.phases
    attention = called(model, "blk[0].attn")
    sizes = {"batch": 3, "seq": 50}
    assert value(attention.cache, sizes) == 3 * 50 * 64 * 2  # type: ignore[arg-type]
    assert value(attention.read, sizes) == 3 * (64 + 32 + 32) * 4 + 3 * 50 * 64 * 2  # type: ignore[arg-type]
    assert value(called(model, "token_embd").weight_read or 0, sizes) == 3 * 64 * 2  # type: ignore[arg-type]
    assert model.symbols["seq"].most == 8192


def test_experts(tmp_path: Path) -> None:
    """Of the experts each token uses some, and tokens share some of those that they use."""
    tensors = dict(llama(2, 64, 96, 4, 2, 100, "f16"))
    for i in range(2):
        for part in ("gate", "up", "down"):
            (first, second), kind = tensors.pop(f"blk.{i}.ffn_{part}.weight")
            tensors[f"blk.{i}.ffn_{part}_exps.weight"] = ((8, first, second), kind)
        tensors[f"blk.{i}.ffn_gate_inp.weight"] = ((8, 64), "f32")
    told = metadata("llama", 2, expert_count=8, expert_used_count=2)
    model = from_gguf(write(tmp_path / "m.gguf", told, tensors))
    experts = called(model, "blk[1].ffn_exps")
    assert at(experts.flop, "decode", batch=1, seq=9) == 2 * 2 * 3 * 64 * 96
    used = [float(at(experts.weight_read, "decode", batch=b, seq=9)) for b in (1, 3, 4, 9)]
    assert used == pytest.approx([8 * (1 - 0.75**b) * 3 * 64 * 96 * 2 for b in (1, 3, 4, 9)])
    assert sum(model.weights[w].bytes for w in experts.weights) == 8 * 3 * 64 * 96 * 2
    call = ["import", "gguf", str(tmp_path / "m.gguf"), "-o", str(tmp_path / "m.json"), "--experts-read"]
    assert run([*call, "all_distinct"]) == 0
    assert read(tmp_path / "m.json").experts_read == "all_distinct"
    assert run([*call, "distinct"]) == 2
    told["llama.expert_used_count"] = 9
    with pytest.raises(UsageError, match="8 experts, of which 9 are used"):
        from_gguf(write(tmp_path / "m.gguf", told, tensors))


def test_other_families(tmp_path: Path) -> None:
    """Norms of queries and keys, norms after attention, fused products, heads without a matrix of their own."""
    tensors = dict(llama(1, 64, 96, 4, 2, 100, "f16"))
    del tensors["output.weight"]
    tensors["blk.0.attn_q_norm.weight"] = tensors["blk.0.attn_k_norm.weight"] = ((16,), "f32")
    tensors["blk.0.post_attention_norm.weight"] = tensors["blk.0.post_ffw_norm.weight"] = ((64,), "f32")
    model = from_gguf(write(tmp_path / "gemma3.gguf", metadata("gemma3", 1), tensors))
    assert model.weights[0].tied == ("output.weight",)
    assert called(model, "output").weights == called(model, "token_embd").weights == (0,)
    assert [each.name for each in model.operators if each.kind == "norm"] == [
        "blk[0].attn_norm",
        "blk[0].attn_q_norm",
        "blk[0].attn_k_norm",
        "blk[0].post_attention_norm",
        "blk[0].ffn_norm",
        "blk[0].post_ffw_norm",
        "output_norm",
    ]
    fused = dict(llama(1, 64, 96, 4, 2, 100, "f16"))
    plain = from_gguf(write(tmp_path / "llama.gguf", metadata("llama", 1), fused))
    for part in "qkv":
        del fused[f"blk.0.attn_{part}.weight"]
    del fused["blk.0.ffn_gate.weight"]
    fused |= {"blk.0.attn_qkv.weight": ((128, 64), "f16"), "blk.0.ffn_up.weight": ((192, 64), "f16")}
    phi = from_gguf(write(tmp_path / "phi3.gguf", metadata("phi3", 1), fused))
    for phase in ("prefill", "decode"):
        assert total(phi, phase, batch=2, seq=7) == total(plain, phase, batch=2, seq=7)
        assert total(phi, phase, "cache", batch=2, seq=7) == total(plain, phase, "cache", batch=2, seq=7)


def test_split_models(tmp_path: Path) -> None:
    """The tables of all files of a split model are read."""
    whole = llama(2, 64, 96, 4, 2, 100, "f16")
    names = sorted(whole)
    told = metadata("llama", 2) | {"split.count": 2}
    first = write(tmp_path / "m-00001-of-00002.gguf", told, {name: whole[name] for name in names[:9]})
    with pytest.raises(UsageError, match="there is no file"):
        from_gguf(first)
    write(tmp_path / "m-00002-of-00002.gguf", {"split.count": 2}, {name: whole[name] for name in names[9:]})
    apart = from_gguf(first)
    together = from_gguf(write(tmp_path / "m.gguf", metadata("llama", 2), whole))
    assert apart.operators == together.operators
    with pytest.raises(UsageError, match="keep their names"):
        from_gguf(first.rename(tmp_path / "other.gguf"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blk.0.ssm_f_a.weight": ((64, 64), "f16")}, "tensor 'blk.0.ssm_f_a.weight', whose part"),
        ({"token_types.weight": ((2, 64), "f16")}, "tensor 'token_types.weight', whose part"),
        (
            {"blk.0.ffn_gate_shexp.weight": ((96, 64), "f16")},
            "'blk.0.ffn_gate_shexp.weight', which no operator here reads",
        ),
        (
            {"blk.0.attn_q.weight": ((64, 32), "f16")},
            "'blk.0.attn_q.weight' has the shape .64, 32., which does not fit",
        ),
        ({"blk.0.attn_output.weight": ((64, 96), "f16")}, "does not fit"),
        ({"output.weight": ((100, 32), "f16")}, "does not fit"),
        ({"blk.2.attn_norm.weight": ((64,), "f16")}, "has 2 layers, and tensors of layer 2"),
        ({"blk.0.attn_output.weight": None}, "has no tensor 'blk.0.attn_output.weight'"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_other_models_are_refused(
    change: dict[str, tuple[tuple[int, ...], str] | None], message: str, tmp_path: Path
) -> None:
    """A tensor that is not known, is missing or does not fit is named."""
    tensors = {**llama(2, 64, 96, 4, 2, 100, "f16"), **change}
    kept = {name: table for name, table in tensors.items() if table is not None}
    with pytest.raises(UsageError, match=message):
        from_gguf(write(tmp_path / "m.gguf", metadata("llama", 2), kept))


def test_lists_of_very_many_texts_are_refused_at_once(tmp_path: Path) -> None:
    """A file of a few kilobytes with a hole of empty texts in it, which would take minutes."""
    path = tmp_path / "hole.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("tokens"))
        file.write(struct.pack("<IIQ", 9, 8, 2**24))
        file.truncate(file.tell() + 8 * 2**24)
    with within(1.0, "reading"), pytest.raises(UsageError, match=r"its lists have 16,777,216 texts; at most 4,194,304"):
        from_gguf(path)


def test_texts_that_a_small_file_claims_are_not_held(tmp_path: Path) -> None:
    """Texts that are holes take no room on the disk, and would take all memory: a header is read up to a length."""
    path = tmp_path / "holes.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 10_000))
        for i in range(200):
            file.write(text(f"key{i}") + struct.pack("<IQ", 8, 2**20))
            file.seek(2**20, 1)
        file.truncate(file.tell() + 10_000 * 2**20)
    with pytest.raises(UsageError, match="its header is longer than 128 MiB"):
        from_gguf(path)
