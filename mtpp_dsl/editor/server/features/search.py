"""Names that the open specs declare, by a part of the name."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.editor.server.features.places import location_of
from mtpp_dsl.editor.server.reading import TextReading
from mtpp_dsl.exchange.library.entries import FOLDER

__all__ = ["MAX_FOUND", "found_symbols"]

MAX_FOUND = 500
"""Names that one search gives."""

_KINDS = {
    "param": types.SymbolKind.Variable,
    "let": types.SymbolKind.Constant,
    "def": types.SymbolKind.Function,
    "block": types.SymbolKind.Class,
    "node": types.SymbolKind.Object,
    "instance": types.SymbolKind.Object,
    "device": types.SymbolKind.Struct,
    "type": types.SymbolKind.Struct,
    "switch": types.SymbolKind.Struct,
    "phase": types.SymbolKind.EnumMember,
    "scenario": types.SymbolKind.Namespace,
    "constraint": types.SymbolKind.Property,
    "objective": types.SymbolKind.Operator,
    "port": types.SymbolKind.Interface,
}


def found_symbols(readings: Iterable[TextReading], query: str) -> list[types.WorkspaceSymbol]:
    """Return what open specs and the files that they include declare, where *query* is in its name.

    Upper and lower case are the same; an empty query gives all. Variables of loops and the library are left out.
    """
    wanted = query.lower()
    found: dict[tuple[str, int, int], types.WorkspaceSymbol] = {}
    for reading in readings:
        for name, places in reading.index.definitions.items():
            if wanted not in name.lower():
                continue
            for each in places:
                path = each.span.source.path
                if each.kind not in _KINDS or (path is not None and path.is_relative_to(FOLDER)):
                    continue
                where = location_of(reading, each.span)
                if where is None:
                    continue
                key = where.uri, where.range.start.line, where.range.start.character
                found.setdefault(
                    key,
                    types.WorkspaceSymbol(where, visible(name), _KINDS[each.kind], container_name=each.home or None),
                )
                if len(found) >= MAX_FOUND:
                    return list(found.values())
    return list(found.values())
