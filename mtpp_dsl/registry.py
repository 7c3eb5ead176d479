"""Find plug-ins by name: the public names of :mod:`mtpp_dsl.core.registry`."""

from __future__ import annotations

from mtpp_dsl.core.registry import (
    BACKENDS,
    CONSTRAINTS,
    ENGINES,
    EXECUTORS,
    FORMATS,
    FORMULATIONS,
    GENERATORS,
    METHODS,
    PROOFS,
    TARGETS,
    available,
    built_in,
    derives_from,
    is_built_in,
    load,
)

__all__ = [
    "BACKENDS",
    "CONSTRAINTS",
    "ENGINES",
    "EXECUTORS",
    "FORMATS",
    "FORMULATIONS",
    "GENERATORS",
    "METHODS",
    "PROOFS",
    "TARGETS",
    "available",
    "built_in",
    "derives_from",
    "is_built_in",
    "load",
]
