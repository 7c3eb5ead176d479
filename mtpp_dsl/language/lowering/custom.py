"""Read what plug-ins add to specs: constraints with words of their own, and targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.units import NONE, SIZE, TIME, Dimension
from mtpp_dsl.core.contracts.targets import target_called, target_options
from mtpp_dsl.core.errors import MtppError, PluginError, UsageError
from mtpp_dsl.core.problem.custom import CustomConstraint, Option, Statement
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import targeted
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import RULES
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import Locals, iterate
from mtpp_dsl.language.values.members import Empty, members
from mtpp_dsl.language.values.options import Options
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, NodeRef


def lower_custom(statement: tree.ConstraintStatement, scope: SpecScope) -> Iterator[CustomConstraint]:
    """Yield what ``constraint KEYWORD …`` of a plug-in means, one constraint per step of its comprehension.

    Raises:
        Complaint: members that are no nodes or devices; an option that makes no sense.
        PluginError: the plug-in cannot be imported, or breaks its contract.
    """
    word = statement.rule.text
    kind = _kind(word)
    scope.remarks.need("nodes", "weights", "devices", "options", "time unit")
    for local in iterate(statement.clauses, scope):
        assert scope.graph is not None
        assert scope.devices is not None
        try:
            sets = tuple(members((member,), scope, local, NodeRef) for member in statement.members)
            devices = None if statement.devices is None else members(statement.devices, scope, local, DeviceRef)
        except Empty as empty:
            empty.warn(scope)
            continue
        stated = Statement(
            sets=sets,
            devices=devices,
            options=_options(statement, kind.options, scope, local),
            graph=scope.graph,
            machines=scope.devices,
            origin=statement.span.place,
        )
        yield _made(kind, stated, statement)


def _kind(word: str) -> type[CustomConstraint]:
    """Return the class of the plug-in's constraint *word*.

    Raises:
        PluginError: it cannot be imported, or is not what the contract asks for.
    """
    kind: Any = registry.load(registry.CONSTRAINTS, word)
    subject = f"constraint {word!r} ({registry.available(registry.CONSTRAINTS)[word].value})"
    if word in RULES:
        raise PluginError(f"{subject} has a keyword of the language; rename it")
    if not (isinstance(kind, type) and issubclass(kind, CustomConstraint)):
        raise PluginError(f"{subject} is no class derived from mtpp_dsl.core.problem.custom.CustomConstraint")
    if kind.keyword != word:
        raise PluginError(f"{subject} has the keyword {kind.keyword!r}: give its entry point the same name")
    made = vars(kind).get("__dataclass_params__")
    if made is None or not made.frozen:
        raise PluginError(f"{subject} is no frozen dataclass: write @dataclass(frozen=True, kw_only=True) above it")
    return kind


def _made(kind: type[CustomConstraint], stated: Statement, statement: tree.ConstraintStatement) -> CustomConstraint:
    """Return the constraint that the plug-in makes of a statement."""
    try:
        constraint = kind.lower(stated)
        hash(constraint)
    except MtppError as error:
        raise Complaint(str(error), statement.span, code="MTPP-E511") from None
    except Exception as error:
        raise PluginError(f"lower() of constraint {kind.keyword!r} failed: {error!r}") from error
    if not isinstance(constraint, CustomConstraint):
        raise PluginError(f"lower() of constraint {kind.keyword!r} returned a {type(constraint).__name__}")
    return constraint


def _options(
    statement: tree.ConstraintStatement, known: Mapping[str, Option], scope: SpecScope, local: Locals
) -> Mapping[str, Any]:
    """Return the values of the options of a statement by name, defaults included."""
    owner = f"constraint {statement.rule.text}"
    given = Options(statement.options, known, owner, scope, local)
    values: dict[str, Any] = {}
    for name, option in known.items():
        if name not in given:
            if option.required:
                raise Complaint(
                    f"{owner} needs the option {name!r}: write ({name} = …)", statement.span, code="MTPP-E511"
                )
            values[name] = option.default
            continue
        value = _value(given, name, option, scope)
        if isinstance(value, (int, float)) and value < option.least:
            raise Complaint(
                f"{name} must be at least {option.least:g}; this is {value:g}", given.span(name), code="MTPP-E214"
            )
        values[name] = value
    return MappingProxyType(values)


def _value(given: Options, name: str, option: Option, scope: SpecScope) -> Any:
    """Return the value of an option that is given."""
    match option.kind:
        case "whole":
            return given.whole(name)
        case "text":
            return given.text(name)
        case "word":
            return given.word(name, option.choices)
        case kind:
            quantity = given.quantity(name, [_dimension(kind, scope)])
            return None if quantity is None else float(quantity.value)


def _dimension(kind: str, scope: SpecScope) -> Dimension:
    """Return what an option of a kind is measured in: times and memory by the problem's own units."""
    if kind == "time":
        return TIME if scope.units.time else NONE
    if kind == "size":
        return SIZE if scope.graph is not None and scope.graph.memory_unit == "B" else NONE
    return NONE


def under_target(problem: Problem, statement: tree.TargetStatement, scope: SpecScope) -> Problem:
    """Return the problem under the limits of the target that a statement names; ``llama_cpp`` means "llama-cpp".

    Raises:
        Complaint: there is no such target, it has no such option, or it cannot do what the problem is about.
    """
    written, known = statement.name.text, registry.available(registry.TARGETS)
    name = written if written.partition(":")[0] in known else written.replace("_", "-")
    try:
        options = target_options(name.partition(":")[0])
        given = Options(statement.options, options, f"target {written}", scope)
        words = [given.word(option, choices) for option, choices in options.items()]
        target = target_called(":".join([name, *filter(None, words)]))
        return targeted(problem, target.name, target.restrict)
    except (PluginError, UsageError) as error:
        raise Complaint(str(error), statement.name.span, code="MTPP-E512") from None
