"""Random constraints, written as statements."""

from __future__ import annotations

from tests.tools.metamorphic.drawing import Draw

__all__ = ["of_places", "rows"]


def of_places(draw: Draw, order: float = 0.6) -> None:
    """Add constraints about where nodes are: of each kind in a share of all calls.

    Args:
        draw: the statements so far.
        order: how often the quotient graph has an order.
    """
    if draw.often(order):
        draw.add(draw.of("constraint acyclic", "constraint acyclic", "constraint contiguous", "constraint stages"))
        if draw.lines[-1] == "constraint stages" and draw.often(0.3):
            draw.lines[-1] += " (empty = never)"
    if draw.often(0.2):
        draw.add(f"constraint pin {_node(draw)} on {', '.join(_some(draw))}")
    if draw.often(0.2):
        draw.add(f"constraint forbid {_node(draw)} on {draw.of(*draw.names)}")
    for word in ("colocate", "separate"):
        if draw.often(0.15) and draw.n > 2:
            draw.add(f"constraint {word} {', '.join(draw.node(v) for v in draw.random.sample(range(draw.n), 2))}")
    if draw.often(0.1):
        draw.add("constraint break symmetry by tasks")
    if draw.often(0.1):
        draw.add(f"time {_node(draw)} on {draw.of(*draw.names)} = {draw.of(0, 1, 4)} s")
    elif draw.often(0.1):
        draw.add(f"time {_node(draw)} on {draw.of(*draw.names)} = inf")


def rows(draw: Draw, kinds: list[str], soft: bool) -> None:
    """Add labelled rows in a share of all calls.

    Args:
        draw: the statements so far.
        kinds: "load" for rows about loads, "times" for rows about starts and ends.
        soft: whether a row has a penalty, if there is one.
    """
    if not soft and not draw.often(0.25):
        return
    penalty = f" (penalty = {draw.of(0, 0.5, 3)} s)" if soft else ""
    device = draw.of(*draw.names)
    some = {draw.node(v) for v in draw.random.sample(range(draw.n), min(draw.n, 4))}
    placed = " + ".join(f"on({v}, {device})" for v in sorted(some))
    draw.add(f"constraint few: {placed} {draw.of('<=', '<=', '>=')} {draw.of(1, 2)}{penalty}")
    if not soft and draw.often(0.3):
        draw.add(f"constraint more: used({draw.of(*draw.names)}) {draw.of('<=', '>=')} used({device})")
    if "load" in kinds and draw.often(0.3):
        draw.add(f"constraint most: load({device}) <= {draw.limit()} s" + (" (penalty = 2)" if draw.often(0.3) else ""))
    if "times" in kinds and draw.often(0.5):
        head = _node(draw)
        row = draw.of(f"finish({head}) <= {draw.limit()} s", f"start({head}) >= {draw.of(1, 3)} s")
        draw.add(f"constraint when: {row}" + (" (penalty = 2)" if soft else ""))


def _node(draw: Draw) -> str:
    return draw.node(draw.random.randrange(draw.n))


def _some(draw: Draw) -> list[str]:
    return sorted(draw.random.sample(draw.names, draw.random.randint(1, max(1, len(draw.names) - 1))))
