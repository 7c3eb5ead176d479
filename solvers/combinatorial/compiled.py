"""Loops that must be loops: plain Python for small inputs, compiled by numba for large ones.

A kernel is a function of numbers and numpy arrays that calls no other function of ours. numba is imported, and the
kernel compiled, when an input is first large enough; the machine code is kept on disk. The time that this takes is
charged to no share of a time limit (:mod:`mtpp_dsl.preparation`). A compiled kernel lets other threads run: they must
not touch its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from mtpp_dsl.preparation import numba

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

        Args:
            steps: of the innermost loop, over all calls to come.
            say: told when numba has to be loaded.
        """
        if self._compiled is None and steps < self._threshold:
            return self.plain
        return self.compiled(say)

    def compiled(self, say: Callable[[str], None]) -> Callable[P, R]:
        """Return the compiled function."""
        if self._compiled is None:
            _announce(say)
            self._compiled = _jit(self.plain)
        return self._compiled


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
