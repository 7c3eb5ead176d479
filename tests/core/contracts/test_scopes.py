"""What a method accepts, as data: what a scope covers, and the sentences of refusals."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from mtpp_dsl.core.constraints import (
    Acyclic,
    BatchSizes,
    Colocate,
    Constraint,
    Linear,
    Load,
    Memory,
    On,
    Pin,
    Replicate,
)
from mtpp_dsl.core.contracts.scopes import DECISIONS, EVERY, WORDS, Scope, Scoped, outside
from mtpp_dsl.core.contracts.traits import formulation_traits, method_traits
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.core.problem.devices import Device, Host, Interconnect, Links, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.registry import BUILTIN, FORMULATIONS, METHODS, load

GRAPH = Graph.create(["a", "b", "c"], [(0, 1), (1, 2)], work=1.0, params=2.0, memory=2.0)
WORKING = Graph.create(["a", "b"], [(0, 1)], work=1.0, memory=1.0, workspace=[1.0, 2.0])
TRAINING = Graph.create(["a", "b"], [(0, 1)], work=1.0, memory=2.0, backward=[False, True])
EQUAL = [Device("p", memory=9.0), Device("q", memory=9.0)]
SHARED = Shared(1.0)
LINKS = Links(bandwidth=np.ones((2, 2)), latency=np.zeros((2, 2)))
NOTHING = Scope(objectives=("bottleneck",), interconnects=("shared", "host"), constraints=(Acyclic, Memory, Linear))
STAGES = replace(NOTHING, decisions=DECISIONS, streams=True, prefetch=True, workspace=True, backward=True, unequal=True)
SCHEDULES = Scope(objectives=("makespan", "batch"), interconnects=("links",), constraints=(Colocate, Pin))


@dataclass(frozen=True, kw_only=True)
class Kinds(Constraint):
    """A constraint of somebody else's."""


@dataclass(frozen=True, kw_only=True)
class Stronger(Memory):
    """One that asks for more than what it is derived from."""


class Both(Scoped):
    """A method of two scopes."""

    name = "both"
    gives = "plan"
    scopes = (STAGES, SCHEDULES)


def problem(
    *constraints: Constraint,
    on: Interconnect = SHARED,
    to: Objective | None = None,
    devices: list[Device] | None = None,
    graph: Graph = GRAPH,
) -> Problem:
    return Problem.create(graph, devices or EQUAL, on, to, constraints)


def row(*terms: On | Load) -> Linear:
    return Linear(label="mine", terms=tuple((term, 1.0) for term in terms), sense="<=", rhs=1.0)


MAKESPAN, BATCH = Objective("makespan"), Objective("throughput", batch=2)
SEPARATE = Objective("bottleneck", parts="separate")
REASONS = {
    "objective": (
        problem(to=SEPARATE, graph=TRAINING),
        "minimises a bottleneck, the makespan of one sample or the makespan of a batch, not a sum of bottlenecks",
    ),
    "interconnect": (
        problem(on=LINKS),
        "minimises a bottleneck on a shared or host interconnect, not on links",
    ),
    "interconnect of the other": (
        problem(on=Host(1.0), to=MAKESPAN),
        "minimises the makespan of one sample on links, not on a host interconnect",
    ),
    "constraint": (problem(Acyclic(), BatchSizes(sizes=(1,))), "does not support constraint batch"),
    "constraint of the other": (
        problem(Colocate(nodes=(0, 1))),
        "does not support constraint colocate for a bottleneck",
    ),
    "constraint in its place": (
        problem(Pin(nodes=(0,), devices=(0,), origin="mine.mtpp:3")),
        "does not support constraint pin (mine.mtpp:3) for a bottleneck",
    ),
    "third party": (problem(Kinds()), "does not support constraint kinds"),
    "derived from one that is kept": (problem(Stronger()), "does not support constraint stronger"),
}


@pytest.mark.parametrize("what", REASONS)
def test_sentences(what: str) -> None:
    """A refusal is a sentence that begins with the name of the method and says what it can, or what it cannot."""
    asked, words = REASONS[what]
    assert Both().accepts(asked) == f"both {words}"


@pytest.mark.parametrize(
    "asked", [problem(), problem(Acyclic(), row(On(0, 0))), problem(on=LINKS, to=MAKESPAN), problem(on=LINKS, to=BATCH)]
)
def test_covered(asked: Problem) -> None:
    """What one of several scopes covers is accepted."""
    assert Both().accepts(asked) is None


