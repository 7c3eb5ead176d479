"""The methods of a sweep file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.sweeps.file.fields import Fields
from mtpp_dsl.sweeps.file.methods import build_method, file_options, own_solver, solvers_for
from mtpp_dsl.sweeps.file.run import Scalar
from mtpp_dsl.sweeps.file.sweep import MethodEntry
from mtpp_dsl.sweeps.file.toml_text import Key, TomlText

__all__ = ["label_of", "read_methods"]


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
            for each in why:
                fields.complain("solver" if "solver" in fields else "solvers", each)
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
    said = [
        f"{option} = {str(value).lower() if isinstance(value, bool) else value}" for option, value in options.items()
    ]
    said += [f"coarsen = {Path(coarsen).stem}"] if coarsen else []
    return f"{name} ({', '.join(said)})" if said else name


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
    found: list[MethodEntry] = []
    labels: set[str] = set()
    for number, entry in enumerate(entries):
        method = known.get(entry) if isinstance(entry, str) else None
        method = method or reader.read(entry, (*key, number))
        if method is None:
            continue
        if method.label in labels:
            text.complain((*key, number), f"two methods have the label {method.label!r}: give one a label of its own")
        labels.add(method.label)
        found.append(method)
    return found
