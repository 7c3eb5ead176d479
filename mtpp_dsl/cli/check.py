"""``mtpp check``."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from rich.text import Text

from mtpp_dsl.checks.infeasible import forced_together, quick
from mtpp_dsl.cli.mending import MadeFix, mend
from mtpp_dsl.cli.parameters import key_values
from mtpp_dsl.cli.screen import say, screen_width, show, tell_warnings
from mtpp_dsl.core.base.units import counted, format_quantity, format_share
from mtpp_dsl.core.constraints import StageMemory
from mtpp_dsl.core.contracts.protocols import Method, refusal
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import MtppError, SpecError, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.time_sources import counted_sources
from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.lowering.analysis import Analysis
from mtpp_dsl.language.lowering.law import package_law
from mtpp_dsl.language.lowering.lower import analyse
from mtpp_dsl.language.lowering.lower import read as read_spec
from mtpp_dsl.language.syntax.tree import ConstraintStatement, LabelledConstraint
from mtpp_dsl.language.words.diagnostics import diagnostics_to_json
from mtpp_dsl.show.report.columns import facts
from mtpp_dsl.show.report.names import fold_names
from mtpp_dsl.show.report.times import sources_in_words, time_table
from mtpp_dsl.solving.answers.json import dumps
from mtpp_dsl.solving.api import find_method, method_names
from mtpp_dsl.solving.drivers.lexicographic import stages

__all__ = ["check_spec"]

MAX_MEMBERS = 12
"""Number of constraints that are printed with the numbers of their members, unless all are asked for."""
MAX_TEXT = 60
"""Number of characters of a member that are printed."""
MAX_NAMED = 3
"""So many methods of one kind are named unless all are asked for."""
BOUNDS = ("simple", "critical-path")
"""What is named for a bound beside what auto comes to."""
SOLVE, PLAN, BOUND, COMPARE = "solve it", "plan", "bound", "compare"
KINDS = {"plan and bound": SOLVE, "plan": PLAN, "bound": BOUND}


def check_spec(
    spec: Path,
    define: list[str],
    include: list[Path],
    *,
    quiet: bool = False,
    verbose: bool = False,
    json: bool = False,
    fix: bool = False,
    scenario: str | None = None,
) -> int:
    """Read a spec and say what is wrong with it, or what it means; return the exit code.

    Args:
        spec: the file.
        define: values of its params.
        include: folders where its includes are looked for.
        quiet: say nothing but what is wrong.
        verbose: name every method, and why others cannot solve it.
        json: print the messages as JSON, and nothing else.
        fix: make the safe fixes first.
        scenario: the name of the spec's scenario that counts.
    """
    params = key_values(define, "-D")

    def read(texts: Mapping[str | os.PathLike[str], str]) -> Analysis:
        return analyse(spec, params, include, texts=texts, scenario=scenario)

    def find() -> tuple[Analysis, list[MadeFix]]:
        return mend(read) if fix else (read({}), [])

    if json:
        return print_messages(str(spec), find)
    analysis, made = find()
    for change in made:
        say(f"fixed {change.fix.edits[0].span}: {change.fix.title}", stderr=True)
    problem = analysis.problem
    if problem is None:
        raise SpecError(analysis.diagnostics)
    tell_warnings(problem)
    if quiet:
        return 0
    width = screen_width()
    others = [name for name in find_scenarios(spec, include) if name != problem.origin.scenario]
    members = _members(analysis, verbose=verbose)
    facts_found = [
        *_facts(problem, members),
        *([("scenarios", ", ".join(others))] if others else []),
        *_findings(problem),
    ]
    labelled = [(label, Text(text)) for label, text in facts_found]
    labelled += [("law", Text(law)) for law in _law(problem) if verbose]
    labelled += [(label, Text(text)) for label, text in (_all_methods(problem) if verbose else _methods(problem))]
    say(f"{spec}: {_verdict(problem, impossible=quick(problem) is not None)}\n")
    show(facts(labelled, width))
    lines = time_table(problem, width) if verbose else []
    show([Text(line) for line in ["", *lines] if lines])
    return 0


def find_scenarios(spec: Path, include: list[Path]) -> tuple[str, ...]:
    """Return the names of the scenarios of a spec, which parses, for ``--scenario``."""
    return read_spec(spec, include).scenarios


def _verdict(problem: Problem, *, impossible: bool) -> str:
    if impossible:
        return "the spec is well formed, but no plan can meet it"
    return "the spec is sound" + (f", with {counted(len(problem.warnings), 'warning')}" if problem.warnings else "")


def _members(analysis: Analysis, *, verbose: bool) -> list[tuple[str, str]]:
    """Return what each constraint is about, where that is not one node: how many nodes its members are."""
    counted_here = sorted(analysis.scope.remarks.counted.items(), key=lambda entry: entry[0].start)
    lines = []
    for statement in analysis.places.statements:
        if isinstance(statement, (ConstraintStatement, LabelledConstraint)):
            span = statement.span
            inside = [(at, sizes) for at, sizes in counted_here if at.source is span.source and at.start >= span.start]
            sizes_said = [
                _number(at.text, sizes) for at, sizes in inside if at.stop <= span.stop and at.text != "nodes"
            ]
            if any(sizes_said):
                word = statement.rule if isinstance(statement, ConstraintStatement) else statement.label
                lines.append(f"{word.text} ({span.place}): {', '.join(filter(None, sizes_said))}")
    few = lines if verbose or len(lines) <= MAX_MEMBERS + 1 else lines[:MAX_MEMBERS]
    more = [] if len(few) == len(lines) else [f"and {len(lines) - len(few):,} more: --verbose"]
    return [("members", line) for line in [*few, *more]]


def _number(text: str, sizes: Counter[int]) -> str:
    """Return how many nodes a member is, each time that it is read; "" where it is one node each time."""
    if [*sizes] == [1]:
        return ""
    least, most, times = min(sizes), max(sizes), sizes.total()
    shown = " ".join(text.split())
    shown = shown if len(shown) <= MAX_TEXT else f"{shown[: MAX_TEXT - 1]}…"
    number = counted(most, "node") if least == most else f"{least:,} to {counted(most, 'node')}"
    return f"{shown} is {number}{f', {times:,} times' if times > 1 else ''}"


def _facts(problem: Problem, members: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what the spec says, each with a label."""
    constraints = Counter(getattr(c, "label", c.keyword).partition("[")[0] for c in problem.constraints)
    listed = ", ".join(f"{name} ×{count:,}" if count > 1 else name for name, count in constraints.items())
    params = ", ".join(f"{name} = {value}" for name, value in problem.origin.params.items())
    pairs = [
        ("objective" if not problem.later else "objectives", ", then ".join(map(str, problem.objectives))),
        ("graph", f"{counted(problem.graph.n, 'node')}, {counted(problem.graph.m, 'edge')}"),
        ("devices", f"{problem.k:,}: {fold_names([device.name for device in problem.devices])}"),
        ("interconnect", problem.interconnect.keyword + _groups(problem)),
        ("constraints", listed or "none"),
        *members,
        *(() if problem.target is None else (("target", f"{problem.target.name}, whose limits are among them"),)),
        ("work", _work(problem)),
        ("memory", _memory(problem)),
        ("times", sources_in_words(problem)),
        ("params", params),
        ("scenario", problem.origin.scenario or ""),
    ]
    return [(label, text) for label, text in pairs if text]


