"""Record which tests run which lines of the files that mutants are made of, and how long each test takes.

A plug-in of pytest: ``pytest -p tests.tools.mutants.tracing``. It writes into the folder ``MTPP_TRACES``: lines as data
of ``coverage``, with the test as the context, and seconds of processor time (of the tests' children, too) as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

from tests.tools.mutants.places import traced_files

FOLDER = Path(os.environ["MTPP_TRACES"])
TRACED = [str(path) for path in traced_files()]
COVERAGE = Coverage(data_file=str(FOLDER / "lines"), data_suffix=True, config_file=False, include=TRACED)
COVERAGE.set_option("run:disable_warnings", ["no-data-collected"])  # of the process that hands out the tests
COVERAGE.start()  # here, as modules are imported before pytest is configured
SECONDS: dict[str, float] = {}


def pytest_configure() -> None:
    """Leave loops in these files plain: what is compiled runs no lines."""
    from mtpp_dsl.core.base.compiling import Kernel

    compiled = Kernel.compiled

    def plain(kernel: Kernel[..., Any], *arguments: Any) -> Any:
        function: Any = kernel.plain
        return function if function.__code__.co_filename in TRACED else compiled(kernel, *arguments)

    Kernel.compiled = plain  # type: ignore[method-assign,assignment]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Name the test in what is recorded, and take its time."""
    COVERAGE.switch_context(item.nodeid)
    began = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        SECONDS[item.nodeid] = sum(os.times()[:4]) - began
        COVERAGE.switch_context("")


def pytest_unconfigure() -> None:
    """Write what was recorded."""
    COVERAGE.stop()
    COVERAGE.save()
    (FOLDER / f"seconds-{os.getpid()}.json").write_text(json.dumps(SECONDS), encoding="utf-8")
