"""The best answer so far, kept in a file while a method searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TypeAlias

from mtpp_dsl.checks.verification import check_result, settled
from mtpp_dsl.core.base.writing import check_writable, write_text
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.plans.evaluation import evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Result
from mtpp_dsl.core.problem.problem import Problem

Whole: TypeAlias = Callable[[Result], tuple[Problem, Result]]

LOOK = 0.1
"""Seconds between looks at what is known."""
PAUSE = 0.5
"""Seconds between two writings, at least."""
SHARE = 0.1
"""Of the time, what checking and writing may take, about: large answers are written less often."""


class Checkpoint:
    """Writes an answer to a file whenever plan or bound have become better, from a thread of its own.

    What is written has been evaluated and checked as a final answer is; its ``termination`` is "running". The file
    always holds a whole answer. At the end the final one takes its place.

    Args:
        path: of the file.
        problem: what is asked.
        progress: where plans and bounds are reported.
        method, seed: what is said of how the answer is found.
        whole: makes the problem and the answer that are written, where what is solved is a part of it.

    Attributes:
        trouble: why the last answer could not be written; "" if it was, or there was none.

    Raises:
        UsageError: nothing can be written there.
    """

    def __init__(
        self,
        path: Path,
        problem: Problem,
        progress: Progress,
        *,
        method: str,
        seed: int,
        whole: Whole | None = None,
    ) -> None:
        check_writable(path)
        if path.is_fifo():
            raise UsageError(f"cannot write {path}: a checkpoint cannot be kept in a pipe")
        self.trouble = ""
        self._path, self._problem, self._progress = path, problem, progress
        self._method, self._seed = method, seed
        self._whole: Whole = whole or (lambda result: (problem, result))
        self._written: tuple[Plan | None, Bound | None] = (None, None)
        self._end = Event()
        self._thread = Thread(target=self._run, name="checkpoint", daemon=True)
        self._thread.start()

    def close(self, result: Result | None) -> None:
        """Write the final answer; without one, what was reported since the last time."""
        self._end.set()
        self._thread.join()
        if result is None:
            self._look()
        elif result.plan is not None or result.bound is not None or result.infeasibility is not None:
            self._write(result)

    def _run(self) -> None:
        pause = LOOK
        while not self._end.wait(pause):
            began = monotonic()
            wrote = self._look()
            pause = max(PAUSE, (monotonic() - began) / SHARE) if wrote else LOOK

    def _look(self) -> bool:
        """Write what is known, if it is not what was written; return whether that was so."""
        progress = self._progress
        known = plan, bound = progress.plan, progress.bound
        if plan is self._written[0] and bound is self._written[1]:
            return False
        self._written = known
        evaluation = None if plan is None else evaluate(self._problem, plan)
        if evaluation is not None and bound is not None:
            bound = settled(bound, evaluation.cost, evaluation.size)
        result = Result(
            "running",
            plan=plan,
            bound=bound,
            evaluation=evaluation,
            method=self._method,
            seed=self._seed,
            time={"total": progress.elapsed},
            log=tuple(progress.log),
            turns=tuple(progress.turns),
        )
        try:
            check_result(self._problem, result)
        except VerificationError:  # a bug, which is told of at the end; the answer before it stays
            return True
        self._write(replace(result, verified=plan is not None))
        return True

    def _write(self, result: Result) -> None:
        from mtpp_dsl.solving.answers.json import dumps, result_to_json

        try:
            write_text(self._path, dumps(result_to_json(*self._whole(result))))
        except OSError as error:
            self.trouble = f"the checkpoint {self._path} could not be written: {error.strerror or error}"
        else:
            self.trouble = ""


@contextmanager
def kept(
    path: Path | str | None,
    problem: Problem,
    method: str,
    seed: int,
    progress: Progress,
    whole: Whole | None = None,
) -> Iterator[Callable[[Result], Result]]:
    """Keep the best answer so far at *path*, if there is one, while the block runs; *whole* as of :class:`Checkpoint`.

    Yields:
        What the final result is to be given to: it writes it, and returns it, with a note if that was not possible.

    Raises:
        UsageError: nothing can be written there.
    """
    if path is None:
        yield lambda result: result
        return
    checkpoint = Checkpoint(Path(path), problem, progress, method=method, seed=seed, whole=whole)
    ended = False

    def keep(result: Result) -> Result:
        nonlocal ended
        ended = True
        checkpoint.close(result)
        return replace(result, notes=(*result.notes, checkpoint.trouble)) if checkpoint.trouble else result

    try:
        yield keep
    finally:
        if not ended:
            checkpoint.close(None)
