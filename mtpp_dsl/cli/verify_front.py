"""``mtpp verify`` of a front: every point is an answer of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from mtpp_dsl.checks.verification import costs_of
from mtpp_dsl.cli.arguments import read_problem
from mtpp_dsl.cli.examine import Examined, examine, print_wrong
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import VerificationError
from mtpp_dsl.core.problem.pair import with_objectives
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.again import recorded_params
from mtpp_dsl.solving.answers.front import answers_of, dominated

__all__ = ["is_front", "verify_front"]


def is_front(data: Any) -> bool:
    """Return whether JSON is a front, and no answer and no plan."""
    return isinstance(data, Mapping) and isinstance(data.get("front"), list) and "schema" in data


def verify_front(
    spec: Path,
    front_file: Path,
    data: Mapping[str, Any],
    define: list[str],
    include: list[Path],
    time_limit: float | None,
    *,
    quiet: bool,
    scenario: str | None = None,
) -> int:
    """Check every answer of a front, and that no point is as good as another in both; return the exit code."""
    answers = answers_of(data, str(front_file))
    end = None if time_limit is None else monotonic() + time_limit
    wrong: list[str] = []
    proved = 0
    costs: list[tuple[float, ...] | None] = []
    names: list[str] = []
    for number, answer in enumerate(answers, 1):
        found_names = [str(one["name"]) for one in answer["objectives"]]
        names = names or found_names
        if found_names != names:
            wrong.append(f"point {number}: it is of {' and '.join(found_names)}, the first of {' and '.join(names)}")
            continue
        chosen = answer["spec"].get("scenario") if scenario is None else scenario
        asked = read_problem(spec, define, include, recorded_params(answer["spec"], spec), chosen)
        problem = with_objectives(asked, names)
        left = Limits(time=None if end is None else max(0.0, end - monotonic()))
        found = examine(problem, answer, answer, spec, define, left, in_front=True)
        wrong += (f"point {number}: {message}" for message in (*found.broken, *found.wrong))
        wrong += [f"point {number}: there is no plan"] if found.plan is None and not found.wrong else []
        proved += bool(found.findings) and all(finding.proved for finding in found.findings)
        costs.append(_costs(problem, found))
    wrong += dominated(costs)
    if wrong:
        print_wrong(f"{front_file}: no front for {spec}", wrong)
        return VerificationError.exit_code
    if not quiet:
        of = f" of {' and '.join(names)}" if names else ""
        say(f"{front_file}: a front{of} for {spec}, {counted(len(answers), 'point')}; every constraint holds at each")
        if answers:
            say(f"bounds of the first objective proved again here: at {proved} of {counted(len(answers), 'point')}")
            say("that the front is complete is only claimed" if data["complete"] else "the front is not complete")
    return 0


def _costs(problem: Problem, found: Examined) -> tuple[float, ...] | None:
    return None if found.plan is None or found.broken else tuple(costs_of(problem, found.plan))
