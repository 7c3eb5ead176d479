"""Formulations derived from the built-in ones: what these take for granted may not hold of rows that are added."""

from __future__ import annotations

from mtpp_dsl.contracts import FormulationBase
from mtpp_dsl.registry import is_built_in

__all__ = ["extended", "keeps_symmetry"]


def extended(formulation: object) -> bool:
    """Return whether *formulation* is of a class that is not built in, which may add rows of its own.

    Then the best plan may be dearer than any that the problem is known to have.
    """
    return not is_built_in(formulation)


def keeps_symmetry(formulation: FormulationBase) -> bool:
    """Return whether devices that can be swapped, and chunks, can be so in every plan of *formulation*.

    Of a class that is not built in only if it says so itself: what it inherits speaks of another class.
    """
    return is_built_in(formulation) or bool(vars(type(formulation)).get("symmetric", False))
