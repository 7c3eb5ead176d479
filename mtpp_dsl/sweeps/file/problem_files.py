"""Problems of runs: their specs are read, and the files that they are made of are known by a hash.

The hash is part of a run's key. It is made from the text of the spec and from the names and contents of the files that
it reads, without making the problem where that is possible: reading a sweep must not generate its graphs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from mtpp_dsl.core.base.files import absolute, read_bytes
from mtpp_dsl.core.errors import MtppError, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.lowering.choosing import Group
from mtpp_dsl.language.lowering.lower import Spec
from mtpp_dsl.language.lowering.lower import read as read_spec
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.sweeps.file.run import Run, Scalar, digest

__all__ = [
    "Absent",
    "Changed",
    "Fingerprint",
    "Hashes",
    "fingerprint",
    "path_params",
    "problem_of",
    "spec_of",
    "substituted",
    "values_of",
]

DATA = "${MTPP_DATA}"
_ALONE = (".json", ".dot")
_FORMATS_ALONE = ("msr", "moirai", "model", "graph", "dot")
"""Suffixes and formats of graphs that are in one file: others may read more than the file that is named."""


class Changed(UsageError):
    """The spec, or a file that it reads, is not what it was when the sweep was read."""


class Absent(UsageError):
    """A file that a sweep names is not there, or there is no folder of data."""


class Hashes:
    """Hashes of files, each computed once as long as the file stays as it is."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}

    def __call__(self, path: str) -> str:
        """Return the SHA-256 of a file; "" where there is none, which is for those to complain of who need it.

        Raises:
            UsageError: it cannot be read.
        """
        try:
            status = Path(path).stat()
        except (OSError, ValueError):
            return ""
        stamp = status.st_mtime_ns, status.st_size, status.st_ino
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = stamp, hashlib.sha256(read_bytes(path)).hexdigest()
        return known[1]


HASHES = Hashes()


@dataclass(frozen=True)
class _File:
    """A file that a statement of a spec names.

    Attributes:
        label: how the spec names it; the same wherever the folder lies.
        path: where it is.
        alone: whether nothing else is read with it.
    """

    label: str
    path: Path
    alone: bool


def substituted(text: str, data: str) -> str:
    """Return a path of a sweep file with the data folder in place of ``${MTPP_DATA}``.

    Raises:
        Absent: it names the data folder, and there is none.
    """
    if DATA not in text:
        return text
    if not data:
        raise Absent(f"{text}: there is no folder of data: set MTPP_DATA to where it is")
    return text.replace(DATA, data)


def spec_of(run: Run) -> Spec:
    """Return the spec of a run, read and parsed.

    Raises:
        SpecError: it does not parse.
        UsageError: it cannot be read.
    """
    folder = Path(run.folder)
    if run.in_place:
        return read_spec(run.spec, folder=folder)
    return read_spec(folder / substituted(run.spec, run.data))


def declared(name: str) -> str:
    """Return the name under which a spec declares a param: a word of the language, such as nodes, ends in ``_`` there.

    The graph of a generator may so have a parameter ``nodes`` in a sweep.
    """
    return f"{name}_" if name in RESERVED else name


def values_of(spec: Spec, params: Mapping[str, Scalar], folder: str, data: str) -> dict[str, Scalar]:
    """Return the values of params as ``-D`` takes them: paths start from the folder of the sweep file."""
    statements = [statement for statement, _ in _placed(spec.parsed.statements)]
    of_params = (statement for statement in statements if isinstance(statement, tree.ParamStatement))
    kinds = {param.name.text: param.type for param in of_params}
    values: dict[str, Scalar] = {}
    for short, value in params.items():
        name = declared(short)
        kind = kinds.get(name)
        if isinstance(value, str):
            value = substituted(value, data)
            if kind is not None and kind.text in ("path", "table"):
                value = str(Path(folder) / value)
        values[name] = value
    return values


@dataclass(frozen=True)
class Fingerprint:
    """What a problem is read from.

    Attributes:
        digest: hash of the text of the spec and of the names and contents of all files.
        files: their SHA-256, by absolute path.
        problem: the problem, where it had to be made.
    """

    digest: str
    files: Mapping[str, str]
    problem: Problem | None = None


def fingerprint(
    spec: Spec, values: Mapping[str, Scalar], scenario: str = "", hashes: Hashes | None = None
) -> Fingerprint:
    """Return what a problem is read from.

    Where it cannot be told from the statements alone which files are read, the problem is made.

    Args:
        spec: read and parsed.
        values: of its params, from :func:`values_of`.
        scenario: the one that counts; "" for none.
        hashes: computes those of data files; None takes those that this process has kept.

    Raises:
        SpecError: the problem had to be made, and something is wrong in it.
        UsageError: a file cannot be read.
    """
    hashes = hashes or HASHES
    own = None if spec.path is None else absolute(spec.path)
    text = hashlib.sha256(spec.source.text.encode()).hexdigest()
    included = [sha for path, sha in spec.hashes.items() if path != own]
    named, problem = _named_files(spec, values), None
    if named is None or not all(file.alone for file in named):
        problem = spec.problem(values, scenario=scenario or None)
        files = {_path_of(name, spec): sha for name, sha in problem.origin.files.items()}
        hashed = [(Path(path).name, sha) for path, sha in files.items()]
    else:
        files = {absolute(file.path): hashes(absolute(file.path)) for file in named}
        once = dict.fromkeys((file.label, absolute(file.path)) for file in named)
        hashed = [(label, files[path]) for label, path in once]
    hashed.sort(key=itemgetter(0))  # files of one name, in several folders, stay in the order in which they are read
    sha256 = digest({"text": text, "includes": included, "files": hashed})
    return Fingerprint(sha256, {**files, **spec.hashes}, problem)


