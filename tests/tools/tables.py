"""Write the tables of methods in docs/methods.md and docs/methods/reference.md anew: ``python -m tests.tools.tables``.

They are made from the scopes of the methods (:mod:`mtpp_dsl.core.contracts.scopes`), and stand between two comments,
``<!-- NAME -->`` and ``<!-- end of NAME -->``. A test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mtpp_dsl.core import constraints as kinds
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.contracts.scopes import Scope
from mtpp_dsl.core.contracts.traits import MethodBase, method_traits
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.solving.api import find_method, method_names
from tests.tools.situations import SITUATIONS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("methods.md", "methods/reference.md")
YES, CHECKED, NO = "✓", "(✓)", ""
PLUGGED_IN = "constraints of plug-ins"
MAX_UNABLE = 4
"""Up to so many are listed as what is not supported; beyond it, what is."""


class Problems(NamedTuple):
    """Problems of one objective on one interconnect: what a user writes, and the pages that are about them."""

    objective: str
    interconnects: tuple[str, ...]
    words: str
    title: str
    pages: tuple[str, ...]


PARTS = "minimize bottleneck (parts = separate)"
LINEAR = "`minimize` another sum of decisions, such as a price or an energy"
TIMED = "`minimize` a sum with `start`, `finish` or `makespan`"
STAGES, NETWORKS = ("shared", "host"), ("links", "tree")
PROBLEMS = (
    Problems(
        "bottleneck",
        STAGES,
        "`minimize bottleneck`, `maximize throughput`",
        "Bottleneck, and throughput of a pipeline, on `shared` or `host`",
        ("partition", "exact-models", "bounds", "baselines"),
    ),
    Problems("sum of bottlenecks", STAGES, f"`{PARTS}`", "", ("exact-models", "bounds", "baselines")),
    Problems(
        "bottleneck",
        NETWORKS,
        "`minimize bottleneck`, `maximize throughput`",
        "Bottleneck, and throughput of a pipeline, on `links` or `tree`",
        ("partition", "exact-models", "bounds", "baselines"),
    ),
    Problems("iteration", STAGES, "`minimize iteration`", "", ("partition", "exact-models", "bounds", "baselines")),
    Problems(
        "linear",
        STAGES,
        LINEAR,
        "Another sum of decisions, on `shared` or `host`",
        ("partition", "exact-models", "bounds", "baselines"),
    ),
    Problems(
        "linear",
        NETWORKS,
        LINEAR,
        "Another sum of decisions, on `links` or `tree`",
        ("partition", "exact-models", "bounds", "baselines"),
    ),
    Problems("timed linear", ("links",), TIMED, "", ("schedules", "exact-models", "bounds", "baselines")),
    Problems(
        "makespan",
        ("links",),
        "`minimize makespan`",
        "Makespan on `links`",
        ("schedules", "modules", "exact-models", "bounds", "baselines"),
    ),
    Problems(
        "makespan",
        ("host", "shared"),
        "`minimize makespan`",
        "Latency by subgraphs, on `host` or `shared`",
        ("latency", "baselines"),
    ),
    Problems(
        "batch",
        ("links",),
        "`maximize throughput (batch = L)`",
        "Throughput of a batch on `links`",
        ("batches", "modules", "schedules", "baselines", "bounds"),
    ),
)
"""In the order of the tables. Objectives are the words of :class:`~mtpp_dsl.core.contracts.scopes.Scope`."""

ANY = {problems.objective for problems in PROBLEMS}
CONSTRAINTS: tuple[tuple[str, type[kinds.Constraint], set[str], set[str]], ...] = (
    ("`acyclic`", kinds.Acyclic, ANY - {"batch"}, {"shared", "host", "links"}),
    ("`contiguous`", kinds.Contiguous, ANY - {"batch"}, {"shared", "host", "links"}),
    ("`memory`", kinds.Memory, ANY, {"shared", "host", "links"}),
    ("`colocate`", kinds.Colocate, ANY, {"shared", "host", "links"}),
    ("`separate`", kinds.Separate, ANY, {"shared", "host", "links"}),
    ("`pin`", kinds.Pin, ANY, {"shared", "host", "links"}),
    ("`forbid`", kinds.Forbid, ANY, {"shared", "host", "links"}),
    ("labelled constraints", kinds.Linear, ANY - {"batch"}, {"shared", "host", "links"}),
    ("`replicate`", kinds.Replicate, {"bottleneck"}, {"shared", "host"}),
    ("`copies`", kinds.Copies, {"bottleneck"}, {"shared", "host", "links"}),
    ("`subgraphs`", kinds.Subgraphs, {"makespan"}, {"shared", "host"}),
    ("`exclusive links`", kinds.ExclusiveLinks, {"makespan"}, {"links"}),
    ("`batch`", kinds.BatchSizes, {"batch"}, {"links"}),
    (PLUGGED_IN, CustomConstraint, ANY, {"shared", "host", "links"}),
)
"""What a user writes, the kind, and the objectives and interconnects for which it means something."""

WRITTEN: dict[type[kinds.Constraint], str] = {kinds.InOrder: "stages"}
"""The keywords of kinds whose classes have another name."""

PROPERTIES: tuple[tuple[str, Callable[[Scope], bool], set[str], set[str]], ...] = (
    ("`overflow = stream`", lambda scope: scope.streams, ANY - {"makespan", "batch"}, {"shared", "host"}),
    ("`overflow = prefetch`", lambda scope: scope.prefetch, ANY - {"makespan", "batch"}, {"shared", "host"}),
    ("`workspace` that differs", lambda scope: scope.workspace, ANY - {"batch"}, {"shared", "host", "links"}),
    ("groups of devices (`between`)", lambda scope: scope.groups, ANY - {"makespan", "batch"}, {"shared", "host"}),
    ("`acyclic (groups = free)`", lambda scope: scope.free_groups, ANY - {"makespan", "batch"}, {"shared", "host"}),
    ("training graphs", lambda scope: scope.backward, ANY, {"shared", "host", "links"}),
    ("unequal devices", lambda scope: scope.unequal, ANY, {"shared", "host", "links"}),
)


class Listed(NamedTuple):
    """A method: its name, itself, and what it says of itself."""

    name: str
    method: Method
    traits: MethodBase


@cache
def methods() -> tuple[Listed, ...]:
    """Return the built-in methods, in the order in which ``mtpp methods`` lists them."""
    found = {name: find_method(name) for name in method_names()}
    return tuple(Listed(name, method, method_traits(method)) for name, method in found.items())


def scopes(listed: Listed, problems: Problems) -> list[Scope]:
    """Return the scopes of a method that are for these problems."""
    return [
        scope
        for scope in listed.traits.scopes
        if problems.objective in scope.objectives and set(problems.interconnects) & set(scope.interconnects)
    ]


@cache
def link(name: str, pages: tuple[str, ...], folder: str) -> str:
    """Return a link to the heading under which the first of *pages* that tells of a method does so.

    Raises:
        LookupError: no page does.
    """
    for page in pages:
        text = (DOCS / "methods" / f"{page}.md").read_text(encoding="utf-8")
        heading = ""
        for line in text.splitlines():
            heading = line if line.startswith("#") else heading
            told = f"`{name}`" in heading or line.startswith((f"| `{name}` |", f"**`{name}`**"))
            if told and heading:
                return f"[`{name}`]({folder}{page}.md#{anchor(heading)})"
    raise LookupError(f"none of the pages {', '.join(pages)} has a heading or a row of a table for {name!r}")


def anchor(heading: str) -> str:
    """Return what a heading is linked by."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-")


