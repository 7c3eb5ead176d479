"""Write models to files, for users and for other solvers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.errors import UsageError

__all__ = ["expand", "member_path", "write_model"]

FORMATS = {".lp": "cpxlp", ".mps": "mps"}
"""By the suffix of a file, what Pyomo calls its format."""


def write_model(model: Any, path: Path) -> None:
    """Write *model* with symbolic names, in the format of the suffix: ``.lp`` or ``.mps``.

    Raises:
        UsageError: another suffix, or a file that cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"cannot write a model as {path.name!r}: use the suffix .lp or .mps")
    expand(model)
    try:
        model.write(str(path), format=FORMATS[suffix], io_options={"symbolic_solver_labels": True})
    except OSError as error:
        raise UsageError(f"cannot write the model to {path}: {error.strerror}") from error


def expand(model: Any) -> None:
    """Turn constraints that are kept as templates into rows, the only form that Pyomo's writers know."""
    for constraint in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        constraint.expr  # noqa: B018  the access replaces a template


def member_path(path: Path, family: str, member: str) -> Path:
    """Return the file for the model of a family's member.

    >>> member_path(Path("out.lp"), "guess", "guess-j2").name
    'out-j2.lp'
    """
    return path.with_name(f"{path.stem}-{member.removeprefix(family).lstrip('-')}{path.suffix}")
