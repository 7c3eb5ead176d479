"""Run the tests of mutants, each in a process forked from one that has collected all tests and imported what they need.

The function that a mutant changes gets other code in place; a mutant of what runs at import gets a process in which its
module is made of the changed text. Tests that start processes of their own do not see the mutant there.
"""

from __future__ import annotations

import ast
import gc
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from itertools import islice, pairwise
from math import ceil
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

from tests.tools.mutants.changes import Mutant, changed_tree
from tests.tree import ROOT, files

__all__ = ["BROKEN", "KILLED", "SURVIVED", "TIMED_OUT", "Trial", "changed_functions", "functions_by_file", "try_all"]

KILLED, SURVIVED, TIMED_OUT, BROKEN = "killed", "survived", "timed out", "not put in"
VERDICTS = {0: SURVIVED, 1: KILLED, -signal.SIGXCPU: TIMED_OUT}
"""By the exit status of the process; any other says that the fault could not be put in."""
OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:capture", "--amount=usual")
FIRST = (4, 32)
"""Of a fault at import, so many tests are collected and run before the others: they notice most faults."""
PATIENCE, FACTOR = 5.0, 3.0
"""Seconds of processor time, and times what its tests take without it, that a mutant may take; else it never ends."""
WAITING = 20.0
"""Times as long on the clock a mutant may wait for something, on a busy machine, too."""

FUTURE = annotations.compiler_flag
"""For the code of a part of a file, which does not begin with the line that all files have."""

Trial = tuple[Mutant, Sequence[str], float]
"""A mutant, its tests in the order in which they are run (the first that fails ends the run), and the seconds that
these take without the fault."""


def try_all(trials: Sequence[Trial], jobs: int, report: Callable[[Mutant, str], None]) -> None:
    """Try mutants in processes side by side; report what the tests say of each as soon as they say it.

    Raises:
        RuntimeError: the tests cannot be collected.
    """
    names = sorted({test.partition("::")[0] for _, tests, _ in trials for test in tests})
    status = pytest.main([*OPTIONS, *names], plugins=[_Trials(trials, jobs, report)])
    if status:
        raise RuntimeError(f"tests cannot be collected: pytest ends with {status}")


