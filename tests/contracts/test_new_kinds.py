"""A new objective or interconnect is refused by every method, without a change to any of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from mtpp_dsl.api import find_method, method_names
from mtpp_dsl.contracts import Limits
from mtpp_dsl.errors import Refused
from mtpp_dsl.plugins.samples import small
from mtpp_dsl.problem import Objective, Problem
from mtpp_dsl.registry import BUILTIN, PROOFS, load
from mtpp_dsl.solvers.reductions.contract import Contract
from mtpp_dsl.solvers.reductions.fuse import Fuse

KNOWING_NOTHING = ("single-device", "expert")
"""Methods that return one plan, whatever is asked, or the one that they were given."""


class Traffic(Objective):
    """The largest of something that is no load."""

    @property
    def quantity(self) -> Any:
        return "traffic"


@dataclass(frozen=True)
class Multicast:
    """A channel on which reading costs nothing."""

    bandwidth: float
    overflow: bool = False
    between: float | None = None
    keyword: ClassVar[str] = "multicast"


def unheard_of(name: str, what: str) -> Problem:
    """Return a small problem with an objective, or an interconnect, that is new."""
    problem = small()[name]
    if what == "objective":
        return replace(problem, objective=Traffic("bottleneck"))
    interconnect: Any = Multicast(1.0)
    return replace(problem, interconnect=interconnect)


@pytest.mark.parametrize("what", ["objective", "interconnect"])
@pytest.mark.parametrize("method", [name for name in method_names() if name not in KNOWING_NOTHING])
def test_every_method_refuses_it(method: str, what: str) -> None:
    """What a method does not list it refuses, in a sentence that names it."""
    for name in ("diamond", "anything goes", "training"):
        reason = find_method(method).accepts(unheard_of(name, what))
        assert reason is not None, f"{method} accepts {name}"


@pytest.mark.parametrize("what", ["objective", "interconnect"])
def test_reductions_and_checkers_refuse_it(what: str) -> None:
    """No reduction is put on it, and no certificate proves a bound for it."""
    problem = unheard_of("diamond", what)
    assert Contract().accepts(problem) is not None
    assert Fuse().accepts(problem) is not None
    for kind in ("shares", "cuts", "configuration", "count"):
        assert kind in BUILTIN[PROOFS]
        with pytest.raises(Refused, match="certificates are about loads on shared and host interconnects"):
            load(PROOFS, kind)().prove(problem, {}, Limits())
