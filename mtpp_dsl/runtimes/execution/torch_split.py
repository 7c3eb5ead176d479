"""Make the model and the stages of its split, in every process of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.torch_export import cause
from mtpp_dsl.exchange.importers.torch_model import made_by
from mtpp_dsl.runtimes.execution.stage_file import SplitError, StageFile, exported, split_graph
from mtpp_dsl.runtimes.execution.torch_signature import Signature


@dataclass(frozen=True)
class TorchSplit:
    """A model, its exported graph, and its stages, which share its weights.

    Attributes:
        module: the model.
        graph_module: the same, exported.
        stages: its parts.
    """

    module: Any
    graph_module: Any
    stages: tuple[StageFile, ...]


@dataclass(frozen=True)
class TorchRecipe:
    """How to make a model and its stages: plain data, which goes from process to process.

    Attributes:
        model: ``module:callable``.
        seed: of the weights, if they are random.
        signature: what the model is given.
        parts: the operators of each stage by name.
        devices: of the stages.
    """

    model: str
    seed: int
    signature: Signature
    parts: Sequence[Sequence[str]]
    devices: Sequence[str]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TorchRecipe:
        """Return what :meth:`to_json` made data of."""
        given = data["signature"]
        signature = Signature(tuple(given["inputs"]), {name: tuple(ends) for name, ends in given["symbols"].items()})
        return cls(data["model"], data["seed"], signature, data["parts"], data["devices"])

    def to_json(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return asdict(self)

    def build(self) -> TorchSplit:
        """Make the model and its stages.

        Raises:
            UsageError: the model cannot be made or exported, or the parts do not fit it.
        """
        module = make_module(self.model, self.seed)
        graph_module = graph_module_of(self.model, module, self.signature)
        try:
            stages = split_graph(graph_module, self.parts, self.devices)
        except SplitError as error:
            raise UsageError(f"{self.model}: {error}") from error
        return TorchSplit(module, graph_module, tuple(stages))


def graph_module_of(name: str, module: Any, signature: Signature) -> Any:
    """Return the exported graph of a module; messages call it *name*.

    Raises:
        UsageError: it cannot be exported.
    """
    try:
        return exported(module, signature.inputs, signature.symbols)
    except Exception as error:  # of the user's code, or of torch
        raise UsageError(f"{name} cannot be exported: {cause(error)}") from error


def fingerprint(module: Any) -> float:
    """Return a number that tells whether two modules have the same weights: the sum of their magnitudes."""
    tensors = [*module.parameters(), *module.buffers()]
    return float(sum(float(tensor.detach().double().abs().sum()) for tensor in tensors))


def make_module(name: str, seed: int, device: str = "cpu") -> Any:
    """Return the torch module that ``module:callable`` makes, in evaluation mode: **this runs the user's code**.

    Random numbers begin at *seed* before the call, so that weights drawn at random are the same in each process.

    Raises:
        UsageError: there is no such module or callable, it raises, or what it returns is no module.
    """
    torch = need("torch", "torch")
    torch.manual_seed(seed)
    return made_by(name, device=device).eval()
