"""Where the boxes of a network are: apart, in the picture, and joined by wires that end at them."""

from __future__ import annotations

from itertools import combinations

import pytest

import mtpp_dsl
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.show.page.layout.network import TALL, WIDE, Diagram, Spot, diagram

GRAPH = (
    "mtpp 1\ngraph { node a[4] (work = 1, output = 1)\n edge a[i] -> a[i + 1] for i in 0..2 }\nminimize bottleneck\n"
)
NETWORKS = {
    "shared": "device d[5]\ninterconnect shared (bandwidth = 1)",
    "groups": 'device a[3] (group = "one")\ndevice b[2] (group = "two")\n'
    "interconnect shared (bandwidth = 4, between = 1)",
    "host": "device d[3]\ndevice cpu (io = free)\ninterconnect host (bandwidth = 1)",
    "pair": "device d[2]\ninterconnect links\nlink d[0] <-> d[1] (bandwidth = 1)",
    "links": "device d[9]\ninterconnect links\nlink d[i] <-> d[i + 1] (bandwidth = 1) for i in 0..7",
    "tree": "switch top\nswitch low[2] (under = top, uplink = 1)\n"
    "device d[i in 0..6] (switch = low[floor(i / 4)], uplink = 2)\ndevice lone (switch = top, uplink = 1)",
}


def read(what: str) -> Problem:
    return mtpp_dsl.load(GRAPH + NETWORKS[what])


def apart(a: Spot, b: Spot) -> bool:
    aside = a.x + a.width <= b.x or b.x + b.width <= a.x
    return aside or a.y + TALL <= b.y or b.y + TALL <= a.y


@pytest.mark.parametrize("what", NETWORKS)
def test_boxes_and_wires(what: str) -> None:
    """Boxes lie apart and inside of the picture; wires begin and end at the boxes that they name."""
    problem = read(what)
    found = diagram(problem, range(problem.k), [(0, 1)])
    assert found is not None
    assert sorted(spot.device for spot in found.spots if spot.device >= 0) == list(range(problem.k))
    assert all(apart(a, b) for a, b in combinations(found.spots, 2))
    for spot in found.spots:
        assert min(spot.x, spot.y) >= 0
        assert spot.x + spot.width <= found.width
        assert spot.y + TALL <= found.height
    assert found.wires
    for wire in found.wires:
        for place, (x, y) in ((wire.a, wire.start), (wire.b, wire.end)):
            spot = found.spots[place]
            assert spot.x <= x <= spot.x + spot.width
            assert spot.y <= y <= spot.y + TALL
    assert found == diagram(problem, range(problem.k), [(0, 1)])


@pytest.mark.parametrize("what", ["links", "tree", "pair"])
def test_wires_have_the_names_of_channels(what: str) -> None:
    """Every channel of the network is that of a wire."""
    problem = read(what)
    found = diagram(problem, range(problem.k), [(d, d + 1) for d in range(problem.k - 1)])
    assert found is not None
    assert set(problem.network.channels) <= {name for wire in found.wires for name in (wire.up, wire.down)}


def test_many_devices() -> None:
    """Of many devices those that run something are drawn, and none where these are too many."""
    problem = mtpp_dsl.load(GRAPH + "device d[300]\ninterconnect shared (bandwidth = 1)")
    found = diagram(problem, [3, 7], [])
    assert isinstance(found, Diagram)
    assert [spot.name for spot in found.spots] == ["d[3]", "d[7]", "shared channel"]
    assert found.spots[0].width == WIDE
    assert diagram(problem, range(300), []) is None
