"""The options of the magics, with the names that they have on the command line."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any, NoReturn

from mtpp_dsl.core.base.amounts import fraction, seconds
from mtpp_dsl.core.errors import UsageError, did_you_mean

METHODS = ("solve", "check")
"""What the line magic does."""


@dataclass(frozen=True)
class CellOptions:
    """The options of a cell, or of a line, as values.

    Attributes:
        define: values of params.
        include: folders where includes are looked for.
        scenario: the one that counts, or None.
        check: whether the spec is only checked.
        output: the variable for the result, or None.
        start: the variable, or the file, with the plan to start from; or None.
        quiet: whether nothing is shown.
        options: of :func:`mtpp_dsl.solve`.
    """

    define: dict[str, str]
    include: tuple[Path, ...]
    scenario: str | None
    check: bool
    output: str | None
    start: str | None
    quiet: bool
    options: dict[str, Any]


_DESCRIPTIONS = {
    "%mtpp": "Solve, or check, a spec in a file.\n\n"
    "%%mtpp as the first line of a cell solves the spec in the cell: it takes the same options,\n"
    "and --check in place of 'check'.",
    "%%mtpp": "Solve, or check, the spec in the cell.",
}


class _Parser(argparse.ArgumentParser):
    """Complains as the rest of mtpp does, and ends no process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}; %mtpp --help lists the options")

    def exit(self, *_: object) -> NoReturn:
        raise _Helped


class _Helped(Exception):
    """The help was printed, and there is nothing else to do."""


def parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a magic; *name* is that of the magic."""
    arguments = _Parser(
        prog=name,
        description=_DESCRIPTIONS[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="{name} in an option stands for a variable: -D k={k}. Interrupting the kernel gives the best so far.",
        allow_abbrev=False,
    )
    if name == "%mtpp":
        arguments.add_argument("action", choices=METHODS, help="what to do")
        arguments.add_argument("spec", metavar="SPEC", help="a .mtpp file")
    else:
        arguments.add_argument("--check", action="store_true", help="only check it, and say what it contains")
    add = arguments.add_argument
    add("-D", dest="define", action="append", default=[], metavar="NAME=VALUE", help="set a param; may be repeated")
    add("-I", dest="include", action="append", default=[], metavar="DIR", help="also look here for included files")
    add("--scenario", metavar="NAME", help="the scenario of the spec that counts")
    add("--method", default="auto", metavar="NAME", help="the method (auto)")
    add("--solver", default="highs", metavar="NAME", help="the solver (highs)")
    add("--time-limit", default="60s", metavar="TIME", help="stop after this time: 60s, 2min, or none (60s)")
    add("--gap", default="0", metavar="SHARE", help="stop when plan and bound are this close: 1%% or 0.01 (0)")
    add("--threads", type=int, metavar="N", help="threads of the solver, or processes of auto")
    add("--seed", type=int, default=0, metavar="N", help="seed of all random choices (0)")
    add("--start", metavar="RESULT|FILE", help="start from the plan of this variable, or of an answer's file")
    add("--solver-option", action="append", default=[], metavar="KEY=VALUE", help="option for the solver")
    add("--for", dest="target", metavar="TARGET", help="keep to what this runtime can express")
    add("-o", "--output", metavar="NAME", help="keep the result in this variable")
    add("-q", "--quiet", action="store_true", help="show nothing; the result is in the variable of -o")
    return arguments


def read_line(name: str, line: str) -> tuple[CellOptions, str | None] | None:
    """Return the options of a magic and the file that it names, if any; None if its help was printed.

    Raises:
        UsageError: an option is wrong.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
    known = parser(name)
    _check_options(known, words)
    try:
        given = known.parse_args(words)
    except _Helped:
        return None
    if given.output is not None and (not given.output.isidentifier() or iskeyword(given.output)):
        raise UsageError(
            f"{name} -o {given.output}: a variable's name has letters, digits and underscores, and is no word of Python"
        )
    if given.quiet and given.output is None and not (getattr(given, "check", False) or name == "%mtpp"):
        raise UsageError(f"{name} --quiet shows nothing: say where the result goes, -o NAME")
    check = given.action == "check" if name == "%mtpp" else given.check
    options = {
        "method": given.method,
        "solver": given.solver,
        "time_limit": seconds(given.time_limit, "--time-limit"),
        "gap": max(fraction(given.gap, "--gap"), 1e-6),
        "threads": given.threads,
        "seed": given.seed,
        "solver_options": _pairs(given.solver_option, "--solver-option"),
        "target": given.target,
    }
    asked = CellOptions(
        define=_pairs(given.define, "-D"),
        include=tuple(map(Path, given.include)),
        scenario=given.scenario,
        check=check,
        output=given.output,
        start=given.start,
        quiet=given.quiet,
        options=options,
    )
    return asked, getattr(given, "spec", None)


def _check_options(known: argparse.ArgumentParser, words: list[str]) -> None:
    """Refuse a long option that there is not, with one that is near.

    Raises:
        UsageError: so it is.
    """
    options = [option for action in known._actions for option in action.option_strings]
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        if option not in options:
            near = did_you_mean(option, options) or "; %mtpp --help lists them"
            raise UsageError(f"{known.prog}: there is no option {option}{near}")


def _pairs(pairs: list[str], flag: str) -> dict[str, str]:
    """Return ``name=value`` pairs."""
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key.strip() and equals):
            raise UsageError(f"{flag} {pair}: write {flag} name=value")
        values[key.strip()] = value.strip()
    return values
