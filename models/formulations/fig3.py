"""The exact programme as the paper prints it, to measure others by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from mtpp_dsl.core.constraints import Acyclic
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.views.hypergraph import hypergraph
from mtpp_dsl.models.blocks.assignment import On
from mtpp_dsl.models.blocks.cut_as_published import published_cut
from mtpp_dsl.models.blocks.split_nets import SplitNets
from mtpp_dsl.models.blocks.tensor_cut import Cut
from mtpp_dsl.models.formulations.derived import keeps_symmetry
from mtpp_dsl.models.formulations.device_numbering import layout_of
from mtpp_dsl.models.formulations.exact import Exact


class Fig3(Exact):
    """Figure 3 with the rows (8) to (11), x eliminated and c relaxed, and nothing that is known from elsewhere."""

    name = "fig3"
    summary = "the exact programme as published, for comparison (archer2024, Figure 3)"
    baseline = True
    scopes = (replace(Exact.scopes[0], interconnects=("shared",), needs=(Acyclic,), backward=False, phases=False),)

    def _cut(self, model: Any, on: On, exact: Sequence[int], paying: Sequence[int], split: SplitNets | None) -> Cut:
        return published_cut(model, on, range(len(model.D)), exact, paying, split)

    def below(self, cost: float) -> Self:
        """Return the formulation as it is: of a plan's cost it makes nothing."""
        del cost
        return self

    def beyond(self, problem: Problem) -> str | None:
        """Return why the blocks have no order that rows could count on, or None."""
        reason = super().beyond(problem)
        if reason is not None:
            return reason
        if not keeps_symmetry(self):
            return (
                f"{self.name} is derived from fig3, which numbers equal devices, and does not say that its rows treat "
                "them alike (symmetric = True)"
            )
        if not layout_of(problem, hypergraph(problem)).in_order:
            return "fig3 numbers two blocks or more in the order of the quotient graph: it needs equal devices"
        return None
