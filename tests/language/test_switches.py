"""Switches, the options of splits on links, and what is wrong with either, in specs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mtpp_dsl import analyse
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.devices import Links, Tree
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.syntax.layout import format_spec
from tests.networks import random_problem

GRAPH = "mtpp 1\ngraph { node a (work = 1 ms, output = 1 MB)  node b (work = 2 ms)  edge a -> b }\n"
TWO = "switch rack\nswitch server[2] (uplink = 12 GB/s, under = rack)\n"
ON_R = "(switch = r, uplink = 1 GB/s)"


def read(text: str, goal: str = "bottleneck") -> Problem:
    """Return the problem of a spec that has the graph above."""
    return load(f"{GRAPH}minimize {goal}\n{text}")


def test_a_tree_is_read_as_it_is_written() -> None:
    """Nested switches, an uplink by a formula, and duplex from the switch above."""
    problem = read(
        "switch rack (overlap = full, send = each)\n"
        "switch server[2] (uplink = 12 GB/s, under = rack, duplex = half, latency = 5 us)\n"
        "device gpu[i in 0..3] (switch = server[floor(i / 2)], uplink = (64 + i) * 1 GB/s, duplex = full)\n"
    )
    tree = problem.interconnect
    assert isinstance(tree, Tree)
    assert tree.switches == ("rack", "server[0]", "server[1]")
    assert tree.parents.tolist() == [1, 1, 2, 2, -1, 0, 0]
    assert tree.uplink.tolist() == [64e9, 65e9, 66e9, 67e9, np.inf, 12e9, 12e9]
    assert tree.half.tolist() == [False] * 5 + [True, True]
    assert (tree.overlap, tree.send, tree.latency[5]) == ("full", "each", 5e-6)
    assert problem.networked


def test_links_have_the_options_of_splits() -> None:
    """They say what transfers take of a bottleneck."""
    joined = read(
        "device d[2]\ninterconnect links (bandwidth = 1 GB/s, overlap = full, send = each, duplex = half)\n"
    ).interconnect
    assert isinstance(joined, Links)
    assert (joined.overlap, joined.send, joined.duplex) == ("full", "each", "half")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO + "device d[2] (switch = sever[0], uplink = 1 GB/s)", "did you mean 'server"),
        ("switch a (under = b)\nswitch b (under = a)\ndevice d (switch = a)", "under itself: a under b under a"),
        (TWO + "device d[2]\ninterconnect shared (bandwidth = 1 GB/s)", "'switch' goes with interconnect tree"),
        ("device d (switch = a)\ninterconnect shared (bandwidth = 1 GB/s)", "goes with interconnect tree, not shared"),
        ("device d\ninterconnect tree", "interconnect tree needs switches"),
        ("switch r\ndevice d (uplink = 1 GB/s)", "hangs from no switch"),
        (TWO + "device d (switch = rack, uplink = 1)", "bandwidth"),
        (TWO + "switch rack\ndevice d (switch = rack)", "already declared"),
        (
            "switch r (overlap = full)\nswitch s (under = r, send = each)\ndevice d (switch = s)",
            "holds for all of a tree",
        ),
        (TWO + "device a (switch = rack, group = 1, uplink = 1 GB/s)", "in a group"),
        ("switch r (uplnik = 1 GB/s)\ndevice d (switch = r)", "did you mean 'uplink'"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    """With the word that was meant, or what would help."""
    with pytest.raises(MtppError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "switch r\nswitch idle (under = r, uplink = 1 GB/s)\ndevice d (switch = r, uplink = 1 GB/s)",
            "no device hangs",
        ),
        ("switch r\ndevice d (switch = r)", "has no uplink"),
        (
            "switch r\nswitch s\ndevice d (switch = r, uplink = 1 GB/s)\ndevice e (switch = s, uplink = 1 GB/s)",
            "joins d and e",
        ),
        (
            "switch r\nswitch s (under = r, uplink = 1 GB/s, latency = 1 ms)\ndevice d (switch = s, uplink = 1 GB/s)",
            "no effect",
        ),
    ],
)
def test_what_hangs_loose_is_warned_of(text: str, message: str) -> None:
    """A switch without devices, a device without an uplink, two trees, a latency that nothing reads."""
    assert any(message in warning for warning in read(text).warnings)


def test_an_error_in_a_device_is_the_only_message() -> None:
    """Where a device could not be read, nothing is said of the switches that it may hang from."""
    text = f"{GRAPH}minimize bottleneck\n{TWO}device gpu[2] (switch = server[0], memry = 4 GB)\n"
    assert [found.code for found in analyse(text).diagnostics] == ["MTPP-E105"]


def test_links_in_two_parts_are_warned_of() -> None:
    """No tensor can go from one part to the other."""
    warnings = read("device d[3]\ninterconnect links\nlink d[0] -> d[1] (bandwidth = 1 GB/s)\n").warnings
    assert any("no links join d[0] and d[2]" in warning for warning in warnings)


@pytest.mark.parametrize("options", ["overlap = full", "send = each", "duplex = half"])
def test_options_of_splits_are_refused_for_a_makespan(options: str) -> None:
    """A schedule times every transfer by itself; on a tree there is none."""
    with pytest.raises(MtppError, match="says what transfers take of a bottleneck"):
        read(f"device d[2]\ninterconnect links (bandwidth = 1 GB/s, {options})\n", "makespan")
    with pytest.raises(MtppError, match="have no times here"):
        read(TWO + "device d (switch = rack, uplink = 1 GB/s)", "makespan")


@pytest.mark.parametrize("seed", range(25))
def test_random_networks_are_said_and_read_again(seed: int) -> None:
    """A problem, its spec, and the problem of that are the same network; the spec is formatted."""
    problem = random_problem(random.Random(seed))
    text = problem.to_spec()
    assert format_spec(Source("spec", text)) == text
    again = load(text)
    one, two = problem.network, again.network
    assert (one.channels, one.route, one.overlap, one.send) == (two.channels, two.route, two.overlap, two.send)
    for table in ("bandwidth", "rate", "latency", "out_delay", "out_inverse", "in_delay", "in_inverse"):
        assert np.array_equal(getattr(one, table), getattr(two, table)), table
