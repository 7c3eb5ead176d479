"""mtpp: split neural networks over devices, with a proof of how good the split is.

>>> import mtpp_dsl
>>> problem = mtpp_dsl.load('''
... graph {
...   node a (work = 2 ms, output = 1 MiB)
...   node b (work = 3 ms)
...   edge a -> b
... }
... device gpu[2]
... interconnect shared (bandwidth = 8 GiB/s)
... minimize bottleneck
... constraint acyclic
... ''')
>>> result = mtpp_dsl.solve(problem, method="exact")
>>> result.status, round(result.cost, 6)
('optimal', 0.003122)
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would have to be imported, before mtpp can listen to a Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from mtpp_dsl.checks.verification import verify
    from mtpp_dsl.core.contracts.limits import Limits, Progress
    from mtpp_dsl.core.errors import MtppError
    from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
    from mtpp_dsl.core.plans.plan import Plan
    from mtpp_dsl.core.plans.result import Bound, Result
    from mtpp_dsl.core.problem.devices import Device
    from mtpp_dsl.core.problem.graph import Graph
    from mtpp_dsl.core.problem.problem import Problem
    from mtpp_dsl.core.text.source import Diagnostic
    from mtpp_dsl.exchange.formats.networkx_graphs import graph_from_networkx
    from mtpp_dsl.exchange.importers.gguf.importer import from_gguf
    from mtpp_dsl.exchange.importers.hf import from_hf
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx
    from mtpp_dsl.exchange.importers.pt2.importer import from_pt2
    from mtpp_dsl.exchange.importers.torch_model import from_torch
    from mtpp_dsl.language.builder.builder import Builder
    from mtpp_dsl.language.lowering.analysis import Analysis
    from mtpp_dsl.language.lowering.lower import Spec
    from mtpp_dsl.language.lowering.lower_costs import with_times
    from mtpp_dsl.show.explaining.comparing import diff
    from mtpp_dsl.show.explaining.explain import explain
    from mtpp_dsl.solving.api import analyse, load, read, solve
    from mtpp_dsl.solving.drivers.export import export
    from mtpp_dsl.solving.drivers.front import front
    from mtpp_dsl.solving.drivers.largest import largest
    from mtpp_dsl.solving.drivers.validate import validate
    from mtpp_dsl.solving.finding import find_method
    from mtpp_dsl.solving.running import Running, solve_async, start
    from mtpp_dsl.sweeps.library.collection import Library, find_library
    from mtpp_dsl.sweeps.run.bench import bench
    from mtpp_dsl.sweeps.store.store import Store

__version__ = "0.1.0"

_HOME = {
    "Analysis": "language.lowering.analysis",
    "Bound": "core.plans.result",
    "Builder": "language.builder.builder",
    "Device": "core.problem.devices",
    "Diagnostic": "core.text.source",
    "Evaluation": "core.plans.evaluation",
    "Graph": "core.problem.graph",
    "Library": "sweeps.library.collection",
    "Limits": "core.contracts.limits",
    "MipMethod": "solvers.methods.mip.mip_method",
    "MtppError": "core.errors",
    "Plan": "core.plans.plan",
    "Problem": "core.problem.problem",
    "Progress": "core.contracts.limits",
    "Result": "core.plans.result",
    "Running": "solving.running",
    "Spec": "language.lowering.lower",
    "Store": "sweeps.store.store",
    "analyse": "solving.api",
    "bench": "sweeps.run.bench",
    "diff": "show.explaining.comparing",
    "evaluate": "core.plans.evaluation",
    "explain": "show.explaining.explain",
    "export": "solving.drivers.export",
    "find_library": "sweeps.library.collection",
    "find_method": "solving.finding",
    "from_gguf": "exchange.importers.gguf.importer",
    "from_hf": "exchange.importers.hf",
    "from_onnx": "exchange.importers.onnx.importer",
    "from_pt2": "exchange.importers.pt2.importer",
    "from_torch": "exchange.importers.torch_model",
    "front": "solving.drivers.front",
    "graph_from_networkx": "exchange.formats.networkx_graphs",
    "largest": "solving.drivers.largest",
    "load": "solving.api",
    "read": "solving.api",
    "solve": "solving.api",
    "solve_async": "solving.running",
    "start": "solving.running",
    "validate": "solving.drivers.validate",
    "verify": "checks.verification",
    "with_times": "language.lowering.lower_costs",
}

__all__ = [
    "Analysis",
    "Bound",
    "Builder",
    "Device",
    "Diagnostic",
    "Evaluation",
    "Graph",
    "Library",
    "Limits",
    "MipMethod",
    "MtppError",
    "Plan",
    "Problem",
    "Progress",
    "Result",
    "Running",
    "Spec",
    "Store",
    "analyse",
    "bench",
    "diff",
    "evaluate",
    "explain",
    "export",
    "find_library",
    "find_method",
    "from_gguf",
    "from_hf",
    "from_onnx",
    "from_pt2",
    "from_torch",
    "front",
    "graph_from_networkx",
    "largest",
    "load",
    "read",
    "solve",
    "solve_async",
    "start",
    "validate",
    "verify",
    "with_times",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``import mtpp_dsl`` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'mtpp_dsl' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"mtpp_dsl.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, those that are not imported yet as well."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Give ``%%mtpp`` and ``%mtpp`` to IPython: what ``%load_ext mtpp_dsl`` calls."""
    from mtpp_dsl.show.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take them away again: what ``%unload_ext mtpp_dsl`` calls."""
    from mtpp_dsl.show.notebook.magics import unload

    unload(shell)
