"""``model.json``: a model as JSON, written and read back exactly. docs/models.md has the schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.json_record import JsonRecord, located
from mtpp_dsl.core.base.spec_limits import MAX_EDGES
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.visible import escaped
from mtpp_dsl.exchange.model.checks import MAX_OPERATORS, MAX_TENSORS
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.parts import Operator, Source, Symbol, Tensor, Weight

__all__ = ["FORMAT", "model_of", "read", "text_of", "write"]

FORMAT = "mtpp-model"
VERSION = 1
MAX_ARGUMENT = 10_000
"""Values within one argument of a source."""

_TOP = (
    "format",
    "version",
    "source",
    "symbols",
    "phases",
    "operators",
    "tensors",
    "weights",
    "outputs",
    "warnings",
    "group_by",
    "experts_read",
)


def write(model: Model, path: Path | str) -> None:
    """Write a model as JSON, one operator, tensor or weight to a line; fields at their defaults are left out.

    Raises:
        OSError: it cannot be written.
    """
    write_text(Path(path), text_of(model))


def text_of(model: Model) -> str:
    """Return the JSON text of a model: see :func:`write`."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "source": _written(model.source)}
    head["symbols"] = {name: _written(symbol) for name, symbol in model.symbols.items()}
    lists = {"operators": model.operators, "tensors": model.tensors, "weights": model.weights}
    if model.group_by:
        head["group_by"] = model.group_by
    if model.experts_read:
        head["experts_read"] = model.experts_read
    parts = [f'"{name}": {_dumped(value)}' for name, value in head.items()]
    parts += [f'"{name}": {_dumped(value)}' for name, value in (("phases", model.phases), ("outputs", model.outputs))]
    parts += [f'"{name}": {_lines([_dumped(_written(item)) for item in items])}' for name, items in lists.items()]
    parts.append(f'"warnings": {_lines([_dumped(text) for text in model.warnings])}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(items: Sequence[str]) -> str:
    return "[\n" + ",\n".join(items) + "\n]" if items else "[]"


def _dumped(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain))


def _plain(value: object) -> object:
    """Return a read-only mapping as a dictionary, for json."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r:.60} is nothing that JSON holds")


NEEDED = ("name", "bytes")
"""What an item must have in a file, where it can have it, even at its default."""
_DEFAULTS: dict[type, list[tuple[str, Any]]] = {
    kind: [(item.name, MISSING if item.name in NEEDED else item.default) for item in fields(kind)]
    for kind in (Operator, Symbol, Tensor, Weight)
}
_DEFAULTS[Source] = [(item.name, MISSING) for item in fields(Source)]


def _written(item: object) -> dict[str, Any]:
    """Return the fields of an item that are not at their defaults, and those that it must have."""
    fields_given = {}
    for name, default in _DEFAULTS[type(item)]:
        value = getattr(item, name)
        if value is not default and (value != default or type(value) is not type(default)):
            fields_given[name] = value
    return fields_given


def read(path: Path | str) -> Model:
    """Return the model that a JSON file holds.

    Raises:
        UsageError: there is no such file; it holds no model, one of another version, or one that cannot be meant (names
            the file and the field); or more than :mod:`mtpp_dsl.exchange.model.checks` allows.
    """
    return model_of(read_json(path), f"{path}")


def is_model(data: object) -> bool:
    """Return whether JSON data say that they are a model."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def model_of(data: object, place: str) -> Model:
    """Return the model that JSON data hold, read from *place*; see :func:`read`."""
    file = JsonRecord(place, data)
    if not is_model(data):
        raise file.error("format", f"expected {FORMAT!r}: this is no model that mtpp wrote")
    if file.data.get("version") != VERSION:
        raise file.error("version", f"found {str(file.data.get('version'))[:20]}; this mtpp reads version {VERSION}")
    _only(file, _TOP)
    operators = file.records("operators", most=MAX_OPERATORS)
    tensors = file.records("tensors", most=MAX_TENSORS) if "tensors" in file else []
    weights = file.records("weights", most=MAX_OPERATORS) if "weights" in file else []
    with located(place):
        return Model(
            operators=tuple(Operator(**_fields(record, _OPERATOR)) for record in operators),
            tensors=tuple(Tensor(**({"producer": None} | _fields(record, _TENSOR))) for record in tensors),
            weights=tuple(Weight(**_fields(record, _WEIGHT)) for record in weights),
            outputs=_integers(file, "outputs") if "outputs" in file else (),
            symbols=_symbols(file),
            phases=_texts(file, "phases") if "phases" in file else (),
            source=_source(file),
            warnings=_texts(file, "warnings") if "warnings" in file else (),
            group_by=file.text("group_by", ""),
            experts_read=file.text("experts_read", ""),
        )


def _only(record: JsonRecord, known: Sequence[str]) -> None:
    for name in record.data:
        if name not in known:
            raise record.error(name[:60], f"there is no such field{did_you_mean(name, known)}")


def _fields(
    record: JsonRecord, readers: Mapping[str, Callable[[JsonRecord, str], Any]], needed: Collection[str] = NEEDED
) -> dict[str, Any]:
    """Return the fields of an item, each as its own reader reads it.

    Args:
        record: the item.
        readers: by the names of fields.
        needed: the fields that such an item must have, where it can have them.

    Raises:
        UsageError: a field that no item has, one that is not as it should be, or one that is missing.
    """
    values = {}
    for name, given in record.data.items():
        reader = readers.get(name)
        if reader is None:
            _only(record, [*readers])
        elif given is not None:
            values[name] = reader(record, name)
    for name in needed:
        if name in readers and name not in values:
            raise record.error(name, "missing")
    return values


