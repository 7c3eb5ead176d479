"""``mtpp solve SPEC --sweep k=2..8 --method a,b``: a small sweep in one line."""

from __future__ import annotations

import glob
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from mtpp_dsl.cli.bench.outcomes import failures_of
from mtpp_dsl.cli.bench.sweeping import run_all
from mtpp_dsl.cli.parameters import key_values, solver_values
from mtpp_dsl.cli.screen import STDOUT, screen_width, show
from mtpp_dsl.cli.signals import NOTHING_FOUND, PROVEN_INFEASIBLE, listener
from mtpp_dsl.core.base.amounts import fraction, seconds
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.executors.addresses import opened
from mtpp_dsl.core.executors.local import LOCAL
from mtpp_dsl.solving.answers.json import dumps
from mtpp_dsl.sweeps.file.entries import label_of
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.fields import several
from mtpp_dsl.sweeps.file.file import data_folder
from mtpp_dsl.sweeps.file.methods import build_method, file_options, own_solver, solvers_for
from mtpp_dsl.sweeps.file.run import Scalar
from mtpp_dsl.sweeps.file.sweep import MethodEntry, ProblemEntry, Settings, Sweep
from mtpp_dsl.sweeps.store.rows import RunRow
from mtpp_dsl.sweeps.store.store import Store
from mtpp_dsl.sweeps.tables.figures import Column
from mtpp_dsl.sweeps.tables.rendering import table_lines
from mtpp_dsl.sweeps.tables.runs import NEEDED, Runs
from mtpp_dsl.sweeps.tables.tables import Table, make_table

if TYPE_CHECKING:
    from mtpp_dsl.cli.calls import SolveCall

SEED = "seed"
"""What ``--sweep seed=0..4`` varies where the spec has no param of that name."""
_SPAN = re.compile(r"(\d+)\s*-\s*(\d+)")
"""What is no range, and as a difference hardly ever meant."""
_ALONE = {
    "include": "-I",
    "target": "--for",
    "checkpoint": "--checkpoint",
    "write_model": "--write-model",
    "trace": "--trace",
    "gantt": "--gantt",
    "html": "--html",
    "what_if": "--what-if",
    "pareto": "--pareto",
    "largest": "--largest",
    "plot": "--plot",
    "microbatches": "--microbatches",
}
"""What says something about one answer, or about how one spec is read."""
_OPTIONS = ("channels", "module_time_limit", "module_method", "policy")


def small_sweep(call: SolveCall) -> int:
    """Solve a spec with several values of its params, by several methods, and print a table; return the exit code."""
    _refuse(call)
    if call.json is not None and call.json != STDOUT:
        check_writable(call.json)
    runs = expand(_sweep(call))
    with opened(call.scheduler) as executor, _store(call.db) as store:
        summary = run_all(runs, store, executor or LOCAL, None, (), quiet=call.quiet, verbose=call.verbose)
        rows = {row.key: row for row in store.rows() if row.key in {run.key for run in runs}}
        columns = store.columns(NEEDED)
    own_rows = [rows[run.key] for run in runs if run.key in rows]
    if call.json is not None:
        text = dumps({"rows": [asdict(row) for row in own_rows], "left": summary.left})
        if call.json == STDOUT:
            sys.stdout.write(text)
        else:
            write_text(call.json, text)
    if call.json != STDOUT and not call.quiet and own_rows:
        show(table_lines(_table(_own(columns, [run.key for run in runs])), screen_width()))
        show(failures_of(own_rows, screen_width()))
    if listener.stopped_by is not None:
        return listener.exit_code(listener.stopped_by)
    return _exit_code(own_rows)


def _refuse(call: SolveCall) -> None:
    """Raise UsageError for options that are about one answer."""
    for name, option in _ALONE.items():
        if getattr(call, name):
            remedy = "; set MTPP_PATH to the folder" if name == "include" else ""
            raise UsageError(f"{option} is for one problem and one method, not for a sweep{remedy}")


def _sweep(call: SolveCall) -> Sweep:
    """Return the sweep that a call describes."""
    swept = {name: _values(name, text) for name, text in key_values(call.sweep, "--sweep").items()}
    given = {name: (_number(value),) for name, value in key_values(call.define, "-D").items()}
    for name in set(swept) & set(given):
        raise UsageError(f"{name!r} is given by -D and by --sweep: leave one out")
    seeds: tuple[int, ...] = (call.seed,)
    if SEED in swept and SEED not in _params(call.spec):
        seeds = tuple(_seed(value) for value in swept.pop(SEED))
    entry = ProblemEntry(
        specs=(glob.escape(str(call.spec)),),
        params={**given, **swept},
        scenarios=(call.scenario or "",),
        name=", ".join(f"{name}={{{name}}}" for name in swept),
        place="--sweep",
    )
    limit = seconds(call.time_limit, "--time-limit")
    settings = Settings(
        seeds, inf if limit is None else limit, None, max(fraction(call.gap, "--gap"), 1e-6), call.threads
    )
    methods = tuple(_method(call, name.strip()) for name in call.method.split(","))
    labels = [method.label for method in methods]
    if len(set(labels)) < len(labels):
        raise UsageError(f"--method {call.method}: a method is named twice")
    return Sweep(None, call.spec.stem, "", (entry,), methods, settings, folder=Path.cwd(), data=data_folder())


