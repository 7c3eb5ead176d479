"""Make graphs by the generators that ``graph from generator`` names, and say which parameters they have."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Union, get_args, get_origin, get_type_hints

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import PluginError, UsageError, did_you_mean
from mtpp_dsl.core.problem.graph import Graph


@dataclass(frozen=True)
class Parameter:
    """A parameter of a generator.

    Attributes:
        name: as in the spec.
        type: ``int``, ``float``, ``str`` or ``bool``.
        default: of that type; None where the generator chooses.
    """

    name: str
    type: type
    default: int | float | str | bool | None


LARGEST = 1e300
_NOUN = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def signature(name: str) -> tuple[Parameter, ...]:
    """Return the parameters of the generator *name*.

    Raises:
        PluginError: there is none, or it does not keep to the contract.
    """
    return parameters(name, registry.load(registry.GENERATORS, name))


def generate(name: str, **values: object) -> Graph:
    """Return the graph that the generator *name* makes of *values*.

    A whole number will do for a float, and a float without a fraction for an int.

    Raises:
        UsageError: an unknown parameter, a value of the wrong type, or one the generator refuses.
        PluginError: there is no such generator, or it does not keep to the contract.

    >>> generate("chain", nodes=3)
    Graph(n=3, m=2)
    """
    function = registry.load(registry.GENERATORS, name)
    known = {parameter.name: parameter for parameter in parameters(name, function)}
    for word in values:
        if word not in known:
            hint = did_you_mean(word, known)
            raise UsageError(f"generator {name!r} has no parameter {word!r}{hint} (there are: {', '.join(known)})")
    graph = function(**{word: _converted(name, known[word], value) for word, value in values.items()})
    if not isinstance(graph, Graph):
        raise PluginError(f"generator {name!r} returned a {type(graph).__name__}, not a Graph")
    return graph


def parameters(name: str, function: Callable[..., object]) -> tuple[Parameter, ...]:
    """Return the parameters of *function*, a generator called *name*.

    Raises:
        PluginError: one has no default, or an annotation other than int, float, str or bool.
    """
    hints = get_type_hints(function)
    declared = []
    for word, parameter in inspect.signature(function).parameters.items():
        kind = _plain(hints.get(word))
        if kind is None or parameter.default is inspect.Parameter.empty:
            raise PluginError(
                f"generator {name!r}: its parameter {word!r} needs a default and an annotation int, float, str or bool"
            )
        declared.append(Parameter(word, kind, parameter.default))
    return tuple(declared)


def _plain(hint: Any) -> type | None:
    """Return int, float, str or bool, also from a union with None; None for anything else."""
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        hint = options[0] if len(options) == 1 else None
    return hint if hint in _NOUN else None


def _converted(name: str, parameter: Parameter, value: object) -> object:
    wanted = parameter.type
    exact = isinstance(value, bool) == (wanted is bool)
    if wanted is float and exact and isinstance(value, (int, float, Fraction)) and -LARGEST < value < LARGEST:
        return float(value)
    if (
        wanted is int
        and exact
        and isinstance(value, (float, Fraction))
        and -LARGEST < value < LARGEST
        and value == int(value)
    ):
        return int(value)
    if wanted is not float and exact and isinstance(value, wanted):
        return value
    raise UsageError(f"generator {name!r}: {parameter.name} must be {_NOUN[wanted]}, not {value!r}")
