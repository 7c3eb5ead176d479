"""The cheapest way to cut a path into runs, with what is known of chains beside it between the runs.

States are numbers: at each boundary of the path ``option * levels + level`` of the bundle there, and one more, the
last, where nothing is known. An option says how much of the chains is done or on its way, a level how much later than
the path that will be done at least, in steps of the bundle, rounded down.
"""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints


def _leave(
    x: int,
    state: int,
    own: int,
    alone: Floats,
    bundle: Ints,
    shape: Ints,
    step: Floats,
    delay: Floats,
    ahead: Floats,
    begun: Floats,
    half: Floats,
    came_begun: Ints,
    came_half: Ints,
    times: Floats,
    rest: Floats,
    tied: Bools,
    limit: float,
) -> None:
    """Go on from the ends of runs before node x in one state: over nodes beside host memory, to starts of runs.

    *own* says whether what is left of the chains at x is in a subgraph of its own, or some of it.
    """
    length, most, free = len(alone), ahead.shape[2] - 1, ahead.shape[1] - 1
    c = bundle[x]
    known = state < free
    option, pending, lag = 0, 0.0, 0.0
    if known:
        option = state // shape[c, 3]
        pending = (state % shape[c, 3]) * step[c]
        lag = delay[c, option, shape[c, 2] - 1, own]
        if own == 1 and lag >= delay[c, option, shape[c, 2] - 1, 0]:
            return
        lag = pending + lag if shape[c, 4] == 1 else max(pending, lag)
    for r in range(most + 1):
        times[x, r] = ahead[x, state, r - own] if r >= own else np.inf
    for i in range(x, length + 1):
        fresh = bundle[i]
        joint = known and fresh == c
        enters = fresh >= 0 and shape[fresh, 0] >= x
        if (own == 0 or shape[c, 1] < i or i == length) and (i == x or not tied[i]):
            bar = limit - rest[i]
            if not joint and not enters:
                # Nothing is known of the bundle here: all of it may be done.
                for z in range(2):
                    t = free if z == 0 else shape[fresh, 2] - 1
                    if z == 0 or fresh >= 0:
                        for r in range(own, most + 1):
                            if times[i, r] < begun[i, t, r] and times[i, r] < bar:
                                begun[i, t, r] = times[i, r]
                                came_begun[i, t, r, 0], came_begun[i, t, r, 1] = x, state
                                came_begun[i, t, r, 2] = r - own
            elif own == 0 or enters:
                for t in range(shape[fresh, 2]):
                    for extra in range(2):
                        wait = delay[fresh, option if joint else 0, t, extra]
                        if wait == np.inf or (extra == 1 and wait >= delay[fresh, option if joint else 0, t, 0]):
                            continue
                        if joint:
                            wait = pending + wait if shape[c, 4] == 1 else max(pending, wait)
                        for r in range(own, most + 1 - extra):
                            start = times[i, r]
                            if start >= bar:
                                continue
                            done = ahead[x, state, r] + wait if joint else times[shape[fresh, 0] + 1, r] + wait
                            late = max(start, done)
                            if late < begun[i, t, r + extra] and late < bar:
                                begun[i, t, r + extra] = late
                                came_begun[i, t, r + extra, 0], came_begun[i, t, r + extra, 1] = x, state
                                came_begun[i, t, r + extra, 2] = r - own
                            level = shape[fresh, 3] - 1
                            while level * step[fresh] > late - start:
                                level -= 1
                            k = t * shape[fresh, 3] + level
                            if start < half[i, k, r + extra]:
                                half[i, k, r + extra] = start
                                came_half[i, k, r + extra, 0], came_half[i, k, r + extra, 1] = x, state
                                came_half[i, k, r + extra, 2] = r - own
        if i == length or tied[x]:
            return
        least = np.inf
        for r in range(most + 1):
            time = times[i, r]
            if known and shape[c, 1] == i and r >= own:
                time = max(time, ahead[x, state, r - own] + lag)
            times[i + 1, r] = time + alone[i]
            least = min(least, times[i + 1, r])
        if least >= limit - rest[i + 1]:
            return


