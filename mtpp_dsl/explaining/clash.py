"""Why there is no plan: an irreducible set of what a spec says, each part of which is needed for the clash.

Parts are left out one after the other (a deletion filter), first whole statements, then the rows, devices and nodes
that those are about. A part is left out for good if there is still no plan, and is needed if there then is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from mtpp_dsl.base.shown import Short
from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.constraints import Constraint
from mtpp_dsl.errors import MtppError
from mtpp_dsl.explaining.feasibility import Feasibility
from mtpp_dsl.explaining.items import Item, items_of
from mtpp_dsl.explaining.question import Question
from mtpp_dsl.language.places import SpecLines
from mtpp_dsl.plans.result import Infeasibility

__all__ = ["Clash", "Clashes", "Member", "infeasible"]

MOST_PARTS = 400
"""Statements of more rows, devices and nodes are not looked into."""
MOST_SHOWN = 8
"""Parts of one statement that are told in words."""
MOST_CLASHES = 5
FIRST, PARTS_SHARE = 0.6, 0.5
"""Of the time: for the statements of the first clash; of what is then left, for the parts of its statements."""


@dataclass(frozen=True)
class Member(Short):
    """One statement, or an option of a device, that belongs to a clash.

    Attributes:
        named: as messages call it.
        lines: of the spec that say it, and those of the amounts of the devices that it is about.
        parts: the rows, devices or nodes of it without which there is a plan; () for all of it.
        needed: whether there is a plan without it; None if that was not found out.
        breaks: what a plan without it breaks of it, with the amounts; () where none is known.
        constraints: of these parts.
        barred: the device that does not support some kinds, where that is the member; -1 where it is not.
    """

    named: str
    lines: tuple[SpecLines, ...]
    parts: tuple[str, ...]
    needed: bool | None
    breaks: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    barred: int = -1

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "named": self.named,
            "lines": [each.to_json() for each in self.lines],
            "parts": list(self.parts),
            "needed": self.needed,
            "breaks": list(self.breaks),
        }

    def words(self) -> list[str]:
        """Return it in words."""
        at = f"{self.lines[0]}: " if self.lines else ""
        said = " ".join(self.lines[0].text.split()) if self.lines and self.lines[0].text else self.named
        found = [f"  {at}{said if len(said) <= 200 else said[:200] + '…'}"]
        shown = [*self.parts[:MOST_SHOWN], *([f"{len(self.parts) - MOST_SHOWN} more"] * (len(self.parts) > MOST_SHOWN))]
        if shown:
            found.append(f"      of it: {', '.join(shown)}")
        found += [f"      {each}: {' '.join(each.text.split())}" for each in self.lines[1 : MOST_SHOWN + 1]]
        if self.breaks:
            found.append(f"      without it the rest can hold: then {self.breaks[0]}")
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
    members: tuple[Member, ...]
    minimal: bool

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        members = [member.to_json() for member in self.members]
        return {"reason": self.reason, "members": members, "minimal": self.minimal}

    def words(self) -> list[str]:
        """Return it in words."""
        if not self.members:
            return [self.reason, "No constraint is to blame: without all of them there is no plan, either."]
        return [self.reason, self._heading(), *(line for member in self.members for line in member.words())]

    def _heading(self) -> str:
        count = len(self.members)
        if self.minimal:
            if count == 1:
                return "This cannot hold, by itself:"
            others = "the other one can hold" if count == 2 else f"the other {count - 1} can hold"
            return f"These {count} cannot hold together, and without any one of them {others}:"
        unsure = [member for member in self.members if member.needed is None]
        if not unsure:
            return (
                f"{'This' if count == 1 else f'These {count}'} cannot hold; which parts are needed was not found out:"
            )
        names = ", ".join(str(member.lines[0]) if member.lines else member.named for member in unsure[:MOST_SHOWN])
        left = "whether all are needed" if len(unsure) == count else f"whether {names} are needed, too,"
        return (
            f"{'This' if count == 1 else f'These {count}'} cannot hold together; {left} was not found out in the time:"
        )


@dataclass(frozen=True)
class Clashes(Short):
    """Why there is no plan.

    Attributes:
        clashes: the first, and others that have no member in common with one before them.
        rest: whether there is a plan without the members of all of them; None if that was not found out.
    """

    clashes: tuple[Clash, ...]
    rest: bool | None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"clashes": [clash.to_json() for clash in self.clashes], "rest": self.rest}

    def words(self) -> list[str]:
        """Return it in words."""
        first, *others = self.clashes
        found = ["No plan exists.", *first.words()]
        for clash in others:
            found += ["", "Whatever becomes of these, there is more that cannot hold.", *clash.words()]
        if first.members and self.rest is not False:
            what = "all of these" if others or len(first.members) > 1 else "this"
            said = "there is a plan." if self.rest else "it is not known whether there is one: the time was too short."
            found += ["", f"Without {what} {said}"]
        return found


def infeasible(question: Question, seconds: float) -> Clashes | None:
    """Return why there is no plan; None unless the answer says that there is none.

    Args:
        question: about an answer that is infeasible.
        seconds: that it may take.
    """
    said = question.answer.get("infeasible")
    if said is None:
        return None
    items = items_of(question.problem, question.places)
    asked = Feasibility(items, question, seconds)
    why = Infeasibility(said["reason"], tuple(said["clash"]), bool(said["minimal"]))
    every = frozenset(range(len(items.items)))
    asked.take(every, why)
    found: list[Clash] = []
    left = every
    rest: bool | None = None
    while len(found) < MOST_CLASHES:
        core, needed = _shrunk(asked, left)
        found.append(_told(asked, core, needed))
        left = left - core
        rest = asked.ask(left) if core else False
        if not core or rest is not False:
            break
    return Clashes(tuple(found), rest)


def _shrunk(asked: Feasibility, start: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return a set without a plan, as small as could be shown, and those of it that are needed."""
    core = start
    for named in _named(asked, core):
        if named < core and asked.ask(named) is False:
            core = named
    needed: set[int] = set()
    size = max(1, len(core) // 2)
    while size >= 1 and not asked.over:
        order = sorted(core - needed)
        for at in range(0, len(order), size):
            part = frozenset(order[at : at + size]) & core
            if not part or part <= needed:
                continue
            answer = asked.ask(core - part)
            if answer is False:
                core = core - part
                smaller = [each for each in _named(asked, core) if each < core and asked.ask(each) is False]
                core = min(smaller, key=len, default=core)
            elif answer is True and len(part) == 1:
                needed |= part
        needed &= core
        size = 0 if size == 1 else size // 2
    for one in core - needed:  # what is known already counts, however little time is left
        if asked.known(core - {one}) is True:
            needed.add(one)
    return core, frozenset(needed & core)


def _named(asked: Feasibility, core: frozenset[int]) -> list[frozenset[int]]:
    """Return the items of *core* that reasons name for sets that it is a part of, or that are parts of it."""
    found: dict[frozenset[int], None] = {}
    for chosen, why in list(asked.why.items()):
        if not (chosen <= core or core <= chosen):
            continue
        names = {name.partition("[")[0].partition(" (")[0] for name in why.clash}
        numbers = frozenset(
            number
            for number in core
            if any(
                str(rule) in why.clash or _stem(str(rule)) in names for rule in asked.items.items[number].constraints
            )
        )
        if numbers:
            found[numbers] = None
    return sorted(found, key=len)


def _stem(name: str) -> str:
    return name.partition("[")[0].partition(" (")[0]


def _told(asked: Feasibility, core: frozenset[int], needed: frozenset[int]) -> Clash:
    """Return a clash of statements with the parts of them that it takes."""
    items = asked.items
    chosen = sorted(core)
    pieces = [(number, piece) for number in chosen for piece in items.split(number)]
    if len(pieces) == len(chosen) or len(pieces) > MOST_PARTS or asked.over:
        members = [_member(asked, number, core, number in needed) for number in chosen]
        return Clash(_reason(asked, core), tuple(members), (core == needed and bool(core)) or not core)
    parts = replace(items, items=tuple(piece for _, piece in pieces))
    within = Feasibility(parts, asked.question, max(0.0, asked.end - monotonic()) * PARTS_SHARE)
    every = frozenset(range(len(pieces)))
    within.take(every, _why(asked, core))
    small, sure = _shrunk(within, every)
    members = []
    for number in chosen:
        own = [i for i in sorted(small) if pieces[i][0] == number]
        members.append(_whole(asked, within, number, own, small, needed, sure, pieces))
    minimal = small == sure and all(member.needed for member in members)
    return Clash(_reason(within, small), tuple(members), minimal)


def _whole(
    asked: Feasibility,
    within: Feasibility,
    number: int,
    own: Sequence[int],
    small: frozenset[int],
    needed: frozenset[int],
    sure: frozenset[int],
    pieces: Sequence[tuple[int, Item]],
) -> Member:
    """Return the member of a clash for one statement, with those parts of it that are needed."""
    item = asked.items.items[number]
    named = [pieces[i][1] for i in own]
    whole = len(asked.items.split(number)) == 1
    lines = tuple(dict.fromkeys([*item.lines, *(line for piece in named for line in piece.lines)]))
    breaks = [text for i in own for text in _broken(within, i, small)]
    plain = number in needed or (bool(own) and all(i in sure for i in own))
    parts = () if whole else tuple(piece.part for piece in named if piece.part)
    rules = tuple(rule for piece in named for rule in piece.constraints)
    sure_of = True if plain else None
    return Member(item.named, lines, parts, sure_of, tuple(dict.fromkeys(breaks)), rules, item.barred)


def _member(asked: Feasibility, number: int, core: frozenset[int], needed: bool) -> Member:
    item = asked.items.items[number]
    breaks = tuple(_broken(asked, number, core))
    return Member(item.named, item.lines, (), True if needed else None, breaks, item.constraints, item.barred)


def _broken(asked: Feasibility, number: int, core: frozenset[int]) -> list[str]:
    """Return what a plan that keeps all of a clash but one item breaks of that item."""
    plan = asked.witness(core - {number})
    return [] if plan is None else asked.broken(plan, core)


def _why(asked: Feasibility, core: frozenset[int]) -> Infeasibility:
    """Return the reason for the smallest set within *core* that has one."""
    inside = [(len(chosen), i) for i, chosen in enumerate(asked.why) if chosen <= core]
    reasons = list(asked.why.values())
    return reasons[min(inside)[1]] if inside else reasons[0]


def _reason(asked: Feasibility, core: frozenset[int]) -> str:
    """Return one sentence on why there is no plan with these items, with the amounts where counting shows it."""
    try:
        counted = quick(asked.items.problem_of(core))
    except MtppError:
        counted = None
    said = counted.reason if counted is not None else ""
    if not said:
        count = len(core)
        said = "no plan keeps it" if count == 1 else f"no plan keeps these {count} together"
        said = _why(asked, core).reason if not core else said
    return f"{said[:1].upper()}{said[1:]}."
