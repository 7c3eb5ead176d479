"""Plug-ins by name: built-ins from a table of strings, third parties from entry points.

Nothing is imported until it is chosen.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mtpp_dsl.core.errors import PluginError, nearest

FORMULATIONS = "mtpp_dsl.formulations"
"""The group of formulations: Pyomo models of a problem."""
METHODS = "mtpp_dsl.methods"
"""The group of methods, as --method names them."""
BACKENDS = "mtpp_dsl.backends"
"""The group of MIP solvers, as --solver names them."""
ENGINES = "mtpp_dsl.engines"
"""The group of solvers with models of their own, such as CP-SAT."""
FORMATS = "mtpp_dsl.formats"
"""The group of formats of graphs and workloads."""
GENERATORS = "mtpp_dsl.generators"
"""The group of generators of graphs."""
PROOFS = "mtpp_dsl.proofs"
"""The group of checkers of certificates."""
CONSTRAINTS = "mtpp_dsl.constraints"
"""The group of constraints with a keyword."""
TARGETS = "mtpp_dsl.targets"
"""The group of runtimes that plans are written for."""
EXECUTORS = "mtpp_dsl.executors"
"""The group of executors: where the processes of a sweep run."""

MAX_LISTED = 12
"""A message names all plug-ins of a group where there are no more, or no command lists them."""
_LISTED = {METHODS: "mtpp methods", BACKENDS: "mtpp solvers", ENGINES: "mtpp solvers", TARGETS: "mtpp targets"}

BUILTIN: dict[str, dict[str, str]] = {
    FORMULATIONS: {
        "exact": "mtpp_dsl.models.formulations.exact:Exact",
        "fig3": "mtpp_dsl.models.formulations.fig3:Fig3",
        "latency": "mtpp_dsl.models.formulations.latency:LatencyModel",
        "superblock": "mtpp_dsl.models.relaxations.superblocks:Superblock",
        "guess": "mtpp_dsl.models.relaxations.superblocks:Guess",
        "divided": "mtpp_dsl.models.relaxations.divided:Divided",
        "moirai": "mtpp_dsl.models.formulations.moirai:Moirai",
        "moirai-printed": "mtpp_dsl.models.formulations.moirai_as_published:MoiraiAsPublished",
        "batched": "mtpp_dsl.models.formulations.batched:Batched",
        "batched-printed": "mtpp_dsl.models.formulations.batched_as_published:BatchedAsPublished",
    },
    METHODS: {
        "auto": "mtpp_dsl.solvers.methods.auto.auto:Auto",
        "ideals": "mtpp_dsl.solvers.methods.partition:Ideals",
        "branching": "mtpp_dsl.solvers.methods.branching:Branching",
        "orders": "mtpp_dsl.solvers.methods.orders:Orders",
        "copies": "mtpp_dsl.solvers.methods.copies:CopiesOfChains",
        "decomposition": "mtpp_dsl.solvers.methods.modules:Decomposition",
        "chain-relaxation": "mtpp_dsl.solvers.methods.modules:ChainRelaxation",
        "milp-split": "mtpp_dsl.solvers.methods.modules:MilpSplit",
        "piecewise": "mtpp_dsl.solvers.methods.modules:Piecewise",
        "annealing": "mtpp_dsl.solvers.methods.annealing:Annealing",
        "diving": "mtpp_dsl.solvers.methods.diving:Diving",
        "series": "mtpp_dsl.solvers.methods.schedules:Series",
        "transplant": "mtpp_dsl.solvers.methods.modules:Transplant",
        "lns": "mtpp_dsl.solvers.methods.schedules:Lns",
        "simple": "mtpp_dsl.solvers.methods.bounds:Simple",
        "anchor": "mtpp_dsl.solvers.methods.bounds:Anchor",
        "node": "mtpp_dsl.solvers.methods.bounds:Node",
        "count": "mtpp_dsl.solvers.methods.bounds:Count",
        "reach": "mtpp_dsl.solvers.methods.bounds:Reach",
        "configuration": "mtpp_dsl.solvers.methods.bounds:Configuration",
        "chunk-order": "mtpp_dsl.solvers.methods.bounds:ChunkOrder",
        "critical-path": "mtpp_dsl.solvers.methods.bounds:CriticalPath",
        "interval": "mtpp_dsl.solvers.methods.bounds:Interval",
        "lifted": "mtpp_dsl.solvers.methods.modules:Lifted",
        "series-bound": "mtpp_dsl.solvers.methods.bounds:SeriesBound",
        "split-bound": "mtpp_dsl.solvers.methods.modules:SplitBound",
        "branch-and-bound": "mtpp_dsl.solvers.methods.schedules:BranchAndBound",
        "ea": "mtpp_dsl.solvers.methods.schedules:Ea",
        "slicegraph": "mtpp_dsl.solvers.methods.partition:SliceGraph",
        "random": "mtpp_dsl.solvers.methods.genetic:Random",
        "brkga": "mtpp_dsl.solvers.methods.genetic:Brkga",
        "mla": "mtpp_dsl.solvers.methods.genetic:Mla",
        "mla-weighted": "mtpp_dsl.solvers.methods.genetic:MlaWeighted",
        "met": "mtpp_dsl.solvers.methods.list_schedules:Met",
        "greedy": "mtpp_dsl.solvers.methods.list_schedules:Greedy",
        "heft": "mtpp_dsl.solvers.methods.list_schedules:Heft",
        "cpop": "mtpp_dsl.solvers.methods.list_schedules:Cpop",
        "peft": "mtpp_dsl.solvers.methods.list_schedules:Peft",
        "etf": "mtpp_dsl.solvers.methods.list_schedules:Etf",
        "m-sct": "mtpp_dsl.solvers.methods.list_schedules:Sct",
        "getf": "mtpp_dsl.solvers.methods.list_schedules:Getf",
        "placeto": "mtpp_dsl.solvers.methods.learned:Placeto",
        "latency-search": "mtpp_dsl.solvers.methods.by_subgraphs:LatencySearch",
        "path-hull": "mtpp_dsl.solvers.methods.by_subgraphs:PathHull",
        "published-greedy": "mtpp_dsl.solvers.methods.by_subgraphs:PublishedGreedy",
        "dpl": "mtpp_dsl.solvers.methods.classical:Dpl",
        "single-device": "mtpp_dsl.solvers.methods.trivial:SingleDevice",
        "expert": "mtpp_dsl.solvers.methods.trivial:Expert",
        "local-search": "mtpp_dsl.solvers.methods.classical:LocalSearch",
        "pipedream": "mtpp_dsl.solvers.methods.classical:PipeDream",
        "scotch": "mtpp_dsl.solvers.methods.classical:Scotch",
    },
    BACKENDS: {
        "highs": "mtpp_dsl.solvers.backends.mip.highs:Highs",
        "scip": "mtpp_dsl.solvers.backends.mip.scip:Scip",
        "cbc": "mtpp_dsl.solvers.backends.mip.cbc:Cbc",
        "glpk": "mtpp_dsl.solvers.backends.mip.glpk:Glpk",
        "gurobi": "mtpp_dsl.solvers.backends.mip.gurobi:Gurobi",
    },
    ENGINES: {
        "cp-sat": "mtpp_dsl.solvers.methods.cp_sat:CpSat",
    },
    FORMATS: {
        "msr": "mtpp_dsl.exchange.formats.msr:Msr",
        "moirai": "mtpp_dsl.exchange.formats.moirai:MoiraiFormat",
        "model": "mtpp_dsl.exchange.formats.models:ModelJson",
        "onnx": "mtpp_dsl.exchange.framework_files:Onnx",
        "pt2": "mtpp_dsl.exchange.framework_files:Pt2",
        "gguf": "mtpp_dsl.exchange.framework_files:Gguf",
        "graph": "mtpp_dsl.exchange.formats.graph_json:GraphJson",
        "csv": "mtpp_dsl.exchange.formats.csv_pair:CsvPair",
        "dot": "mtpp_dsl.exchange.formats.dot:DotFile",
    },
    GENERATORS: {
        "chain": "mtpp_dsl.exchange.generators.basic:chain",
        "evoformer": "mtpp_dsl.exchange.generators.evoformer:evoformer",
        "gpt": "mtpp_dsl.exchange.generators.gpt:gpt",
        "inception": "mtpp_dsl.exchange.generators.inception:inception",
        "layered": "mtpp_dsl.exchange.generators.basic:layered",
        "regal": "mtpp_dsl.exchange.generators.basic:regal",
        "resnet": "mtpp_dsl.exchange.generators.resnet:resnet",
        "rwnn": "mtpp_dsl.exchange.generators.rwnn:rwnn",
        "swin": "mtpp_dsl.exchange.generators.swin:swin",
    },
    PROOFS: {
        "shares": "mtpp_dsl.solvers.proofs.shares:SharesProof",
        "cuts": "mtpp_dsl.solvers.proofs.cuts:Cuts",
        "configuration": "mtpp_dsl.solvers.proofs.configuration:ConfigurationProof",
        "chain": "mtpp_dsl.solvers.proofs.chain:ChainCertificate",
        "count": "mtpp_dsl.solvers.proofs.count:CountProof",
        "path-hull": "mtpp_dsl.solvers.proofs.hull:PathHullProof",
        "routes": "mtpp_dsl.solvers.proofs.routes:Routes",
        "windows": "mtpp_dsl.solvers.proofs.windows:Windows",
        "batches": "mtpp_dsl.solvers.proofs.batches:BatchProof",
        "ideals": "mtpp_dsl.solvers.proofs.lattice:IdealsProof",
        "halves": "mtpp_dsl.solvers.proofs.halves:HalvesProof",
        "series": "mtpp_dsl.solvers.proofs.series:SeriesProof",
        "anchors": "mtpp_dsl.solvers.proofs.anchors:AnchorsProof",
        "leaves": "mtpp_dsl.solvers.proofs.leaves:LeavesProof",
        "parts": "mtpp_dsl.solvers.proofs.parts:PartsProof",
    },
    EXECUTORS: {
        "local": "mtpp_dsl.core.executors.local:Local",
        "dask": "mtpp_dsl.core.executors.dask:Dask",
    },
    CONSTRAINTS: {},  # those of the language are no plug-ins: it has rules of its own for them
    TARGETS: {  # by every name that --for and --to take: two names may be of one class
        "vllm": "mtpp_dsl.runtimes.targets.layer_counts:VLlm",
        "sglang": "mtpp_dsl.runtimes.targets.layer_counts:SgLang",
        "tensorrt-llm": "mtpp_dsl.runtimes.targets.layer_counts:TensorRtLlm",
        "layers": "mtpp_dsl.runtimes.targets.layer_counts:Layers",
        "llama-cpp": "mtpp_dsl.runtimes.targets.llama_cpp:LlamaCpp",
        "megatron": "mtpp_dsl.runtimes.targets.megatron:Megatron",
        "torchtitan": "mtpp_dsl.runtimes.targets.torchtitan:TorchTitan",
        "deepspeed": "mtpp_dsl.runtimes.targets.deepspeed:DeepSpeed",
        "device-map": "mtpp_dsl.runtimes.targets.device_map:DeviceMap",
        "accelerate": "mtpp_dsl.runtimes.targets.device_map:DeviceMap",
        "transformers": "mtpp_dsl.runtimes.targets.device_map:DeviceMap",
        "torch-stages": "mtpp_dsl.runtimes.targets.torch_stages:TorchStages",
        "onnx-split": "mtpp_dsl.runtimes.targets.onnx_split:OnnxSplit",
        "csv": "mtpp_dsl.runtimes.targets.node_tables:Csv",
        "dot": "mtpp_dsl.runtimes.targets.node_tables:DotTarget",
    },
}

_NOUN = {
    FORMULATIONS: "formulation",
    METHODS: "method",
    BACKENDS: "solver",
    ENGINES: "solver",
    FORMATS: "format",
    GENERATORS: "generator",
    PROOFS: "kind of proof",
    CONSTRAINTS: "constraint",
    TARGETS: "target",
    EXECUTORS: "executor",
}


@cache
def available(group: str) -> dict[str, EntryPoint]:
    """Return every plug-in of *group* by name, built-ins first, without importing any.

    Raises:
        PluginError: two packages claim one name.

    >>> list(available(FORMATS))[0]
    'msr'
    """
    points = {name: EntryPoint(name, value, group) for name, value in BUILTIN[group].items()}
    for point in entry_points(group=group):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            raise PluginError(
                f"two plug-ins call themselves {_NOUN[group]} {point.name!r}: "
                f"{other.value} and {point.value}; uninstall or rename one"
            )
    return points


def load(group: str, name: str) -> Any:
    """Import the plug-in *name* of *group*.

    Raises:
        PluginError: no such plug-in (says what there is), or it cannot be imported (says why).
    """
    points = available(group)
    if name not in points:
        short = len(points) <= MAX_LISTED or group not in _LISTED
        listed = f"there are: {', '.join(points)}" if short else f"{_LISTED[group]} lists all {len(points)}"
        raise PluginError(f"there is no {_NOUN[group]} {name!r}{nearest(name, points)} ({listed})")
    try:
        return points[name].load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{_NOUN[group]} {name!r} ({points[name].value}) cannot be imported: {error}") from error


def built_in(name: str) -> Any:
    """Import ``module:object`` of our own: how the core reaches models and solvers without importing them."""
    return EntryPoint(name, name, "").load()


def is_built_in(plugin: object) -> bool:
    """Return whether *plugin* is an instance of a class in the table of built-ins, not of one derived from it.

    >>> is_built_in(load(FORMATS, "msr")())
    True
    >>> is_built_in(type("Mine", (load(FORMATS, "msr"),), {})())
    False
    """
    return _place(type(plugin)) in _built_in_places()


def derives_from(plugin: object) -> str | None:
    """Return the name of the built-in plug-in that the class of *plugin* is derived from, or None.

    >>> derives_from(type("Mine", (load(FORMATS, "msr"),), {})())
    'msr'
    """
    places = _built_in_places()
    return next((places[_place(base)] for base in type(plugin).__mro__[1:] if _place(base) in places), None)


def _place(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _built_in_places() -> dict[str, str]:
    return {place: name for group in BUILTIN.values() for name, place in group.items()}
