"""Something that may be written at a place, as completion offers it."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types

from mtpp_dsl.core.text.source import Edit
from mtpp_dsl.language.syntax.keywords import Meaning

Kind = types.CompletionItemKind
KINDS = {
    "param": Kind.Variable,
    "let": Kind.Constant,
    "def": Kind.Function,
    "variable": Kind.Variable,
    "node": Kind.Field,
    "device": Kind.Class,
    "phase": Kind.EnumMember,
    "port": Kind.Property,
    "instance": Kind.Module,
    "type": Kind.Struct,
}
"""How the protocol calls what names are."""


@dataclass(frozen=True)
class Candidate:
    """Something that may be written.

    Attributes:
        label: what the list shows.
        kind: of the protocol.
        rank: the less, the further up.
        detail: a few words beside the label.
        meaning: what it means, for the help beside the list.
        snippet: what is written, with places to fill in; "" for the label.
        text: what is written where an editor has no snippets; "" for the label.
        edits: further changes, such as an include.
    """

    label: str
    kind: types.CompletionItemKind
    rank: int = 5
    detail: str = ""
    meaning: Meaning | None = None
    snippet: str = ""
    text: str = ""
    edits: tuple[Edit, ...] = ()
