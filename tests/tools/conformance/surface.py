"""Write down what programs build on beside the language: public Python names, and the fields of JSON answers."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_origin

from mtpp_dsl.core import registry
from mtpp_dsl.solving.answers.json import schema

MODULES = (
    "mtpp_dsl",
    *(f"mtpp_dsl.{name}" for name in ("algebra", "constraints", "contracts", "errors", "executors", "formats")),
    *(f"mtpp_dsl.{name}" for name in ("problem", "registry", "schemas", "testing")),
)
"""The modules whose names are public."""


def python_names() -> str:
    """Return the public names, a line each, with the arguments of functions and the public names of classes.

    What a class is called with is left out where it has a method ``create`` for that.
    """
    return "".join(f"{line}\n" for line in sorted(_python_names()))


def _python_names() -> Iterator[str]:
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            item = getattr(importlib.import_module(module), name)
            yield f"{module}.{name}{'' if hasattr(item, 'create') else _arguments(item)}"
            if inspect.isclass(item):
                yield from (f"{module}.{name}.{line}" for line in _members(item))
    for group in vars(registry).values():
        if isinstance(group, str) and group.startswith("mtpp_dsl.") and group in registry.BUILTIN:
            yield f"entry points {group}"


def _members(item: type) -> Iterator[str]:
    for name, value in inspect.getmembers(item):
        if not name.startswith("_") and any(name in vars(base) for base in item.__mro__ if _is_ours(base)):
            yield f"{name}{_arguments(value)}"


def _is_ours(item: type) -> bool:
    return item.__module__.startswith("mtpp_dsl")


def _arguments(item: Any) -> str:
    """Return the names of the arguments of what can be called, with "=" where there is a default; "" otherwise."""
    if not callable(item) or get_origin(item) is not None or (inspect.isclass(item) and not _is_ours(item)):
        return ""
    try:
        parameters = inspect.signature(item).parameters.values()
    except (TypeError, ValueError):
        return ""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    shown, keyword_only = [], False
    for p in parameters:
        if p.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            shown, keyword_only = [*shown, "*"], True
        shown.append(f"{stars.get(p.kind, '')}{p.name}{'=' if p.default is not inspect.Parameter.empty else ''}")
    return f"({', '.join(shown)})"


def answer_fields() -> str:
    """Return the fields of the JSON answer, a line each: its path, a "?" where it is optional, its type or values."""
    return "".join(f"{line}\n" for line in _fields("", schema()))


def _fields(path: str, part: dict[str, Any]) -> Iterator[str]:
    for choice in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from _fields(path, choice)
    for name, inner in part.get("properties", {}).items():
        always = "" if name in part.get("required", ()) else "?"
        yield f"{path}{name}{always}: {_kind(inner)}"
        yield from _fields(f"{path}{name}.", inner)
    if isinstance(part.get("items"), dict):
        yield from _fields(f"{path.removesuffix('.')}[].", part["items"])
    if isinstance(part.get("additionalProperties"), dict):
        yield f"{path}*: {_kind(part['additionalProperties'])}"
        yield from _fields(f"{path}*.", part["additionalProperties"])


def _kind(part: dict[str, Any]) -> str:
    if "const" in part:
        return repr(part["const"])
    if "enum" in part:
        return " | ".join(str(value) for value in part["enum"])
    kinds = part.get("type") or sorted({_kind(choice) for choice in (*part.get("anyOf", ()), *part.get("oneOf", ()))})
    return kinds if isinstance(kinds, str) else " | ".join(kinds)


SURFACES: dict[str, Callable[[], str]] = {"python.txt": python_names, "answers.txt": answer_fields}
"""What is recorded beside the chapters, by the names of the files."""
