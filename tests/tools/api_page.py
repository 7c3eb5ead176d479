"""Write docs/api.md anew, from the docstrings of the public modules: ``python -m tests.tools.api_page``.

A test compares them. Examples in it are those of the docstrings, which ``tests/test_doctests.py`` runs.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
MODULES = (
    "mtpp_dsl",
    "mtpp_dsl.algebra",
    "mtpp_dsl.problem",
    "mtpp_dsl.constraints",
    "mtpp_dsl.errors",
    "mtpp_dsl.contracts",
    "mtpp_dsl.registry",
    "mtpp_dsl.testing",
)
"""The public modules, in the order of the page."""
HEAD = """# Python API

Every public name, from its docstring; [the guide](python.md) shows how they are used. This page is written by `python
-m tests.tools.api_page`.
"""
SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises")
MAX_LINE = 100
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data):`~?([^`]+)`")


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *_contents(), *(line for module in MODULES for line in _module(module))]).rstrip() + "\n"


def names(module: str) -> list[str]:
    """Return the public names of a module that it documents itself: functions, classes and values."""
    there = importlib.import_module(module)
    return [name for name in there.__all__ if module == "mtpp_dsl" or not _is_elsewhere(name, module)]


def _is_elsewhere(name: str, module: str) -> bool:
    """Return whether a name is on the page already, under a module before this one."""
    found = getattr(importlib.import_module(module), name)
    before = map(importlib.import_module, MODULES[: MODULES.index(module)])
    return any(name in there.__all__ and getattr(there, name) is found for there in before)


def _contents() -> Iterator[str]:
    for module in MODULES:
        listed = ", ".join(f"[`{name}`](#{_anchor(module, name)})" for name in names(module))
        yield from [f"**`{module}`**: {listed}", ""]


def _title(module: str, name: str) -> str:
    return f"{module.removeprefix('mtpp_dsl').lstrip('.')}.{name}".lstrip(".")


def _anchor(module: str, name: str) -> str:
    return re.sub(r"[^\w\- ]", "", _title(module, name).lower()).replace(" ", "-")


def _module(module: str) -> Iterator[str]:
    there = importlib.import_module(module)
    yield from [f"## {module}", ""]
    yield from _text(inspect.getdoc(there) or "")
    documented = _values(module)
    for name in names(module):
        value = getattr(there, name)
        yield from [f"### {_title(module, name)}", ""]
        if inspect.isclass(value):
            yield from _class(value)
        elif callable(value):
            yield from [*_signature(name, value), "", *_text(inspect.getdoc(value) or "")]
        else:
            yield from _text(documented.get(name) or "A type.")


def _values(module: str) -> dict[str, str]:
    """Return the strings that stand behind assignments in the source of a module, by the names assigned."""
    source = inspect.getsource(importlib.import_module(module))
    found = re.findall(
        r'^(\w+)(?:: [^=\n]+)? = [^\n]*(?:\n(?!"""|\w)[^\n]*)*\n"""(.*?)"""', source, re.MULTILINE | re.DOTALL
    )
    return dict(found)


def _class(kind: type) -> Iterator[str]:
    if not issubclass(kind, BaseException) and "__init__" in _own(kind) and not _is_protocol(kind):
        yield from [*_signature(kind.__name__, kind), ""]
    else:
        bases = [base.__name__ for base in kind.__bases__ if base is not object]
        yield from [f"`class {kind.__name__}{'(' + ', '.join(bases) + ')' if bases else ''}`", ""]
    yield from _text(inspect.getdoc(kind) or "")
    for name, member in _members(kind):
        if isinstance(member, (property, cached_property)):
            text = inspect.getdoc(member) or ""
            yield from [f"#### {kind.__name__}.{name}", "", *_text(text)]
        elif callable(getattr(kind, name)):
            yield from [f"#### {kind.__name__}.{name}", ""]
            yield from [*_signature(name, getattr(kind, name)), "", *_text(inspect.getdoc(getattr(kind, name)) or "")]


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _own(kind: type) -> dict[str, Any]:
    """Return what a class and its bases of ours define; what is nearest to the class counts."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("mtpp_dsl"):
            found.update(vars(base))
    return found


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, in the order in which they are written."""
    if issubclass(kind, BaseException):
        return
    for name, member in _own(kind).items():
        documented = isinstance(member, (property, cached_property, staticmethod, classmethod)) or inspect.isfunction(
            member
        )
        if not name.startswith("_") and documented:
            yield name, member


def _signature(name: str, function: Any) -> list[str]:
    """Return a signature as code: in one line if it fits, else an argument a line."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return [f"`{name}`"]
    parts, starred = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        parts.append(_parameter(parameter))
    positional = [p for p in found.parameters.values() if p.kind is p.POSITIONAL_ONLY and p.name not in ("self", "cls")]
    if positional:
        parts.insert(len(positional), "/")
    result = ""
    if found.return_annotation is not found.empty and not inspect.isclass(function):
        result = f" -> {_annotation(found.return_annotation)}"
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= MAX_LINE:
        return ["```text", line, "```"]
    return ["```text", f"{name}(", *(f"    {part}," for part in parts), f"){result}", "```"]


def _parameter(parameter: inspect.Parameter) -> str:
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{star}{parameter.name}"
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    default = default if " at 0x" not in default and len(default) <= 40 else "…"
    return f"{text} = {default}" if ":" in text else f"{text}={default}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _text(doc: str) -> Iterator[str]:
    """Yield a docstring as Markdown: roles and double backquotes as code, sections as lists, examples as sessions."""
    for block in _blocks(doc.splitlines()):
        first = block[0]
        if first.startswith(">>>"):
            yield from ["```text", *block, "```", ""]
        elif first.rstrip(":") in SECTIONS and first.endswith(":"):
            yield from [f"**{first.rstrip(':')}**", "", *_entries(block[1:]), ""]
        elif first.startswith(("    ", "==")) or "::" in first:
            yield from ["```text", *textwrap.dedent("\n".join(block)).splitlines(), "```", ""]
        else:
            yield from [*map(_inline, block), ""]


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield paragraphs, sections and examples; a section ends where a line is not indented."""
    block: list[str] = []
    section = table = False
    for line in [*lines, ""]:
        starts_section = line.rstrip(":") in SECTIONS and line.endswith(":")
        indented = line.startswith(" ")
        if block and (
            starts_section
            or (not line.strip() and not section and not table)
            or (section and line.strip() and not indented)
        ):
            yield block
            block, section = [], False
        if line.strip():
            section = section or starts_section
            block.append(line)
    if block:
        yield block


def _entries(lines: list[str]) -> Iterator[str]:
    """Yield the entries of a section as a list, those of ``name: text`` with the name as code."""
    text = textwrap.dedent("\n".join(lines)).splitlines()
    entries: list[str] = []
    for line in text:
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        elif line.strip():
            entries.append(line.strip())
    for entry in entries:
        name, colon, rest = entry.partition(": ")
        if colon and re.fullmatch(r"[\w*, .]+", name):
            yield f"- `{name}`: {_inline(rest)}"
        else:
            yield f"- {_inline(entry)}"


def _inline(line: str) -> str:
    line = ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2] if '~' in match[0] else match[1]}`", line)
    return re.sub(r"``([^`]+)``", r"`\1`", line)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
