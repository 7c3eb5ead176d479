"""The words that may stand in a place: options by what takes them, and the values of options that are words.

The tables are those by which specs are read; :mod:`mtpp_dsl.language.words.meanings` says what each word means.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import get_args

from mtpp_dsl.core import constraints, registry
from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.contracts.targets import target_options
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.problem.custom import CustomConstraint, Option
from mtpp_dsl.core.problem.objective import OBJECTIVES
from mtpp_dsl.exchange.generators.generate import Parameter, signature
from mtpp_dsl.exchange.model.choices import OPTIONS as MODEL_OPTIONS
from mtpp_dsl.exchange.model.kinds import TYPES
from mtpp_dsl.language.lowering.graph_items import NODE_OPTIONS
from mtpp_dsl.language.lowering.lower_constraints import RULE_OPTIONS
from mtpp_dsl.language.lowering.lower_devices import DEVICE_OPTIONS, INTERCONNECTS, LINK_OPTIONS
from mtpp_dsl.language.lowering.lower_pipelines import PIPELINED
from mtpp_dsl.language.lowering.lower_switches import SWITCH_OPTIONS
from mtpp_dsl.language.syntax.keywords import BEGINS_ITEM, RESERVED, RULES, STATEMENTS
from mtpp_dsl.language.syntax.rules import custom_rules
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS

__all__ = [
    "BUILT_IN",
    "BY",
    "NUMBERS",
    "PARAM_TYPES",
    "choices_of",
    "functions",
    "options_of",
    "owners",
    "signature_of",
]

PARAM_TYPES = ("int", "float", "bool", "string", "path", "table", "time", "size", "bandwidth")
"""Types of params."""

BUILT_IN = ("nodes", "devices", "edges", "phases", *OBJECTIVES, "true", "false", "inf")
"""Names that expressions know without a declaration, and objectives."""

NUMBERS = tuple(TYPES)
"""Types of numbers, for ``dtype`` and ``weight_type``."""

BY: Mapping[str, tuple[str, ...]] = {"colocate": ("color", "kind", "label"), "break": ("tasks", "batches", "time")}
"""Words behind ``by``, by the rule."""

_SCHEDULES = tuple(f'"{word}"' if word[0].isdigit() else word for word in PIPELINED)
_CHOICES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("node", "part"): ("forward", "backward"),
    ("device", "io"): ("paid", "free"),
    ("interconnect", "overflow"): ("none", "stream", "prefetch"),
    ("interconnect", "routing"): ("widest", "direct"),
    ("", "overlap"): ("none", "full"),
    ("", "send"): ("once", "each"),
    ("", "duplex"): ("full", "half"),
    ("constraint", "parts"): ("both", "forward"),
    ("objective", "parts"): ("together", "separate"),
    ("objective", "transfer"): ("per_batch", "per_input"),
    ("", "schedule"): _SCHEDULES,
    ("constraint", "groups"): ("ordered", "free"),
    ("constraint", "recompute"): ("never", "always", "free"),
    ("constraint", "sync"): ("weights", "none"),
    ("constraint", "share"): get_args(constraints.Sharing),
    ("constraint", "empty"): ("allowed", "never"),
    ("constraint", "scope"): ("within", "between", "both"),
    ("times", "unit"): tuple(name for name, (_, dimension) in UNITS.items() if dimension == UNITS["s"][1]),
}


def owners() -> tuple[str, ...]:
    """Return all that takes options, such as ``device``, ``interconnect links`` and ``constraint acyclic``."""
    kinds = ("node", "edge", "device", "type", "switch", "link", "phase", "times", "file", "constraint:")
    return (
        *kinds,
        *(f"interconnect {kind}" for kind in INTERCONNECTS),
        "objective",
        *(f"objective {name}" for name in OBJECTIVES),
        *(f"constraint {rule}" for rule in RULES),
    )


def options_of(owner: str) -> tuple[str, ...]:
    """Return the options that *owner* takes; () where it takes none, or is unknown.

    Args:
        owner: one of :func:`owners`, ``generator NAME``, ``target NAME``, or the keyword of a plug-in's constraint
            behind ``constraint``. ``constraint:`` is a labelled one, and ``objective`` an expression.

    >>> options_of("link"), options_of("constraint acyclic")
    (('bandwidth', 'latency'), ('parts', 'groups'))
    """
    kind, _, name = owner.partition(" ")
    match kind:
        case "interconnect":
            return INTERCONNECTS.get(name, ())
        case "objective":
            return (*OBJECTIVES.get(name, ()), "within")
        case "constraint" if name in RULES:
            return RULE_OPTIONS.get(name, ())
        case "constraint":
            return tuple(_custom_options(name))
        case "target":
            return tuple(_target_options(name))
        case "generator":
            return tuple(parameter.name for parameter in _parameters(name))
    return _SIMPLE.get(owner, ())


_SIMPLE: Mapping[str, tuple[str, ...]] = {
    "node": NODE_OPTIONS,
    "edge": ("size",),
    "device": DEVICE_OPTIONS,
    "type": DEVICE_OPTIONS,
    "switch": SWITCH_OPTIONS,
    "link": LINK_OPTIONS,
    "phase": ("weight",),
    "times": ("unit", "device", "phase"),
    "file": ("format", *MODEL_OPTIONS),
    "constraint:": ("penalty",),
}


def choices_of(owner: str, option: str) -> tuple[str, ...]:
    """Return the words of which the value of an option is one; () where it is none of a list.

    >>> choices_of("interconnect links", "overlap"), choices_of("objective bottleneck", "parts")
    (('none', 'full'), ('together', 'separate'))
    """
    kind, _, name = owner.partition(" ")
    if option == "format" and kind == "file":
        return tuple(registry.available(registry.FORMATS))
    if kind == "file":
        return tuple(MODEL_OPTIONS.get(option, ()))
    if option not in options_of(owner):
        return ()
    if kind == "target":
        return _target_options(name)[option]
    if kind == "constraint" and name not in RULES:
        custom = _custom_options(name).get(option)
        return tuple(custom.choices) if custom is not None else ()
    return _CHOICES.get(("device" if kind == "type" else kind.rstrip(":"), option), _CHOICES.get(("", option), ()))


@cache
def words() -> frozenset[str]:
    """Return all words that the language knows: those that begin statements, rules, options, functions, units."""
    known = {
        *STATEMENTS,
        *BEGINS_ITEM,
        *RULES,
        *RESERVED,
        *PARAM_TYPES,
        *BUILT_IN,
        *INTERCONNECTS,
        *functions(),
        *UNITS,
    }
    known |= {word for words in BY.values() for word in words} | set(NUMBERS)
    for owner in owners():
        for option in options_of(owner):
            known |= {option, *(word.strip('"') for word in choices_of(owner, option))}
    return frozenset(known)


def functions() -> tuple[str, ...]:
    """Return the names of the functions of the language."""
    return (*FUNCTIONS, *AGGREGATES)


def signature_of(function: str) -> str:
    """Return how a function is called, with what its arguments are.

    >>> signature_of("time"), signature_of("sum")
    ('time(node, device)', 'sum(value for … in …)')
    """
    if function in AGGREGATES:
        return f"{function}(value for … in …)"
    names = FUNCTIONS[function][1] if function in FUNCTIONS else ()
    return f"{function}({', '.join(f'[{name[:-1]}]' if name.endswith('?') else name for name in names)})"


def _parameters(generator: str) -> tuple[Parameter, ...]:
    if generator not in registry.available(registry.GENERATORS):
        return ()
    try:
        return signature(generator)
    except PluginError:
        return ()


@cache
def _custom_options(rule: str) -> Mapping[str, Option]:
    """Return the options of a plug-in's constraint, by name."""
    if rule not in custom_rules():
        return {}
    try:
        kind = registry.load(registry.CONSTRAINTS, rule)
    except PluginError:
        return {}
    return kind.options if isinstance(kind, type) and issubclass(kind, CustomConstraint) else {}


@cache
def _target_options(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the options of a target, with the words that each can be given; *name* as a spec has it."""
    known = registry.available(registry.TARGETS)
    try:
        return target_options(name if name in known else name.replace("_", "-"))
    except PluginError:
        return {}