def _params(spec: Path) -> tuple[str, ...]:
    from mtpp_dsl.language.lowering.lower import read

    return read(spec).params


def _values(name: str, text: str) -> tuple[Scalar, ...]:
    """Return the values that ``--sweep k=2..4`` or ``--sweep k=2,4,8`` gives a param."""
    span = _SPAN.fullmatch(text.strip())
    if span is not None:
        raise UsageError(f"--sweep {name}={text}: the numbers from {span[1]} to {span[2]} are {span[1]}..{span[2]}")
    try:
        parts = [text] if text.startswith(("[", "{", '"')) else [part.strip() for part in text.split(",")]
        return tuple(dict.fromkeys(_number(value) for part in parts for value in several(part)))
    except UsageError as error:
        raise UsageError(f"--sweep {name}={text}: {error}") from None


def _seed(value: Scalar) -> int:
    if not isinstance(value, int) or value < 0:
        raise UsageError(f"--sweep {SEED}={value}: a seed is a whole number from 0 on")
    return value


def _number(value: Scalar) -> Scalar:
    """Return a whole number as such, whatever else as it is: the same run has the same key in a sweep file."""
    digits = isinstance(value, str) and value.removeprefix("-").isdigit() and value.isascii()
    return int(value) if digits and len(str(value)) < 19 else value


def _method(call: SolveCall, name: str) -> MethodEntry:
    """Return a method with the options of the call that it takes.

    Raises:
        UsageError: an option is for a method of the call, and not for this one, or it takes no such solver.
    """
    asked = {option: getattr(call, option) for option in _OPTIONS}
    options = {option: str(v) if isinstance(v, Path) else v for option, v in asked.items() if v is not None}
    method = build_method(name, options, "", call.coarsen or "", Path.cwd())
    usual = own_solver(method)
    solvers: tuple[str, ...] = (usual,) if usual else ()
    if call.solver != "highs":
        can, why = solvers_for(name, [call.solver])
        if not can:
            raise UsageError("; ".join(why))
        solvers = tuple(can)
    solver_options = solver_values(call.solver_option)
    traits = method_traits(method)
    if solver_options and (not solvers or traits.may_need_none):
        raise UsageError(f"method {name!r} takes no options for a solver")
    return MethodEntry(
        name=name,
        label=label_of(name, options, call.coarsen or ""),
        options=options,
        solvers=solvers,
        solver_options=solver_options,
        coarsen=call.coarsen or "",
        start="" if call.start is None else str(call.start),
        seeded=traits.seeded,
        files=tuple(file_options(name, options)),
    )


@contextmanager
def _store(database: Path | None) -> Iterator[Store]:
    """Give the database that is asked for, or one that is gone afterwards."""
    if database is not None:
        with Store.open(database) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="mtpp-sweep-") as folder, Store.open(Path(folder, "runs.sqlite")) as store:
        yield store


def _own(columns: dict[str, list[object]], keys: Sequence[str]) -> Runs:
    """Return the runs of this call alone, where the database has others, in the order in which they are asked for."""
    at = {key: place for place, key in enumerate(columns["key"])}
    places = [at[key] for key in keys if key in at]
    return Runs({name: [column[place] for place in places] for name, column in columns.items()})


def _table(runs: Runs) -> Table:
    """Return the table: problems by methods, or one of these alone with all of its figures."""
    labels, problems = set(runs.field("label")), set(runs.field("problem"))
    if len(labels) > 1 and len(problems) > 1:
        return make_table(runs, "problem", [Column("{}", "value", "label"), Column("{} gap", "gap", "label")])
    shown = ("value", "bound", "gap", "seconds")
    return make_table(runs, "label" if len(labels) > 1 else "problem", [Column(show=show) for show in shown])


def _exit_code(rows: Sequence[RunRow]) -> int:
    """Return 0 where some run has a plan or a bound, else why none has."""
    statuses = {row.status for row in rows}
    if statuses & {"optimal", "feasible", "bound"}:
        return 0
    return PROVEN_INFEASIBLE if statuses == {"infeasible"} else NOTHING_FOUND