def _law(problem: Problem) -> list[str]:
    """Return the law that makes times of costs; [] where none is made so."""
    text = problem.graph.law or package_law().span.text
    return [" ".join(text.split())] if counted_sources(problem).get("modelled") else []


def _groups(problem: Problem) -> str:
    groups = len({device.group for device in problem.devices})
    return f", slower between {groups} groups of devices" if problem.hierarchical else ""


def _work(problem: Problem) -> str:
    """Return what all nodes take where each is fastest, and the share of it that an even split would give a device."""
    least = problem.time.min(axis=1, initial=np.inf)
    work = float(least[np.isfinite(least)].sum())
    of_one = " for one input" if problem.objective.batch is not None else ""
    equal = bool((problem.time == problem.time[:, :1]).all())
    where = " in all" if equal else " if every node ran where it is fastest"
    text = f"{format_quantity(work, problem.time_unit)}{of_one}{where}"
    if problem.timed or problem.k == 1:
        return text
    return f"{text}; {format_quantity(work / problem.k, problem.time_unit)} a device if it could be spread evenly"


def _memory(problem: Problem) -> str:
    """Return what all nodes take, of what all devices have beside their reserves."""
    streams = getattr(problem.interconnect, "overflow", False)
    rule = next(iter(problem.of(StageMemory)), None)
    if rule is not None:
        room = problem.size(sum(device.room for device in problem.devices if device.memory is not None))
        saved = problem.size(float(problem.graph.saved.sum()))
        state = problem.size(float(problem.graph.state.sum()))
        return f"{state}, and {saved} for each microbatch in flight, of {room}"
    used = float((problem.graph.params if streams else problem.graph.memory).sum())
    limits = [device.room for device in problem.devices if device.memory is not None]
    if not limits:
        return f"{problem.size(used)}; no device has a limit" if used else ""
    there, unlimited = sum(limits), problem.k - len(limits)
    share = f" ({format_share(used / there)})" if there > 0 else ""
    more = f", and {counted(unlimited, 'device')} without a limit" if unlimited else ""
    return f"{problem.size(used)} of {problem.size(there)}{share}{more}"


