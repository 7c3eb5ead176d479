"""The parts of a graph that are solved, and the argument for the bounds that follow."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.problem.graph import Bools
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.algorithms.cut_nodes import CutModule
from mtpp_dsl.solvers.backends.cpsat.engine import ProcessPool
from mtpp_dsl.solvers.backends.cpsat.sample_problem import WholeSample
from mtpp_dsl.solvers.schedule.decomposition.balance import Balance
from mtpp_dsl.solvers.schedule.decomposition.beside import beside
from mtpp_dsl.solvers.schedule.decomposition.solve_modules import Settling
from mtpp_dsl.solvers.schedule.decomposition.weighted_module import told, weights_for
from mtpp_dsl.solvers.schedule.modules.piece import piece_of

__all__ = ["SolvedParts", "balance_of", "by_balance", "by_modules"]


@dataclass(frozen=True, eq=False)
class SolvedParts:
    """The parts of a graph that are solved.

    Attributes:
        modules: in their order.
        kept: [n] whether a node is in one of them.
        words: what they are, for the detail of the bound.
    """

    modules: list[CutModule]
    kept: Bools
    words: str


def balance_of(
    whole: WholeSample, parts: SolvedParts, settling: Settling, device: int, pool: ProcessPool, limits: Limits
) -> Balance:
    """Return the :class:`Balance` of solved modules and the nodes beside them, for one device."""
    sides = beside(whole.instance.graph, parts.modules, parts.kept)
    weights = weights_for(whole, sides, device)
    return Balance(
        whole,
        parts.modules,
        [piece_of(whole, module, exclusive=whole.instance.exclusive) for module in parts.modules],
        told(whole, sides, weights),
        weights,
        [settling.lower[member.of] for member in settling.classes.members],
        pool,
        limits.seed,
        limits.solver_options,
    )


def by_modules(parts: SolvedParts, settling: Settling) -> str:
    """Return, in words, why the bound of the modules holds."""
    count, different = len(settling.classes.members), len(settling.classes.pieces)
    detail = (
        f"{parts.words}; the shortest way through {count} modules ({different} of them different) over the devices "
    )
    detail += "of the nodes between them, by longest paths"
    if settling.trusted:
        detail += f" and {settling.solves} solves by CP-SAT, on whose word it rests"
    return detail


def by_balance(problem: Problem, parts: SolvedParts, settling: Settling, balance: Balance) -> str:
    """Return, in words, why the bound of a balance holds."""
    device, weights = problem.devices[balance.weights.device].name, balance.weights
    link = "receiving" if weights.into else "sending"
    shares = (
        f"{weights.time} parts of it, {weights.load} of the work on {device}, what lies beside the chain included, "
    )
    shares += f"and {weights.into + weights.out} of its {link}"
    return (
        f"{parts.words}; over the devices of the anchors, the least of the larger of two: the time along the chain, "
        f"and the mean of {shares}; by longest paths and {settling.solves + balance.solves} solves by CP-SAT, on whose "
        "word it rests"
    )
