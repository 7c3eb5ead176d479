"""A profile of times that somebody else measured, several of each operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.profile import Profile, Timing
from mtpp_dsl.runtimes.execution.timing import spread

__all__ = ["profile_of_samples"]


def profile_of_samples(
    samples: Mapping[str, Sequence[float]], model: Model, device: str, source: str, file: Mapping[str, str]
) -> Profile:
    """Return the profile of times (s) of a model's operators by their names: medians and quartiles, each its own key.

    *source* is what kind of *file* they come from; *file* is kept in place of facts of the machine.
    """
    signatures = {}
    for name, times in samples.items():
        found = spread(times)
        op = model.operators[model.index[name]].op
        signatures[name] = Timing(found.median, found.low, found.high, found.runs, op)
    return Profile(
        device=device,
        signatures=signatures,
        operators={name: name for name in signatures},
        machine=dict(file),
        model={"name": model.source.name, "sha256": model.source.sha256},
        source=source,
    )
