"""One annealing from one state, in chunks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.views.rows import LabelledRows
from mtpp_dsl.solvers.partition.annealing.device_order import QuotientArcs, order_of
from mtpp_dsl.solvers.partition.annealing.one_annealing import charged, energies
from mtpp_dsl.solvers.partition.annealing.ordered_moves import DRAWS, ORDERED
from mtpp_dsl.solvers.partition.annealing.ordered_recipes import OrderedRecipe
from mtpp_dsl.solvers.partition.annealing.split_moves import BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import broken, loads_of, state_of
from mtpp_dsl.solvers.partition.annealing.whole_nets import BITS, WholeInstance

__all__ = ["anneal_in_order", "energy_alone"]

CHUNK = 20_000


def anneal_in_order(
    instance: WholeInstance,
    rows: LabelledRows | None,
    arcs: QuotientArcs,
    device: Ints,
    known: BestSplit,
    recipe: OrderedRecipe,
    steps: int,
    random: np.random.Generator,
    say: Callable[[str], None],
    pause: Callable[[BestSplit], bool],
) -> BestSplit:
    """Return the best valid state met, or *known* if none is better.

    Args:
        instance: what is to be split.
        rows: labelled rows, of loads in the unit of *instance*; not changed.
        arcs: the edges that the order of the devices has to respect.
        device: [n] the state to start from, in such an order; it may break other constraints.
        known: the best valid state known; its load is the largest whole number without one. Not changed.
        recipe: temperature and moves.
        steps: moves to try.
        random: where they come from.
        say: told when code has to be compiled.
        pause: called with the best state after each chunk; True ends the annealing.
    """
    k = instance.time.shape[1]
    state, order = state_of(instance, device), order_of(arcs, device, k)
    assert order is not None
    best = BestSplit(known.device.copy(), known.load.copy())
    peak = int(loads_of(instance, state).max(initial=0))
    own = None if rows is None else rows.fresh(device)
    if peak < best.load[0] and not broken(instance, state) and not charged(instance, state, own):
        best.device[:] = device
        best.load[0] = peak
    unit = float(min(max(best.load[0], 1), 2**BITS))
    energy = energies(instance, state, recipe.power, unit)
    scale = energy_alone(instance, recipe.power, unit)
    run = ORDERED.pick(steps, say)
    draws = np.empty(CHUNK * DRAWS)
    for done in range(0, steps, CHUNK):
        if pause(best) or best.load[0] <= 0:
            break
        end = min(steps, done + CHUNK)
        hot, cold = (recipe.hot * (recipe.cold / recipe.hot) ** (part / steps) * scale for part in (done, end))
        random.random(out=draws)
        charged(instance, state, own)
        heat = hot, cold, recipe.power, unit, recipe.moves
        run(draws, end - done, *heat, instance, state, arcs, order, energy, best, own)
    return best


def energy_alone(instance: WholeInstance, power: int, unit: float) -> float:
    """Return what a device near the largest load gains in energy by one supernode more, on average."""
    time = np.where(instance.allowed, instance.time, 0).max(axis=1, initial=0).astype(np.float64)
    nets = np.repeat(np.arange(len(time)), np.diff(instance.nets_at))
    alone = time + np.bincount(nets, weights=instance.cost[instance.net], minlength=len(time))
    return float(max(power * alone.mean() / unit, 1e-12))
