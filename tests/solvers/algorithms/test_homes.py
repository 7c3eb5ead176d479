"""The programme over ideals and homes of tensors, against all splits of small graphs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.solvers.algorithms.homes.home_search import HomeSearch
from mtpp_dsl.solvers.algorithms.homes.shipping import Shipping
from mtpp_dsl.solvers.algorithms.ideals.lattice import lattice_of
from mtpp_dsl.solvers.algorithms.ideals.supernodes import OrderedSupernodes

SEEDS = range(60)


def random_shipping(seed: int) -> Shipping:
    """Return up to six supernodes on up to three devices: ties, zeros, pairs out of reach, channels that are shared."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    time = rng.integers(0, 5, (n, 1)) * rng.integers(1, 3, k).astype(float)
    time[rng.random((n, k)) < 0.05] = np.inf
    pairs = tuple((u, v) for u in range(n) for v in range(u + 1, n) if rng.random() < 0.5)
    made = sorted({u for u, _ in pairs})
    readers = tuple(tuple(v for u, v in pairs if u == p) for p in made)
    size = rng.integers(0, 4, len(made)).astype(float)
    rate = rng.integers(1, 3, (k, k)).astype(float) if seed % 4 else np.ones((k, k))
    if seed % 5 == 0:
        rate[rng.random((k, k)) < 0.2] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(rate == 0, np.inf, size[:, None, None] / rate)
    routes = tuple(tuple((min(d, e),) if d != e and seed % 3 == 0 else () for e in range(k)) for d in range(k))
    return Shipping(
        time=time,
        memory=rng.integers(0, 3, n).astype(float),
        room=rng.choice([np.inf, 3.0, 5.0], k),
        before=pairs,
        producer=np.array(made, np.int64),
        readers=readers,
        sent=moved,
        received=moved,
        routes=routes,
        carried=np.repeat(size[:, None] * 1.5, k if seed % 3 == 0 else 0, axis=1),
        overlap=seed % 2 == 1,
        serial=seed % 6 > 2,
        half=np.array([seed % 8 > 5] * k),
    )


def cost(it: Shipping, device: Ints) -> float:
    """Return the largest load of a split, by the definition."""
    work, out, into = np.zeros(it.k), np.zeros(it.k), np.zeros(it.k)
    channel = np.zeros(it.carried.shape[1])
    np.add.at(work, device, it.time[np.arange(it.n), device])
    for t, p in enumerate(it.producer.tolist()):
        there = sorted({int(device[v]) for v in it.readers[t]} - {int(device[p])})
        costs = [float(it.sent[t, device[p], e]) for e in there]
        out[device[p]] += sum(costs) if it.serial else max(costs, default=0.0)
        passed = [c for e in there for c in it.routes[device[p]][e]]
        for c in passed if it.serial else set(passed):
            channel[c] += it.carried[t, c]
        for e in there:
            into[e] += it.received[t, device[p], e]
    both = np.where(it.half, out + into, np.maximum(out, into))
    loads = np.maximum(work, both) if it.overlap else work + out + into
    return float(max(loads.max(), channel.max(initial=0.0)))


def is_split(it: Shipping, device: Ints) -> bool:
    """Return whether memories suffice and the devices can be put in an order that all pairs of supernodes follow."""
    if (np.bincount(device, weights=it.memory, minlength=it.k) > it.room).any():
        return False
    reach = np.zeros((it.k, it.k), np.bool_)
    for u, v in it.before:
        reach[device[u], device[v]] |= device[u] != device[v]
    for via in range(it.k):
        reach |= reach[:, via, None] & reach[None, via, :]
    return not bool(np.diag(reach).any())


@pytest.mark.parametrize("seed", SEEDS)
def test_homes_find_the_best_split_and_none_are_a_bound(seed: int) -> None:
    it = random_shipping(seed)
    best = min(
        (cost(it, np.array(a)) for a in product(range(it.k), repeat=it.n) if is_split(it, np.array(a))), default=np.inf
    )
    order = OrderedSupernodes(
        members=tuple((v,) for v in range(it.n)),
        time=it.time,
        memory=it.memory,
        params=it.memory,
        nets=(),
        before=it.before,
    )
    lattice = lattice_of(order, 1e8, print, lambda: None)
    assert lattice is not None
    bounds: list[float] = [0.0]

    def found(device: Ints) -> float:
        assert is_split(it, device)
        return cost(it, device)

    search = HomeSearch(it, lattice, 1e8, say=print, pause=lambda: None, keep=found, bounded=bounds.append)
    low, _, _ = search.climb(0.0, np.inf, 0.0, relaxed=True)
    assert low <= best
    low, high, _ = search.climb(low, np.inf, 0.0, relaxed=False)
    assert high == pytest.approx(best, rel=1e-9)
    assert low <= best
    if best < np.inf:
        assert low >= best * (1 - 1e-6)
    assert max(bounds) <= best
    if 0 < best < np.inf:
        low, high, _ = search.climb(0.0, best, 0.0, relaxed=False)
        assert best * (1 - 1e-6) <= low <= best
