"""Make what each step of a model of transformers is given: tokens, images, and the caches of a decoding step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.hf_caches import KeptPart
from mtpp_dsl.exchange.importers.hf_scans import scans_known
from mtpp_dsl.exchange.importers.hf_steps import as_step
from mtpp_dsl.exchange.importers.hf_towers import ImageTower, silent_parts
from mtpp_dsl.exchange.importers.torch_assemble import Kept
from mtpp_dsl.exchange.importers.torch_export import cause, export_module
from mtpp_dsl.exchange.importers.torch_inputs import Given
from mtpp_dsl.exchange.importers.torch_training import Training
from mtpp_dsl.exchange.model.parts import Symbol
from mtpp_dsl.exchange.model.sizes import Size

TRACED = {"batch": 3, "seq": 19, "length": 23, "images": 5}
_Inputs: TypeAlias = tuple[Given, Kept, tuple[KeptPart, ...]]


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
        images: default of the symbol, of a model that reads images beside text: those of each sequence.
        image_size: height and width of them; None: the usual.
    """

    batch: int = 1
    seq: int = 2048
    dtype: str | None = None
    layers: int | None = None
    flops: Mapping[str, Size] | None = None
    training: Training = field(default_factory=Training)
    images: int = 1
    image_size: tuple[int, int] | None = None