def _symbols(file: JsonRecord) -> Mapping[str, Symbol]:
    given = JsonRecord(f"{file.place}: symbols", file.data.get("symbols") or {})
    records = {name: JsonRecord(f"{given.place}: {name[:60]}", entry) for name, entry in given.data.items()}
    return MappingProxyType({name: Symbol(**_fields(entry, _SYMBOL)) for name, entry in records.items()})


def _source(file: JsonRecord) -> Source:
    given = JsonRecord(f"{file.place}: source", file.data.get("source") or {})
    return Source(**_fields(given, _SOURCE, needed=()))


def _text(record: JsonRecord, name: str) -> str:
    value = record.data[name]
    return value if value.__class__ is str and value.isascii() else record.text(name)


def _texts(record: JsonRecord, name: str) -> tuple[str, ...]:
    return tuple(
        _text(JsonRecord(record.place, {f"{name}[{i}]": text}), f"{name}[{i}]") for i, text in _items(record, name)
    )


def _items(record: JsonRecord, name: str) -> Iterator[tuple[int, Any]]:
    value = record.data[name]
    if not isinstance(value, list):
        raise record.error(name, "expected a list")
    if len(value) > MAX_EDGES:
        raise record.error(name, f"there are {len(value):,}; at most {MAX_EDGES:,} are read")
    return enumerate(value)


def _integers(record: JsonRecord, name: str) -> tuple[int, ...]:
    numbers = [value for _, value in _items(record, name)]
    for value in numbers:
        if value.__class__ is not int:
            raise record.error(name, f"expected whole numbers, found {str(value)[:40]}")
    return tuple(numbers)


def _integer(record: JsonRecord, name: str) -> int:
    value = record.data[name]
    if value.__class__ is not int:
        raise record.error(name, f"expected a whole number, found {str(value)[:40]}")
    whole: int = value
    return whole


def _flag(record: JsonRecord, name: str) -> bool:
    if not isinstance(record.data[name], bool):
        raise record.error(name, f"expected true or false, found {str(record.data[name])[:40]}")
    return bool(record.data[name])


def _size(record: JsonRecord, name: str) -> int | float | str:
    return _one_size(record, name, record.data[name])


def _one_size(record: JsonRecord, name: str, value: Any) -> int | float | str:
    if value.__class__ not in (int, float, str):
        raise record.error(name, f"expected a number or a formula, found {str(value)[:40]}")
    size: int | float | str = value
    return size


def _sizes(record: JsonRecord, name: str) -> tuple[int | float | str, ...]:
    return tuple(_one_size(record, f"{name}[{i}]", value) for i, value in _items(record, name))


def _amount(record: JsonRecord, name: str) -> Any:
    value = record.data[name]
    if not isinstance(value, dict):
        return _size(record, name)
    return MappingProxyType({phase: _one_size(record, f"{name}.{phase[:60]}", size) for phase, size in value.items()})


def _versions(record: JsonRecord, name: str) -> Mapping[str, str]:
    given = JsonRecord(f"{record.place}: {name}", record.data[name])
    return MappingProxyType({what: given.text(what) for what in given.data})


def _arguments(record: JsonRecord, name: str) -> Mapping[str, Any]:
    given = JsonRecord(f"{record.place}: {name}", record.data[name])
    count = 0
    waiting: list[Any] = [*given.data.values()]
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, list) and count + len(value) <= MAX_ARGUMENT:
            waiting += value
        elif not isinstance(value, (str, int, float, bool, type(None))) or count > MAX_ARGUMENT:
            raise given.error(name, "expected numbers, texts, true and false, and lists of them, not too many")
    return MappingProxyType({what: _listed(value) for what, value in given.data.items()})


def _listed(value: Any) -> Any:
    """Return lists as tuples, within each other too."""
    return tuple(map(_listed, value)) if isinstance(value, list) else value


_OPERATOR: dict[str, Callable[[JsonRecord, str], Any]] = {
    **dict.fromkeys(("name", "op", "id", "kind", "dtype", "path", "role", "block"), _text),
    **dict.fromkeys(("flop", "read", "write", "weight_read", "saved", "cache"), _amount),
    **dict.fromkeys(("recomputable", "backward"), _flag),
    "layer": _integer,
    "weights": _integers,
}
_TENSOR: dict[str, Callable[[JsonRecord, str], Any]] = {
    **dict.fromkeys(("name", "dtype"), _text),
    "producer": _integer,
    "readers": _integers,
    "bytes": _amount,
    "shape": _sizes,
}
_WEIGHT: dict[str, Callable[[JsonRecord, str], Any]] = {
    **dict.fromkeys(("name", "dtype"), _text),
    **dict.fromkeys(("bytes", "state"), _integer),
    "shape": _integers,
    "tied": _texts,
}
_SYMBOL: dict[str, Callable[[JsonRecord, str], Any]] = {
    **dict.fromkeys(("default", "least", "most"), _integer),
    "at_least": _size,
}
_SOURCE: dict[str, Callable[[JsonRecord, str], Any]] = {
    **dict.fromkeys(("kind", "name", "sha256"), _text),
    "versions": _versions,
    "arguments": _arguments,
}
