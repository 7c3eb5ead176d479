"""Say what clashes in a spec without a plan: in words, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.constraints import Constraint
from mtpp_dsl.core.text.source import shortened
from mtpp_dsl.language.syntax.places import SpecLines
from mtpp_dsl.show.explaining.price import statement_words
from mtpp_dsl.show.report.names import fold_names

__all__ = ["GENERAL", "Clash", "ClashMember", "Clashes"]

MOST_SHOWN = 8
"""Parts of one statement that are told in words."""
GENERAL = "no plan keeps all that is asked"
"""The reason where counting shows none."""


@dataclass(frozen=True)
class ClashMember(Short):
    """One statement, or an option of a device, that belongs to a clash.

    Attributes:
        named: as messages call it.
        lines: of the spec that say it, and those of the amounts of the devices that it is about.
        parts: the rows, devices or nodes of it without which there is a plan; () for all of it.
        needed: whether there is a plan without it; None if that was not found out.
        breaks: what a plan without it breaks of it, with the amounts; () where none is known.
        constraints: of these parts.
        barred: the devices that do not support some kinds, where that is the member.
        alone: whether the whole spec has a plan once this statement alone is left out; None if that was not found out.
    """

    named: str
    lines: tuple[SpecLines, ...]
    parts: tuple[str, ...]
    needed: bool | None
    breaks: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    barred: tuple[int, ...] = ()
    alone: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "named": self.named,
            "lines": [each.to_json() for each in self.lines],
            "parts": list(self.parts),
            "needed": self.needed,
            "breaks": list(self.breaks),
            "alone": self.alone,
        }

    def words(self) -> list[str]:
        """Return it in words."""
        found = [f"  {statement_words(self.lines, self.named)}"]
        if self.parts:
            found.append(f"      of it: {fold_names([shortened(part, 80) for part in self.parts], MOST_SHOWN)}")
        found += [f"      {each}: {' '.join(each.text.split())}" for each in self.lines[1 : MOST_SHOWN + 1]]
        if self.breaks:
            found.append(f"      without it the rest can hold, for example with: {shortened(self.breaks[0], 400)}")
        return found


@dataclass(frozen=True)
class Clash(Short):
    """What cannot hold together.

    Attributes:
        reason: one sentence.
        members: what clashes; () where there is no plan whatever is left out.
        minimal: whether every member, and every part of it that is told, was shown to be needed.
    """

    reason: str
    members: tuple[ClashMember, ...]
    minimal: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        members = [member.to_json() for member in self.members]
        return {"reason": self.reason, "members": members, "minimal": self.minimal}

    def words(self) -> list[str]:
        """Return it in words."""
        if not self.members:
            return ["Nothing that could be left out is to blame: without all of it there is no plan, either."]
        return [self._heading(), *(line for member in self.members for line in member.words())]

    def _heading(self) -> str:
        count = len(self.members)
        unsure = [member for member in self.members if not member.needed]
        if count == 1:
            said = "This cannot hold, by itself"
        elif unsure:
            said = f"These {count} cannot hold together"
        else:
            others = "the other one can hold" if count == 2 else f"the other {count - 1} can hold"
            said = f"These {count} cannot hold together, and without any one of them {others}"
        if self.minimal:
            return f"{said}:"
        if not unsure or count == 1:
            return f"{said} (the time was too short to tell whether less of it would do):"
        names = ", ".join(str(member.lines[0]) if member.lines else member.named for member in unsure[:MOST_SHOWN])
        which = "all of them" if len(unsure) == count else names
        verb = "is" if len(unsure) == 1 else "are"
        return f"{said} (the time was too short to tell whether {which} {verb} needed for that):"


@dataclass(frozen=True)
class Clashes(Short):
    """Why there is no plan.

    Attributes:
        clashes: the first, and others that have no member in common with one before them.
        rest: whether there is a plan without the members of all of them; None if that was not found out.
        kept: constraints that were never left out, as they say what is asked.
    """

    clashes: tuple[Clash, ...]
    rest: bool | None
    kept: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "clashes": [clash.to_json() for clash in self.clashes],
            "rest": self.rest,
            "kept": list(self.kept),
        }

    def words(self) -> list[str]:
        """Return it in words."""
        first, *others = self.clashes
        why = "" if first.reason == GENERAL else f": {shortened(first.reason, 600)}"
        found = [f"No plan exists{why}.", *first.words()]
        for clash in others:
            found += ["", f"Whatever becomes of these: {shortened(clash.reason, 600)}.", *clash.words()]
        if first.members and self.rest is not False:
            what = "all of these" if others or len(first.members) > 1 else "this"
            unknown = f"The time was too short to find out whether there is a plan without {what}."
            known = self._alone() or [f"Without {what} there is a plan."]
            found += ["", *(known if self.rest else [unknown])]
        if self.kept:
            names = fold_names([shortened(each, 200) for each in self.kept], MOST_SHOWN)
            found += ["", f"Kept all the while, as without it another problem is asked: {names}."]
        return found

    def _alone(self) -> list[str]:
        """Return which statement of the only clash it is enough to leave out, and which it is not."""
        members = self.clashes[0].members
        if len(self.clashes) > 1 or len(members) < 2:
            return []
        enough, short = ([m for m in members if m.alone is answer] for answer in (True, False))
        if len(enough) == len(members):
            return ["Without any one of these there is a plan."]
        found = [f"Without {_which(enough)} there is a plan."] if enough else []
        if short:
            found.append(f"Without {_which(short)} there is still no plan: something else clashes then.")
        return [*found, *([] if enough else ["Without all of these there is a plan."])]


def _which(members: Sequence[ClashMember]) -> str:
    """Return statements of which each is meant alone, by their lines."""
    names = [str(each.lines[0]) if each.lines else each.named for each in members]
    return f"{names[0]} alone" if len(names) == 1 else f"any one of {', '.join(names)}"
