"""Make what each step of a model of transformers is given: tokens or images, and the caches of a decoding step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf_steps import as_step
from mtpp_dsl.exchange.importers.torch_assemble import Kept
from mtpp_dsl.exchange.importers.torch_export import cause, export_module
from mtpp_dsl.exchange.importers.torch_inputs import Given
from mtpp_dsl.exchange.importers.torch_training import Training
from mtpp_dsl.exchange.model.parts import Symbol
from mtpp_dsl.exchange.model.sizes import Size

TRACED = {"batch": 3, "seq": 19, "length": 23}
_Inputs: TypeAlias = tuple[Given, Kept, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class InputRequest:
    """What is asked of a configuration.

    Attributes:
        batch, seq: defaults of the symbols; seq is the number of tokens of a prefill, and those that a decoding step
            finds in its cache.
        dtype: of the weights; None: what the configuration says, else fp32.
        layers: so many in place of the configuration's; None: its own.
        flops: formulas for what torch cannot count.
        training: how it is trained, in phase train.
    """

    batch: int = 1
    seq: int = 2048
    dtype: str | None = None
    layers: int | None = None
    flops: Mapping[str, Size] | None = None
    training: Training = field(default_factory=Training)


KEEPING = re.compile(
    r"Mamba\w*Mixer|DeltaNet|RecurrentBlock|Rwkv\w*Attention|ShortConv|xLSTM\w*Layer|LightningAttention"
)
"""Names of layers of transformers that keep a state, and no keys and values."""


class NotThisPhase(UsageError):
    """The architecture has no such phase, however its attention is computed."""


def step_of(module: Any, phase: str) -> str:
    """Return which step of a model a phase is.

    Raises:
        UsageError: the architecture has no such phase.
    """
    generates = module.can_generate() and module.main_input_name == "input_ids"
    caches = generates and not module.config.is_encoder_decoder
    if phase == "decode" and not caches:
        why = "its decoder reads an encoder" if module.config.is_encoder_decoder else "it does not write token by token"
        raise NotThisPhase(f"{type(module).__name__} has no decoding step here: {why}")
    keeps, kinds = _keeping_states(module), ("layer_types", "layers_block_type")
    mixed = any(hasattr(module.config, name) for name in kinds)  # with attention, in some of their layers
    if keeps and (phase == "decode" or (phase == "prefill" and mixed)):
        raise NotThisPhase(
            f"{type(module).__name__} has no {phase} step here: layers such as {keeps} keep a state from token to "
            "token, which are not counted yet; its modules can be imported by mtpp import torch"
        )
    return "forward" if phase == "prefill" and not caches else phase


def _keeping_states(module: Any) -> str:
    """Return the name of a kind of layers that keep something else than keys and values; "" where there is none."""
    names = (type(part).__name__ for part in module.modules())
    return next((name for name in names if KEEPING.search(name)), "")


def inputs_of(module: Any, step: str, asked: InputRequest) -> _Inputs:
    """Return what a step is given, which of it are caches, and where those of each layer are.

    Raises:
        UsageError: the inputs of such an architecture are unknown.
    """
    import torch

    config = module.config
    most = _positions(module)
    symbols = {"batch": Symbol(asked.batch), "seq": Symbol(asked.seq, 1, most)}
    if most is not None and asked.seq > most:
        raise NotThisPhase(f"--seq {asked.seq}: this model has positions for {most:,} tokens")
    tokens = torch.zeros(TRACED["batch"], TRACED["seq"], dtype=torch.long, device="meta")
    both = {0: "batch", 1: "seq"}
    main = module.main_input_name
    if main == "pixel_values":
        return _images(module, step, asked), Kept(), ()
    if main != "input_ids":
        raise NotThisPhase(
            f"{type(module).__name__} reads {main!r}; a configuration gives token or image models alone: "
            "use mtpp import torch"
        )
    if step == "prefill":
        limits = _limits(config, 2 * config.get_text_config().num_hidden_layers, 1)
        outputs = frozenset(range(1, 1 + 2 * config.get_text_config().num_hidden_layers))
        return Given((tokens,), {}, {"main": both}, symbols), Kept(frozenset(), outputs, limits), ()
    if step == "decode":
        return _decode(module, symbols)
    if step == "train":
        return Given((tokens, tokens.clone()), {}, {"main": both, "labels": both}, symbols), Kept(), ()
    if config.is_encoder_decoder:
        return Given((tokens, tokens.clone()), {}, {"main": both, "second": both}, symbols), Kept(), ()
    return Given((tokens,), {}, {"main": both}, symbols), Kept(), ()


def _images(module: Any, step: str, asked: InputRequest) -> Given:
    """Return a batch of images of the size that a configuration names."""
    import torch

    config = module.config
    size = getattr(config, "image_size", None)
    sides = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    channels = getattr(config, "num_channels", 3)
    if step == "train" or not all(isinstance(side, int) for side in (*sides, channels)):
        why = "training of image models" if step == "train" else "a configuration without image_size"
        raise NotThisPhase(f"{type(module).__name__}: {why} is not known; use mtpp import torch")
    pixels = torch.zeros(TRACED["batch"], channels, *sides, dtype=module.dtype, device="meta")
    return Given((pixels,), {}, {"main": {0: "batch"}}, {"batch": Symbol(asked.batch)})


def _kept_by(module: Any) -> list[Any]:
    """Return tensors of the shapes of the keys and values of each layer, from a short prefill on ``meta``.

    Raises:
        UsageError: the model keeps something else.
    """
    import torch

    tokens = torch.zeros(TRACED["batch"], 5, dtype=torch.long, device="meta")
    kind = type(module)
    step = as_step(module, "prefill")
    try:
        with torch.no_grad():
            return list(step(tokens))[1:]
    except Exception:  # of the model's code, which may look at values unless it is exported
        try:
            (given,) = export_module(step, (tokens,), {}).graph.output_node().args
        except Exception as error:
            raise UsageError(f"{kind.__name__} keeps no keys and values that are known here: {cause(error)}") from error
        return [node.meta["val"] for node in given[1:]]
    finally:
        module.__class__ = kind


def _decode(module: Any, symbols: Mapping[str, Symbol]) -> _Inputs:
    """Return one token, and the keys and values of all layers: those of layers alike in one tensor."""
    import torch

    kept = _kept_by(module)
    limits = _limits(module.config, len(kept), 0)
    stacks: dict[tuple[Any, ...], int] = {}  # layers whose caches are alike: how many there are
    places = []
    for at in range(0, len(kept), 2):
        sizes = [(tuple(tensor.shape[1::2]), tensor.dtype) for tensor in kept[at : at + 2]]
        key = (*sizes, limits.get(at, {}).get("seq", "seq"))
        places.append((list(stacks).index(key) if key in stacks else len(stacks), stacks.get(key, 0)))
        stacks[key] = stacks.get(key, 0) + 1
    past: list[Any] = []
    shapes: list[dict[int, str]] = []
    formulas: dict[str, str] = {}
    for (*halves, length), count in stacks.items():
        name = "seq" if length == "seq" else f"seq_{len(formulas)}"
        if name != "seq":
            formulas[name] = length
        traced = TRACED["seq"] if name == "seq" else TRACED["length"] + 2 * len(formulas)
        for (heads, width), dtype in halves:
            past.append(torch.zeros(count, TRACED["batch"], heads, traced, width, dtype=dtype, device="meta"))
            shapes.append({1: "batch", 3: name})
    token = torch.zeros(TRACED["batch"], 1, dtype=torch.long, device="meta")
    given = Given((token, past), {}, {"main": {0: "batch"}, "past": shapes}, dict(symbols), formulas)
    return given, Kept(frozenset(range(1, 1 + len(past))), frozenset(range(1, 1 + len(kept)))), tuple(places)


def _limits(config: Any, count: int, first: int) -> dict[int, dict[str, str]]:
    """Return for the caches of layers that look back so far only, how many tokens they keep: by the place."""
    inner = config.get_text_config()
    window = getattr(inner, "sliding_window", None) or getattr(inner, "attention_chunk_size", None)
    if not isinstance(window, int):
        return {}
    types = getattr(inner, "layer_types", None) or ["sliding_attention"] * (count // 2)
    near = [at for at, kind in enumerate(types[: count // 2]) if kind in ("sliding_attention", "chunked_attention")]
    return {first + 2 * at + half: {"seq": f"min(seq, {window})"} for at in near for half in (0, 1)}


def _positions(module: Any) -> int | None:
    """Return for how many tokens a model has learned positions; None where it computes them."""
    import torch

    most = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    tables = [table for table in module.modules() if isinstance(table, torch.nn.Embedding)]
    if not isinstance(most, int) or module.main_input_name != "input_ids":
        return None
    own = [table for table in tables if table is not module.get_input_embeddings()]
    return most if any(most <= table.num_embeddings <= most + 8 for table in own) else None


def input_names(module: Any) -> dict[str, str]:
    """Return what to call the inputs of a step: as the model does, and caches by their kind."""
    caches = {
        f"past_{2 * at + half}": f"past.{at}.{part}" for at in range(8) for half, part in enumerate(("key", "value"))
    }
    return {"main": module.main_input_name, "second": "decoder_input_ids", **caches}
