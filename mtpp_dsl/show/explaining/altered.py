"""Altered problems: without a constraint, with other memories, with faster links. The rest stays as it is.

Every function returns a new problem, or refuses with the reason why the alteration means nothing there. A problem that
is for a runtime is for that runtime still: what the runtime asks is asked anew of what was altered, except that
:func:`without` takes the constraints as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import BatchSizes, Constraint, Contiguous, Memory, PinChunks, Subgraphs
from mtpp_dsl.core.errors import MtppError, PluginError, Refused
from mtpp_dsl.core.plans.subgraphs import most_subgraphs
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph, frozen
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import free_of
from mtpp_dsl.solving.answers.again import under_target

FIXED = (BatchSizes, PinChunks)
"""Constraints that say what is asked, not only what is allowed: without them it is another problem."""


def without(problem: Problem, constraints: Collection[Constraint]) -> Problem:
    """Return *problem* without some of its constraints; what is optimised, and whether plans are timed, stays.

    Raises:
        Refused: a constraint is not there; without them nothing says what is asked.
    """
    left_out = set(constraints)
    unknown = next((c for c in constraints if c not in problem.constraints), None)
    if unknown is not None:
        raise Refused(f"the problem has no constraint {unknown}")
    fixed = next((c for c in left_out if isinstance(c, FIXED)), None)
    if fixed is not None:
        raise Refused(f"without constraint {fixed} other batches are asked for, which is another problem")
    altered = replace(problem.with_constraints([c for c in problem.constraints if c not in left_out]), target=None)
    reason = _undefined(problem, altered)
    if reason is not None:
        raise Refused(reason)
    checked(altered)
    return altered


def _undefined(problem: Problem, altered: Problem) -> str | None:
    """Return why a makespan by subgraphs is another one without what says how many there are, or None."""
    if not problem.timed or isinstance(problem.interconnect, Links) or problem.objective.batch is not None:
        return None
    before, after = most_subgraphs(problem), most_subgraphs(altered)
    for d in np.flatnonzero((after < before) | ((before == 0) & (after > 0))).tolist():
        if after[d] == 0:
            return f"without it nothing says how many subgraphs {problem.devices[d].name} runs"
        return f"without it {problem.devices[d].name} runs fewer subgraphs, not more"
    return None


def relaxes(problem: Problem, left_out: Collection[Constraint]) -> bool:
    """Return whether every plan of *problem* is one without these constraints, and costs no more there.

    Not where a constraint allows plans (it ``enlarges``), nor where a device without ``constraint memory`` streams what
    does not fit, nor where a constraint says how many subgraphs there are.
    """
    streams = isinstance(problem.interconnect, (Shared, Host)) and problem.interconnect.overflow
    return not any(
        c.enlarges
        or (streams and (isinstance(c, Memory) or (hasattr(c, "devices") and "memory" in c.keyword)))
        or (isinstance(c, (Contiguous, Subgraphs)) and problem.timed and not isinstance(problem.interconnect, Links))
        for c in left_out
    )


def with_memory(problem: Problem, factor: float, devices: Collection[int] | None = None) -> Problem:
    """Return *problem* with the memory of some devices, or of all that have one, times *factor*; reserves stay.

    Raises:
        Refused: none of these has a memory, or the reserve does not fit into what is left of it.
    """
    chosen = _with_memory(problem, devices)
    _check_factor(factor)
    new = [
        replace(device, memory=device.memory * factor) if d in chosen and device.memory is not None else device
        for d, device in enumerate(problem.devices)
    ]
    return made_again(problem, devices=new)


def _with_memory(problem: Problem, devices: Collection[int] | None) -> set[int]:
    asked = set(range(problem.k)) if devices is None else set(devices)
    chosen = {d for d in asked if problem.devices[d].memory is not None}
    if not chosen:
        what = "no device has" if devices is None else "these devices do not have"
        raise Refused(f"{what} a memory limit")
    return chosen


def with_bandwidth(problem: Problem, factor: float) -> Problem:
    """Return *problem* with every bandwidth between devices times *factor*; latencies stay.

    Raises:
        Refused: transfers have times of their own, or no bandwidth limits anything.
    """
    _check_factor(factor)
    joined = problem.interconnect
    if isinstance(joined, (Shared, Host)):
        between = None if joined.between is None else joined.between * factor
        return made_again(problem, interconnect=replace(joined, bandwidth=joined.bandwidth * factor, between=between))
    if isinstance(joined, Links):
        _refuse_times(joined)
        if not (np.isfinite(joined.bandwidth) & (joined.bandwidth > 0)).any():
            raise Refused("no link has a bandwidth")
        return made_again(
            problem, interconnect=replace(joined, bandwidth=frozen(joined.bandwidth * factor, np.float64))
        )
    if not np.isfinite(joined.uplink).any():
        raise Refused("no uplink has a bandwidth")
    return made_again(problem, interconnect=replace(joined, uplink=frozen(joined.uplink * factor, np.float64)))


def _refuse_times(joined: Links) -> None:
    if joined.transfers is not None:
        raise Refused("the times of transfers are given one by one, so that a bandwidth says nothing of them")


def _check_factor(factor: float) -> None:
    if not 0 < factor < float("inf"):
        raise Refused(f"a factor is a number above zero, not {factor:g}")


def made_again(
    problem: Problem,
    *,
    graph: Graph | None = None,
    devices: Sequence[Device] | None = None,
    interconnect: Interconnect | None = None,
    change: Callable[[Problem], Problem] | None = None,
) -> Problem:
    """Return *problem* made anew of other parts, with times and checks as those of a problem that is read.

    Args:
        problem: whose target, if it has one, is asked again what it allows.
        graph: in place of the problem's.
        devices: in place of the problem's.
        interconnect: in place of the problem's.
        change: of the constraints and the objectives, once those of the target are left out.

    Raises:
        Refused: the parts do not go together; says why.
    """
    stated = free_of(problem)
    stated = stated if change is None else change(stated)
    try:
        made = _created(
            replace(
                stated,
                graph=graph or stated.graph,
                devices=tuple(devices or stated.devices),
                interconnect=interconnect or stated.interconnect,
            )
        )
        return made if problem.target is None else under_target(made, problem.target.name)
    except PluginError:
        raise
    except MtppError as error:
        raise Refused(str(error)) from None


def checked(problem: Problem) -> None:
    """Hold that a problem with these constraints can be asked.

    Raises:
        Refused: it cannot; says why.
    """
    try:
        _created(problem)
    except MtppError as error:
        raise Refused(str(error)) from None


def _created(problem: Problem) -> Problem:
    return Problem.create(
        problem.graph,
        problem.devices,
        problem.interconnect,
        problem.objectives,
        problem.constraints,
        time_unit=problem.time_unit,
        origin=problem.origin,
    )
