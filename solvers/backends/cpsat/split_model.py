"""Build the CP-SAT model of a split: a literal for every supernode on a device, and for every net that a device cuts.

Imported in the process of CP-SAT alone: ortools and highspy cannot be loaded into one process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.backends.cpsat.quotient import ConvexSets, DeviceOrder
from mtpp_dsl.solvers.backends.cpsat.request import DecisionRow, Term
from mtpp_dsl.solvers.backends.cpsat.split_request import SplitRequest, SplitSolution


class SplitModel:
    """A CP-SAT model of a request that is possible.

    Args:
        request: what is asked.

    Attributes:
        model: the model; its objective is the largest load, or the sum of that of each part.
    """

    def __init__(self, request: SplitRequest) -> None:
        self.request = request
        self.model: Any = cp_model.CpModel()
        named = {term[0] for row in request.rows for term, _ in row.terms}
        self._exact = bool(named & {"load", "bottleneck"})
        self._where = [np.flatnonzero(times <= request.cutoff).tolist() for times in request.time]
        self._on = [self._places(where) for where in self._where]
        self._here = [{v: on[d] for v, on in enumerate(self._on) if d in on} for d in range(request.k)]
        self._largest = self.model.new_int_var(min(request.at_least, request.cutoff), request.cutoff, "")
        if request.late is None:
            self._load = self._loads(request.time, self._largest, late=False)
        else:
            self._parts(request.late)
        if "bottleneck" in named:
            self.model.add_max_equality(self._largest, self._load)
        self._limits()
        of_nodes = [self._on[g] for g in request.group.tolist()]
        self._orders = [DeviceOrder(self.model, self._on, *edges, request.k) for edges in request.orders]
        self._convex = [ConvexSets(self.model, of_nodes, convex) for convex in request.convex]
        for row in request.rows:
            self._row(row)
        self.model.minimize(self._largest)
        if request.hint is not None:
            self._hint(request.hint)

    def _places(self, where: list[int]) -> dict[int, Any]:
        if len(where) == 1:
            return {where[0]: self.model.new_constant(1)}
        literals = {d: self.model.new_bool_var("") for d in where}
        self.model.add_exactly_one(literals.values())
        return literals

    def _parts(self, late: Ints) -> None:
        """Add the loads of each part, of which the largest add up to the objective; rows do not speak of these."""
        ahead, back = (self.model.new_int_var(0, self.request.cutoff, "") for _ in range(2))
        self._loads(self.request.time - late, ahead, late=False)
        self._loads(late, back, late=True)
        self.model.add(ahead + back == self._largest)

    def _loads(self, time: Ints, largest: Any, *, late: bool) -> list[Any]:
        """Return the load of each device, or of one part of it; *largest* is no less."""
        loads = [self._load_of(d, time[:, d].tolist(), late=late) for d in range(self.request.k)]
        for load in loads:
            self.model.add(load <= largest)
        return loads

    def _load_of(self, d: int, time: list[int], *, late: bool) -> Any:
        """Return the load of a device as an expression."""
        terms = [time[v] * literal for v, literal in self._here[d].items() if time[v]]
        if self.request.pays[d]:
            cuts = [(cost, self._cut(pins, d)) for pins, cost, back in self.request.nets if cost and back == late]
            terms += [cost * cut for cost, cut in cuts if cut is not None]
        return sum(terms)

    def _cut(self, pins: tuple[int, ...], d: int) -> Any | None:
        """Return a literal that is true if a device holds some pins of a net and not all; None if it can hold none.

        Around a ring of the pins, one that is there is then followed by one that is not. Where rows speak of loads, the
        literal is not true otherwise.
        """
        here = [self._here[d].get(v) for v in pins]
        there = [literal for literal in here if literal is not None]
        if not there:
            return None
        cut = self.model.new_bool_var("")
        for one, following in zip(here, [*here[1:], here[0]], strict=True):
            if one is not None:
                self.model.add_bool_or(~one, cut, *([] if following is None else [following]))
        if self._exact:
            self.model.add_bool_or(~cut, *there)
            if len(there) == len(pins):
                self.model.add_bool_or(~cut, *(~literal for literal in there))
        return cut

    def _limits(self) -> None:
        """Add the rows of memory and of conflict sets."""
        request = self.request
        for d, room in enumerate(request.capacity.tolist()):
            sizes = [(int(request.size[v]), literal) for v, literal in self._here[d].items() if request.size[v] > 0]
            if sum(size for size, _ in sizes) > room:
                self.model.add(sum(size * literal for size, literal in sizes) <= room)
        for members in request.apart:
            for here in self._here:
                literals = [here[v] for v in members if v in here]
                if len(literals) > 1:
                    self.model.add(sum(literals) <= 1)

    def _row(self, row: DecisionRow) -> None:
        total = sum(a * self._decision(term) for term, a in row.terms)
        if row.lower is not None:
            self.model.add(total >= row.lower)
        if row.upper is not None:
            self.model.add(total <= row.upper)

    def _decision(self, term: Term) -> Any:
        match term:
            case ("on", node, d):
                return self._on[int(self.request.group[node])].get(d, 0)
            case ("load", _, d):
                return self._load[d]
            case ("used", _, d):
                return self._used(d)
            case ("bottleneck", _, _):
                return self._largest
            case _:
                raise ValueError(f"a split has no {term[0]}")

    def _used(self, d: int) -> Any:
        """Return a literal for: some supernode is on device *d*."""
        used = self.model.new_bool_var("")
        self.model.add_bool_or(~used, *self._here[d].values())
        for literal in self._here[d].values():
            self.model.add_implication(literal, used)
        return used

    def _hint(self, hint: SplitSolution) -> None:
        for v, on in enumerate(self._on):
            if len(on) > 1:
                for d, literal in on.items():
                    self.model.add_hint(literal, d == int(hint.device[v]))
        for order in self._orders:
            order.hint(hint.device)
        for convex in self._convex:
            convex.hint(hint.device[self.request.group])

    def read(self, value: Any) -> SplitSolution:
        """Return the solution; *value* returns the value of a variable."""
        device = [next(d for d, literal in on.items() if len(on) == 1 or value(literal)) for on in self._on]
        return SplitSolution(np.array(device, np.int64))
