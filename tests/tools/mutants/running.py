"""Run the tests of mutants, each in a process forked from one that has imported what they need.

The function that a mutant changes gets other code in place; a mutant of what runs at import gets a process in which its
module is made of the changed text. Tests that start processes of their own do not see the mutant there.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from itertools import islice, pairwise
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest

from tests.tools.mutants.changes import Mutant, changed_tree
from tests.tree import ROOT, files

__all__ = ["KILLED", "SURVIVED", "TIMED_OUT", "prepare", "verdicts"]

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"
OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "--amount=usual")
FIRST = (4, 32)
"""So many tests are run before the others: they notice most faults, and collecting all of them takes long."""
PATIENCE, FACTOR = 30.0, 6.0
"""Seconds, and times what its tests take without it, that a mutant may take; one that takes longer never ends."""


def prepare(mutants: Sequence[Mutant], tests: Sequence[str]) -> None:
    """Import all that mutants and their tests need, so that forked processes begin at once."""
    names = files()
    for path in sorted({mutant.path for mutant in mutants}):
        import_module(names[ROOT / path])
    with Path(os.devnull).open("w", encoding="utf-8") as sink, redirect_stdout(sink), redirect_stderr(sink):
        pytest.main(["--collect-only", *OPTIONS, *sorted({test.partition("::")[0] for test in tests})])


def verdicts(tried: Iterable[tuple[Mutant, Sequence[str], float]], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Yield what the tests say of each mutant, as soon as they say it.

    Args:
        tried: mutants, with their tests in the order in which they are run (the first that fails ends the run), and the
            seconds that these take without the fault.
        jobs: processes side by side.
    """
    waiting, running = iter(tried), dict[int, tuple[Mutant, float]]()
    while True:
        for mutant, tests, seconds in islice(waiting, jobs - len(running)):
            if not tests:
                yield mutant, SURVIVED
                continue
            child = os.fork()
            if child == 0:
                _run(mutant, tests)
            running[child] = mutant, time.monotonic() + PATIENCE + FACTOR * seconds
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
                yield mutant, TIMED_OUT if not ended else SURVIVED if status == 0 else KILLED


def _run(mutant: Mutant, tests: Sequence[str]) -> None:
    """Run the tests with the fault, and end the process with 0 if none of them fails."""
    os.setpgid(0, 0)
    status = 1
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(sink, stream)
        with tempfile.TemporaryDirectory() as cache:
            if "Kernel(" in (ROOT / mutant.path).read_text(encoding="utf-8"):
                _keep_compiled_code_in(cache)
            _change(mutant)
            for first, last in pairwise((0, *FIRST, len(tests))):
                status = int(pytest.main([*OPTIONS, *tests[first:last]])) if tests[first:last] else 0
                if status:
                    break
    finally:
        os._exit(status)


def _keep_compiled_code_in(folder: str) -> None:
    """Have numba neither read nor write the compiled code of what is tested: it does not see changed numbers."""
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder  # type: ignore[attr-defined]


def _change(mutant: Mutant) -> None:
    path = ROOT / mutant.path
    code = compile(changed_tree(mutant), str(path), "exec", dont_inherit=True)
    if mutant.at_import:
        _Changed(files()[path], path, code).import_anew()
        return
    changed = {(part.co_qualname, part.co_firstlineno): part for part in _functions(code)}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(path):
            part = changed.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if part is not None and function.__qualname__ != "<lambda>":
                function.__code__ = part


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
