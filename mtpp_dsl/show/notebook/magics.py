"""``%load_ext mtpp_dsl``: the cell magic ``%%mtpp``, which solves the spec in its cell, and ``%mtpp`` for files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.lazy import need
from mtpp_dsl.core.base.units import counted, format_gap, format_quantity
from mtpp_dsl.core.errors import MtppError, SpecError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BACKENDS, ENGINES, TARGETS, available
from mtpp_dsl.core.text.source import CELL, Source
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.language.lowering.lower import analyse
from mtpp_dsl.show.notebook.arguments import METHODS, CellOptions, parser, read_line
from mtpp_dsl.show.page.markup import tag
from mtpp_dsl.show.report.reached import headed
from mtpp_dsl.solving.api import method_names
from mtpp_dsl.solving.running import Running, start


class CellError(Exception):
    """What is wrong with a cell, shown as the command line shows it: IPython prints no traceback of it."""

    def __init__(self, error: MtppError) -> None:
        text = str(error) if isinstance(error, SpecError) else f"error: {error}"
        self.cause = error
        super().__init__(visible(text))

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def load(shell: Any) -> None:
    """Give the magics to *shell*, IPython's."""
    need("IPython", "notebook")

    def cell_or_line(line: str, cell: str | None = None) -> Result | None:
        """Solve the spec in a cell, or do what a line says; ``%mtpp --help`` lists the options."""
        try:
            return run_line(shell.user_ns, line) if cell is None else run_cell(shell.user_ns, line, cell)
        except MtppError as error:
            raise CellError(error) from None

    shell.register_magic_function(cell_or_line, magic_kind="line_cell", magic_name="mtpp")
    for begins in ("%%mtpp", "%mtpp"):
        shell.set_hook("complete_command", lambda _, event: completed(event.line, event.symbol), str_key=begins)


