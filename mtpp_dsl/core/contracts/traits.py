"""Read what a plug-in may say beside what its contract asks for, with what holds where it says nothing.

A plug-in inherits from the base class of its kind, or has attributes of these names, or does neither. Whoever needs to
know reads them through :func:`formulation_traits`, :func:`method_traits`, :func:`backend_traits` and
:func:`model_traits`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from math import isfinite
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from mtpp_dsl.core.contracts.scopes import Scope
from mtpp_dsl.core.errors import PluginError


class FormulationBase:
    """What a formulation, or a family of them, may say of itself.

    Attributes:
        baseline: it is there to be compared with, and not recommended.
        floor: what the lower bound of its objective is, which is known before any search, in words.
        adds: what rows of its own ask for beyond the problem's constraints, in words; "" where it takes no plan away.
            Its plan is then the best of those that keep them, and its bound is one on those alone.
        symmetric: rows of its own treat devices that can be swapped alike, and so the chunks of a batch. A built-in
            formulation breaks such symmetries in a class derived from it only if that class itself says so.
        scopes: which problems it accepts, as data: see :class:`~mtpp_dsl.core.contracts.scopes.Scoped`. Without any it
            is listed with no objective, and ``accepts`` alone says what it refuses.
    """

    baseline: bool = False
    floor: str = "the bounds of the model's own variables"
    adds: str = ""
    symmetric: bool = False
    scopes: tuple[Scope, ...] = ()


class CutoffFormulation(FormulationBase):
    """A formulation, or a family, that remembers the cost of a known plan and is stronger for it.

    Args:
        cost: of a plan of the problem, in the problem's unit; None if none is known.
    """

    def __init__(self, cost: float | None = None) -> None:
        self.cost = cost

    def below(self, cost: float) -> Self:
        """Return the formulation of the plans that cost at most *cost*, or of a bound on them; some plan does."""
        known = copy(self)
        known.cost = cost
        return known


class MethodBase:
    """What a method may say of itself.

    Attributes:
        uses_solver: it honours the solver, its options and the threads of the limits; whoever asks another one for
            them is told.
        may_need_none: it uses several solvers, or ends without one where that proves the same; it takes no options.
        writes_model: it honours ``write_model`` of the limits, whatever becomes of the problem.
        spreads: it takes processes from the executor of the limits, so that one call spreads over a cluster.
        needs_start: it works on a plan that it is given, and is not asked without one.
        seeded: another seed of the limits may give another answer; else a sweep runs it once for all seeds.
        baseline: it is there to be compared with, and not recommended to those whom another method refuses.
        engines: the solvers with models of their own that it uses, and it uses no other...
        backends: ...but for the MIP solvers, any of them.
        options: names of the arguments of its class that the command line offers.
        own_rows: its answers keep rows that the problem does not state. A plan from elsewhere is then no answer of it,
            unless it says so itself, and it is not put on a graph other than the one asked about.
        scopes: which problems it accepts, as data: see :class:`~mtpp_dsl.core.contracts.scopes.Scoped`. Without any it
            is listed with no objective, and ``accepts`` alone says what it refuses.
        custom_constraints: it finds out by itself which constraints of plug-ins it can keep, and refuses the others.
            Else a method that gives plans is given such constraints only if a scope of it has the family
            ``CustomConstraint``; one that gives bounds alone may drop them.
    """

    uses_solver: bool = False
    may_need_none: bool = False
    writes_model: bool = False
    spreads: bool = False
    needs_start: bool = False
    seeded: bool = True
    baseline: bool = False
    engines: tuple[str, ...] = ()
    backends: bool = False
    options: tuple[str, ...] = ()
    own_rows: bool = False
    scopes: tuple[Scope, ...] = ()
    custom_constraints: bool = False


class BackendBase:
    """What a MIP solver may say of itself.

    Attributes:
        slack: by which share of themselves its bounds may be above the optimum, whatever gap is asked for; it is taken
            off them.
    """

    slack: float = 0.0

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Complain, before any work, of options that the solver does not have: by default it does so itself, later.

        Raises:
            UsageError: it has no such option, or refuses the value.
        """


class ModelTraits:
    """What the model that a formulation builds may say of itself, as attributes of the Pyomo model.

    Attributes:
        cost_scale: this times its objective is the problem's cost.
        cost_margin: what a solver's dual bound may be too high by, in the model's unit.
        cost_step: the costs of all plans are multiples of this, in the problem's unit; 0.0 where nothing is known.
    """

    cost_scale: float = 1.0
    cost_margin: float = 1e-6
    cost_step: float = 0.0


_Traits = TypeVar("_Traits", FormulationBase, MethodBase, BackendBase, ModelTraits)


def formulation_traits(formulation: object) -> FormulationBase:
    """Return what *formulation* says of itself.

    Raises:
        PluginError: an attribute is of another type.
    """
    return _read(FormulationBase, formulation, "formulation")


def method_traits(method: object) -> MethodBase:
    """Return what *method* says of itself.

    Raises:
        PluginError: an attribute is of another type.

    >>> class Theirs:
    ...     name, engines = "theirs", "cp-sat"
    >>> method_traits(Theirs())
    Traceback (most recent call last):
    ...
    mtpp_dsl.core.errors.PluginError: method 'theirs': engines is 'cp-sat', not a tuple of words
    """
    return _read(MethodBase, method, "method")


def backend_traits(backend: object) -> BackendBase:
    """Return what *backend* says of itself.

    Raises:
        PluginError: an attribute is of another type.
    """
    return _read(BackendBase, backend, "solver")


def model_traits(model: object) -> ModelTraits:
    """Return what *model*, of Pyomo, says of itself.

    Raises:
        PluginError: an attribute is of another type, or the scale is not positive.
    """
    traits = _read(ModelTraits, model, "model")
    if not traits.cost_scale > 0:
        raise PluginError(f"model {_name(model)!r}: cost_scale is {traits.cost_scale!r}, not a positive number")
    return traits


ATTRIBUTES: dict[type, dict[str, Any]] = {
    base: get_type_hints(base) for base in (FormulationBase, MethodBase, BackendBase, ModelTraits)
}
WORDS = {
    bool: "True or False",
    str: "text",
    float: "a number, zero or more",
    tuple[str, ...]: "a tuple of words",
    tuple[Scope, ...]: "a tuple of scopes",
}


def _read(base: type[_Traits], plugin: object, kind: str) -> _Traits:
    traits = base()
    for name, wanted in ATTRIBUTES[base].items():
        value = getattr(plugin, name, getattr(base, name))
        if not _fits(value, wanted):
            raise PluginError(f"{kind} {_name(plugin)!r}: {name} is {value!r}, not {WORDS[wanted]}")
        setattr(traits, name, float(value) if wanted is float else value)
    return traits


def _fits(value: Any, wanted: Any) -> bool:
    """Return whether *value* is of the type *wanted*; any real number that is no bool is a float."""
    if wanted is float:
        try:
            return not isinstance(value, (bool, str)) and isfinite(value) and value >= 0
        except TypeError:
            return False
    if get_origin(wanted) is tuple:
        return isinstance(value, tuple) and all(isinstance(one, get_args(wanted)[0]) for one in value)
    return isinstance(value, wanted)


def _name(plugin: object) -> str:
    return str(getattr(plugin, "name", type(plugin).__name__))
