"""Draw who imports whom among the rooms, from the imports, into docs/architecture.svg: ``python -m tests.tools.rooms``.

A room stands above all that it imports. Of what a room imports by way of another, no line is drawn.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import networkx as nx

from tests.tools.house import House
from tests.tree import ROOT

PICTURE = ROOT / "docs" / "architecture.svg"
WORDS = {
    "core": "data, units, contracts",
    "checks": "the verifier",
    "exchange": "files and models in",
    "language": "text to problem",
    "solving": "from problem to answer",
    "runtimes": "files and runs out",
    "show": "text, pages, pictures",
    "editor": "language server",
    "sweeps": "many problems and methods",
    "cli": "the command line",
    "models": "Pyomo models",
    "solvers": "searches, bounds, methods",
}
COLUMN = {
    **dict.fromkeys(("models", "solvers"), 0.0),
    **dict.fromkeys(("checks", "solving", "show"), 1.0),
    "core": 1.5,
    **dict.fromkeys(("exchange", "language", "editor", "cli"), 2.0),
    **dict.fromkeys(("runtimes", "sweeps"), 3.0),
}
"""Where rooms stand, so that no line passes below another room."""
WIDE, HIGH, GAP, RISE = 170, 46, 24, 96
STYLE = "text{font:14px sans-serif;text-anchor:middle;fill:#1b1f24}.s{font-size:11px;fill:#57606a}"


@cache
def imports() -> nx.DiGraph:
    """Return the rooms, with an edge from each to every other one that it imports."""
    house = House(ROOT)
    graph = nx.DiGraph()
    graph.add_nodes_from(WORDS)
    for path, name in house.files.items():
        for other in house.imports(path):
            pair = [whole.split(".")[1] for whole in (name, other) if "." in whole]
            if len(pair) == 2 and pair[0] != pair[1] and {*pair} <= {*WORDS}:
                graph.add_edge(*pair)
    return graph


def drawn() -> str:
    """Return the picture as SVG."""
    graph = nx.transitive_reduction(imports())
    floor = dict.fromkeys(graph, 0)
    for room in reversed(list(nx.topological_sort(graph))):
        floor[room] = max((floor[below] + 1 for below in graph[room]), default=0)
    width, height = int(max(COLUMN.values()) + 1) * (WIDE + GAP) + GAP, (max(floor.values()) + 1) * RISE
    place = {room: (GAP + COLUMN[room] * (WIDE + GAP), height - RISE * floor[room] - HIGH - GAP) for room in WORDS}
    lines = []
    for above, below in sorted(graph.edges):
        x, y = place[above][0] + WIDE / 2, place[above][1] + HIGH
        u, v = place[below][0] + WIDE / 2, place[below][1] - 2
        lines.append(
            f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + 30:.0f} {u:.0f} {v - 30:.0f} {u:.0f} {v:.0f}" fill="none" '
            'stroke="#57606a" marker-end="url(#a)"/>'
        )
    boxes = [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDE}" height="{HIGH}" rx="6" fill="#eaf2fb" stroke="#3a6ea5"/>'
        f'<text x="{x + WIDE / 2:.0f}" y="{y + 20:.0f}">{room}</text>'
        f'<text class="s" x="{x + WIDE / 2:.0f}" y="{y + 36:.0f}">{WORDS[room]}</text>'
        for room, (x, y) in place.items()
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"><title>Rooms of mtpp, each '
        f'above those that it imports</title><style>{STYLE}</style><defs><marker id="a" viewBox="0 0 8 8" refX="7" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker>'
        "</defs>"
        '<rect width="100%" height="100%" fill="white"/>'
    )
    return "\n".join([head, *lines, *boxes, "</svg>"]) + "\n"


def write(path: Path = PICTURE) -> None:
    """Write the picture."""
    path.write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    write()
