"""Limit how much a spec may come to: more is refused when it is read, with the limit.

They are chosen so that reading any spec ends within ten seconds and 2 GB of memory, in an answer or in such an error.
"""

from __future__ import annotations

from mtpp_dsl.core.errors import UsageError

MAX_NODES = 1_000_000
MAX_EDGES = 2_000_000
MAX_DEVICES = 100_000

MAX_LINKED = 3_000
"""Devices joined by links: every pair has a bandwidth and a latency."""

MAX_TABLE = 50_000_000
"""Entries of a table, such as the times of all nodes on all devices."""

MAX_NAME = 1_000
"""Characters of a name."""

MAX_STEPS = 5_000_000
"""Steps of reading: parts of expressions evaluated, members of sets gone through, nodes and edges made."""


def check_graph(nodes: int, edges: int, place: str = "") -> None:
    """Refuse a graph beyond the limits.

    Raises:
        UsageError: it has more nodes than :data:`MAX_NODES`, or more edges than :data:`MAX_EDGES`.
    """
    for number, most, what in ((nodes, MAX_NODES, "nodes"), (edges, MAX_EDGES, "edges")):
        if number > most:
            raise UsageError(
                f"{place + ': ' if place else ''}the graph has {number:,} {what}; at most {most:,} are read"
            )


def check_table(what: str, *sizes: tuple[int, str]) -> None:
    """Refuse a table of more than :data:`MAX_TABLE` entries; *sizes* are numbers of things, with what they are.

    Raises:
        UsageError: it has more.
    """
    total = 1
    for size, _ in sizes:
        total *= size
    if total > MAX_TABLE:
        shown = " × ".join(f"{size:,} {name}" for size, name in sizes)
        raise UsageError(f"{what} would be a table of {shown}; at most {MAX_TABLE:,} entries are made")
