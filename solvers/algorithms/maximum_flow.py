"""The maximum flow of all searches and bounds: Dinic's algorithm between many sources and many sinks.

Its two functions are parts of kernels (:class:`mtpp_dsl.core.base.compiling.Kernel`) that build a network, or set its
capacities, and ask for the flow at once, thousands of times a second. The checkers of certificates have a flow of their
own, which checks itself (:mod:`mtpp_dsl.solvers.proofs.flow`).
"""

from __future__ import annotations

from mtpp_dsl.core.problem.graph import Ints

NO_LIMIT = 1 << 61
"""More than any flow."""


def arc(tail: int, head: int, there: int, back: int, many: int, last: Ints, nxt: Ints, to: Ints, cap: Ints) -> int:
    """Add arc number *many* and its opposite, number ``many + 1``; return the next number."""
    to[many], cap[many], nxt[many] = head, there, last[tail]
    last[tail] = many
    to[many + 1], cap[many + 1], nxt[many + 1] = tail, back, last[head]
    last[head] = many + 1
    return many + 2


def flow(
    m: int,
    last: Ints,
    nxt: Ints,
    to: Ints,
    cap: Ints,
    source: Ints,
    sink: Ints,
    level: Ints,
    at: Ints,
    queue: Ints,
    path: Ints,
    enough: int,
) -> int:
    """Return the value of a maximum flow, or of a flow of *enough* or more if there is one (Dinic, 1970).

    Where:
        m: vertices.
        last: [m] the last arc out of each vertex, or -1.
        nxt, to, cap: [arcs] the arc before it, its head, its capacity; those left when it returns.
        source, sink: [m] what each vertex can be given, and can give away; what is left when it returns.
        level: [m] afterwards -1 where the sources no longer reach: the rest is their side of a minimum cut, the
            smallest one, whatever the order of the arcs. Not so where *enough* was reached.
        at, queue, path: [m] for work.
        enough: where to stop.
    """
    total: int = 0
    while True:
        # A phase of Dinic's algorithm: breadth-first levels from all vertices that can still be given something.
        for v in range(m):
            level[v] = -1
            at[v] = last[v]
        many = 0
        for v in range(m):
            if source[v] > 0:
                level[v] = 0
                queue[many] = v
                many += 1
        roots, i, depth = many, 0, -1
        while i < many:
            u = queue[i]
            i += 1
            if depth >= 0 and level[u] >= depth:
                break
            if sink[u] > 0:
                depth = level[u]
                continue
            e = last[u]
            while e >= 0:
                v = to[e]
                if cap[e] > 0 and level[v] < 0:
                    level[v] = level[u] + 1
                    queue[many] = v
                    many += 1
                e = nxt[e]
        # No sink is reached: the flow is a maximum, and the levels say what its minimum cut is.
        if depth < 0:
            return total
        # A blocking flow: depth-first search along arcs to the next level, from each source until it is exhausted.
        for j in range(roots):
            root = queue[j]
            u, d = root, 0
            while source[root] > 0:
                if sink[u] > 0:
                    # A sink: send what the path allows, and go back to the first arc that is full.
                    amount = min(source[root], sink[u])
                    for i in range(d):
                        amount = min(amount, cap[path[i]])
                    source[root] -= amount
                    sink[u] -= amount
                    total += amount
                    if total >= enough:
                        return total
                    keep = d
                    for i in range(d - 1, -1, -1):
                        e = path[i]
                        cap[e] -= amount
                        cap[e ^ 1] += amount
                        if cap[e] == 0:
                            keep = i
                    if keep < d:
                        d = keep
                        u = to[path[d] ^ 1]
                    continue
                # Go on along the next arc that leads a level down; where there is none, the vertex is dead in this
                # phase.
                e = at[u]
                while e >= 0 and not (cap[e] > 0 and level[to[e]] == level[u] + 1):
                    e = nxt[e]
                at[u] = e
                if e >= 0:
                    path[d] = e
                    d += 1
                    u = to[e]
                    continue
                if d == 0:
                    break
                level[u] = -1
                d -= 1
                u = to[path[d] ^ 1]
