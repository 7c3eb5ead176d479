"""Why a node is on its device: what it would cost elsewhere, and what keeps it from there.

A device that is alike the node's own can be exchanged with it, so that the name says nothing. What is asked there is
whether the node could be with what it reads, or with what reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mtpp_dsl.checks.verification import verify
from mtpp_dsl.core.constraints import Colocate, Constraint, Forbid, Pin, PinChunks
from mtpp_dsl.core.errors import MtppError, Refused
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import OPTIMAL_GAP
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.symmetry import interchangeable
from mtpp_dsl.show.explaining.budget import BudgetTask, SolvedTask, solved
from mtpp_dsl.show.explaining.neighbours import PlanChange, applied, classes_of, replanned
from mtpp_dsl.show.explaining.places_of_node import Elsewhere, NodeChoice
from mtpp_dsl.show.explaining.question import Question

MOST = 12
"""Devices, of those that are not alike, for which plans are searched; of more those that hold neighbours first."""


def node_choice(question: Question, seconds: float) -> NodeChoice | None:
    """Return where the node that is asked about would cost what; None without a plan, or a node.

    For every device that is not alike another one a plan with the node there is searched, in its share of *seconds*.
    """
    problem, plan, v = question.problem, question.plan, question.node
    if plan is None or v is None:
        return None
    names = [device.name for device in problem.devices]
    here = [d for d, nodes in enumerate(plan.nodes_on(problem.k)) if v in nodes]
    class_of = {d: members for members in interchangeable(problem) for d in members}
    tied = classes_of(problem)[v]
    elsewhere: dict[int, Elsewhere] = {}
    tasks: dict[int, BudgetTask] = {}
    same: dict[int, int] = {}  # of the devices of one class without the node one is enough
    for e in _others(problem, plan, v, here):
        twin = _twin(plan, e, elsewhere, class_of, here)
        if twin is not None:
            elsewhere[twin] = replace(elsewhere[twin], alike=(*elsewhere[twin].alike, names[e]))
            continue
        members = tuple(names[d] for d in plan.replicas.get(e, (e,)) if d != e)
        never = tuple(_never(problem, tied, e))
        elsewhere[e] = Elsewhere(names[e], alike=members, never=never)
        if never:
            continue
        elsewhere[e], start = _with_move(question, plan, v, tied, e, elsewhere[e])
        rule: Constraint = Pin(nodes=(v,), devices=_shared_with(problem, e))
        if any(e in class_of[d] for d in here):
            beside = _beside(problem, plan, v, tied, e)
            elsewhere[e] = replace(
                elsewhere[e], exchanged=True, beside="" if beside is None else problem.graph.names[beside]
            )
            if beside is None:
                continue
            rule = Colocate(nodes=tuple(sorted((v, beside))))
        elif not any(d in class_of[e] for d in here):
            same[e] = next((d for d in tasks if d in class_of[e] and not elsewhere[d].exchanged), e)
        if same.get(e, e) != e:
            continue
        if len(tasks) == MOST:
            elsewhere[e] = replace(elsewhere[e], why=f"plans were searched for {MOST} other devices alone")
            continue
        asked = problem.with_constraints([*problem.constraints, rule])
        tasks[e] = BudgetTask(f"{problem.graph.names[v]} on {names[e]}", replace(asked, target=None), start)
    answers = dict(zip(tasks, solved(question, [*tasks.values()], seconds), strict=True))
    for e in elsewhere:
        answer = answers.get(same.get(e, e))
        if answer is not None:
            there = frozenset(class_of[e]) if elsewhere[e].beside == "" else frozenset(range(problem.k))
            elsewhere[e] = _with_answer(elsewhere[e], answer, v, there)
    time = float(problem.time[v, here[0]]) if here and problem.objective.batch is None else 0.0
    others = tuple(problem.graph.names[w] for w in tied if w != v)
    return NodeChoice(question, v, tuple(names[d] for d in here), time, others, tuple(elsewhere.values()))


def _others(problem: Problem, plan: Plan, v: int, here: list[int]) -> list[int]:
    """Return the devices that a node could be on besides, those with its neighbours first; of replicas their first."""
    leads = set(plan.leads(problem.k).tolist())
    near = {int(plan.assignment[w]) for w in _neighbours(problem, v)}
    return sorted(leads - set(here), key=lambda e: (e not in near, e))


def _neighbours(problem: Problem, v: int) -> list[int]:
    return [*problem.graph.predecessors(v).tolist(), *problem.graph.successors(v).tolist()]


def _beside(problem: Problem, plan: Plan, v: int, tied: tuple[int, ...], e: int) -> int | None:
    """Return a node on device *e* that is joined to node *v* by an edge; None where there is none."""
    return next((w for w in _neighbours(problem, v) if plan.assignment[w] == e and w not in tied), None)


def _shared_with(problem: Problem, e: int) -> tuple[int, ...]:
    """Return a device and those that may run a stage with it, as replicas or shards: a stage there may be on all."""
    rules = (problem.replicate[e], problem.shard[e])
    sharing = {e}
    for rule in rules:
        if rule is not None:
            sharing |= set(range(problem.k)) if rule.devices is None else set(rule.devices)
    return tuple(sorted(sharing))


def _with_answer(place: Elsewhere, answer: SolvedTask, v: int, there: frozenset[int]) -> Elsewhere:
    """Return a place with what came of arranging all else anew.

    A plan whose stage shares the inputs with that device alone counts where node *v* is on one of the devices *there*,
    which are alike; of another one the bound holds, and the plan in which the node alone has moved is the best known.
    """
    result = answer.result
    if result is None:
        return replace(place, why=answer.why)
    cost, status = result.cost, result.status
    if result.plan is not None and not any(v in result.plan.nodes_on(answer.task.problem.k)[d] for d in there):
        cost = place.moved
        proved = cost is not None and result.bound is not None and cost <= result.bound.cost * (1 + OPTIMAL_GAP)
        status = "bound" if cost is None else "optimal" if proved else "feasible"
    return replace(
        place,
        status=status,
        cost=cost,
        bound=None if result.bound is None else result.bound.cost,
        clash=() if result.infeasibility is None else _clash(result.infeasibility.clash),
    )


def _twin(
    plan: Plan, e: int, elsewhere: dict[int, Elsewhere], class_of: dict[int, tuple[int, ...]], here: list[int]
) -> int | None:
    """Return a device that was looked at and of which all that is said holds of *e*, too; None where there is none.

    They are alike, and both without nodes: then the plan in which the node has moved to either is the same but for
    names.
    """
    occupied = set(plan.assignment.tolist())
    if e in occupied or any(d in class_of[e] for d in here):
        return None
    return next((d for d in class_of[e] if d in elsewhere and d not in occupied), None)


def _clash(clash: tuple[str, ...]) -> tuple[str, ...]:
    """Return the constraints of a clash but the one that was added, which has no place."""
    return tuple(rule for rule in clash if rule not in ("pin", "colocate"))


def _never(problem: Problem, nodes: tuple[int, ...], e: int) -> Iterator[str]:
    """Yield what keeps one of *nodes* from device *e* whatever else is done."""
    names = problem.graph.names
    for w in nodes:
        who = "" if w == nodes[0] and len(nodes) == 1 else f" ({names[w]})"
        runs = np.isfinite(problem.time[w, e]) if problem.objective.batch is None else problem.batching.supported[w, e]
        if not runs:
            yield f"{problem.devices[e].name} cannot run it{who}"
        for rule in problem.constraints:
            keeps = (
                (isinstance(rule, Pin) and w in rule.nodes and e not in rule.devices)
                or (isinstance(rule, PinChunks) and w in rule.nodes and e not in rule.places)
                or (isinstance(rule, Forbid) and w in rule.nodes and e in rule.devices)
            )
            if keeps:
                yield f"{rule}{who}"


def _with_move(
    question: Question, plan: Plan, v: int, tied: tuple[int, ...], e: int, place: Elsewhere
) -> tuple[Elsewhere, Plan | None]:
    """Return what moving the node alone costs or breaks, and the plan if it is one."""
    problem = question.problem
    try:
        made, evaluation = replanned(problem, plan)(
            applied(plan, PlanChange("move", ((tied, int(plan.assignment[v]), e),)))
        )
        broken = verify(problem, made)
    except Refused:
        return place, None
    except MtppError as error:
        return replace(place, broken=(str(error),)), None
    if broken:
        return replace(place, broken=tuple(dict.fromkeys(violation.constraint for violation in broken))), None
    return replace(place, moved=evaluation.cost), made