NARROW = {
    "groups": (
        {},
        problem(on=Shared(1.0, between=0.5), devices=[replace(d, group=d.name) for d in EQUAL]),
        "does not support a slower network between groups of devices",
    ),
    "streams": (
        {"streams": False},
        problem(on=Shared(1.0, overflow=True)),
        "does not support parameters that are streamed; say 'constraint memory' in place of overflow = stream",
    ),
    "prefetch": (
        {"prefetch": False},
        problem(on=Shared(1.0, overflow=True, prefetch=True)),
        "does not support parameters that are streamed while devices work (overflow = prefetch); say overflow = stream",
    ),
    "workspaces": (
        {"workspace": False},
        problem(Memory(), graph=WORKING, devices=[replace(d, memory=3.0) for d in EQUAL]),
        "does not support nodes of different workspaces; leave them out, and keep the largest free with 'reserve'",
    ),
    "decisions": (
        {"decisions": (On,)},
        problem(row(On(0, 0)), row(Load(1))),
        "does not support load() in constraint mine",
    ),
    "needs": ({"needs": (Acyclic,)}, problem(Memory()), "needs 'constraint acyclic'"),
    "backward": (
        {"backward": False},
        problem(graph=TRAINING),
        "does not support graphs with a backward part",
    ),
    "speeds": (
        {"unequal": False},
        problem(devices=[EQUAL[0], replace(EQUAL[1], speed=2.0)]),
        "needs devices that are all equal",
    ),
    "memories": (
        {"unequal": False},
        problem(Memory(), devices=[EQUAL[0], replace(EQUAL[1], memory=8.0)]),
        "needs devices that are all equal",
    ),
    "io": (
        {"unequal": False},
        problem(on=Host(1.0), devices=[EQUAL[0], replace(EQUAL[1], pays_io=False)]),
        "needs devices that are all equal",
    ),
}


@pytest.mark.parametrize("what", NARROW)
def test_narrow_scopes(what: str) -> None:
    """What a scope leaves out is refused by it, and accepted by one that takes it, in the same words as the field."""
    narrowed, asked, words = NARROW[what]
    assert outside("mine", [replace(STAGES, **narrowed)], asked) == f"mine {words}"
    wide = replace(STAGES, groups=True)
    assert outside("mine", [wide], asked) is None
    assert outside("mine", [replace(wide, **narrowed), wide], asked) is None, "one scope that covers it is enough"


@pytest.mark.parametrize("what", ["streams", "prefetch", "workspaces", "decisions", "backward", "speeds"])
def test_a_scope_claims_nothing_by_default(what: str) -> None:
    """What is not said is refused, so that nobody claims what he has not thought of."""
    _, asked, _ = NARROW[what]
    assert outside("mine", [NOTHING], asked) is not None


def test_every_kind() -> None:
    """A bound keeps every kind of constraint, those of others too, except what is left out and what derives from it."""
    bound = replace(STAGES, constraints=EVERY, without=(Replicate,))
    assert outside("mine", [bound], problem(Kinds(), Stronger()), gives="bound") is None
    doubled = type("Doubled", (Replicate,), {})
    assert bound.keeps(Kinds)
    assert not bound.keeps(doubled)
    assert "mine bounds a bottleneck, not" in str(
        outside("mine", [bound], problem(to=SEPARATE, graph=TRAINING), gives="bound")
    )


def test_families() -> None:
    """Of a base class that is listed as a family every derived kind is kept."""
    assert replace(STAGES, families=(Memory,)).keeps(Stronger)
    assert not STAGES.keeps(Stronger)


def test_hook_comes_last() -> None:
    """What no data says is asked of problems that the scopes cover, and of no others."""

    class Small(Both):
        def beyond(self, problem: Problem) -> str | None:
            assert problem.objective.quantity == "bottleneck"
            return "both is for smaller graphs"

    assert Small().accepts(problem()) == "both is for smaller graphs"
    assert "minimises" in str(Small().accepts(problem(on=Host(1.0), to=MAKESPAN)))


def test_traits() -> None:
    """Scopes are a trait: those who have none are asked by ``accepts`` alone, and others than scopes are an error."""
    assert method_traits(Both()).scopes == Both.scopes
    assert formulation_traits(object()).scopes == ()
    with pytest.raises(PluginError, match="not a tuple of scopes"):
        method_traits(type("Theirs", (), {"name": "theirs", "scopes": ("bottleneck",)})())


@pytest.mark.parametrize("name", [name for name in [*BUILTIN[METHODS], *BUILTIN[FORMULATIONS]] if name != "auto"])
def test_built_in_methods_have_scopes(name: str) -> None:
    """Every built-in method and formulation says as data what it accepts, and has no other ``accepts`` than by that."""
    plugin = load(METHODS if name in BUILTIN[METHODS] else FORMULATIONS, name)()
    assert plugin.scopes
    assert type(plugin).accepts is Scoped.accepts
    assert all(objective in WORDS for scope in plugin.scopes for objective in scope.objectives)


def test_listing_methods_loads_no_search() -> None:
    """The classes of all methods are imported without anything of the rooms that search, bound or call a solver."""
    code = (
        "import sys\nfrom mtpp_dsl.contracts import Installed\nfrom mtpp_dsl.registry import METHODS, available, load\n"
        "methods = [load(METHODS, name)() for name in available(METHODS)]\n"
        "[method.available() for method in methods if isinstance(method, Installed)]\n"
        "rooms = ('bounds', 'partition', 'schedule', 'latency', 'backends', 'algorithms', 'reductions')\n"
        "starts = tuple(f'mtpp_dsl.solvers.{room}.' for room in rooms)\n"
        "found = [name for name, module in sys.modules.items() if not hasattr(module, '__path__')]\n"
        "light = ('cpsat.effort', 'cpsat.request', 'genetic.brkga', 'scotch_program')\n"
        "heavy = [name for name in found if name.startswith(starts) and not name.endswith(light)]\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
