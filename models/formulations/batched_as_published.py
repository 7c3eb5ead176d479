"""The thesis's programme for the throughput of a batch as it prints it, to measure others by."""

from __future__ import annotations

from typing import Any

import numpy as np

from mtpp_dsl.core.base.lazy import pyo
from mtpp_dsl.core.contracts.protocols import Role
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import FormulationBase
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.colocation import colocated
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.core.views.symmetry import Measure, ordered
from mtpp_dsl.models.blocks import assignment
from mtpp_dsl.models.blocks.batches_as_published import published_barrier, published_sizes, published_turns
from mtpp_dsl.models.blocks.components import impossible
from mtpp_dsl.models.blocks.custom import offer_chunks
from mtpp_dsl.models.blocks.memory import memory
from mtpp_dsl.models.blocks.placement import separate
from mtpp_dsl.models.blocks.symmetry import devices_in_order
from mtpp_dsl.models.extract.batch_plan import batch_plan
from mtpp_dsl.models.facts.batches import pinned
from mtpp_dsl.models.facts.graph_facts import reach
from mtpp_dsl.models.facts.times import carries
from mtpp_dsl.models.formulations.batched import SCOPE, chunks_of, scale_of, too_large
from mtpp_dsl.models.formulations.derived import extended, keeps_symmetry


class BatchedAsPublished(Scoped, FormulationBase):
    """Equations 3.1 to 3.8 with their large constants, over chunks in place of inputs.

    (3.3) is a barrier: a batch waits for all batches of what its node reads, also for those whose inputs it does not
    have. So there are schedules that this programme cannot find, and its optimum bounds nothing. Mended is what would
    make it wrong: *par(j)* in (3.3), the duration of j and one device in (3.8). Pins, colocation and separation are
    fixed variables or rows, a batch that takes no time is left out of (3.8), which would keep it from running beside
    another one, and so are batches and transfers that alone take longer than a makespan which is known.
    """

    name = "batched-printed"
    exact = False
    role: Role = "restriction"
    summary = "the programme for batches as published, with its barrier, for comparison (ghannane2023, 3.2)"
    baseline = True
    scopes = (SCOPE,)

    def beyond(self, problem: Problem) -> str | None:
        """Return why the published rows do not hold of the problem, or the model would be too large, or None."""
        if problem.batching.per_input:
            return "transfers grow with the inputs they carry (transfer = per_input), and in (3.3) they do not"
        return too_large(self.name, problem)

    def build(self, problem: Problem) -> Any:
        """Return the model; ``cost_scale`` times its objective is the cost of a plan."""
        graph, batching = problem.graph, problem.batching
        n, chunks = graph.n, batching.count
        scale = scale_of(problem, hypergraph(problem), None, free=not extended(self, problem))
        takes = np.where(problem.allowed[:, :, None], batching.time, np.inf) / scale.unit
        takes[:, :, 0] = 0.0
        takes[takes > scale.most] = np.inf
        carry = carries(problem, np.arange(n)) / scale.unit
        carry[carry > scale.most] = np.inf
        model = pyo.ConcreteModel(name=self.name)
        model.cost_scale = scale.unit
        model.V, model.D = pyo.RangeSet(0, n * chunks - 1), pyo.RangeSet(0, problem.k - 1)
        may = np.isfinite(takes[:, :, 1:]).any(axis=2)
        on = assignment.assigned(model, np.tile(may, (chunks, 1)))
        model.symmetric = keeps_symmetry(self)
        published_sizes(model, takes, on)
        offer_chunks(model, problem, range(n), lambda v, d, c: on(v + c * n, d), model.b)
        published_barrier(model, graph, takes, carry, on)
        after = reach(n, list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)))
        published_turns(model, takes, after, scale.most)
        self._constrain(model, problem, takes, on)
        return model

    def _constrain(self, model: Any, problem: Problem, takes: Any, on: assignment.On) -> None:
        """Add memory, eq. 3.7, and the constraints that are not in print."""
        n, batching, home = problem.graph.n, problem.batching, colocated(problem).tolist()
        size = np.arange(batching.count + 1)
        need = np.where(size > 0, batching.weights[:, None] + batching.share[:, None] * size, 0.0)
        need = (
            np.where(np.isfinite(takes), need[:, None, :], 0.0)
            .transpose(0, 2, 1)
            .reshape(n * (batching.count + 1), problem.k)
        )
        count = batching.count + 1
        memory(model, problem, need, lambda i, d: model.b[i // count, d, i % count])
        copies = [c * n for c in range(batching.count)]
        separate(model, problem, list(range(n)), on, copies)
        model.together = pyo.ConstraintList()
        for c in copies:
            for v in range(n):
                u = home.index(home[v])
                for d in range(problem.k) if u != v else ():
                    model.together.add(model.x[c + v, d] == model.x[c + u, d])
        pins = pinned(problem)
        if (pins < -1).any():
            impossible(model, "two_places")
        for v, c in np.argwhere(pins >= 0).tolist():
            for d in range(problem.k):
                if d != pins[v, c]:
                    model.x[c * n + v, d].fix(0)

        def does(by: Measure, d: int) -> list[tuple[float, Any]]:
            amount = {"tasks": np.ones_like(takes), "batches": np.broadcast_to(size, takes.shape), "time": takes}[by]
            return [(float(amount[v, d, p]), b) for (v, f, p), b in model.b.items() if f == d and amount[v, d, p] > 0]

        if model.symmetric:
            devices_in_order(model, problem, does)

    def start(self, problem: Problem, model: Any, plan: Plan) -> None:
        """Set the binaries from *plan*, which may be one that the barrier forbids."""
        if plan.batches is None:
            return
        batches = (ordered(problem, plan) if model.symmetric else plan).batches
        assert batches is not None
        n, where = problem.graph.n, batches.device[:, :: problem.batching.chunk]
        for (i, d), variable in model.x.items():
            if not variable.fixed:
                variable.set_value(int(where[i % n, i // n] == d))
        for (v, d, p), variable in model.b.items():
            size = int((where[v] == d).sum())
            variable.set_value(int(size == p))
            model.delta[v, d, p].set_value(int(size < p))
        middle = batches.start + batches.end
        for (i, j, d), variable in model.first.items():
            variable.set_value(int(middle[i, d] < middle[j, d]))

    def extract(self, problem: Problem, model: Any) -> Plan:
        """Return the plan that the values of the variables mean, as early as its order and the barrier allow."""
        n, k = problem.graph.n, problem.k
        where = chunks_of(model.x, n, problem)
        middle = np.zeros((n, k))
        for (i, d), start in model.s.items():
            size = int((where[i] == d).sum())
            takes = float(problem.batching.time[i, d, size]) / model.cost_scale
            middle[i, d] = 2 * (start.value or 0.0) + takes
        return batch_plan(problem, where, middle, barrier=True)
