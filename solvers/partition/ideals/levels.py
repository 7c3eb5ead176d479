"""Derive what a hierarchy of devices is on one level, and which hierarchies are gone through on two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mtpp_dsl.core.constraints import Replicate
from mtpp_dsl.core.problem.devices import Host, Shared
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.device_types import device_types
from mtpp_dsl.solvers.partition.ideals.nest import group_types, spreading

__all__ = ["one_level", "unlike"]

MAX_STATES = 2_000


def one_level(problem: Problem) -> Problem:
    """Return *problem* without groups and exchange of weights: every plan is one there, and costs no more."""
    link = problem.interconnect
    assert isinstance(link, (Shared, Host))
    constraints = [replace(c, sync="none") if isinstance(c, Replicate) else c for c in problem.constraints]
    devices = tuple(replace(device, group=None) for device in problem.devices)
    return replace(problem, devices=devices, interconnect=replace(link, between=None), constraints=tuple(constraints))


def unlike(problem: Problem) -> str | None:
    """Return why the groups of *problem* are too many, or not to be spread over, or None."""
    devices = device_types(one_level(problem))
    types = group_types(problem, devices)
    wide = spreading(types, devices)
    for kind in types:
        together = [problem.devices[devices.members[q][0]].name for q in wide if kind.holds[q]]
        if len(together) > 1:
            return f"ideals spreads replicas of one device type over groups; {together[0]} and {together[1]} are of two"
    states = np.prod([len(kind.groups) + 1.0 for kind in types]) * max(np.prod(kind.holds + 1.0) for kind in types)
    if states > MAX_STATES:
        return (
            f"there are {states:,.0f} ways to have used some of the groups and of the devices in one; ideals goes "
            f"through at most {MAX_STATES:,}"
        )
    return None
