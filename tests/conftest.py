"""Fail early, with the remedy, when the project is not installed; how much is tested; workloads."""

from __future__ import annotations

import gc
from collections import Counter
from functools import cache
from os import environ
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.amount import choose, stride
from tests.browser import browser, open_page  # noqa: F401  fixtures

try:
    import mtpp_dsl.grammars
    import mtpp_dsl.models
    import mtpp_dsl.solvers  # noqa: F401
    from mtpp_dsl.core.base.compiling import KERNELS
except ModuleNotFoundError as error:
    pytest.exit(
        f"{error}. Install the project first (make install, or pip install -e .): the installation maps models/, "
        "solvers/ and grammars/ to mtpp_dsl.*; if it is installed as a wheel, use `pytest`, not `python -m pytest`",
        returncode=4,
    )

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = {"quick": 0.1, "usual": 0.12, "all": 10.0}
"""By the amount of testing, how many random examples there are for each that a test is written with."""
QUICK_CASES = 1
"""Of a test with many parameters, quick runs try so many."""
LONGEST = (
    "test_conformance", "test_custom_constraints", "test_latency", "test_phases", "test_pictures", "test_docs",
    "test_cpsat_batches", "test_browser", "test_loop", "test_random_specs", "test_signals", "test_site",
    "test_portfolio", "test_layers", "test_torch_run", "test_batched_heuristics", "test_hf", "test_symmetry",
    "test_installed", "test_auto_schedule", "test_mip", "test_packaging", "test_auto", "test_ideals",
    "test_reductions", "test_answers", "test_server", "test_annealing", "test_front", "test_dask", "test_cli",
    "test_torch_model", "test_branching", "test_session", "test_name_requests", "test_cpsat",
    "test_figures_browser", "test_bench",
)  # fmt: skip
"""Files that take longest begin first, so that no process is left alone with one of them."""

settings.register_profile(
    "default", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the amount of testing be chosen."""
    parser.addoption(
        "--amount",
        choices=EXAMPLES,
        default="usual",
        help="quick: one case of each fast test (make quick); all: the long ones too (make test-all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say how much is tested before tests are collected."""
    choose(config.getoption("amount"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the amount of testing does not ask for, scale random examples, and put long files first."""
    amount = config.getoption("amount")
    cases: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        number = cases[function]
        cases[function] += 1
        few = amount == "quick" and (item.get_closest_marker("slow") is not None or number >= QUICK_CASES)
        long = amount != "all" and item.get_closest_marker("long") is not None
        sampled = item.get_closest_marker("sampled") if amount != "all" else None
        skipped = sampled is not None and number % sampled.args[0] != 0
        (left if few or long or skipped else kept).append(item)
    config.hook.pytest_deselected(items=left)
    place = {name: i for i, name in enumerate(LONGEST)}
    items[:] = sorted(kept, key=lambda item: place.get(item.path.stem, len(place)))
    scaled: set[int] = set()
    for item in items:
        test = getattr(item, "obj", None)
        if is_hypothesis_test(test) and id(test) not in scaled:
            scaled.add(id(test))
            _scale(test, EXAMPLES[amount])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Import the packages that a test needs, or skip it: to import them takes seconds, and not every process has to.

    What ran as plain Python in the tests before does not count when a loop is compiled, except in long runs: else the
    small problems of thousands of tests would compile everything.
    """
    if stride(2) > 1:
        for kernel in KERNELS:
            kernel.forget()
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            pytest.importorskip(name, reason=f"{name} is not installed")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, and in one all files that need torch, which takes long to import."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "torch" if 'pytest.mark.needs("torch"' in _text(ROOT / file) else file

    return Together(config, log)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def pytest_collection_finish() -> None:
    """Have the collector of garbage run less often, and pass over modules and tests; compile later than for users."""
    from mtpp_dsl.core.base import compiling

    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    compiling.LONGER = 1.0  # of many small problems in one process, not all runs are long if one is


def _scale(test: object, by: float) -> None:
    """Change how many random examples a test tries."""
    chosen = getattr(test, "_hypothesis_internal_use_settings", settings.default)
    many = max(1, round(by * chosen.max_examples))
    test._hypothesis_internal_use_settings = settings(chosen, max_examples=many)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of published workloads; skips, visibly, where it is absent."""
    folder = Path(environ.get("MTPP_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no workloads at {folder} (set MTPP_DATA)")
    return folder


@pytest.fixture(scope="session")
def specs(data: Path) -> Path:
    """Return the folder of the acceptance specs, beside the workloads."""
    folder = data.parent / "specs"
    if not folder.is_dir():
        pytest.skip(f"no acceptance specs at {folder}")
    return folder
