"""``mtpp check``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mtpp_dsl.api import find_method, method_names
from mtpp_dsl.cli.arguments import read_problem
from mtpp_dsl.cli.screen import say
from mtpp_dsl.contracts import method_traits
from mtpp_dsl.errors import MtppError
from mtpp_dsl.infeasible import forced_together, quick
from mtpp_dsl.problem import Problem
from mtpp_dsl.units import format_quantity

__all__ = ["check_spec"]


def check_spec(spec: Path, define: list[str], include: list[Path]) -> int:
    """Read a spec and say what it means; return the exit code."""
    problem = read_problem(spec, define, include)
    for warning in problem.warnings:
        say(f"warning: {warning}", stderr=True)
    say(f"{spec}: the spec is sound")
    for line in _facts(problem):
        say(f"  {line}")
    impossible = quick(problem)
    if impossible is not None:
        say(f"  but no plan exists: {impossible.reason}")
    forced = forced_together(problem)
    if forced is not None:
        say(f"  note: {forced}")
    _methods(problem)
    return 0


def _facts(problem: Problem) -> list[str]:
    graph, unit = problem.graph, problem.time_unit
    least = problem.time.min(axis=1)
    work = format_quantity(float(least[least < float("inf")].sum()), unit)
    constraints = Counter(getattr(c, "label", c.keyword).partition("[")[0] for c in problem.constraints)
    listed = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in constraints.items())
    params = ", ".join(f"{name} = {value}" for name, value in problem.origin.params.items())
    return [
        f"objective    {problem.objective}",
        f"graph        {graph.n} nodes, {graph.m} edges, {work} of work on the fastest devices",
        f"devices      {problem.k}: {_devices(problem)}",
        f"interconnect {problem.interconnect.keyword}{_groups(problem)}",
        f"constraints  {listed or 'none'}",
        *([f"params       {params}"] if params else []),
    ]


def _devices(problem: Problem) -> str:
    from mtpp_dsl.report.names import fold_names

    return fold_names([device.name for device in problem.devices])


def _groups(problem: Problem) -> str:
    groups = len({device.group for device in problem.devices})
    return f", slower between {groups} groups of devices" if problem.hierarchical else ""


SOLVE, PLAN, BOUND, COMPARE = "can solve it", "can find a plan", "can bound it", "to compare with"
KINDS = {"plan and bound": SOLVE, "plan": PLAN, "bound": BOUND}


def _methods(problem: Problem) -> None:
    can: dict[str, list[str]] = {SOLVE: [], PLAN: [], BOUND: [], COMPARE: []}
    cannot: list[tuple[str, str]] = []
    for name in method_names():
        kind = SOLVE
        try:
            method = find_method(name)
            kind = COMPARE if method_traits(method).baseline else KINDS[method.gives]
            reason = method.accepts(problem)
        except MtppError as error:
            reason = str(error)
        if reason is None:
            can[kind].append(name)
        else:
            cannot.append((name, reason))
    can[SOLVE] = can[SOLVE] or ["no method yet"]
    for kind, names in can.items():
        if names:
            say(f"  {kind}: {', '.join(names)}")
    for names, reason in _together(cannot):
        say(f"  {', '.join(names)} {reason}")


def _together(cannot: list[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """Return what is to be said of the methods that cannot, each reason once, with those whose reason it is."""
    together: dict[str, list[str]] = {}
    for name, reason in cannot:
        told = reason.removeprefix(f"{name} ") if reason.startswith(f"{name} ") else f"cannot: {reason}"
        together.setdefault(told, []).append(name)
    return [
        (names, told if told.startswith("cannot") or len(names) == 1 else f"cannot: each {told}")
        for told, names in together.items()
    ]
