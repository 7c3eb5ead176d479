"""Measure the operators of a torch model on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import SolverError, UsageError
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.runtimes.execution.timing import TimeSpread
from mtpp_dsl.runtimes.execution.torch_inputs import fake_args, signature_of
from mtpp_dsl.runtimes.execution.torch_split import graph_module_of
from mtpp_dsl.runtimes.execution.user_code import make_module
from mtpp_dsl.runtimes.profiling.measuring import MeasuringEffort, measure
from mtpp_dsl.runtimes.profiling.session import MeasuringJob
from mtpp_dsl.runtimes.profiling.torch_calls import TorchCall, disturbance, runner, torch_calls

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