def _findings(problem: Problem) -> list[tuple[str, str]]:
    """Return what can be said without a search: that there is no plan, or what has to be together."""
    impossible, forced = quick(problem), forced_together(problem)
    findings = [("no plan", impossible.reason)] if impossible is not None else []
    return findings + ([("note", forced)] if forced is not None else [])


def _methods(problem: Problem) -> list[tuple[str, str]]:
    """Return what auto would do, and a few of the methods that can solve the problem by themselves.

    Only these few are imported: asking all takes twice as long.
    """
    auto = find_method("auto")
    reason = _refusal(auto, problem)
    asked = stages(problem)
    steps: tuple[str, ...] = ()
    if reason is None:
        outlines = [auto.outline(one) for one in asked]  # type: ignore[attr-defined]
        steps = tuple(dict.fromkeys(name for outline in outlines for name in outline))
    turns = f"{_in_words(steps)} in turn, until plan and bound meet" if steps[1:] else "".join(steps)
    first = f"tries {turns}" if steps else f"cannot: {reason}"
    can, _ = _sorted(problem, (*steps, *(name for name in BOUNDS if name not in steps)))
    few = [(word, can[kind][:MAX_NAMED]) for kind, word in ((SOLVE, ""), (PLAN, "for a plan"), (BOUND, "for a bound"))]
    others = "; ".join(f"{word} {', '.join(names)}".strip() for word, names in few if names)
    return [("auto", first), ("methods", f"{others or 'no other can solve it'} (all: --verbose)")]


def _in_words(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _all_methods(problem: Problem) -> list[tuple[str, str]]:
    """Return every method, by what it can do for the problem, or with the reason why it cannot."""
    can, cannot = _sorted(problem, method_names())
    kinds = [(kind, ", ".join(names) or "no method yet") for kind, names in can.items() if names or kind == SOLVE]
    return kinds + [("cannot", f"{', '.join(names)}: {reason}") for names, reason in _together(cannot)]


def _sorted(problem: Problem, names: Iterable[str]) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return those of *names* whose methods accept the problem, by kind, and the others with their reasons."""
    can: dict[str, list[str]] = {SOLVE: [], PLAN: [], BOUND: [], COMPARE: []}
    cannot: list[tuple[str, str]] = []
    for name in names:
        kind = SOLVE
        try:
            method = find_method(name)
            kind = COMPARE if method_traits(method).baseline else KINDS[method.gives]
            reason = _refusal(method, problem)
        except MtppError as error:
            reason = str(error)
        if reason is None:
            can[kind].append(name)
        else:
            cannot.append((name, reason))
    return can, cannot


def _refusal(method: Method, problem: Problem) -> str | None:
    """Return why a method cannot solve *problem*, or one of its several objectives under rows on those before it."""
    return next((reason for one in stages(problem) if (reason := refusal(method, one)) is not None), None)


def _together(cannot: list[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """Return what is to be said of the methods that cannot, each reason once, with those whose reason it is."""
    together: dict[str, list[str]] = {}
    for name, reason in cannot:
        together.setdefault(reason.removeprefix(f"{name} "), []).append(name)
    return [(names, reason) for reason, names in together.items()]


# ``mtpp check --json``: the messages about a spec, for programs.


def print_messages(name: str, read: Callable[[], tuple[Analysis, list[MadeFix]]]) -> int:
    """Print what *read* finds as JSON, a file that cannot be read as well; return the exit code."""
    diagnostics: tuple[Diagnostic, ...]
    try:
        analysis, made = read()
        diagnostics, sound = analysis.diagnostics, analysis.problem is not None
    except UsageError as error:
        diagnostics, made, sound = (Diagnostic(str(error), code="MTPP-E701"),), [], False
    fixed = [(change.fix.edits[0].span, change.fix.title) for change in made]
    sys.stdout.write(dumps(diagnostics_to_json(name, diagnostics, fixed), sys.stdout.encoding))
    return 0 if sound else SpecError.exit_code
