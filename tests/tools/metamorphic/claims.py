"""Relations between methods, reductions, plans and proofs of one spec."""

from __future__ import annotations

import json
from collections.abc import Iterator
from graphlib import TopologicalSorter
from io import StringIO
from pathlib import Path
from random import Random

import mtpp_dsl
from mtpp_dsl.checks.verification import cost_of, verify
from mtpp_dsl.cli.verify import examine
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError, UsageError, VerificationError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.problem import Problem
from mtpp_dsl.show.reporting import page_of
from mtpp_dsl.solvers.reductions.all_reductions import reduce
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.solving.finding import find_method
from tests.tools.metamorphic.answers import TOLERANCE, Answer, at_most
from tests.tools.metamorphic.relations import Trial, equal
from tests.tools.metamorphic.text import Spec

__all__ = ["answered", "compared", "confined", "planted", "proved", "reduced"]

ABOVE = 1e-4
"""Relative: so far above a plan no bound is proved."""
SECONDS = 1.0
"""Time of a checker."""


def others(problem: Problem) -> list[str]:
    """Return the methods that take a problem, without ``auto``."""
    names = [*registry.available(registry.METHODS), *registry.available(registry.FORMULATIONS)]
    return [name for name in names if name not in LEFT_OUT and find_method(name).accepts(problem) is None]


LEFT_OUT = ("auto", "scotch", "lns", "fig3", "moirai-printed", "batched-printed", "published-greedy")
"""Methods that want other programs, or answer another problem, as it was published."""


