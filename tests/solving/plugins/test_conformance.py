"""Every plug-in in the registry, ours or installed, keeps to its contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core import registry
from mtpp_dsl.core.base import compiling
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.registry import BACKENDS, FORMATS, FORMULATIONS, GENERATORS, METHODS
from mtpp_dsl.exchange.formats.workload import Workload
from mtpp_dsl.exchange.model.model_json import text_of
from mtpp_dsl.solvers.runtime.multi_start import MultiStart
from mtpp_dsl.solvers.schedule.lifted import module_row
from mtpp_dsl.solvers.schedule.lns import neighbourhoods
from mtpp_dsl.solving import testing
from tests.amount import stride
from tests.exchange.formats.test_formats import MOIRAI, MSR
from tests.small_models import llama
from tests.tools.golden.__main__ import OPTIONS

LONG = (
    "annealing", "auto", "configuration", "ea", "lifted", "lns", "milp-split", "piecewise", "placeto", "split-bound",
)  # fmt: skip
"""Methods that take long for each sample: tried on one of 48, others on one of 12; in make test-all on all."""
COMPILED = (
    "anchor", "annealing", "branch-and-bound", "branching", "configuration", "copies", "decomposition", "ea", "ideals",
    "interval", "latency-search", "lifted", "local-search", "milp-split", "orders", "random", "series", "slicegraph",
)  # fmt: skip
"""Methods that have, among them, all loops that are compiled."""
PATIENT: dict[str, dict[str, Any]] = {"placeto": {"patience": 5}, "piecewise": {"patience": 1}}
"""What makes further methods end soon in make test."""
SAMPLES = {"msr": MSR, "moirai": MOIRAI, "model": json.loads(text_of(llama(1)))}


def names(group: str) -> list[str]:
    return list(registry.available(group))


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have random searches give up soon, except in long runs: what they must keep to is not how good they are."""
    if stride(2) == 1:
        return
    monkeypatch.setattr(neighbourhoods, "PATIENCE", 10)
    monkeypatch.setattr(module_row, "PATIENCE", 4)
    steps = MultiStart._steps
    monkeypatch.setattr(MultiStart, "_steps", lambda rounds, *given: min(200, steps(rounds, *given)))


def ending() -> float:
    """Return after how many seconds a search has to be ended by its limit."""
    return 1.0 if stride(2) == 1 else 0.3


@pytest.mark.parametrize("name", names(FORMULATIONS))
def test_formulations(name: str) -> None:
    """A formulation's plans are plans, its bounds bounds, and an exact one is exact."""
    formulation = registry.load(FORMULATIONS, name)()
    testing.check_formulation(formulation, every=stride(9), every_claim=stride(96), seconds=ending())


@pytest.mark.parametrize("name", names(METHODS))
@pytest.mark.usefixtures("_impatient")
def test_methods(name: str) -> None:
    """A method's plans are plans and its bounds bounds; it stops when it should. In make test with little patience."""
    options = {} if stride(2) == 1 else {**OPTIONS, **PATIENT}.get(name, {})
    every, every_claim = (stride(48), stride(400)) if name in LONG else (stride(12), stride(120))
    method = registry.load(METHODS, name)(**options)
    testing.check_method(method, every=every, every_claim=every_claim, seconds=ending())
    if hasattr(method, "available") and not method.available().ok:
        pytest.skip(f"{name} is not installed ({method.available().install}): only its messages were checked")


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.usefixtures("_impatient")
def test_methods_as_machine_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where every loop is compiled, which in long runs they are where it pays."""
    monkeypatch.setattr(compiling, "_always", True)
    method = registry.load(METHODS, name)(**{**OPTIONS, **PATIENT}.get(name, {}))
    testing.check_method(method, every=stride(48), every_claim=stride(400), seconds=ending())


@pytest.mark.parametrize(
    "name", [name if name == "highs" else pytest.param(name, marks=pytest.mark.long) for name in names(BACKENDS)]
)
def test_backends(name: str) -> None:
    """A solver's incumbents and bounds are right; one that is not here says how to install it."""
    backend = registry.load(BACKENDS, name)()
    testing.check_backend(backend)
    if not backend.available().ok:
        pytest.skip(f"{name} is not installed ({backend.available().install}): only its messages were checked")


@pytest.mark.parametrize("name", names(FORMATS))
def test_formats(name: str, tmp_path: Path) -> None:
    """A format reads its sample, and refuses what is none."""
    plugin = registry.load(FORMATS, name)()
    sample = tmp_path / f"sample.nodes{plugin.suffixes[0]}"
    if name in SAMPLES:
        sample.write_text(json.dumps(SAMPLES[name]))
    elif hasattr(plugin, "write"):
        plugin.write(Workload(Graph.create("ab", [(0, 1)], work=1.5)), sample)
    else:
        pytest.skip("its sample is in the tests of its importer")
    testing.check_format(registry.load(FORMATS, name)(), [sample])


@pytest.mark.parametrize("name", names(GENERATORS))
def test_generators(name: str) -> None:
    """A generator makes the same graph of the same parameters."""
    testing.check_generator(name, registry.load(GENERATORS, name))
