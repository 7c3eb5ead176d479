"""``mtpp export`` and ``mtpp validate``: plans as files of runtimes, and splits that others wrote for them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rich.text import Text

from mtpp_dsl.checks.verification import Violation
from mtpp_dsl.cli.progress import ProgressWriter
from mtpp_dsl.cli.screen import UNWRITTEN, say, screen_width, show
from mtpp_dsl.cli.signals import listener
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.targets import UnsoundSplit
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.report.columns import facts, wrapped
from mtpp_dsl.show.report.loads import loads
from mtpp_dsl.solving.drivers.export import export, write_files
from mtpp_dsl.solving.drivers.validate import Validation, validate

_TEXT = re.compile(r"[\d\s,./]+|.*[=\[{|\n\"'].*|.*\s.*\d\s*,\s*\d.*|-.*\s.*|.*\s--?[a-z].*", re.DOTALL)
"""What is a split itself where there is no file of that name."""
MAX_SHOWN = 10


def validate_split(
    file: str, form: str, problem: Problem, limit: float | None, method: str, seed: int, *, quiet: bool = False
) -> int:
    """Check a split and say how good it is; return the exit code. Where *quiet*, say nothing of a sound one."""
    watcher = ProgressWriter(problem, limit=limit, quiet=quiet, verbose=False)
    progress = Progress(watcher)
    try:
        source = source_of(file)
        with listener.searching(progress.stop):
            with watcher.shown():
                validation = validate(
                    source, form, problem, time_limit=limit, method=method, seed=seed, progress=progress
                )
            listener.search_ended()
    except UnsoundSplit as error:
        say(f"{_name_of(file)} is no split of {problem.origin.path} for {form}: {error}", stderr=True)
        return error.exit_code
    if not (quiet and validation.sound):
        _print(validation, file, form)
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    return 0 if validation.sound else UnsoundSplit.exit_code


def source_of(file: str) -> Path | str:
    """Return the path of a file, or the text that was given itself; ``-`` is what stdin has.

    Raises:
        UsageError: there is no such file, and it is no text of a split.
    """
    if file == "-":
        return sys.stdin.read()
    try:
        if Path(file).exists():
            return Path(file)
    except (OSError, ValueError):  # too long for a name, or with a zero in it
        pass
    if _TEXT.fullmatch(file) is None:
        raise UsageError(f"there is no file {file}, and this is no text of a split either")
    return file


def _name_of(file: str) -> str:
    return file if len(file) <= 60 and "\n" not in file else "the text given"


def _print(validation: Validation, file: str, form: str) -> None:
    problem, width = validation.problem, screen_width()

    def shown(cost: float | None) -> str:
        return "none" if cost is None else problem.valued(cost)

    head = f"{_name_of(file)}: a split of {problem.origin.path or 'the problem'} for {form}; every layer is there once"
    best, bound = validation.best, validation.best.bound
    pairs = [("yours", Text(f"{problem.objective.shown} {shown(validation.evaluation.cost)}", "bold"))]
    if best.infeasibility is not None:
        pairs.append(("best", Text(f"no plan exists: {best.infeasibility.reason}")))
    else:
        word = "below" if problem.objective.sense == "minimize" else "above"
        limit = "no bound was proved" if bound is None else f"no plan is {word} {shown(bound.cost)}"
        pairs.append(("best", Text(f"{shown(best.cost)} by mtpp; {limit}")))
    lines = [
        *wrapped(Text(head), width, hanging=2),
        Text(),
        *loads(problem, validation.plan, validation.evaluation, width),
    ]
    lines += [Text(), *facts(pairs, width), *wrapped(Text(_verdict(validation), "bold"), width)]
    for note in validation.notes:
        lines += wrapped(Text(f"note: {note}"), width)
    other = _beside_memory(validation)
    for violation in other[:MAX_SHOWN]:
        lines += wrapped(Text(str(violation)), width, 2, 4)
    if len(other) > MAX_SHOWN:
        lines.append(Text(f"  … and {len(other) - MAX_SHOWN} more"))
    show(lines)


def _beside_memory(validation: Validation) -> list[Violation]:
    """Return the constraints that are broken, apart from memories whose devices are named."""
    return [
        violation
        for violation in validation.broken
        if not (validation.over and violation.constraint.startswith("memory"))
    ]


def _verdict(validation: Validation) -> str:
    """Return in a sentence how good the split is, and what is wrong with it."""
    least, most = validation.ratios
    parts = []
    if validation.ratio is not None and validation.ratio < 1 - 1e-6 and not validation.sound:
        parts.append("is better than any plan that is sound")
    elif validation.ratio is not None and validation.ratio <= 1 + 1e-6:
        parts.append("is as fast as the best possible")
    elif validation.ratio is not None:
        parts.append(f"is {_times(validation.ratio)} times the best possible")
    elif least is not None and most is not None:
        close = _times(least) == _times(most)
        found_is = "" if close else f"{_beside_found(least)}, and at most "
        parts.append(f"is {found_is}{_times(most)} times the best possible")
    elif most is not None:
        parts.append(f"is at most {_times(most)} times the best possible")
    elif least is not None:
        parts.append(f"is {_beside_found(least)}")
    if validation.over:
        names = ", ".join(validation.problem.devices[d].name for d in validation.over)
        parts.append(f"runs out of memory on {names}")
    other = _beside_memory(validation)
    if other:
        parts.append(f"breaks {len(other)} {'constraint' if len(other) == 1 else 'constraints'}")
    return f"yours {', and '.join(parts)}" if parts else "yours is sound"


def _beside_found(ratio: float) -> str:
    """Return in words how a split is beside the best plan found, which may be the split itself."""
    return "as fast as the best plan found" if abs(ratio - 1) <= 1e-6 else f"{_times(ratio)} times the best plan found"


def _times(ratio: float) -> str:
    """Return a ratio with two decimals, with more where these would say that it is 1, with none above 100."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    return f"{ratio:.2f}" if ratio >= 1.005 else f"{ratio:.6f}".rstrip("0")


def export_plan(
    answer: Path, to: str, output: Path | None, spec: Path | None, model: str | None, *, quiet: bool = False
) -> int:
    """Write the files of a target, or the first of them to stdout; return the exit code."""
    files = export(answer, to, spec=spec, model=model)
    if output is not None:
        try:
            written = write_files(files, output)
        except OSError as error:
            say(f"error: cannot write {output}: {error.strerror or error}", stderr=True)
            return UNWRITTEN
        if not quiet:
            say("\n".join(f"wrote {path}" for path in written))
        return 0
    name, content = next(iter(files.items()))
    if not isinstance(content, str) or len(files) > 2:
        raise UsageError(f"{to} makes {len(files)} files, of which not all are text: say where to with -o DIR")
    sys.stdout.write(content)
    if len(files) > 1 and not quiet:
        say(f"{', '.join([*files][1:])} is written beside {name} with -o", stderr=True)
    return 0
