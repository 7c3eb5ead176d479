"""The problems of a sweep file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.errors import UsageError, did_you_mean, nearest
from mtpp_dsl.sweeps.file.fields import Fields, several
from mtpp_dsl.sweeps.file.problem_files import declared
from mtpp_dsl.sweeps.file.run import Scalar
from mtpp_dsl.sweeps.file.sweep import ProblemEntry

__all__ = ["BUILT_IN_NAMES", "filled", "placeholders", "read_problem"]

BUILT_IN_NAMES = ("stem", "folder", "scenario", "group")
"""What may stand in braces in names, beside names of params: for a file, its stem."""
MAX_TEXT = 2**20
_PLACEHOLDER = re.compile(r"(?<!\$)\{([^{}]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def placeholders(template: str) -> list[str]:
    """Return the names in braces, but for those behind a dollar.

    >>> placeholders("${MTPP_DATA}/{stem}-k{k}")
    ['stem', 'k']
    """
    return _PLACEHOLDER.findall(template)


def filled(template: str, words: Mapping[str, Scalar]) -> str:
    """Return a text with what *words* say in place of the names in braces.

    >>> filled("{stem}-k{k}", {"stem": "vgg", "k": 4})
    'vgg-k4'

    Raises:
        UsageError: a name stands for nothing.
    """
    for name in placeholders(template):
        if name not in words:
            raise UsageError(f"{template}: {{{name}}} stands for nothing here{did_you_mean(name, words)}")
    return _PLACEHOLDER.sub(lambda match: str(words[match[1]]), template)


def read_problem(fields: Fields, labels: Collection[str], number: int) -> ProblemEntry | None:
    """Return an entry of ``problems``; None where it says no spec. Complaints go to the text of *fields*.

    Args:
        fields: the table.
        labels: of the methods of the sweep.
        number: of the entry, from 1, which names a text that has no name.
    """
    text = fields.text
    specs, body, generator = fields.words("spec"), fields.read_or("text", _text, ""), fields.word("generator")
    over = fields.word("over")
    params = _values(fields, "params")
    made = _values(fields, "with")
    entry = ProblemEntry(
        specs=specs or (),
        text=body,
        params=params,
        scenarios=fields.read_or("scenario", _scenarios, ("",)),
        name=fields.word("name"),
        group=fields.word("group"),
        methods=fields.words("methods"),
        missing=fields.read_or("missing", _missing, "error"),
        settings=fields.settings(),
        stem=generator or f"text-{number}",
        place=text.span(fields.key).place,
    )
    fields.finish()
    given = [name for name in ("spec", "text", "generator") if name in fields]
    if len(given) != 1:
        said = f"this has {' and '.join(given)}" if given else "this has none of them"
        text.complain(fields.key, f"a problem has one of spec, text and generator; {said}")
        return None
    for label in entry.methods or ():
        if label not in labels:
            fields.complain("methods", f"no method of the sweep has the label {label!r}{did_you_mean(label, labels)}")
    for name in ("over", "with"):
        if name in fields and not generator:
            fields.complain(name, "this is for problems with generator")
    if generator:
        entry = _generated(fields, entry, generator, over, made)
    _check_names(fields, entry)
    return entry


def _generated(
    fields: Fields, entry: ProblemEntry, generator: str, over: str, made: Mapping[str, tuple[Scalar, ...]]
) -> ProblemEntry:
    """Return the entry with the text of a spec that takes its graph from a generator and the rest from a file."""
    known = registry.available(registry.GENERATORS)
    if generator not in known:
        fields.complain(
            "generator",
            f"there is no generator {generator!r}{nearest(generator, known)} (there are: {', '.join(known)})",
        )
    if not over:
        where = fields.place("over" if "over" in fields else "generator")
        fields.text.complain(where, 'a generator makes a graph alone: name the spec of the devices, over = "….mtpp"')
    for name in made:
        if not _IDENTIFIER.fullmatch(name):
            fields.complain("with", f"{name!r} is no name of a parameter")
        if name in entry.params:
            fields.complain("with", f"{name!r} is among params too")
    arguments = ", ".join(f"{name} = {declared(name)}" for name in made)
    params = [f"param {declared(name)} = {_literal(values[0])}" for name, values in made.items()]
    lines = [f"include {_literal(over)}", *params, f"graph from generator {generator} ({arguments})", ""]
    return ProblemEntry(**{**vars(entry), "text": "\n".join(lines), "params": {**entry.params, **made}})


def _literal(value: Scalar) -> str:
    """Return a value as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)


def _check_names(fields: Fields, entry: ProblemEntry) -> None:
    """Complain about names in braces that stand for nothing."""
    known = [*BUILT_IN_NAMES, *entry.params]
    for name in placeholders(entry.name):
        if name not in known:
            fields.complain(
                "name", f"{{{name}}} stands for nothing here{did_you_mean(name, known)} (there are: {', '.join(known)})"
            )


def _values(fields: Fields, name: str) -> dict[str, tuple[Scalar, ...]]:
    """Return a table whose values are lists, ranges or single values."""
    found: dict[str, tuple[Scalar, ...]] = {}
    for param, value in fields.table(name).items():
        try:
            found[param] = tuple(dict.fromkeys(several(value)))
        except UsageError as error:
            fields.text.complain((*fields.place(name), param), f"{name}.{param}: {error}")
    return found


def _scenarios(value: Any) -> tuple[str, ...]:
    found = several(value)
    if not all(isinstance(each, str) for each in found):
        raise UsageError('expected the name of a scenario, or a list of them; "" is none')
    return tuple(dict.fromkeys(map(str, found)))


def _missing(value: Any) -> str:
    if value not in ("error", "skip"):
        raise UsageError('expected "error", or "skip" to leave out problems whose files are not there')
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError("expected the text of a spec")
    if len(value) > MAX_TEXT:
        raise UsageError(f"a spec in place has at most {MAX_TEXT:,} characters: put it into a file")
    return value if "\n" in value else f"{value}\n"