def _run(
    i: int,
    e: int,
    ends: Ints,
    cost: Floats,
    bundle: Ints,
    shape: Ints,
    step: Floats,
    ahead: Floats,
    begun: Floats,
    half: Floats,
    came: Ints,
    bar: float,
) -> None:
    """Go on from the starts of runs at node i to the end of one of them."""
    most, free, unknown = ahead.shape[2] - 1, ahead.shape[1] - 1, cost.shape[1] - 1
    j = ends[e]
    c, behind = bundle[i], bundle[j + 1]
    inside = c >= 0 and shape[c, 1] > j
    same = inside and behind == c
    lower, upper = unknown, unknown + 1
    if behind >= 0 and shape[behind, 0] >= i:
        lower, upper = 0, shape[behind, 2]
    for s in range(lower, upper):
        k = free if s == unknown else s * shape[behind, 3]
        # All of the chains before it are done when it starts, or it takes what is left; or nothing is known of them.
        for t in range(0 if c >= 0 and not inside else free, shape[c, 2] if c >= 0 and not inside else free + 1):
            more = cost[e, unknown if t == free else t, s]
            if more < np.inf:
                for r in range(most):
                    time = begun[i, t, r] + more
                    if time < ahead[j + 1, k, r + 1] and time < bar:
                        ahead[j + 1, k, r + 1] = time
                        came[j + 1, k, r + 1, 0], came[j + 1, k, r + 1, 1] = e, -1 - t
                        came[j + 1, k, r + 1, 2] = s
    if not inside:
        return
    levels = shape[c, 3]
    for t in range(shape[c, 2]):
        # It takes nothing of the chains that reach beyond it.
        for level in range(levels):
            for s in range(lower, upper):
                more = cost[e, unknown, s]
                if same:
                    more = cost[e, t, t]
                if more == np.inf:
                    continue
                k = free if s == unknown else s * shape[behind, 3]
                if same:
                    left = level
                    while left > 0 and left * step[c] > level * step[c] - more:
                        left -= 1
                    k = t * levels + left
                for r in range(most):
                    time = half[i, t * levels + level, r] + more
                    if time < ahead[j + 1, k, r + 1] and time < bar:
                        ahead[j + 1, k, r + 1] = time
                        came[j + 1, k, r + 1, 0], came[j + 1, k, r + 1, 1] = e, t * levels + level
                        came[j + 1, k, r + 1, 2] = t if same else s
        if same:
            # It takes something, of one chain when all before that is done.
            for s in range(t + 1, shape[c, 2]):
                more = cost[e, t, s]
                if more == np.inf:
                    continue
                for r in range(most):
                    time = begun[i, t, r] if shape[c, 4] == 1 else half[i, t * levels, r]
                    source = -1 - t if shape[c, 4] == 1 else t * levels
                    if shape[c, 4] != 1:
                        for level in range(1, levels):
                            if half[i, t * levels + level, r] < time:
                                time = half[i, t * levels + level, r]
                                source = t * levels + level
                    time += more
                    if time < ahead[j + 1, s * levels, r + 1] and time < bar:
                        ahead[j + 1, s * levels, r + 1] = time
                        came[j + 1, s * levels, r + 1, 0], came[j + 1, s * levels, r + 1, 1] = e, source
                        came[j + 1, s * levels, r + 1, 2] = s


def _cheapest_way(
    alone: Floats,
    bundle: Ints,
    shape: Ints,
    step: Floats,
    delay: Floats,
    starts: Ints,
    ends: Ints,
    cost: Floats,
    rest: Floats,
    tied: Bools,
    most: int,
    limit: float,
    way: Ints,
) -> float:
    """Return the least cost of a way to cut a path, and write its runs; ``inf`` if there is none below *limit*.

    Where:
        alone: [length] of nodes of the path.
        bundle: [length + 1] at each boundary, or -1.
        shape: [bundles, 5] indices of the path at the ends of each, options, levels, and chains.
        step: [bundles] of levels.
        delay: [bundles, options, options, 2] between what is done and what is on its way: beside host memory, and in
            another subgraph; ``inf`` where the first is not part of the second.
        starts, ends: runs by their first node, and the last node of each.
        cost: [runs, options + 1, options + 1] by the options before it, and behind it; the last: nothing is known.
        rest: [length + 1] what is behind each boundary takes at least.
        tied: [length + 1] whether a run that ends at a boundary is followed at once by another.
        most: how many subgraphs there may be.
        limit: of the costs of ways.
        way: [length, 3] becomes runs, last ones first, each with both options; -1 behind them.
    """
    length = len(alone)
    free = cost.shape[1] - 1
    for c in range(len(shape)):
        free = max(free, shape[c, 2] * shape[c, 3])
    # When runs before x end; when those may start that wait for all that is on its way, and those that do not.
    ahead = np.full((length + 1, free + 1, most + 1), np.inf)
    begun = np.full((length + 1, free + 1, most + 1), np.inf)
    half = np.full((length + 1, free + 1, most + 1), np.inf)
    came = np.empty((length + 1, free + 1, most + 1, 3), np.int64)
    came_begun = np.empty((length + 1, free + 1, most + 1, 3), np.int64)
    came_half = np.empty((length + 1, free + 1, most + 1, 3), np.int64)
    times = np.full((length + 1, most + 1), np.inf)
    ahead[0, free, 0] = 0.0
    came[0, free, 0, 0] = -1
    for x in range(length + 1):
        c = bundle[x]
        for state in range(free + 1):
            if ahead[x, state].min() < limit:
                for own in range(2 if state < free else 1):
                    _leave(
                        x, state, own, alone, bundle, shape, step, delay, ahead, begun, half, came_begun, came_half,
                        times, rest, tied, limit,
                    )  # fmt: skip
        if x < length:
            for e in range(starts[x], starts[x + 1]):
                _run(x, e, ends, cost, bundle, shape, step, ahead, begun, half, came, limit - rest[ends[e] + 1])
    way[:] = -1
    best = float(begun[length, free].min())
    if best >= limit:
        return np.inf
    r = int(begun[length, free].argmin())
    x, state, r = came_begun[length, free, r, 0], came_begun[length, free, r, 1], came_begun[length, free, r, 2]
    number = 0
    unknown = cost.shape[1] - 1
    while came[x, state, r, 0] >= 0:
        e, source, s = came[x, state, r, 0], came[x, state, r, 1], came[x, state, r, 2]
        i = np.searchsorted(starts, e, side="right") - 1
        c = bundle[i]
        t = -1 - source if source < 0 else source // shape[c, 3]
        way[number, 0], way[number, 1], way[number, 2] = e, min(t, unknown), s
        if source >= 0 and bundle[ends[e] + 1] != c:
            way[number, 1] = unknown
        number += 1
        if source < 0:
            x, state, r = came_begun[i, t, r - 1, 0], came_begun[i, t, r - 1, 1], came_begun[i, t, r - 1, 2]
        else:
            x, state, r = came_half[i, source, r - 1, 0], came_half[i, source, r - 1, 1], came_half[i, source, r - 1, 2]
    return best


CHEAPEST_WAY = Kernel(_cheapest_way, 1e6, _leave, _run)
