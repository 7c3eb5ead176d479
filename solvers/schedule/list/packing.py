"""Find where all classes can go, and what must move for one of them to go elsewhere; compiled with what calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.problem.graph import Bools, Ints
from mtpp_dsl.solvers.schedule.list.placement_rules import Hold, PlacementRules

__all__ = ["FILL", "PACKING", "SEARCH", "STEPS_A_SECOND", "fix", "settle", "witness"]

STEPS_A_SECOND = 4e4
LOOK = 4096
"""Classes on a device that are looked at to make room there, at most."""
MAX_CLASSES_LEFT = 24
"""Classes left for which every way is tried to make room."""
MAX_TRIES = 400
"""Places tried then."""


def relocate(rules: PlacementRules, hold: Hold, c: int, d: int) -> None:
    """Give class *c*, which is not settled, the home *d*; -1 takes its home away."""
    home = hold.home[c]
    if home >= 0:
        hold.used[home] -= rules.need[c]
        if hold.before[c] >= 0:
            hold.after[hold.before[c]] = hold.after[c]
        else:
            hold.first[home] = hold.after[c]
        if hold.after[c] >= 0:
            hold.before[hold.after[c]] = hold.before[c]
    hold.home[c] = d
    if d >= 0:
        hold.used[d] += rules.need[c]
        hold.before[c] = -1
        hold.after[c] = hold.first[d]
        if hold.first[d] >= 0:
            hold.before[hold.first[d]] = c
        hold.first[d] = c


def clashes(rules: PlacementRules, hold: Hold, c: int, d: int, attempt: int) -> bool:
    """Return whether class *c* on *d* breaks a bond: to any with a home, or (*attempt* > 0) to those it cannot move."""
    for i in range(rules.offsets[c], rules.offsets[c + 1]):
        x = rules.near[i]
        f = hold.home[x]
        if f < 0 or (attempt > 0 and not hold.fixed[x] and hold.mark[x] != attempt):
            continue
        if not (rules.joined[rules.kind[i], d, f] if rules.leads[i] else rules.joined[rules.kind[i], f, d]):
            return True
    return False


def shift(rules: PlacementRules, hold: Hold, c: int, d: int) -> None:
    """Move class *c* to *d* as part of the attempt that is under way."""
    hold.mark[c] = hold.mark[-1]
    hold.moved[hold.shifts[0]], hold.whence[hold.shifts[0]] = c, hold.home[c]
    hold.shifts[0] += 1
    relocate(rules, hold, c, d)


def follow(rules: PlacementRules, hold: Hold, d: int, whence: int) -> bool:
    """Move what is bound to moved classes to where the bonds hold, and so on, to *d* or *whence* if it can be."""
    k = len(hold.used)
    at = 0
    while at < hold.shifts[0]:
        c = hold.moved[at]
        at += 1
        for i in range(rules.offsets[c], rules.offsets[c + 1]):
            x = rules.near[i]
            e, f = hold.home[c], hold.home[x]
            if f < 0 or (rules.joined[rules.kind[i], e, f] if rules.leads[i] else rules.joined[rules.kind[i], f, e]):
                continue
            if hold.fixed[x] or hold.mark[x] == hold.mark[-1]:
                return False
            target, liked = -1, 0
            for g in range(k):
                if g != f and rules.may[x, g] and not clashes(rules, hold, x, g, hold.mark[-1]):
                    fits = hold.used[g] + rules.need[x] <= rules.limit[g]
                    like = 4 * int(fits) + 2 * int(g == d) + int(g == whence)
                    if target < 0 or like > liked:
                        target, liked = g, like
            if target < 0:
                return False
            shift(rules, hold, x, target)
    return True


def unload(rules: PlacementRules, hold: Hold, d: int) -> bool:
    """Move classes away from *d*, one large enough or the largest first, until the rest fits."""
    k = len(hold.used)
    while hold.used[d] > rules.limit[d]:
        excess = hold.used[d] - rules.limit[d]
        best, target, looked = -1, -1, 0
        c = hold.first[d]
        while c >= 0 and looked < LOOK:
            looked += 1
            need = rules.need[c]
            if best < 0:
                better = need > 0
            elif rules.need[best] >= excess:
                better = excess <= need < rules.need[best]
            else:
                better = need > rules.need[best]
            if better and hold.mark[c] != hold.mark[-1]:
                to = -1
                for f in range(k):
                    if (
                        f != d
                        and rules.may[c, f]
                        and hold.used[f] + need <= rules.limit[f]
                        and (to < 0 or rules.limit[f] - hold.used[f] > rules.limit[to] - hold.used[to])
                        and not clashes(rules, hold, c, f, 0)
                    ):
                        to = f
                if to >= 0:
                    best, target = c, to
            c = hold.after[c]
        if best < 0:
            return False
        shift(rules, hold, best, target)
    return True


def search(rules: PlacementRules, hold: Hold, classes: Ints, tries: int) -> bool:
    """Give *classes*, which have no home, one each: by every way, the least room left first, up to *tries* places.

    If there is none, or it is not found, they have none again.
    """
    k = len(hold.used)
    depth = 0
    tried = np.zeros((len(classes), k), np.bool_)
    while 0 <= depth < len(classes):
        c = classes[depth]
        if hold.home[c] >= 0:
            relocate(rules, hold, c, -1)
        target = -1
        for d in range(k):
            left = rules.limit[d] - hold.used[d] - rules.need[c]
            if (
                left >= 0
                and rules.may[c, d]
                and not tried[depth, d]
                and (target < 0 or left < rules.limit[target] - hold.used[target] - rules.need[c])
                and not clashes(rules, hold, c, d, 0)
            ):
                target = d
        if target < 0 or tries == 0:
            tried[depth] = False
            depth -= 1
            continue
        tries -= 1
        tried[depth, target] = True
        relocate(rules, hold, c, target)
        depth += 1
    return depth >= 0


def anew(rules: PlacementRules, hold: Hold, c: int, d: int) -> bool:
    """Put class *c* on *d* and find homes for all others that are not settled, if they are few; else change nothing."""
    others = np.empty(MAX_CLASSES_LEFT, np.int64)
    homes = np.empty(MAX_CLASSES_LEFT, np.int64)
    count = 0
    for x in range(len(hold.home)):
        if not hold.fixed[x] and x != c and hold.home[x] >= 0:
            if count == MAX_CLASSES_LEFT:
                return False
            i = count
            while i > 0 and rules.need[others[i - 1]] < rules.need[x]:
                others[i] = others[i - 1]
                i -= 1
            others[i] = x
            count += 1
    home = hold.home[c]
    taken = hold.used.copy()
    for i in range(count):
        homes[i] = hold.home[others[i]]
        relocate(rules, hold, others[i], -1)
    relocate(rules, hold, c, -1)
    if hold.used[d] + rules.need[c] <= rules.limit[d] and not clashes(rules, hold, c, d, 0):
        relocate(rules, hold, c, d)
        if search(rules, hold, others[:count], MAX_TRIES):
            return True
        relocate(rules, hold, c, -1)
    for i in range(count):
        relocate(rules, hold, others[i], homes[i])
    relocate(rules, hold, c, home)
    hold.used[:] = taken
    return False


def settle(rules: PlacementRules, hold: Hold, c: int, d: int) -> bool:
    """Make *d* the home of class *c*, moving others that are not settled as needed; else change nothing."""
    whence = hold.home[c]
    if whence == d:
        return True
    hold.mark[-1] += 1
    if not rules.may[c, d] or clashes(rules, hold, c, d, hold.mark[-1]):
        return False
    taken = hold.used.copy()
    hold.shifts[0] = 0
    shift(rules, hold, c, d)
    done = follow(rules, hold, d, whence)
    for f in range(len(taken)):
        done = done and unload(rules, hold, f)
    if done:
        return True
    for i in range(hold.shifts[0] - 1, -1, -1):
        relocate(rules, hold, hold.moved[i], hold.whence[i])
    hold.used[:] = taken
    return anew(rules, hold, c, d)


def fix(hold: Hold, c: int) -> None:
    """Settle class *c* where it is."""
    if not hold.fixed[c]:
        hold.fixed[c] = True
        if hold.before[c] >= 0:
            hold.after[hold.before[c]] = hold.after[c]
        else:
            hold.first[hold.home[c]] = hold.after[c]
        if hold.after[c] >= 0:
            hold.before[hold.after[c]] = hold.before[c]


def fill(rules: PlacementRules, hold: Hold, order: Ints, liked: Ints, first: int, last: int) -> int:
    """Give ``order[first:last]`` homes, the first of ``liked[c]`` first; return the place of one without, or *last*."""
    for i in range(first, last):
        settled = hold.home[order[i]] >= 0
        for j in range(liked.shape[1]):
            settled = settled or settle(rules, hold, order[i], liked[order[i], j])
        if not settled:
            return i
    return last


PACKING = (relocate, clashes, shift, follow, unload, search, anew, settle, fix)

FILL = Kernel(fill, STEPS_A_SECOND, *PACKING)
SEARCH = Kernel(search, STEPS_A_SECOND, *PACKING[:2])


# A first placement that keeps to all rules: what shows that list schedulers can go on.

CHUNK = 256
"""Classes placed between two looks at the clock."""
MAX_FIRST_TRIES = 300_000
"""Places tried by the search for a placement."""
MAX_CLASSES = 400
"""Classes for which that search is begun."""


def witness(rules: PlacementRules, order: Ints, pause: Callable[[], None]) -> Hold | None:
    """Return a placement of all classes that keeps to *rules*, or None if none was found.

    Tried in turn: everything on one device, the fastest first; classes by decreasing memory, and in *order*, each on
    the device with most room, or the fastest, where others can make room for it; every way, for up to :data:`MAX_TRIES`
    places.

    Args:
        rules: see there.
        order: [classes] of the first nodes of each in a topological order.
        pause: called often; raises to end the attempts.
    """
    classes, k = rules.work.shape
    heavy = np.lexsort((np.arange(classes), -rules.need))
    for islands in _islands(rules):
        for row, liked in _attempts(rules, order, heavy, islands):
            hold = _filled(rules, row, liked, pause)
            if hold is not None:
                return hold
    if classes <= MAX_CLASSES:
        hold = Hold.empty(classes, k)
        if SEARCH.pick(MAX_FIRST_TRIES)(rules, hold, heavy, MAX_FIRST_TRIES):
            return hold
    return None


def _filled(rules: PlacementRules, order: Ints, liked: Ints, pause: Callable[[], None]) -> Hold | None:
    """Return a placement made class by class, or None if one finds no place."""
    classes, k = rules.work.shape
    hold = Hold.empty(classes, k)
    run = FILL.pick(classes * k)
    for first in range(0, classes, CHUNK):
        pause()
        last = min(first + CHUNK, classes)
        if run(rules, hold, order, liked, first, last) < last:
            return None
    return hold


def _attempts(rules: PlacementRules, order: Ints, heavy: Ints, inside: Bools) -> Iterator[tuple[Ints, Ints]]:
    """Yield orders of the classes, and the devices that each likes, best first; those *inside* before others."""
    classes, k = rules.work.shape
    fastest = np.argsort(np.where(rules.may.all(axis=0), rules.work.sum(axis=0), np.inf), kind="stable")
    for d in fastest.tolist():
        if inside[d]:
            row = np.append(d, np.delete(np.arange(k), d))
            yield order, np.tile(row, (classes, 1))
    outside = np.where(inside, 0.0, 1.0)
    roomy = np.lexsort((-rules.limit, outside))
    quick = np.argsort(np.where(rules.may, rules.work, np.inf) + np.where(inside, 0.0, 1e300), axis=1, kind="stable")
    for row in (heavy, order):
        yield row, np.tile(roomy, (classes, 1))
        yield row, quick


def _islands(rules: PlacementRules) -> list[Bools]:
    """Return sets of devices that all can send to each other, the largest first, then all devices."""
    k = len(rules.limit)
    joined: Bools = np.asarray(rules.joined[:-1].all(axis=0))
    both: Bools = joined & joined.T
    islands: list[Bools] = []
    for d in range(k):
        inside = np.zeros(k, np.bool_)
        for f in [d, *range(k)]:
            inside[f] |= bool(both[f, inside].all())
        if not any((inside == other).all() for other in islands):
            islands.append(inside)
    islands.sort(key=lambda inside: -int(inside.sum()))
    everywhere = np.ones(k, np.bool_)
    return islands if islands and islands[0].all() else [*islands, everywhere]
