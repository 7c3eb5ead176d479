"""Who may import whom: at the top of a module, in a function, and for types alone."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from mtpp_dsl.core import registry
from tests.tree import ROOT, files, statements

MODULES = {name: path for path, name in files().items()}
ROOMS = {  # what each room may import of the others
    "core": set(),
    "checks": {"core"},
    "exchange": {"core"},
    "language": {"core", "exchange"},
    "solving": {"core", "exchange", "language", "checks"},
    "runtimes": {"core", "exchange"},
    "show": {"core", "language", "checks", "solving"},
    "editor": {"core", "exchange", "language"},
    "sweeps": {"core", "language", "checks", "solving", "runtimes", "show"},
    "cli": {"core", "exchange", "language", "checks", "solving", "runtimes", "show", "editor", "sweeps", ""},
}
FLOORS: dict[str, list[set[str]]] = {  # of each room, from the bottom up: each imports what is below it
    "core": [
        {"core.text.codes"},
        {"core.text", "core.constraints"},
        {"core.errors"},
        {"core.base", "core.registry"},
        {"core.problem"},
        {"core.plans"},
        {"core.views", "core.contracts"},
        {"core.executors"},
    ],
    "checks": [{"checks"}],
    "exchange": [
        {"exchange.library", "exchange.generators", "exchange.model"},
        {"exchange.formats", "exchange.importers"},
        {"exchange.importers.gguf", "exchange.importers.onnx", "exchange.importers.pt2"},
        {"exchange"},
    ],
    "language": [
        {"language.syntax"},
        {"language.values"},
        {"language.lowering"},
        {"language.words"},
        {"language"},
        {"language.builder"},
    ],
    "solving": [{"solving.plugins"}, {"solving.answers"}, {"solving"}, {"solving.drivers"}],
    "runtimes": [{"runtimes.execution"}, {"runtimes.profiling", "runtimes.targets"}],
    "show": [
        {"show.report"},
        {"show.page.layout", "show.explaining"},
        {"show.page", "show.pictures"},
        {"show", "show.notebook"},
    ],
    "editor": [{"editor.setup", "editor.server"}, {"editor.server.features"}, {"editor.server.connection"}],
    "sweeps": [{"sweeps.file"}, {"sweeps.store"}, {"sweeps.run", "sweeps.tables"}, {"sweeps.library"}],
    "cli": [{"cli"}, {"cli.bench"}],
}
PUBLIC = {"algebra", "constraints", "contracts", "errors", "executors", "formats", "problem", "registry", "schemas"}
PUBLIC |= {"testing"}
"""Modules that give users the names of others. Nothing of ours imports them."""


def inside(*rooms: str) -> set[str]:
    """Return the packages of these rooms."""
    return {name for room in rooms for floor in FLOORS.get(room, [{room}]) for name in floor}


def allowed() -> dict[str, set[str]]:
    """Return what each package of the rooms may import beside itself."""
    found = {}
    for room, others in ROOMS.items():
        below = inside(*others)
        for floor in FLOORS[room]:
            found.update({name: set(below) for name in floor})
            below |= floor
    return found


CORE = {
    **allowed(),
    **{name: inside(*ROOMS) for name in PUBLIC},
    "": inside(*(set(ROOMS) - {"cli"})),
    "__main__": {"cli"},
    "core": set(),
    "runtimes": set(),
    "editor": set(),
    "sweeps": set(),
}
DATA = {"core.base", "core.constraints", "core.errors", "core.plans", "core.problem", "core.text"}
BELOW_MODELS = DATA | {"core.contracts", "core.registry", "core.views"}
MODELS = {
    "models": set(),
    "models.facts": BELOW_MODELS,
    "models.blocks": BELOW_MODELS | {"models.facts"},
    "models.extract": BELOW_MODELS | {"models.facts"},
    "models.formulations": BELOW_MODELS | {"models.blocks", "models.extract", "models.facts"},
    "models.relaxations": BELOW_MODELS | {"models.blocks", "models.facts", "models.formulations"},
}
BELOW_SOLVERS = BELOW_MODELS | {"checks", "core.executors"}
RUNTIME = {"solvers.runtime", "solvers.runtime.portfolio"}
ALGORITHMS = {
    "solvers.algorithms",
    "solvers.algorithms.chains",
    "solvers.algorithms.frontier",
    "solvers.algorithms.homes",
    "solvers.algorithms.ideals",
    "solvers.algorithms.reach",
    "solvers.algorithms.slicing",
    "solvers.algorithms.stages",
    "solvers.algorithms.windows",
}
GROUND = BELOW_SOLVERS | RUNTIME | ALGORITHMS
BACKENDS = {"solvers.backends.cpsat", "solvers.backends.mip"}
SEARCHES = GROUND | BACKENDS | {"solvers.reductions"}
"""What every search and every bound may import."""
SOLVERS = {
    "solvers": set(),
    "solvers.proofs": DATA | {"checks", "core.contracts"},
    "solvers.runtime": BELOW_SOLVERS,
    "solvers.runtime.portfolio": BELOW_SOLVERS | {"solvers.runtime"},
    **dict.fromkeys(ALGORITHMS, BELOW_SOLVERS | RUNTIME),
    "solvers.algorithms.homes": BELOW_SOLVERS | RUNTIME | {"solvers.algorithms.chains", "solvers.algorithms.ideals"},
    "solvers.algorithms.reach": BELOW_SOLVERS | RUNTIME | {"solvers.algorithms"},
    "solvers.algorithms.stages": BELOW_SOLVERS | RUNTIME | {"solvers.algorithms.ideals"},
    "solvers.algorithms.windows": BELOW_SOLVERS | RUNTIME | {"solvers.algorithms"},
    "solvers.proving": GROUND | BACKENDS | {"solvers.proofs"},
    "solvers.reductions": GROUND,
    "solvers.backends": set(),
    **dict.fromkeys(BACKENDS, GROUND),
    "solvers.bounds": set(),
    "solvers.bounds.partition": SEARCHES,
    "solvers.bounds.configuration": SEARCHES | {"solvers.bounds.partition"},
    "solvers.bounds.schedule": SEARCHES,
    "solvers.partition": set(),
    "solvers.partition.annealing": SEARCHES,
    "solvers.partition.branching": SEARCHES,
    "solvers.partition.classical": SEARCHES,
    "solvers.partition.copies": SEARCHES,
    "solvers.partition.genetic": SEARCHES,
    "solvers.partition.ideals": SEARCHES,
    "solvers.partition.orders": SEARCHES,
    "solvers.partition.slicing": SEARCHES,
    "solvers.partition.weighted": SEARCHES | {"solvers.partition.annealing"},
    "solvers.schedule": set(),
    "solvers.schedule.state": SEARCHES,
    "solvers.schedule.modules": SEARCHES,
    "solvers.schedule.list": SEARCHES | {"solvers.schedule.state"},
    "solvers.schedule.learning": SEARCHES | {"solvers.schedule.list"},
    "solvers.schedule.search": SEARCHES | {"solvers.schedule.list", "solvers.schedule.state"},
    "solvers.schedule.lns": SEARCHES,
    "solvers.schedule.decomposition": SEARCHES | {"solvers.schedule.list", "solvers.schedule.modules"},
    "solvers.schedule.lifted": SEARCHES
    | {"solvers.schedule.decomposition", "solvers.schedule.modules", "solvers.schedule.search"},
    "solvers.schedule.splitting": SEARCHES
    | {"solvers.schedule.lns", "solvers.schedule.modules", "solvers.schedule.search"},
    "solvers.latency": SEARCHES,
}
for methods in ("solvers.methods", "solvers.methods.mip", "solvers.methods.auto"):  # each may import those before it
    SOLVERS[methods] = SEARCHES | set(SOLVERS)
MAY: dict[str, set[str]] = {**CORE, **MODELS, **SOLVERS, "grammars": set()}
"""What each package may import beside itself; a module of the core that is a single file stands as a package."""
LIBRARIES = {"mtpp_dsl.core.base.lazy", "mtpp_dsl.solvers.runtime.lazy_highs"}
CP_SAT = {
    f"mtpp_dsl.solvers.backends.cpsat.{module}"
    for module in ("batch_model", "sample_model", "split_model", "cpsat_worker")
}
SOLVER_PACKAGES = {"highspy", "pyscipopt", "gurobipy", "ortools", "cplex", "xpress"}


@cache
def parsed(path: Path) -> ast.Module:
    """Return a file as a tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Yield what a file imports, wherever in it."""
    return imported(statements(parsed(path)))


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what import statements import; ``from package import module`` yields the module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            module = node.module or ""
            inner = [f"{module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else module for name in inner)


@cache
def all_imports() -> dict[str, list[str]]:
    """Return what every module imports."""
    return {name: sorted(set(imports(path))) for name, path in MODULES.items()}


def libraries(name: str) -> set[str]:
    """Return the first parts of the names that a module imports."""
    return {other.split(".")[0] for other in all_imports()[name]}


def package(name: str) -> str:
    """Return the package of a module, less ``mtpp_dsl.``: "" for mtpp_dsl itself, and the module of a single file."""
    path = MODULES[name]
    single = name.count(".") == 1 or (name.startswith("mtpp_dsl.core.") and name.count(".") == 2)
    whole = name if path.name == "__init__.py" or single else name.rpartition(".")[0]
    return whole.partition(".")[2]


def ours(name: str) -> set[str]:
    """Return the packages of ours that a module imports, beside its own."""
    return {package(other) for other in all_imports()[name] if other in MODULES} - {package(name)}


def of(*parts: str) -> list[str]:
    """Return the modules of these packages, and of those within them."""
    return [name for name in MODULES if any(f"{package(name)}.".startswith(f"{part}.") for part in parts)]


def test_packages_import_what_they_may() -> None:
    """Each package imports only what the floor plan allows it; a new one is given its place in it."""
    for name in MODULES:
        assert ours(name) <= MAY[package(name)], name


def test_packages_say_what_they_import() -> None:
    """The docstring of a package says what belongs in it, and what it may import."""
    for path in MODULES.values():
        if path.name == "__init__.py" and path.parent.name != "mtpp_dsl":  # the latter is what a user reads first
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            assert text is not None, path
            assert "import" in text, path
            assert len(text.splitlines()) <= 8, path


def test_floor_plan_has_no_cycle() -> None:
    """No two packages may import each other, not by way of others either."""
    list(TopologicalSorter({where: others - {where} for where, others in MAY.items()}).static_order())


def test_rooms_of_solvers_are_apart() -> None:
    """Bounds, searches for splits and for schedules, and latencies import nothing of each other."""
    rooms = ("bounds", "partition", "schedule", "latency")
    for where, others in MAY.items():
        here = [room for room in rooms if f"{where}.".startswith(f"solvers.{room}.")]
        there = [room for room in rooms if any(f"{other}.".startswith(f"solvers.{room}.") for other in others)]
        assert not here or there in ([], here)


def test_core_reaches_solver_packages_by_name_only() -> None:
    """The core and the command line import neither Pyomo nor a solver: the registry does, when asked."""
    core = {name for name in MODULES if not package(name).startswith(("models", "solvers"))} - LIBRARIES
    assert [name for name in sorted(core) if ({"pyomo"} | SOLVER_PACKAGES) & libraries(name)] == []


def test_models_import_no_solver() -> None:
    """Models are built from the core and Pyomo; no solver is in sight."""
    assert [name for name in of("models") if SOLVER_PACKAGES & libraries(name)] == []


def test_solver_packages_stay_in_back_ends() -> None:
    """Solvers take any formulation by contract: Pyomo appears in back ends and MIP methods alone."""
    others = [name for name in of("solvers") if package(name) != "solvers.backends.mip" and name not in LIBRARIES]
    assert [name for name in others if name not in CP_SAT and SOLVER_PACKAGES & libraries(name)] == []
    others = [name for name in others if package(name) != "solvers.methods.mip"]
    assert [name for name in others if "pyomo" in libraries(name)] == []
    assert [name for name in others if "pyo" in MODULES[name].read_text(encoding="utf-8").split()] == []


def test_ortools_stays_in_its_process() -> None:
    """What imports ortools, which cannot be in one process with highspy, is imported by CP-SAT's own process alone."""
    assert {name for name in MODULES if "ortools" in libraries(name)} == CP_SAT
    assert {name for name in MODULES if CP_SAT & set(all_imports()[name])} <= CP_SAT


