"""Where a problem came from, as results record it: the spec, its params, and every file that was read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mtpp_dsl.core.base.exact_numbers import plain_number
from mtpp_dsl.core.base.files import absolute, read_bytes
from mtpp_dsl.core.base.units import NONE, format_exact
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.spec_origin import Origin
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.exchange.library.entries import FOLDER, LIBRARY
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DataTable, MapValue, Quantity, Value
from mtpp_dsl.language.values.values import Sequence as Values

MAX_SHOWN = 100
"""Longer lists are told by their length in what results say of params."""
_PARTLY_READ = (".gguf", ".pt2")


def origin_of(
    source: Source, path: Path | None, scope: SpecScope, hashes: Mapping[str, str], scenario: str | None
) -> Origin:
    """Return where a problem came from.

    Args:
        source: the spec.
        path: of its file; None for a text.
        scope: with the values of the params.
        scenario: the name of the one that counts; None for none.
        hashes: the SHA-256 of every file that was read, the spec's own among them, by absolute path.
    """
    rest = dict(hashes)
    if path is None:
        folder, own = Path(), None
    else:
        folder, own = path.parent, rest.pop(absolute(path), None)
    own = own or hashlib.sha256(source.text.encode()).hexdigest()
    params = {name: plain(value) for name, value in scope.params.items()}
    files = {_seen_from(folder, name): digest for name, digest in sorted(rest.items())}
    shown = None if path is None else str(path)
    text = source.text if path is None else None
    return Origin(shown, own, MappingProxyType(params), scope.units.decimal, MappingProxyType(files), scenario, text)


def _seen_from(folder: Path, path: str) -> str:
    """Return a path as it is seen from a folder, with slashes; by way of links where that is shorter.

    A file of the library is named as ``include`` finds it, wherever the package is installed.
    """
    if Path(path).is_relative_to(FOLDER):
        return f"{LIBRARY}/{Path(path).relative_to(FOLDER).as_posix()}"
    ends = [(path, absolute(folder)), (os.path.realpath(path), os.path.realpath(folder))]
    try:
        ways = [os.path.relpath(*pair).replace(os.sep, "/") for pair in ends]
    except ValueError:  # another drive
        return path.replace(os.sep, "/")
    return min(ways, key=lambda way: way.count("../"))


def lost_files(origin: Origin) -> list[str]:
    """Return the files beside the spec of a problem that have changed since it was read, or are gone.

    Of models, of which not all is read, only those that are gone.
    """
    folder, begin = Path(origin.path or "").parent, f"{LIBRARY}/"
    lost = []
    for name, digest in origin.files.items():
        path = FOLDER / name.removeprefix(begin) if name.startswith(begin) else folder / name
        if not path.is_file() or (path.suffix not in _PARTLY_READ and _digest(path) != digest):
            lost.append(name)
    return lost


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; "" of one that cannot be read."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except (MtppError, OSError, ValueError):
        return ""


def plain(value: Value) -> object:
    """Return the value of a param as answers hold it: a number, text as ``-D`` takes it, or how long a long one is."""
    if isinstance(value, Quantity) and value.dimension == NONE:
        return plain_number(value.value)
    if isinstance(value, DataTable):
        return f"{len(value)} items" if value.path is None else str(value.path)
    if isinstance(value, (Values, MapValue)) and value.weight > MAX_SHOWN:
        return f"{len(value.entries) if isinstance(value, MapValue) else len(value)} items"
    return value if isinstance(value, (str, bool)) else _literal(value)


def _literal(value: Value) -> str:
    """Return a value as the language writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            return f'"{escaped}"'
        case Quantity():
            return format_exact(value.value, value.dimension)
        case Values(kind=kind):
            inside = ", ".join(map(_literal, value))
            return f"{{{inside}}}" if kind == "set" else f"[{inside}]"
        case MapValue(entries=entries):
            return f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in entries.items())}}}"
        case _:
            return str(value)
