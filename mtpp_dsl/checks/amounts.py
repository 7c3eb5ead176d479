"""Say how much more is asked of a memory than it has, for people."""

from __future__ import annotations

from mtpp_dsl.core.problem.problem import Problem

__all__ = ["needs"]


def needs(problem: Problem, device: int, used: float, room: float) -> str:
    """Return "gpu needs 37.7 GB of 24 GB"; with all digits where the rounded sizes would be the same."""
    name, (have, there) = problem.devices[device].name, (problem.size(used), problem.size(room))
    return f"{name} needs {have} of {there}" if have != there else f"{name} needs {used:.12g} of {room:.12g}"
