"""``mtpp train``: a policy that places nodes, trained on some problems, for ``--method placeto --policy FILE``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import exp, inf, log
from pathlib import Path
from time import monotonic
from typing import Any

from mtpp_dsl.cli.calls import TrainCall
from mtpp_dsl.cli.parameters import read_problem
from mtpp_dsl.cli.screen import say
from mtpp_dsl.cli.signals import listener
from mtpp_dsl.core.base.amounts import seconds
from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.units import counted, format_quantity
from mtpp_dsl.core.base.writing import check_writable, replacing, write_text
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.contracts.protocols import refusal
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import built_in
from mtpp_dsl.solving.answers.json import versions

METHOD = "mtpp_dsl.solvers.methods.learned:Placeto"
TRAIN = "mtpp_dsl.solvers.schedule.learning.training:train"
POLICY = "mtpp_dsl.solvers.schedule.learning.policy:Policy"
LOOK = 2.0
"""Seconds between lines of progress."""


def train_and_report(call: TrainCall) -> int:
    """Train, write the policy, print what it makes of each problem, and return the exit code."""
    limit = seconds(call.time_limit, "--time-limit")
    check_writable(call.output)
    policy = None if call.start is None else _policy(call.start, call.output)
    problems = {
        name: problem for source in call.sources for name, problem in _problems(source, call.define, call.include)
    }
    method = built_in(METHOD)()
    for name, problem in problems.items():
        why = refusal(method, problem)
        if why is not None:
            raise UsageError(f"{name}: {why}")
    telling = _Telling(call.updates, quiet=call.quiet)
    limits = Limits(time=limit, seed=call.seed)
    with listener.searching(telling.stop):
        training = built_in(TRAIN)(
            list(problems.values()), limits=limits, updates=call.updates, policy=policy, after_update=telling
        )
        listener.search_ended()
    spent = telling.spent
    trained = {
        "on": [Path(name).name for name in problems],
        "updates": training.updates,
        "seconds": round(spent, 3),
        "seed": call.seed,
        "from": None if call.start is None else call.start.name,
        "versions": versions(),
    }
    write_text(call.output, json.dumps({**training.policy.to_json(), "trained": trained}) + "\n")
    if not call.quiet:
        _report(problems, training.lessons)
        why = "" if training.updates else ": none ended within the time limit, and the policy is as it began"
        say(f"{call.output}: {counted(training.updates, 'update')} in {format_quantity(spent, 's')}{why}")
    return 0 if telling.signal is None else listener.exit_code(telling.signal)


def _policy(start: Path, output: Path) -> Any:
    """Return the policy to begin with, whose place the trained one may take."""
    with replacing(start, output):
        return built_in(POLICY).from_json(read_json(start))


def _problems(source: Path, define: Sequence[str], include: Sequence[Path]) -> list[tuple[str, Problem]]:
    """Return the problem of a spec, or those of a sweep that are makespans on links, with their names."""
    if source.suffix != ".toml":
        return [(str(source), read_problem(source, define, include))]
    if define or include:
        raise UsageError(f"-D and -I are for specs; {source} says itself what its specs are and what params are")
    from mtpp_dsl.sweeps.file.expansion import expand
    from mtpp_dsl.sweeps.file.file import read_sweep
    from mtpp_dsl.sweeps.file.problem_files import problem_of

    runs = {run.problem: run for run in reversed(expand(read_sweep(source)))}
    problems = [(name, problem_of(run)) for name, run in reversed(runs.items())]
    method = built_in(METHOD)()
    fit = [(name, problem) for name, problem in problems if refusal(method, problem) is None]
    if not fit:
        raise UsageError(
            f"{source} has no problem to train on; of {problems[0][0]!r}: {refusal(method, problems[0][1])}"
        )
    if len(fit) < len(problems):
        absent = f"{len(problems) - len(fit)} of {len(problems)} problems are left out"
        say(f"{source}: {absent}: they are no makespans on links")
    return fit


class _Telling:
    """Tells of the training from time to time, and whether somebody asked to stop."""

    def __init__(self, updates: int, *, quiet: bool) -> None:
        self._updates, self._quiet = updates, quiet
        self._began = self._last = monotonic()
        self._shares: list[float] = []
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    @property
    def signal(self) -> int | None:
        return listener.stopped_by

    @property
    def spent(self) -> float:
        return monotonic() - self._began

    def __call__(self, done: int, share: float) -> bool:
        self._shares.append(share)
        now = monotonic()
        if not self._quiet and (now - self._last >= LOOK or done == self._updates):
            mean = exp(sum(log(max(one, 1e-300)) for one in self._shares) / len(self._shares))
            say(f"update {done} of {self._updates}: {mean:.3f} of the makespans of heft", stderr=True)
            self._last, self._shares = now, []
        return self._stopped


def _report(problems: Mapping[str, Problem], lessons: Sequence[Any]) -> None:
    """Print a line a problem: makespans before and after, beside those of ``heft``."""
    width = max((len(name) for name in problems), default=0)
    say(f"{'':{width}}  {'before':>10}  {'after':>10}  {'heft':>10}")
    for (name, problem), lesson in zip(problems.items(), lessons, strict=True):
        unit = problem.objective.unit(problem.time_unit)
        shown = [_shown(value, unit) for value in (lesson.before, lesson.after, lesson.heft)]
        say(f"{name:{width}}  {shown[0]:>10}  {shown[1]:>10}  {shown[2]:>10}")


def _shown(value: float, unit: str | None) -> str:
    return "none" if value == inf else format_quantity(value, unit or "")
