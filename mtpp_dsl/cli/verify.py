"""``mtpp verify``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import Any

from mtpp_dsl.checks.stage_check import broken_groups
from mtpp_dsl.checks.verification import costs_of, verify
from mtpp_dsl.cli.parameters import key_values, read_problem
from mtpp_dsl.cli.screen import say, screen_width
from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.base.units import counted
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import with_objectives
from mtpp_dsl.solving.answers.again import path_of, recorded_params, under_target
from mtpp_dsl.solving.answers.claims import NOT_CHECKED, false_claims, false_source
from mtpp_dsl.solving.answers.plans import false_plan
from mtpp_dsl.solving.answers.proof_files import check_proof_file, write_proof
from mtpp_dsl.solving.answers.proofs import BoundClaim, ProofFinding, check_bound, check_infeasible
from mtpp_dsl.solving.answers.shape import answers_of, check_shape, dominated

__all__ = ["verify_plan"]


MAX_SHOWN = 20
"""Number of faults of one answer that are printed."""


def verify_plan(
    spec: Path,
    plan_file: Path,
    define: list[str],
    include: list[Path],
    time_limit: float | None,
    *,
    quiet: bool = False,
    scenario: str | None = None,
    export_proof: Path | None = None,
) -> int:
    """Check an answer, or a plan alone; return the exit code. Where *quiet*, say nothing of what is right.

    Without a *scenario*, that of the answer counts. What proves the bound is written to *export_proof*.
    """
    data: Any = read_json(plan_file)
    if export_proof is not None:
        check_proof_file(export_proof)
    if is_front(data):
        if export_proof is not None:
            raise UsageError(f"--export-proof is for one answer, and {plan_file} has the points of a front")
        return verify_front(spec, plan_file, data, define, include, time_limit, quiet=quiet, scenario=scenario)
    answer = _answer_of(data, str(plan_file))
    recorded = {} if answer is None else recorded_params(answer["spec"], spec)
    recorded_scenario = None if answer is None else answer["spec"].get("scenario")
    problem = read_problem(spec, define, include, recorded, recorded_scenario if scenario is None else scenario)
    if answer is not None and answer.get("target") is not None:
        problem = under_target(problem, answer["target"]["name"])
    limits = Limits(time=time_limit)
    examined = examine(problem, data, answer, spec, define, limits)
    if examined.broken or examined.wrong:
        head = f"{plan_file}: not a plan for {spec}" if examined.broken else f"{plan_file}: it contradicts {spec}"
        print_wrong(head, [*examined.broken, *examined.wrong])
        return VerificationError.exit_code
    if not quiet:
        costs = None if examined.plan is None else costs_of(problem, examined.plan)
        _print_right(problem, spec, plan_file, costs, answer, examined.findings)
    if export_proof is not None:
        claim = BoundClaim.of(problem, answer)
        if claim is None:
            raise UsageError(f"no proof was written to {export_proof}: {plan_file} has no bound")
        write_proof(problem, claim, examined.findings[0], export_proof, limits)
        if not quiet:
            say(f"the proof of the bound was written to {export_proof}")
    return 0


def _answer_of(data: Any, name: str) -> Mapping[str, Any] | None:
    """Return *data* if it is an answer, None if it is a plan alone, both checked for their shape.

    A node may be called "plan" or "schema": then it has a device, which is a string.
    """
    fields = {key for key in ("schema", "plan", "assignment") if not isinstance(data, dict) or key in data}
    if not isinstance(data, dict) or not fields or all(isinstance(data[field], str) for field in fields):
        return None
    if set(data) == {"plan"}:
        data = data["plan"]
    if "assignment" in data and "plan" not in data and "schema" not in data:
        check_shape(data, name, "plan")
        return None
    check_shape(data, name)
    answer: Mapping[str, Any] = data
    return answer


def _print_right(
    problem: Problem,
    spec: Path,
    plan_file: Path,
    costs: list[float] | None,
    answer: Mapping[str, Any] | None,
    findings: list[ProofFinding],
) -> None:
    if costs is not None:
        shown = ", ".join(
            f"{objective.shown} {problem.valued(cost, objective)}"
            for objective, cost in zip(problem.objectives, costs, strict=True)
        )
        hard = "every constraint without a penalty holds" if problem.soft_rows else "every constraint holds"
        say(f"{plan_file}: a plan for {spec}, {shown}; {hard}")
    elif answer is not None:
        say(f"{plan_file}: an answer without a plan for {spec}, status {answer['status']}")
    for finding in findings:
        say(finding.text)
    if answer is None:
        return
    if answer["status"] == "optimal":
        proved = all(finding.proved for finding in findings)
        say("optimal: proved again here" if proved else "optimal: only claimed, as its bound is not proved here")
    also = ", penalties" if problem.soft_rows else ""
    what = "objectives" if problem.later else "objective"
    say(f"plan, devices, {what}{also}, gap, status and spec were computed again, and are correct")
    skipped = [name + (f" ({how})" if how else "") for name, how in NOT_CHECKED.items() if _given(answer, name)]
    if answer["spec"].get("files") is None:
        skipped.append("the files that the spec reads (the answer does not name them)")
    say(
        fill(
            f"not checked, as a spec does not determine it: {', '.join(skipped)}",
            min(screen_width() or 100, 120),
            subsequent_indent="  ",
        )
    )


def _given(answer: Mapping[str, Any], name: str) -> bool:
    """Return whether an answer has a field, given by its path."""
    part: Any = answer
    for key in name.split("."):
        if isinstance(part, list):  # of the objectives after the first
            part = next((row[key] for row in part[1:] if row.get(key) is not None), None)
        else:
            part = part.get(key) if isinstance(part, Mapping) else None
    return part is not None


# ``mtpp verify`` of a front: every point is an answer of its own.


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
        examined = examine(problem, answer, answer, spec, define, left, in_front=True)
        wrong += (f"point {number}: {message}" for message in (*examined.broken, *examined.wrong))
        wrong += [f"point {number}: there is no plan"] if examined.plan is None and not examined.wrong else []
        proved += bool(examined.findings) and all(finding.proved for finding in examined.findings)
        costs.append(_costs(problem, examined))
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


def _costs(problem: Problem, examined: Examined) -> tuple[float, ...] | None:
    return None if examined.plan is None or examined.broken else tuple(costs_of(problem, examined.plan))


@dataclass
class Examined:
    """What was found of an answer, or of a plan alone.

    Attributes:
        plan: that it has; None without one.
        broken: constraints that the plan breaks.
        wrong: what the answer says that is not so.
        findings: what could be proved again.
    """

    plan: Plan | None = None
    broken: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    findings: list[ProofFinding] = field(default_factory=list)


def examine(
    problem: Problem,
    data: Any,
    answer: Mapping[str, Any] | None,
    spec: Path,
    define: list[str],
    limits: Limits,
    *,
    in_front: bool = False,
) -> Examined:
    """Check an answer, or a plan alone, against a problem.

    Args:
        problem: what is asked, with the params of the answer.
        data: the JSON that the plan is read from.
        answer: the same, if it is an answer, of the right shape.
        spec: the file of the problem.
        define: values of params as given.
        limits: of the time that certificates may take.
        in_front: whether it is a point of a front.

    Raises:
        UsageError: it holds no plan that can be read, and nothing else is wrong with it.
    """
    examined = Examined()
    if answer is not None:
        examined.wrong += [*_contradicted(problem, answer, define, spec), *false_source(problem, answer["spec"])]
    try:
        examined.plan = None if answer is not None and answer["plan"] is None else Plan.from_json(problem, data)
    except UsageError as error:
        if not examined.wrong:
            raise
        examined.wrong.append(str(error))
        return examined
    examined.broken = [] if examined.plan is None else [str(violation) for violation in verify(problem, examined.plan)]
    if answer is not None and not (
        examined.plan is not None and examined.plan.shards and any(broken_groups(problem, examined.plan))
    ):
        examined.wrong += false_claims(
            problem, answer, examined.plan, in_front=in_front
        )  # of devices in no groups: no costs
        examined.wrong += false_plan(problem, examined.plan, answer) if not examined.broken else ()
    if not examined.broken and not examined.wrong and answer is not None:
        try:
            examined.findings += _proofs(problem, answer, limits)
        except VerificationError as error:
            examined.wrong.append(str(error))
    return examined


def _contradicted(problem: Problem, answer: Mapping[str, Any], define: list[str], spec: Path) -> Iterator[str]:
    """Yield the params that ``-D`` gives another value than the answer has."""
    here = problem.origin.params
    for name in key_values(define, "-D"):
        recorded = answer["spec"]["params"].get(name)
        same = recorded == here[name] and isinstance(recorded, bool) == isinstance(here[name], bool)
        where = path_of(recorded, answer["spec"]["path"], spec)
        if not same and where is not None and where.exists():
            same = where.resolve() == Path(str(here[name])).resolve()
        if not same:
            yield f"spec.params: {name} is {recorded!r} in the answer, and -D says {here[name]!r}"


def _proofs(problem: Problem, answer: Mapping[str, Any], limits: Limits) -> Iterator[ProofFinding]:
    """Yield what could be proved again of the bound, or of there being no plan."""
    claim = BoundClaim.of(problem, answer)
    if claim is not None:
        yield check_bound(problem, claim, limits)
    if answer["infeasible"] is not None:
        yield check_infeasible(problem, answer["infeasible"]["clash"])


def print_wrong(head: str, wrong: list[str]) -> None:
    """Print what is wrong with an answer, one line each, below a heading; of very many the first."""
    more = [f"… and {len(wrong) - MAX_SHOWN} more"] if len(wrong) > MAX_SHOWN else []
    say("\n".join([head, *(f"  {message}" for message in [*wrong[:MAX_SHOWN], *more])]))
