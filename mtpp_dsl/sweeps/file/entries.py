"""Read the entries of a sweep file, [[methods]] and [[problems]], and complain of what is wrong in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import MtppError, UsageError, did_you_mean, nearest
from mtpp_dsl.sweeps.file.fields import Fields, several
from mtpp_dsl.sweeps.file.methods import build_method, file_options, own_solver, solvers_for
from mtpp_dsl.sweeps.file.problem_files import declared
from mtpp_dsl.sweeps.file.run import Scalar
from mtpp_dsl.sweeps.file.sweep import MethodEntry, ProblemEntry
from mtpp_dsl.sweeps.file.toml_text import Key, TomlText

__all__ = ["filled", "label_of", "read_methods", "read_problem"]

BUILT_IN_NAMES = ("stem", "folder", "scenario", "group")
"""What may stand in braces in names, beside names of params: for a file, its stem."""
MAX_TEXT = 2**20
_PLACEHOLDER = re.compile(r"(?<!\$)\{([^{}]*)\}")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class MethodReader:
    """Reads the entries of ``methods``.

    Args:
        text: of the sweep file.
        folder: where its paths start from.
        solvers: those of the whole sweep; None where it says nothing.
    """

    def __init__(self, text: TomlText, folder: Path, solvers: tuple[str, ...] | None) -> None:
        self.text, self.folder, self.solvers = text, folder, solvers

    def read(self, entry: Any, key: Key) -> MethodEntry | None:
        """Return a method with what it is given; None where that is complained of."""
        data: Mapping[str, Any] = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(data, dict):
            self.text.complain(key, f"expected the name of a method, or a table with it, not {entry!r:.40}")
            return None
        fields = Fields(self.text, data, key, "a method")
        before = len(self.text.wrong)
        name = fields.word("name")
        if not name:
            self.text.complain(key, 'a method has no name: write name = "auto"')
        options, coarsen = fields.scalars("options"), fields.word("coarsen")
        solver_options, start = fields.scalars("solver_options"), fields.word("start")
        settings, label = fields.settings(), fields.word("label")
        given = fields.words("solvers")
        one = fields.words("solver")
        if one is not None and given is not None:
            fields.complain("solver", "say solver or solvers, not both")
        fields.finish()
        if len(self.text.wrong) > before:
            return None
        try:
            method = build_method(name, options, coarsen=coarsen, folder=self.folder)
        except MtppError as error:
            self.text.complain(fields.place(_blamed(error, fields)), str(error))
            return None
        traits = method_traits(method)
        solvers = self._solvers(name, one or given, fields, own_solver(method))
        if solver_options and (not solvers or traits.may_need_none):
            why = "may use several solvers, or none" if traits.may_need_none else "uses no solver"
            fields.complain("solver_options", f"method {name!r} {why}, and takes no options for one")
        if not traits.seeded and settings.seeds is not None and len(settings.seeds) > 1:
            fields.complain("seeds", f"method {name!r} draws no random numbers: every seed gives the same")
        return MethodEntry(
            name=name,
            label=label or label_of(name, options, coarsen),
            options=options,
            solvers=solvers,
            solver_options=solver_options,
            coarsen=coarsen,
            start=start,
            settings=settings,
            seeded=traits.seeded,
            files=tuple(file_options(name, options)),
        )

    def _solvers(self, name: str, own: tuple[str, ...] | None, fields: Fields, usual: str) -> tuple[str, ...]:
        """Return the solvers that a method is run with: its own, those of the sweep that it can use, or the usual."""
        asked = self.solvers if own is None else own
        if asked is None:
            return (usual,) if usual else ()
        try:
            can, why = solvers_for(name, asked)
        except MtppError as error:
            if own is not None:  # what is wrong with those of the sweep is said once
                fields.complain("solver" if "solver" in fields else "solvers", str(error))
            return ()
        if own is not None:
            for reason in why:
                fields.complain("solver" if "solver" in fields else "solvers", reason)
        elif usual and not can:
            self.text.complain(fields.key, f"none of the solvers of the sweep is for this method: {'; '.join(why)}")
        return tuple(dict.fromkeys(can))


def _blamed(error: MtppError, fields: Fields) -> str:
    """Return the key that an error about a method is most likely about."""
    for name in ("options", "coarsen"):
        if name in fields and (name.rstrip("s") in str(error) or (name == "coarsen" and "rules" in str(error))):
            return name
    return "name"


def label_of(name: str, options: Mapping[str, Scalar], coarsen: str) -> str:
    """Return what tables call a method that has no label: its name with its options.

    >>> label_of("milp-split", {"channels": 1}, "")
    'milp-split (channels = 1)'
    """
    parts = [
        f"{option} = {str(value).lower() if isinstance(value, bool) else value}" for option, value in options.items()
    ]
    parts += [f"coarsen = {Path(coarsen).stem}"] if coarsen else []
    return f"{name} ({', '.join(parts)})" if parts else name


def read_methods(
    text: TomlText,
    entries: Any,
    key: Key,
    folder: Path,
    solvers: tuple[str, ...] | None,
    others: Sequence[MethodEntry] = (),
) -> list[MethodEntry]:
    """Return the methods of a list in a sweep file; complaints go to *text*.

    Args:
        text: of the sweep file.
        entries: the list, as TOML has it.
        key: where it stands.
        folder: where paths start from.
        solvers: those of the whole sweep; None where it says nothing.
        others: methods that a text in the list may name by their labels: those of the file, in one of its sizes.
    """
    known = {other.label: other for other in others}
    if isinstance(entries, str):
        entries = [entries]
    if not isinstance(entries, list) or not entries:
        text.complain(key, 'expected a list of methods, such as ["auto", "heft"]')
        return []
    reader = MethodReader(text, folder, solvers)
    methods: list[MethodEntry] = []
    labels: set[str] = set()
    for number, entry in enumerate(entries):
        method = known.get(entry) if isinstance(entry, str) else None
        method = method or reader.read(entry, (*key, number))
        if method is None:
            continue
        if method.label in labels:
            text.complain((*key, number), f"two methods have the label {method.label!r}: give one a label of its own")
        labels.add(method.label)
        methods.append(method)
    return methods


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
        has = f"this has {' and '.join(given)}" if given else "this has none of them"
        text.complain(fields.key, f"a problem has one of spec, text and generator; {has}")
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
    values_of: dict[str, tuple[Scalar, ...]] = {}
    for param, value in fields.table(name).items():
        try:
            values_of[param] = tuple(dict.fromkeys(several(value)))
        except UsageError as error:
            fields.text.complain((*fields.place(name), param), f"{name}.{param}: {error}")
    return values_of


def _scenarios(value: Any) -> tuple[str, ...]:
    names = several(value)
    if not all(isinstance(name, str) for name in names):
        raise UsageError('expected the name of a scenario, or a list of them; "" is none')
    return tuple(dict.fromkeys(map(str, names)))


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
