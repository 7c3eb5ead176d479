"""``target``: the limits of a runtime as constraints of the problem."""

from __future__ import annotations

from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import targeted
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.scope import Complaint

__all__ = ["under_target"]


def under_target(problem: Problem, statement: tree.TargetStatement) -> Problem:
    """Return the problem under the limits of the target that a statement names; ``llama_cpp`` means "llama-cpp".

    Raises:
        Complaint: there is no such target, or it cannot do what the problem is about.
    """
    said, known = statement.name.text, registry.available(registry.TARGETS)
    name = said if said in known else said.replace("_", "-")
    try:
        target: Any = registry.load(registry.TARGETS, name)()
        return targeted(problem, target.name, target.restrict)
    except (PluginError, UsageError) as error:
        raise Complaint(str(error), statement.name.span, code="MTPP-E512") from None
