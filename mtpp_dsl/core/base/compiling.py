"""Compile kernels: innermost loops that run as plain Python on small inputs and as machine code on large ones.

This is the only place that compiles. Searches and the checkers of certificates both use it: a checker shares no code
with what it checks, but the compiler is no part of a derivation, as little as numpy is.

numba is imported, and a kernel compiled, when an input is first large enough; the machine code is kept on disk. The
time that this takes is charged to no share of a time limit (:mod:`mtpp_dsl.core.base.compiling`). A compiled kernel
lets other threads run: they must not touch its arrays.

**Why innermost loops stay in one piece.** A kernel is as a rule one long function that calls no other of ours, and two
kernels that repeat a block stay as they are. Measured on the annealing of splits (the code of a move and that of the
energy taken out of the loop, with the same results, bit for bit): 2.5 times slower where helpers take tuples, 4.5 times
with arrays as arguments, 1.9 to 2.3 times with ``inline="always"``. Where the parts are large and are not called in the
innermost loop (a maximum flow in a branch and bound), a kernel may call other functions: it is given them as *parts*.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache, cached_property
from hashlib import sha256
from math import inf
from threading import Lock
from time import monotonic
from types import FunctionType, TracebackType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np


class Preparing(AbstractContextManager["Preparing"]):
    """A stopwatch that runs while any thread is inside its ``with`` block; such blocks may be nested.

    Attributes:
        told: called with :attr:`seconds` whenever the stopwatch halts; None if nobody listens.
        until: when the time of the present call is over, by ``time.monotonic()``; ``inf`` without a limit.
    """

    def __init__(self) -> None:
        self.told: Callable[[float], None] | None = None
        self.until = inf
        self._lock = Lock()
        self._inside = 0
        self._began = 0.0
        self._spent = 0.0

    @property
    def seconds(self) -> float:
        """Seconds that the stopwatch has run, the present ones included."""
        with self._lock:
            return self._spent + (monotonic() - self._began if self._inside else 0.0)

    @property
    def running(self) -> bool:
        """Whether code is being prepared now."""
        with self._lock:
            return self._inside > 0

    def add(self, seconds: float) -> None:
        """Add what another process has spent for this one."""
        with self._lock:
            self._spent += seconds

    def __enter__(self) -> Preparing:
        """Start the stopwatch, unless it runs."""
        with self._lock:
            if not self._inside:
                self._began = monotonic()
            self._inside += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Halt the stopwatch if this was the last block."""
        with self._lock:
            self._inside -= 1
            halted = not self._inside
            if halted:
                self._spent += monotonic() - self._began
        if halted and self.told is not None:
            self.told(self.seconds)


PREPARING = Preparing()
"""The stopwatch of this process."""


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=NamedTuple)

COMPILING, PER_BYTE = 0.3, 4e-4
"""Seconds that numba takes to compile a function, about: measured 0.2 s to 4.3 s for 600 to 8,600 bytes of bytecode."""
LOADING = 0.6
"""Seconds that importing numba and loading machine code from disk take, about."""
WORTH = 0.9
"""Share of the time left that compiling may take: code that is ready when the time is up is of no use."""


def inputs(arrays: T) -> T:
    """Return a tuple of arrays that kernels only read as views that are read-only and in one piece.

    numba compiles a kernel again for arguments of another type, and a type says whether an array can be written to.
    """
    views = [np.ascontiguousarray(value).view() if isinstance(value, np.ndarray) else value for value in arrays]
    for view in views:
        if isinstance(view, np.ndarray):
            view.setflags(write=False)
    return type(arrays)._make(views)


