"""The process that runs CP-SAT: it reads requests from its wire."""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from traceback import format_exc
from typing import Any, TypeAlias

from ortools.sat.python import cp_model

from mtpp_dsl.core.executors.wire import Wire
from mtpp_dsl.solvers.backends.cpsat.batch_model import BatchModel
from mtpp_dsl.solvers.backends.cpsat.batch_request import BatchRequest
from mtpp_dsl.solvers.backends.cpsat.request import Effort, Reply, Request, Status
from mtpp_dsl.solvers.backends.cpsat.sample_model import SampleModel
from mtpp_dsl.solvers.backends.cpsat.split_model import SplitModel
from mtpp_dsl.solvers.backends.cpsat.split_request import SplitRequest
from mtpp_dsl.solvers.backends.cpsat.time_windows import narrowed, narrowed_batches

PROBING = "probing_deterministic_time_limit"
LARGE, QUICK_PROBING = 5_000, 0.05
"""Probing of models with more variables does not look at the clock for 20 s and more, and finds next to nothing."""
PRESOLVE = "cp_model_presolve"
WIDE_ROW, LARGE_FACTOR = 8, 2**26
"""Presolving labelled rows of more terms with larger factors, such as those of loads, does not look at the clock in
ortools 9.15: a model of 275 variables took more than a minute, and is solved in 3 s without presolving."""
TURNS = "interleave_search"
"""On one thread, several searches in turns: of batches they find better plans than one that is never left."""
STATUS: dict[int, Status] = {
    cp_model.OPTIMAL: "optimal",
    cp_model.FEASIBLE: "feasible",
    cp_model.INFEASIBLE: "infeasible",
}
Question: TypeAlias = Request | BatchRequest | SplitRequest
AnyModel: TypeAlias = SampleModel | BatchModel | SplitModel


