"""Who may import whom: at the top of a module, in a function, and for types alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.tree import ROOT, files

MODULES = {name: path for path, name in files().items()}
DATA = {
    "batches",
    "batching",
    "constraints",
    "contracts",
    "errors",
    "evaluation",
    "files",
    "from_networkx",
    "graph",
    "limits",
    "near_units",
    "pickling",
    "plan",
    "preparation",
    "problem",
    "replicas",
    "replication",
    "result",
    "schedule",
    "scopes",
    "soundness",
    "source",
    "split",
    "subgraphs",
    "symmetry",
    "together",
    "traits",
    "transfers",
    "units",
    "visible",
    "writing",
    "unread",
}
BELOW = {  # what a part of the core may import beside the data and itself
    "registry": set(),
    "batch_check": {"schedule_check"},
    "schedule_check": set(),
    "subgraph_check": set(),
    "verification": {"batch_check", "schedule_check", "subgraph_check"},
    "infeasible": {"verification"},
    "answers": {"batch_check", "report", "schedule_check", "subgraph_check", "verification"},
    "lazy": set(),
    "report": {"registry", "verification"},
    "formats": {"registry"},
    "generators": {"registry"},
    "brute_force": {"batch_check", "schedule_check", "verification"},
    "samples": {"brute_force", "generators", "verification"},
    "supervision": set(),
    "testing": {"registry", "formats", "generators", "own_optimum", "samples", "verification"},
    "own_optimum": {"registry", "brute_force", "samples", "verification"},
    "language": {"registry", "formats", "generators"},
    "honoured": {"registry"},
}
TOP = {"", "__main__", "api", "builder", "checkpoint", "cli"}  # may import all of the core; nothing below imports them
CP_SAT = {f"mtpp_dsl.solvers.backends.cpsat.{module}" for module in ("batch_model", "model", "worker")}
SOLVER_PACKAGES = {"highspy", "pyscipopt", "gurobipy", "ortools", "cplex", "xpress"}


def at_once(path: Path) -> set[str]:
    """Return our modules that a file imports when it is itself imported."""
    return {name for name in imported(ast.parse(path.read_text(encoding="utf-8")).body) if name in MODULES}


def imports(path: Path) -> Iterator[str]:
    """Yield what a file imports, wherever in it."""
    return imported(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


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


IMPORTS = {name: sorted(set(imports(path))) for name, path in MODULES.items()}


def part(name: str) -> str:
    """Return the part of mtpp_dsl a module belongs to, "" for mtpp_dsl itself."""
    return name.split(".")[1] if "." in name else ""


def ours(name: str) -> list[str]:
    """Return the parts of mtpp_dsl that a module imports."""
    return [part(other) for other in IMPORTS[name] if other.split(".")[0] == "mtpp_dsl"]


def of(*parts: str) -> list[str]:
    return [name for name in MODULES if part(name) in parts]


@pytest.mark.parametrize("name", of(*DATA))
def test_data_imports_data(name: str) -> None:
    """Data and contracts know nothing of the language, of plug-ins or of reports."""
    assert set(ours(name)) <= DATA


@pytest.mark.parametrize("name", of(*BELOW))
def test_core_imports_downward(name: str) -> None:
    """Each part of the core imports only what stands below it."""
    assert set(ours(name)) <= DATA | BELOW[part(name)] | {part(name)}


@pytest.mark.parametrize("name", [name for name in MODULES if part(name) not in ("models", "solvers")])
def test_core_reaches_models_and_solvers_by_name_only(name: str) -> None:
    """The core and the command line import no model, no solver, no Pyomo: the registry does, when asked."""
    assert not {"models", "solvers", "lazy"} & (set(ours(name)) - {part(name)})
    packages = SOLVER_PACKAGES if name == "mtpp_dsl.base.lazy" else {"pyomo"} | SOLVER_PACKAGES
    assert not packages & {other.split(".")[0] for other in IMPORTS[name]}


@pytest.mark.parametrize("name", of("models"))
def test_models_import_no_solver(name: str) -> None:
    """Models are built from the core and Pyomo; no solver is in sight."""
    assert set(ours(name)) <= DATA | {"models", "registry", "lazy"}
    assert not SOLVER_PACKAGES & {other.split(".")[0] for other in IMPORTS[name]}


@pytest.mark.parametrize("name", of("solvers"))
def test_solvers_import_no_model(name: str) -> None:
    """Solvers take any formulation by contract; Pyomo and MIP packages appear in solvers/mip alone."""
    assert set(ours(name)) <= DATA | {"solvers", "registry", "verification", "infeasible", "lazy"}
    if not name.startswith("mtpp_dsl.solvers.backends.mip") and name not in CP_SAT:
        assert "pyo" not in MODULES[name].read_text(encoding="utf-8").split()
        assert not ({"pyomo"} | SOLVER_PACKAGES) & {other.split(".")[0] for other in IMPORTS[name]}


def test_ortools_stays_in_its_process() -> None:
    """What imports ortools, which cannot be in one process with highspy, is imported by CP-SAT's own process alone."""
    assert {name for name in MODULES if any(other.split(".")[0] == "ortools" for other in IMPORTS[name])} == CP_SAT
    assert {name for name in MODULES if CP_SAT & set(IMPORTS[name])} <= CP_SAT


def test_every_part_has_a_layer() -> None:
    """A new top-level module of mtpp_dsl is given its place here."""
    assert {part(name) for name in MODULES} <= DATA | set(BELOW) | TOP | {"grammars", "models", "solvers"}


def test_modules_do_not_need_each_other() -> None:
    """No two modules wait for each other when they are imported."""
    graph = {name: {other for other in at_once(path) if other != name} for name, path in MODULES.items()}
    list(TopologicalSorter(graph).static_order())


def test_core_starts_light() -> None:
    """Reading a spec and checking a plan loads neither Pyomo, a solver, numba, scipy nor networkx."""
    names = of(*DATA, *BELOW)
    code = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        "heavy = {'pyomo', 'highspy', 'numba', 'scipy', 'networkx', 'pyscipopt', 'gurobipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
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
        "import sys\nimport scipy.sparse\nfrom mtpp_dsl.base.lazy import pyo\npyo.ConcreteModel()\n"
        "assert 'scipy.stats._stats_py' not in sys.modules\n"
        "from scipy.stats import qmc\nimport scipy.stats\nassert scipy.stats.norm.cdf(0.0) == 0.5\n"
        "assert sys.modules['scipy.stats'] is scipy.stats and qmc.Halton"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
