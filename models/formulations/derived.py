"""Formulations derived from the built-in ones: what these take for granted may not hold of rows that are added."""

from __future__ import annotations

from mtpp_dsl.core.contracts.traits import FormulationBase
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import is_built_in


def extended(formulation: object, problem: Problem) -> bool:
    """Return whether rows that are not of the language are added: by a class that is not built in, or a constraint.

    Then the best plan may cost more than any that the problem is known to have without these rows.
    """
    return not is_built_in(formulation) or any(problem.of(CustomConstraint))


def keeps_symmetry(formulation: FormulationBase) -> bool:
    """Return whether devices that can be swapped, and chunks, can be so in every plan of *formulation*.

    Of a class that is not built in only if it says so itself: what it inherits speaks of another class. Constraints of
    plug-ins are asked for by :func:`mtpp_dsl.core.views.symmetry.interchangeable`, and by :func:`chunks_alike`.
    """
    return is_built_in(formulation) or bool(vars(type(formulation)).get("symmetric", False))


def chunks_alike(formulation: FormulationBase, problem: Problem) -> bool:
    """Return whether the chunks of a batch can be swapped in every plan of *formulation*, but for those pinned."""
    return keeps_symmetry(formulation) and all(custom.symmetric for custom in problem.of(CustomConstraint))
