"""Derive what follows once nodes are in a set or not: convexity, room, and what must come before and after."""

from __future__ import annotations

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Floats, Ints


def _settle(
    state: Ints,
    reach: Bools,
    work: Ints,
    memory: Floats,
    below: int,
    limit: float,
    early: int,
    late: int,
    ideal: bool,
    filter_: bool,
    falls: Bools,
    climbs: Bools,
) -> bool:
    """Settle free nodes (0) as in (1) or out (2) of a convex set; return whether such a set may exist.

    The set works no more than *below* and has no more than *limit* of memory. Its ancestors outside work no more
    than *early*, its descendants no more than *late*. An *ideal* holds all its ancestors, a *filter* all its
    descendants. *falls* and *climbs* become what holds for :data:`mtpp_dsl.solvers.proofs.flow.LEAST_CUT`: the
    descendants and the ancestors of what is in.
    """
    n = len(state)
    while True:
        # Count what is in, and mark its descendants (falls) and ancestors (climbs).
        changed = False
        for x in range(n):
            falls[x], climbs[x] = False, False
        inside, used = 0, 0.0
        for y in range(n):
            if state[y] != 1:
                continue
            inside += work[y]
            used += memory[y]
            for x in range(n):
                if reach[y, x]:
                    falls[x] = True
                if reach[x, y]:
                    climbs[x] = True
        if inside > below or used > limit:
            return False
        # Convexity: what lies between nodes that are in is in, too; an ideal holds all ancestors, a filter all
        # descendants.
        for x in range(n):
            if state[x] != 1 and ((falls[x] and (climbs[x] or filter_)) or (climbs[x] and ideal)):
                if state[x] == 2:
                    return False
                state[x] = 1
                changed = True
        if changed:
            continue
        # What is out takes out what lies beyond it: a descendant of the set that is out has no descendants in it,
        # and so with ancestors.
        for x in range(n):
            if state[x] != 2:
                continue
            if falls[x] or ideal:
                for y in range(n):
                    if reach[x, y] and state[y] != 2:
                        if state[y] == 1:
                            return False
                        state[y] = 2
                        changed = True
            if climbs[x] or filter_:
                for y in range(n):
                    if reach[y, x] and state[y] != 2:
                        if state[y] == 1:
                            return False
                        state[y] = 2
                        changed = True
        # Work that stays outside before and after the set, and work that is in it or on that side: more than the places
        # on that side and the set can hold is too much.
        before, after, upper, lower = 0, 0, 0, 0
        for y in range(n):
            if climbs[y] or state[y] == 1:
                upper += work[y]
            if falls[y] or state[y] == 1:
                lower += work[y]
            if state[y] == 2 and climbs[y]:
                before += work[y]
            if state[y] == 2 and falls[y]:
                after += work[y]
        if before > early or after > late or upper > early + below or lower > late + below:
            return False
        # Put free nodes out that cannot be in: with them, what must follow does not fit, or the other sides overflow.
        for x in range(n):
            if state[x] != 0:
                continue
            more, load = work[x], memory[x]
            up, down, over, under = before, after, upper, lower
            for y in range(n):
                if reach[y, x]:
                    if state[y] == 0 and y != x and (falls[y] or ideal):
                        more += work[y]
                        load += memory[y]
                    if not climbs[y]:
                        if state[y] == 2:
                            up += work[y]
                        if state[y] != 1 and y != x:
                            over += work[y]
                if reach[x, y]:
                    if state[y] == 0 and y != x and not reach[y, x] and (climbs[y] or filter_):
                        more += work[y]
                        load += memory[y]
                    if not falls[y]:
                        if state[y] == 2:
                            down += work[y]
                        if state[y] != 1 and y != x:
                            under += work[y]
            if not climbs[x]:
                over += work[x]
            if not falls[x]:
                under += work[x]
            if (
                inside + more > below
                or used + load > limit
                or up > early
                or down > late
                or over > early + below
                or under > late + below
            ):
                state[x] = 2
                changed = True
        if not changed:
            break
    # Where a side must be empty, the cut treats every node as bound on that side.
    for x in range(n):
        falls[x] = falls[x] or ideal
        climbs[x] = climbs[x] or filter_
    return True


SETTLE = Kernel(_settle)