def deciding() -> Iterator[str]:
    """Yield the table of situations: which methods to choose by hand."""
    yield "| you have | a plan soon | a good plan | plan and proof | a bound alone |"
    yield "| --- | --- | --- | --- | --- |"
    for each in SITUATIONS:
        cells = [
            ", ".join(link(name, each.pages, "methods/") for name in names)
            for names in (each.soon, each.best, each.proof, each.bound)
        ]
        yield f"| {each.words} | {' | '.join(cells)} |"


def choosing() -> Iterator[str]:
    """Yield the table of objectives and interconnects: which methods give what."""
    yield "| you write | on | plan and bound | plan | bound |"
    yield "| --- | --- | --- | --- | --- |"
    for problems in PROBLEMS:
        for interconnects, cells in _rows(problems):
            on = ", ".join(f"`{kind}`" for kind in interconnects)
            yield f"| {problems.words} | {on} | {' | '.join(cells)} |"


def _rows(problems: Problems) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield interconnects that have the same methods, with these methods."""
    found: dict[tuple[str, ...], list[str]] = {}
    for kind in problems.interconnects:
        one = problems._replace(interconnects=(kind,))
        cells = [
            ", ".join(
                link(listed.name, problems.pages, "methods/")
                for listed in methods()
                if listed.method.gives == gives and not listed.traits.baseline and scopes(listed, one)
            )
            for gives in ("plan and bound", "plan", "bound")
        ]
        found.setdefault(tuple(cells), []).append(kind)
    for cells_, on in found.items():
        yield tuple(on), list(cells_)


def supporting() -> Iterator[str]:
    """Yield a table for every objective: which of the methods that give plans support which constraints."""
    for problems in PROBLEMS:
        if problems.title:
            yield from ["", f"### {problems.title}", ""]
            yield from _matrix(problems)


def _matrix(problems: Problems) -> Iterator[str]:
    rows = [word for word, *_ in relevant(problems)]
    columns: dict[tuple[str, ...], list[str]] = {}
    for listed in methods():
        mine = scopes(listed, problems)
        if mine and listed.method.gives != "bound" and not listed.traits.baseline:
            marks = tuple(_mark(word, any(map(test, mine)), mine) for word, test in relevant(problems))
            columns.setdefault(marks, []).append(listed.name)
    names = [", ".join(f"`{name}`" for name in group) for group in columns.values()]
    yield f"| supports | {' | '.join(names)} |"
    yield f"| --- |{' :-: |' * len(names)}"
    for i, row in enumerate(rows):
        yield f"| {row} | {' | '.join(marks[i] for marks in columns)} |"


def _mark(word: str, kept: bool, scopes: list[Scope]) -> str:
    """Return the mark of a constraint that scopes keep, or not: plans may only be checked against it."""
    kind = next((kind for name, kind, *_ in CONSTRAINTS if name == word), None)
    keeping = [scope for scope in scopes if kind is not None and scope.keeps(kind)]
    checked = kept and keeping and all(kind in scope.checked for scope in keeping)
    return CHECKED if checked else YES if kept else NO


def relevant(problems: Problems) -> Iterator[tuple[str, Callable[[Scope], bool]]]:
    """Yield the constraints and properties that mean something for these problems, each with a test of scopes."""
    for word, kind, objectives, interconnects in CONSTRAINTS:
        if problems.objective in objectives and interconnects & set(problems.interconnects):
            yield word, lambda scope, kind=kind: scope.keeps(kind)
    for word, test, objectives, interconnects in PROPERTIES:
        if problems.objective in objectives and interconnects & set(problems.interconnects):
            yield word, test


def accepting() -> Iterator[str]:
    """Yield the table of all methods: what each gives, for which problems, under which constraints."""
    yield "| for | on | methods | give | support |"
    yield "| --- | --- | --- | --- | --- |"
    for problems in PROBLEMS:
        rows: dict[tuple[str, str, str], list[str]] = {}
        for listed in methods():
            for scope in scopes(listed, problems):
                on = ", ".join(f"`{kind}`" for kind in problems.interconnects if kind in scope.interconnects)
                gives = listed.method.gives
                row = (on, gives, _supported(scope, problems, drops=gives == "bound"))
                rows.setdefault(row, []).append(link(listed.name, problems.pages, ""))
        for (on, gives, supported), names in rows.items():
            yield f"| {problems.words} | {on} | {', '.join(dict.fromkeys(names))} | {gives} | {supported} |"
    for listed in methods():
        if not listed.traits.scopes:
            name = link(listed.name, ("auto", "latency", "baselines"), "")
            yield f"| what its page says | | {name} | {listed.method.gives} | |"


def _supported(scope: Scope, problems: Problems, *, drops: bool) -> str:
    """Return what a scope keeps, in words; a bound also holds where a method *drops* a plug-in's constraint.

    A method that gives plans keeps those of plug-ins only if its scope says so, whatever else it keeps.
    """
    plugged_in = drops or issubclass(CustomConstraint, scope.families)
    rows = [(word, plugged_in if word == PLUGGED_IN else test(scope)) for word, test in relevant(problems)]
    able, unable = (
        [
            f"{word} (checked)" if _mark(word, kept, [scope]) == CHECKED else word
            for word, kept in rows
            if kept is wanted
        ]
        for wanted in (True, False)
    )
    needed = [f"needs `{WRITTEN.get(kind, kind.__name__.lower())}`" for kind in scope.needs]
    if len(unable) <= MAX_UNABLE:
        checked = [f"{word.removesuffix(' (checked)')} only checked" for word in able if word.endswith("(checked)")]
        return "; ".join(["all" + (f" but {', '.join(unable)}" if unable else ""), *checked, *needed])
    return "; ".join([", ".join(able), *needed])


OPTIONS = {
    "--solver": lambda traits: traits.uses_solver,
    "--write-model": lambda traits: traits.writes_model,
    "--start (required)": lambda traits: traits.needs_start,
}


def optional() -> Iterator[str]:
    """Yield the table of the options that only some methods have."""
    yield "| option | methods |"
    yield "| --- | --- |"
    for option, test in OPTIONS.items():
        yield f"| `{option}` | {_named(lambda listed, test=test: test(listed.traits))} |"
    own = dict.fromkeys(option for listed in methods() for option in listed.traits.options)
    for option in own:
        flag = "--" + option.replace("_", "-")
        yield f"| `{flag}` | {_named(lambda listed, option=option: option in listed.traits.options)} |"


def _named(test: Callable[[Listed], bool]) -> str:
    return ", ".join(f"`{listed.name}`" for listed in methods() if test(listed))


TABLES = {
    "deciding": deciding,
    "choosing": choosing,
    "supporting": supporting,
    "accepting": accepting,
    "optional": optional,
}


def filled(text: str) -> str:
    """Return the text of a page with its tables made anew."""

    def table(match: re.Match[str]) -> str:
        lines = "\n".join(TABLES[match[1]]()).strip("\n")
        return f"<!-- {match[1]} -->\n\n{lines}\n\n<!-- end of {match[1]} -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end of \1 -->", table, text, flags=re.DOTALL)


if __name__ == "__main__":
    for page in PAGES:
        path = DOCS / page
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
