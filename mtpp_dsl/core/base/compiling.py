"""Compile kernels: innermost loops that run as plain Python on small inputs and as machine code on large ones.

This is the only place that compiles. Searches and the checkers of certificates both use it: a checker shares no code
with what it checks, but the compiler is no part of a derivation, as little as numpy is.

numba is imported, and a kernel compiled, when it is known to run longer than that takes, or when it has run for a
quarter of that as plain Python; the machine code is kept on disk. So a small input needs no compiler. The time that
compiling takes is charged to no share of a time limit (:mod:`mtpp_dsl.core.base.preparation`). A compiled kernel lets
other threads run: they must not touch its arrays.

**Why innermost loops stay in one piece.** A kernel is as a rule one long function that calls no other of ours, and two
kernels that repeat a block stay as they are. Measured on the annealing of splits (the code of a move and that of the
energy taken out of the loop, with the same results, bit for bit): 2.5 times slower where helpers take tuples, 4.5 times
with arrays as arguments, 1.9 to 2.3 times with ``inline="always"``. Where the parts are large and are not called in the
innermost loop (a maximum flow in a branch and bound), a kernel may call other functions: it is given them as *parts*.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from time import monotonic, thread_time
from types import FunctionType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from mtpp_dsl.core.base.machine_code import dispatcher_of, folder_of, is_compiled
from mtpp_dsl.core.base.preparation import PREPARING

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=NamedTuple)

COMPILING, PER_BYTE = 0.3, 4e-4
"""Seconds that numba takes to compile a function, about: measured 0.2 s to 4.3 s for 600 to 8,600 bytes of bytecode."""
LOOKING = 0.15
"""Seconds of the plain function after which to import numba, and to see whether there is machine code on disk."""
LOADING = 0.4
"""Seconds that importing numba and loading machine code from disk take, about."""
WORTH = 0.6
"""Share of the time left that compiling may take: the code has to be of use for about as long again."""
LONGER = 4.0
"""What has run for a while most often runs this many times as long: examples end within 0.2 s, others take minutes."""
PORTION = 0.1
"""Seconds of plain steps after which to see whether compiled code would pay."""


def inputs(arrays: T) -> T:
    """Return a tuple of arrays that kernels only read as views that are read-only and in one piece.

    numba compiles a kernel again for arguments of another type, and a type says whether an array can be written to.
    """
    views = [np.ascontiguousarray(value).view() if isinstance(value, np.ndarray) else value for value in arrays]
    for view in views:
        if isinstance(view, np.ndarray):
            view.setflags(write=False)
    return type(arrays)._make(views)


KERNELS: list[Kernel[..., Any]] = []
"""All kernels of the modules that have been imported."""
_always = False


def compile_always() -> None:
    """Have every kernel compiled in this process when it is first called, whether that pays or not."""
    global _always
    _always = True


class Kernel(Generic[P, R]):
    """One Python source that runs as it stands or compiled, with the same results.

    Args:
        plain: the function, of numbers and numpy arrays.
        pace: how many steps the plain function makes in a second, about; see :meth:`pick`. What needs no compiler is
            compiled at once where it is 0, and never where it is ``inf``.
        parts: the functions that it calls by their names; each may call those before it. They are compiled with it.
    """

    def __init__(self, plain: Callable[P, R], pace: float = 1.0, *parts: Callable[..., Any]) -> None:
        self.plain = plain
        self._pace = pace
        self._parts = parts
        self._ready = False
        self._spent = 0.0
        KERNELS.append(self)

    @property
    def name(self) -> str:
        """The module and the name of the plain function, such as ``algorithms.ideals.lattice:grow``."""
        module = self.plain.__module__.removeprefix("mtpp_dsl.").removeprefix("solvers.")
        return f"{module}:{cast('FunctionType', self.plain).__name__.lstrip('_')}"

    @property
    def ready(self) -> bool:
        """Whether the compiled function is used from now on in this process."""
        return self._ready

    @property
    def folder(self) -> str | None:
        """The folder in which compiled code is kept, or None if there is none that can be written to."""
        return folder_of(self._dispatcher)

    def pick(self, steps: float, say: Callable[[str], None] | None = None) -> Callable[P, R]:
        """Return the compiled function if *steps* take the plain one longer than it takes to have the compiled one.

        Else return one that is plain until it has run for a quarter of that. It stays so where the compiled one would
        not be ready before most of the time of the whole call is up.

        Args:
            steps: of the innermost loop, over all calls to come, as far as they are sure to come.
            say: see :meth:`compiled`.
        """
        if not self._pace or self._pays(steps / self._pace):
            return self.compiled(say)

        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            """Run the plain function as long as compiled code would not pay, and see how long it takes."""
            if self._spent >= LOOKING and self._pays(LONGER * self._spent):
                return self.compiled(say)(*args, **kwargs)
            began = thread_time()
            try:
                return self.plain(*args, **kwargs)
            finally:
                self._spent += thread_time() - began

        return run

    def portion(self, steps: int) -> int:
        """Return how many steps to make in one call of what :meth:`pick` returned, *steps* or fewer if it is plain."""
        return steps if self._ready else max(1, int(min(steps, self._pace * PORTION)))

    def compiled(self, say: Callable[[str], None] | None = None) -> Callable[P, R]:
        """Return the compiled function; numba compiles it, or loads it from disk, when it is first called.

        Args:
            say: told, the first time in this process, why nothing seems to happen; None for no message.
        """
        if not self._ready and say is not None:
            _announce(say)
        self._ready = True
        return self._dispatcher

    @cached_property
    def _dispatcher(self) -> Callable[P, R]:
        return dispatcher_of(self.plain, self._parts)

    def _pays(self, seconds: float) -> bool:
        """Return whether compiled code pays for a function that runs so long, or has; it has to be ready in time.

        Machine code on disk is used at once: what has run for a while, or is known to, most often runs much longer.
        """
        if self._ready or _always:
            return True
        if seconds < LOOKING:
            return False
        left = WORTH * (PREPARING.until - monotonic())
        return left >= LOADING if self._on_disk else self._price <= min(seconds, left)

    @cached_property
    def _on_disk(self) -> bool:
        """Return whether there is machine code, the first time that this is asked."""
        return is_compiled(self._dispatcher)

    @property
    def _price(self) -> float:
        """Return the seconds that it takes to compile the function."""
        size, *parts = (len(cast("FunctionType", f).__code__.co_code) for f in (self.plain, *self._parts))
        bytecode = size + 2 * sum(parts)  # parts are compiled by themselves, and again where they are called
        return COMPILING + PER_BYTE * bytecode


_announced = False


def _announce(say: Callable[[str], None]) -> None:
    """Say once in this process that code is prepared."""
    global _announced
    if not _announced:
        _announced = True
        say("preparing compiled code (takes some seconds, the first time)")