class _Trials:
    """Try mutants in place of the loop over the tests that pytest collected."""

    def __init__(self, trials: Sequence[Trial], jobs: int, report: Callable[[Mutant, str], None]) -> None:
        self._trials, self._jobs, self._report = trials, jobs, report
        self._items: dict[str, pytest.Item] = {}
        self._functions: dict[str, list[FunctionType]] = {}
        self._in_child = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork a process for each mutant."""
        self._items = {item.nodeid: item for item in session.items}
        self._functions = functions_by_file({mutant.path for mutant, _, _ in self._trials})
        for mutant, verdict in self._verdicts(self._trials):
            self._report(mutant, verdict)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End the process of a mutant at the first test that fails."""
        if report.failed and self._in_child:
            os._exit(1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str] | None:
        """Print nothing for a test."""
        return "", "", ""

    def _verdicts(self, trials: Iterable[Trial]) -> Iterator[tuple[Mutant, str]]:
        waiting, running = iter(trials), dict[int, tuple[Mutant, float]]()
        while True:
            for mutant, tests, seconds in islice(waiting, self._jobs - len(running)):
                child = os.fork()
                if child == 0:
                    self._run(mutant, tests, PATIENCE + FACTOR * seconds)
                running[child] = mutant, time.monotonic() + WAITING * (PATIENCE + FACTOR * seconds)
            if not running:
                return
            time.sleep(0.02)
            for child, (mutant, end) in [*running.items()]:
                ended, status = os.waitpid(child, os.WNOHANG)
                if not ended and time.monotonic() > end:
                    os.killpg(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                if ended or time.monotonic() > end:
                    del running[child]
                    yield mutant, VERDICTS.get(os.waitstatus_to_exitcode(status), BROKEN) if ended else TIMED_OUT

    def _run(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> None:
        """Run the tests with the fault, for so much processor time; end the process with 0 if none of them fails."""
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(seconds), ceil(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it ends without a file of its memory
        status = 2
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(sink, stream)
            with tempfile.TemporaryDirectory() as cache:
                if "Kernel(" in (ROOT / mutant.path).read_text(encoding="utf-8"):
                    _keep_compiled_code_in(cache)
                status = self._run_at_import(mutant, tests) if mutant.at_import else self._run_inside(mutant, tests)
        finally:
            os._exit(status)

    def _run_inside(self, mutant: Mutant, tests: Sequence[str]) -> int:
        """Run tests that have been collected, after the function is changed."""
        for function, code in changed_functions(mutant, self._functions[mutant.path]):
            function.__code__ = code
        self._in_child = True
        items = [self._items[test] for test in tests if test in self._items]
        for item, following in pairwise([*items, None]):
            assert item is not None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return 0

    def _run_at_import(self, mutant: Mutant, tests: Sequence[str]) -> int:
        """Run tests that are collected anew, as they have to import the changed module."""
        path = ROOT / mutant.path
        _Changed(files()[path], path, _changed_code(mutant)).import_anew()
        present = [test for test in tests if test in self._items]
        for first, last in pairwise((0, *FIRST, len(present))):
            if present[first:last] and pytest.main([*OPTIONS, *present[first:last]]):
                return 1
        return 0


def _keep_compiled_code_in(folder: str) -> None:
    """Have numba neither read nor write the compiled code of what is tested: it does not see changed numbers."""
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder  # type: ignore[attr-defined]


def functions_by_file(paths: set[str]) -> dict[str, list[FunctionType]]:
    """Return the functions that are there of these files, paths from the root of the checkout."""
    modules = files()
    for path in sorted(paths):
        import_module(modules[ROOT / path])  # what tests import only as they run is changed, too
    gc.unfreeze()  # what the tests' collection froze is not among the objects below
    functions: dict[str, list[FunctionType]] = {path: [] for path in paths}
    names = {str(ROOT / path): path for path in paths}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename in names:
            functions[names[function.__code__.co_filename]].append(function)
    gc.freeze()
    return functions


def changed_functions(mutant: Mutant, functions: Sequence[FunctionType]) -> list[tuple[FunctionType, CodeType]]:
    """Return which of the functions of its file a mutant changes, each with its code with the fault.

    Raises:
        LookupError: the function is not there.
    """
    code = _changed_code(mutant, all_of_it=False)
    changed = {(part.co_qualname, part.co_firstlineno): part for part in _functions(code)}
    result = []
    count = 0
    for function in functions:
        part = changed.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if part is not None and function.__qualname__ != "<lambda>":
            count += f"{mutant.within}.".startswith(f"{function.__code__.co_qualname}.")
            result.append((function, part))
    if not count:
        raise LookupError(f"{mutant.within} is no function of {mutant.path}")
    return result


def _changed_code(mutant: Mutant, *, all_of_it: bool = True) -> CodeType:
    """Return the code of the file with the fault; or, not *all_of_it*, of the function or class alone that has it."""
    with changed_tree(mutant) as tree:
        body = [part for part in tree.body if all_of_it or part.lineno <= mutant.line <= (part.end_lineno or 0)]
        module = ast.Module(body, type_ignores=[])
        return compile(module, str(ROOT / mutant.path), "exec", FUTURE, dont_inherit=True)


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of all functions in a module; what is inside a function changes with it."""
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield value
            yield from _functions(value)


class _Changed(MetaPathFinder):
    """Import one module of changed code, and all of ours that were imported before anew."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def import_anew(self) -> None:
        """Forget our modules and those of the tests, so that the changed one is imported with all that use it."""
        for name in [name for name in sys.modules if name.partition(".")[0] in ("mtpp_dsl", "tests")]:
            if not name.startswith("tests.tools.mutants"):
                del sys.modules[name]
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """Find the changed module alone."""
        return spec_from_file_location(fullname, self._path, loader=self) if fullname == self._name else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as usual."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        exec(self._code, vars(module))
