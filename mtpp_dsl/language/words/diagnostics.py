"""Messages about a spec as JSON, for editors and other programs (``diagnostics.json`` beside it is the schema)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mtpp_dsl.core.text.source import Diagnostic, Edit, Fix, Span, shortened

SCHEMA_VERSION = 1


def diagnostics_to_json(
    name: str, diagnostics: Sequence[Diagnostic], fixed: Iterable[tuple[Span, str]] = ()
) -> dict[str, Any]:
    """Return what ``mtpp check --json`` prints.

    Lines and columns count from 1, columns in code points; the end of a range is the first column that is not in it.

    Args:
        name: of the spec, as the user gave it.
        diagnostics: what was found, in order.
        fixed: what was changed before, each with its place in the text as it was.
    """
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    return {
        "schema": SCHEMA_VERSION,
        "spec": name,
        "sound": errors == 0,
        "errors": errors,
        "warnings": len(diagnostics) - errors,
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in diagnostics],
        "fixed": [{**_place(span), "title": title} for span, title in fixed],
    }


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code or None,
        "severity": diagnostic.severity,
        "message": shortened(diagnostic.message),
        "notes": [shortened(note) for note in diagnostic.notes],
        **_place(diagnostic.span),
        "included_from": _included_from(diagnostic.span),
        "places": [{**_place(place.span), "message": shortened(place.says)} for place in diagnostic.places],
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
    }


def _place(span: Span | None) -> dict[str, Any]:
    return {"file": None, "range": None} if span is None else {"file": span.source.name, "range": _range(span)}


def _range(span: Span) -> dict[str, dict[str, int]]:
    ends = (span.source.position(offset) for offset in (span.start, max(span.start, span.stop)))
    start, end = ({"line": line, "column": column} for line, column in ends)
    return {"start": start, "end": end}


def _included_from(span: Span | None) -> list[dict[str, Any]]:
    """Return the ``include`` statements that brought the file, the innermost first."""
    places = []
    origin = None if span is None else span.source.included_from
    while origin is not None:
        places.append(_place(origin))
        origin = origin.source.included_from
    return places


def _fix(fix: Fix) -> dict[str, Any]:
    return {"title": shortened(fix.title), "safe": fix.safe, "edits": [_edit(edit) for edit in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    return {**_place(edit.span), "text": edit.text}
