"""Loops that must be loops: plain Python for small inputs, compiled by numba for large ones.

A kernel is a function of numbers and numpy arrays that calls no other function of ours. numba is imported, and the
kernel compiled, when an input is first large enough; the machine code is kept on disk. The time that this takes is
charged to no share of a time limit (:mod:`mtpp_dsl.base.preparation`). Where the whole of the limit leaves no time for
it, the function runs as it stands. A compiled kernel lets other threads run: they must
not touch its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Generic, ParamSpec, TypeVar

from mtpp_dsl.base.preparation import numba, worth_compiling

__all__ = ["Kernel"]

P = ParamSpec("P")
R = TypeVar("R")


class Kernel(Generic[P, R]):
    """One Python source that runs as it stands or compiled.

    Args:
        function: the kernel.
        threshold: the number of steps from which compiling pays; see :meth:`pick`.
    """

    def __init__(self, function: Callable[P, R], threshold: float) -> None:
        self.plain = function
        self._threshold = threshold
        self._compiled: Callable[P, R] | None = None

    def pick(self, steps: float, say: Callable[[str], None]) -> Callable[P, R]:
        """Return the plain function if it would run fewer than ``threshold`` *steps*, else the compiled one.

        The plain one, too, where the compiled one would not be ready before the time of the whole call is up.

        Args:
            steps: of the innermost loop, over all calls to come.
            say: told when numba has to be loaded.
        """
        if self._compiled is None and (steps < self._threshold or not worth_compiling(self._made, self._bytecode)):
            return self.plain
        return self.compiled(say)

    def compiled(self, say: Callable[[str], None]) -> Callable[P, R]:
        """Return the compiled function."""
        if self._compiled is None:
            _announce(say)
            self._compiled = self._made()
        return self._compiled

    @cache  # noqa: B019 (kernels stay as long as the process)
    def _made(self) -> Callable[P, R]:
        """Return what compiles the function when it is first called."""
        return _jit(self.plain)

    @property
    def _bytecode(self) -> int:
        """The size of what is compiled."""
        return len(self.plain.__code__.co_code)


_announced = False


def _announce(say: Callable[[str], None]) -> None:
    """Say, the first time, why nothing seems to happen."""
    global _announced
    if not _announced:
        _announced = True
        say("preparing compiled code (takes some seconds, the first time)")


def _jit(function: Callable[P, R]) -> Callable[P, R]:
    try:
        compiled: Callable[P, R] = numba().njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder that can be written to for the cache
        compiled = numba().njit(nogil=True)(function)
    return compiled
