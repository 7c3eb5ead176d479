"""Bound what blocks cost at least that hold given nodes, as minimum cuts."""

from __future__ import annotations

from mtpp_dsl.core.problem.graph import Bools, Floats
from mtpp_dsl.models.facts.network import CutNetwork
from mtpp_dsl.models.facts.relaxed_instance import RelaxedInstance

__all__ = ["ABOVE", "cost_of_block", "cost_of_first", "cost_of_last"]

ABOVE = 1 + 1e-9
"""Sums are rounded: only what exceeds a capacity by this factor does so."""

INF = float("inf")


def cost_of_block(asked: RelaxedInstance, split: Bools) -> CutNetwork:
    """Return the network of the cost of one block: its work, the nets that it cuts, and split ones that it touches."""
    network = CutNetwork(len(asked.work), 2 * asked.cost)
    for v, work in enumerate(asked.work.tolist()):
        network.weight(v, work)
    for net, apart in zip(asked.nets, split.tolist(), strict=True):
        if apart:
            some = network.vertex()
            network.weight(some, net.cost)
            for v in net.pins:
                network.arc(v, some, INF)
        elif len(net.pins) == 2:
            network.arc(net.pins[0], net.pins[1], net.cost)
            network.arc(net.pins[1], net.pins[0], net.cost)
        else:
            some, every = network.vertex(), network.vertex()
            network.arc(some, every, net.cost)
            for v in net.pins:
                network.arc(v, some, INF)
                network.arc(every, v, INF)
    return network


def cost_of_first(asked: RelaxedInstance, work: Floats, split: Bools) -> CutNetwork:
    """Return the network of what the first blocks of a plan cost together, at least, by the nodes that they hold.

    With each node all before it is held. Of a net that is not split, the producer's block pays if a consumer is beyond.

    Args:
        asked: of whom.
        work: [nodes] with what they pay for split nets in any case.
        split: [nets] counted in *work*.
    """
    return _cost_of_end(asked, work, split, last=False)


def cost_of_last(asked: RelaxedInstance, work: Floats, split: Bools) -> CutNetwork:
    """Return the network of what the last blocks cost together: some consumer's block pays for a producer before."""
    return _cost_of_end(asked, work, split, last=True)


def _cost_of_end(asked: RelaxedInstance, work: Floats, split: Bools, *, last: bool) -> CutNetwork:
    """Return the network of one end of a plan; that of the last blocks has all arcs the other way round."""
    network = CutNetwork(len(work), 2 * asked.k * asked.cost)

    def arc(tail: int, head: int, cost: float) -> None:
        network.arc(*((head, tail) if last else (tail, head)), cost)

    for v, cost in enumerate(work.tolist()):
        network.weight(v, cost)
    for u, v in asked.edges:
        arc(v, u, INF)
    for net, apart in zip(asked.nets, split.tolist(), strict=True):
        if not apart:
            producer, *consumers = net.pins
            all_held = network.vertex()
            arc(producer, all_held, net.cost)
            for v in consumers:
                arc(all_held, v, INF)
    return network