class _Worker:
    """Answers requests one after another, and stops one when told."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._jobs: SimpleQueue[tuple[int, Question, Effort, bool]] = SimpleQueue()
        self._lock = Lock()
        self._cancelled = -1
        self._current: tuple[int, Any] = (-1, None)

    def run(self) -> None:
        """Answer until the wire ends."""
        Thread(target=self._listen, daemon=True).start()
        while True:
            number, request, effort, wordy = self._jobs.get()
            try:
                self._tell("done", number, self._answer(number, request, effort, wordy))
            except _Unknown as error:
                self._tell("wrong", number, str(error))
            except Exception:
                self._tell("failed", number, format_exc())

    def _listen(self) -> None:
        try:
            while True:
                kind, number, *job = self._wire.receive()
                if kind == "solve":
                    request, effort, wordy = job
                    self._jobs.put((number, request, effort, wordy))
                else:
                    self._cancel(number)
        except EOFError:
            os._exit(0)  # whoever started us has gone

    def _cancel(self, number: int) -> None:
        with self._lock:
            self._cancelled = max(self._cancelled, number)
            current, solver = self._current
        if current <= number and solver is not None:
            solver.stop_search()

    def _tell(self, kind: str, number: int, *values: Any) -> None:
        try:
            self._wire.send((kind, number, *values))
        except OSError:
            os._exit(0)

    def _answer(self, number: int, request: Question, effort: Effort, wordy: bool) -> Reply[Any]:
        began = monotonic()
        solver = cp_model.CpSolver()
        _set(solver.parameters, effort, wordy)
        model = _model(request)
        if model is None:
            return Reply("infeasible", None, request.cutoff + 1, None, monotonic() - began)
        if len(model.model.proto.variables) > LARGE and PROBING not in effort.options:
            setattr(solver.parameters, PROBING, QUICK_PROBING)
        if _wide(request) and PRESOLVE not in effort.options:
            setattr(solver.parameters, PRESOLVE, False)
        if isinstance(request, BatchRequest) and effort.threads == 1 and TURNS not in effort.options:
            setattr(solver.parameters, TURNS, True)
        solver.parameters.max_time_in_seconds = max(0.0, effort.seconds - (monotonic() - began))
        solver.best_bound_callback = lambda bound: self._tell("bound", number, round(bound))
        if wordy:
            solver.log_callback = lambda line: self._tell("log", number, line)
        with self._lock:
            self._current = number, solver
            cancelled = self._cancelled >= number
        if cancelled:
            return Reply("unknown", None, request.at_least, None, monotonic() - began)
        status = solver.solve(model.model, _Listener(self, number, model))
        with self._lock:
            self._current = -1, None
        if status == cp_model.MODEL_INVALID:
            raise RuntimeError(f"CP-SAT calls the model invalid: {model.model.validate()}")
        return _read(solver, status, model, monotonic() - began)

    def found(self, number: int, model: AnyModel, value: int, callback: Any) -> None:
        """Send a solution to the process that asked."""
        self._tell("plan", number, value, model.read(callback.value))


class _Listener(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
    def __init__(self, worker: _Worker, number: int, model: AnyModel) -> None:
        super().__init__()
        self._worker, self._number, self._model = worker, number, model

    def on_solution_callback(self) -> None:
        self._worker.found(self._number, self._model, round(self.objective_value), self)


class _Unknown(Exception):
    """A parameter that CP-SAT does not have, or does not take."""


def _model(request: Question) -> AnyModel | None:
    """Return the model of a request; None if no solution ends within its cutoff."""
    if isinstance(request, BatchRequest):
        batches = narrowed_batches(request)
        return None if batches is None else BatchModel(batches)
    if isinstance(request, SplitRequest):
        return SplitModel(request) if request.possible else None
    tasks = narrowed(request)
    return None if tasks is None else SampleModel(tasks)


def _wide(request: Question) -> bool:
    """Return whether a labelled row has many terms with large factors, as multiples of loads have."""
    rows = () if isinstance(request, BatchRequest) else request.rows
    for row in rows:
        large = any(abs(a) > (1 if kind == "load" else LARGE_FACTOR) for (kind, *_), a in row.terms)
        if large and (len(row.terms) > WIDE_ROW or any(kind == "load" for (kind, *_), _ in row.terms)):
            return True
    return False


def _set(parameters: Any, effort: Effort, wordy: bool) -> None:
    """Set parameters, those of the user first: reading text resets all others."""
    known = [name for name in dir(parameters) if name.islower() and name[0] != "_"]
    known = [name for name in known if not callable(getattr(parameters, name))]
    lines = []
    for name, value in effort.options.items():
        if name not in known:
            raise _Unknown(f"CP-SAT has no parameter {name!r}|{' '.join(known)}")
        forms = [f"{name}: {form}" for form in _forms(value)]
        line = next((form for form in forms if cp_model.CpSolver().parameters.parse_text_format(form)), None)
        if line is None:
            raise _Unknown(f"CP-SAT refuses {value!r} for parameter {name!r}")
        lines.append(line)
    parameters.parse_text_format("\n".join(lines))
    parameters.num_workers = effort.threads
    parameters.random_seed = effort.seed % 2**31
    parameters.relative_gap_limit = effort.gap
    parameters.presolve_inclusion_work_limit = 0  # ortools 9.15 presolves optima away with it (or-tools #5293)
    parameters.log_search_progress = wordy
    parameters.log_to_stdout = False


def _forms(value: object) -> tuple[str, str]:
    """Return a value in the forms that protocol buffers read: as a number, a word or a boolean, and as text."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text, f'"{text}"'


def _read(solver: Any, status: int, model: AnyModel, seconds: float) -> Reply[Any]:
    word = STATUS.get(status, "unknown")
    cutoff, at_least = model.request.cutoff, model.request.at_least
    if word == "infeasible":
        return Reply(word, None, cutoff + 1, None, seconds)
    bound = max(at_least, round(solver.best_objective_bound))
    if word == "unknown":
        return Reply(word, None, min(bound, cutoff), None, seconds)
    return Reply(word, round(solver.objective_value), bound, model.read(solver.value), seconds)


def main(wire: Wire) -> None:
    """Answer requests until the wire ends."""
    _Worker(wire).run()
