"""Fail early, with the remedy, when the project is not installed; how much is tested; workloads."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import import_module
from os import environ
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.amount import choose
from tests.browser import browser, open_page  # noqa: F401  fixtures
from tests.turns import has_turn, seconds_of

try:
    import mtpp_dsl.core.base.compiling
    import mtpp_dsl.grammars
    import mtpp_dsl.models
    import mtpp_dsl.solvers
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
    parser.addoption(
        "--turn",
        type=lambda text: int(text, 16),
        metavar="COMMIT",
        help="of tests that take long, try those of this turn, such as a commit's hash (tests/turns.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say how much is tested before tests are collected; have hypothesis not read all of our code for constants.

    It would try numbers and words that stand there, and takes a third of the time in which tests are collected.
    """
    choose(config.getoption("amount"))
    with suppress(ImportError):  # it is no public name, and may be gone
        providers: Any = import_module("hypothesis.internal.conjecture.providers")
        providers.is_local_module_file = lambda path: False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the amount of testing does not ask for, scale random examples, and put long files first."""
    amount, turn = config.getoption("amount"), config.getoption("turn")
    cases: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        number = cases[function]
        cases[function] += 1
        few = amount == "quick" and (number >= QUICK_CASES or seconds_of(item.nodeid) > 0)
        long = amount != "all" and item.get_closest_marker("long") is not None
        sampled = item.get_closest_marker("sampled") if amount != "all" else None
        skipped = sampled is not None and number % sampled.args[0] != 0
        later = turn is not None and not has_turn(item.nodeid, turn)
        (left if few or long or skipped or later else kept).append(item)
    config.hook.pytest_deselected(items=left)
    files: Counter[Path] = Counter()
    for item in kept:
        files[item.path] += seconds_of(item.nodeid)
    items[:] = sorted(kept, key=lambda item: -files[item.path])  # that no process is left alone with a long one
    scaled: set[int] = set()
    for item in items:
        test = getattr(item, "obj", None)
        if is_hypothesis_test(test) and id(test) not in scaled:
            scaled.add(id(test))
            _scale(test, EXAMPLES[amount])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Import the packages that a test needs, or skip it: to import them takes seconds, and not every process has to."""
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
    """Have the collector of garbage run less often, and pass over modules and tests.

    A loop is compiled when it has run twice as long as that takes, over all tests of a process, and not earlier: the
    problems of most are small, and to compile all loops takes minutes.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    mtpp_dsl.core.base.compiling.LONGER = 0.5


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
