"""Hold a plug-in to its contract: the public names of :mod:`mtpp_dsl.solving.testing`."""

from __future__ import annotations

from mtpp_dsl.solving.testing import (
    check_backend,
    check_constraint,
    check_executor,
    check_format,
    check_formulation,
    check_generator,
    check_method,
    check_target,
)

__all__ = [
    "check_backend",
    "check_constraint",
    "check_executor",
    "check_format",
    "check_formulation",
    "check_generator",
    "check_method",
    "check_target",
]