def test_no_modules_import_each_other() -> None:
    """No ring of imports: in functions, for types alone, and of the packages around what is imported included."""
    around = {name: set(itertools.accumulate(name.split(".")[:-1], "{}.{}".format)) - {"mtpp_dsl"} for name in MODULES}
    graph = {name: ({*all_imports()[name]} | around[name]) & {*MODULES} - {name} for name in MODULES}
    list(TopologicalSorter(graph).static_order())


UPWARDS = {  # what a package reaches by name alone, though it is above it or beside it
    "core.problem": {"language.builder"},
    "core.plans": {"show", "show.notebook", "show.pictures", "show.report", "solving.answers"},
    "language.syntax": {"grammars"},
    "editor.setup": {""},
    "solving": {"solving.drivers", "solvers.methods.mip", "solvers.runtime.portfolio", "solvers.schedule.list"},
    "solving.answers": {"solvers.proofs", "solvers.proving"},
    "solving.drivers": {"solvers.algorithms"},
    "solving.plugins": {"", "solvers.methods.mip"},
    "show.explaining": {"solvers.schedule.list"},
    "sweeps.file": {"solvers.reductions"},
    "cli": {"", "cli.bench", "show", "solvers.methods", "solvers.reductions", "solvers.schedule.learning"},
    "solvers.algorithms": {"solvers.schedule.list"},
    "solvers.methods": {"solvers.methods.mip"},
}


