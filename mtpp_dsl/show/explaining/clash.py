"""Why there is no plan: an irreducible set of what a spec says, each part of which is needed for the clash.

Parts are left out one after the other (a deletion filter), first whole statements, then the rows, devices and nodes
that those are about. A part is left out for good if there is still no plan, and is needed if there then is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from mtpp_dsl.checks.infeasible import quick
from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.constraints import Constraint, Linear
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.result import Infeasibility
from mtpp_dsl.core.text.source import shortened
from mtpp_dsl.language.syntax.places import SpecLines
from mtpp_dsl.show.explaining.constraint_costs import statement_words
from mtpp_dsl.show.explaining.feasibility import Feasibility
from mtpp_dsl.show.explaining.items import Item, items_of
from mtpp_dsl.show.explaining.question import Question
from mtpp_dsl.show.explaining.slack import slack_of
from mtpp_dsl.show.report.names import fold_names

MOST_SHOWN = 8
"""Parts of one statement that are told in words."""
GENERAL = "no plan satisfies the whole spec"
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
            "lines": [line.to_json() for line in self.lines],
            "parts": list(self.parts),
            "needed": self.needed,
            "breaks": list(self.breaks),
            "alone": self.alone,
        }

    def words(self) -> list[str]:
        """Return it in words."""
        lines = [f"  {statement_words(self.lines, self.named)}"]
        if self.parts:
            lines.append(f"      of it: {fold_names([shortened(part, 80) for part in self.parts], MOST_SHOWN)}")
        lines += [f"      {line}: {' '.join(line.text.split())}" for line in self.lines[1 : MOST_SHOWN + 1]]
        if self.breaks:
            lines.append(f"      without it the rest can hold, for example with: {shortened(self.breaks[0], 400)}")
        return lines


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
            heading = "This cannot hold, by itself"
        elif unsure:
            heading = f"These {count} cannot hold together"
        else:
            either = "either" if count == 2 else "any one"
            heading = f"These {count} cannot hold together; dropping {either} of them resolves the conflict"
        if self.minimal:
            return f"{heading}:"
        if not unsure or count == 1:
            return f"{heading} (the time was too short to tell whether less of it would do):"
        names = ", ".join(str(member.lines[0]) if member.lines else member.named for member in unsure[:MOST_SHOWN])
        which = "all of them" if len(unsure) == count else names
        verb = "is" if len(unsure) == 1 else "are"
        return f"{heading} (the time was too short to tell whether {which} {verb} needed for that):"


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
        lines = [f"No plan exists{why}.", *first.words()]
        for clash in others:
            lines += ["", f"Whatever becomes of these: {shortened(clash.reason, 600)}.", *clash.words()]
        if first.members and self.rest is not False:
            what = "all of these" if others or len(first.members) > 1 else "this"
            unknown = f"The time was too short to find out whether there is a plan without {what}."
            known = self._alone() or [f"Without {what} there is a plan."]
            lines += ["", *(known if self.rest else [unknown])]
        if self.kept:
            names = fold_names([shortened(rule, 200) for rule in self.kept], MOST_SHOWN)
            lines += ["", f"Always kept, as the problem would be another one without it: {names}."]
        return lines

    def _alone(self) -> list[str]:
        """Return which statement of the only clash it is enough to leave out, and which it is not."""
        members = self.clashes[0].members
        if len(self.clashes) > 1 or len(members) < 2:
            return []
        enough, short = ([m for m in members if m.alone is answer] for answer in (True, False))
        if len(enough) == len(members):
            return ["Without any one of these there is a plan."]
        lines = [f"Without {_which(enough)} there is a plan."] if enough else []
        if short:
            lines.append(f"Without {_which(short)} there is still no plan: something else clashes then.")
        return [*lines, *([] if enough else ["Without all of these there is a plan."])]


def _which(members: Sequence[ClashMember]) -> str:
    """Return statements of which each is meant alone, by their lines."""
    names = [str(member.lines[0]) if member.lines else member.named for member in members]
    return f"{names[0]} alone" if len(names) == 1 else f"any one of {', '.join(names)}"


MOST_PARTS = 400
"""Statements of more rows, devices and nodes are not looked into."""
MOST_CLASHES = 5
PARTS_SHARE = 0.7
"""Of the time that is left once the statements of a clash are known, what its parts take at most."""


def infeasible(question: Question, seconds: float) -> Clashes | None:
    """Return why there is no plan; None unless the answer says that there is none.

    Args:
        question: about an answer that is infeasible.
        seconds: that it may take.
    """
    claim = question.answer.get("infeasible")
    if claim is None:
        return None
    items = items_of(question.problem, question.places)
    asked = Feasibility(items, question, seconds)
    why = Infeasibility(claim["reason"], tuple(claim["clash"]), bool(claim["minimal"]))
    every = frozenset(range(len(items.items)))
    asked.take(every, why)
    clashes: list[Clash] = []
    left = every
    rest: bool | None = None
    while len(clashes) < MOST_CLASHES:
        core, needed = _shrunk(asked, left)
        clashes.append(_clash_of(asked, core, needed))
        left = left - core
        rest = asked.ask(left) if core else False
        if not core or rest is not False:
            break
    if len(clashes) == 1 and rest and len(clashes[0].members) > 1:
        clashes = [_alone(asked, clashes[0], every, every - left)]
    return Clashes(tuple(clashes), rest, tuple(str(rule) for rule in items.kept))


def _alone(asked: Feasibility, clash: Clash, every: frozenset[int], core: frozenset[int]) -> Clash:
    """Return the only clash, told of each member whether there is a plan for all but this member."""
    answers = [asked.ask(every - {number}) for number in sorted(core)]
    members = zip(clash.members, answers, strict=True)
    return replace(clash, members=tuple(replace(member, alone=answer) for member, answer in members))


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
                smaller = [subset for subset in _named(asked, core) if subset < core and asked.ask(subset) is False]
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
    subsets: dict[frozenset[int], None] = {}
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
            subsets[numbers] = None
    return sorted(subsets, key=len)


def _stem(name: str) -> str:
    return name.partition("[")[0].partition(" (")[0]


def _clash_of(asked: Feasibility, core: frozenset[int], needed: frozenset[int]) -> Clash:
    """Return a clash of statements with the parts of them that it takes."""
    items = asked.items
    chosen = sorted(core)
    pieces = [(number, piece) for number in chosen for piece in items.split(number)]
    if len(pieces) > MOST_PARTS or asked.over:
        pieces = [(number, items.items[number]) for number in chosen]
    parts = replace(items, items=tuple(piece for _, piece in pieces))
    within = Feasibility(parts, asked.question, max(0.0, asked.end - monotonic()) * PARTS_SHARE)
    every = frozenset(range(len(pieces)))
    within.take(every, _why(asked, core))
    within.use(plan for plan, _ in asked.plans)
    small, sure = _shrunk(within, every)
    members = []
    for number in chosen:
        own = frozenset(i for i in small if pieces[i][0] == number)
        member = _member(items.items[number], [pieces[i][1] for i in sorted(own)], len(items.split(number)) > 1)
        plain = number in needed or (bool(own) and own <= sure)
        breaks = _broken(within, own, small, max(0.0, within.end - monotonic()) / len(chosen))
        members.append(replace(member, needed=True if plain else None, breaks=breaks))
    minimal = small == sure and all(member.needed for member in members)
    return Clash(_reason(within, small), tuple(members), minimal)


def _member(item: Item, own: Sequence[Item], several: bool) -> ClashMember:
    """Return the member of a clash for the parts of a statement that it takes."""
    lines = dict.fromkeys([*item.lines, *(line for piece in own for line in piece.lines)])
    parts = tuple(piece.part for piece in own if piece.part) if several else ()
    rules = tuple(rule for piece in own for rule in piece.constraints)
    barred = tuple(d for piece in own for d in piece.barred)
    return ClashMember(item.named, tuple(lines), parts, None, (), rules, barred)


def _broken(asked: Feasibility, own: frozenset[int], core: frozenset[int], seconds: float) -> tuple[str, ...]:
    """Return what a plan that keeps all of a clash but some items breaks of those; of rows, as little as it can."""
    rows = [rule for number in own for rule in asked.items.items[number].constraints if isinstance(rule, Linear)]
    plan = asked.best(core - own, seconds) if rows else asked.witness(core - own)
    if plan is None:
        return ()
    try:
        problem = asked.items.problem_of(core)
        slacks = slack_of(problem, plan, evaluate(problem, plan), rows)
    except MtppError:
        slacks = []
    amounts = [f"{slack.name} {slack.said}" for slack in slacks if slack.left < 0]
    return tuple(dict.fromkeys(amounts or asked.broken(plan, core)))


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
    reason = counted.reason if counted is not None else ""
    if not reason:
        reason = GENERAL if core else _why(asked, core).reason
    return reason.removesuffix(".")
