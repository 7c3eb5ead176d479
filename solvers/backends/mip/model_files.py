"""Write a model as an LP file, for solvers other than HiGHS, and read its solution back by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mtpp_dsl.core.base.lazy import MODELLING, pyo
from mtpp_dsl.core.errors import UsageError

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


INCREMENT = 1e-5
"""Absolute: solvers do not look for a better solution closer to the best than this."""


@dataclass(frozen=True)
class ModelFile:
    """A model written to a directory of its own.

    Attributes:
        path: the LP file; solvers may write their own files beside it.
        variables: the variables by their names in the file.
    """

    path: Path
    variables: Mapping[str, Any]

    def start(self) -> dict[str, float]:
        """Return the values of the integer variables that have one, by name."""
        return {
            name: float(variable.value)
            for name, variable in self.variables.items()
            if variable.is_integer() and not variable.fixed and variable.value is not None
        }

    def load(self, values: Mapping[str, float]) -> None:
        """Write a solution into the model's variables, integers rounded; a missing name is 0."""
        from pyomo.core.staleflag import StaleFlagManager

        StaleFlagManager.mark_all_as_stale(delayed=True)
        for name, variable in self.variables.items():
            value = values.get(name, 0.0)
            variable.set_value(round(value) if variable.is_integer() else value, skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=False)


@contextmanager
def model_file(model: Any) -> Iterator[ModelFile]:
    """Write *model* to a temporary directory, which is removed afterwards."""
    from pyomo.repn.plugins.lp_writer import LPWriter

    with TemporaryDirectory(prefix="mtpp-") as folder:
        path = Path(folder, "model.lp")
        with MODELLING, path.open("w", encoding="ascii") as stream:
            expand(model)
            names = LPWriter().write(model, stream).symbol_map.bySymbol
        yield ModelFile(path, {name: v for name, v in names.items() if getattr(v, "ctype", None) is pyo.Var})


def at_optimum(objective: float, gap: float) -> float:
    """Return a bound that follows when a solver calls *objective* optimal to within *gap*.

    For solvers that then print no dual bound: the objective less the gap, and less the solver's own tolerance.
    """
    return objective - gap * abs(objective) - INCREMENT


def not_above(text: str, digits: int) -> float:
    """Return a number that is at most the one printed as *text*, which was rounded to *digits* significant digits.

    >>> not_above("103.087", 6)
    103.086
    >>> not_above("0", 6)
    0.0
    """
    value = float(text)
    if not value:
        return 0.0
    return round(value - 10.0 ** (floor(log10(abs(value))) + 1 - digits), 15)
