"""Measure the operators of a torch model on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.exchange.importers.torch_names import calls, operator_names
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.execution.clocks import TimeSpread
from mtpp_dsl.runtimes.execution.torch_signature import fake_args, signature_of
from mtpp_dsl.runtimes.execution.torch_split import graph_module_of, make_module
from mtpp_dsl.runtimes.profiling.jobs import MeasuringJob
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort, measure

__all__ = ["check_device", "torch_jobs"]

DEVICES = ("cpu", "cuda")


def check_device(device: str) -> str:
    """Return the name of the device: "cpu", or that of the first CUDA device.

    Raises:
        UsageError: torch has no such device here.
    """
    torch = need("torch", "torch")
    if device == "cpu":
        return device
    if device not in DEVICES:
        raise UsageError(f"--device {device}: it is cpu or cuda")
    if not torch.cuda.is_available():
        raise UsageError(f"--device cuda: torch {torch.__version__} finds no CUDA device on this machine")
    return str(torch.cuda.get_device_name(0))


def torch_jobs(
    code: str, model: Model, symbols: Mapping[str, int], device: str, effort: MeasuringEffort, threads: int
) -> list[MeasuringJob]:
    """Return what measures each operator of the model that ``module:callable`` makes: **this runs the user's code**.

    The model is made without memory where that works (on torch's meta device): only the tensors of the operator that
    is measured are there.

    Raises:
        UsageError: the model cannot be made or exported, or is not the one that was imported.
    """
    torch = need("torch", "torch")
    torch.set_num_threads(threads)
    graph = _graph(code, model, symbols)
    calls = list(torch_calls(graph))
    names, known = {call.name for call in calls}, set(model.index)
    for missing, what in ((known - names, "has no operator"), (names - known, "has the operator")):
        if missing:
            raise UsageError(
                f"{code} {what} {min(missing)}, other than the model that was imported ({model.source.name}): import "
                "it again"
            )
    wait = torch.cuda.synchronize if device == "cuda" else None
    return [
        MeasuringJob(call.name, call.op, f"{call.key} on {device}", partial(_measure, call, device, effort, wait))
        for call in calls
    ]


def _graph(code: str, model: Model, sizes: Mapping[str, int]) -> Any:
    """Return the exported graph with the shapes of its tensors for these sizes; of a model on meta, if it can be."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    signature = signature_of(model)
    try:
        place, module = "meta", make_module(code, 0, device="meta")
        whole = graph_module_of(code, module, signature)
    except UsageError:
        place, module = "cpu", make_module(code, 0)
        whole = graph_module_of(code, module, signature)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        args = fake_args(signature, sizes, place)
        FakeTensorProp(whole, mode).propagate_dont_convert_inputs(*args)
    return whole.graph


def _measure(call: TorchCall, device: str, effort: MeasuringEffort, wait: Callable[[], object] | None) -> TimeSpread:
    import torch

    with torch.no_grad():
        try:
            return measure(runner(call, device), effort, wait, disturbance() if device == "cpu" else None)
        except UsageError:
            raise
        except Exception as error:  # of a kernel
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise SolverError(f"operator {call.name} ({call.op}) cannot be run by itself: {reason}") from error


SHORT = {
    "torch.float32": "f32", "torch.float64": "f64", "torch.float16": "f16", "torch.bfloat16": "bf16",
    "torch.int64": "i64", "torch.int32": "i32", "torch.int16": "i16", "torch.int8": "i8", "torch.uint8": "u8",
    "torch.bool": "bool",
}  # fmt: skip
COLD_BYTES = 96 * 2**20
"""Weights are read from so many bytes of copies in turn, as a pass over a model reads others between two reads."""
MOST_COPIES = 64
GENERATOR_SEED = 0
ROWS, WIDTH = 16, 512
"""Of the product that runs between two calls: its 1 MiB of weights takes the place of what the caches held."""


@dataclass(frozen=True)
class TorchCall:
    """A call of the model.

    Attributes:
        name: of the operator.
        op: what is called: ``aten.linear.default``.
        key: the call with the shapes, types and gaps of its tensors: what the time depends on.
        node: in the graph; its metadata has the shapes.
    """

    name: str
    op: str
    key: str
    node: Any


def torch_calls(graph: Any) -> Iterator[TorchCall]:
    """Yield the calls of an exported graph that make tensors, in their order."""
    names = operator_names(graph)
    for node in calls(graph):
        op = str(node.target)
        args = ", ".join(_shown(value) for value in node.args)
        kwargs = "".join(f", {key}={_shown(value)}" for key, value in node.kwargs.items())
        yield TorchCall(names[node], op, f"{op}({args}{kwargs})", node)


def _shown(value: Any) -> str:
    """Return an argument as signatures have it: a tensor by type and shape, and its strides if it has gaps."""
    import torch

    if isinstance(value, torch.fx.Node):
        meta = value.meta.get("val")
        return _shown(meta) if meta is not None or value.op != "get_attr" else f"weight {value.target}"
    if isinstance(value, torch.Tensor):
        sizes = ",".join(str(int(size)) for size in value.shape)
        gaps = "" if value.is_contiguous() else "/" + ",".join(str(int(stride)) for stride in value.stride())
        return f"{SHORT.get(str(value.dtype), str(value.dtype))}[{sizes}]{gaps}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, torch.device):
        return "device"
    return repr(value) if not isinstance(value, float) else f"{value:.9g}"


def runner(call: TorchCall, device: str) -> Callable[[], object]:
    """Return what runs one call, with tensors of its own: each call takes the next copy of the weights.

    Raises:
        UsageError: a tensor has no known size.
    """
    import torch

    generator = torch.Generator().manual_seed(GENERATOR_SEED)
    weights = [node for node in call.node.all_input_nodes if node.op == "get_attr"]
    bytes_of_weights = sum(_bytes(node.meta["val"]) for node in weights if node.meta.get("val") is not None)
    copies = min(MOST_COPIES, max(1, -(-COLD_BYTES // max(bytes_of_weights, 1)))) if weights else 1
    made: dict[Any, Any] = {}

    def value(argument: Any, fresh: dict[Any, Any]) -> Any:
        if isinstance(argument, torch.fx.Node):
            store = fresh if argument.op == "get_attr" else made
            if argument not in store:
                store[argument] = _example(argument.meta.get("val"), call, device, generator)
            return store[argument]
        if isinstance(argument, (list, tuple)):
            return type(argument)(value(item, fresh) for item in argument)
        return torch.device(device) if isinstance(argument, torch.device) else argument

    prepared = []
    for _ in range(copies):
        fresh: dict[Any, Any] = {}
        args = tuple(value(argument, fresh) for argument in call.node.args)
        kwargs = {key: value(argument, fresh) for key, argument in call.node.kwargs.items()}
        prepared.append((args, kwargs))
    target, turn = call.node.target, 0

    def run() -> object:
        nonlocal turn
        args, kwargs = prepared[turn]
        turn = turn + 1 if turn + 1 < len(prepared) else 0
        return target(*args, **kwargs)

    return run


def disturbance() -> Callable[[], object]:
    """Return what runs between two measured calls on a CPU: a layer, as in a model, with weights of its own."""
    import torch

    x, weights = torch.randn(ROWS, WIDTH), torch.randn(WIDTH, WIDTH)
    return lambda: torch.nn.functional.gelu(torch.nn.functional.linear(x, weights))


def _bytes(value: Any) -> int:
    return int(value.numel()) * int(value.element_size())


def _example(value: Any, call: TorchCall, device: str, generator: Any) -> Any:
    """Return a tensor like *value*: random numbers, or indices that are rows of every other tensor of the call."""
    import torch

    if isinstance(value, (list, tuple)):
        return type(value)(_example(item, call, device, generator) for item in value)
    if not isinstance(value, torch.Tensor):
        return value
    try:
        shape, strides = [int(size) for size in value.shape], [int(stride) for stride in value.stride()]
    except Exception as error:
        raise UsageError(f"operator {call.name} has a tensor whose size is no number: {error}") from error
    if value.dtype.is_floating_point:
        numbers = torch.randn(shape, generator=generator).to(value.dtype)
    elif value.dtype.is_complex:
        numbers = torch.randn(shape, generator=generator, dtype=torch.complex64).to(value.dtype)
    elif value.dtype == torch.bool:
        numbers = torch.ones(shape, dtype=torch.bool)
    else:
        numbers = torch.randint(0, _rows(call), shape, generator=generator).to(value.dtype)
    tensor = torch.empty_strided(shape, strides, dtype=value.dtype, device=device)
    if 0 in strides:  # expanded: the same numbers again
        base = [1 if stride == 0 else size for size, stride in zip(shape, strides, strict=True)]
        return numbers[tuple(slice(0, size) for size in base)].to(device).expand(shape)
    return tensor.copy_(numbers)


def _rows(call: TorchCall) -> int:
    """Return how many values an index may have: as many as the least size of what is indexed."""
    if call.op.startswith("aten.embedding"):
        return int(call.node.args[0].meta["val"].shape[0])
    sizes = [
        int(size)
        for node in call.node.all_input_nodes
        if hasattr(node.meta.get("val"), "shape") and node.meta["val"].dtype.is_floating_point
        for size in node.meta["val"].shape
    ]
    return max(1, min(sizes, default=2))