def test_imports_by_name() -> None:
    """What is imported by a string, for :func:`late`, a plug-in or a process, is below, or listed above."""
    for name in sorted(MODULES.keys() - {"mtpp_dsl.core.registry"}):
        where = package(name)
        assert {package(other) for other in named(MODULES[name])} - {where} <= MAY[where] | UPWARDS.get(where, set()), (
            name
        )


def test_registry_names_what_is_there() -> None:
    """Each built-in plug-in is in a module that is there."""
    for table in registry.BUILTIN.values():
        assert {value.partition(":")[0] for value in table.values()} <= {*MODULES}


def named(path: Path) -> Iterator[str]:
    """Yield the modules of ours that the strings of a file name, with or without an object in them."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module = node.value.partition(":")[0]
            if module in MODULES:
                yield module


def test_core_starts_light() -> None:
    """Reading a spec and checking a plan loads neither Pyomo, a solver, numba, scipy nor networkx."""
    names = of(*(part for part in CORE if part not in ("", "__main__", "cli")))
    code = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        "heavy = {'pyomo', 'highspy', 'numba', 'scipy', 'networkx', 'pyscipopt', 'gurobipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "command", [["solve", "quickstart"], ["solve", "unequal"], ["check", "quickstart"], ["methods"]]
)
def test_commands_start_light(command: list[str]) -> None:
    """What needs no MIP loads no Pyomo, and what needs it none of what Pyomo does not use of scipy."""
    name, *example = command
    specs = [str(ROOT / "examples" / f"{spec}.mtpp") for spec in example]
    code = (
        "import sys\nimport mtpp_dsl.cli\nfrom mtpp_dsl.cli.run import run\n"
        f"assert run({[name, *specs]!r}) == 0\n"
        "heavy = {'pyomo.environ', 'scipy.stats._stats_py', 'ortools', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pyomo_loads_no_statistics() -> None:
    """Pyomo's import of scipy.stats, which takes longer than its own, is put off until somebody needs it."""
    code = (
        "import sys\nimport scipy.sparse\nfrom mtpp_dsl.core.base.lazy import pyo\npyo.ConcreteModel()\n"
        "assert 'scipy.stats._stats_py' not in sys.modules\n"
        "from scipy.stats import qmc\nimport scipy.stats\nassert scipy.stats.norm.cdf(0.0) == 0.5\n"
        "assert sys.modules['scipy.stats'] is scipy.stats and qmc.Halton"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