def path_params(spec: Spec) -> frozenset[str]:
    """Return the names of the params whose values are files that the spec reads: of these the contents count."""
    names: set[str] = set()
    for statement, _ in _placed(spec.parsed.statements):
        match statement:
            case tree.ParamStatement(name=name, type=kind) if kind is not None and kind.text == "table":
                names.add(name.text)
            case (
                tree.GraphFile(path=path)
                | tree.ImportStatement(path=path)
                | tree.ImportPlan(path=path)
                | tree.TimesFile(path=path)
            ) if path.is_name:
                names.add(path.value)
    return frozenset(names)


def problem_of(run: Run) -> Problem:
    """Return the problem of a run, made of the very files that its key speaks of.

    Raises:
        Changed: they are others now.
        SpecError: something is wrong in the spec.
        UsageError: a file cannot be read.
    """
    try:
        spec = spec_of(run)
        values = values_of(spec, run.params, run.folder, run.data)
        here = fingerprint(spec, values, run.scenario)
    except MtppError as error:
        raise Changed(f"the spec cannot be read as it was when the sweep was: {error}") from error
    if here.digest != run.spec_sha256:
        raise Changed("the spec, or a file that it reads, is not what it was when the sweep was read")
    problem = here.problem or spec.problem(values, scenario=run.scenario or None)
    _check_read(problem, spec, here.files)
    return problem


def _check_read(problem: Problem, spec: Spec, files: Mapping[str, str]) -> None:
    """Raise Changed where a problem was made of other files than those that the key of its run speaks of."""
    known = {os.path.realpath(path): sha for path, sha in files.items()}
    for name, sha in problem.origin.files.items():
        before = known.get(os.path.realpath(_path_of(name, spec)))
        if before is None and sha not in files.values():  # files of the library are named otherwise
            raise UsageError(f"the spec reads {name}, of which the key of the run knows nothing")
        if before not in (None, sha):
            raise Changed(f"{name} is not what it was when the sweep was read")


def _path_of(name: str, spec: Spec) -> str:
    """Return the absolute path of a file as the origin of a problem names it."""
    return absolute((Path() if spec.path is None else spec.path.parent) / name)


def _placed(statements: Iterable[tuple[tree.Statement, Path]]) -> Iterator[tuple[tree.Statement, Path]]:
    for statement, folder in statements:
        if isinstance(statement, Group):
            yield from _placed(statement.inner)
        else:
            yield statement, folder


def _named_files(spec: Spec, values: Mapping[str, Scalar]) -> list[_File] | None:
    """Return the files that the statements of a spec name; None where that cannot be told."""
    statements = list(_placed(spec.parsed.statements))
    params = {param.name.text: (param, at) for param, at in statements if isinstance(param, tree.ParamStatement)}
    named: list[_File | None] = []
    for statement, folder in statements:
        match statement:
            case tree.ParamStatement(name=name, type=kind) if kind is not None and kind.text == "table":
                if name.text in values:
                    named.append(_File(f"param {name.text}", Path(str(values[name.text])), alone=True))
                elif statement.table is not None:
                    named.append(_file(statement.table, folder, params, values, alone=True))
            case tree.GraphFile(path=path, options=options) | tree.ImportStatement(path=path, options=options):
                form = next((option.value for option in options if option.name.text == "format"), None)
                alone = None if form is None else getattr(form, "name", "") in _FORMATS_ALONE
                named.append(_file(path, folder, params, values, alone=alone))
            case tree.ImportPlan(path=path) | tree.TimesFile(path=path):
                named.append(_file(path, folder, params, values, alone=True))
    files = [file for file in named if file is not None]
    return files if len(files) == len(named) else None


def _file(
    path: tree.Path,
    folder: Path,
    params: Mapping[str, tuple[tree.ParamStatement, Path]],
    values: Mapping[str, Scalar],
    *,
    alone: bool | None,
) -> _File | None:
    """Return the file that a statement names by its path, or by a param; None where its value cannot be told.

    Without a format the suffix says whether the file is *alone*.
    """
    label, value = path.value, path.value
    if path.is_name:
        label = f"param {path.value}"
        if path.value not in params:
            return None
        param, home = params[path.value]
        if path.value in values:
            value = str(values[path.value])
        elif isinstance(param.default, tree.Text):
            value = param.default.value
            folder = home if param.type is not None and param.type.text == "path" else folder
        else:
            return None
    where = folder / value
    return _File(label, where, where.suffix.lower() in _ALONE if alone is None else alone)
