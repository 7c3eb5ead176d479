"""Sweep files: TOML to a :class:`~mtpp_dsl.sweeps.file.sweep.Sweep`. Nothing that a file says is ever executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.sweeps.file.entries import read_methods, read_problem
from mtpp_dsl.sweeps.file.fields import Fields
from mtpp_dsl.sweeps.file.sweep import MethodEntry, ProblemEntry, Sweep
from mtpp_dsl.sweeps.file.toml_text import Key, TomlText, read_toml

VERSION = 1
MARK = "mtpp-sweep"
_FIXED = (MARK, "name", "sizes")
"""Top-level keys that no size replaces."""
_MERGED = ("params", "with")
"""Tables of a problem of which a size replaces single entries."""


def data_folder() -> str:
    """Return the folder that ``${MTPP_DATA}`` stands for; "" where there is none.

    It is what the environment variable says, else ``shared/data`` beside the checkout.
    """
    named = os.environ.get("MTPP_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "data"
    return str(folder.absolute()) if folder.is_dir() else ""


def read_sweep(path: str | os.PathLike[str], size: str | None = None) -> Sweep:
    """Read a sweep file, at one of its sizes or as it stands.

    Args:
        path: of the file.
        size: the name of one of its tables ``[sizes.NAME]``; None or "" for the file as it stands.

    Raises:
        SpecError: with everything that is wrong in it, each in its place.
        UsageError: it cannot be read, or has no such size.
    """
    path = Path(path)
    text = read_toml(path)
    _check_version(text)
    sizes = text.data.get("sizes", {})
    if not isinstance(sizes, dict) or not all(isinstance(size, dict) for size in sizes.values()):
        text.complain(("sizes",), "sizes: expected tables [sizes.NAME]")
        text.check()
    if size and size not in sizes:
        there = f"there are: {', '.join(sizes)}" if sizes else "it has none"
        raise UsageError(f"{path} has no size {size!r}{did_you_mean(size, sizes)} ({there})")
    folder = Path(os.path.normpath(path.absolute().parent))
    sweep = _read(text, path, folder, size or "", tuple(sizes))
    text.check()
    for other in sizes:  # mistakes in those that are not asked for are said, too
        _read(text, path, folder, other, tuple(sizes))
        text.check()
    return sweep


def _check_version(text: TomlText) -> None:
    """Raise SpecError where the file does not say that it is a sweep of a version known here."""
    version = text.data.get(MARK)
    if version is None:
        near = did_you_mean(next(iter(text.data), ""), [MARK])
        text.complain((), f"this is no sweep file: it does not say {MARK} = {VERSION}{near}")
    elif version != VERSION or isinstance(version, bool):
        text.complain((MARK,), f"{MARK} is {version!r:.40}; this version of mtpp reads {VERSION}")
    text.check()


def _read(text: TomlText, path: Path, folder: Path, size: str, sizes: tuple[str, ...]) -> Sweep:
    at: dict[str, Key] = {}
    data = dict(text.data)
    changes: Mapping[str, Any] = text.data["sizes"][size] if size else {}
    for name in changes:
        if name == "problems":
            continue
        if name in _FIXED:
            text.complain(("sizes", size, name), f"a size does not change {name!r}")
        data[name], at[name] = changes[name], ("sizes", size, name)
    fields = Fields(text, data, (), "a sweep", at)
    for name in _FIXED:
        fields.raw(name)
    name = fields.word("name", path.stem)
    summary, solvers, settings = fields.word("summary"), fields.words("solvers"), fields.settings()
    methods = _methods(text, fields, folder, solvers, changed="methods" in changes)
    problems = _problems(fields, changes, size, {method.label for method in methods})
    fields.finish()
    return Sweep(path, name, summary, problems, methods, settings, size, sizes, folder, data_folder())


def _methods(
    text: TomlText, fields: Fields, folder: Path, solvers: tuple[str, ...] | None, *, changed: bool
) -> tuple[MethodEntry, ...]:
    """Return the methods; those of a size may name methods of the file by their labels."""
    entries = fields.raw("methods")
    others: list[MethodEntry] = []
    if changed and "methods" in text.data:
        others = read_methods(text, text.data["methods"], ("methods",), folder, solvers)
    if entries is None:
        text.complain((), 'the sweep has no methods: write methods = ["auto"]')
        return ()
    return tuple(read_methods(text, entries, fields.place("methods"), folder, solvers, others))


def _problems(fields: Fields, changes: Mapping[str, Any], size: str, labels: set[str]) -> tuple[ProblemEntry, ...]:
    """Return the problems, as a size has changed them."""
    text = fields.text
    tables = fields.tables("problems")
    if not tables:
        text.complain(("problems",), 'the sweep has no problems: write [[problems]] with spec = "….mtpp"')
    made = [dict(table) for table in tables]
    places: list[dict[str, Key]] = [{} for _ in tables]
    dropped: set[int] = set()
    key: Key = ("sizes", size, "problems")
    own = changes.get("problems", [])
    if not isinstance(own, list) or not all(isinstance(table, dict) for table in own):
        text.complain(key, f"expected [[sizes.{size}.problems]]")
        own = []
    for number, change in enumerate(own):
        _change(text, change, (*key, number), made, places, dropped)
    entries = [
        read_problem(Fields(text, table, ("problems", number), "a problem", places[number]), labels, number + 1)
        for number, table in enumerate(made)
        if number not in dropped
    ]
    if tables and len(dropped) == len(tables):
        text.complain(key, f"size {size!r} drops every problem")
    return tuple(entry for entry in entries if entry is not None)


def _change(
    text: TomlText,
    change: Mapping[str, Any],
    key: Key,
    made: list[dict[str, Any]],
    places: list[dict[str, Key]],
    dropped: set[int],
) -> None:
    """Change the problems whose group or name a table of a size says."""
    which = change.get("which")
    known = [table[name] for table in made for name in ("group", "name") if isinstance(table.get(name), str)]
    hit = [number for number, table in enumerate(made) if which in (table.get("group"), table.get("name"))]
    if not isinstance(which, str) or not hit:
        fault = f"no problem has the group or the name {which!r:.60}" if which is not None else "say which problems"
        hint = did_you_mean(str(which), known) if which is not None else ""
        text.complain((*key, "which"), f'{fault}{hint}: write which = "its group, or its name as the file has it"')
        return
    drop = change.get("drop", False)
    if not isinstance(drop, bool):
        text.complain((*key, "drop"), "drop is true or false")
    for number in hit:
        if drop:
            dropped.add(number)
        for name, value in change.items():
            if name in ("which", "drop"):
                continue
            before = made[number].get(name)
            if name in _MERGED and isinstance(before, dict) and isinstance(value, dict):
                made[number][name] = {**before, **value}
            else:
                made[number][name] = value
            places[number][name] = (*key, name)
