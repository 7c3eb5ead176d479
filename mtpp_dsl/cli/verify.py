"""``mtpp verify``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from mtpp_dsl.answers.claims import NOT_CHECKED, false_claims, false_source
from mtpp_dsl.answers.plans import false_devices, false_order, false_rows, false_stages
from mtpp_dsl.answers.shape import check_shape
from mtpp_dsl.base.files import read_json
from mtpp_dsl.base.units import format_quantity
from mtpp_dsl.checks.verification import costs_of, verify
from mtpp_dsl.cli.arguments import key_values, read_problem
from mtpp_dsl.cli.certificate import Claim, Finding, check_bound, check_infeasible
from mtpp_dsl.cli.screen import say, screen_width
from mtpp_dsl.contracts import Limits
from mtpp_dsl.errors import UsageError, VerificationError
from mtpp_dsl.plans.plan import Plan
from mtpp_dsl.problem import Problem

__all__ = ["verify_plan"]

MAX_SHOWN = 20
"""Faults of one answer that are told."""


def verify_plan(
    spec: Path,
    plan_file: Path,
    define: list[str],
    include: list[Path],
    time_limit: float | None,
    *,
    quiet: bool = False,
    scenario: str | None = None,
) -> int:
    """Check an answer, or a plan alone; return the exit code. Where *quiet*, say nothing of what is right.

    Without a *scenario*, that of the answer counts.
    """
    data: Any = read_json(plan_file)
    answer = _answer_of(data, str(plan_file))
    recorded = {} if answer is None else _recorded(answer["spec"], spec)
    said = None if answer is None else answer["spec"].get("scenario")
    problem = read_problem(spec, define, include, recorded, said if scenario is None else scenario)
    wrong = [] if answer is None else [*_contradicted(problem, answer, define, spec)]
    wrong += [] if answer is None else false_source(problem, answer["spec"])
    try:
        plan = None if answer is not None and answer["plan"] is None else Plan.from_json(problem, data)
    except UsageError as error:
        if not wrong:
            raise
        _print_wrong(f"{plan_file}: it contradicts {spec}", [*wrong, str(error)])
        return VerificationError.exit_code
    costs = None if plan is None else costs_of(problem, plan)
    broken = [] if plan is None else [str(violation) for violation in verify(problem, plan)]
    if answer is not None:
        wrong += false_claims(problem, answer, plan)
        wrong += _false_plan(problem, plan, answer) if not broken else ()
    head = f"{plan_file}: not a plan for {spec}" if broken else f"{plan_file}: it contradicts {spec}"
    findings: list[Finding] = []
    if not broken and not wrong and answer is not None:
        try:
            findings += _proofs(problem, answer, Limits(time=time_limit))
        except VerificationError as error:
            wrong.append(str(error))
    if broken or wrong:
        _print_wrong(head, [*broken, *wrong])
        return VerificationError.exit_code
    if not quiet:
        _print_right(problem, spec, plan_file, costs, answer, findings)
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


def _recorded(source: Mapping[str, Any], spec: Path) -> dict[str, object]:
    """Return the params of an answer; paths among them lie beside the spec as they lay beside the answer's."""
    from mtpp_dsl.language.reader import Recorded

    return {name: Recorded(value, _path_of(value, source["path"], spec)) for name, value in source["params"].items()}


def _path_of(value: object, old: str | None, spec: Path) -> Path | None:
    """Return where a file lies now that lay at *value* when the spec was at *old*; None if that cannot be told."""
    if not isinstance(value, str) or not value or not old or "\0" in value + old:
        return None
    if Path(value).is_absolute() != Path(old).is_absolute():
        return Path(value)
    return spec.parent / os.path.relpath(value, Path(old).parent)


def _contradicted(problem: Problem, answer: Mapping[str, Any], define: list[str], spec: Path) -> Iterator[str]:
    """Yield the params that ``-D`` gives another value than the answer has."""
    here = problem.origin.params
    for name in key_values(define, "-D"):
        said = answer["spec"]["params"].get(name)
        same = said == here[name] and isinstance(said, bool) == isinstance(here[name], bool)
        where = _path_of(said, answer["spec"]["path"], spec)
        if not same and where is not None and where.exists():
            same = where.resolve() == Path(str(here[name])).resolve()
        if not same:
            yield f"spec.params: {name} is {said!r} in the answer, and -D says {here[name]!r}"


def _false_plan(problem: Problem, plan: Plan | None, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an answer says of its plan, which breaks nothing, that is not so."""
    if plan is None:
        if answer["devices"]:
            yield "devices: the answer lists what devices do, but has no plan"
        return
    yield from false_order(problem, plan, answer["plan"]["order"])
    yield from false_rows(problem, plan, answer["plan"])
    if "stages" in answer["plan"]:
        yield from false_stages(problem, plan, answer["plan"])
    yield from false_devices(problem, plan, answer["devices"])


def _proofs(problem: Problem, answer: Mapping[str, Any], limits: Limits) -> Iterator[Finding]:
    """Yield what could be proved again of the bound, or of there being no plan."""
    claim = Claim.of(problem, answer)
    if claim is not None:
        yield check_bound(problem, claim, limits)
    if answer["infeasible"] is not None:
        yield check_infeasible(problem, answer["infeasible"]["clash"])


def _print_wrong(head: str, wrong: list[str]) -> None:
    more = [f"… and {len(wrong) - MAX_SHOWN} more"] if len(wrong) > MAX_SHOWN else []
    say("\n".join([head, *(f"  {message}" for message in [*wrong[:MAX_SHOWN], *more])]))


def _print_right(
    problem: Problem,
    spec: Path,
    plan_file: Path,
    costs: list[float] | None,
    answer: Mapping[str, Any] | None,
    findings: list[Finding],
) -> None:
    if costs is not None:
        shown = ", ".join(
            f"{objective.shown} {format_quantity(objective.value(cost), objective.unit(problem.time_unit))}"
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
