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

    from mtpp_dsl.api import analyse, load, read, solve
    from mtpp_dsl.builder import Builder
    from mtpp_dsl.checks.verification import verify
    from mtpp_dsl.contracts import Limits, Progress
    from mtpp_dsl.drivers.export import export
    from mtpp_dsl.drivers.front import front
    from mtpp_dsl.drivers.validate import validate
    from mtpp_dsl.errors import MtppError
    from mtpp_dsl.explaining.difference import diff
    from mtpp_dsl.explaining.explain import explain
    from mtpp_dsl.formats.networkx_graphs import graph_from_networkx
    from mtpp_dsl.importers.gguf.importer import from_gguf
    from mtpp_dsl.importers.hf import from_hf
    from mtpp_dsl.importers.onnx.importer import from_onnx
    from mtpp_dsl.importers.pt2.importer import from_pt2
    from mtpp_dsl.importers.torch_model import from_torch
    from mtpp_dsl.language.analysis import Analysis
    from mtpp_dsl.language.lower import Spec
    from mtpp_dsl.language.lower_costs import with_times
    from mtpp_dsl.plans.evaluation import Evaluation, evaluate
    from mtpp_dsl.plans.plan import Plan
    from mtpp_dsl.plans.result import Bound, Result
    from mtpp_dsl.problem import Device, Problem
    from mtpp_dsl.problem.graph import Graph
    from mtpp_dsl.running import Running, solve_async, start
    from mtpp_dsl.sweeps.bench import bench
    from mtpp_dsl.text.source import Diagnostic

__version__ = "0.1.0"

_HOME = {
    "Analysis": "language.analysis",
    "Bound": "plans.result",
    "Builder": "builder",
    "Device": "problem",
    "Diagnostic": "text.source",
    "Evaluation": "plans.evaluation",
    "Graph": "problem.graph",
    "Limits": "contracts",
    "MipMethod": "solvers.methods.mip.mip_method",
    "MtppError": "errors",
    "Plan": "plans.plan",
    "Problem": "problem",
    "Progress": "contracts",
    "Result": "plans.result",
    "Running": "running",
    "Spec": "language.lower",
    "analyse": "api",
    "bench": "sweeps.bench",
    "diff": "explaining.difference",
    "evaluate": "plans.evaluation",
    "explain": "explaining.explain",
    "export": "drivers.export",
    "from_gguf": "importers.gguf.importer",
    "from_hf": "importers.hf",
    "from_onnx": "importers.onnx.importer",
    "from_pt2": "importers.pt2.importer",
    "from_torch": "importers.torch_model",
    "front": "drivers.front",
    "graph_from_networkx": "formats.networkx_graphs",
    "load": "api",
    "read": "api",
    "solve": "api",
    "solve_async": "running",
    "start": "running",
    "validate": "drivers.validate",
    "verify": "checks.verification",
    "with_times": "language.lower_costs",
}

__all__ = [
    "Analysis",
    "Bound",
    "Builder",
    "Device",
    "Diagnostic",
    "Evaluation",
    "Graph",
    "Limits",
    "MipMethod",
    "MtppError",
    "Plan",
    "Problem",
    "Progress",
    "Result",
    "Running",
    "Spec",
    "analyse",
    "bench",
    "diff",
    "evaluate",
    "explain",
    "export",
    "from_gguf",
    "from_hf",
    "from_onnx",
    "from_pt2",
    "from_torch",
    "front",
    "graph_from_networkx",
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
    from mtpp_dsl.notebook.magics import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take them away again: what ``%unload_ext mtpp_dsl`` calls."""
    from mtpp_dsl.notebook.magics import unload

    unload(shell)
