"""Searches in the background: for notebooks, for threads, and for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from threading import Thread
from types import TracebackType
from typing import Any, Self

from mtpp_dsl.checks.verification import check_result, settled
from mtpp_dsl.core.base.amounts import Duration, seconds_of
from mtpp_dsl.core.base.interpreter import stop_at_exit
from mtpp_dsl.core.base.units import format_gap, format_quantity
from mtpp_dsl.core.contracts.limits import Progress
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.evaluation import Evaluation, evaluate
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Bound, Reached, Result, relative_gap
from mtpp_dsl.core.problem.problem import Problem, check_problem
from mtpp_dsl.solving.api import solve


class Running:
    """A search that goes on in the background; :func:`start` begins one.

    It ends by itself, or when it is told to. As a context manager it is stopped, and waited for, at the end of the
    block. In a coroutine it is awaited.

    >>> import mtpp_dsl
    >>> problem = mtpp_dsl.load('''
    ... graph from generator chain (nodes = 6)
    ... device d[2]
    ... interconnect shared (bandwidth = 1)
    ... minimize bottleneck
    ... constraint acyclic
    ... ''')
    >>> running = mtpp_dsl.start(problem, "ideals", time_limit="20s")
    >>> running.result().status
    'optimal'
    >>> running.done
    True

    Attributes:
        problem: what is asked.
        progress: what methods report to.
    """

    def __init__(self, problem: Problem, progress: Progress, arguments: Mapping[str, Any]) -> None:
        self.problem, self.progress = problem, progress
        self._future: Future[Result] = Future()
        self._future.set_running_or_notify_cancel()
        self._arguments = arguments
        self._thread = Thread(target=self._run, name="mtpp search", daemon=True)
        self._thread.start()
        stop_at_exit(self._thread, progress.stop)

    def _run(self) -> None:
        try:
            result = solve(self.problem, progress=self.progress, **self._arguments)
        except BaseException as error:  # raised again where the result is asked for
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    @property
    def done(self) -> bool:
        """Whether the search has ended."""
        return self._future.done()

    @property
    def plan(self) -> Plan | None:
        """The best plan so far."""
        plan = self.progress.plan
        return None if plan is None else plan.of(self.problem)

    @property
    def incumbent(self) -> float | None:
        """The value of the objective of the best plan so far; a solver may still hold that plan back."""
        cost = self.progress.incumbent
        return None if cost is None else self.problem.objective.value(cost)

    @property
    def bound(self) -> Bound | None:
        """The best bound so far."""
        return self.progress.bound

    @property
    def gap(self) -> float | None:
        """``(cost - bound) / cost`` so far; None unless both are known."""
        cost, bound = self.progress.incumbent, self.progress.bound
        return None if cost is None or bound is None else relative_gap(cost, bound.cost)

    def stop(self) -> None:
        """Ask the search to end; :meth:`result` then returns the best until now. It may be asked more than once."""
        self.progress.stop()

    def result(self, timeout: Duration | None = None) -> Result:
        """Wait for the end of the search, and return its result.

        A Ctrl-C while waiting stops the search; what it has found can then be asked for again.

        Args:
            timeout: of the wait, in seconds or as a text such as "10s"; None to wait for the end.

        Raises:
            TimeoutError: the search goes on; :meth:`best` is what it has until now.
            MtppError: as :func:`mtpp_dsl.solve` raises it.
        """
        try:
            return self._future.result(seconds_of("timeout", timeout))
        except FutureTimeout:
            if self._future.done():  # it is the search itself that failed so
                raise
            raise TimeoutError(f"the search has not ended yet: {self!r}") from None
        except KeyboardInterrupt:
            self.stop()
            raise

    def best(self) -> Result:
        """Return what is known now, evaluated and checked as a final answer is; its termination is "running"."""
        if self._future.done() and self._future.exception() is None:
            return self._future.result()
        plan, bound = self.progress.plan, self.progress.bound
        evaluation = None if plan is None else evaluate(self.problem, plan)
        if evaluation is not None and bound is not None:
            bound = settled(bound, evaluation.cost)
        result = Result(
            "running",
            plan=plan,
            bound=bound,
            evaluation=evaluation,
            method=str(getattr(self._arguments["method"], "name", self._arguments["method"])),
            seed=self._arguments.get("seed", 0),
            time={"total": self.progress.elapsed},
            log=tuple(self.progress.log),
            turns=tuple(self.progress.turns),
            objectives=self._reached(evaluation, bound),
        )
        check_result(self.problem, result)
        return replace(result, verified=plan is not None).of(self.problem)

    def _reached(self, evaluation: Evaluation | None, bound: Bound | None) -> tuple[Reached, ...]:
        """Return the costs of several objectives, none of them proved yet; () where there is one."""
        if not self.problem.later:
            return ()
        costs = (None,) * len(self.problem.objectives) if evaluation is None else evaluation.costs
        first, *later = (
            Reached(objective, cost) for objective, cost in zip(self.problem.objectives, costs, strict=True)
        )
        return (replace(first, bound=bound), *later)

    def __repr__(self) -> str:
        if self._future.done():
            error = self._future.exception()
            return f"Running(ended: {self._future.result() if error is None else f'{type(error).__name__}: {error}'})"
        unit = self.problem.objective.unit(self.problem.time_unit)
        parts = [f"{self.progress.elapsed:.1f} s"]
        if self.incumbent is not None:
            parts.append(f"incumbent {format_quantity(self.incumbent, unit, decimal=self.problem.origin.decimal)}")
        if self.bound is not None:
            parts.append(f"bound {self.problem.valued(self.bound.cost)}")
        if self.gap is not None:
            parts.append(f"gap {format_gap(self.gap)}")
        return f"Running({', '.join(parts)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self._thread.join()

    def __await__(self) -> Generator[Any, None, Result]:
        """Wait in a coroutine; cancelling the task that waits stops the search and its processes."""
        return self._awaited().__await__()

    async def _awaited(self) -> Result:
        ended = asyncio.wrap_future(self._future)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.stop()
            with suppress(Exception):  # whoever cancelled has no use for it; result() still raises it
                await asyncio.shield(ended)
            raise


def start(
    problem: Problem,
    method: str | Method = "auto",
    *,
    progress: Progress | Callable[[Progress], object] | None = None,
    **options: Any,
) -> Running:
    """Begin a search in the background, and return at once.

    Args:
        problem: what is asked.
        method: as :func:`mtpp_dsl.solve` takes it.
        progress: what methods report to, or a function, as :func:`mtpp_dsl.solve` takes it.
        options: the other arguments of :func:`mtpp_dsl.solve`.

    Raises:
        UsageError: the problem is none; ``solve`` has no such argument. All else is raised by ``running.result()``.
    """
    check_problem(problem, "start")
    known = [name for name in signature(solve).parameters if name not in ("problem", "progress")]
    for name in options:
        if name not in known:
            raise UsageError(f"solve has no argument {name!r}{did_you_mean(name, known)}")
    return Running(problem, Progress.of(progress), {"method": method, **options})


async def solve_async(problem: Problem, method: str | Method = "auto", **options: Any) -> Result:
    """Solve in a coroutine, while the event loop goes on.

    Arguments are those of :func:`mtpp_dsl.solve`. Cancelling the task stops the search, and ends its processes before
    the cancellation is passed on. To have the best plan even so, await a :class:`Running` in its place, and ask it for
    its :meth:`~Running.result` afterwards.

    >>> import asyncio, mtpp_dsl
    >>> problem = mtpp_dsl.load('''
    ... graph from generator chain (nodes = 6)
    ... device d[2]
    ... interconnect shared (bandwidth = 1)
    ... minimize bottleneck
    ... constraint acyclic
    ... ''')
    >>> asyncio.run(mtpp_dsl.solve_async(problem, "ideals")).status
    'optimal'
    """
    return await start(problem, method, **options)