class Kernel(Generic[P, R]):
    """One Python source that runs as it stands or compiled.

    Args:
        plain: the function, of numbers and numpy arrays.
        threshold: the number of steps from which compiling pays; see :meth:`pick`.
        parts: the functions that it calls by their names; each may call those before it. They are compiled with it.
    """

    def __init__(self, plain: Callable[P, R], threshold: float = 0.0, *parts: Callable[..., Any]) -> None:
        self.plain = plain
        self._threshold = threshold
        self._parts = parts
        self._ready = False

    def pick(self, steps: float, say: Callable[[str], None] | None = None) -> Callable[P, R]:
        """Return the plain function if it would run fewer than ``threshold`` *steps*, else the compiled one.

        Return the plain one, too, where the compiled one would not be ready before the time of the whole call is up.

        Args:
            steps: of the innermost loop, over all calls to come.
            say: see :meth:`compiled`.
        """
        if not self._ready and (steps < self._threshold or not self._in_time()):
            return self.plain
        return self.compiled(say)

    def compiled(self, say: Callable[[str], None] | None = None) -> Callable[P, R]:
        """Return the compiled function; numba compiles it, or loads it from disk, when it is first called.

        Args:
            say: told, the first time in this process, why nothing seems to happen; None if nobody need know.
        """
        if not self._ready and say is not None:
            _announce(say)
        self._ready = True
        return self._dispatcher

    @cached_property
    def _dispatcher(self) -> Callable[P, R]:
        names: dict[str, Any] = {}
        for i, part in enumerate(self._parts):
            names[part.__name__] = _jit(_rebound(part, names, self._parts[:i]))
        return _jit(_rebound(self.plain, names, self._parts))

    def _in_time(self) -> bool:
        """Return whether there is time to compile the kernel, or to load it from disk, and to use it."""
        left = PREPARING.until - monotonic()
        size, *parts = (len(cast("FunctionType", f).__code__.co_code) for f in (self.plain, *self._parts))
        bytecode = size + 2 * sum(parts)  # parts are compiled by themselves, and again where they are called
        if COMPILING + PER_BYTE * bytecode <= WORTH * left:
            return True
        return left > LOADING and _is_compiled(self._dispatcher)


_announced = False


def _announce(say: Callable[[str], None]) -> None:
    """Say once in this process that code is prepared."""
    global _announced
    if not _announced:
        _announced = True
        say("preparing compiled code (takes some seconds, the first time)")


def _jit(function: Callable[P, R]) -> Callable[P, R]:
    """Return numba's dispatcher of a function, with its machine code on disk if a folder can be written to."""
    try:
        compiled: Callable[P, R] = _numba().njit(cache=True, nogil=True)(function)
    except RuntimeError:
        compiled = _numba().njit(nogil=True)(function)
    else:
        _forget_unreadable(compiled)
    _compile_once_for_constants(compiled)
    return compiled


def _compile_once_for_constants(dispatcher: Any) -> None:
    """Have the calls of a function that pass constants use the code for variables of the same type.

    numba would compile the function again for every constant that is passed to it, here -1 or False.
    """
    from numba.core.types.misc import unliteral

    template = dispatcher.get_call_template

    def general(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """Resolve the call for the types of the arguments."""
        return template(tuple(map(unliteral, args)), {name: unliteral(value) for name, value in kws.items()})

    dispatcher.get_call_template = general


def _forget_unreadable(dispatcher: Any) -> None:
    """Clear a function's cache on disk where it names modules that are gone, as after an update of mtpp.

    numba reads the cache again and again, and lets the error of what it cannot read pass to its caller.
    """
    try:
        dispatcher._cache._cache_file._load_index()  # numba has no public name for it
    except OSError:  # which numba expects
        return
    except Exception:
        with suppress(AttributeError, OSError):
            dispatcher._cache.flush()


def _rebound(function: Callable[P, R], names: dict[str, Any], parts: Sequence[Callable[..., Any]]) -> Callable[P, R]:
    """Return the same code with some global names bound to other objects.

    numba uses machine code on disk again as long as the file of its function has not changed. A function whose *parts*
    stand in other files gets a name that changes with these files.
    """
    if not parts:
        return function
    plain = cast("FunctionType", function)
    bound = FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    files = {part.__code__.co_filename for part in parts} - {plain.__code__.co_filename}
    if files:
        states = [(state.st_mtime_ns, state.st_size) for state in map(os.stat, sorted(files))]
        bound.__qualname__ += f"_{sha256(repr(states).encode()).hexdigest()[:12]}"
    return cast("Callable[P, R]", bound)


@cache
def _numba() -> Any:
    """Import numba, and return it; from now on :data:`PREPARING` runs while numba compiles or loads machine code."""
    with PREPARING:
        import numba
        from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc, unused-ignore]
        """Starts and halts the stopwatch with numba's lock on its compiler, which also guards its cache on disk."""

        def on_start(self, _: object) -> None:
            PREPARING.__enter__()

        def on_end(self, _: object) -> None:
            PREPARING.__exit__(None, None, None)

    event.register("numba:compiler_lock", Listener())
    return numba


def _is_compiled(dispatcher: Any) -> bool:
    """Return whether a function is compiled, here or on disk; False where numba does not tell."""
    if dispatcher.signatures:
        return True
    try:
        return bool(dispatcher._cache._cache_file._load_index())  # numba has no public name for it
    except (AttributeError, OSError):
        return False
