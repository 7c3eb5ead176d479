"""Kernels of several functions: each plain Python for small inputs, all of them compiled together for large ones."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from mtpp_dsl.solvers.combinatorial.compiled import Kernel

__all__ = ["Linked"]

P = ParamSpec("P")
R = TypeVar("R")


class Linked(Kernel[P, R]):
    """A kernel that calls other kernels of its module by their names.

    Args:
        function: the kernel.
        threshold: see :class:`Kernel`.
        parts: what it calls; each may call those before it.
    """

    def __init__(self, function: Callable[P, R], threshold: float, *parts: Callable[..., Any]) -> None:
        super().__init__(function, threshold)
        self._parts = parts

    def compiled(self, say: Callable[[str], None]) -> Callable[P, R]:
        """Return the compiled function."""
        if self._compiled is None:
            names: dict[str, Any] = {}
            for part in self._parts:
                names[part.__name__] = Kernel(_rebound(part, names), 0.0).compiled(say)
            self._compiled = Kernel(_rebound(self.plain, names), 0.0).compiled(say)
        return self._compiled


def _rebound(function: Callable[P, R], names: dict[str, Any]) -> Callable[P, R]:
    """Return the same code, in which some global names mean other things."""
    plain = cast("FunctionType", function)
    return cast("Callable[P, R]", FunctionType(plain.__code__, {**plain.__globals__, **names}, plain.__name__))
