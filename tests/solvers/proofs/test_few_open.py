"""The heaviest sets by tables of loads, held against all sets of small problems."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from mtpp_dsl.solvers.bounds.configuration.narrow_sets import FINEST
from mtpp_dsl.solvers.proofs import few_open
from mtpp_dsl.solvers.proofs.few_open import heaviest_below
from mtpp_dsl.solvers.proofs.proof_reading import ProofReading
from tests.solvers.proofs.test_heaviest import sets_below
from tests.split_problems import residual, split_problem


@pytest.mark.parametrize("seed", range(80))
def test_no_set_is_heavier_than_the_table_says(seed: int) -> None:
    """Nothing is heavier in any unit; in fine ones it is the heaviest set where nothing else takes sets away."""
    rng = Random(seed)
    reading = ProofReading(split_problem(seed, 6))
    weights = [rng.choice([0, 1, 2, 5]) for _ in reading.members]
    for kind in reading.kinds:
        finite = [t for t in kind.time if t < inf]
        target = (sum(finite) + sum(reading.tensors.values())) * rng.choice([0.2311, 0.4177, 0.7373, 0.5])
        if target == 0.0:
            continue
        free = not any(kind.convex) and reading.streamed(kind, range(len(weights))) == 0 and kind.memory == inf
        sets = [held for held, _ in sets_below(reading, kind, target, [], (None, None))]
        best = max(sum(w for w, inside in zip(weights, held, strict=True) if inside) for held in sets)
        for steps in (3.0, 50.5, FINEST * (1 + 1e-9)):
            known = rng.sample(range(len(weights)), len(weights)) if steps == 50.5 else []
            heaviest = heaviest_below(reading, kind, target, weights, target / steps, inf, known)
            assert heaviest is not None
            assert heaviest >= best
        if free:
            assert heaviest == best


def test_a_known_order_has_fewer_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the orders found here have too many, the table is filled along one that is given."""
    reading = ProofReading(residual(8))
    kind, weights = reading.kinds[0], [1] * len(reading.members)
    worst = [*range(0, len(weights), 2), *range(1, len(weights), 2)]
    monkeypatch.setattr(few_open, "_orders", lambda *_: iter([worst]))
    monkeypatch.setattr(few_open, "MAX_ENTRIES", 16 * 100)
    given = reading, kind, 10.0, weights, 0.1, inf
    assert heaviest_below(*given) is None
    assert heaviest_below(*given, range(len(weights))) is not None


def test_too_many_states_or_units_and_no_time_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = ProofReading(split_problem(1, 6))
    kind, weights = reading.kinds[0], [1] * len(reading.members)
    assert heaviest_below(reading, kind, 1.0, weights, 2.0**-20, inf) is None
    assert heaviest_below(reading, kind, 1.0, weights, 0.1, -1.0) is None
    monkeypatch.setattr(few_open, "MAX_ENTRIES", 0)
    assert heaviest_below(reading, kind, 1.0, weights, 0.1, inf) is None
