"""``from_torch``: a module of torch as a model; and the module that ``mtpp import torch`` names."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import MtppError, UsageError, did_you_mean
from mtpp_dsl.exchange.importers.torch_assemble import Kept, parts_of
from mtpp_dsl.exchange.importers.torch_export import cause, export, with_sizes
from mtpp_dsl.exchange.importers.torch_graph import draw
from mtpp_dsl.exchange.importers.torch_inputs import Given, Input, sizes_to_trace, tensors_for
from mtpp_dsl.exchange.importers.torch_training import Training, arguments_of, training_of, with_backward
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Source, Symbol
from mtpp_dsl.exchange.model.sizes import Size

WEIGHTS = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")
"""How the names of files end that hold weights, and no code."""

EXTRA = "torch"
PHASES = ("forward", "train")
DEVICES = ("meta", "cpu")


def from_torch(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    shapes: Mapping[str, Any] | None = None,
    phase: str = "forward",
    optimizer: str | int = "adam",
    backward_ratio: float | None = None,
    flops: Mapping[str, Size] | None = None,
    name: str = "",
) -> Model:
    """Return a module of torch as a model: its operators with their costs, from ``torch.export``.

    The module runs on fake tensors: on the ``meta`` device it needs no memory and no weights. It is exported in the
    mode that it is in; call ``module.eval()`` first for what is run to infer.

    >>> import mtpp_dsl
    >>> model = mtpp_dsl.from_torch(module, (ids,), shapes={"ids": ("batch", "seq")})  # doctest: +SKIP

    Args:
        module: a ``torch.nn.Module``.
        args: what it is called with; tensors may be on ``meta``.
        kwargs: the same by name.
        shapes: which sizes of the inputs are symbols, by the parameter of ``forward``: a name for each size, None for
            one that is a number, as ``{"ids": ("batch", None)}``. A symbol's default is the size that it has in *args*.
        phase: "forward", or "train" for the backward pass too.
        optimizer: for training: "adam", "sgd", or the bytes held for each number of a parameter, all in all.
        backward_ratio: for training: the cost of the backward pass by that of the forward pass; None: torch derives it.
        flops: formulas for what torch cannot count, by the operation (``"mylib.attention"``) or the operator.
        name: what the model is called; the name of the module's class if it is "".

    Raises:
        UsageError: torch is not installed, or cannot export the module.
    """
    torch = need("torch", EXTRA)
    given = _given(torch, module, tuple(args), dict(kwargs or {}), shapes or {})
    training = _training(phase, optimizer, backward_ratio)
    arguments: Mapping[str, Any] = {} if training is None else {"phase": phase, **arguments_of(training)}
    name = name or type(module).__name__
    source = Source("torch", name, versions={"torch": str(torch.__version__)}, arguments=arguments)
    return model_of(module, given, source=source, flops=flops, training=training)


def _training(phase: str, optimizer: str | int, ratio: float | None) -> Training | None:
    """Return how a model is trained; None where it only runs forward.

    Raises:
        UsageError: the phase is neither, or a model that is not trained is given a ratio.
    """
    if phase not in PHASES:
        raise UsageError(f"there is no phase {phase!r}{did_you_mean(phase, PHASES)} (there are: {', '.join(PHASES)})")
    if phase == "train":
        return training_of(optimizer, ratio)
    if ratio is not None:
        raise UsageError("a ratio of the backward pass is for phase train")
    return None


def model_of(
    module: Any,
    given: Given,
    *,
    source: Source,
    flops: Mapping[str, Size] | None = None,
    kept: Kept | None = None,
    training: Training | None = None,
) -> Model:
    """Return the model of a module that is called with what is *given*.

    Args:
        module: a ``torch.nn.Module``.
        given: what it is called with.
        source: where it came from.
        flops: formulas for what torch cannot count.
        kept: which inputs and outputs are caches.
        training: how it is trained; None: it only runs forward.
    """
    exported = export(module, given)
    drawn = draw(exported)
    parts = parts_of(drawn, flops=flops or {}, kept=kept or Kept())
    if training is not None:
        parts = with_backward(drawn, parts, training)
    return Model(
        parts.operators,
        parts.tensors,
        parts.weights,
        parts.outputs,
        symbols=exported.symbols,
        source=source,
        warnings=parts.warnings,
    )


def _given(torch: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Mapping[str, Any]) -> Given:
    """Return what a module is called with: with symbols, and of sizes that torch keeps apart."""
    import inspect

    parameters = list(inspect.signature(module.forward).parameters)
    named = dict(zip(parameters, args, strict=False)) | kwargs
    for name in shapes:
        if name not in named:
            raise UsageError(f"shapes of {name!r}: the module is given no such input{did_you_mean(name, named)}")
    symbols: dict[str, Symbol] = {}
    places: dict[str, dict[int, str]] = {name: {} for name in named}
    for name, words in shapes.items():
        items = words.items() if isinstance(words, Mapping) else enumerate(words)
        for place, word in items:
            if word is None:
                continue
            size = int(named[name].shape[place])
            if symbols.setdefault(word, Symbol(size)) != Symbol(size):
                raise UsageError(f"{word} is {symbols[word].default} in one input and {size} in {name!r}")
            places[name][place] = word
    flat = {name: places[name] if isinstance(value, torch.Tensor) else None for name, value in named.items()}
    given = Given(args, kwargs, flat, symbols)
    return with_sizes(given, sizes_to_trace(list(symbols)))


def import_torch(
    target: str,
    inputs: Sequence[Input],
    values: Mapping[str, int] | None = None,
    *,
    device: str = "meta",
    phase: str = "forward",
    optimizer: str | int = "adam",
    backward_ratio: float | None = None,
    flops: Mapping[str, Size] | None = None,
) -> Model:
    """Return the model that ``module:callable`` makes; this runs the code of that module.

    Args:
        target: ``package.module:callable``, or a file ``model.py:callable``; it is called without arguments and returns
            a ``torch.nn.Module``, or is one.
        inputs: what ``forward`` is given, by name.
        values: defaults of symbols.
        device: "meta": the module is made without memory; "cpu": as its code says.
        phase: "forward" or "train".
        optimizer: for training, as in :func:`from_torch`.
        backward_ratio: for training, as there.
        flops: formulas for what torch cannot count.

    Raises:
        UsageError: there is no such module or callable, it fails, or torch cannot export what it makes.
    """
    torch = need("torch", EXTRA)
    training = _training(phase, optimizer, backward_ratio)
    module = made_by(target, device=device)
    given = tensors_for(inputs, values or {}, _device_of(module, device))
    names = {one_input.name for one_input in inputs}
    _check_names(module, names)
    arguments: dict[str, Any] = {
        "inputs": [_shown(one_input) for one_input in inputs],
        "device": device,
        "phase": phase,
    }
    arguments = {**arguments, **arguments_of(training), **(values or {})}
    source = Source("torch", target, versions={"torch": str(torch.__version__)}, arguments=arguments)
    module = module.train() if training is not None else module.eval()
    return model_of(module, given, source=source, flops=flops, training=training)


def _shown(one_input: Input) -> str:
    return f"{one_input.name}: {one_input.dtype}[{', '.join(map(str, one_input.shape))}]"


def made_by(target: str, *, device: str = "meta") -> Any:
    """Return the module of torch that ``package.module:callable`` makes; see :func:`import_torch`."""
    torch = need("torch", EXTRA)
    if device not in DEVICES:
        raise UsageError(f"--device {device!r} is neither meta nor cpu")
    path, attribute = check_target(target)
    code = _imported(path)
    if not hasattr(code, attribute):
        known = [name for name in vars(code) if not name.startswith("_")]
        raise UsageError(f"{path} has no {attribute!r}{did_you_mean(attribute, known)}")
    module_made = getattr(code, attribute)
    if not isinstance(module_made, torch.nn.Module):
        if not callable(module_made):
            raise UsageError(f"{target} is no module of torch and nothing that can be called")
        try:
            with torch.device("meta") if device == "meta" else nullcontext():
                module_made = module_made()
        except Exception as error:  # of the user's code
            hint = "; if it cannot be made without memory, say --device cpu" if device == "meta" else ""
            raise UsageError(f"{target} failed when it was called: {cause(error)}{hint}") from error
    if not isinstance(module_made, torch.nn.Module):
        raise UsageError(f"{target} made an object of type {type(module_made).__name__}; it must be a torch.nn.Module")
    return module_made


def check_target(target: str) -> tuple[str, str]:
    """Return the module and the callable of a target, which is not imported.

    Raises:
        UsageError: it is not of the form ``package.module:callable``; says what to do with files of weights and graphs.
    """
    path, colon, attribute = target.rpartition(":")
    if colon and path and attribute.isidentifier():
        return path, attribute
    file = Path(target)
    if file.suffix.lower() == ".pt2":
        raise UsageError(
            f"{target} is a graph already: mtpp convert {target} model.json reads it, and so does graph from"
        )
    if file.suffix.lower() in WEIGHTS:
        raise UsageError(
            f"{target} holds weights, and no graph: name the code that makes the module, such as model.py:make_model"
        )
    hint = f": name what of it makes the module, such as {target}:make_model" if file.suffix == ".py" else ""
    raise UsageError(f"{target[:200]!r} is not of the form package.module:callable{hint}")


def _imported(path: str) -> Any:
    """Return the module of Python that *path* names: a file, or a package that Python finds, here too."""
    folder, name = str(Path.cwd()), path
    if path.endswith(".py"):
        file = Path(path)
        if not file.is_file():
            raise UsageError(f"there is no file {path!r}")
        folder, name = str(file.resolve().parent), file.stem
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"there is no module {name!r}: Python finds none of that name, here or installed"
            ) from error
        raise UsageError(f"{path} cannot be imported: {cause(error)}") from error
    except MtppError:
        raise
    except Exception as error:  # of the user's code
        raise UsageError(f"{path} cannot be imported: {cause(error)}") from error


def _device_of(module: Any, default: str) -> str:
    """Return the device that the parameters of a module are on.

    Raises:
        UsageError: they are on several.
    """
    devices = {str(parameter.device) for parameter in module.parameters()}
    if len(devices) > 1:
        raise UsageError(f"the module has parameters on several devices: {', '.join(sorted(devices))}")
    return devices.pop() if devices else default


def _check_names(module: Any, names: set[str]) -> None:
    """Refuse inputs that ``forward`` does not take, and those that it needs and is not given."""
    import inspect

    parameters = inspect.signature(module.forward).parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    for name in sorted(names):
        if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            known = ", ".join(parameters) or "none"
            raise UsageError(f"--input {name!r}: forward takes no such input; it takes {known}")
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)
    for name, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and parameter.kind in plain and name not in names:
            raise UsageError(f"forward needs {name!r}: give its type and shape, as --input '{name}: int64[batch, seq]'")
