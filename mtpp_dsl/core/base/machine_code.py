"""Make machine code of functions by numba, and keep it on disk.

This is all that touches numba, some of it by names that are not public, of which each is given up where it is gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from mtpp_dsl.core.base.preparation import PREPARING

P = ParamSpec("P")
R = TypeVar("R")


def dispatcher_of(function: Callable[P, R], parts: Sequence[Callable[..., Any]] = ()) -> Callable[P, R]:
    """Return what compiles a function, or loads it from disk, when it is first called.

    Args:
        function: of numbers and numpy arrays.
        parts: the functions that it calls by their names; each may call those before it.
    """
    names: dict[str, Any] = {}
    for i, part in enumerate(parts):
        names[part.__name__] = _jit(_rebound(part, names, parts[:i], "part"), called_from_python=False)
    return _jit(_rebound(function, names, parts) if parts else function)


def is_compiled(dispatcher: Any) -> bool:
    """Return whether a function is compiled, here or on disk; False where numba does not tell."""
    if dispatcher.signatures:
        return True
    try:
        return bool(dispatcher._cache._cache_file._load_index())  # numba has no public name for it
    except (AttributeError, OSError):
        return False


def folder_of(dispatcher: Any) -> str | None:
    """Return the folder in which the machine code of a function is kept; None if it is not, or numba does not tell."""
    return getattr(dispatcher.stats, "cache_path", None)


def _jit(function: Callable[P, R], *, called_from_python: bool = True) -> Callable[P, R]:
    """Return numba's dispatcher of a function, with its machine code on disk if a folder can be written to.

    It is not called from C. Where it is not called from Python either, the code that would take its arguments apart is
    left out, which for a kernel of many parts is a fifth of the work.
    """
    given = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": not called_from_python}
    try:
        compiled: Callable[P, R] = numba().njit(cache=True, **given)(function)
    except RuntimeError:
        compiled = numba().njit(**given)(function)
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


def _rebound(
    function: Callable[P, R], names: dict[str, Any], parts: Sequence[Callable[..., Any]], role: str = ""
) -> Callable[P, R]:
    """Return the same code with some global names bound to other objects.

    numba uses machine code on disk again as long as the file of its function has not changed. So a function whose
    *parts* stand in other files gets a name that changes with these files, and one that is compiled otherwise than by
    itself a name with its *role*.
    """
    plain = cast("FunctionType", function)
    bound = FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    files = {part.__code__.co_filename for part in parts} - {plain.__code__.co_filename}
    states = [(state.st_mtime_ns, state.st_size) for state in map(os.stat, sorted(files))]
    marks = [role] if role else []
    if files:
        marks.append(sha256(repr(states).encode()).hexdigest()[:12])
    bound.__qualname__ = "_".join([plain.__qualname__, *marks])
    return cast("Callable[P, R]", bound)


@cache
def numba() -> Any:
    """Import numba, and return it; from now on :data:`PREPARING` runs while numba compiles or loads machine code."""
    with PREPARING:
        import numba
        from numba.core import event

        _refuse_shapes_in_few_words()

    class Listener(event.Listener):  # type: ignore[misc, unused-ignore]
        """Starts and halts the stopwatch with numba's lock on its compiler, which also guards its cache on disk."""

        def on_start(self, _: object) -> None:
            PREPARING.__enter__()

        def on_end(self, _: object) -> None:
            PREPARING.__exit__(None, None, None)

    event.register("numba:compiler_lock", Listener())
    return numba


def _refuse_shapes_in_few_words() -> None:
    """Have machine code say only that shapes differ, where an array is assigned to a slice of another shape.

    numba's usual message spells out both shapes. With it, the first kernel of a process that assigns a row has all of
    numba's strings compiled: 2.1 of the 2.2 s that the kernel of lattices took.
    """
    from numba.extending import overload
    from numba.np import arrayobj

    with suppress(AttributeError):
        short = arrayobj.ol_raise_with_shape_context_generic

        def refuse(source: object, target: object) -> NoReturn:
            """Stand for what is compiled."""
            raise NotImplementedError(source, target)

        overload(refuse)(short)
        arrayobj.raise_with_shape_context = refuse