def unload(shell: Any) -> None:
    """Take the magics from *shell*."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("mtpp", None)


def run_cell(variables: dict[str, Any], line: str, cell: str) -> Result | None:
    """Solve or check the spec in a cell; return the result, which shows itself.

    Args:
        variables: of the notebook.
        line: the options after ``%%mtpp``.
        cell: the spec. Messages count its lines as the notebook does, from the one with ``%%mtpp``.

    Raises:
        MtppError: the spec or an option is wrong, or the method refuses.
    """
    options = read_line("%%mtpp", line)
    return None if options is None else _done(variables, options[0], Source(CELL, f"\n{cell.rstrip()}\n"))


def run_line(variables: dict[str, Any], line: str) -> Result | None:
    """Do what a line says: ``%mtpp solve FILE`` or ``%mtpp check FILE``; see :func:`run_cell`."""
    options = read_line("%mtpp", line)
    return None if options is None else _done(variables, options[0], Path(str(options[1])))


def _done(variables: dict[str, Any], asked: CellOptions, spec: Source | Path) -> Result | None:
    problem = _read(asked, spec)
    if asked.check:
        _say_sound(asked, problem)
        return None
    start = _start(variables, asked.start)
    result = searched(problem, {**asked.options, "start": start}, quiet=asked.quiet)
    if asked.output is not None:
        variables[asked.output] = result
    return None if asked.quiet else result


def _read(asked: CellOptions, spec: Source | Path) -> Problem:
    """Read the spec, with warnings of it on stderr.

    Raises:
        SpecError: with every error.
    """
    analysis = analyse(spec, asked.define, asked.include, scenario=asked.scenario)
    if analysis.problem is None:
        raise SpecError([diagnostic for diagnostic in analysis.diagnostics if diagnostic.severity == "error"])
    if not asked.quiet:
        for diagnostic in analysis.diagnostics:
            sys.stderr.write(f"{visible(str(diagnostic))}\n\n")
    return analysis.problem


def _say_sound(asked: CellOptions, problem: Problem) -> None:
    """Print what a spec contains; *asked* may want nothing of it in a variable.

    Raises:
        UsageError: a variable was named for a result that there is not.
    """
    if asked.output is not None:
        raise UsageError(f"-o {asked.output}: a check has no result")
    if not asked.quiet:
        graph = f"{counted(problem.graph.n, 'node')}, {counted(problem.graph.m, 'edge')}"
        sys.stdout.write(f"sound: {visible(headed(problem))}; {graph}; {counted(problem.k, 'device')}\n")


def _start(variables: dict[str, Any], name: str | None) -> dict[str, Any] | None:
    """Return the plan to start from, by names: of a variable with a result or a plan, or of an answer's file.

    Raises:
        UsageError: the variable has no plan, or there is no such file.
    """
    if name is None:
        return None
    value = variables.get(name) if name.isidentifier() else read_json(Path(name))
    if isinstance(value, Result) and value.plan is not None:
        return value.to_dict()
    if isinstance(value, Plan):
        return value.to_json()
    if isinstance(value, dict):
        return value
    raise UsageError(f"--start {name}: there is no variable of that name that holds a plan")


# Completion of the options of the magics, and of the names that some of them take.


def completed(line: str, word: str) -> list[str]:
    """Return what may stand at the end of the line of a magic, where *word* has been typed of it.

    >>> completed("%%mtpp --method brk", "brk"), completed("%%mtpp --time", "--time")
    (['brkga'], ['--time-limit'])
    """
    words = line.split()
    before = words[-1] if word == "" else words[-2] if len(words) > 1 else ""
    name = words[0] if words else "%%mtpp"
    if before == "--method":
        known = list(method_names())
    elif before == "--solver":
        known = [*available(BACKENDS), *available(ENGINES)]
    elif before == "--for":
        known = list(available(TARGETS))
    elif name == "%mtpp" and before == "%mtpp":
        known = list(METHODS)
    else:
        known = [option for action in parser(name)._actions for option in action.option_strings]
    return sorted(candidate for candidate in known if candidate.startswith(word))


# A search whose progress is shown below its cell, and that an interrupt of the kernel ends with the best so far.

EVERY, FIRST = 0.4, 1.0
"""Seconds between two looks, and before the first one is shown."""


def searched(problem: Problem, options: Mapping[str, Any], *, quiet: bool) -> Result:
    """Solve *problem* and show in the notebook how it goes; where the kernel is interrupted, return the best so far.

    Args:
        problem: what is asked.
        options: of :func:`mtpp_dsl.solve`.
        quiet: whether to show nothing.

    Raises:
        MtppError: as :func:`mtpp_dsl.solve` raises it.
    """
    running = start(problem, **options)
    shown = None if quiet else _Shown(problem)
    try:
        while not running.done:
            try:
                return _waited(running, shown)
            except TimeoutError:
                continue
    except KeyboardInterrupt:
        running.stop()
        if not quiet:
            sys.stderr.write("interrupted: stopping, with the best found so far\n")
    finally:
        if shown is not None:
            shown.end()
    return running.result()


def _waited(running: Running, shown: _Shown | None) -> Result:
    """Wait a little for the result.

    Raises:
        TimeoutError: the search goes on.
    """
    if shown is not None:
        shown.show(running)
    return running.result(EVERY)


class _Shown:
    """One line below the cell: the time, the plan, the bound and the gap."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.began = problem, monotonic()
        self.last = ""
        self.handle: Any = None
        display = need("IPython.display", "notebook")
        shell = need("IPython", "notebook").get_ipython()
        self.display = display if shell is not None and getattr(shell, "kernel", None) is not None else None

    def show(self, running: Running) -> None:
        """Show what is known by now, in a notebook; on a terminal write a line where there is news."""
        passed = monotonic() - self.began
        if passed < FIRST:
            return
        line = self._line(running)
        if self.display is None:
            if line != self.last:
                sys.stderr.write(f"{passed:7.1f} s  {line}\n")
        else:
            text = f"{passed:.0f} s  {line}"
            data = {"text/plain": text, "text/html": str(tag("div", text))}
            if self.handle is None:
                self.handle = self.display.display(data, raw=True, display_id=True)
            else:
                self.handle.update(data, raw=True)
        self.last = line

    def _line(self, running: Running) -> str:
        unit = self.problem.objective.unit(self.problem.time_unit)
        value = self.problem.objective.value
        parts = []
        if running.incumbent is not None:
            parts.append(f"plan {format_quantity(running.incumbent, unit)}")
        if running.bound is not None:
            parts.append(f"bound {format_quantity(value(running.bound.cost), unit)}")
        if running.gap is not None:
            parts.append(f"gap {format_gap(running.gap)}")
        return "  ".join(parts) or "searching"

    def end(self) -> None:
        """Take the line away."""
        if self.handle is not None:
            self.handle.update({"text/plain": "", "text/html": ""}, raw=True)
