"""Randomly wired networks of several modules (ghannane2023, chapter 4 and Figure 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.graph import Floats, Graph
from mtpp_dsl.exchange.generators.common import at_least, base_edges, check_size, generator, one_of, share, weights

if TYPE_CHECKING:
    from numpy.random import Generator

REWIRING = {"er": 0.2, "ws": 0.75}
NEIGHBOURS = 4
LINKS = 5


def rwnn(
    model: str = "er",
    p: float | None = None,
    nodes: int = 10,
    modules: int = 1,
    channels: int = 1,
    dependence: str = "strong",
    work: float = 2e-3,
    output: float = 262144.0,
    params: float = 65536.0,
    spread: float = 0.5,
    types: str = "",
    affinity: float = 0.0,
    seed: int = 0,
) -> Graph:
    """Return *modules* random modules in a row, each joined to the next by *channels* edges.

    The thesis gives the base graphs, the module sizes (10 and 32) and the two kinds of dependence in words
    and in Figure 3.2; what it leaves open is decided here as follows.

    * A module is an undirected random graph on *nodes* nodes, each edge directed from the lower number to
      the higher, as in randomly wired networks. Modules are drawn independently. No nodes are added: the
      graph has ``nodes * modules`` nodes, ``v[0]``, ``v[1]``, …, and the label of each says its module.
    * ``strong`` (sd, Figure 3.2c: all paths within a module stem from an input and converge toward an
      output): the inputs are a module's first *channels* nodes and the outputs its last; any other node
      that reads nothing gets an edge from one of the inputs, any other that is not read an edge to one of
      the outputs, at random. With one channel, input and output bound the whole module: the network
      has one source and one sink.
    * ``weak`` (wd, Figure 3.2e: inputs and outputs are randomly sampled): inputs and outputs are each
      *channels* distinct nodes drawn at random, and no edge is added; parts of a module may hang on no channel.
    * Channel t is one edge, from output t of a module to input t of the next.
    * The thesis measured running times and does not print them. Weights are drawn evenly within *spread* of
      means of the right order: 2 ms (Table 4.1: 211.7 ms on the best device for 10 modules, of 10 nodes here),
      a tensor of 256 KiB, parameters of 64 KiB (a separable convolution on a feature map of 28 x 28 x 80).
    * Its operators do not all prefer one device: the best schedules of Table 4.1 are 2.6 times as fast as the best
      device, more than the mean speeds of Table 4.2 add up to (1.9). With *types* and *affinity* every node has its
      own time on every type of device.

    Args:
        model: ``er``, ``ws`` (4 neighbours) or ``ba`` (5 links per node).
        p: of ``er`` an edge's probability (0.2 unless given), of ``ws`` its rewiring (0.75); ``ba`` has none.
        nodes: of one module.
        modules: how many.
        channels: edges between neighbouring modules; at most ``nodes``.
        dependence: ``strong`` or ``weak``.
        work: mean running time of a node at speed 1, s.
        output: mean size of a node's tensor, B.
        params: mean size of a node's parameters, B.
        spread: weights lie evenly within this share of their mean; 0 makes all equal.
        types: names or types of devices, separated by commas, whose times differ by node.
        affinity: the time of a node on each of *types*, at speed 1, lies evenly within this share of its work.
        seed: of everything.

    Raises:
        UsageError: a parameter out of range, too few nodes for the model, more than a million nodes or ten
            million edges to be expected, p given for ``ba``, only one of types and affinity.
    """
    _check(model, p, nodes, modules, channels, dependence)
    probability = REWIRING.get(model, 0.0) if p is None else p
    random = generator(seed)
    edges: list[tuple[int, int]] = []
    outputs: list[int] = []
    for module in range(modules):
        inside = [(min(edge), max(edge)) for edge in base_edges(model, nodes, random, probability, NEIGHBOURS, LINKS)]
        heads, tails = _ends(nodes, channels, dependence, random)
        if dependence == "strong":
            inside += _bound(nodes, inside, heads, tails, random)
        first = module * nodes
        edges += [(first + u, first + v) for u, v in inside]
        edges += zip(outputs, (first + v for v in heads), strict=False)  # the first module has none before it
        outputs = [first + v for v in tails]
    n = nodes * modules
    drawn_weights = weights(work, output, params, spread, n, random)
    return Graph.create(
        [f"v[{v}]" for v in range(n)],
        edges,
        labels=[f"module {v // nodes}, node {v % nodes}" for v in range(n)],
        times=_times(drawn_weights["work"], types, affinity, random),
        work_unit="s",
        size_unit="B",
        **drawn_weights,
    )


def _times(work: Floats, types: str, affinity: float, random: Generator) -> dict[str, Floats]:
    """Return the running times by type of device."""
    share("affinity", affinity)
    names = [name.strip() for name in types.split(",") if name.strip()]
    if bool(names) != (affinity > 0):
        raise UsageError("types and affinity go together: which devices differ, and by how much")
    return {name: work * random.uniform(1 - affinity, 1 + affinity, len(work)) for name in names}


def _check(model: str, p: float | None, nodes: int, modules: int, channels: int, dependence: str) -> None:
    one_of("model", model, ("er", "ws", "ba"))
    one_of("dependence", dependence, ("strong", "weak"))
    for name, value, least in (
        ("nodes", nodes, 1),
        ("modules", modules, 1),
        ("channels", channels, 1),
    ):
        at_least(name, value, least)
    if p is not None and model == "ba":
        raise UsageError("model ba has no parameter p; leave it out")
    if p is not None:
        share("p", p)
    if channels > nodes:
        raise UsageError(f"channels must be at most nodes ({nodes}), not {channels}")
    degree = {"er": (REWIRING["er"] if p is None else p) * (nodes - 1) / 2, "ws": NEIGHBOURS / 2, "ba": LINKS}[model]
    check_size(nodes * modules, modules * (nodes * degree + channels))


def _ends(n: int, channels: int, dependence: str, random: Generator) -> tuple[list[int], list[int]]:
    """Return a module's inputs and outputs."""
    if dependence == "strong":
        return list(range(channels)), list(range(n - channels, n))
    return random.permutation(n)[:channels].tolist(), random.permutation(n)[:channels].tolist()


def _bound(
    n: int, edges: list[tuple[int, int]], inputs: list[int], outputs: list[int], random: Generator
) -> list[tuple[int, int]]:
    """Return the edges that make every path of a module begin at an input and end at an output."""
    reading, read = {v for _, v in edges}, {u for u, _ in edges}
    starts = [(int(random.choice(inputs)), v) for v in range(n) if v not in reading and v > inputs[-1]]
    stops = [(u, int(random.choice(outputs))) for u in range(n) if u not in read and u < outputs[0]]
    return starts + stops