KEEPING = re.compile(
    r"Mamba\w*Mixer|MambaLayer$|DeltaNet|RecurrentBlock|Rwkv\w*Attention|ShortConv|xLSTM\w*Layer|LightningAttention"
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
    unknown = next((part for part in _keeping_states(module) if not scans_known(part)), None)
    if unknown is not None and phase != "train":
        raise NotThisPhase(
            f"{type(module).__name__} has no {phase} step here: layers such as {type(unknown).__name__} keep a state "
            "from token to token by code that is not known here; import its modules by mtpp import torch"
        )
    return "forward" if phase == "prefill" and not caches else phase


def _keeping_states(module: Any) -> list[Any]:
    """Return the layers that keep something else than keys and values."""
    return [part for part in module.modules() if KEEPING.search(type(part).__name__)]


def inputs_of(module: Any, step: str, asked: InputRequest, tower: ImageTower | None = None) -> _Inputs:
    """Return what a step is given, which of it are caches, and where those of each layer are.

    Args:
        module: of transformers.
        step: of :func:`step_of`.
        asked: what the user wants.
        tower: what reads images beside text, if anything.

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
    pictures, their_sizes = _pictures(module, tower)
    if pictures and step != "decode":
        symbols["images"] = Symbol(max(1, asked.images))
    silent = tuple(silent_parts(module))
    if step == "prefill":
        parts = [part for part, _ in _kept_by(module)]
        limits = {1 + at: {"seq": f"min(seq, {near})"} for at, near in _windows(config, parts).items()}
        kept = Kept(frozenset(), frozenset(range(1, 1 + len(parts))), limits, silent)
        return Given((tokens, *pictures), {}, {"main": both, **their_sizes}, symbols), kept, ()
    if step == "decode":
        given, kept, places = _decode(module, symbols)
        return given, kept if tower is None else replace(kept, idle=(*tower.paths, *silent)), places
    if step == "train":
        shapes = {"main": both, "labels": both, **their_sizes}
        return Given((tokens, tokens.clone(), *pictures), {}, shapes, symbols), Kept(idle=silent), ()
    if config.is_encoder_decoder:
        return Given((tokens, tokens.clone()), {}, {"main": both, "second": both}, symbols), Kept(), ()
    return Given((tokens,), {}, {"main": both}, symbols), Kept(), ()


def _pictures(module: Any, tower: ImageTower | None) -> tuple[tuple[Any, ...], dict[str, dict[int, str]]]:
    """Return the numbers of a batch of images that a tower reads beside text, and the symbols of their sizes."""
    import torch

    if tower is None:
        return (), {}
    sizes = (TRACED["batch"], TRACED["images"], *tower.shape)
    return (torch.zeros(sizes, dtype=module.dtype, device="meta"),), {"pixels": {0: "batch", 1: "images"}}


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


def _kept_by(module: Any) -> list[tuple[KeptPart, Any]]:
    """Return what each layer keeps, with tensors of its shapes, from a short prefill on ``meta``.

    Raises:
        UsageError: the model keeps something else.
    """
    import torch

    tokens = torch.zeros(TRACED["batch"], 5, dtype=torch.long, device="meta")
    kind = type(module)
    parts: list[KeptPart] = []
    step = as_step(module, "prefill", kept=parts)
    try:
        with torch.no_grad():
            made = list(step(tokens))[1:]
            return list(zip(parts, made, strict=True))
    except Exception:  # of the model's code, which may look at values unless it is exported
        try:
            (given,) = export_module(step, (tokens,), {}).graph.output_node().args
        except Exception as error:
            raise UsageError(f"{kind.__name__} keeps no keys and values that are known here: {cause(error)}") from error
        return list(zip(parts, (node.meta["val"] for node in given[1:]), strict=True))
    finally:
        module.__class__ = kind


def _decode(module: Any, symbols: Mapping[str, Symbol]) -> _Inputs:
    """Return one token, and what all layers keep: of layers alike in one tensor for each part."""
    import torch

    kept = _kept_by(module)
    windows = _windows(module.config, [part for part, _ in kept])
    shapes: list[dict[int, str]] = []
    formulas: dict[str, str] = {}
    stacks: dict[tuple[Any, ...], _Stack] = {}
    places: list[KeptPart] = []
    for number in sorted({part.layer for part, _ in kept}):
        own = [at for at, (part, _) in enumerate(kept) if part.layer == number]
        key = tuple(_alike(*kept[at], windows.get(at)) for at in own)
        if key not in stacks:
            stacks[key] = _Stack(sum(len(stack.tensors) for stack in stacks.values()), [kept[at] for at in own])
        stack = stacks[key]
        places += [replace(kept[at][0], tensor=stack.first + half, at=stack.count) for half, at in enumerate(own)]
        stack.count += 1
    past: list[Any] = []
    for key, stack in stacks.items():
        for (part, tensor), (*_, near) in zip(stack.tensors, key, strict=True):
            sizes, open_sizes = [stack.count, *tensor.shape], {1: "batch"}
            if part.grows:
                name = _length(near, formulas)
                sizes[-2] = TRACED["seq"] if name == "seq" else TRACED["length"] + 2 * list(formulas).index(name)
                open_sizes[len(sizes) - 2] = name
            past.append(torch.zeros(sizes, dtype=tensor.dtype, device="meta"))
            shapes.append(open_sizes)
    token = torch.zeros(TRACED["batch"], 1, dtype=torch.long, device="meta")
    given = Given((token, past), {}, {"main": {0: "batch"}, "past": shapes}, dict(symbols), formulas)
    return given, Kept(frozenset(range(1, 1 + len(past))), frozenset(range(1, 1 + len(kept)))), tuple(places)


@dataclass
class _Stack:
    """Layers that keep alike tensors: the number of the first tensor, what each keeps, and how many layers they are."""

    first: int
    tensors: list[tuple[KeptPart, Any]]
    count: int = 0


def _alike(part: KeptPart, tensor: Any, window: int | None) -> tuple[Any, ...]:
    """Return what parts of layers share that may stand in one tensor."""
    sizes = tuple(tensor.shape[1:])
    return part.part, sizes[:-2] + sizes[-1:] if part.grows else sizes, tensor.dtype, window


def _length(window: int | None, formulas: dict[str, str]) -> str:
    """Return the symbol for the tokens that a layer finds in its cache: those of its window but the newest."""
    if window is None:
        return "seq"
    formula = f"min(seq, {window - 1})"
    known = {text: name for name, text in formulas.items()}
    name = known.get(formula, f"seq_{len(formulas)}")
    formulas[name] = formula
    return name


def _windows(config: Any, parts: Sequence[KeptPart]) -> dict[int, int]:
    """Return the windows of layers that look back so far only, by the place of their keys and values in *parts*."""
    inner = config.get_text_config()
    window = getattr(inner, "sliding_window", None) or getattr(inner, "attention_chunk_size", None)
    if not isinstance(window, int):
        return {}
    types = getattr(inner, "layer_types", None)
    near = ("sliding_attention", "chunked_attention")
    return {
        at: window
        for at, part in enumerate(parts)
        if part.grows and (not types or (part.layer < len(types) and types[part.layer] in near))
    }


def _positions(module: Any) -> int | None:
    """Return for how many tokens a model has learned positions; None where it computes them."""
    import torch

    most = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    tables = [table for table in module.modules() if isinstance(table, torch.nn.Embedding)]
    if not isinstance(most, int) or module.main_input_name != "input_ids":
        return None
    own = [table for table in tables if table is not module.get_input_embeddings()]
    return most if any(most <= table.num_embeddings <= most + 8 for table in own) else None


def input_names(module: Any, places: Sequence[KeptPart] = ()) -> dict[str, str]:
    """Return what to call the inputs of a step: as the model does, and caches by their kind."""
    stacks: dict[int, tuple[int, str]] = {}
    for place in places:
        stacks.setdefault(place.tensor, (place.layer, place.part))
    layers = list(dict.fromkeys(layer for layer, _ in stacks.values()))
    caches = {f"past_{at}": f"past.{layers.index(layer)}.{part}" for at, (layer, part) in stacks.items()}
    return {"main": module.main_input_name, "second": "decoder_input_ids", "pixels": "pixel_values", **caches}
