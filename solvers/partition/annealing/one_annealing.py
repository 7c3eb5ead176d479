"""One annealing from one state, in chunks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtpp_dsl.core.problem.graph import Floats, Ints
from mtpp_dsl.core.views.labelled_rows import LabelledRows
from mtpp_dsl.solvers.partition.annealing.annealing_run import chunks, falling
from mtpp_dsl.solvers.partition.annealing.recipes import SplitRecipe
from mtpp_dsl.solvers.partition.annealing.split_moves import ANNEAL, DRAWS, HUGEST, PENALTY, BestSplit
from mtpp_dsl.solvers.partition.annealing.split_state import BITS, SplitState, WholeInstance, broken, loads_of, state_of

CHUNKS = 100
"""Steps of the temperature, at least."""
LARGEST_CHUNK = 20_000
NOISE = 1 << 16


def anneal(
    instance: WholeInstance,
    rows: LabelledRows | None,
    device: Ints,
    known: BestSplit,
    recipe: SplitRecipe,
    steps: int,
    random: np.random.Generator,
    say: Callable[[str], None],
    pause: Callable[[BestSplit], bool],
) -> BestSplit:
    """Return the best valid state met, or *known* if none is better.

    Args:
        instance: what is to be split.
        rows: labelled rows, of loads in the unit of *instance*; not changed.
        device: [n] the state to start from, valid or not.
        known: the best valid state known; its load is the largest whole number without one. Not changed.
        recipe: temperature and moves.
        steps: moves to try.
        random: where they come from.
        say: told when code has to be compiled.
        pause: called with the best state after each chunk; True ends the annealing.
    """
    state = state_of(instance, device)
    best, own = begun(instance, rows, state, known)
    run = ANNEAL.pick(steps, say)
    draws = np.empty(max(DRAWS, min(NOISE, 32 * steps)))
    mark = np.zeros(len(device) + 1, np.int64)
    chunk = max(1, min(LARGEST_CHUNK, steps // CHUNKS))
    for begin, end in chunks(steps, chunk, lambda: pause(best) or best.load[0] <= 0):
        temperature = falling(recipe.hot, recipe.cold, begin / steps)
        power = round(falling(recipe.soft, recipe.hard, begin / steps))
        unit = float(min(best.load[0], 2**BITS))
        energy = energies(instance, state, power, unit)
        charged(instance, state, own)
        done = begin
        while done < end:
            random.random(out=draws)
            left = end - done
            done += run(draws, left, temperature, power, unit, recipe.moves, instance, state, energy, mark, best, own)
    return best


def begun(
    instance: WholeInstance, rows: LabelledRows | None, state: SplitState, known: BestSplit
) -> tuple[BestSplit, LabelledRows | None]:
    """Return the better of a state, where it is valid, and the best one known; and rows that count placements in it."""
    best = BestSplit(known.device.copy(), known.load.copy())
    peak = int(loads_of(instance, state).max(initial=0))
    own = None if rows is None else rows.fresh(state.device)
    if peak < best.load[0] and not broken(instance, state) and not charged(instance, state, own):
        best.device[:] = state.device
        best.load[0] = peak
    return best, own


def charged(instance: WholeInstance, state: SplitState, rows: LabelledRows | None) -> float:
    """Count placements for *rows* anew; return what is charged for those that do not hold, which they keep too."""
    if rows is None:
        return 0.0
    rows.recount(state.device)
    loads = loads_of(instance, state).astype(np.float64)
    of = np.repeat(np.arange(len(rows.low)), np.diff(rows.part_at))
    left = rows.on + rows.per_peak * loads.max(initial=0.0)
    np.add.at(left, of, rows.per_load * loads[rows.part] + rows.per_use * (rows.occupants[rows.part] > 0))
    over = np.maximum(rows.low - left, left - rows.high)
    rows.charge[0] = np.where(over > rows.slack, PENALTY * (1.0 + over / rows.scale), 0.0).sum()
    return float(rows.charge[0])


def energies(instance: WholeInstance, state: SplitState, power: int, unit: float) -> Floats:
    """Return [k] the energy of every device, which the kernel keeps up to date."""
    base = np.minimum(loads_of(instance, state) / unit, (2 * HUGEST) ** (1.0 / power))
    energy: Floats = np.minimum(base**power, HUGEST)
    excess = (state.used - instance.room) / (instance.room + 1.0)
    energy += np.where(excess > 0, PENALTY * (1.0 + excess), 0.0)
    energy += np.where(state.clash > 0, PENALTY * (1.0 + state.clash), 0.0)
    return energy