def compared(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside the answers of two other methods."""
    mine = trial.ask()
    if mine.problem is None:
        return
    names = others(mine.problem)
    for name in trial.random.sample(names, min(2, len(names))):
        other = trial.answers.ask(trial.spec, name)
        if other.failed:
            yield f"{name}: {other.failed}"
        yield from (f"{what} (bound of {trial.method}, plan of {name})" for what in at_most(mine, other))
        yield from (f"{what} (bound of {name}, plan of {trial.method})" for what in at_most(other, mine))
        yield from (f"{what} (both of {name})" for what in at_most(other, other))


def reduced(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside the problem that reductions leave: its optimum is the same, its plans are plans."""
    mine = trial.ask()
    if mine.problem is None or mine.result is None:
        return
    smaller, back = reduce(mine.problem)
    if smaller is mine.problem:
        return
    try:
        result = mtpp_dsl.solve(smaller, trial.method, time_limit=trial.answers.seconds)
    except UsageError:
        return
    yield from equal(mine, Answer(trial.spec, smaller, result))
    if result.plan is not None and result.cost is not None:
        plan = back(result.plan)
        broken = verify(mine.problem, plan)
        if broken:
            yield f"a plan of the reduced problem is none of the problem: {broken[0]}"
        elif abs(cost_of(mine.problem, plan) - result.cost) > TOLERANCE * max(abs(result.cost), mine.size):
            yield f"a plan costs {result.cost!r} reduced, and {cost_of(mine.problem, plan)!r} as it is"


def planted(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside random plans that keep all constraints: no bound is above them."""
    mine = trial.ask()
    if mine.problem is None or mine.result is None or mine.problem.timed or mine.problem.objective.batch is not None:
        return
    for plan in _plans(mine.problem, trial.random):
        try:
            if verify(mine.problem, plan):
                continue
            cost = cost_of(mine.problem, plan)
        except MtppError:
            return
        if mine.infeasible:
            yield f"false infeasible: a random plan costs {cost!r}"
        elif mine.bound is not None and mine.bound > cost + TOLERANCE * max(abs(cost), abs(mine.bound)):
            yield f"bound above a plan: the bound is {mine.bound!r}, and a random plan costs {cost!r}"


def _plans(problem: Problem, draw: Random) -> Iterator[Plan]:
    graph = problem.graph
    sorter: TopologicalSorter[int] = TopologicalSorter({v: [] for v in range(graph.n)})
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        sorter.add(v, u)
    order = list(sorter.static_order())
    for turn in range(12):
        devices = list(range(problem.k))
        if turn % 2:
            draw.shuffle(devices)
        cuts = sorted(draw.randint(0, graph.n) for _ in range(problem.k - 1))
        assignment = [0] * graph.n
        for at, v in enumerate(order):
            assignment[v] = devices[sum(cut <= at for cut in cuts)]
        if turn > 8:
            assignment = [draw.randrange(problem.k) for _ in range(graph.n)]
        yield Plan.create(problem, assignment)


def confined(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after all memories were made as small as the plan that was found allows."""
    mine = trial.ask()
    simple = mine.result is not None and mine.result.plan is not None and mine.problem is not None
    enlarged = trial.spec.has("copies", "replicate", "shard", "batch =", "schedule =", "overflow", "cache uniform")
    if not simple or enlarged or "constraint memory" not in trial.spec.lines or not trial.spec.has("memory ="):
        return
    assert mine.result is not None
    assert mine.result.plan is not None
    assert mine.problem is not None
    lines, graph = list(trial.spec.lines), mine.problem.graph
    for d, at in enumerate(trial.spec.starting("device")):
        nodes = [v for v in range(graph.n) if int(mine.result.plan.assignment[v]) == d]
        device = mine.problem.devices[d]
        if device.memory is None:
            continue
        needed = sum(float(graph.memory[v]) for v in nodes) + max((float(graph.workspace[v]) for v in nodes), default=0)
        head, _, tail = lines[at].partition("memory = ")
        rest = tail[tail.index(" GB") :]
        lines[at] = f"{head}memory = {(needed + device.reserve) / 1e9:.9f}{rest}"
    other = trial.ask(Spec(tuple(lines)))
    yield from at_most(mine, other)
    yield from at_most(other, mine)


def proved(trial: Trial) -> Iterator[str]:
    """Yield what is wrong with proofs: of its bound, which must hold, and of one above its plan, which must not."""
    mine = trial.ask()
    if mine.result is None or mine.problem is None:
        return
    bound = mine.result.bound
    certificate = None if bound is None or bound.certificate is None else bound.certificate.to_json()
    if bound is not None and certificate is not None:
        try:
            check_bound(mine.problem, _claim(mine.problem, bound.cost, certificate), Limits(time=30.0))
        except VerificationError as error:
            yield f"its own certificate does not prove its bound: {error}"
        except UsageError:
            pass  # the time did not suffice
    if mine.cost is None or mine.cost <= 0:
        return
    high = mine.cost * (1 + ABOVE)
    forged = [] if certificate is None else [{**certificate, **({"target": high} if "target" in certificate else {})}]
    for one in (None, *forged):
        if _holds(mine.problem, _claim(mine.problem, high, one)):
            yield f"proved too much: that no plan is below {high!r}, and there is one of {mine.cost!r}"


def _claim(problem: Problem, cost: float, certificate: dict[str, object] | None) -> BoundClaim:
    return BoundClaim(problem.objective.value(cost), cost, "another", certificate)


def _holds(problem: Problem, claim: BoundClaim) -> bool:
    try:
        return check_bound(problem, claim, Limits(time=SECONDS)).proved
    except (VerificationError, UsageError):
        return False


def answered(trial: Trial) -> Iterator[str]:
    """Yield what ``mtpp verify`` finds wrong in the JSON answer; the answer is also shown, as text and as a page."""
    mine = trial.ask()
    if mine.result is None or mine.problem is None:
        return
    data = json.loads(mine.result.to_json())
    try:
        seen = examine(mine.problem, data, data, Path("spec.mtpp"), [], Limits(time=SECONDS))
    except UsageError:
        return  # the time did not suffice
    yield from (f"the answer is wrong: {what}" for what in [*(seen.broken or ()), *seen.wrong])
    mine.result.show(80, StringIO())
    page_of(mine.problem, mine.result)
