"""Loops of the checkers, as they stand for small problems, compiled by numba for larger ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Generic, ParamSpec, TypeVar

from mtpp_dsl.base.preparation import numba

__all__ = ["Loop"]

P = ParamSpec("P")
R = TypeVar("R")


class Loop(Generic[P, R]):
    """A function of numbers and arrays that calls no other of ours.

    Args:
        plain: the function.
    """

    def __init__(self, plain: Callable[P, R]) -> None:
        self.plain = plain

    @cached_property
    def fast(self) -> Callable[P, R]:
        """The function compiled, and kept on disk where a folder can be written to."""
        try:
            compiled: Callable[P, R] = numba().njit(cache=True, nogil=True)(self.plain)
        except RuntimeError:
            compiled = numba().njit(nogil=True)(self.plain)
        return compiled
