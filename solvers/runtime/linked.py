"""Kernels of several functions: each plain Python for small inputs, all of them compiled together for large ones.

Machine code on disk is used again as long as the file of its function has not changed; here, nor those of its parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from mtpp_dsl.solvers.runtime.compiled import Kernel

__all__ = ["Linked"]

P = ParamSpec("P")
R = TypeVar("R")


class Linked(Kernel[P, R]):
    """A kernel that calls other kernels by their names.

    Args:
        function: the kernel.
        threshold: see :class:`Kernel`.
        parts: what it calls; each may call those before it.
    """

    def __init__(self, function: Callable[P, R], threshold: float, *parts: Callable[..., Any]) -> None:
        super().__init__(function, threshold)
        self._parts = parts

    @cache  # noqa: B019 (kernels stay as long as the process)
    def _made(self) -> Callable[P, R]:
        """Return what compiles the function, and its parts, when it is first called."""
        names: dict[str, Any] = {}
        for i, part in enumerate(self._parts):
            names[part.__name__] = Kernel(_rebound(part, names, self._parts[:i]), 0.0).compiled(_silent)
        return Kernel(_rebound(self.plain, names, self._parts), 0.0).compiled(_silent)

    @property
    def _bytecode(self) -> int:
        """The size of what is compiled: the parts by themselves, and again where they are called."""
        return super()._bytecode + 2 * sum(len(cast("FunctionType", part).__code__.co_code) for part in self._parts)


def _silent(_: str) -> None:
    """Say nothing: whoever asks for the whole has said it."""


def _rebound(function: Callable[P, R], names: dict[str, Any], parts: Sequence[Callable[..., Any]]) -> Callable[P, R]:
    """Return the same code, in which some global names mean other things; its full name tells of other files' state."""
    plain = cast("FunctionType", function)
    bound = FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__)
    files = {part.__code__.co_filename for part in parts} - {plain.__code__.co_filename}
    if files:
        states = [(state.st_mtime_ns, state.st_size) for state in map(os.stat, sorted(files))]
        bound.__qualname__ += f"_{sha256(repr(states).encode()).hexdigest()[:12]}"
    return cast("Callable[P, R]", bound)
