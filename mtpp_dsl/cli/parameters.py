"""Arguments and options that several commands have, with the same words in each, and what they say as values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mtpp_dsl.core.errors import UsageError

if TYPE_CHECKING:
    from mtpp_dsl.core.problem.problem import Problem


def option(metavar: str, words: str, *names: str, **more: Any) -> Any:
    """Return an option whose default its help, *words*, does not show, as it is nothing."""
    return typer.Option(*names, metavar=metavar, help=words, show_default=False, **more)


def argument(metavar: str, words: str, **more: Any) -> Any:
    """Return an argument whose default its help, *words*, does not show, as it is nothing."""
    return typer.Argument(metavar=metavar, help=words, show_default=False, **more)


Spec: TypeAlias = Annotated[Path, argument("SPEC", "A .mtpp file.")]
SpecNow: TypeAlias = Annotated[Path | None, option("SPEC", "Where the spec is now.")]
Define: TypeAlias = Annotated[list[str], option("NAME=VALUE", "Set a param; may be repeated.", "-D")]
Include: TypeAlias = Annotated[list[Path], option("DIR", "Also look here for included files; may be repeated.", "-I")]
Scenario: TypeAlias = Annotated[str | None, option("NAME", "Use this scenario of the spec.")]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random choices.")]
Names: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the names, one a line.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]

SweepFile: TypeAlias = Annotated[Path, argument("SWEEP.toml", "The sweep.")]
Database: TypeAlias = Annotated[Path, typer.Argument(metavar="DB", help="A database of results.")]
Only: TypeAlias = Annotated[
    list[str],
    option("WHICH", "Only these runs: problem* or method=…; A,B means either, repeated both."),
]
Jobs: TypeAlias = Annotated[
    int | None,
    option("N", "Number of runs at once; by default one a core.", "--jobs", "-j", min=1),
]
Size: TypeAlias = Annotated[str | None, option("NAME", "Use this size of the sweep.")]
SweepTimeLimit: TypeAlias = Annotated[str | None, option("TIME", "Time limit of each run, in place of the sweep's.")]
Scheduler: TypeAlias = Annotated[str | None, option("ADDRESS", "Run on tcp://…, local-cluster:N or local:N.")]
SweepQuiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]
Title: TypeAlias = Annotated[str, option("TEXT", "Title above it.")]


def complete_method(incomplete: str) -> list[str]:
    """Return the methods that begin as what has been typed."""
    return _completed(incomplete, "METHODS", "FORMULATIONS")


def complete_solver(incomplete: str) -> list[str]:
    """Return the solvers that begin as what has been typed."""
    return _completed(incomplete, "BACKENDS", "ENGINES")


def complete_target(incomplete: str) -> list[str]:
    """Return the targets that begin as what has been typed."""
    return _completed(incomplete, "TARGETS")


def complete_format(incomplete: str) -> list[str]:
    """Return the formats of graphs that begin as what has been typed."""
    return _completed(incomplete, "FORMATS")


def _completed(incomplete: str, *groups: str) -> list[str]:
    """Return the plug-ins of the registry's *groups* that begin as what has been typed."""
    from mtpp_dsl.core import registry

    names = (name for group in groups for name in registry.available(getattr(registry, group)))
    return [name for name in names if name.startswith(incomplete)]


def key_values(pairs: Sequence[str], flag: str) -> dict[str, str]:
    """Return ``name=value`` pairs; the last of a name counts."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {pair}: write {flag} name=value")
        values[name.strip()] = value.strip()
    return values


def solver_values(pairs: Sequence[str]) -> dict[str, Any]:
    """Return solver options with numbers and booleans read as such, the rest as text."""

    def value(text: str) -> Any:
        try:
            loaded = json.loads(text)
        except ValueError:
            return text
        return loaded if isinstance(loaded, (bool, int, float)) else text

    return {name: value(text) for name, text in key_values(pairs, "--solver-option").items()}


def read_problem(
    spec: Path,
    define: Sequence[str],
    include: Sequence[Path],
    recorded: Mapping[str, object] | None = None,
    scenario: str | None = None,
) -> Problem:
    """Read a spec with its ``-D`` values, and below them those that an answer has *recorded*; *scenario* counts."""
    from mtpp_dsl.language.lowering.lower import load

    return load(spec, {**(recorded or {}), **key_values(define, "-D")}, include, scenario=scenario)
