"""State what a method accepts, as data: its refusals, ``mtpp methods`` and the tables in the docs are made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import get_args

import numpy as np

from mtpp_dsl.core.constraints import Constraint, Decision, Linear
from mtpp_dsl.core.plans.subgraphs import paying
from mtpp_dsl.core.problem.problem import Problem

EVERY = (Constraint,)
"""In place of a list: every kind of constraint that takes plans away, those of plug-ins too."""

DECISIONS: tuple[type[Decision], ...] = get_args(Decision)
"""Every decision that rows may speak of: for a bound that leaves rows out, as they only take plans away."""

CHANNELS = ("shared", "host")
WORDS = {
    "bottleneck": "a bottleneck",
    "sum of bottlenecks": "a sum of bottlenecks",
    "makespan": "the makespan of one sample",
    "batch": "the makespan of a batch",
    "linear": "a linear objective",
    "timed linear": "a linear objective of plans with a schedule",
    "iteration": "the time of an iteration",
    "separate iteration": "the time of an iteration with separate parts",
}


@dataclass(frozen=True, kw_only=True)
class Scope:
    """One kind of problem that a method, a formulation or a family of them accepts.

    Those that accept several kinds have a scope for each. A problem is accepted where one of them covers it. A scope
    claims nothing by default: what is not said is refused.

    Attributes:
        objectives: what may be asked for: "bottleneck", "sum of bottlenecks", "makespan" (of one sample), "batch" (the
            throughput of a batch), "linear" (a weighted sum of decisions), "timed linear" (one of plans that say when
            nodes run), "iteration" (that of all microbatches), "separate iteration" (with ``gpipe``, where the parts of
            nodes differ).
        interconnects: keywords of the interconnects.
        constraints: the kinds that are kept, or :data:`EVERY`. A kind that is not listed is refused, and so is one that
            is derived from a listed one, as it may ask for more. :data:`EVERY` does not stand for kinds that enlarge
            the set of plans (:attr:`~mtpp_dsl.constraints.Constraint.enlarges`): name them beside it.
        families: base classes of which every derived kind is kept.
        checked: kinds that the search leaves out: its plans are checked against them, and its bounds hold without them.
            It may find no plan where there is one, and proves that a plan is optimal only if leaving them out costs
            nothing.
        without: kinds that are refused nevertheless, with all that are derived from them.
        decisions: what labelled constraints may speak of, where they are accepted, and linear objectives.
        soft: whether labelled constraints may have a penalty, which is added to the cost. A method that bounds may
            leave them out.
        needs: kinds of which the problem must have one.
        groups: whether the network between groups of devices may be slower.
        free_groups: whether data may then enter a group more than once (``acyclic (groups = free)``).
        streams: whether parameters that do not fit may be streamed (``overflow = stream``).
        prefetch: whether they may be streamed while the device works (``overflow = prefetch``). The longer of both is
            less than their sum, so that a bound that adds them up may be above the optimum.
        workspace: whether nodes that may share a device may need different workspaces. Bounds may leave them out, as
            they only take plans away; where all are the same, they are part of what devices keep free.
        backward: whether the graph may have a backward part. ``acyclic``, ``contiguous`` and ``stages`` are then about
            each part by itself, the forward and the backward one.
        unequal: whether the devices may differ: in their speed, their memory, the nodes that they may run, and in
            whether they pay for I/O.
        phases: whether objectives and rows may speak of one of several phases, or of the largest of several sums. A
            problem with phases that speaks of none of them alone is an ordinary one.
    """

    objectives: tuple[str, ...]
    interconnects: tuple[str, ...]
    constraints: tuple[type[Constraint], ...]
    families: tuple[type[Constraint], ...] = ()
    checked: tuple[type[Constraint], ...] = ()
    without: tuple[type[Constraint], ...] = ()
    decisions: tuple[type[Decision], ...] = ()
    soft: bool = False
    needs: tuple[type[Constraint], ...] = ()
    groups: bool = False
    free_groups: bool = False
    streams: bool = False
    prefetch: bool = False
    workspace: bool = False
    backward: bool = False
    unequal: bool = False
    phases: bool = False

    def __str__(self) -> str:
        return f"{listed(self.objectives)} on {listed(self.interconnects)}"

    def keeps(self, kind: type[Constraint]) -> bool:
        """Return whether constraints of this kind are accepted.

        >>> from mtpp_dsl.constraints import Acyclic, Memory, Replicate
        >>> Scope(objectives=("bottleneck",), interconnects=("shared",), constraints=(Acyclic,)).keeps(Memory)
        False
        >>> bounds = Scope(objectives=("bottleneck",), interconnects=("host",), constraints=EVERY)
        >>> bounds.keeps(Memory), bounds.keeps(Replicate)
        (True, False)
        """
        every = (Constraint in self.constraints and not kind.enlarges) or issubclass(kind, self.families)
        return (every or kind in (*self.constraints, *self.checked)) and not issubclass(kind, self.without)

    def reads(self, decision: Decision) -> bool:
        """Return whether labelled constraints may speak of this decision."""
        return isinstance(decision, self.decisions)


def objective_of(problem: Problem) -> str:
    """Return the objective of *problem*, by the word that scopes use."""
    objective = problem.objective
    if objective.is_linear:
        return "timed linear" if objective.timed else "linear"
    return "batch" if objective.batch is not None else objective.quantity


def outside(name: str, scopes: Sequence[Scope], problem: Problem, *, gives: str = "plan") -> str | None:
    """Return the first reason why no scope covers *problem*, in a whole sentence, or None if one does.

    The reasons come in one order: objective, interconnect, groups of devices, streamed parameters, workspaces,
    constraints in the order of the problem, what these speak of, what the problem lacks, the backward part, devices
    that differ. Each speaks of the scopes that cover everything before it.

    Args:
        name: of the method, with which the sentence begins.
        scopes: of the method.
        problem: what is asked.
        gives: what the method returns; "bound" for one that gives bounds alone.

    >>> from mtpp_dsl.core.problem.graph import Graph
    >>> from mtpp_dsl.problem import Device, Objective, Shared
    >>> graph, devices = Graph.create(["a", "b"], [(0, 1)], work=1.0), [Device("d", memory=2.0)]
    >>> stages = Scope(objectives=("bottleneck",), interconnects=("shared", "host"), constraints=())
    >>> outside("mine", [stages], Problem.create(graph, devices, Shared(1.0)))
    >>> outside("mine", [stages], Problem.create(graph, devices, Shared(1.0), Objective("makespan")))
    'mine minimises a bottleneck, not the makespan of one sample'
    """
    left, verb = list(scopes), "bounds" if gives == "bound" else "minimises"
    if problem.later:
        several = listed([repr(str(objective)) for objective in problem.objectives], "and")
        return f"{name} takes one objective at a time, not {several}"
    for covers, reason in _FIRST:
        kept = [scope for scope in left if covers(scope, problem)]
        if not kept:
            return f"{name} {reason.format(verb=verb, **_words(left, problem))}"
        left = kept
    reasons = [_particular(scope, scopes, problem) for scope in left]
    return None if None in reasons else f"{name} {reasons[0]}"


_FIRST: tuple[tuple[Callable[[Scope, Problem], bool], str], ...] = (
    (lambda scope, problem: objective_of(problem) in scope.objectives, "{verb} {objectives}, not {objective}"),
    (
        lambda scope, problem: problem.interconnect.keyword in scope.interconnects,
        "{verb} {objective} on {interconnects}, not on {interconnect}",
    ),
    (lambda scope, problem: scope.phases or not problem.phased, "does not support {phased}"),
    (
        lambda scope, problem: scope.groups or not problem.hierarchical,
        "does not support a slower network between groups of devices",
    ),
    (
        lambda scope, problem: scope.free_groups or not problem.groups_free,
        "does not support groups of devices that data may enter more than once (groups = free)",
    ),
    (
        lambda scope, problem: scope.streams or bool(np.isinf(problem.overflow_limit).all()),
        "does not support parameters that are streamed; say 'constraint memory' in place of overflow = stream",
    ),
    (
        lambda scope, problem: scope.prefetch or not problem.prefetches,
        "does not support parameters that are streamed while devices work (overflow = prefetch); say overflow = stream",
    ),
    (
        lambda scope, problem: scope.workspace or not problem.uneven_workspace,
        "does not support nodes of different workspaces; leave them out, and keep the largest free with 'reserve'",
    ),
)
"""What scopes are chosen by, one after the other, and how the sentence goes on where none is left."""


def _words(scopes: Sequence[Scope], problem: Problem) -> dict[str, str]:
    """Return what the scopes are for and what is asked, as it stands in a sentence."""
    objectives = dict.fromkeys(chain.from_iterable(scope.objectives for scope in scopes))
    interconnects = dict.fromkeys(chain.from_iterable(scope.interconnects for scope in scopes))
    return {
        "objectives": listed([_worded(objective) for objective in objectives]),
        "interconnects": _joined(list(interconnects)),
        "objective": _worded(objective_of(problem)),
        "interconnect": _joined([problem.interconnect.keyword]),
        "phased": (
            "objectives and rows about single phases" if problem.phases else "the largest of several sums, max(…)"
        )
        + (f" on {_joined([problem.interconnect.keyword])}" if problem.networked else ""),
    }


def _particular(scope: Scope, scopes: Sequence[Scope], problem: Problem) -> str | None:
    """Return why *scope*, which is for this objective and interconnect, does not cover the rest, or None."""
    for constraint in problem.constraints:
        if not scope.keeps(type(constraint)):
            elsewhere = any(other.keeps(type(constraint)) for other in scopes)
            where = f" for {_worded(objective_of(problem))}" if elsewhere else ""
            return f"does not support constraint {constraint}{where}"
    soft = next(iter(problem.soft_rows), None)
    if soft is not None and not scope.soft:
        elsewhere = any(other.soft for other in scopes)
        where = f" for {_worded(objective_of(problem))}" if elsewhere else ""
        return f"does not support the penalty of constraint {soft}{where}"
    for decision, _ in problem.objective.terms if problem.objective.is_linear else ():
        if not scope.reads(decision):
            return f"does not support {type(decision).__name__.lower()}() in the objective"
    for constraint, decision in _spoken_of(problem):
        if not scope.reads(decision):
            return f"does not support {type(decision).__name__.lower()}() in constraint {constraint}"
    lacking = next((kind for kind in scope.needs if not any(problem.of(kind))), None)
    if lacking is not None:
        return f"needs 'constraint {lacking.__name__.lower()}'"
    if not scope.backward and problem.graph.backward.any():
        return "does not support graphs with a backward part"
    if not scope.unequal and not _has_equal_devices(problem):
        return "needs devices that are all equal"
    return None


def _spoken_of(problem: Problem) -> Iterator[tuple[Linear, Decision]]:
    """Yield every decision that a labelled constraint speaks of, with the constraint."""
    for constraint in problem.of(Linear):
        for decision, _ in constraint.terms:
            yield constraint, decision


def _worded(objective: str) -> str:
    """Return an objective as it stands in a sentence."""
    return WORDS.get(objective, objective)


def searched(scopes: Sequence[Scope], problem: Problem) -> Problem:
    """Return what a search is given of a problem that one of *scopes* covers: what is only checked is left out."""
    scope = next(scope for scope in scopes if _covers(scope, scopes, problem))
    if not any(type(constraint) in scope.checked for constraint in problem.constraints):
        return problem
    return problem.with_constraints([one for one in problem.constraints if type(one) not in scope.checked])


def _covers(scope: Scope, scopes: Sequence[Scope], problem: Problem) -> bool:
    return all(covers(scope, problem) for covers, _ in _FIRST) and _particular(scope, scopes, problem) is None


def _joined(keywords: Sequence[str]) -> str:
    """Return interconnects as they stand in a sentence: "a shared or host interconnect or links"."""
    channels = [keyword for keyword in keywords if keyword in CHANNELS]
    one = [f"a {listed(channels)} interconnect"] if channels else []
    return listed([*one, *(keyword for keyword in keywords if keyword not in CHANNELS)])


def _has_equal_devices(problem: Problem) -> bool:
    """Return whether all devices are equal in all that enters a load, forbids a node or limits what they hold."""
    time = np.where(problem.allowed, problem.time, np.inf)
    columns = (time, problem.memory_room, problem.overflow_limit, paying(problem))
    equal = all(bool((column == column[..., :1]).all()) for column in columns)
    return equal and len({id(rule) for rule in problem.replicate}) == 1


def listed(words: Sequence[str], last: str = "or") -> str:
    """Return words as a list in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b or c'
    """
    return f" {last} ".join([", ".join(words[:-1]), *words[-1:]] if words[1:] else words)


class Scoped:
    """A method, a formulation or a family that accepts what its scopes cover, for others to inherit from.

    Attributes:
        name: of the plug-in.
        scopes: one for each kind of problem.
    """

    name: str
    scopes: tuple[Scope, ...] = ()

    def accepts(self, problem: Problem) -> str | None:
        """Return why *problem* is refused, in a whole sentence, or None: by the scopes, then by :meth:`beyond`."""
        return None if self.keeps_all(problem) else self.refused_by_scopes(problem)

    def refused_by_scopes(self, problem: Problem) -> str | None:
        """Return why the scopes or :meth:`beyond` refuse *problem*, or None."""
        bounds = getattr(self, "gives", "") == "bound" or getattr(self, "role", "") == "relaxation"
        reason = outside(self.name, self.scopes, problem, gives="bound" if bounds else "plan")
        return self.beyond(searched(self.scopes, problem)) if reason is None else reason

    def keeps_all(self, problem: Problem) -> bool:  # noqa: ARG002
        """Return whether the method solves *problem* with all its constraints, whatever its scopes only check."""
        return False

    def beyond(self, problem: Problem) -> str | None:  # noqa: ARG002
        """Return why a problem that the scopes cover is refused all the same, as for its size, or None."""
        return None
